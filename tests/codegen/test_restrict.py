"""What is only read is no `__restrict__` where nvcc would load what is written by the same load."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import seeds
from tests.support.ptx import ptx_of, stale_loads, text_of
from tests.support.random_choices import ALL_RESTRICTED, arrays, random_choice
from workbench import script
from workbench.emulate import evaluate
from workbench.ir import PrimFunc

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"),
         C: T.Buffer((64,), "float32")):
    S = T.alloc_buffer((64,))
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for i in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("S"):
                v = T.axis.spatial(64, b * 32 + i)
                S[v] = A[v]
        for i in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("C"):
                v = T.axis.spatial(64, b * 32 + i)
                C[v] = VALUE
"""
CHOICES = {
    "an expression": "T.if_then_else(v % 3 == 0, B[v], S[v // 2 * 2])",
    "both values": "T.Select(v % 3 == 0, B[v], S[v // 2 * 2])",
}


def source(value: str) -> str:
    func = script.parse(PROGRAM.replace("VALUE", value))
    assert isinstance(func, PrimFunc)
    return wb.build(func).source


@pytest.mark.parametrize("choice", CHOICES)
def test_where_a_condition_chooses_what_is_only_read_is_a_plain_pointer(choice: str):
    text = source(CHOICES[choice])
    assert "const float* A," in text and "const float* B," in text
    assert "float* __restrict__ C" in text and "float* __restrict__ S" in text


def test_elsewhere_all_are_restricted():
    assert source("B[v] + S[v // 2 * 2]").count("__restrict__") == 4
    assert source("T.if_then_else(v % 3 == 0, A[v], B[v])").count("__restrict__") == 4


@pytest.mark.parametrize("choice", CHOICES)
def test_nvcc_loads_what_was_written(choice: str, nvcc: str, tmp_path: Path):
    text = ptx_of(nvcc, source(CHOICES[choice]), "sm_90", tmp_path)
    assert text.count("ld.global.nc") == 1, "of A, which no condition chooses"
    assert text.count("ld.global.f32") == 1


@pytest.mark.fuzz
def test_no_random_choice_loads_what_was_written_by_that_cache(nvcc: str, tmp_path: Path):
    programs = [random_choice(seed) for seed in seeds()]
    assert stale_loads(ptx_of(nvcc, text_of(*programs), "sm_90", tmp_path)) == {}
    with ALL_RESTRICTED:  # the fault that is looked for is there to be found
        assert stale_loads(ptx_of(nvcc, text_of(*programs), "sm_90", tmp_path))


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore::workbench.ScheduleWarning")
@pytest.mark.parametrize("seed", seeds())
def test_random_choices_are_kernels_that_mean_the_program(seed: int):
    func = random_choice(seed)
    meant = arrays(func, seed)
    emulated = [array.copy() for array in meant]
    wb.build(func).emulate(*emulated)
    evaluate(func, meant)
    assert all(map(np.array_equal, emulated, meant))
