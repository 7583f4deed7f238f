"""The matrix multiply of lessons 3 and 4 with the course's ways through it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import workbench as wb
from workbench import script
from workbench.ir import PrimFunc
from workbench.lesson import in_registers, in_shared

_MATMUL = """
@T.prim_func
def main(
    A: T.Buffer(({m}, {k}), "float32"),
    B: T.Buffer(({k}, {n}), "float32"),
    C: T.Buffer(({m}, {n}), "float32"),
):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
SMALL, LARGE = 8, 1024
ASYNC = "nvidia/a100"  # the first that copies asynchronously; its text runs on all that came after
# (tile_local_y, tile_local_x, tile_block_y, tile_block_x, tile_k) of lesson 4's grid
GRID = tuple(
    (local, local, threads, threads, depth)
    for local, threads, depth in product((2, 4, 8, 16), (8, 16), (4, 8, 16, 32))
)


def matmul(m: int, n: int | None = None, k: int | None = None) -> PrimFunc:
    """C = A B, C being m x n (square where n is left out) and k the length of the sums."""
    func = script.parse(_MATMUL.format(m=m, n=n or m, k=k or m))
    assert isinstance(func, PrimFunc)
    return func


def naive(sch: wb.Schedule, threads: int) -> wb.Schedule:
    """One thread for each output, in blocks of `threads` x `threads`."""
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i_0, i_1 = sch.split(i, factors=[None, threads])
    j_0, j_1 = sch.split(j, factors=[None, threads])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.y")
    sch.bind(j_1, "threadIdx.x")
    sch.decompose_reduction(block, k)
    return sch


def blocking(
    sch: Any,
    tile_local_y: int,
    tile_local_x: int,
    tile_block_y: int,
    tile_block_x: int,
    tile_k: int,
    *,
    keep: bool = False,
) -> Any:
    """The course's local blocking; with `keep`, what a thread loads is copied to registers too."""
    block_C = sch.get_block("C")
    C_local = sch.cache_write(block_C, 0, "local")
    i, j, k = sch.get_loops(block_C)
    i0, i1, i2 = sch.split(i, factors=[None, tile_block_y, tile_local_y])
    j0, j1, j2 = sch.split(j, factors=[None, tile_block_x, tile_local_x])
    k0, k1 = sch.split(k, factors=[None, tile_k])
    sch.unroll(k1)
    sch.reorder(i0, j0, i1, j1, k0, k1, i2, j2)
    sch.reverse_compute_at(C_local, j1)
    sch.bind(i0, "blockIdx.y")
    sch.bind(j0, "blockIdx.x")
    sch.bind(i1, "threadIdx.y")
    sch.bind(j1, "threadIdx.x")
    for which in (0, 1) if keep else ():
        sch.compute_at(sch.cache_read(block_C, which, "local"), k1)
    sch.decompose_reduction(block_C, k0)
    return sch


def blocking_with_shared(
    sch: Any,
    tile_local_y: int,
    tile_local_x: int,
    tile_block_y: int,
    tile_block_x: int,
    tile_k: int,
) -> Any:
    """The course's shared-memory blocking."""
    block_C = sch.get_block("C")
    C_local = sch.cache_write(block_C, 0, "local")
    i, j, k = sch.get_loops(block_C)
    i0, i1, i2 = sch.split(i, factors=[None, tile_block_y, tile_local_y])
    j0, j1, j2 = sch.split(j, factors=[None, tile_block_x, tile_local_x])
    k0, k1 = sch.split(k, factors=[None, tile_k])
    sch.reorder(i0, j0, i1, j1, k0, k1, i2, j2)
    sch.reverse_compute_at(C_local, j1)
    sch.bind(i0, "blockIdx.y")
    sch.bind(j0, "blockIdx.x")
    tx = sch.fuse(i1, j1)
    sch.bind(tx, "threadIdx.x")
    nthread = tile_block_y * tile_block_x
    _fetch_together(sch, block_C, nthread, 0, k0)
    _fetch_together(sch, block_C, nthread, 1, k0)
    sch.decompose_reduction(block_C, k0)
    return sch


def _fetch_together(sch: Any, block: Any, nthread: int, read_idx: int, read_loc: Any) -> None:
    read_cache = sch.cache_read(block, read_idx, "shared")
    sch.compute_at(read_cache, read_loc)
    inner0, inner1 = sch.get_loops(read_cache)[-2:]
    inner = sch.fuse(inner0, inner1)
    _, tx, vec = sch.split(inner, factors=[None, nthread, 4])
    sch.vectorize(vec)
    sch.bind(tx, "threadIdx.x")


def strided(
    sch: wb.Schedule, rows: int = 64, *, ahead: bool = False, copies: int = 2, copied: int = 0
) -> wb.Schedule:
    """Tiles of `rows` x 128 by two threads a row, each 8 x 8 cells in strided groups of 4 x 4.

    A warp lies on 4 x 8 of them, so its reads of shared memory meet no bank twice; A is kept by
    columns in shared memory, its rows padded, and comes there through registers, 4 floats a load.
    With `ahead`, the next tiles are on their way to registers while these are used, and shared
    memory has `copies` of each: with two or more, one barrier a turn. With `copied`, they are
    copied asynchronously, A float by float, so many turns ahead.
    """
    block = sch.get_block("C")
    C_local = sch.cache_write(block, 0, "local")
    A_shared, B_shared = (sch.cache_read(block, which, "shared") for which in (0, 1))
    A_local, B_local = (sch.cache_read(block, which, "local") for which in (0, 1))
    A_fetched = None if copied else sch.cache_read(A_shared, 0, "local")
    i, j, k = sch.get_loops(block)
    i0, i_virtual, i_warp, i_lane, i_cell = sch.split(i, factors=[None, 2, rows // 32, 4, 4])
    j0, j_virtual, j_warp, j_lane, j_cell = sch.split(j, factors=[None, 2, 2, 8, 4])
    k0, k1 = sch.split(k, factors=[None, 16])
    virtual = (i_virtual, j_virtual)
    sch.reorder(i0, j0, *virtual, i_warp, j_warp, i_lane, j_lane, k0, k1, i_cell, j_cell)
    tx = sch.fuse(i_warp, j_warp, i_lane, j_lane)
    sch.bind(i0, "blockIdx.y")
    sch.bind(j0, "blockIdx.x")
    for loop in virtual:
        sch.bind(loop, "vthread")
    sch.bind(tx, "threadIdx.x")
    sch.reverse_compute_at(C_local, tx)
    for copy in (A_local, B_local):
        sch.compute_at(copy, k1)
    for copy in (B_shared, A_shared):
        sch.compute_at(copy, k0)
    fetched = [A_fetched]
    if ahead:
        fetched.append(sch.cache_read(B_shared, 0, "local"))
        for copy in fetched:
            sch.compute_at(copy, k0)
            sch.vectorize(_by_all_threads(sch, copy, rows * 2)[2])
    vector = _by_all_threads(sch, B_shared, rows * 2)[2]
    sch.vectorize(vector)
    _, lane, vector = _by_all_threads(sch, A_shared, rows * 2)
    if A_fetched and not ahead:
        sch.compute_at(A_fetched, lane)
        sch.vectorize(sch.get_loops(A_fetched)[-1])
    sch.unroll(vector)
    sch.transform_layout(A_shared, ("write", 0), "lambda i, k: (k, i)")
    sch.storage_align(A_shared, 0, axis=0, factor=32, offset=4)
    sch.unroll(k1)
    for copy in (A_local, B_local, C_local):
        sch.vectorize(sch.get_loops(copy)[-1])
    sch.decompose_reduction(block, k0)
    if ahead:  # B into registers, B on, A into registers, A on, the work
        both = {"A_shared": copies, "B_shared": copies}
        sch.pipeline(k0, stages=[0, 0, 0, 0, 1], order=[0, 3, 1, 4, 2], copies=both)
    if copied:
        sch.pipeline(k0, stages=[0, 0, copied], async_stages=[0])
    return sch


def _by_all_threads(sch: wb.Schedule, copy: Any, threads: int) -> list[Any]:
    loops = sch.split(sch.fuse(*sch.get_loops(copy)[-2:]), factors=[None, threads, 4])
    sch.unroll(loops[0])
    sch.bind(loops[1], "threadIdx.x")
    return loops


# The two schedules that the course ends with, and their tiles.
SCHEDULES: tuple[tuple[str, Callable[..., Any], tuple[int, ...]], ...] = (
    ("local_blocking", blocking, (8, 8, 8, 8, 4)),
    ("shared_blocking", blocking_with_shared, (8, 8, 8, 8, 8)),
)


def small_branches() -> wb.Schedule:
    """Both lessons' ways through the product of 8 x 8 matrices."""
    sch = wb.Schedule(matmul(SMALL))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.bind(i, "threadIdx.y")
    sch.bind(j, "threadIdx.x")
    sch.decompose_reduction(block, k)
    for threads, keep in ((2, False), (2, True), (3, True)):  # 3 x 3 reach over the edge
        sch.goto(0)
        blocking(sch, 2, 2, threads, threads, 2, keep=keep)
    sch.goto(0)
    blocking_with_shared(sch, 2, 2, 2, 2, 4)
    sch.goto(next(n.id for n in sch.node.path() if n.label.startswith("bind(i_1_j_1_fused")))
    sch.decompose_reduction(block, "k_0")
    return sch


def large_branches() -> wb.Schedule:
    """Both lessons' ways through the course's product of 1024 x 1024 matrices."""
    sch = naive(wb.Schedule(matmul(LARGE)), 16)
    for tiles in ((8, 8, 8, 8, 4), (4, 4, 8, 8, 4), (4, 4, 16, 16, 4)):
        for keep in (False, True):
            sch.goto(0)
            blocking(sch, *tiles, keep=keep)
    for depth in (16, 8):
        sch.goto(0)
        blocking_with_shared(sch, 8, 8, 8, 8, depth)
    return sch


def ahead_small() -> wb.Schedule:
    """Every way that lesson 9 takes through its small product."""
    sch = blocking_with_shared(wb.Schedule(matmul(64)), 4, 4, 8, 8, 8)
    for name in ("A_shared", "B_shared"):
        held = sch.cache_read(name, 0, "local")
        sch.compute_at(held, "k_0")
        _, thread, vector = sch.split(sch.fuse(*sch.get_loops(held)[-2:]), factors=[None, 64, 4])
        sch.vectorize(vector)
        sch.bind(thread, "threadIdx.x")
    through_registers = sch.node.id
    for copies in (None, *({"A_shared": n, "B_shared": n} for n in (2, 3))):
        sch.goto(through_registers)
        sch.pipeline("k_0", stages=[0, 0, 0, 0, 1], order=[0, 3, 1, 4, 2], copies=copies)
    return sch


def ahead_large() -> wb.Schedule:
    """The same for its real size: strided tiles, then fetched ahead with one to three copies."""
    sch = strided(wb.Schedule(matmul(LARGE)))
    for copies in (1, 2, 3):
        sch.goto(0)
        strided(sch, ahead=True, copies=copies)
    return sch


def slow() -> Iterator[tuple[str, wb.Schedule]]:
    """Lesson 8's schedules that are none of another lesson's, and the one that spills."""
    for name, steps in (
        ("first", partial(in_registers, tile=(4, 4), threads=(16, 16), depth=4, along="i")),
        ("second", partial(in_registers, tile=(8, 8), threads=(2, 2), depth=4)),
        ("fourth", partial(in_shared, tile=(16, 16), threads=(8, 8), depth=8)),
        (
            "sixth, mended",
            partial(in_shared, tile=(8, 8), threads=(8, 8), depth=8, virtual=(2, 2), pad=4),
        ),
    ):
        sch = wb.Schedule(matmul(LARGE))
        steps(sch)
        yield f"lesson 8, {name}", sch


def grid() -> Iterator[tuple[str, wb.Schedule]]:
    """Shared-memory blocking with each of lesson 4's tile sizes."""
    for tiles in GRID:
        yield f"tiles {tiles}", blocking_with_shared(wb.Schedule(matmul(LARGE)), *tiles)
