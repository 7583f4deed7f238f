"""Loops of more than 2^31 turns count in 64 bits, in the program, its text and its run."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.support import cpp
from tests.support.gpu_programs import parsed
from workbench import emulate, script, target
from workbench.codegen import source
from workbench.ir import (
    TRUE,
    Block,
    BlockRealize,
    Buffer,
    BufferStore,
    Const,
    For,
    PrimFunc,
    Var,
    as_expr,
    structural_equal,
    verify,
)
from workbench.lower import lower

LONG = {"cuda": "long long", "metal": "long"}
COUNT = """
@T.prim_func
def main(A: T.Buffer((1,), "int32")):
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for i, j in T.grid({i}, {j}):
            A[0] = A[0] + 1
"""


def text_of(func: PrimFunc, language: str = "cuda") -> str:
    gpu = target.get(language)
    return source(lower(func, gpu).kernels, gpu)


def is_well_formed(func: PrimFunc) -> None:
    verify(func)
    assert structural_equal(script.parse(script.show(func)), func)


def fused(i: object, j: object) -> wb.Schedule:
    sch = wb.Schedule(parsed(COUNT.format(i=i, j=j)))
    sch.fuse("i", "j")
    is_well_formed(sch.func)
    return sch


def loops_of(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip().startswith("for ")]


@pytest.mark.parametrize("language", LONG)
@pytest.mark.parametrize("unrolled", [False, True])
def test_a_fused_loop_ends(
    gxx: str, monkeypatch: pytest.MonkeyPatch, language: str, unrolled: bool
):
    sch = fused(65536, 65536)
    if unrolled:
        sch.unroll("i_j_fused")
    lowered = lower(sch.func, target.get(language))

    def in_strides(*args: object) -> str:
        text = source(*args)
        assert f"for ({LONG[language]} i_j_fused = 0L" in text
        return text.replace("++i_j_fused", "i_j_fused += 1 << 20")

    monkeypatch.setattr(cpp, "source", in_strides)
    counted = np.zeros(1, "int32")
    cpp.compile_cpp([lowered], language).run([(0, [counted])])
    assert counted[0] == 4096


@pytest.mark.parametrize("i, j", [("T.int64(65536)", 32768), (65536, "T.int64(32768)")])
def test_loops_of_two_types_are_fused_in_the_wider_one(i: object, j: object):
    assert loops_of(text_of(fused(i, j).func)) == [
        "for (long long i_j_fused = 0LL; i_j_fused < 2147483648LL; ++i_j_fused) {"
    ]


def test_what_32_bits_count_stays():
    assert loops_of(text_of(fused(65536, 32767).func)) == [
        "for (int i_j_fused = 0; i_j_fused < 2147418112; ++i_j_fused) {"
    ]


def test_a_varying_number_of_turns_is_bounded():
    sch = wb.Schedule(
        parsed("""
@T.prim_func
def main(A: T.Buffer((1,), "int32")):
    for n in range(70000):
        for i in range(n + 1):
            for j in range(n + 1):
                A[0] = A[0] + 1
""")
    )
    assert sch.fuse("i", "j").key.type == "int64"
    is_well_formed(sch.func)
    (inner,) = [line for line in loops_of(text_of(sch.func)) if "fused" in line]
    assert inner.startswith("for (long long i_j_fused = 0LL; i_j_fused < ")


@pytest.mark.parametrize(
    "size, factors, ctype",
    [
        (10, [65536, 65536], "long long"),
        (10, [2**31, None], "long long"),
        (2**31 - 1, [None, 1000], "long long"),
        (2**31 - 2, [None, 2], "int"),
    ],
)
def test_a_split_counts_what_its_parts_make_up(size: int, factors: list, ctype: str):
    sch = wb.Schedule(
        parsed(f"""
@T.prim_func
def main(A: T.Buffer((8,), "int8")):
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for i in range({size}):
            with T.block("A"):
                vi = T.axis.spatial({size}, i)
                A[vi % 8] = T.int8(1)
""")
    )
    sch.split("i", factors=factors)
    is_well_formed(sch.func)
    text = text_of(sch.func)
    assert all(line.startswith(f"for ({ctype} i_") for line in loops_of(text))
    if ctype == "long long":
        assert f"< {size}LL) {{" in text


def test_elements_beyond_32_bits_are_still_one_a_thread():
    sch = wb.Schedule(
        parsed("""
@T.prim_func
def main(A: T.Buffer((65536, 65537), "int8"), B: T.Buffer((65536, 65537), "int8")):
    for i, j in T.grid(65536, 65537):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
""")
    )
    outer, inner = sch.split(sch.fuse("i", "j"), factors=[None, 1024])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    is_well_formed(sch.func)
    for language, suffix in (("cuda", "LL"), ("metal", "L")):
        flat = f"[i_j_fused_0 * 1024{suffix} + i_j_fused_1]"
        assert f"  B{flat} = A{flat};" in text_of(sch.func, language)


def test_conditions_beyond_32_bits_are_computed_in_64():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((8,), "int8")):
    for i_0 in T.thread_binding(65536, thread="blockIdx.x"):
        for i_1 in range(65536):
            with T.block("A"):
                vi = T.axis.spatial(8, i_1 % 8)
                T.where(i_0 * 65536 + i_1 < 3000000000)
                A[vi] = T.int8(1)
""")
    assert "if ((long long)i_0 * 65536LL + (long long)i_1 < 3000000000LL) {" in text_of(func)


@pytest.mark.parametrize("value", ["i + 3000000000", "i - 3000000000", "(i + 3000000000) // 7"])
@pytest.mark.parametrize("where", ["i < 3000000000", "3000000000 > i * 4"])
def test_numbers_that_32_bits_do_not_hold_run_as_in_c(gxx: str, where: str, value: str):
    func = parsed(f"""
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        if {where}:
            A[i] = {value}
""")
    run, ran = np.zeros(8, "int32"), np.zeros(8, "int32")
    emulate.evaluate(func, [run])
    cpp.run_cpp(lower(func, target.get("cuda")), [ran])
    np.testing.assert_array_equal(run, ran)
    assert len(set(run)) > 1


def looped(first: int, turns: int) -> PrimFunc:
    """A loop of an int32 that cannot count so far, which no text and no verb makes."""
    cell, var = Buffer("A", (1,), "int32"), Var("i")
    body = BufferStore(cell, cell[as_expr(0)] + var, (as_expr(0),))
    loop = For(var, Const(first, "int32"), Const(turns, "int32"), "serial", body)
    bound = For(Var("b"), as_expr(0), as_expr(1), "thread_binding", loop, "blockIdx.x")
    return PrimFunc("main", (cell,), BlockRealize((), TRUE, Block("root", (), (), (), bound)))


@pytest.mark.parametrize("language", LONG)
def test_a_loop_that_no_int32_counts_ends_all_the_same(language: str):
    for first, turns in ((0, 3 * 10**9), (2**31 - 4, 8), (1, 2**31 - 1)):
        (line,) = loops_of(text_of(looped(first, turns), language))
        suffix = "LL" if language == "cuda" else "L"
        assert f"i < {first + turns}{suffix};" in line and f"({LONG[language]} i = " in line


def test_the_verifier_knows_what_a_type_holds():
    for first, turns, why in (
        (0, 3 * 10**9, "a loop up to 3000000000 counts in int32"),
        (2**31 - 4, 8, "a loop up to 2147483652 counts in int32"),
    ):
        with pytest.raises(AssertionError, match=why):
            verify(looped(first, turns))


@pytest.mark.parametrize(
    "first, stop, kind",
    [
        (2**31 - 4, 2**31 - 1, "int32"),
        (2**31 - 4, 2**31 + 4, "int64"),
        (-(2**31), -(2**31) + 8, "int32"),
        (-(2**31) - 2, -(2**31) + 2, "int64"),
        (2**40, 2**40 + 5, "int64"),
    ],
)
def test_loops_about_the_ends_of_32_bits_run(gxx: str, first: int, stop: int, kind: str):
    func = parsed(f"""
@T.prim_func
def main(A: T.Buffer((8,), "int64")):
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for i in range({first}, {stop}):
            A[i - {first}] = i
""")
    is_well_formed(func)
    expected = np.zeros(8, "int64")
    expected[: stop - first] = np.arange(first, stop)
    run, ran = np.zeros(8, "int64"), np.zeros(8, "int64")
    emulate.evaluate(func, [run])
    cpp.run_cpp(lower(func, target.get("cuda")), [ran])
    np.testing.assert_array_equal(run, expected)
    np.testing.assert_array_equal(ran, expected)
    assert f"for ({'int' if kind == 'int32' else 'long long'} i = " in text_of(func)


def test_a_range_over_all_of_int32_is_read_in_64_bits():
    text = COUNT.replace("i, j in T.grid({i}, {j})", f"i in range({-(2**31)}, {2**31 - 1})")
    func = parsed(text)
    is_well_formed(func)
    assert "for (long long i = -2147483648LL; i < 2147483647LL; ++i) {" in text_of(func)
