"""Lesson 7: blocks of 8 x 32 outputs, with both stages and what they need in shared memory."""

from __future__ import annotations

from workbench.schedule import Schedule


def solve(sch: Schedule) -> None:
    """Take the steps on `sch`."""
    i, j = sch.get_loops("B")
    i_0, i_1 = sch.split(i, factors=[None, 8])
    j_0, j_1 = sch.split(j, factors=[None, 32])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    sch.bind(sch.fuse(i_1, j_1), "threadIdx.x")
    between = sch.get_block("H")
    sch.set_scope(between, 0, "shared")
    sch.compute_at(between, j_0)
    fetch = sch.cache_read(between, 0, "shared")
    sch.compute_at(fetch, j_0)
    for block in (fetch, between):
        cells = sch.fuse(*sch.get_loops(block)[-2:])
        _, thread = sch.split(cells, factors=[None, 256])
        sch.bind(thread, "threadIdx.x")


SOLUTIONS = {
    "own_operator": solve,
    "own_operator 2": solve,
    "own_operator 3": solve,
    "own_operator 4": solve,
}
