"""The convolution of lesson 6 in layout HWCN, by the steps of the tutorial and by our best.

The tutorial is TVM's "How to optimize convolution on GPU", of the documentation of TVM 0.10.
"""

from __future__ import annotations

from typing import Any

import workbench as wb
from workbench import te
from workbench.ir import PrimFunc
from workbench.lesson.convolutions import convolution as named_as_taught

SIZE, BATCH, CHANNELS, FILTERS = 14, 256, 256, 512
TILE, THREADS, STEP, VTHREADS = 8, 8, 8, 2  # the tutorial's


def convolution(
    size: int = SIZE, batch: int = BATCH, channels: int = CHANNELS, filters: int = FILTERS
) -> PrimFunc:
    """B of size x size x filters x batch: 3 x 3 windows of A with one row of zeros around it."""
    A = te.placeholder((size, size, channels, batch), name="A")
    W = te.placeholder((3, 3, channels, filters), name="W")

    def pad(yy: Any, xx: Any, cc: Any, nn: Any) -> Any:
        inside = te.all(yy >= 1, yy - 1 < size, xx >= 1, xx - 1 < size)
        return te.if_then_else(inside, A[yy - 1, xx - 1, cc, nn], te.const(0.0, "float32"))

    Apad = te.compute((size + 2, size + 2, channels, batch), pad, name="Apad")
    rc = te.reduce_axis((0, channels), name="rc")
    ry, rx = te.reduce_axis((0, 3), name="ry"), te.reduce_axis((0, 3), name="rx")
    B = te.compute(
        (size, size, filters, batch),
        lambda yy, xx, ff, nn: te.sum(
            Apad[yy + ry, xx + rx, rc, nn] * W[ry, rx, rc, ff], axis=[ry, rx, rc]
        ),
        name="B",
    )
    return te.create_prim_func([A, W, B])


def tutorial(sch: Any) -> Any:
    """The tutorial's schedule as steps that TVM's Schedule and ours share."""
    block = sch.get_block("B")
    A_shared = sch.cache_read(block, 0, "shared")
    A_local = sch.cache_read(block, 0, "local")
    W_shared = sch.cache_read(block, 1, "shared")
    W_local = sch.cache_read(block, 1, "local")
    B_local = sch.cache_write(block, 0, "local")
    sch.compute_inline(sch.get_block("Apad"))

    yy, xx, ff, nn, ry, rx, rc = sch.get_loops(block)
    bz = sch.fuse(yy, xx)
    by, tyz, ty, ff = sch.split(ff, factors=[None, VTHREADS, THREADS, TILE // VTHREADS])
    bx, txz, tx, nn = sch.split(nn, factors=[None, VTHREADS, THREADS, TILE // VTHREADS])
    rco, rci = sch.split(rc, factors=[None, STEP])
    sch.reorder(bz, by, bx, tyz, txz, ty, tx, rco, ry, rx, rci, ff, nn)
    for loop, axis in (
        (bz, "blockIdx.z"),
        (by, "blockIdx.y"),
        (bx, "blockIdx.x"),
        (tyz, "vthread.y"),
        (txz, "vthread.x"),
        (ty, "threadIdx.y"),
        (tx, "threadIdx.x"),
    ):
        sch.bind(loop, axis)
    sch.reverse_compute_at(B_local, tx)
    for copy, loop in ((A_local, rci), (W_local, rci), (A_shared, rx), (W_shared, rx)):
        sch.compute_at(copy, loop)
    for copy in (A_shared, W_shared):
        _fetch_by_two_axes(sch, copy)
    sch.decompose_reduction(block, rco)
    return sch


def _fetch_by_two_axes(sch: Any, copy: Any) -> None:
    rows, columns = sch.get_loops(copy)[-2:]
    ty, rows = sch.split(rows, factors=[THREADS, None])
    tx, columns, vector = sch.split(columns, factors=[THREADS, None, 4])
    sch.reorder(ty, tx, rows, columns, vector)
    sch.bind(ty, "threadIdx.y")
    sch.bind(tx, "threadIdx.x")
    sch.vectorize(vector)


def tiled(sch: wb.Schedule, *, ahead: bool = False) -> wb.Schedule:
    """Our best: tiles of 128 x 128, 32 channels deep, by 256 threads in a row.

    Each thread has 8 x 8 cells in strided groups of 4 x 4, a warp lies on 4 x 8 threads, and all
    copies move 4 floats at once. The window's positions are the inner loops: one after the other
    they read nearly the same part of the picture, which stays in the L1 and L2 caches. With
    `ahead`, the next tiles are on their way to registers while these are used.
    """
    block = sch.get_block("B")
    B_local = sch.cache_write(block, 0, "local")
    A_shared, W_shared = (sch.cache_read(block, which, "shared") for which in (0, 1))
    A_local, W_local = (sch.cache_read(block, which, "local") for which in (0, 1))
    shared = (A_shared, W_shared)
    fetched = [sch.cache_read(copy, 0, "local") for copy in shared] if ahead else []
    sch.compute_inline(sch.get_block("Apad"))

    yy, xx, ff, nn, ry, rx, rc = sch.get_loops(block)
    f0, f_virtual, f_warp, f_lane, f_cell = sch.split(ff, factors=[None, 2, 4, 4, 4])
    n0, n_virtual, n_warp, n_lane, n_cell = sch.split(nn, factors=[None, 2, 2, 8, 4])
    rco, rci = sch.split(rc, factors=[None, 32])
    virtual = (f_virtual, n_virtual)
    lanes = (f_warp, n_warp, f_lane, n_lane)
    sch.reorder(yy, xx, f0, n0, *virtual, *lanes, rco, ry, rx, rci, f_cell, n_cell)
    bz, tx = sch.fuse(yy, xx), sch.fuse(*lanes)
    for loop, axis in (
        (bz, "blockIdx.z"),
        (f0, "blockIdx.y"),
        (n0, "blockIdx.x"),
        (f_virtual, "vthread.y"),
        (n_virtual, "vthread.x"),
        (tx, "threadIdx.x"),
    ):
        sch.bind(loop, axis)
    sch.reverse_compute_at(B_local, tx)
    turn = sch.fuse(rco, ry, rx) if ahead else rx
    for copy, loop in ((A_local, rci), (W_local, rci), *((copy, turn) for copy in shared)):
        sch.compute_at(copy, loop)
    for copy in fetched:
        sch.compute_at(copy, turn)
    for copy in (*shared, *fetched):
        together = sch.fuse(*sch.get_loops(copy)[-2:])
        fetch, lane, vector = sch.split(together, factors=[None, 256, 4])
        sch.unroll(fetch)
        sch.bind(lane, "threadIdx.x")
        sch.vectorize(vector)
    sch.unroll(rci)
    for copy in (A_local, W_local, B_local):
        sch.vectorize(sch.get_loops(copy)[-1])
    sch.decompose_reduction(block, turn if ahead else rco)
    if ahead:
        sch.pipeline(turn, stages=[0, 0, 0, 0, 1], order=[0, 3, 1, 4, 2])
    return sch


def lesson_small() -> wb.Schedule:
    """Every way that lesson 6 takes through its small convolution."""
    sch = wb.Schedule(named_as_taught(4, 16, 64, 64))
    sch.compute_inline("Apad")
    yy, xx, ff, nn, *_ = sch.get_loops("B")
    sch.bind(sch.fuse(yy, xx), "blockIdx.y")
    sch.bind(ff, "blockIdx.x")
    sch.bind(nn, "threadIdx.x")
    for copies, side_by_side in ((0, False), (2, False), (2, True)):
        sch.goto(0)
        _lesson_tiles(sch, copies)
        for name in ("Apad_shared", "W_shared"):
            sch.compute_at(name, "rx")
            if copies == 0:
                _lesson_fetch(sch, name, side_by_side)
        for name in ("Apad_shared", "W_shared") if copies else ():
            _lesson_fetch(sch, name, side_by_side)
        sch.decompose_reduction("B", "rc_0")
    return sch


def lesson_large() -> wb.Schedule:
    """Every way that lesson 6 takes through the tutorial's sizes."""
    sch = wb.Schedule(named_as_taught(SIZE, CHANNELS, FILTERS, BATCH))
    for copies, side_by_side in ((1, False), (2, False), (2, True)):
        sch.goto(0)
        _lesson_tiles(sch, copies)
        for name in ("Apad_shared", "W_shared"):
            sch.compute_at(name, "rx")
            _lesson_fetch(sch, name, side_by_side)
        sch.decompose_reduction("B", "rc_0")
    return sch


def _lesson_tiles(sch: wb.Schedule, copies: int) -> None:
    """Blocks of 64 x 64 by 8 x 8 threads; no loops for virtual threads where there are 0."""
    sch.cache_read("B", 0, "shared")
    sch.compute_inline("Apad")
    sch.cache_read("B", 1, "shared")
    far = sch.cache_write("B", 0, "local")
    yy, xx, ff, nn, ry, rx, rc = sch.get_loops("B")
    bz = sch.fuse(yy, xx)
    own = [copies] if copies else []
    factors = [None, *own, THREADS, TILE // (copies or 1)]
    f, n = sch.split(ff, factors=factors), sch.split(nn, factors=factors)
    rco, rci = sch.split(rc, factors=[None, STEP])
    pairs = [loop for both in zip(f[:-1], n[:-1], strict=True) for loop in both]
    sch.reorder(bz, *pairs, rco, ry, rx, rci, f[-1], n[-1])
    sch.reverse_compute_at(far, pairs[-1])
    virtual = ["vthread.y", "vthread.x"] if copies else []
    axes = ["blockIdx.z", "blockIdx.y", "blockIdx.x", *virtual, "threadIdx.y", "threadIdx.x"]
    for loop, axis in zip((bz, *pairs), axes, strict=True):
        sch.bind(loop, axis)
    for which in (0, 1):
        sch.compute_at(sch.cache_read("B", which, "local"), rci)


def _lesson_fetch(sch: wb.Schedule, copy: str, side_by_side: bool) -> None:
    rows, columns = sch.get_loops(copy)[-2:]
    ty, _ = sch.split(rows, factors=[THREADS, None])
    factors = [None, THREADS, 4] if side_by_side else [THREADS, None, 4]
    parts = sch.split(columns, factors=factors)
    sch.bind(ty, "threadIdx.y")
    sch.bind(parts[factors.index(THREADS)], "threadIdx.x")
    sch.vectorize(parts[-1])
