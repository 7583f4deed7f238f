"""Programs that questions are about, and schedules of them: what is asked, and what is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, reduce
from operator import add
from typing import Literal, TypeAlias

from workbench import script, te
from workbench.ir import Expr, For, Node, PrimFunc, once, rewrite
from workbench.schedule import BlockHandle, Schedule


def elementwise(
    length: int, formula: str = "A[vi] + B[vi]", output: str = "C", name: str = "add"
) -> PrimFunc:
    """Each cell of the output from those of the inputs in the formula."""
    inputs = [buffer for buffer in "ABX" if f"{buffer}[" in formula]
    params = ", ".join(f'{b}: T.Buffer(({length},), "float32")' for b in (*inputs, output))
    return _parsed(
        f"def {name}({params}):",
        f"    for i in range({length}):",
        f'        with T.block("{output}"):',
        f"            vi = T.axis.spatial({length}, i)",
        f"            {output}[vi] = {formula}",
    )


def window(outputs: int, width: int, stride: int = 1) -> PrimFunc:
    """Each output the sum of `width` neighbours, `stride` cells on from those of the one before."""
    cells = (outputs - 1) * stride + max(width, stride)
    first = "vi" if stride == 1 else f"vi * {stride}"
    terms = (f"A[{first} + {k}]" if k else f"A[{first}]" for k in range(width))
    return _parsed(
        f'def window(A: T.Buffer(({cells},), "float32"), B: T.Buffer(({outputs},), "float32")):',
        f"    for i in range({outputs}):",
        '        with T.block("B"):',
        f"            vi = T.axis.spatial({outputs}, i)",
        f"            B[vi] = {' + '.join(terms)}",
    )


@cache  # that of a lesson is asked about again and again
def product(
    rows: int, columns: int, summed: int, *, term: str = "A[vi, vk] * B[vk, vj]"
) -> PrimFunc:
    """A matrix of sums of `term`; with B[vj, vk] in it, rows of A meet rows of B."""
    by_rows = "B[vj" in term
    name, b = ("rows_by_rows", (columns, summed)) if by_rows else ("product", (summed, columns))
    return _parsed(
        f'def {name}(A: T.Buffer(({rows}, {summed}), "float32"), B: T.Buffer({b}, "float32"),',
        f'         C: T.Buffer(({rows}, {columns}), "float32")):',
        f"    for i, j, k in T.grid({rows}, {columns}, {summed}):",
        '        with T.block("C"):',
        '            vi, vj, vk = T.axis.remap("SSR", [i, j, k])',
        "            with T.init():",
        "                C[vi, vj] = T.float32(0)",
        f"            C[vi, vj] = C[vi, vj] + {term}",
    )


def _parsed(*lines: str) -> PrimFunc:
    func = script.parse("\n".join(("@T.prim_func", *lines)))
    assert isinstance(func, PrimFunc)
    return func


def bound(
    func: PrimFunc,
    factors: Sequence[int | None],
    axes: tuple[str, str] = ("blockIdx.x", "threadIdx.x"),
) -> PrimFunc:
    """The only loop split in two and bound."""
    return _bound(func, factors, axes).func


def _bound(func: PrimFunc, factors: Sequence[int | None], axes: tuple[str, str]) -> Schedule:
    sch = Schedule(func)
    for loop, axis in zip(sch.split("i", factors=list(factors)), axes, strict=True):
        sch.bind(loop, axis)
    return sch


def strided(func: PrimFunc, factors: Sequence[int | None]) -> PrimFunc:
    """The only loop split in four: blocks, virtual threads, threads, cells of a thread."""
    sch = Schedule(func)
    block, copy, thread, _ = sch.split("i", factors=list(factors))
    sch.bind(block, "blockIdx.x")
    sch.bind(copy, "vthread.x")
    sch.bind(thread, "threadIdx.x")
    return sch.func


def smoothed(length: int, taps: int, batch: int) -> PrimFunc:
    """Sums of `taps` neighbours with zeros beyond both ends, for many signals at once.

    A block for each place, a thread for each signal; the padding is written into the sum.
    """
    border = taps // 2
    signals = te.placeholder((length, batch), name="A")
    padded = te.compute(
        (length + 2 * border, batch),
        lambda i, n: te.if_then_else(
            te.all(i >= border, i - border < length), signals[i - border, n], 0.0
        ),
        name="Apad",
    )
    r = te.reduce_axis((0, taps), name="r")
    result = te.compute((length, batch), lambda i, n: te.sum(padded[i + r, n], axis=r), name="Y")
    sch = Schedule(te.create_prim_func([signals, result]))
    sch.compute_inline("Apad")
    sch.bind("i", "blockIdx.x")
    sch.bind("n", "threadIdx.x")
    return sch.func


def fetched(func: PrimFunc, threads: int, *, together: bool = True) -> PrimFunc:
    """A window's inputs in shared memory, fetched by all threads together or by each for itself."""
    sch = _bound(func, (None, threads), ("blockIdx.x", "threadIdx.x"))
    fetch = sch.cache_read("B", 0, "shared")
    sch.compute_at(fetch, "i_1")
    if together:
        _, inner = sch.split(sch.get_loops(fetch)[-1], factors=[None, threads])
        sch.bind(inner, "threadIdx.x")
    return sch.func


def one_each(func: PrimFunc) -> PrimFunc:
    """A product with a thread for each output, all in one block."""
    sch = Schedule(func)
    sch.bind("i", "threadIdx.y")
    sch.bind("j", "threadIdx.x")
    return sch.func


@once  # of one start, several programs begin alike
def tiled(
    func: PrimFunc,
    tile: tuple[int, int],
    threads: tuple[int, int],
    depth: int,
    *,
    copies: str = "",
) -> PrimFunc:
    """A product by tiles of outputs, their sums in registers.

    `copies` says what becomes of A and B: "" nothing, "local": each thread keeps what it loads
    for one k; "each": each thread fetches the block's whole tile of A to shared memory;
    "together": the threads fetch both tiles together. With the last two a block's threads have one
    number.
    """
    sch = Schedule(func)
    block = sch.get_block("C")
    write_back = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    i_0, i_1, i_2 = sch.split(i, factors=[None, threads[0], tile[0]])
    j_0, j_1, j_2 = sch.split(j, factors=[None, threads[1], tile[1]])
    k_0, k_1 = sch.split(k, factors=[None, depth])
    sch.reorder(i_0, j_0, i_1, j_1, k_0, k_1, i_2, j_2)
    sch.reverse_compute_at(write_back, j_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    if copies in ("", "local"):
        sch.bind(i_1, "threadIdx.y")
        sch.bind(j_1, "threadIdx.x")
    else:
        sch.bind(sch.fuse(i_1, j_1), "threadIdx.x")
    for which in {"": (), "each": (0,)}.get(copies, (0, 1)):
        fetch = sch.cache_read(block, which, "local" if copies == "local" else "shared")
        sch.compute_at(fetch, k_1 if copies == "local" else k_0)
        if copies == "together":
            cells = sch.fuse(*sch.get_loops(fetch)[-2:])
            _, inner = sch.split(cells, factors=[None, threads[0] * threads[1]])
            sch.bind(inner, "threadIdx.x")
    sch.decompose_reduction(block, k_0)
    return sch.func


def unbound(func: PrimFunc) -> PrimFunc:
    """The program with none of its loops bound to blocks or threads."""

    def serial(node: Node) -> Node:
        if isinstance(node, For) and node.thread:
            return replace(node, kind="serial", thread=None)
        return node

    return rewrite(func, serial)


def prefetched(
    func: PrimFunc,
    tile: tuple[int, int],
    threads: tuple[int, int],
    depth: int,
    stages: Sequence[int] = (),
    order: Sequence[int] = (),
    copies: dict[str, int] | None = None,
) -> PrimFunc:
    """A product by tiles that its threads fetch together, through registers.

    Where `stages` are given, the loop over tiles is a pipeline of its five statements: A into
    registers, A on into shared memory, B, B on, and the work.
    """
    held = _through_registers(func, tile, threads, depth)
    if not stages:
        return held
    sch = Schedule(held)
    sch.pipeline("k_0", [*stages], [*order] or None, copies)
    return sch.func


@once
def _through_registers(
    func: PrimFunc, tile: tuple[int, int], threads: tuple[int, int], depth: int
) -> PrimFunc:
    """Tiles that threads fetch together, each from registers on into shared memory."""
    sch = Schedule(tiled(func, tile, threads, depth, copies="together"))
    for name in ("A_shared", "B_shared"):
        held = sch.cache_read(name, 0, "local")
        sch.compute_at(held, "k_0")
        _together(sch, held, threads[0] * threads[1])
    return sch.func


def stages(rows: int, columns: int, down: Sequence[int], across: Sequence[int]) -> PrimFunc:
    """Weighted sums along each row of A, H, then along each column of those, B."""

    def weighted(weights: Sequence[int], cell: Callable[[int], Expr]) -> Expr:
        terms = [cell(k) if w == 1 else w * cell(k) for k, w in enumerate(weights) if w]
        return reduce(add, terms)

    tall = rows + len(down) - 1
    a = te.placeholder((tall, columns + len(across) - 1), name="A")
    h = te.compute((tall, columns), lambda i, j: weighted(across, lambda k: a[i, j + k]), name="H")
    b = te.compute((rows, columns), lambda i, j: weighted(down, lambda k: h[i + k, j]), name="B")
    return te.create_prim_func([a, b])


Ways: TypeAlias = Literal["whole", "again", "each", "tile", "both"]


def staged(func: PrimFunc, how: Ways, tile: tuple[int, int] = (4, 8)) -> PrimFunc:
    """The two `stages`, by what becomes of H.

    "whole": a kernel each, a block for each row. "again": in one kernel, H computed wherever it is
    read. "tile": in blocks of `tile` outputs, whose threads compute its part of H together, in
    shared memory; "each": each of them all of it; "both": together, from what that needs of A,
    which is there, too.
    """
    return staging(func, how, tile).func


def staging(func: PrimFunc, how: Ways, tile: tuple[int, int] = (4, 8)) -> Schedule:
    """The steps to `staged`, in the order of lesson 7."""
    sch = Schedule(func)
    if how in ("whole", "again"):
        for block in ("H", "B"):
            for loop, axis in zip(sch.get_loops(block), ("blockIdx.x", "threadIdx.x"), strict=True):
                sch.bind(loop, axis)
        if how == "again":
            sch.compute_inline("H")
        return sch
    i, j = sch.get_loops("B")
    i_0, i_1 = sch.split(i, factors=[None, tile[0]])
    j_0, j_1 = sch.split(j, factors=[None, tile[1]])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    sch.bind(sch.fuse(i_1, j_1), "threadIdx.x")
    sch.set_scope("H", 0, "shared")
    sch.compute_at("H", j_0)
    if how != "each":
        _together(sch, "H", tile[0] * tile[1])
    if how == "both":
        copy = sch.cache_read("H", 0, "shared")
        sch.compute_at(copy, j_0)
        _together(sch, copy, tile[0] * tile[1])
    return sch


def _together(sch: Schedule, block: BlockHandle | str, threads: int) -> None:
    cells = sch.fuse(*sch.get_loops(block)[-2:])
    sch.bind(sch.split(cells, factors=[None, threads])[1], "threadIdx.x")
