"""Lesson 6: tiles of 8 x 8 outputs, and virtual threads until neighbours' cells fit in 32 banks."""

from __future__ import annotations

from functools import partial

from workbench.schedule import Schedule


def solve(across: int, sch: Schedule) -> None:
    """Take the steps on `sch`; a block has 8 x `across` threads."""
    near = [sch.cache_read("B", which, "shared") for which in (0, 1)]
    sch.compute_inline("Apad")
    write_back = sch.cache_write("B", 0, "local")
    y, x, f, n, ry, rx, rc = sch.get_loops("B")
    pixel = sch.fuse(y, x)
    f_0, f_1, f_2 = sch.split(f, factors=[None, 8, 8])
    n_0, n_1, n_2, n_3 = sch.split(n, factors=[None, across // 4, across, 32 // across])
    rc_0, rc_1 = sch.split(rc, factors=[None, 8])
    sch.reorder(pixel, f_0, n_0, n_1, f_1, n_2, rc_0, ry, rx, rc_1, f_2, n_3)
    for loop, axis in (
        (pixel, "blockIdx.z"),
        (f_0, "blockIdx.y"),
        (n_0, "blockIdx.x"),
        (n_1, "vthread.x"),
        (f_1, "threadIdx.y"),
        (n_2, "threadIdx.x"),
    ):
        sch.bind(loop, axis)
    sch.reverse_compute_at(write_back, n_2)
    for which in (0, 1):
        sch.compute_at(sch.cache_read("B", which, "local"), rc_1)
    for fetch in near:
        sch.compute_at(fetch, rx)
        channel, cell = sch.get_loops(fetch)[-2:]
        thread_y, _ = sch.split(channel, factors=[8, None])
        _, thread_x, vector = sch.split(cell, factors=[None, across, 4 if across < 32 else 2])
        sch.bind(thread_y, "threadIdx.y")
        sch.bind(thread_x, "threadIdx.x")
        sch.vectorize(vector)
    sch.decompose_reduction("B", rc_0)


SOLUTIONS = {
    "one_turn": partial(solve, 16),
    "one_turn 2": partial(solve, 32),
    "one_turn 3": partial(solve, 16),
    "one_turn 4": partial(solve, 16),
}
