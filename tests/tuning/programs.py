"""A program and a space that build in milliseconds, and a measurer of planted times."""

from __future__ import annotations

from math import log2

import workbench as wb
from workbench import script, tuning
from workbench.tuning import Candidate, Outcome

VECTOR = script.parse("""
@T.prim_func
def main(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in range(1024):
        with T.block("B"):
            vi = T.axis.spatial(1024, i)
            B[vi] = A[vi] * T.float32(2)
""")

RECTIFIED = script.parse("""@T.prim_func
def main(A: T.Buffer((128, 64), "float32"), B: T.Buffer((64, 128), "float32"),
         D: T.Buffer((128, 128), "float32")):
    C = T.alloc_buffer((128, 128))
    for i, j, k in T.grid(128, 128, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(128, 128):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
""")

HALVES = script.parse("""@T.prim_func
def main(A: T.Buffer((64, 64), "float16"), B: T.Buffer((64, 64), "float16"),
         C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
""")

WINDOWED = script.parse("""@T.prim_func
def main(A: T.Buffer((62,), "float32"), C: T.Buffer((62,), "float32")):
    P = T.alloc_buffer((64,))
    for i in range(64):
        with T.block("P"):
            vi = T.axis.spatial(64, i)
            P[vi] = T.if_then_else(1 <= vi and vi < 63, A[vi - 1], T.float32(0))
    for i, k in T.grid(62, 3):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + P[vi + vk]
""")


def space(sch: wb.Schedule) -> None:
    """Blocks, turns, threads and vectors of a loop."""
    tile = sch.sample_perfect_tile("i", n=4, max_innermost_factor=4)
    tuning.require(tile[2] >= 4, "fewer than 4 threads")
    block, _, thread, vector = sch.split("i", factors=tile)
    sch.bind(block, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    if sch.sample_categorical([0, 1], probs=[0.5, 0.5]):
        sch.vectorize(vector)


def planted(candidate: Candidate) -> float:
    """Seconds: least at blocks of 128 threads that take 2 at a time in vectors."""
    (_, turns, threads, vector), wide = candidate.decisions
    far = abs(log2(threads) - 7) + abs(log2(vector) - 1) + 0.5 * log2(turns) + (1 - wide)
    return 1e-6 * (1 + far)


class Planted:
    """Measures by `planted`, and counts how often; `after` submissions it is killed."""

    device = "planted"

    def __init__(self, after: int = 10**6) -> None:
        self.left = after
        self.seen: list[tuple] = []

    def submit(self, candidate: Candidate) -> Outcome:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        self.seen.append(candidate.decisions)
        return Outcome("correct", "measured", (planted(candidate),))
