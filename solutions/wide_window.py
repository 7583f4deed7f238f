"""Lesson 2: eight blocks of 128 threads that fetch their cells together."""

from __future__ import annotations

from workbench.schedule import Schedule


def solve(sch: Schedule) -> None:
    """Take the steps on `sch`."""
    block = sch.get_block("B")
    (i,) = sch.get_loops(block)
    i_0, i_1 = sch.split(i, factors=[None, 128])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    fetch = sch.cache_read(block, 0, "shared")
    sch.compute_at(fetch, i_1)
    _, ax1 = sch.split(sch.get_loops(fetch)[-1], factors=[None, 128])
    sch.bind(ax1, "threadIdx.x")


SOLUTIONS = {
    "wide_window": solve,
    "wide_window 2": solve,
    "wide_window 3": solve,
    "wide_window 4": solve,
}
