"""Lesson 1: blocks of so many threads, the last of which have nothing to do."""

from __future__ import annotations

from functools import partial

from workbench.schedule import Schedule


def solve(threads: int, sch: Schedule) -> None:
    """Take the steps on `sch`."""
    (i,) = sch.get_loops(sch.get_block("C"))
    i_0, i_1 = sch.split(i, factors=[None, threads])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")


SOLUTIONS = {
    "odd_vector": partial(solve, 64),
    "odd_vector 2": partial(solve, 32),
    "odd_vector 3": partial(solve, 32),
    "odd_vector 4": partial(solve, 64),
}
