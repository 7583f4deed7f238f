"""What is only read is no `__restrict__` where nvcc would load what is written by the same load."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import workbench as wb
from workbench import script
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
    path = tmp_path / "chosen.cu"
    path.write_text(source(CHOICES[choice]))
    call = [nvcc, "-arch=sm_90", "-ptx", str(path), "-o", "-"]
    text = subprocess.run(call, check=True, capture_output=True, text=True).stdout
    assert text.count("ld.global.nc") == 1, "of A, which no condition chooses"
    assert text.count("ld.global.f32") == 1
