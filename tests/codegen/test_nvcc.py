"""nvcc takes the text, for each generation of GPUs that the lessons run on."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.codegen.test_names import ODD, WORDS
from tests.support.every import some
from tests.support.gpu_programs import add_in_blocks, blocked_matmul, parsed, window_steps
from tests.support.named_programs import named_program
from tests.support.ptx import text_of
from workbench.codegen.reserved import CUDA_MACROS
from workbench.ir import MATHS, PrimFunc
from workbench.lower.c_name import c_name

FLOATS = [name for name, count in MATHS.items() if count == 1 and name != "abs"]


def compiled(nvcc: str, text: str, folder: Path, *flags: str) -> str:
    """What nvcc and ptxas say of `text`; the test fails where they do not take it."""
    (folder / "kernel.cu").write_text(text)
    done = subprocess.run(
        [nvcc, "-Werror=all-warnings", "-Xptxas", "-v", *flags, "kernel.cu"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stderr}\n{text}"
    return done.stderr


def every_type_and_function() -> list[PrimFunc]:
    """One program a type, with constants, casts, comparisons and each function of floats."""
    floats = ("float16", "bfloat16", "float32", "float64")
    integers = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    texts = [elementwise(dtype, FLOATS) for dtype in floats]
    return [parsed(text) for text in (*texts, *(elementwise(dtype, []) for dtype in integers))]


def elementwise(dtype: str, functions: list[str]) -> str:
    calls = " + ".join(["A[vi]", *(f"T.{name}(A[vi])" for name in functions)])
    extra = f"+ T.{dtype}(0.5) * T.{dtype}('inf')" if functions else f"// T.{dtype}(3)"
    return f"""
@T.prim_func
def main(A: T.Buffer((256,), "{dtype}"), B: T.Buffer((256,), "{dtype}"),
         C: T.Buffer((256,), "bool")):
    for i_0 in T.thread_binding(2, thread="blockIdx.x"):
        for i_1 in T.thread_binding(32, thread="threadIdx.x"):
            for i_2 in T.vectorized(4):
                with T.block("B"):
                    vi = T.axis.spatial(256, i_0 * 128 + i_1 * 4 + i_2)
                    B[vi] = T.max({calls} {extra}, T.abs(A[vi]) * T.Cast("{dtype}", vi))
            for i_2 in range(4):
                with T.block("C"):
                    vi = T.axis.spatial(256, i_0 * 128 + i_1 * 4 + i_2)
                    C[vi] = A[vi] < T.{dtype}(2) and T.Cast("int32", A[vi]) != vi
"""


@pytest.mark.parametrize("arch", some("sm_75", "sm_80", "sm_90"))
def test_nvcc_takes_the_lessons_and_every_type(nvcc: str, arch: str, tmp_path: Path):
    lessons = [add_in_blocks(), *window_steps().values(), blocked_matmul(False), blocked_matmul()]
    compiled(
        nvcc, text_of(*lessons, *every_type_and_function()), tmp_path, f"-arch={arch}", "-cubin"
    )


def test_nvcc_takes_any_names(nvcc: str, tmp_path: Path):
    headers = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
    command = [nvcc, "-x", "cu", "-E", "-Xcompiler", "-dM", "-"]
    made = subprocess.run(command, input=headers, capture_output=True, text=True, check=True)
    macros = sorted(set(re.findall(r"^#define (\w+)", made.stdout, re.MULTILINE)))
    assert len(macros) > 1000
    named = [m for m in macros if m == c_name(m)]
    assert [m for m in named if not CUDA_MACROS.fullmatch(m)] == []
    for names in ([*WORDS, *ODD], named[::5]):
        text = headers + text_of(named_program(names))
        compiled(nvcc, text, tmp_path, "-arch=sm_75", "-ptx")


def test_accumulators_are_registers(nvcc: str, tmp_path: Path):
    said = compiled(nvcc, text_of(blocked_matmul()), tmp_path, "-arch=sm_90", "-cubin")
    assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said
    assert "1024 bytes smem" in said


def test_vectors_of_every_type_are_one_access(nvcc: str, tmp_path: Path):
    copy = """
@T.prim_func
def main(A: T.Buffer((4096,), "{t}"), B: T.Buffer((4096,), "{t}")):
    for i_0 in T.thread_binding(32, thread="threadIdx.x"):
        for i_1 in range({chunks}):
            for i_2 in T.vectorized({lanes}):
                with T.block("B"):
                    vi = T.axis.spatial(4096, i_0 * 128 + i_1 * {lanes} + i_2)
                    B[vi] = A[vi]
"""
    for dtype, lanes in (("float16", 8), ("bfloat16", 8), ("int8", 16), ("bool", 16), ("int64", 2)):
        program = parsed(copy.format(t=dtype, lanes=lanes, chunks=128 // lanes))
        compiled(nvcc, text_of(program), tmp_path, "-arch=sm_75", "-ptx")
        ptx = (tmp_path / "kernel.ptx").read_text()
        stores = re.findall(r"st\.global\.(\S+)", ptx)
        assert stores and all(
            store.startswith(("v4.b32", "v4.u32", "v2.b64", "v2.u64")) for store in stores
        ), stores
