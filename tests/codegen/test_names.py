"""Names in every language: the learner's own, or identifiers that mean nothing else there."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from tests.support.cpp import compile_cpp
from tests.support.named_programs import named_program
from workbench import target
from workbench.codegen import LANGUAGES, source
from workbench.codegen.names import Names
from workbench.ir import PrimFunc
from workbench.lower import lower
from workbench.lower.c_name import c_name

# What a program may not call a variable, by hand from the standards and manuals.
WORDS = re.findall(
    r"\S+",
    """
    mutable nullptr typeid typeof noexcept compl and_eq NAN NULL M_PI EOF wchar_t __shared__ uint3
    int float4 dim3 half half2 blockIdx threadIdx blockDim gridDim warpSize __global__ min max expf
    tanhf floordiv floormod int8x16 float16x8 main main_kernel INFINITY INT_MAX FLT_MAX DBL_EPSILON
    __syncthreads assert errno stdin linux unix offsetof constexpr concept requires char8_t co_await
    alignas asm static_assert thread_local decltype reinterpret_cast xor_eq bitand not_eq HUGE_VALF
    M_PI_F device constant thread threadgroup kernel vertex metal uchar4 packed_float3 float4x4 std
    bfloat size_t _Bool _x _X x__y __x__ CUDART_VERSION cudaHostAllocDefault M_1_PI RAND_MAX FP_NAN
    SEEK_SET MAXFLOAT global local restrict barrier get_local_id CLK_LOCAL_MEM_FENCE float16 double3
    floordiv_int floormod_char event_t image2d_t HALF_MAX quad cl_khr_fp16 fmax convert_int
    """,
)
ODD = [
    *(
        "",
        "1",
        "1a",
        "a b",
        "größe",
        "α",
        "β",
        "🙂",
        "a\nb",
        "*/",
        "//",
        '"',
        "\0",
        "\ud800",
        "a.b",
    ),
    *("_", "__", "x_", "x_1", "x", "x__1", "ﬁ", "fi", "*/ int main() {", 'R"(', "\\\n"),
]
HEADERS = ["assert", "ctype", "errno", "float", "inttypes", "limits", "math", "stddef", "stdint",
           "stdio", "stdlib", "string", "time"]  # fmt: skip


def text_of(func: PrimFunc, language: str) -> str:
    gpu = target.get(language)
    return source(lower(func, gpu).kernels, gpu)


def free(name: str, language: str) -> bool:
    """Whether a variable may be called so."""
    table = LANGUAGES[language]
    taken = {*table.reserved, *table.words()}
    return name == c_name(name) and name not in taken and not table.macros.fullmatch(name)


@pytest.mark.fuzz
@pytest.mark.parametrize("language", LANGUAGES)
@given(st.lists(st.sampled_from([*WORDS, *ODD]) | texts(6), max_size=12))
def test_any_names_become_different_identifiers(language: str, wanted: list[str]):
    table = LANGUAGES[language]
    names = Names({*table.reserved, *table.words()}, table.macros)
    made = [names.fresh(name) for name in wanted]
    assert len(set(made)) == len(made)
    for name in made:
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*_?", name)
        assert free(name, language)


def test_names_that_are_free_stay():
    names = Names(LANGUAGES["cuda"].reserved, LANGUAGES["cuda"].macros)
    wanted = ["A", "A_shared", "i_0", "ax0", "QKV", "M_tile", "L", "h", "x", "CU_", "I", "EMB"]
    assert [names.fresh(name) for name in wanted] == wanted


def test_letters_of_other_alphabets_are_spelt_out():
    names = Names(LANGUAGES["cuda"].reserved, LANGUAGES["cuda"].macros)
    spelt = dict(
        re.findall(
            r"(\S+): (\S+)",
            """
            größe: grosse   grosse: grosse_1   Größe: Grosse   naïve: naive   αx: alphax   Δ: Delta
            Ø_1: O_1   かな: kana   名: u540d   字: u5b57   ﬁ: fi   ²: v2   ٣: u0663
            """,
        )
    )
    assert [names.fresh(name) for name in spelt] == list(spelt.values())


@pytest.mark.parametrize(
    "language, name, first",
    [("opencl", "kernel", "v_kernel_1"), ("cuda", "CU", "CU"), ("cuda", "größe", "grosse")],
)
def test_a_name_with_a_number_is_no_macro_either(language: str, name: str, first: str):
    table = LANGUAGES[language]
    names = Names({*table.reserved, *table.words()}, table.macros)
    assert names.fresh(name) == first
    assert free(names.fresh(name), language)


@pytest.mark.parametrize("language", sorted({*LANGUAGES} - {"c"}))
def test_programs_of_such_names_run(gxx: str, language: str):
    func = named_program([*WORDS, *ODD], "großer Kernel; int x = 1")
    lowered = lower(func, target.get(language))
    assert [kernel.name for kernel in lowered.kernels] == ["grosser_Kernel_int_x_1_kernel"]
    arrays = [np.full(2, k / 8, "float32") for k in range(len(func.params))]
    expected = [np.tanh(np.tanh(array)) + np.float32(1) for array in arrays]
    compile_cpp([lowered], language).run([(0, arrays)])
    np.testing.assert_allclose(arrays, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "name, kernel",
    [("1", "v1_kernel"), ("", "v_kernel"), ("größe", "grosse_kernel"), ("_X", "v_X_kernel"),
     ("class", "class_kernel"), ("a__b", "a_b_kernel"), ("x_", "x_kernel")],
)  # fmt: skip
def test_a_kernel_is_named_after_its_function(name: str, kernel: str):
    assert f"{kernel}(" in text_of(named_program(["A"], name), "cuda")


def test_the_headers_of_c_define_nothing_that_a_variable_is_called(gxx: str):
    text = "".join(f"#include <{name}.h>\n" for name in HEADERS)
    made = subprocess.run(
        [gxx, "-std=gnu++17", "-x", "c++", "-E", "-dM", "-"], input=text, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    macros = re.findall(r"^#define (\w+)", made.stdout, re.MULTILINE)
    assert len(macros) > 500
    unread = re.compile(r"E[A-Z0-9]+|(PRI|SCN)[bBdiouxX]\w+")  # of errno.h and inttypes.h alone
    hidden = [name for name in macros if free(name, "cuda") and not unread.fullmatch(name)]
    assert hidden == []
