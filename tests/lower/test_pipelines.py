"""Pipelines as kernels: prologue and epilogue, copies, barriers; the emulator and C++ agree."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.lower.test_double_buffers import barriers, check_results, tiled
from tests.support.gpu_programs import parsed
from workbench import emulate, target
from workbench.diag import Refusal
from workbench.ir import BufferStore, For, PrimFunc, walk
from workbench.lower import lower

CUDA = target.get("cuda")
STAGES, ORDER = "software_pipeline_stage", "software_pipeline_order"


def noted(stages: list[int], order: list[int] | None = None, **more: object) -> str:
    """The annotations of a pipeline, as a text has them."""
    return str({STAGES: stages, ORDER: order or [*range(len(stages))], **more})


REVERSED = """
@T.prim_func
def main(A: T.Buffer((12, 32), "float32"), B: T.Buffer((12, 32), "float32")):
    S = T.alloc_buffer((32,), scope="shared")
    AROUND
    for k in T.serial(LOW, HIGH, annotations=NOTES):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("S"):
                S[t] = A[k, t]
        for t in T.thread_binding(32, thread="threadIdx.x"):
            B[k, t] = S[31 - t] * T.float32(2)
"""


def reversed_rows(notes: str, low: int | str = 0, high: int | str = 12, around: str = "") -> PrimFunc:
    """Each row of A the other way round, through shared memory; a nest `around` the loop or none."""
    head, _, loop = REVERSED.partition("    AROUND\n")
    if around:
        loop = loop.replace("\n", "\n    ").replace("    for k", f"    {around}\n        for k", 1)
    values = {"LOW": low, "HIGH": high, "NOTES": notes}
    for name, value in values.items():
        loop = loop.replace(name, str(value))
    return parsed(head + loop)


@pytest.mark.parametrize("low", [0, 3])
@pytest.mark.parametrize("turns", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("stages", [[0, 0], [0, 1], [0, 3], [1, 3]])
def test_any_number_of_turns(low: int, turns: int, stages: list[int], gxx: str):
    func = reversed_rows(noted(stages), low, low + turns)
    check_results(func, lower(func, CUDA))


@pytest.mark.parametrize("stages", [[0, 1], [0, 2]])
@pytest.mark.parametrize("low, high", [(0, "j"), ("j", 5), ("j", "j + 2"), (3, "3 + j")])
def test_how_many_turns_varies(stages: list[int], low: int | str, high: int | str, gxx: str):
    func = reversed_rows(noted(stages), low, high, around="for j in range(5):")
    lowered = lower(func, CUDA)
    check_results(func, lowered)
