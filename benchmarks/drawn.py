"""Schedules drawn by a fixed seed from the lessons' verbs, good and bad; faults mended alone."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import workbench as wb
from benchmarks.convolutions import BATCH, CHANNELS, FILTERS, SIZE, tiled, tutorial
from benchmarks.convolutions import convolution as written_by_tutorial
from benchmarks.histories import LARGE, window_sum
from benchmarks.matmuls import blocking, matmul, strided
from workbench.diag import Fail
from workbench.lesson.convolutions import convolution

EACH = 60  # schedules of a family
MATMUL = 1024
LEAST_THREADS = 4096  # of a launch; with fewer a run takes seconds

Drawer = Callable[[Random], tuple[str, wb.Schedule]]


def drawn(family: str, number: int) -> tuple[str, wb.Schedule]:
    """Schedule `number` of a family, and what was drawn for it: the first draw that builds."""
    rng = Random(f"{family} {number}")
    while True:
        try:
            told, sch = DRAWERS[family](rng)
            kernels = wb.build(sch).kernels
        except Fail:
            continue
        if all(_threads(kernel) >= LEAST_THREADS for kernel in kernels):
            return told, sch


def _threads(kernel: Any) -> int:
    x, y, z, tx, ty, tz = (*kernel.grid, *kernel.block)
    return x * y * z * tx * ty * tz


# --- a product of matrices ----------------------------------------------------------------------


def draw_matmul(rng: Random) -> tuple[str, wb.Schedule]:
    """A way through the product: one thread a cell, tiles in registers, in shared memory."""
    sch = wb.Schedule(matmul(MATMUL))
    way = rng.choice(["cells", "local"] * 2 + ["shared"] * 5 + ["strided"])
    if way == "cells":
        told = draw_cells(rng, sch)
    elif way == "local":
        tiles = draw_tiles(rng)
        keep = rng.random() < 0.5
        told = f"{tiles}, keep={keep}"
        blocking(sch, *tiles, keep=keep)
    elif way == "shared":
        told = draw_shared(rng, sch)
    else:
        ahead, rows = rng.random() < 0.5, rng.choice([32, 64, 128])
        copies = rng.choice([1, 2, 3])
        told = f"{rows} rows, ahead={ahead}, copies={copies}"
        strided(sch, rows, ahead=ahead, copies=copies)
    return f"{way}: {told}", sch


def draw_cells(rng: Random, sch: wb.Schedule) -> str:
    """One thread a cell, or some, in blocks of any shape; rows may lie along a warp."""
    shape = [rng.choice([1, 2, 4, 8, 16, 32]) for _ in range(2)]
    along = rng.choice(["j", "j", "i"])
    sums = rng.random() < 0.5
    depth = rng.choice([1, 1, 2, 4, 8])
    cells(sch, *shape, along=along, sums=sums, depth=depth)
    return f"{shape}, along={along}, sums={sums}, depth={depth}"


def cells(
    sch: wb.Schedule,
    rows: int,
    columns: int,
    *,
    along: str = "j",
    sums: bool = True,
    depth: int = 1,
) -> wb.Schedule:
    """A thread a cell, `rows` x `columns` of them a block, neighbours `along` a loop.

    With `sums`, each is summed in a register, `depth` turns of the sum written out at a time.
    """
    block = sch.get_block("C")
    local = sch.cache_write(block, 0, "local") if sums else None
    i, j, k = sch.get_loops(block)
    i_0, i_1 = sch.split(i, factors=[None, rows])
    j_0, j_1 = sch.split(j, factors=[None, columns])
    sch.reorder(i_0, j_0, i_1, j_1)
    x, y = (j_1, i_1) if along == "j" else (i_1, j_1)
    outer = k
    if depth > 1:
        outer, inner = sch.split(k, factors=[None, depth])
        sch.unroll(inner)
    for loop, axis in (
        (i_0, "blockIdx.y"),
        (j_0, "blockIdx.x"),
        (y, "threadIdx.y"),
        (x, "threadIdx.x"),
    ):
        sch.bind(loop, axis)
    if local:
        sch.reverse_compute_at(local, j_1)
    sch.decompose_reduction(block, outer)
    return sch


def draw_tiles(rng: Random) -> tuple[int, int, int, int, int]:
    """Cells of a thread, threads of a block, and how deep: each down and across."""
    local = rng.choice([1, 2, 4, 8]), rng.choice([1, 2, 4, 8])
    threads = rng.choice([4, 8, 16, 32]), rng.choice([4, 8, 16, 32])
    return (*local, *threads, rng.choice([2, 4, 8, 16, 32]))


def draw_shared(rng: Random, sch: wb.Schedule) -> str:
    """Tiles in shared memory, fetched in one of several ways."""
    tiles = draw_tiles(rng)
    own = {
        "width": rng.choice([1, 2, 4, 4]),
        "side_by_side": rng.random() < 0.75,
        "pad": rng.choice([0, 0, 4, 1]),
        "along": rng.choice(["j", "j", "j", "i"]),
        "written_out": rng.random() < 0.4,
        "registers": rng.random() < 0.3,
    }
    shared(sch, *tiles, **own)
    return f"{tiles}, {own}"


def shared(
    sch: wb.Schedule,
    tile_local_y: int,
    tile_local_x: int,
    tile_block_y: int,
    tile_block_x: int,
    tile_k: int,
    *,
    width: int = 4,
    side_by_side: bool = True,
    pad: int = 0,
    along: str = "j",
    written_out: bool = False,
    registers: bool = False,
) -> wb.Schedule:
    """Blocking with shared memory, by the course's steps, each of which may be done worse.

    Threads fetch `width` floats at a time, `side_by_side` or each its own run of them; rows of A
    are padded by `pad`; neighbours lie `along` a loop; `written_out` unrolls the tile's depth;
    `registers` copies what a thread reads of the tiles to registers first.
    """
    block = sch.get_block("C")
    C_local = sch.cache_write(block, 0, "local")
    copies = [sch.cache_read(block, which, "shared") for which in (0, 1)]
    near = [sch.cache_read(block, which, "local") for which in (0, 1)] if registers else []
    i, j, k = sch.get_loops(block)
    i0, i1, i2 = sch.split(i, factors=[None, tile_block_y, tile_local_y])
    j0, j1, j2 = sch.split(j, factors=[None, tile_block_x, tile_local_x])
    k0, k1 = sch.split(k, factors=[None, tile_k])
    inner = (i1, j1) if along == "j" else (j1, i1)
    sch.reorder(i0, j0, *inner, k0, k1, i2, j2)
    thread = sch.fuse(*inner)
    sch.bind(i0, "blockIdx.y")
    sch.bind(j0, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    sch.reverse_compute_at(C_local, thread)
    for copy in near:
        sch.compute_at(copy, k1)
    for copy in copies:
        sch.compute_at(copy, k0)
        fetch(sch, copy, tile_block_y * tile_block_x, width=width, side_by_side=side_by_side)
    if pad:
        sch.storage_align(copies[0], 0, axis=0, factor=tile_k, offset=pad)
    if written_out:
        sch.unroll(k1)
    sch.decompose_reduction(block, k0)
    return sch


def fetch(
    sch: wb.Schedule, copy: Any, threads: int, *, width: int = 4, side_by_side: bool = True
) -> None:
    """A tile fetched by `threads`, `width` floats at a time, or each its own run of floats."""
    together = sch.fuse(*sch.get_loops(copy)[-2:])
    if side_by_side:
        _, lane, vector = sch.split(together, factors=[None, threads, width])
    else:
        lane, _, vector = sch.split(together, factors=[threads, None, width])
    sch.bind(lane, "threadIdx.x")
    if width > 1:
        sch.vectorize(vector)


# --- the tutorial's convolution -----------------------------------------------------------------


def draw_convolution(rng: Random) -> tuple[str, wb.Schedule]:
    """A way through lesson 6's convolution: an output a thread, tiles, the tutorial's, our best."""
    way = rng.choice(["outputs"] * 2 + ["tiles"] * 7 + ["large"])
    if way == "large":
        ahead, by_tutorial = rng.random() < 0.5, rng.random() < 0.3
        sch = wb.Schedule(written_by_tutorial())
        if by_tutorial:
            return "the tutorial's", tutorial(sch)
        return f"large tiles, ahead={ahead}", tiled(sch, ahead=ahead)
    sch = wb.Schedule(convolution(SIZE, CHANNELS, FILTERS, BATCH))
    if way == "outputs":
        threads, along = rng.choice([32, 64, 128, 256]), rng.choice(["n", "n", "f"])
        return f"outputs: {threads}, along={along}", outputs(sch, threads, along=along)
    own = {
        "threads": rng.choice([4, 8, 8, 16]),
        "tile": rng.choice([2, 4, 8]),
        "virtual": rng.choice([1, 2]),
        "step": rng.choice([4, 8, 16]),
        "side_by_side": rng.random() < 0.6,
        "width": rng.choice([1, 4, 4]),
        "shared_copies": rng.random() < 0.8,
        "registers": rng.random() < 0.6,
    }
    return f"tiles: {own}", conv_tiles(sch, **own)


def outputs(sch: wb.Schedule, threads: int, *, along: str = "n") -> wb.Schedule:
    """One output a thread, neighbours `along` pictures or filters, summed in a register."""
    sch.compute_inline("Apad")
    far = sch.cache_write("B", 0, "local")
    y, x, f, n, ry, _, _ = sch.get_loops("B")
    near, other = (n, f) if along == "n" else (f, n)
    outer, inner = sch.split(near, factors=[None, threads])
    sch.reorder(y, x, other, outer, inner)
    sch.bind(sch.fuse(y, x), "blockIdx.z")
    sch.bind(other, "blockIdx.y")
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    sch.reverse_compute_at(far, inner)
    sch.decompose_reduction("B", ry)
    return sch


def conv_tiles(
    sch: wb.Schedule,
    *,
    threads: int = 8,
    tile: int = 8,
    virtual: int = 1,
    step: int = 8,
    side_by_side: bool = True,
    width: int = 4,
    shared_copies: bool = True,
    registers: bool = True,
) -> wb.Schedule:
    """Lesson 6's tiles: `threads` x `threads` of `tile` x `tile` outputs, `step` channels deep."""
    if shared_copies:
        sch.cache_read("B", 0, "shared")
    sch.compute_inline("Apad")
    if shared_copies:
        sch.cache_read("B", 1, "shared")
    far = sch.cache_write("B", 0, "local")
    yy, xx, ff, nn, ry, rx, rc = sch.get_loops("B")
    bz = sch.fuse(yy, xx)
    factors = [None, virtual, threads, tile // virtual]
    f, n = sch.split(ff, factors=factors), sch.split(nn, factors=factors)
    rco, rci = sch.split(rc, factors=[None, step])
    pairs = [loop for both in zip(f[:-1], n[:-1], strict=True) for loop in both]
    sch.reorder(bz, *pairs, rco, ry, rx, rci, f[-1], n[-1])
    sch.reverse_compute_at(far, pairs[-1])
    axes = ("blockIdx.z", "blockIdx.y", "blockIdx.x", "vthread.y", "vthread.x")
    for loop, axis in zip((bz, *pairs), (*axes, "threadIdx.y", "threadIdx.x"), strict=True):
        sch.bind(loop, axis)
    for which in (0, 1) if registers and shared_copies else ():
        sch.compute_at(sch.cache_read("B", which, "local"), rci)
    for copy in ("Apad_shared", "W_shared") if shared_copies else ():
        sch.compute_at(copy, rx)
        rows, columns = sch.get_loops(copy)[-2:]
        down, _ = sch.split(rows, factors=[threads, None])
        parts = [None, threads, width] if side_by_side else [threads, None, width]
        across = sch.split(columns, factors=parts)
        sch.bind(down, "threadIdx.y")
        sch.bind(across[parts.index(threads)], "threadIdx.x")
        if width > 1:
            sch.vectorize(across[-1])
    sch.decompose_reduction("B", rco)
    return sch


# --- the window sum -----------------------------------------------------------------------------


def draw_window(rng: Random) -> tuple[str, wb.Schedule]:
    """A way through the window sum: one output a thread, or several, from shared memory or not."""
    own = {
        "threads": rng.choice([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]),
        "each": rng.choice([1, 1, 2, 4, 8, 16, 32, 64]),
        "runs": rng.random() < 0.5,
        "vector": rng.random() < 0.3,
        "copy": rng.choice(["", "", "", "together", "alone"]),
    }
    return f"{own}", windows(wb.Schedule(window_sum(LARGE)), **own)


def windows(
    sch: wb.Schedule,
    threads: int,
    *,
    each: int = 1,
    runs: bool = False,
    vector: bool = False,
    copy: str = "",
) -> wb.Schedule:
    """Blocks of `threads` with `each` outputs a thread: a run of neighbours, or side by side.

    A `vector` stores four at a time. A copy in shared memory is fetched "together", or by every
    thread "alone".
    """
    (i,) = sch.get_loops("C")
    width = 4 if vector else 1
    if runs:
        outer, thread, turn, lane = sch.split(i, factors=[None, threads, each, width])
    else:
        outer, turn, thread, lane = sch.split(i, factors=[None, each, threads, width])
        sch.reorder(outer, thread, turn, lane)
    sch.bind(outer, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    if vector:
        sch.vectorize(lane)
    if copy:
        fetched = sch.cache_read("C", 0, "shared")
        sch.compute_at(fetched, thread)
        if copy == "together":
            _, own = sch.split(sch.get_loops(fetched)[-1], factors=[None, threads])
            sch.bind(own, "threadIdx.x")
    return sch


DRAWERS: dict[str, Drawer] = {
    "matmul": draw_matmul,
    "convolution": draw_convolution,
    "window sum": draw_window,
}


# --- one fault each, and what mends it ----------------------------------------------------------


def _product() -> wb.Schedule:
    return wb.Schedule(matmul(MATMUL))


def _pictures() -> wb.Schedule:
    return wb.Schedule(convolution(SIZE, CHANNELS, FILTERS, BATCH))


def _sums() -> wb.Schedule:
    return wb.Schedule(window_sum(LARGE))


Make = Callable[[], wb.Schedule]
# The slow ones, each with what it is once one thing alone is mended: first the fault it is here for
SLOW: dict[str, tuple[Make, dict[str, Make]]] = {
    "rows along a warp": (
        lambda: cells(_product(), 16, 16, along="i"),
        {
            "coalescing": lambda: cells(_product(), 16, 16),
            "unrolled": lambda: cells(_product(), 16, 16, along="i", depth=8),
        },
    ),
    "each cell read again": (
        lambda: cells(_product(), 16, 16),
        {
            "reuse": lambda: shared(_product(), 4, 4, 16, 16, 16),
            "unrolled": lambda: cells(_product(), 16, 16, depth=8),
        },
    ),
    "a bank for all": (
        lambda: shared(_product(), 1, 4, 32, 8, 32, along="i", width=1),
        {
            "conflicts": lambda: shared(_product(), 1, 4, 32, 8, 32, along="i", width=1, pad=1),
            "wider fetch": lambda: shared(_product(), 1, 4, 32, 8, 32, along="i"),
        },
    ),
    "few blocks": (
        lambda: shared(_product(), 8, 8, 16, 16, 8),
        {
            "occupancy": lambda: shared(_product(), 4, 4, 16, 16, 8),
            "deeper": lambda: shared(_product(), 8, 8, 16, 16, 16),
        },
    ),
    "small tiles": (
        lambda: shared(_product(), 1, 1, 16, 16, 16),
        {
            "reuse": lambda: shared(_product(), 4, 4, 16, 16, 16),
            "unrolled": lambda: shared(_product(), 1, 1, 16, 16, 16, written_out=True),
        },
    ),
    "nothing ahead": (
        lambda: strided(_product(), 64),
        {
            "latency": lambda: strided(_product(), 64, ahead=True),
            "smaller": lambda: strided(_product(), 32),
        },
    ),
    "no copies": (
        lambda: conv_tiles(_pictures(), shared_copies=False, tile=2),
        {
            "reuse": lambda: conv_tiles(_pictures(), tile=2),
            "tile": lambda: conv_tiles(_pictures(), shared_copies=False, tile=8),
        },
    ),
    "neighbours far apart": (
        lambda: outputs(_pictures(), 128, along="f"),
        {
            "coalescing": lambda: outputs(_pictures(), 128),
            "fewer threads": lambda: outputs(_pictures(), 64, along="f"),
        },
    ),
    "many small blocks": (
        lambda: windows(_sums(), 32),
        {
            "launch": lambda: windows(_sums(), 32, each=8),
            "vector": lambda: windows(_sums(), 32, vector=True),
        },
    ),
    "each its own run": (
        lambda: windows(_sums(), 256, each=32, runs=True),
        {
            "coalescing": lambda: windows(_sums(), 256, each=32),
            "smaller": lambda: windows(_sums(), 256, each=8, runs=True),
        },
    ),
}
