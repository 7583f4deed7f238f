"""Expressions: what Python's operators build, what they fold, and what they refuse."""

from __future__ import annotations

import math
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.ir import (
    TRUE,
    BinOp,
    Buffer,
    BufferStore,
    Cast,
    Const,
    SeqStmt,
    Var,
    as_expr,
    binary,
    cast,
    const,
    dtypes,
    meet,
    seq,
    structural_equal,
)

i, j = Var("i"), Var("j")
x = Buffer("A", (8,))[i]
ints = st.integers(-1000, 1000)


@pytest.mark.parametrize(
    "folded",
    [i + 0, 0 + i, i - 0, i * 1, 1 * i, i // 1],
    ids=["x+0", "0+x", "x-0", "x*1", "1*x", "x//1"],
)
def test_units_fold_to_the_operand_itself(folded):
    assert folded is i


@pytest.mark.parametrize("zero", [i * 0, 0 * i, i % 1], ids=["x*0", "0*x", "x%1"])
def test_zeros_fold(zero):
    assert structural_equal(zero, const(0, "int32"))


def test_nothing_is_reordered():
    e = i * 4 + (j * 2 + 1)
    assert isinstance(e, BinOp) and isinstance(e.b, BinOp) and e.b.op == "+"


def test_float_arithmetic_is_left_to_the_machine():
    for e in (x + 0.0, x * 1.0, x * 0.0, const(1.0, "float32") + const(2.0, "float32")):
        assert isinstance(e, BinOp)


@given(ints, ints, st.sampled_from(["+", "-", "*", "//", "%", "min", "max", "<", "<=", "==", "!="]))
def test_constants_fold_as_python_computes(a, b, op):
    python = {
        "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
        "%": operator.mod, "min": min, "max": max, "<": operator.lt, "<=": operator.le,
        "==": operator.eq, "!=": operator.ne,
    }  # fmt: skip
    if op in ("//", "%") and b == 0:
        with pytest.raises(ZeroDivisionError, match=rf"^the right side of '{op}' is 0$"):
            binary(op, as_expr(a), as_expr(b))
        return
    folded = binary(op, as_expr(a), as_expr(b))
    assert isinstance(folded, Const) and folded.value == python[op](a, b)


def test_conditions_fold_with_a_constant_side():
    c = i < 3
    assert binary("and", TRUE, c) is c and binary("or", c, TRUE) is TRUE
    assert binary("and", c, const(False, "bool")).value is False


def test_negation_is_multiplication_by_minus_one():
    """0 - x would turn 0.0 into 0.0, where the negation of 0.0 is -0.0."""
    e = -x
    assert (e.op, e.b.value, e.dtype) == ("*", -1.0, "float32")


def test_a_python_number_takes_the_type_beside_it():
    assert (x + 1).b.dtype == "float32" and (Var("n", "int64") + 1).b.dtype == "int64"


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(True, "bool"), (3, "int32"), (2**31, "int64"), (-(2**31), "int32"), (0.5, "float32")],
)
def test_python_numbers_alone_have_tvms_types(value, dtype):
    assert as_expr(value).dtype == dtype


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: x // 2, "'//' takes integers, not float32; divide floats with '/'"),
        (lambda: i / 2, "'/' takes floats; divide integers with '//'"),
        (lambda: binary("and", i, j), "'and' takes conditions, not int32"),
        (
            lambda: meet(Var("a", "int8"), Var("b", "uint8")),
            "int8 and uint8 do not meet; write T.Cast on one side",
        ),
        (lambda: as_expr("8"), "cannot make an expression of '8' (str)"),
        (
            lambda: bool(i < 3),
            "an expression has no truth value before the program runs; "
            "combine conditions with &, | and ~, choose with if_then_else",
        ),
    ],
)
def test_what_the_operators_refuse(build, text):
    with pytest.raises(TypeError) as refusal:
        build()
    assert str(refusal.value) == text


def test_types_meet_as_in_tvm():
    assert dtypes.join("int32", "int64") == "int64"
    assert dtypes.join("int64", "float16") == "float16"
    assert dtypes.join("bool", "int8") == "int8"
    assert dtypes.join("float16", "bfloat16") is None
    assert dtypes.join("int32", "uint32") is None


def test_an_integer_constant_is_cast_at_once_and_a_float_is_not():
    assert structural_equal(cast("int64", const(3, "int32")), const(3, "int64"))
    assert isinstance(cast("int32", const(0.5, "float32")), Cast)


def test_constants_are_equal_by_their_bits():
    nan = const(math.nan, "float32")
    assert structural_equal(nan, const(math.nan, "float32"))
    assert not structural_equal(const(0.0, "float32"), const(-0.0, "float32"))
    assert not structural_equal(const(1, "int32"), const(1, "int64"))


def test_sequences_are_flat():
    stores = [BufferStore(x.buffer, x, (as_expr(k),)) for k in range(3)]
    both = seq(stores[0], seq(stores[1], stores[2]))
    assert isinstance(both, SeqStmt) and both.stmts == tuple(stores)
    assert seq(stores[0]) is stores[0]
    with pytest.raises(ValueError, match=r"^seq\(\) needs at least one statement$"):
        seq()
