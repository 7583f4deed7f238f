"""Types mean what they mean on a GPU: wrapping, rounding, saturating."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench import emulate
from workbench.emulate import numbers
from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Const,
    Expr,
    For,
    IterVar,
    Kernel,
    PrimFunc,
    Range,
    Var,
    binary,
    const,
)

SIZE = 8


def both(make, *given: np.ndarray, out: str, types: tuple[str, ...] | None = None) -> np.ndarray:
    """What ``out[i] = make(a[i], …)`` gives, which is the same by its meaning and as a kernel."""
    types = types or tuple(str(g.dtype) for g in given)
    params = [Buffer(f"A{k}", (SIZE,), t) for k, t in enumerate(types)]
    target = Buffer("C", (SIZE,), out)
    i, vi = Var("i"), Var("vi")

    def store(at: Var) -> BufferStore:
        return BufferStore(target, make(*(BufferLoad(p, (at,)) for p in params)), (at,))

    kernel = Kernel(
        "k", (*params, target), (), (), (("threadIdx.x", i),), (1, 1, 1), (SIZE, 1, 1), store(i)
    )
    zero, extent = const(0, "int32"), const(SIZE, "int32")
    block = Block("C", (IterVar(vi, Range(zero, extent), "spatial"),), (), (), store(vi))
    loop = For(i, zero, extent, "serial", BlockRealize((i,), TRUE, block))
    func = PrimFunc("f", (*params, target), BlockRealize((), TRUE, Block("root", (), (), (), loop)))
    results = []
    for run in (
        lambda args: emulate.run([kernel], args),
        lambda args: emulate.evaluate(func, args),
    ):
        result = np.zeros(SIZE, numbers.numpy_type(out))
        run([*(g.copy() for g in given), result])
        results.append(result)
    np.testing.assert_array_equal(*results)
    return results[0]


def op(name: str):
    return lambda a, b: BinOp(name, a, b)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32"])
@pytest.mark.parametrize("name", ["+", "-", "*"])
def test_integers_wrap_around(dtype: str, name: str):
    info = np.iinfo(dtype)
    a = np.array([info.max, info.min, 3, 100, 7, 0, 1, 2], dtype)
    b = np.array([1, 1, 5, 100, 9, 1, info.max, 3], dtype)
    found = both(op(name), a, b, out=dtype)
    python = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}[name]
    for x, y, z in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
        assert (python(x, y) - z) % 2**info.bits == 0


@pytest.mark.parametrize("name", ["//", "%"])
def test_division_rounds_down(name: str):
    a = np.array([7, -7, 7, -7, 0, 1, -1, 6], "int32")
    b = np.array([2, 2, -2, -2, 5, 3, 3, -3], "int32")
    found = both(op(name), a, b, out="int32")
    python = {"//": int.__floordiv__, "%": int.__mod__}[name]
    assert found.tolist() == [python(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint64"])
@pytest.mark.parametrize("name", ["&", "|", "^", "<<", ">>"])
def test_bits_of_every_integer_type(dtype: str, name: str):
    info = np.iinfo(dtype)
    a = np.array([info.max, info.min, 3, 100, 7, 0, 85, 2], dtype)
    b = np.array([info.bits - 1, 1, 5, 4, 0, 1, 2, 3], dtype)
    found = both(op(name), a, b, out=dtype)
    np.testing.assert_array_equal(found, eval(f"a {name} b"))
    turned = both(
        lambda x: binary("^", x, const(-1 if info.min else info.max, dtype)), a, out=dtype
    )
    np.testing.assert_array_equal(turned, ~a)


@pytest.mark.parametrize("amount", [32, -1])
def test_a_shift_that_is_too_far_is_refused_where_it_runs(amount: int):
    a, b = np.ones(SIZE, "int32"), np.array([1, 2, 3, amount, 0, 31, 5, 6], "int32")
    with pytest.raises(emulate.EmulationError, match="Can't shift int32 by less than 0, or by 32"):
        both(op("<<"), a, b, out="int32")

    def kept_away(x: Expr, y: Expr) -> Expr:
        far = BinOp("or", y < 0, y > 31)
        return Call("if_then_else", (far, x, BinOp(">>", x, y)), "int32")

    assert both(kept_away, a, b, out="int32").tolist() == [0, 0, 0, 1, 1, 0, 0, 0]


def test_float16_is_rounded_after_every_operation():
    a = np.array([1, 2048, 0.1, 640, 3, 5, 1e-7, 2], "float16")
    b = np.array([1 / 4096, 1, 0.2, 50, 7, 11, 1, 3], "float16")
    found = both(lambda x, y: BinOp("*", BinOp("+", x, y), y), a, b, out="float16")
    wide = ((a.astype("float64") + b).astype("float16").astype("float64") * b).astype("float16")
    np.testing.assert_array_equal(found, wide)


def nearest_bfloat16(x: float) -> float:
    """The closest bfloat16 by trying both neighbours; ties to the even one."""
    if math.isnan(x) or math.isinf(x):
        return x
    bits = int(np.float32(x).view(np.uint32))
    low, high = bits & 0xFFFF0000, (bits & 0xFFFF0000) + 0x10000
    value = [float(np.uint32(b).view(np.float32)) for b in (low, high)]
    exact = float(np.float32(x))
    if abs(exact - value[0]) == abs(value[1] - exact):
        return value[0] if not low & 0x10000 else value[1]
    return min(value, key=lambda v: abs(exact - v))


def test_bfloat16():
    given = [1.0, 1 + 1 / 256, 1 + 3 / 256, 3.14159, -2.71828, 1e30, 0.1, math.inf]
    a = np.array(given, "float32")
    found = both(op("+"), a, a, out="bfloat16", types=("bfloat16", "bfloat16"))
    for x, z in zip(given, found.tolist(), strict=True):
        assert z == nearest_bfloat16(2 * nearest_bfloat16(x))
    assert np.isnan(numbers.round_bfloat16(np.array([np.nan], "float32"))).all()


def test_bfloat16_as_bits():
    a = Buffer("A", (2,), "bfloat16")
    c = Buffer("C", (2,), "bfloat16")
    i = Var("i")
    store = BufferStore(c, BinOp("+", a[i], a[i]), (i,))
    axes = (("threadIdx.x", i),)
    kernel = Kernel("k", (a, c), (), (), axes, (1, 1, 1), (2, 1, 1), store)
    bits = np.array([0x3F80, 0xC000], np.uint16)  # 1 and -2
    out = np.zeros(2, np.uint16)
    emulate.run([kernel], [bits, out])
    assert out.tolist() == [0x4000, 0xC080]  # 2 and -4


def test_floats_to_integers_saturate():
    a = np.array([1.9, -1.9, 3e9, -3e9, np.nan, np.inf, -np.inf, 2147483520], "float32")
    found = both(lambda x: Cast("int32", x), a, out="int32")
    top, bottom = 2**31 - 1, -(2**31)
    assert found.tolist() == [1, -1, top, bottom, 0, top, bottom, 2147483520]


def test_casts():
    a = np.array([300, -1, 0, 255, 256, 1, 2, 3], "int32")
    bytes_of = both(lambda x: Cast("uint8", x), a, out="uint8")
    assert bytes_of.tolist() == [44, 255, 0, 255, 0, 1, 2, 3]
    truth = both(lambda x: Cast("bool", x), a, out="bool")
    assert truth.tolist() == [True, True, False, True, True, True, True, True]
    assert both(lambda x: Cast("float32", x), a, out="float32").tolist() == a.tolist()


def test_a_number_wins_against_nan():
    a = np.array([np.nan, 1, np.nan, 2, 3, -1, 0, 5], "float32")
    b = np.array([1, np.nan, np.nan, 3, 2, -2, 1, 5], "float32")
    assert both(op("min"), a, b, out="float32")[[0, 1, 3]].tolist() == [1, 1, 2]
    assert both(op("max"), a, b, out="float32")[[0, 1, 4]].tolist() == [1, 1, 3]
    assert np.isnan(both(op("max"), a, b, out="float32")[2])


@pytest.mark.parametrize(
    "name, python",
    [
        ("exp", math.exp),
        ("log", math.log),
        ("sqrt", math.sqrt),
        ("rsqrt", lambda x: 1 / math.sqrt(x)),
        ("tanh", math.tanh),
        ("sigmoid", lambda x: 1 / (1 + math.exp(-x))),
        ("erf", math.erf),
        ("sin", math.sin),
        ("cos", math.cos),
        ("abs", abs),
        ("floor", math.floor),
        ("ceil", math.ceil),
        ("exp2", lambda x: 2**x),
        ("exp10", lambda x: 10**x),
        ("log2", math.log2),
        ("log10", math.log10),
        ("log1p", math.log1p),
        ("tan", math.tan),
        ("asin", lambda x: math.asin(x) if x <= 1 else math.nan),
        ("acos", lambda x: math.acos(x) if x <= 1 else math.nan),
        ("atan", math.atan),
        ("sinh", math.sinh),
        ("cosh", math.cosh),
        ("asinh", math.asinh),
        ("acosh", lambda x: math.acosh(x) if x >= 1 else math.nan),
        ("atanh", lambda x: math.atanh(x) if x < 1 else math.inf if x == 1 else math.nan),
        ("trunc", math.trunc),
        ("round", lambda x: math.floor(x + 0.5)),
        ("nearbyint", round),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_maths(name: str, python):
    a = np.array([0.1, 0.5, 1, 1.5, 2, 2.5, 3, 7], "float32")
    found = both(lambda x: Call(name, (x,), "float32"), a, out="float32")
    wanted = [python(float(x)) for x in a]
    np.testing.assert_allclose(found, wanted, rtol=4e-6)


@pytest.mark.parametrize("name", ["atan2", "fmod", "hypot", "copysign"])
def test_maths_of_two(name: str):
    a = np.array([2, 3, -0.5, 1, 4, -9, 10, 2], "float32")
    b = np.array([3, -2, 2, 9, 0.5, 0.5, -1, -2], "float32")
    found = both(lambda x, y: Call(name, (x, y), "float32"), a, b, out="float32")
    wanted = [getattr(math, name)(float(x), float(y)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_halves_are_rounded_away_from_zero_or_to_the_even_one():
    a = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, np.inf], "float32")
    found = both(lambda x: Call("round", (x,), "float32"), a, out="float32")
    assert found.tolist() == [-3, -2, -1, 1, 2, 3, 0, math.inf]
    found = both(lambda x: Call("nearbyint", (x,), "float32"), a, out="float32")
    assert found.tolist() == [-2, -2, 0, 0, 2, 2, 0, math.inf]


def test_pow():
    a = np.array([2, 3, 0.5, 1, 4, 9, 10, 2], "float32")
    b = np.array([3, 2, 2, 9, 0.5, 0.5, -1, -2], "float32")
    found = both(lambda x, y: Call("pow", (x, y), "float32"), a, b, out="float32")
    np.testing.assert_allclose(found, [8, 9, 0.25, 1, 2, 3, 0.1, 0.25], rtol=1e-6)


def test_division_of_floats_by_zero_is_infinite():
    a = np.array([1, -1, 0, 2, 3, 4, 5, 6], "float32")
    found = both(op("/"), a, np.zeros(SIZE, "float32"), out="float32")
    assert found[:2].tolist() == [math.inf, -math.inf] and np.isnan(found[2])


def test_the_branch_that_is_not_taken_is_not_evaluated():
    def guarded(n: Expr) -> Expr:
        zero = Const(0, "int32")
        return Call("if_then_else", (BinOp("==", n, zero), zero, BinOp("//", n, n)), "int32")

    a = np.array([0, 1, 2, 0, 3, 0, -1, 5], "int32")
    assert both(guarded, a, out="int32").tolist() == [0, 1, 1, 0, 1, 0, 1, 1]
