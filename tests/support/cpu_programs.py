"""Programs with loops that the cores of a CPU and the lanes of its vectors share."""

from __future__ import annotations

import workbench as wb
from tests.support.gpu_programs import VECTOR_ADD, parsed
from workbench import te
from workbench.ir import PrimFunc


def add_on_cores() -> PrimFunc:
    """A vector add, a loop of cores around one of lanes."""
    sch = wb.Schedule(parsed(VECTOR_ADD))
    i_0, i_1 = sch.split("i", factors=[None, 64])
    sch.parallel(i_0)
    sch.vectorize(i_1)
    return sch.func


def packed_matmul(size: int = 64, tile: int = 16, unrolled: int = 4) -> PrimFunc:
    """The last version of TVM's tutorial opt_gemm: packed, in tiles, each summed in its own array.

    Its steps: blocking, vectorization, the order of loops, array packing, a cache of the block that
    is written, and cores that share the rows of blocks.
    """
    k = te.reduce_axis((0, size), "k")
    a, b = te.placeholder((size, size), name="A"), te.placeholder((size, size), name="B")
    packed = te.compute(
        (size // tile, size, tile), lambda n, k, lane: b[k, n * tile + lane], name="packedB"
    )
    c = te.compute(
        (size, size),
        lambda m, n: te.sum(a[m, k] * packed[n // tile, k, n % tile], axis=k),
        name="C",
    )
    sch = wb.Schedule(te.create_prim_func([a, b, c]))
    n, _, lane = sch.get_loops("packedB")
    sch.vectorize(lane)
    sch.parallel(n)
    block = sch.get_block("C")
    written = sch.cache_write(block, 0, "global")
    i, j = sch.get_loops(written)
    rows, row = sch.split(i, [None, tile])
    columns, column = sch.split(j, [None, tile])
    sch.reorder(rows, columns, row, column)
    sch.compute_at(block, columns)
    *_, row_c, column_c, k_c = sch.get_loops(block)
    outer, inner = sch.split(k_c, [None, unrolled])
    sch.reorder(outer, row_c, inner, column_c)
    sch.parallel(rows)
    sch.unroll(inner)
    sch.vectorize(column_c)
    sch.vectorize(column)
    sch.decompose_reduction(block, outer)
    return sch.func
