"""Lesson 4: blocks of 64 x 32 outputs by 64 threads, `depth` steps of k at a time."""

from __future__ import annotations

from functools import partial

from workbench.schedule import Schedule


def solve(depth: int, sch: Schedule) -> None:
    """Take the steps on `sch`."""
    block = sch.get_block("C")
    write_back = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    i_0, i_1, i_2 = sch.split(i, factors=[None, 8, 8])
    j_0, j_1, j_2 = sch.split(j, factors=[None, 8, 4])
    k_0, k_1 = sch.split(k, factors=[None, depth])
    sch.reorder(i_0, j_0, i_1, j_1, k_0, k_1, i_2, j_2)
    sch.reverse_compute_at(write_back, j_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    sch.bind(sch.fuse(i_1, j_1), "threadIdx.x")
    for which in (0, 1):
        fetch = sch.cache_read(block, which, "shared")
        sch.compute_at(fetch, k_0)
        fused = sch.fuse(*sch.get_loops(fetch)[-2:])
        _, thread, vector = sch.split(fused, factors=[None, 64, 4])
        sch.vectorize(vector)
        sch.bind(thread, "threadIdx.x")
    sch.decompose_reduction(block, k_0)


SOLUTIONS = {
    "small_tiles": partial(solve, 8),
    "small_tiles 2": partial(solve, 4),
    "small_tiles 3": partial(solve, 8),
    "small_tiles 4": partial(solve, 8),
}
