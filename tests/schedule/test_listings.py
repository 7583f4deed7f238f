"""The listings of the MLC course's GPU chapter equal ours, step by step, names of loops included.

They are copied as the course prints them, in an older form of the language that our parser takes;
those of the matrix multiply stand in tests/script/listings.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from benchmarks.matmuls import blocking, blocking_with_shared
from workbench import ir, script

VECTOR_ADD = """
@tvm.script.ir_module
class MyModuleVecAdd:
    @T.prim_func
    def main(A: T.Buffer[(1024,), "float32"],
             B: T.Buffer[(1024,), "float32"],
             C: T.Buffer[(1024,), "float32"]) -> None:
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        for i in T.grid(1024):
            with T.block("C"):
                vi = T.axis.remap("S", [i])
                C[vi] = A[vi] + B[vi]
"""

VECTOR_ADD_SPLIT = """
@tvm.script.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer[1024, "float32"], B: T.Buffer[1024, "float32"],
             C: T.Buffer[1024, "float32"]) -> None:
        # function attr dict
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        # body
        # with T.block("root")
        for i_0, i_1 in T.grid(8, 128):
            with T.block("C"):
                vi = T.axis.spatial(1024, i_0 * 128 + i_1)
                T.reads(A[vi], B[vi])
                T.writes(C[vi])
                C[vi] = A[vi] + B[vi]
"""

VECTOR_ADD_BOUND = VECTOR_ADD_SPLIT.replace(
    """        for i_0, i_1 in T.grid(8, 128):
            with""",
    """        for i_0 in T.thread_binding(8, thread="blockIdx.x"):
          for i_1 in T.thread_binding(128, thread="threadIdx.x"):
            with""",
)

WINDOW_SUM = """
@tvm.script.ir_module
class MyModuleWindowSum:
    @T.prim_func
    def main(A: T.Buffer[(1027,), "float32"],
             B: T.Buffer[(1024,), "float32"]) -> None:
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        for i in T.grid(1024):
            with T.block("C"):
                vi = T.axis.remap("S", [i])
                B[vi] = A[vi] + A[vi + 1] + A[vi + 2]
"""

WINDOW_SUM_BOUND = """
@tvm.script.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer[1027, "float32"], B: T.Buffer[1024, "float32"]) -> None:
        # function attr dict
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        # body
        # with T.block("root")
        for i_0 in T.thread_binding(8, thread="blockIdx.x"):
            for i_1 in T.thread_binding(128, thread="threadIdx.x"):
                with T.block("C"):
                    vi = T.axis.spatial(1024, i_0 * 128 + i_1)
                    T.reads(A[vi : vi + 3])
                    T.writes(B[vi])
                    B[vi] = A[vi] + A[vi + 1] + A[vi + 2]
"""

WINDOW_SUM_CACHED = """
@tvm.script.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer[1027, "float32"], B: T.Buffer[1024, "float32"]) -> None:
        # function attr dict
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        # body
        # with T.block("root")
        A_shared = T.alloc_buffer([1027], dtype="float32", scope="shared")
        for i_0 in T.thread_binding(8, thread="blockIdx.x"):
            for i_1 in T.thread_binding(128, thread="threadIdx.x"):
                for ax0 in T.serial(130):
                    with T.block("A_shared"):
                        v0 = T.axis.spatial(1027, i_0 * 128 + ax0)
                        T.reads(A[v0])
                        T.writes(A_shared[v0])
                        A_shared[v0] = A[v0]
                with T.block("C"):
                    vi = T.axis.spatial(1024, i_0 * 128 + i_1)
                    T.reads(A_shared[vi : vi + 3])
                    T.writes(B[vi])
                    B[vi] = A_shared[vi] + A_shared[vi + 1] + A_shared[vi + 2]
"""

WINDOW_SUM_COOPERATIVE = WINDOW_SUM_CACHED.replace(
    """                for ax0 in T.serial(130):
                    with T.block("A_shared"):
                        v0 = T.axis.spatial(1027, i_0 * 128 + ax0)
""",
    """                for ax0_0 in T.serial(2):
                  for ax0_1 in T.thread_binding(128, thread="threadIdx.x"):
                    with T.block("A_shared"):
                        v0 = T.axis.spatial(1027, i_0 * 128 + (ax0_0 * 128 + ax0_1))
                        T.where(ax0_0 * 128 + ax0_1 < 130)
""",
)


def same(sch: wb.Schedule, listing: str) -> None:
    """`sch` stands at the program of the listing: the same structure, the same names."""
    theirs = script.parse(listing)
    assert isinstance(theirs, ir.IRModule)
    assert ir.structural_equal(sch.func, theirs["main"])
    assert script.show(sch.func) == script.show(theirs["main"])


def test_vector_add() -> None:
    sch = wb.Schedule(script.parse(VECTOR_ADD))
    block_C = sch.get_block("C")
    (i,) = sch.get_loops(block=block_C)
    i0, i1 = sch.split(i, [None, 128])
    same(sch, VECTOR_ADD_SPLIT)
    sch.bind(i0, "blockIdx.x")
    sch.bind(i1, "threadIdx.x")
    same(sch, VECTOR_ADD_BOUND)


def test_window_sum() -> None:
    sch = wb.Schedule(script.parse(WINDOW_SUM))
    nthread = 128
    block_C = sch.get_block("C")
    (i,) = sch.get_loops(block=block_C)
    i0, i1 = sch.split(i, [None, nthread])
    sch.bind(i0, "blockIdx.x")
    sch.bind(i1, "threadIdx.x")
    same(sch, WINDOW_SUM_BOUND)
    A_shared = sch.cache_read(block_C, read_buffer_index=0, storage_scope="shared")
    sch.compute_at(A_shared, i1)
    same(sch, WINDOW_SUM_CACHED)
    ax = sch.get_loops(A_shared)[-1]
    _ax0, ax1 = sch.split(ax, [None, nthread])
    sch.bind(ax1, "threadIdx.x")
    same(sch, WINDOW_SUM_COOPERATIVE)


MATMUL = """
@tvm.script.ir_module
class MyModuleMatmul:
    @T.prim_func
    def main(A: T.Buffer[(1024, 1024), "float32"],
             B: T.Buffer[(1024, 1024), "float32"],
             C: T.Buffer[(1024, 1024), "float32"]) -> None:
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        for i, j, k in T.grid(1024, 1024, 1024):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
LISTINGS = Path(__file__).parents[1] / "script" / "listings"


@pytest.mark.parametrize(
    ("listing", "steps", "tiles"),
    [
        ("matmul_blocked", blocking, (8, 8, 8, 8, 4)),
        ("matmul_cooperative", blocking_with_shared, (8, 8, 8, 8, 8)),
    ],
)
def test_matmul(listing: str, steps: Callable[..., object], tiles: tuple[int, ...]) -> None:
    sch = wb.Schedule(script.parse(MATMUL))
    steps(sch, *tiles)
    same(sch, (LISTINGS / f"{listing}.txt").read_text())
