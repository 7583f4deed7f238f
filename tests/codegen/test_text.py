"""What the text says, and what a target cannot say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cross_thread import rows, shared_out
from tests.support.gpu_programs import parsed
from workbench import codegen, target
from workbench.codegen import LANGUAGES, source
from workbench.diag import Refusal
from workbench.lower import lower

CUDA, METAL, OPENCL = (target.get(name) for name in ("cuda", "metal", "opencl"))


def lines(body: str, gpu=CUDA, signature: str = 'A: T.Buffer((64,), "float32")') -> list[str]:
    """The lines of the kernel whose threads t run `body`."""
    indented = "\n".join(f"        {line}" for line in body.strip().splitlines())
    func = parsed(f"""
@T.prim_func
def main({signature}):
    for t in T.thread_binding(32, thread="threadIdx.x"):
{indented}
""")
    text = source(lower(func, gpu).kernels, gpu)
    return text.split("// 0 .. 31\n")[1].removesuffix("\n}\n").splitlines()


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_target_is_a_table_of_at_most_80_lines(name: str):
    path = Path(codegen.__file__).with_name(f"{name}.py")
    assert len(path.read_text().splitlines()) <= 80


def test_brackets_stand_only_where_c_needs_them():
    body = "A[t] = (A[t] + A[t] * A[t]) * (A[t] - (A[t] - A[t])) / A[t]"
    assert lines(body) == [
        "  float A_kept = A[t];",
        "  A[t] = (A_kept + A_kept * A_kept) * (A_kept - (A_kept - A_kept)) / A_kept;",
    ]


def test_conditions_are_bracketed_where_a_reader_needs_it():
    body = "if t < 3 or t > 5 and t != 9:\n    A[t] = T.float32(1)"
    assert lines(body)[0] == "  if (t < 3 || (t > 5 && t != 9)) {"


def test_c_divides_where_nothing_is_negative_and_a_helper_elsewhere():
    assert lines("A[t // 3 + t % 3] = T.float32(1)") == ["  A[t / 3 + t % 3] = 1.0f;"]
    found = lines("A[t] = A[t] // 3 - A[t + 1] % t", signature='A: T.Buffer((64,), "int32")')
    assert found == [
        "  A[t] = (int)((unsigned int)floordiv(A[t], 3) - (unsigned int)floormod(A[t + 1], t));"
    ]


def test_names_that_c_has_taken_are_changed():
    body = "for int in range(2):\n    float[t] = float[t] + T.Cast('float32', int)"
    assert lines(body, signature='float: T.Buffer((64,), "float32")') == [
        "  for (int int_1 = 0; int_1 < 2; ++int_1) {",
        "    float_1[t] = float_1[t] + (float)int_1;",
        "  }",
    ]


def test_registers_of_a_warp_are_no_memory_of_a_thread():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    C = T.alloc_buffer((8,), scope="warp")
    for t in T.thread_binding(8, thread="threadIdx.x"):
        C[t] = T.float32(1)
        A[t] = C[t]
""")
    with pytest.raises(Refusal) as refusal:
        lower(func, CUDA)
    assert refusal.value.headline == "C is in warp, which only calls of a warp touch"


def test_a_name_is_free_again_after_its_loop():
    body = (
        "for k in range(2):\n    A[k] = T.float32(0)\nfor k in range(3):\n    A[k] = T.float32(1)"
    )
    assert [line for line in lines(body) if "for" in line] == [
        "  for (int k = 0; k < 2; ++k) {",
        "  for (int k = 0; k < 3; ++k) {",
    ]


def test_constants_keep_their_value():
    body = """
A[0] = T.float32(0.1)
A[1] = T.float32(16777216)
A[2] = T.float32(-1e-30)
A[3] = T.float32("-inf")
A[4] = T.float32("nan")
"""
    assert lines(body) == [
        "  A[0] = 0.1f;",
        "  A[1] = 16777216.0f;",
        "  A[2] = -1e-30f;",
        "  A[3] = -__int_as_float(0x7f800000);",
        "  A[4] = __int_as_float(0x7fffffff);",
    ]


def test_the_smallest_integer_is_not_read_as_minus_a_larger_one():
    found = lines("A[t] = T.int32(-2147483648)", signature='A: T.Buffer((64,), "int32")')
    assert found == ["  A[t] = -2147483647 - 1;"]


def test_integers_that_may_overflow_are_added_as_unsigned_ones():
    found = lines("A[t] = A[t] * 3 + t", signature='A: T.Buffer((64,), "int32")')
    assert found == ["  A[t] = (int)((unsigned int)A[t] * 3u + (unsigned int)t);"]


def test_a_vector_is_computed_member_by_member():
    body = "for v in T.vectorized(2):\n    A[t * 2 + v] = A[t * 2 + v] * B[t] + B[t]"
    signature = 'A: T.Buffer((64,), "float32"), B: T.Buffer((32,), "float32")'
    assert lines(body, signature=signature) == [
        "  float B_kept = B[t];",
        "  float2 A_2 = *(float2*)&A[t * 2];",
        "  float2 A_2_1;",
        "  A_2_1.x = A_2.x * B_kept + B_kept;",
        "  A_2_1.y = A_2.y * B_kept + B_kept;",
        "  *(float2*)&A[t * 2] = A_2_1;",
    ]


def test_metal_says_in_which_memory_a_vector_lies():
    body = "for v in T.vectorized(4):\n    A[t * 4 + v] = B[t * 4 + v]"
    signature = 'A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")'
    assert lines(body, METAL, signature) == [
        "  *(device float4*)&A[t * 4] = *(device const float4*)&B[t * 4];"
    ]


def test_opencl_says_in_which_memory_a_vector_lies():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    S = T.alloc_buffer((128,), scope="shared")
    L = T.alloc_buffer((4,), scope="local")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        for v in T.vectorized(4):
            S[t * 4 + v] = B[t * 4 + v]
        for v in T.vectorized(4):
            L[v] = S[124 - t * 4 + v]
        for v in T.vectorized(4):
            A[t * 4 + v] = L[v] + T.float32(1)
""")
    text = source(lower(func, OPENCL).kernels, OPENCL)
    assert text.splitlines()[3:-1] == [
        "  __local float S[128] __attribute__((aligned(16)));",
        "  float L[4] __attribute__((aligned(16)));",
        "  int t = get_local_id(0);  // 0 .. 31",
        "  *(__local float4*)&S[t * 4] = *(__global const float4*)&B[t * 4];",
        "  barrier(CLK_LOCAL_MEM_FENCE);",
        "  *(__private float4*)&L[0] = *(__local float4*)&S[124 - t * 4];",
        "  float4 L_4 = *(__private float4*)&L[0];",
        "  float4 A_4;",
        "  A_4.s0 = L_4.s0 + 1.0f;",
        "  A_4.s1 = L_4.s1 + 1.0f;",
        "  A_4.s2 = L_4.s2 + 1.0f;",
        "  A_4.s3 = L_4.s3 + 1.0f;",
        "  *(__global float4*)&A[t * 4] = A_4;",
    ]


def test_opencl_names_helpers_by_their_type_since_c_does_not_overload():
    both = 'A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int64")'
    body = "A[t] = A[t] // 3\nB[t] = B[t] // T.int64(3)"
    assert lines(body, OPENCL, both) == [
        "  A[t] = floordiv_int(A[t], 3);",
        "  B[t] = floordiv_long(B[t], 3L);",
    ]


def test_opencl_keeps_truth_in_bytes_and_asks_for_the_floats_that_not_all_devices_have():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((32,), "float16"), B: T.Buffer((32,), "bool"), C: T.Buffer((32,), "float64")):
    for t in T.thread_binding(32, thread="threadIdx.x"):
        B[t] = A[t] < T.float16(0.5)
        A[t] = T.exp(A[t])
        C[t] = T.max(C[t], T.float64("-inf"))
""")
    assert source(lower(func, OPENCL).kernels, OPENCL).splitlines() == [
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable",
        "#pragma OPENCL EXTENSION cl_khr_fp64 : enable",
        "",
        "// launch: grid (1, 1, 1), block (32, 1, 1)",
        "__kernel __attribute__((reqd_work_group_size(32, 1, 1)))",
        "void main_kernel(__global half* restrict A, __global uchar* restrict B, "
        "__global double* restrict C) {",
        "  int t = get_local_id(0);  // 0 .. 31",
        "  half A_kept = A[t];",
        "  B[t] = A_kept < (half)(0.5f);",
        "  A[t] = (half)(exp((float)(A_kept)));",
        "  C[t] = fmax(C[t], -((double)INFINITY));",
        "}",
    ]


def test_opencl_has_no_bfloat16():
    with pytest.raises(Refusal) as refusal:
        lines("A[t] = A[t] + A[t]", OPENCL, 'A: T.Buffer((64,), "bfloat16")')
    assert refusal.value.headline == "Can't write OpenCL code: it has no bfloat16"
    assert refusal.value.hint == "use float32 there, or build for another target"
    assert [buffer.name for buffer in refusal.value.at] == ["A"]


def test_opencl_threads_do_not_see_each_others_registers():
    sch = rows(64)
    shared_out(sch)
    assert "barrier(" in source(lower(sch.func, OPENCL).kernels, OPENCL)
    with pytest.raises(Refusal) as refusal:
        source(lower(sch.func, CUDA).kernels, OPENCL)
    assert refusal.value.headline == (
        "Can't write OpenCL code: a thread can't see another's registers"
    )
    assert refusal.value.hint == (
        "lower the program for this target: its threads then meet in shared memory"
    )
    assert [buffer.name for buffer in refusal.value.at] == ["in_thread_C"]


def test_metal_has_no_float64():
    with pytest.raises(Refusal) as refusal:
        lines("A[t] = A[t] + A[t]", METAL, 'A: T.Buffer((64,), "float64")')
    assert refusal.value.headline == "Can't write Metal code: it has no float64"
    assert refusal.value.hint == "use float32 there, or build for another target"
    assert [buffer.name for buffer in refusal.value.at] == ["A"]


def test_metal_has_no_erf():
    with pytest.raises(Refusal) as refusal:
        lines("A[t] = T.erf(A[t])", METAL)
    assert refusal.value.headline == "Can't write Metal code: it has no erf of float32"
    assert refusal.value.hint == (
        "compute it from functions that it has, or build for another target"
    )
    assert [buffer.name for buffer in refusal.value.at] == ["A"]


def test_a_line_too_long_for_a_page_goes_on_in_the_next():
    index = " + ".join(f"t % {k}" for k in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29))
    assert lines(f"A[t] = A[t] + A[0] + A[{index}] * A[1] + A[2]") == [
        "  A[t] =",
        "      A[t] + A[0]",
        f"      + A[{index}] * A[1]",
        "      + A[2];",
    ]


def test_extremes_of_narrow_integers_are_of_their_type():
    found = lines("A[t] = T.max(A[t], T.int8(3))", METAL, 'A: T.Buffer((64,), "int8")')
    assert found == ["  A[t] = max(A[t], (char)3);"]
