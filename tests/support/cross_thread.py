"""Programs whose threads share sums out, each in the form that a learner's schedule leaves."""

from __future__ import annotations

import workbench as wb
from tests.support.gpu_programs import parsed
from workbench.ir import PrimFunc

ROWS = """
@T.prim_func
def main(A: T.Buffer(({rows}, {size}), "{dtype}"), C: T.Buffer(({rows},), "{dtype}")):
    for i, k in T.grid({rows}, {size}):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.{dtype}({start})
            C[vi] = {update}
"""
UPDATES = {
    "+": "C[vi] + A[vi, vk]",
    "*": "A[vi, vk] * C[vi]",
    "min": "T.min(C[vi], A[vi, vk])",
    "max": "T.max(A[vi, vk], C[vi])",
}


def rows(
    size: int, op: str = "+", start: float = 0, dtype: str = "float32", number: int = 4
) -> wb.Schedule:
    """``C[i] = C[i] op A[i, k]`` for each of `number` rows of `size`."""
    text = ROWS.format(rows=number, size=size, dtype=dtype, start=start, update=UPDATES[op])
    return wb.Schedule(parsed(text))


def shared_out(sch: wb.Schedule, block: str = "C", threads: int = 32) -> None:
    """Give each row a block of the grid, and its sum so many threads."""
    i, k = sch.get_loops(block)
    _, k_1 = sch.split(k, factors=[None, threads])
    sch.bind(i, "blockIdx.x")
    sch.bind(k_1, "threadIdx.x")


def row_sum(size: int = 64, threads: int = 32, number: int = 4) -> PrimFunc:
    """The sum of each row, by so many threads."""
    sch = rows(size, number=number)
    shared_out(sch, threads=threads)
    return sch.func


ARGMAX = """
@T.prim_func
def main(
    A: T.Buffer(({rows}, {size}), "float32"),
    V: T.Buffer(({rows},), "float32"),
    I: T.Buffer(({rows},), "int32"),
):
    for i, k in T.grid({rows}, {size}):
        with T.block("VI"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                V[vi] = T.min_value("float32")
                I[vi] = -1
            I[vi] = T.Select({keeps}, I[vi], vk)
            V[vi] = T.max(V[vi], A[vi, vk])
"""
FIRST = "V[vi] >= A[vi, vk]"  # of equal ones stays
LEAST = "V[vi] > A[vi, vk] or V[vi] == A[vi, vk] and I[vi] < vk"  # of their indices stays


def argmax(
    size: int = 64, threads: int = 32, keeps: str = FIRST, *, strided: bool = False, number: int = 3
) -> PrimFunc:
    """The largest of each row and its place; a thread has neighbours, or is `strided`."""
    sch = wb.Schedule(parsed(ARGMAX.format(rows=number, size=size, keeps=keeps)))
    parts = sch.split("k", [None, threads] if strided else [threads, None])
    sch.bind("i", "blockIdx.x")
    sch.bind(parts[strided], "threadIdx.x")
    return sch.func


SOFTMAX = """
@T.prim_func
def main(A: T.Buffer(({rows}, {size}), "float32"), B: T.Buffer(({rows}, {size}), "float32")):
    M = T.alloc_buffer(({rows},))
    S = T.alloc_buffer(({rows},))
    for i, k in T.grid({rows}, {size}):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.float32(-3.4028234663852886e+38)
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, k in T.grid({rows}, {size}):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + T.exp(A[vi, vk] - M[vi])
    for i, j in T.grid({rows}, {size}):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.exp(A[vi, vj] - M[vi]) / S[vi]
"""
LAYER_NORM = """
@T.prim_func
def main(A: T.Buffer(({rows}, {size}), "float32"), G: T.Buffer(({size},), "float32"),
         H: T.Buffer(({size},), "float32"), B: T.Buffer(({rows}, {size}), "float32")):
    S = T.alloc_buffer(({rows},))
    Q = T.alloc_buffer(({rows},))
    for i, k in T.grid({rows}, {size}):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
    for i, k in T.grid({rows}, {size}):
        with T.block("Q"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Q[vi] = T.float32(0)
            Q[vi] = Q[vi] + (A[vi, vk] - S[vi] / {size}.0) * (A[vi, vk] - S[vi] / {size}.0)
    for i, j in T.grid({rows}, {size}):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = (A[vi, vj] - S[vi] / {size}.0) * T.rsqrt(Q[vi] / {size}.0 + 1e-05)
            B[vi, vj] = B[vi, vj] * G[vj] + H[vj]
"""


def in_one_kernel(
    text: str, size: int, threads: int, scope: str = "shared", number: int = 4
) -> PrimFunc:
    """A program of rows, with its sums and what needs them in one kernel, one row a block."""
    sch = wb.Schedule(parsed(text.format(rows=number, size=size)))
    *sums, last = [block.name for block in sch.get_blocks()]
    i, j = sch.get_loops(last)
    sch.bind(i, "blockIdx.x")
    _, j_1 = sch.split(j, factors=[None, threads])
    sch.bind(j_1, "threadIdx.x")
    for name in reversed(sums):
        sch.set_scope(name, 0, scope)
        sch.compute_at(name, i)
        _, k_1 = sch.split(sch.get_loops(name)[-1], factors=[None, threads])
        sch.bind(k_1, "threadIdx.x")
    return sch.func
