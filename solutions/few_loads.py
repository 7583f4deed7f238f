"""Lesson 3: tiles of 4 x 4 outputs for a thread, rows and columns kept in registers."""

from __future__ import annotations

from workbench.schedule import Schedule


def solve(sch: Schedule) -> None:
    """Take the steps on `sch`."""
    block = sch.get_block("C")
    write_back = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    i_0, i_1, i_2 = sch.split(i, factors=[None, 8, 4])
    j_0, j_1, j_2 = sch.split(j, factors=[None, 4, 4])
    sch.reorder(i_0, j_0, i_1, j_1, k, i_2, j_2)
    sch.reverse_compute_at(write_back, j_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.y")
    sch.bind(j_1, "threadIdx.x")
    for which in (0, 1):
        sch.compute_at(sch.cache_read(block, which, "local"), k)
    sch.decompose_reduction(block, k)


SOLUTIONS = {
    "few_loads": solve,
    "few_loads 2": solve,
    "few_loads 3": solve,
    "few_loads 4": solve,
}
