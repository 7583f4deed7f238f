"""Lesson 8: rows of A's tile that are one number longer."""

from __future__ import annotations

from functools import partial

from workbench.schedule import Schedule


def solve(depth: int, sch: Schedule) -> None:
    """Take the step on `sch`."""
    sch.storage_align("A_shared", 0, axis=0, factor=depth, offset=1)


SOLUTIONS = {
    "seventh": partial(solve, 32),
    "seventh 2": partial(solve, 32),
    "seventh 3": partial(solve, 64),
    "seventh 4": partial(solve, 32),
}
