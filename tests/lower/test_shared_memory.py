"""Where shared arrays lie: each from a multiple of its alignment on, in the order of the text."""

from __future__ import annotations

import subprocess
from math import prod
from pathlib import Path

import pytest

import workbench as wb
from workbench import script
from workbench.ir import Kernel, PrimFunc, dtypes
from workbench.lower.shared_memory import STATIC, dynamic_shared

ODD = """
@T.prim_func
def main(A: T.Buffer((2, NUMBER), "float32"), B: T.Buffer((2, NUMBER), "float32"),
         a: T.Buffer((2, 4), "int8"), b: T.Buffer((2, 4), "int8")):
    S = T.alloc_buffer((2,), "int8", scope="shared")
    M = T.alloc_buffer((2, NUMBER), scope="shared")
    R = T.alloc_buffer((2, 3), "int8", scope="shared")
    for k in T.thread_binding(1, thread="blockIdx.x"):
        for t in T.thread_binding(2, thread="threadIdx.x"):
            S[t] = a[t, 3]
            for i in range(3):
                R[t, i] = a[t, i]
            for i in range(NUMBER):
                M[t, i] = A[t, i]
        for t in T.thread_binding(2, thread="threadIdx.x"):
            b[t, 3] = S[1 - t]
            for i in range(3):
                b[t, i] = R[1 - t, i]
            for i in range(NUMBER):
                B[t, i] = M[1 - t, i]
"""
MOST = 6143  # numbers of each thread that fit beside 8 bytes, but for the gap ahead of them


def odd(number: int) -> PrimFunc:
    """8 bytes and numbers in shared memory; some of the bytes lie ahead of the numbers."""
    func = script.parse(ODD.replace("NUMBER", str(number)))
    assert isinstance(func, PrimFunc)
    return func


def bytes_of(kernel: Kernel) -> int:
    return sum(prod(b.shape) * dtypes.itemsize(b.type) for b in kernel.allocs)


def test_gaps_between_arrays_count_as_shared_memory():
    (kernel,) = wb.build(odd(MOST), target="nvidia/tesla-t4").kernels
    assert bytes_of(kernel) == STATIC
    places, asked = dynamic_shared(kernel)
    assert [*places.values()] == [0, 4, 4 + MOST * 8] and asked == STATIC + 2
    (kernel,) = wb.build(odd(MOST - 1), target="nvidia/tesla-t4").kernels
    assert dynamic_shared(kernel) == ({}, 0)


def test_a_block_that_gets_no_more_is_refused_for_the_gaps():
    with pytest.raises(wb.ScheduleError, match=r"49154 bytes .* gives 49152") as refused:
        wb.build(odd(MOST), target="cuda")
    assert refused.value.hint
    wb.build(odd(MOST - 1), target="cuda")


@pytest.mark.parametrize("number", [MOST - 1, MOST])
def test_nvcc_takes_what_is_within_bytes_of_48_kib(number: int, nvcc: str, tmp_path: Path):
    path = tmp_path / "odd.cu"
    path.write_text(wb.build(odd(number), target="nvidia/tesla-t4").source)
    command = [nvcc, "-arch=sm_75", "-cubin", str(path), "-o", str(tmp_path / "odd.cubin")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.returncode, done.stderr
