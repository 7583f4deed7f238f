"""Programs with threads, for the tests of what comes after scheduling."""

from __future__ import annotations

from typing import Any

import workbench as wb
from workbench import script
from workbench.ir import PrimFunc

VECTOR_ADD = """
@T.prim_func
def main(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32"),
         C: T.Buffer((1024,), "float32")):
    for i in range(1024):
        with T.block("C"):
            vi = T.axis.spatial(1024, i)
            C[vi] = A[vi] + B[vi]
"""

WINDOW_SUM = """
@T.prim_func
def main(A: T.Buffer((1027,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in range(1024):
        with T.block("C"):
            vi = T.axis.spatial(1024, i)
            B[vi] = A[vi] + A[vi + 1] + A[vi + 2]
"""

MATMUL = """
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"),
         C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def parsed(text: str) -> PrimFunc:
    """The program of a text."""
    func = script.parse(text)
    assert isinstance(func, PrimFunc)
    return func


def add_in_blocks(threads: int = 128, size: int = 1024) -> PrimFunc:
    """Vector add, one element a thread."""
    sch = wb.Schedule(parsed(VECTOR_ADD.replace("1024", str(size))))
    (i,) = sch.get_loops(sch.get_block("C"))
    i_0, i_1 = sch.split(i, [None, threads])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    return sch.func


def window_steps(threads: int = 128) -> dict[str, PrimFunc]:
    """The window sum of the tutorial at every step from which a kernel can be built."""
    sch = wb.Schedule(parsed(WINDOW_SUM))
    block = sch.get_block("C")
    (i,) = sch.get_loops(block)
    i_0, i_1 = sch.split(i, [None, threads])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    steps = {"bound": sch.func}
    shared = sch.cache_read(block, 0, "shared")
    sch.compute_at(shared, i_1)
    steps["shared"] = sch.func
    (*_, ax) = sch.get_loops(shared)
    _, ax_1 = sch.split(ax, [None, threads])
    sch.bind(ax_1, "threadIdx.x")
    steps["cooperative"] = sch.func
    return steps


def blocked_matmul(shared: bool = True) -> PrimFunc:
    """The tutorial's matmul with local, or local and shared-memory, blocking, in tiles of 16."""
    sch = wb.Schedule(parsed(MATMUL))
    block_matmul(sch, sch.get_block("C"), shared, local=4, threads=4, depth=8)
    return sch.func


def block_matmul(sch: Any, block: Any, shared: bool, local: int, threads: int, depth: int) -> None:
    """The tutorial's `blocking` and `blocking_with_shared`, on our schedule or on TVM's."""
    write_back = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    i_0, i_1, i_2 = sch.split(i, [None, threads, local])
    j_0, j_1, j_2 = sch.split(j, [None, threads, local])
    k_0, k_1 = sch.split(k, [None, depth])
    sch.reorder(i_0, j_0, i_1, j_1, k_0, k_1, i_2, j_2)
    sch.reverse_compute_at(write_back, j_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    if shared:
        thread = sch.fuse(i_1, j_1)
        sch.bind(thread, "threadIdx.x")
        for which in (0, 1):
            _fetch_together(sch, block, which, k_0, threads * threads)
    else:
        sch.unroll(k_1)
        sch.bind(i_1, "threadIdx.y")
        sch.bind(j_1, "threadIdx.x")
    sch.decompose_reduction(block, k_0)


def _fetch_together(sch: Any, block: Any, which: int, at: Any, threads: int) -> None:
    stage = sch.cache_read(block, which, "shared")
    sch.compute_at(stage, at)
    fused = sch.fuse(*sch.get_loops(stage)[-2:])
    _, thread, vector = sch.split(fused, [None, threads, 4])
    sch.vectorize(vector)
    sch.bind(thread, "threadIdx.x")
