"""Lesson 5: 2 x 2 outputs for each of 8 x 16 threads, 32 steps of k at a time."""

from __future__ import annotations

from workbench.lesson import in_shared
from workbench.schedule import Schedule


def solve(sch: Schedule) -> None:
    """Take the steps on `sch`."""
    in_shared(sch, (2, 2), (8, 16), 32)


SOLUTIONS = {
    "searched_tiles": solve,
    "searched_tiles 2": solve,
    "searched_tiles 3": solve,
    "searched_tiles 4": solve,
}
