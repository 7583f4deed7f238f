"""Lesson 5: one row of outputs for a thread, and tiles so deep that few barriers are left."""

from __future__ import annotations

from functools import partial

from workbench.lesson import in_shared
from workbench.schedule import Schedule


def solve(rows: int, sch: Schedule) -> None:
    """Take the steps on `sch`, of which a thread has `rows` x 1 outputs."""
    in_shared(sch, (rows, 1), (8, 16), 128)


SOLUTIONS = {
    "searched_tiles": partial(solve, 1),
    "searched_tiles 2": partial(solve, 2),
    "searched_tiles 3": partial(solve, 1),
    "searched_tiles 4": partial(solve, 4),
}
