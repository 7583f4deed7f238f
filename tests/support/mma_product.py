"""A matrix multiply by ``mma.sync``, feature by feature, by the verbs of a schedule.

C = A B in float32 of halves. Tiles come to shared memory by all threads of a block, to registers
by ``ldmatrix``, and are multiplied there. At 4096, on an H100 (`benchmarks/tensor_cores.py`, median
of 7 rounds by turns, cuBLAS 0.184 ms): plain 0.13 of cuBLAS, the swizzle 0.37, asynchronous copies
0.53, fragments ahead from tile to tile 0.61, a fourth tile 0.62.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import workbench as wb
from workbench import script
from workbench.ir.dtypes import itemsize

TILE, WARP = 16, 32
BITS = 'T.reinterpret("uint32", {}) + T.uint32(0x1000) & T.uint32(0xFFFFE000)'
ROUNDED = f'T.reinterpret("float32", {BITS})'  # to TF32
SHORT = {"float16": "f16", "bfloat16": "bf16", "int8": "i8", "float32": "f32", "int32": "i32"}


PRODUCT = """@T.prim_func
def main(
    A: T.Buffer(({m}, {k}), "{dtype}"),
    B: T.Buffer(({shape}), "{dtype}"),{before}
    C: T.Buffer(({m}, {n}), "{out}"),
):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = {start}
            C[vi, vj] = C[vi, vj] + {a} * {b}
"""


@dataclass(frozen=True)
class Product:
    """How large it is, how it is shared out, and what it is done with."""

    m: int = 4096
    n: int = 4096
    k: int = 4096
    rows: int = 128  # of C, of a block
    columns: int = 256
    terms: int = 64  # of a turn
    row_warps: int = 2  # of a block
    column_warps: int = 4
    trans: bool = True  # B by column and term
    swizzle: bool = True
    stages: int = 4  # tiles in shared memory at a time; of more than one, copied asynchronously
    ahead: int = 2  # fragments one step ahead: 1 inside of a tile, 2 from tile to tile, too
    dtype: str = "float16"
    onto: bool = False  # added to a matrix E
    sums: str = ""  # their type, if it is not that of the factors in 32 bits

    @property
    def out(self) -> str:
        return self.sums or ("int32" if self.dtype == "int8" else "float32")

    @property
    def vector(self) -> int:
        """Cells of 16 bytes; twice as many are the terms of a step."""
        return 16 // itemsize(self.dtype)

    def held(self, *, b: bool = False) -> str:
        """Where a tile in registers of a warp has a cell: its number, then thread and register.

        Of A by row and term, or of `b` by column and term.
        """
        four = self.vector  # registers of a row
        one = four // 4
        near, far = (one, 2 * one) if b else (2 * one, one)
        return (
            f"i // 16, j // {2 * four}, i % 8 * 4 + j % {four} // {one}, "
            f"j % {2 * four} // {four} * {near} + i % 16 // 8 * {far} + j % {one}"
        )


BEST = Product()
# Each adds one feature to the one before.
LADDER = {
    "plain": Product(swizzle=False, stages=1, ahead=0),
    "swizzle": Product(stages=1, ahead=0),
    "asynchronous copies, 2 tiles": Product(stages=2, ahead=0),
    "3 tiles": Product(stages=3, ahead=0),
    "fragments one step ahead": Product(stages=3, ahead=1),
    "from tile to tile": Product(stages=3),
    "4 tiles": BEST,
}
# Each changes one thing of the best.
VARIANTS = {
    "no swizzle": replace(BEST, swizzle=False),
    "no fragments ahead": replace(BEST, ahead=0),
    "fragments ahead inside of a tile": replace(BEST, ahead=1),
    "B by term and column": replace(BEST, trans=False),
    "128 x 128, 3 tiles": replace(BEST, columns=128, column_warps=2, stages=3),
    "256 x 128": replace(BEST, rows=256, columns=128, row_warps=4, column_warps=2),
    "32 terms a turn": replace(BEST, terms=32),
}
SMALL = Product(64, 64, 128, 32, 32, 64, 1, 2, stages=3)


def scheduled(of: Product) -> wb.Schedule:
    """The product as `of` says, all of its tiles done by calls of a warp."""
    sch = wb.Schedule(script.parse(_program(of)))
    shared = [sch.cache_read("C", name, "shared") for name in "AB"]
    held = [sch.cache_read("C", f"{name}_shared", "warp") for name in "AB"]
    out = sch.cache_write("C", 0, "warp")
    sch.transform_layout(held[0], ("write", 0), f"lambda i, j: ({of.held()})")
    order = "i, j" if of.trans else "j, i"
    sch.transform_layout(held[1], ("write", 0), f"lambda {order}: ({of.held(b=True)})")
    sch.transform_layout("C", ("write", 0), f"lambda i, j: ({Product().held()})")

    i, j = sch.get_loops(out)
    parts = [
        sch.split(loop, factors=[None, warps, size // warps // TILE, TILE])
        for loop, warps, size in ((i, of.row_warps, of.rows), (j, of.column_warps, of.columns))
    ]
    sch.reorder(*(part for pair in zip(*parts, strict=True) for part in pair))
    for part, axes in zip(parts, ("yy", "xz"), strict=True):
        for loop, unit, axis in zip(part, ("block", "thread"), axes, strict=False):
            sch.bind(loop, f"{unit}Idx.{axis}")
    sch.compute_at("C", parts[1][1])
    i, j, k = sch.get_loops("C")[-3:]
    step = 2 * of.vector
    k_0, k_1, k_2 = sch.split(k, factors=[None, of.terms // step, step])
    (i_0, i_1), (j_0, j_1) = (sch.split(loop, factors=[None, TILE]) for loop in (i, j))
    sch.reorder(k_0, k_1, i_0, j_0, i_1, j_1, k_2)
    for block in held:
        sch.compute_at(block, k_1)
    for block in shared:
        sch.compute_at(block, k_0)
        _fetch(sch, of, block)
        if of.swizzle:
            sch.annotate(block, "permuted_layout", 1)
    sch.decompose_reduction("C", k_0)
    _tensorize(sch, of)
    _overlap(sch, of, k_0, k_1)
    return sch


def _program(of: Product) -> str:
    """The text of the product; of float32 the factors are rounded to TF32."""
    shape, at = (f"{of.n}, {of.k}", "vj, vk") if of.trans else (f"{of.k}, {of.n}", "vk, vj")
    as_factor = f'T.Cast("{of.out}", {{}})' if of.dtype != of.out else "{}"
    if of.dtype == "float32":
        as_factor = ROUNDED
    a, b = as_factor.format("A[vi, vk]"), as_factor.format(f"B[{at}]")
    sizes = {"m": of.m, "n": of.n, "k": of.k, "shape": shape}
    before = f'\n    E: T.Buffer(({of.m}, {of.n}), "{of.out}"),' if of.onto else ""
    start = "E[vi, vj]" if of.onto else f"T.{of.out}(0)"
    told = {"dtype": of.dtype, "out": of.out, "before": before, "start": start}
    return PRODUCT.format(**sizes, **told, a=a, b=b)


def _fetch(sch: wb.Schedule, of: Product, block: Any) -> None:
    """Let all threads of a block copy a tile, 16 bytes at a time."""
    cells = sch.fuse(*sch.get_loops(block)[-2:])
    _, y, z, x, vector = sch.split(
        cells, factors=[None, of.row_warps, of.column_warps, WARP, of.vector]
    )
    for loop, axis in ((y, "threadIdx.y"), (z, "threadIdx.z"), (x, "threadIdx.x")):
        sch.bind(loop, axis)
    sch.vectorize(vector)


def _tensorize(sch: wb.Schedule, of: Product) -> None:
    how, step = "_trans" if of.trans else "", 2 * of.vector
    short, out = "tf32" if of.dtype == "float32" else SHORT[of.dtype], SHORT[of.out]
    for block, name, tile in (
        ("A_shared_warp", f"mma_ldmatrix_{short}_a", (TILE, step)),
        ("B_shared_warp", f"mma_ldmatrix_{short}_b{how}", (TILE, step) if how else (step, TILE)),
    ):
        (row_0, row_1), (column_0, column_1) = (
            sch.split(loop, factors=[None, size])
            for loop, size in zip(sch.get_loops(block)[-2:], tile, strict=True)
        )
        sch.reorder(row_0, column_0, row_1, column_1)
        sch.tensorize(row_1, name)
    begins = f"mma_load_16x16_{out}_global" if of.onto else f"mma_fill_16x16_{out}"
    sch.tensorize(sch.get_loops("C_init")[-2], begins)
    sch.tensorize(sch.get_loops("C_update")[-3], f"mma_{short * 2}{out}{how and '_trans_b'}")
    sch.tensorize(sch.get_loops("C_warp")[-2], f"mma_store_16x16_{out}_global_")


def _overlap(sch: wb.Schedule, of: Product, k_0: Any, k_1: Any) -> None:
    """Fetch tiles turns ahead of their use, and fragments one step."""
    overlap(sch, k_0, k_1, of.stages, of.ahead, ("A_shared_warp", "B_shared_warp"))


def overlap(
    sch: wb.Schedule, turns: Any, steps: Any, stages: int, ahead: int, held: tuple[str, str]
) -> None:
    """Pipeline the `turns`, each of which fetches two tiles, and the `steps` of each.

    A step loads the two fragments `held`, and multiplies.
    """
    sch.unroll(steps)
    if ahead:
        sch.pipeline(steps, stages=[0, 0, 1])
    last = stages - 1
    if ahead < 2:
        # a pipeline in it is the turns ahead of it, those in it, and those behind
        parts = [last] * (3 if ahead else 1)
        if last:
            sch.pipeline(turns, stages=[0, 0, *parts], async_stages=[0])
        return
    # the first fragments of a tile are loaded ahead of the last product of the one before
    sch.pipeline(
        turns,
        stages=[0, 0, last - 1, last, last],
        order=[0, 1, 3, 2, 4],
        copies=dict.fromkeys(held, 1),
        async_stages=[0],
    )
