"""Lesson 11: two warps in a block of 64 x 64, and three tiles whose columns change places."""

from __future__ import annotations

from workbench.lesson import by_calls, in_tiles
from workbench.schedule import Schedule


def solve(sch: Schedule) -> None:
    """Take the steps on `sch`."""
    in_tiles(sch, "mma", (64, 64), (2, 1), 64)
    by_calls(sch, "mma")
    for name in ("A_shared", "B_shared"):
        sch.annotate(name, "permuted_layout", 1)
    sch.unroll("k_1")
    sch.pipeline("k_0", stages=[0, 0, 2], async_stages=[0])


SOLUTIONS = {f"copies_ahead{number}": solve for number in ("", " 2", " 3", " 4")}
