"""Lesson 11's schedules on the GPU: each right in every cell, timed, and beside cuBLAS by turns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import workbench as wb
from benchmarks import large_jobs
from benchmarks.large_jobs import Job
from benchmarks.steps import Results
from benchmarks.tensor_cores import products_beside_cublas
from workbench.ir import PrimFunc
from workbench.lesson.half_products import (
    TILE,
    VECTOR,
    WARP,
    Pair,
    by_calls,
    half_product,
    half_tiles,
    in_tiles,
    through_registers,
    under_way,
)
from workbench.runtime import recorded, vendor

SMALL = (128, 64, 256)
FEW = (64, 64), (2, 2), 64
N = 4096
LARGE = (128, 256), (2, 4), 64  # outputs of a block, its warps, terms of a turn
Share = tuple[Pair, Pair, int]


def small() -> Iterator[tuple[str, wb.Schedule]]:
    """Those of the lesson's labs."""
    start = half_product(*SMALL)
    padded = half_tiles(start, "wmma", *FEW, pad=8)
    for name, func in {**ladder(start, FEW), "wmma, rows padded": padded}.items():
        yield f"lesson 11 in small, {name}", wb.Schedule(func)


def large() -> Iterator[tuple[str, wb.Schedule]]:
    """Those that it compares."""
    for name, func in ladder(half_product(N, N, N), LARGE).items():
        yield f"lesson 11, {name}", wb.Schedule(func)


def ladder(start: PrimFunc, of: Share) -> dict[str, PrimFunc]:
    """What the lesson adds, each to the one before; rows are padded or columns change places."""
    swizzled = half_tiles(start, "mma", *of, swizzle=True)
    return {
        "wmma": half_tiles(start, "wmma", *of),
        "mma.sync": half_tiles(start, "mma", *of),
        "rows padded": half_tiles(start, "mma", *of, pad=8),
        "swizzle": swizzled,
        "through registers": through_registers(swizzled, of[1]),
        "cp.async": under_way(swizzled, 2),
        "three tiles": under_way(swizzled, 3),
        "fragments ahead": under_way(swizzled, 3, ahead=True),
    }


def variants(start: PrimFunc, of: Share) -> dict[str, PrimFunc]:
    """What the lesson tells of beside that."""
    rows = by_rows(start, *of)
    padded = half_tiles(start, "mma", *of, pad=8)
    return {
        "wmma, rows padded": half_tiles(start, "wmma", *of, pad=8),
        "rows padded, fragments ahead": under_way(padded, 3, ahead=True),
        "not swizzled, fragments ahead": under_way(half_tiles(start, "mma", *of), 3, ahead=True),
        "stored by rows": rows,
        "fragments ahead, stored by rows": under_way(rows, 3, ahead=True),
    }


def by_rows(start: PrimFunc, block: Pair, warps: Pair, depth: int) -> PrimFunc:
    """With a swizzle; sums go to C through shared memory, of each warp a row of tiles at a time.

    There a thread reads 16 bytes side by side.
    """
    sch = wb.Schedule(start)
    in_tiles(sch, "mma", block, warps, depth)
    stored = sch.cache_write("C_warp", 0, "shared.dyn")
    sch.reverse_compute_at(stored, sch.get_loops("C_warp")[4])
    _, x, vector = sch.split(sch.fuse(*sch.get_loops(stored)[-2:]), [None, WARP, VECTOR // 2])
    sch.bind(x, "threadIdx.x")
    sch.vectorize(vector)
    tiles = block[0] // warps[0] // TILE
    rows = f"i // {tiles * TILE}, i // {TILE} % {tiles}, i % {TILE}"
    sch.transform_layout("C_warp", ("write", 0), f"lambda i, j: ({rows}, j)")
    by_calls(sch, "mma")
    sch.storage_align("C_warp_o", 0, axis=2, factor=WARP, offset=VECTOR)
    for name in ("A_shared", "B_shared"):
        sch.annotate(name, "permuted_layout", 1)
    return sch.func


def measure(results: Results, runs: list[recorded.Run]) -> list[Results]:
    """Each against NumPy's sums of whole numbers, which are exact, and timed; and cuBLAS."""
    rows = large_jobs.run(small(), _job(*SMALL), results, runs)
    job = _job(N, N, N)
    rows += large_jobs.run(large(), job, results, runs)
    a, b = job.usual  # with zeros it draws less power, and takes less time
    library = vendor.matmul(a, b.T)
    timing = library.time()
    runs.append(recorded.Run(library.key, f"{library.name}, halves, lesson 11", timing))
    return [*rows, {"label": library.name, "seconds": timing.median, "how": timing.how}]


def beside_cublas() -> list[Results]:
    """The same by turns with cuBLAS, and what else the lesson tells of."""
    start = half_product(N, N, N)
    every = {**ladder(start, LARGE), **variants(start, LARGE)}
    return products_beside_cublas({name: (wb.Schedule(func), True) for name, func in every.items()})


def _job(m: int, n: int, k: int) -> Job:
    rng = np.random.default_rng(2)
    whole = tuple(rng.integers(-3, 4, shape).astype("float16") for shape in ((m, k), (n, k)))
    usual = tuple(rng.standard_normal(w.shape, "float32").astype("float16") for w in whole)
    a, b = (w.astype("float32") for w in whole)
    return Job(whole, a @ b.T, usual, 2 * m * n * k)
