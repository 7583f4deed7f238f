"""A product of matrices by the steps of lessons 3 and 4, each with what may be done worse."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, Literal, ParamSpec

from workbench.ir import PrimFunc, once
from workbench.schedule import BlockHandle, LoopHandle, Schedule

Along = Literal["i", "j"]
Sizes = ParamSpec("Sizes")


def in_registers(
    sch: Schedule, tile: tuple[int, int], threads: tuple[int, int], depth: int, along: Along = "j"
) -> None:
    """Take lesson 3's steps on a product: each thread has a `tile` of outputs in registers.

    A block has `threads` down and across, and `depth` steps of k are written out at a time.
    `along` is the loop of outputs that goes on threadIdx.x, which lanes of a warp count first.

    >>> sch = lesson.exercise("small_tiles").schedule()
    >>> lesson.in_registers(sch, (2, 2), (8, 8), 4)
    >>> wb.build(sch).block
    (8, 8, 1)
    """
    block = sch.get_block("C")
    sums = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    i_0, i_1, i_2 = sch.split(i, factors=[None, threads[0], tile[0]])
    j_0, j_1, j_2 = sch.split(j, factors=[None, threads[1], tile[1]])
    k_0, k_1 = sch.split(k, factors=[None, depth])
    sch.unroll(k_1)
    sch.reorder(i_0, j_0, i_1, j_1, k_0, k_1, i_2, j_2)
    sch.reverse_compute_at(sums, j_1)
    sch.decompose_reduction(block, k_0)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    x, y = (j_1, i_1) if along == "j" else (i_1, j_1)
    sch.bind(y, "threadIdx.y")
    sch.bind(x, "threadIdx.x")


def in_shared(
    sch: Schedule,
    tile: tuple[int, int],
    threads: tuple[int, int],
    depth: int,
    *,
    virtual: tuple[int, int] = (1, 1),
    pad: int = 0,
    along: Along = "j",
    vector: int = 4,
) -> None:
    """Take lesson 4's steps on a product: a block's threads fetch its tiles together.

    `tile`, `threads` and `along` are as for `in_registers`, and `depth` the steps of k in a tile.
    A thread's outputs are shared out to so many `virtual` threads down and across. Each row of A's
    tile is `pad` numbers longer than it needs to be. A thread fetches `vector` numbers at a time.

    >>> sch = lesson.exercise("small_tiles").schedule()
    >>> lesson.in_shared(sch, (2, 2), (8, 8), 4)
    >>> wb.build(sch).block
    (64, 1, 1)
    """
    block = sch.get_block("C")
    sums = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    i_0, *i_virtual, i_1, i_2 = _cut(sch, i, virtual[0], threads[0], tile[0])
    j_0, *j_virtual, j_1, j_2 = _cut(sch, j, virtual[1], threads[1], tile[1])
    k_0, k_1 = sch.split(k, factors=[None, depth])
    own = (i_1, j_1) if along == "j" else (j_1, i_1)
    sch.reorder(i_0, j_0, *i_virtual, *j_virtual, *own, k_0, k_1, i_2, j_2)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    for loop in (*i_virtual, *j_virtual):
        sch.bind(loop, "vthread")
    thread = sch.fuse(*own)
    sch.bind(thread, "threadIdx.x")
    sch.reverse_compute_at(sums, thread)
    for which in (0, 1):
        copy = sch.cache_read(block, which, "shared")
        sch.compute_at(copy, k_0)
        _fetch(sch, copy, threads[0] * threads[1], vector)
    if pad:
        sch.storage_align("A_shared", 0, axis=0, factor=depth, offset=pad)
    sch.decompose_reduction(block, k_0)


def _cut(
    sch: Schedule, loop: LoopHandle, virtual: int, threads: int, tile: int
) -> list[LoopHandle]:
    """A loop of outputs by blocks, virtual threads where there are any, threads, and their own."""
    if virtual == 1:
        return sch.split(loop, factors=[None, threads, tile])
    return sch.split(loop, factors=[None, virtual, threads, tile // virtual])


def _fetch(sch: Schedule, copy: BlockHandle, threads: int, vector: int) -> None:
    """The threads of a block go through the cells of a copy together."""
    cells = sch.fuse(*sch.get_loops(copy)[-2:])
    _, thread, numbers = sch.split(cells, factors=[None, threads, vector])
    sch.vectorize(numbers)
    sch.bind(thread, "threadIdx.x")


def scheduled(
    steps: Callable[Concatenate[Schedule, Sizes], None],
) -> Callable[Concatenate[PrimFunc, Sizes], PrimFunc]:
    """What makes of a product the program that those `steps` lead to, once."""

    @once
    @wraps(steps)
    def made(func: PrimFunc, *args: Sizes.args, **named: Sizes.kwargs) -> PrimFunc:
        sch = Schedule(func)
        steps(sch, *args, **named)
        return sch.func

    return made
