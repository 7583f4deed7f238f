"""Words of TVM that its own programs print: what each means here."""

from __future__ import annotations

import re

import numpy as np
import pytest

import workbench as wb
from tests.support.shallow import shallow
from workbench import emulate
from workbench.ir import PrimFunc, verify
from workbench.script import ParseError, parse

TYPES = {"float16": "uint16", "bfloat16": "uint16", "float32": "uint32", "float64": "uint64"}


def elementwise(expression: str, given: str, made: str) -> PrimFunc:
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((64,), "{given}"), C: T.Buffer((64,), "{given}"),
         B: T.Buffer((64,), "{made}")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = {expression}
""")
    assert isinstance(func, PrimFunc)
    verify(func)
    again = parse(func.script())
    assert again.script() == func.script()
    return func


def result(expression: str, a: np.ndarray, c: np.ndarray, made: str) -> np.ndarray:
    """What the program means, which its kernel makes, too."""
    func, b = elementwise(expression, str(a.dtype), made), np.zeros(64, made)
    emulate.evaluate(func, [a.copy(), c.copy(), b])
    sch = wb.Schedule(func)
    for loop, thread in zip(sch.split("i", [None, 32]), ("blockIdx.x", "threadIdx.x"), strict=True):
        sch.bind(loop, thread)
    again = np.zeros_like(b)
    wb.build(sch).emulate(a.copy(), c.copy(), again)
    np.testing.assert_array_equal(again, b)
    return b


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_division_towards_zero(dtype: str):
    rng, limits = np.random.default_rng(0), np.iinfo(dtype)
    a = rng.integers(max(limits.min, -99), 99, 64).astype(dtype)
    c = rng.integers(max(limits.min, -9), 9, 64).astype(dtype)
    a[:2], c[c == 0] = (limits.min, limits.max), 3
    c[0] = 3
    pairs = [(int(x), int(y)) for x, y in zip(a, c, strict=True)]
    whole = [abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1) for x, y in pairs]
    rest = [x - y * q for (x, y), q in zip(pairs, whole, strict=True)]
    np.testing.assert_array_equal(result("T.truncdiv(A[vi], C[vi])", a, c, dtype), whole)
    np.testing.assert_array_equal(result("T.Div(A[vi], C[vi])", a, c, dtype), whole)
    np.testing.assert_array_equal(result("T.truncmod(A[vi], C[vi])", a, c, dtype), rest)
    np.testing.assert_array_equal(result("T.Mod(A[vi], C[vi])", a, c, dtype), rest)


def test_what_is_never_negative_is_divided_as_ever():
    func = elementwise(
        "T.Div(vi, 2) + T.truncmod(vi * 3, 4) + T.truncdiv(vi - 1, 2)", "int32", "int32"
    )
    assert "B[vi] = vi // 2 + vi * 3 % 4 + T.Select(" in func.script()


def test_the_rest_of_floats():
    a, c = np.linspace(-9, 9, 64).astype("f4"), np.full(64, -2.5, "f4")
    np.testing.assert_array_equal(
        result("T.truncmod(A[vi], C[vi])", a, c, "float32"), np.fmod(a, c)
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_kinds_of_floats(dtype: str):
    a = np.linspace(-3, 3, 64).astype(dtype)
    a[:5] = np.nan, np.inf, -np.inf, np.finfo(dtype).max, np.finfo(dtype).tiny
    for name in ("isnan", "isinf", "isfinite"):
        made = result(f"T.{name}(A[vi])", a, a, "bool")
        np.testing.assert_array_equal(made, getattr(np, name)(a), name)
    assert result("T.isfinite(vi) and not T.isnan(vi)", a, a, "bool").all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_bits(dtype: str):
    a = np.random.default_rng(1).standard_normal(64).astype(dtype)
    a[:2] = np.inf, -0.0
    bits, signed = TYPES[dtype], TYPES[dtype].removeprefix("u")
    np.testing.assert_array_equal(
        result(f'T.reinterpret("{bits}", A[vi])', a, a, bits), a.view(bits)
    )
    np.testing.assert_array_equal(
        result(f'T.reinterpret("{signed}", A[vi])', a, a, signed), a.view(signed)
    )
    for own in (bits, signed):
        back = result(f'T.reinterpret("{dtype}", A[vi])', a.view(own), a.view(own), dtype)
        np.testing.assert_array_equal(back, a)


def test_bits_of_a_bfloat16_as_weights_are_packed():
    """Two of them in a word, and signed numbers of four bits beside them, as in dlight."""
    bits = (np.arange(1, 65, dtype="f4").view("u4") & 0xFFFF0000) + 0x3FC0
    two = 'T.Cast("uint16", A[vi] >> T.uint32(16))'
    made = result(f'T.Cast("float32", T.reinterpret("bfloat16", {two}))', bits, bits, "float32")
    np.testing.assert_array_equal(made, np.arange(1, 65))
    low = 'T.Cast("uint16", A[vi] & T.uint32(65535))'
    half = result(f'T.Cast("float32", T.reinterpret("bfloat16", {low}))', bits, bits, "float32")
    assert (half == 1.5).all()
    nibble = 'T.Cast("int32", (A[vi] >> T.uint32(4)) & T.uint32(15))'
    signed = f"T.shift_right(T.shift_left({nibble}, 28), 28)"
    assert (result(signed, bits, bits, "int32") == -4).all()


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ('T.reinterpret("float64", A[vi])', "Can't take the bits of float32 as float64"),
        ('T.reinterpret("int32", vi < 3)', "Can't take the bits of bool as int32"),
        ("T.truncdiv(vi, 0)", "Can't compute T.truncdiv: "),
        ("T.truncdiv(A[vi], A[vi])", "Can't compute T.truncdiv: '//' takes integers"),
    ],
)
def test_refusals(expression: str, said: str):
    with pytest.raises(ParseError, match=re.escape(said)):
        elementwise(expression, "float32", "float32")


def test_declarations_as_tvm_prints_them():
    func = parse("""
@T.prim_func
def main(A: T.Buffer((8,), "float32", align=16, offset_factor=4),
         B: T.Buffer((8,), "float32", scope="global.vtcm")):
    T.func_attr({"target": T.target({"kind": "llvm", "keys": ["cpu"]}), "note": 1})
    with T.block("root"):
        T.reads(A[0:8])
        T.writes(B[0:8])
        for i in range(8):
            with T.block("B"):
                v = T.axis.spatial(8, i)
                B[v] = A[v]
""")
    assert isinstance(func, PrimFunc)
    assert func.params[1].scope == "global" and not func.root.reads
    text = 'T.func_attr({"target": T.target({"keys": ["cpu"], "kind": "llvm"}), "note": 1})'
    assert text in func.script() and parse(func.script()).script() == func.script()


def test_a_declared_buffer_of_its_own_memory_is_allocated():
    func = parse("""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    M = T.decl_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            X = T.decl_buffer((1,), scope="local")
            X[0] = A[v]
            M[v] = X[0]
            B[v] = M[v] + A[v]
""")
    assert isinstance(func, PrimFunc)
    verify(func)
    assert [buffer.name for buffer in func.root.alloc_buffers] == ["M"]
    assert 'X = T.alloc_buffer((1,), scope="local")' in func.script()


def test_a_private_function_is_so_until_it_has_a_symbol():
    func = parse("""
@T.prim_func(private=True)
def main(A: T.Buffer((8,), "float32")):
    A[0] = 1.0
""")
    assert isinstance(func, PrimFunc)
    assert func.private and func.script().startswith("@T.prim_func(private=True)\n")
    assert not func.with_attr("global_symbol", "main").private
    assert func.with_attr("tir.noalias", True).private
    assert func.with_attr("global_symbol", "f").without_attr("global_symbol").private


def test_a_named_part_of_global_memory():
    func = elementwise("A[vi] + C[vi]", "float32", "float32")
    sch = wb.Schedule(func)
    copy = sch.cache_read("B", 0, "global.A_reg")
    back = sch.cache_write("B", 0, "global.accumulator")
    assert [block.name for block in (copy, back)] == ["A_global_A_reg", "B_global_accumulator"]
    assert {buffer.scope for buffer in sch.func.root.alloc_buffers} == {"global"}
    assert 'scope="global.A_reg"' in sch.func.script()
    assert wb.structural_equal(parse(sch.func.script()), sch.func)


WIDE = """
v = T.int64()

@T.prim_func
def main(
    A: T.Buffer((T.int64(8), v), "float32"), B: T.Buffer((T.int64(8), v * T.int64(2)), "float32")
):
    C = T.alloc_buffer((T.int64(8), v))
    for i, j in T.grid(T.int64(8), v):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(T.int64(8), v):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj * T.int64(2)] = C[vi, vj]
"""


def test_shapes_that_count_in_int64():
    func = parse(WIDE)
    assert isinstance(func, PrimFunc)
    ours, theirs = func.script(), func.script(dialect="tvm")
    assert 'A: T.Buffer((T.int64(8), "v"), "float32")' in ours and "    v = T.int64()" in ours
    assert "\nv = T.int64()\n@T.prim_func" in theirs and "A: T.Buffer((T.int64(8), v)," in theirs
    assert "C = T.alloc_buffer((T.int64(8), v))" in ours
    one = parse(ours.replace("(T.int64(8), v * T.int64(2))", "(8, v * T.int64(2))")).script()
    assert parse(one).script() == one and "(8, v * T.int64(2))" in one
    for text in (ours, theirs):
        again = parse(text)
        assert again.script() == ours and wb.structural_equal(again, func)
    sch = wb.Schedule(func)
    sch.cache_read("B", 0, "shared")
    assert 'C_shared = T.alloc_buffer((T.int64(8), v), scope="shared")' in sch.func.script()
    module = wb.ir.IRModule({"one": func, "two": func}).script(dialect="tvm")
    assert module.count("v = T.int64()") == 1 and parse(module).script(dialect="tvm") == module


def test_shapes_that_count_in_int64_are_tvms():
    tvm = pytest.importorskip("tvm")
    text = parse(WIDE).script(dialect="tvm")
    theirs = shallow(tvm.script.from_source, text)
    again = parse(theirs.script()).script(dialect="tvm")
    tvm.ir.assert_structural_equal(shallow(tvm.script.from_source, again), theirs)
    assert "T.Buffer((T.int64(8), v)," in theirs.script()


@pytest.mark.filterwarnings("ignore::workbench.ScheduleWarning")  # all threads load all
def test_shared_memory_of_which_a_launch_says_how_much_there_is():
    sch = wb.Schedule(elementwise("A[vi] + C[vi]", "float32", "float32"))
    sch.bind(sch.get_loops("B")[0], "threadIdx.x")
    copy = sch.cache_read("B", 0, "shared.dyn")
    sch.bind(sch.get_loops(copy)[0], "threadIdx.x")
    sch.compute_at(copy, sch.get_loops("B")[0])
    out = sch.cache_write("B", 0, "local")
    sch.set_scope("B", 0, "shared.dyn")
    sch.reverse_compute_at(out, sch.get_loops("B")[0])
    scopes = [buffer.storage_scope for buffer in sch.func.root.alloc_buffers]
    assert scopes == ["shared.dyn", "shared.dyn"]
    assert wb.structural_equal(parse(sch.func.script()), sch.func)
    assert not wb.structural_equal(parse(sch.func.script().replace(".dyn", "")), sch.func)
    kernel = wb.build(sch)
    assert "__shared__ float A_shared_dyn[" in kernel.source


@pytest.mark.parametrize(
    "loops", ["for i, j in T.grid(8, 0)", "for i in T.unroll(4, 4)", "for i in range(T.int64(0))"]
)
def test_loops_of_no_turns_are_left_out(loops: str):
    """Not even a sum's T.init() runs in them."""
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
"""
    left_out = f"""
    {loops}:
        with T.block("C"):
            v = T.axis.spatial(8, i)
            k = T.axis.reduce(1, 0)
            with T.init():
                B[v] = T.float32(0)
            B[v] = B[v] + A[v]
"""
    func, without = parse(text + left_out), parse(text)
    assert isinstance(func, PrimFunc) and isinstance(without, PrimFunc)
    assert wb.structural_equal(func, without)
    with pytest.raises(ParseError, match="There is nothing done here"):
        parse(text.partition("    for")[0] + left_out)
