"""What a thread loads of shared memory side by side is loaded at once, as nvcc would have it."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from benchmarks.convolutions import convolution, tutorial
from tests.support.cpp import Executable, compile_cpp
from tests.support.gpu_programs import blocked_matmul, parsed
from tests.support.ptx import ptx_of
from workbench import codegen, emulate, target
from workbench.ir import BufferLoad, Kernel, Ramp, walk
from workbench.lower import Lowered, lower
from workbench.lower.join_neighbours import join_neighbours

CUDA = target.get("cuda")
HEAD = """
@T.prim_func
def main(A: T.Buffer((96,), "{0}"), B: T.Buffer((64,), "{0}")):
    S = T.alloc_buffer((96,), "{0}", scope="shared")
    L = T.alloc_buffer((16,), "{0}", scope="local")
    for t in T.thread_binding(4, thread="threadIdx.x"):
        for k in range(24):
            S[t * 24 + k] = A[t * 24 + k]
{1}
        for k in range(16):
            B[t * 16 + k] = L[k]
"""
ZERO = """
        for k in range(16):
            L[k] = 0
"""
# What a thread does, of which type, and how many cells each of its vector loads has.
JOINED = {
    "four": ("for k in T.unroll(4): L[k] = S[(3 - t) * 24 + k]", "float32", [4]),
    "two, at an even place": ("for k in T.unroll(4): L[k] = S[t * 22 + k]", "float32", [2]),
    "sixteen bytes at most": ("for k in T.unroll(16): L[k] = S[t * 16 + k]", "int32", [4]),
    "as many as divide the loop": ("for k in T.unroll(6): L[k] = S[t * 8 + k]", "float32", [2]),
    "halves": ("for k in T.unroll(16): L[k] = S[t * 16 + k]", "float16", [8]),
    "doubles": ("for k in T.unroll(4): L[k] = S[t * 4 + k]", "float64", [2]),
    "bytes": ("for k in T.unroll(16): L[k] = S[t * 16 + k]", "int8", [16]),
    "from a later turn on": (
        "for k in T.unroll(4, 8): L[k] = S[t * 4 + k]", "float32", [4],
    ),
    "two statements, each in its registers": (
        "for k in T.unroll(4): L[k] = S[t * 4 + k]; L[k + 4] = S[t * 4 + k + 64]",
        "float32", [4, 4],
    ),
    "in a loop that says which registers": (
        "for j in T.unroll(4):\n"
        "            for k in T.unroll(4): L[j * 4 + k] = S[j * 24 + t * 4 + k]",
        "float32", [4],
    ),
}  # fmt: skip
STAYS = {
    "a place that is odd": ("for k in T.unroll(4): L[k] = S[t * 4 + k + 1]", "float32"),
    "a place that may be odd": ("for k in T.unroll(4): L[k] = S[t * 3 + k]", "float32"),
    "cells that are no neighbours": ("for k in T.unroll(4): L[k] = S[k * 24 + t]", "float32"),
    "neighbours backwards": ("for k in T.unroll(4): L[k] = S[t * 4 + 3 - k]", "float32"),
    "three": ("for k in T.unroll(3): L[k] = S[t * 4 + k]", "float32"),
    "a value that is worked out": ("for k in T.unroll(4): L[k] = S[t * 4 + k] * 2", "int32"),
    "global memory": ("for k in T.unroll(4): L[k] = A[t * 4 + k]", "float32"),
    "a store to shared memory": (
        "for k in T.unroll(4): L[k] = A[t * 4 + k]\n"
        "        for k in T.unroll(4): S[t * 4 + k] = L[k]", "float32",
    ),
    "one register, stored twice": (
        "for k in T.unroll(4): L[k] = S[t * 4 + k]; L[3 - k] = S[t * 4 + k + 32]", "float32",
    ),
    "one that is stored in the next turn": (
        "for k in T.unroll(4): L[k] = S[t * 4 + k]; L[k + 1] = S[t * 4 + k + 32]", "float32",
    ),
    "under a condition": (
        "for k in T.unroll(4):\n            if k < 3: L[k] = S[t * 4 + k]", "float32",
    ),
}  # fmt: skip
TEXTS = [*((text, dtype) for text, dtype, _ in JOINED.values()), *STAYS.values()]


@lru_cache
def lowered(text: str, dtype: str) -> Lowered:
    return lower(parsed(HEAD.format(dtype, f"{ZERO}        {text}")), CUDA)


def kernel_of(text: str, dtype: str) -> Kernel:
    (kernel,) = lowered(text, dtype).kernels
    return kernel


def vectors(kernel: Kernel) -> list[int]:
    """How many cells of shared memory each vector load has, as the text has them."""
    loads = (node for node in walk(kernel.body) if isinstance(node, BufferLoad))
    places = (load.indices[0] for load in loads if load.buffer.scope == "shared")
    return [place.lanes for place in places if isinstance(place, Ramp)]


def arrays(dtype: str) -> list[np.ndarray]:
    return [np.arange(96).astype(dtype), np.zeros(64, dtype)]


def emulated(text: str, dtype: str, kernel: Kernel) -> np.ndarray:
    given = arrays(dtype)
    emulate.run([kernel], given, params=lowered(text, dtype).func.params)
    return given[1]


@pytest.fixture(scope="module")
def executable(gxx: str) -> Executable:
    return compile_cpp([lowered(*text) for text in TEXTS])


@pytest.mark.parametrize("name", JOINED)
def test_neighbours_are_loaded_at_once(name: str):
    text, dtype, cells = JOINED[name]
    kernel = kernel_of(text, dtype)
    joined = join_neighbours(kernel)
    assert (vectors(kernel), vectors(joined)) == ([], cells)
    np.testing.assert_array_equal(emulated(text, dtype, kernel), emulated(text, dtype, joined))


@pytest.mark.parametrize("name", STAYS)
def test_what_is_no_row_of_aligned_neighbours_stays(name: str):
    kernel = kernel_of(*STAYS[name])
    assert join_neighbours(kernel) is kernel


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_the_text_computes_the_same(number: int, executable: Executable):
    text, dtype = TEXTS[number]
    given = arrays(dtype)
    executable.run([(number, given)])
    np.testing.assert_array_equal(emulated(text, dtype, kernel_of(text, dtype)), given[1])


def test_metal_and_opencl_are_left_to_their_compilers():
    for name in ("metal", "opencl"):
        text = wb.build(blocked_matmul(), name).source
        assert "B_shared_kept[j_2] = B_shared[" in text


@pytest.mark.parametrize("program", ["product", "convolution"])
def test_nvcc_makes_the_same_of_a_text_with_single_loads(
    program: str, nvcc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """So what is written down is what the machine does, and its times are those of the other."""
    func = blocked_matmul()
    if program == "convolution":
        func = tutorial(wb.Schedule(convolution(2, 64, 16, 64))).func
    kernels = lower(func, CUDA).kernels
    joined = codegen.source(kernels, CUDA)
    monkeypatch.setattr(import_module("workbench.codegen.source"), "join_neighbours", lambda k: k)
    single = codegen.source(kernels, CUDA)
    assert joined != single
    one, other = (ptx_of(nvcc, text, "sm_90", tmp_path) for text in (joined, single))
    assert "ld.shared.v4" in one
    assert _without_numbers(one) == _without_numbers(other)


def _without_numbers(ptx: str) -> str:
    """PTX but for the numbers of its registers and labels."""
    return re.sub(r"(%[a-z]+|\$L__BB\d+_)\d+", r"\1", ptx)
