"""The convolution of TVM's tutorial on Tensor Cores, in its own arrays, by ``mma.sync``.

On an H100 (`benchmarks/tensor_cores.py`, median of 7 rounds by turns) 0.25 ms, where the tutorial's
own schedule takes 0.82.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import workbench as wb
from tests.support.mma_product import overlap
from tests.support.tensor_core_conv import TILE, WARP, Sizes, convolution

VECTOR = 8
HELD = "a, b, c, d, i % 8 * 4 + j % 8 // 2, j // 8 * 4 + i // 8 * 2 + j % 2"  # of A, and of sums
HELD_B = "a, b, c, d, i % 8 * 4 + j % 8 // 2, i // 8 * 4 + j // 8 * 2 + j % 2"


@dataclass(frozen=True)
class Overlapped(Sizes):
    """As in the tutorial, shared out in tiles of 128 x 256 x 64, fetched ahead of their use."""

    row_warps: int = 2
    column_warps: int = 4
    row_tiles: int = 4
    column_tiles: int = 4
    chunk: int = 4
    swizzle: bool = True
    stages: int = 4
    ahead: int = 2


SMALL = Overlapped(
    batch=2, side=2, inputs=4, outputs=4, row_warps=1, column_warps=2, row_tiles=2, column_tiles=2,
    chunk=2, stages=3,
)  # fmt: skip
VARIANTS = {
    "no swizzle": replace(Overlapped(), swizzle=False),
    "3 tiles": replace(Overlapped(), stages=3),
    "no fragments ahead": replace(Overlapped(), ahead=0),
    "128 x 128": replace(Overlapped(), column_warps=2, stages=3),
}


def scheduled(of: Overlapped) -> wb.Schedule:
    """The convolution, all of its tiles done by calls of a warp."""
    sch = wb.Schedule(convolution(of))
    shared = [sch.cache_read("Conv", name, "shared") for name in ("Apad", "W")]
    held = [sch.cache_read("Conv", f"{name}_shared", "warp") for name in ("Apad", "W")]
    out = sch.cache_write("Conv", 0, "warp")
    sch.compute_inline("Apad")
    for block, order, held_as in (
        (held[0], "i, j", HELD), (held[1], "j, i", HELD_B), ("Conv", "i, j", HELD)
    ):  # fmt: skip
        sch.transform_layout(block, ("write", 0), f"lambda a, b, c, d, {order}: ({held_as})")

    n, h, w, o, nn, oo = sch.get_loops(out)
    sch.bind(sch.fuse(h, w), "blockIdx.z")
    n, n_warp, n_in = sch.split(n, factors=[None, of.row_warps, of.row_tiles])
    o, o_warp, o_in = sch.split(o, factors=[None, of.column_warps, of.column_tiles])
    sch.reorder(n, o, n_warp, o_warp, n_in, o_in, nn, oo)
    for loop, axis in ((n, "blockIdx.y"), (o, "blockIdx.x")):
        sch.bind(loop, axis)
    for loop, axis in ((n_warp, "threadIdx.y"), (o_warp, "threadIdx.z")):
        sch.bind(loop, axis)

    sch.compute_at("Conv", o_warp)
    n, o, nn, oo, ic, kh, kw, ii = sch.get_loops("Conv")[-8:]
    ko, ki = sch.split(ic, factors=[None, of.chunk])
    sch.reorder(ko, kh, kw, ki, n, o, nn, oo, ii)
    turns = sch.fuse(ko, kh, kw)
    for block in held:
        sch.compute_at(block, ki)
    for block in shared:
        sch.compute_at(block, turns)
        _fetch(sch, of, block)
        if of.swizzle:
            sch.annotate(block, "permuted_layout", 1)
    sch.decompose_reduction("Conv", turns)
    for block, (loop, intrinsic) in TENSORIZED.items():
        sch.tensorize(sch.get_loops(block)[loop], intrinsic)
    overlap(sch, turns, ki, of.stages, of.ahead, ("Apad_shared_warp", "W_shared_warp"))
    return sch


def _fetch(sch: wb.Schedule, of: Overlapped, block: Any) -> None:
    """Let all threads of a block copy its tiles, 16 bytes at a time."""
    loops = sch.get_loops(block)[-4:]
    _, y, z, x, vector = sch.split(
        sch.fuse(*loops), factors=[None, of.row_warps, of.column_warps, WARP, VECTOR]
    )
    for loop, axis in ((y, "threadIdx.y"), (z, "threadIdx.z"), (x, "threadIdx.x")):
        sch.bind(loop, axis)
    sch.vectorize(vector)


TENSORIZED = {
    "Apad_shared_warp": (-2, "mma_ldmatrix_f16_a"),
    "W_shared_warp": (-2, "mma_ldmatrix_f16_b"),
    "Conv_init": (-2, "mma_fill_16x16_f32"),
    "Conv_update": (-3, "mma_f16f16f32"),
    "Conv_warp": (-2, "mma_store_16x16_f32_global_"),
}
assert TILE == 16
