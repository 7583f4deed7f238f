"""Lesson 10: two by two warps, and in each as many tiles as let a fragment serve often."""

from __future__ import annotations

from functools import partial

from workbench.schedule import Schedule


def solve(rows: int, columns: int, sch: Schedule) -> None:
    """Take the steps on `sch`; a warp has `rows` x `columns` tiles."""
    shared = [sch.cache_read("Conv", which, "shared") for which in (0, 1)]
    sch.compute_inline("Apad")
    parts = [sch.cache_read("Conv", k, f"wmma.matrix_{part}") for k, part in enumerate("ab")]
    out = sch.cache_write("Conv", 0, "wmma.accumulator")
    n, h, w, o, nn, oo, ic, kh, kw, ii = sch.get_loops("Conv")
    pixel = sch.fuse(h, w)
    n_0, n_1, n_2 = sch.split(n, factors=[None, 2, rows])
    o_0, o_1, o_2 = sch.split(o, factors=[None, 2, columns])
    sch.reorder(pixel, n_0, o_0, n_1, o_1, ic, kh, kw, n_2, o_2, nn, oo, ii)
    for loop, axis in (
        (pixel, "blockIdx.z"),
        (n_0, "blockIdx.x"),
        (o_0, "blockIdx.y"),
        (n_1, "threadIdx.y"),
        (o_1, "threadIdx.z"),
    ):
        sch.bind(loop, axis)
    sch.reverse_compute_at(out, o_1)
    for fragment in parts:
        sch.compute_at(fragment, kw)
    for copy in shared:
        sch.compute_at(copy, kh, preserve_unit_loops=True)
        cells = sch.fuse(*sch.get_loops(copy)[-2:])
        thread, vector = sch.split(cells, factors=[None, 8])
        sch.bind(thread, "threadIdx.x")
        sch.vectorize(vector)
        tile = sch.get_loops(copy)[-6 if copy == shared[0] else -3]
        y, rest = sch.split(tile, factors=[2, None])
        z, _ = sch.split(rest, factors=[2, None])
        sch.bind(y, "threadIdx.y")
        sch.bind(z, "threadIdx.z")
    sch.decompose_reduction("Conv", ic)
    for block, intrinsic in (
        (parts[0], "wmma_load_16x16x16_f16_a_shared"),
        (parts[1], "wmma_load_16x16x16_f16_b_shared"),
        ("Conv_init", "wmma_fill_16x16x16_f32"),
        (out, "wmma_store_16x16x16_f32_global"),
    ):
        sch.tensorize(sch.get_loops(block)[-2], intrinsic)
    sch.tensorize(sch.get_loops("Conv_update")[-3], "wmma_sync_16x16x16_f16f16f32")


SOLUTIONS = {
    "warp_tiles": partial(solve, 2, 4),
    "warp_tiles 2": partial(solve, 4, 2),
    "warp_tiles 3": partial(solve, 2, 4),
    "warp_tiles 4": partial(solve, 2, 4),
}
