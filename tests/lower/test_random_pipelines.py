"""Random pipelines as kernels: what is taken computes the same on the emulator, with no race."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import workbench as wb
from tests.lower.test_pipelines import prefetching
from tests.support.cases import CASES
from tests.support.gpu_programs import parsed
from workbench import emulate
from workbench.ir import PrimFunc

# Two arrays that threads share, the second made of the first, and a sum that goes on.
CHAIN = """
@T.prim_func
def main(A: T.Buffer((16, 32), "int32"), B: T.Buffer((16, 32), "int32"),
         C: T.Buffer((32,), "int32")):
    S = T.alloc_buffer((32,), "int32", scope="shared")
    U = T.alloc_buffer((32,), "int32", scope="shared")
    for again in range(2):
        for k in range(LOW, HIGH):
            for t in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("S"):
                    S[t] = A[k, t] + again
            for t in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("U"):
                    U[t] = S[31 - t] * 3
            for t in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("sum"):
                    C[t] = C[t] + U[(t + 5) % 32] - S[t]
            for t in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("B"):
                    T.where(k * 32 + t < 300)
                    B[k, t] = U[(t + 1) % 32] + S[(t + 7) % 32]
"""
Kind = Callable[[random.Random], tuple[wb.Schedule, str, int]]
pytestmark = pytest.mark.fuzz


def chain(rng: random.Random) -> tuple[wb.Schedule, str, int]:
    low = rng.choice((0, 2))
    text = CHAIN.replace("LOW", str(low)).replace("HIGH", str(low + rng.randint(1, 9)))
    return wb.Schedule(parsed(text)), "k", 4


def matmul(rng: random.Random) -> tuple[wb.Schedule, str, int]:
    return prefetching(rng.choice((16, 20))), "k_0", 5


def runs_alike(func: PrimFunc) -> None:
    """Its kernels compute what `func` means."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wb.ScheduleWarning)
        built = wb.build(func)
    rng = np.random.default_rng(0)
    wanted = [rng.integers(-9, 9, b.shape).astype(b.type) for b in func.params]
    got = [array.copy() for array in wanted]
    emulate.evaluate(func, wanted)
    built.emulate(*got)
    for a, b in zip(wanted, got, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", [chain, matmul])
def test_what_is_taken_computes_the_same(kind: Kind):
    rng, taken = random.Random(f"{kind.__name__} 0"), 0
    for _ in range(3 * CASES):
        sch, loop, count = kind(rng)
        stages = [rng.choice((0, 0, 1, 1, 2, 3)) for _ in range(count)]
        stages = sorted(stages) if rng.random() < 0.6 else stages
        order = rng.sample(range(count), count) if rng.random() < 0.6 else None
        copies = {"S": rng.randint(1, 4)} if kind is chain and rng.random() < 0.4 else None
        try:
            sch.pipeline(loop, stages=stages, order=order, copies=copies)
        except wb.ScheduleError:
            continue
        runs_alike(sch.func)
        taken += 1
    assert taken > CASES // 4
