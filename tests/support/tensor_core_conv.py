"""TVM's tutorial on Tensor Cores, a convolution in tiles of 16 x 16, by the verbs of a schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import workbench as wb
from workbench import te
from workbench.ir import PrimFunc

TILE, WARP = 16, 32


@dataclass(frozen=True)
class Sizes:
    """How large it is, in tiles, and how it is shared out; by default as in the tutorial."""

    batch: int = 16
    side: int = 14
    inputs: int = 16
    outputs: int = 32
    kernel: int = 3
    row_warps: int = 4  # of a block
    column_warps: int = 2
    row_tiles: int = 2  # of a warp
    column_tiles: int = 4
    chunk: int = 2


SMALL = Sizes(batch=4, side=2, inputs=4, outputs=4, row_warps=2, column_tiles=2)


def convolution(of: Sizes) -> PrimFunc:
    """The convolution with its padding, NHWCnc."""
    A = te.placeholder(
        (of.batch, of.side, of.side, of.inputs, TILE, TILE), name="A", dtype="float16"
    )
    W = te.placeholder(
        (of.kernel, of.kernel, of.inputs, of.outputs, TILE, TILE), name="W", dtype="float16"
    )
    wide = of.side + 2
    Apad = te.compute(
        (of.batch, wide, wide, of.inputs, TILE, TILE),
        lambda n, h, w, i, nn, ii: te.if_then_else(
            te.all(h >= 1, h - 1 < of.side, w >= 1, w - 1 < of.side),
            A[n, h - 1, w - 1, i, nn, ii],
            te.const(0.0, "float16"),
        ),
        name="Apad",
    )
    extents = {"ic": of.inputs, "kh": of.kernel, "kw": of.kernel, "ii": TILE}
    ic, kh, kw, ii = (te.reduce_axis((0, n), name=name) for name, n in extents.items())
    Conv = te.compute(
        (of.batch, of.side, of.side, of.outputs, TILE, TILE),
        lambda n, h, w, o, nn, oo: te.sum(
            Apad[n, h + kh, w + kw, ic, nn, ii].astype("float32")
            * W[kh, kw, ic, o, ii, oo].astype("float32"),
            axis=[ic, kh, kw, ii],
        ),
        name="Conv",
    )
    return te.create_prim_func([A, W, Conv])


def in_tiles(of: Sizes) -> wb.Schedule:
    """The convolution shared out to warps, its tiles in fragments, not tensorized yet."""
    sch = wb.Schedule(convolution(of))
    shared = [sch.cache_read("Conv", name, "shared") for name in ("Apad", "W")]
    fragments = [
        sch.cache_read("Conv", f"{name}_shared", f"wmma.matrix_{part}")
        for name, part in (("Apad", "a"), ("W", "b"))
    ]
    out = sch.cache_write("Conv", 0, "wmma.accumulator")
    sch.compute_inline("Apad")

    n, h, w, o, nn, oo = sch.get_loops(out)
    sch.bind(sch.fuse(h, w), "blockIdx.z")
    n, n_in = sch.split(n, factors=[None, of.row_tiles])
    block_n, n = sch.split(n, factors=[None, of.row_warps])
    o, o_in = sch.split(o, factors=[None, of.column_tiles])
    block_o, o = sch.split(o, factors=[None, of.column_warps])
    sch.reorder(block_n, block_o, n, o, n_in, o_in, nn, oo)
    for loop, axis in ((block_n, "blockIdx.x"), (block_o, "blockIdx.y")):
        sch.bind(loop, axis)
    for loop, axis in ((n, "threadIdx.y"), (o, "threadIdx.z")):
        sch.bind(loop, axis)

    sch.compute_at("Conv", o)
    n, o, nn, oo, ic, kh, kw, ii = sch.get_loops("Conv")[-8:]
    ko, ki = sch.split(ic, factors=[None, of.chunk])
    sch.reorder(ko, kh, ki, kw, n, o, nn, oo, ii)
    for block in fragments:
        sch.compute_at(block, kw)
    for block in shared:
        sch.compute_at(block, kh)
    _fetch(sch, of, shared)
    sch.decompose_reduction("Conv", ko)
    return sch


def _fetch(sch: wb.Schedule, of: Sizes, shared: list[Any]) -> None:
    """Let all threads of a block fetch the tiles: of A a half at a time, of W eight."""
    for block, tiles_at in zip(shared, (-5, -3), strict=True):
        loops = sch.get_loops(block)
        y, rest = sch.split(loops[tiles_at], factors=[of.row_warps, None])
        z, _ = sch.split(rest, factors=[of.column_warps, None])
        cells = sch.fuse(*loops[-2:])
        if block is shared[0]:
            _, x = sch.split(cells, factors=[None, WARP])
        else:
            x, vector = sch.split(cells, factors=[WARP, None])
            sch.vectorize(vector)
        for loop, axis in ((y, "threadIdx.y"), (z, "threadIdx.z"), (x, "threadIdx.x")):
            sch.bind(loop, axis)


def tensorized(of: Sizes) -> wb.Schedule:
    """The convolution as the tutorial has it, all of its tiles done by calls of a warp."""
    sch = in_tiles(of)
    for block, intrinsic in TENSORIZED.items():
        sch.tensorize(sch.get_loops(block)[-3 if block == "Conv_update" else -2], intrinsic)
    return sch


TENSORIZED = {
    "Apad_shared_wmma_matrix_a": "wmma_load_16x16x16_f16_a_shared",
    "W_shared_wmma_matrix_b": "wmma_load_16x16x16_f16_b_shared",
    "Conv_init": "wmma_fill_16x16x16_f32",
    "Conv_update": "wmma_sync_16x16x16_f16f16f32",
    "Conv_wmma_accumulator": "wmma_store_16x16x16_f32_global",
}


def expected(of: Sizes, a: Any, w: Any) -> np.ndarray[Any, Any]:
    """What NumPy makes of it."""
    padded = np.pad(a.astype("float32"), [(0, 0), (1, 1), (1, 1), (0, 0), (0, 0), (0, 0)])
    made = np.zeros((of.batch, of.side, of.side, of.outputs, TILE, TILE), "float32")
    for h in range(of.kernel):
        for v in range(of.kernel):
            part = padded[:, h : h + of.side, v : v + of.side]
            made += np.einsum("nhwcij,cojk->nhwoik", part, w[h, v].astype("float32"), optimize=True)
    return made
