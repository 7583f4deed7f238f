"""Kernels of hand-written programs compute what the programs mean; all in one executable."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import reference
from tests.support.cpp import Executable, compile_cpp
from tests.support.gpu_programs import parsed
from workbench import target
from workbench.ir import PrimFunc
from workbench.lower import lower

HEAD = """
@T.prim_func
def main(A: T.Buffer((64,), "{t}"), B: T.Buffer((64,), "{t}")):
"""
BODIES = {
    "neighbours through shared memory": """
    S = T.alloc_buffer((64,), "int32", scope="shared")
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            for u in T.thread_binding(32, thread="threadIdx.x"):
                S[b * 32 + u] = A[b * 32 + u]
            if t < 16:
                B[b * 32 + t] = S[b * 32 + t] + S[b * 32 + 31 - t]
            else:
                B[b * 32 + t] = S[b * 32 + t] - S[b * 32 + t - 1]
""",
    "a tile that is fetched again and again": """
    S = T.alloc_buffer((64,), "int32", scope="shared")
    for t in T.thread_binding(64, thread="threadIdx.x"):
        B[t] = A[t]
        for k in range(7):
            for u in T.thread_binding(64, thread="threadIdx.x"):
                S[u] = A[(u * 3 + k) % 64]
            B[t] = B[t] * 2 - S[63 - t]
""",
    "two tiles in turn": """
    S = T.alloc_buffer((2, 64), "int32", scope="shared")
    for t in T.thread_binding(64, thread="threadIdx.x"):
        B[t] = 0
        for k in range(6):
            for u in T.thread_binding(64, thread="threadIdx.x"):
                S[k % 2, u] = A[(u + k) % 64]
            B[t] = B[t] * 2 + S[k % 2, 63 - t] + k
""",
    "a value kept from the iteration before": """
    S = T.alloc_buffer((65,), "int32", scope="local")
    for t in T.thread_binding(2, thread="threadIdx.x"):
        S[0] = t
        for k in range(32):
            S[k + 1] = A[t * 32 + k] + S[k]
            B[t * 32 + k] = S[k + 1] - S[k] * 3
""",
    "one cell that each iteration writes and reads": """
    S = T.alloc_buffer((64,), "int32", scope="local")
    for t in T.thread_binding(2, thread="threadIdx.x"):
        for k in range(32):
            S[k * 2] = A[t * 32 + k]
            B[t * 32 + k] = S[k * 2] * S[k * 2]
""",
    "a window that moves with its block": """
    S = T.alloc_buffer((64,), "int32", scope="shared")
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for c in range(3):
            for t in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("S"):
                    v = T.axis.spatial(64, T.max(b * 16 - 2 + c * 8 + t, 0))
                    T.where(c * 8 + t < 20 and b * 16 - 2 + c * 8 + t < 64)
                    S[v] = A[v]
        for c in range(2):
            for t in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("B"):
                    v = T.axis.spatial(64, b * 16 + c * 8 + t)
                    B[v] = S[v] + T.if_then_else(v >= 2, S[v - 2], 0) + S[T.min(v + 2, 63)]
""",
    "a vector under a condition": """
    for t in T.thread_binding(16, thread="threadIdx.x"):
        for v in T.vectorized(4):
            with T.block("B"):
                i = T.axis.spatial(64, t * 4 + v)
                T.where(t * 4 + v < 40)
                B[i] = T.max(A[i] * 3, A[i // 4]) - T.Cast("int32", A[63 - i] < A[i]) + i
""",
    "a vector under a condition that splits it": """
    for t in T.thread_binding(16, thread="threadIdx.x"):
        for v in T.vectorized(4):
            with T.block("B"):
                i = T.axis.spatial(64, t * 4 + v)
                T.where(t * 4 + v < 41)
                B[i] = A[i]
""",
    "vectors of odd numbers, gathered, split": """
    for t in T.thread_binding(4, thread="threadIdx.x"):
        for v in T.vectorized(8):
            B[t * 16 + v] = A[v * 4 + t]
        for v in T.vectorized(6):
            B[t * 16 + 8 + v] = A[t * 6 + v]
        for v in T.vectorized(2):
            B[t * 16 + 14 + v] = T.if_then_else(t % 2 == 0, A[t * 2 + v], 7)
""",
    "several kernels": """
    G = T.alloc_buffer((64,), "int32")
    H = T.alloc_buffer((8, 8), "int32")
    for b in T.thread_binding(8, thread="blockIdx.x"):
        for t in T.thread_binding(8, thread="threadIdx.x"):
            G[b * 8 + t] = A[63 - b * 8 - t] * 2
    for b in T.thread_binding(8, thread="blockIdx.y"):
        for t in T.thread_binding(4, thread="threadIdx.y"):
            for v in T.vectorized(2):
                H[b, t * 2 + v] = G[b * 8 + t * 2 + v] + 1
    for t in T.thread_binding(64, thread="threadIdx.z"):
        B[t] = H[t % 8, t // 8] + G[t]
""",
    "three axes of threads and of blocks": """
    for b in T.thread_binding(2, thread="blockIdx.z"):
        for c in T.thread_binding(2, thread="blockIdx.y"):
            for d in T.thread_binding(2, thread="blockIdx.x"):
                for t in T.thread_binding(2, thread="threadIdx.z"):
                    for u in T.thread_binding(2, thread="threadIdx.y"):
                        for w in T.thread_binding(2, thread="threadIdx.x"):
                            B[b * 32 + c * 16 + d * 8 + t * 4 + u * 2 + w] = A[
                                w * 32 + u * 16 + t * 8 + d * 4 + c * 2 + b]
""",
    "a reduction that starts at its first step": """
    for t in T.thread_binding(8, thread="threadIdx.x"):
        for k_0, j, k_1 in T.grid(3, 8, 3):
            with T.block("B"):
                v = T.axis.spatial(64, t * 8 + j)
                k = T.axis.reduce(8, k_0 * 3 + k_1)
                T.where(k_0 * 3 + k_1 < 8)
                with T.init():
                    B[v] = 5
                B[v] = B[v] + A[v // 8 * 8 + k] * (k + 1)
""",
    "memory of a block that allocates its own": """
    for t in T.thread_binding(8, thread="threadIdx.x"):
        for j in range(8):
            with T.block("outer"):
                v = T.axis.spatial(64, t * 8 + j)
                S = T.alloc_buffer((64,), "int32", scope="local")
                S[v] = A[v] + 1
                B[v] = S[v] * 2
""",
}
PROGRAMS = {name: HEAD.format(t="int32") + body for name, body in BODIES.items()}


@pytest.fixture(scope="module", params=["cuda", "metal"])
def executable(gxx: str, request: pytest.FixtureRequest) -> tuple[Executable, list[PrimFunc]]:
    programs = [parsed(text) for text in PROGRAMS.values()]
    gpu = target.get(request.param)
    return compile_cpp([lower(func, gpu) for func in programs], request.param), programs


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_kernels_compute_what_the_program_means(
    executable: tuple[Executable, list[PrimFunc]], name: str
):
    compiled, programs = executable
    number = list(PROGRAMS).index(name)
    a = np.random.default_rng(0).integers(-9, 10, 64).astype("int32")
    expected, got = [a.copy(), np.zeros(64, "int32")], [a.copy(), np.zeros(64, "int32")]
    reference.run(programs[number], expected)
    compiled.run([(number, got)])
    np.testing.assert_array_equal(got[1], expected[1], name)
