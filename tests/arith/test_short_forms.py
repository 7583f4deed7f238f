"""What simplify makes of the indices that schedules leave: short text, in the learner's order."""

from __future__ import annotations

import time

import pytest

from workbench import script
from workbench.arith import bounds, prove, simplify
from workbench.ir import BinOp, Const, Not, Var, substitute

i, j, k, x, y = (Var(name) for name in "ijkxy")
DOM = {i: (0, 7), j: (0, 3), k: (0, 31)}


def number(value: int) -> Const:
    """An int32 constant."""
    return Const(value, "int32")


SHORT = [
    ((i * 4 + j) // 4, "i"),
    ((i * 4 + j) % 4, "j"),
    (x // 8 * 8 + x % 8, "x"),
    (x - x // 8 * 8, "x % 8"),
    ((x + y) // 8 * 8 + (x + y) % 8, "x + y"),
    ((x + y) - (x + y) // 8 * 8, "(x + y) % 8"),
    ((i * 256 + k * 4 + j) // 8, "i * 32 + k // 2"),
    ((i * 256 + k * 4 + j) % 8, "k % 2 * 4 + j"),
    (x // 4 // 8, "x // 32"),
    (x % 32 % 8, "x % 8"),
    (x // 4 % 8 * 4 + x % 4, "x % 32"),
    (i * 128 + (k * 128 + j), "i * 128 + k * 128 + j"),
    ((i * 4 + j) * 2 // 8, "i"),
    ((i * 3 + j) // 2 % 3 - (i * 3 + j) % 6 // 2, "0"),
    ((x + 1) * 3 - x * 3, "3"),
    (x * y - y * x, "0"),
    (BinOp("max", i, number(0)), "i"),
    (BinOp("min", i * 4 + j, number(31)), "i * 4 + j"),
    (i * 4 + j < 32, "T.bool(True)"),
    (i * 4 + j < 12, "i < 3"),
    (j + i * 4 >= 32, "T.bool(False)"),
    (BinOp("==", i, number(9)), "T.bool(False)"),
    (Not(x < y), "x >= y"),
    # no shorter: as the learner wrote it
    (i * 4 + j <= 13, "i * 4 + j <= 13"),
    ((i - 1) % 4, "(i - 1) % 4"),
    (x + x // 8, "x + x // 8"),
    ((i * 4 + j) // 6, "(i * 4 + j) // 6"),
]


@pytest.mark.parametrize(("long", "short"), SHORT, ids=[short for _, short in SHORT])
def test_short(long, short):
    assert script.expr_text(simplify(long, DOM)) == short


def test_a_variable_of_one_value_is_that_value():
    assert script.expr_text(simplify(x * 4 + y, {x: (0, 0)})) == "y"


def test_what_is_simple_stays_the_same_object():
    e = i * 4 + j
    assert simplify(e, DOM) is e


def test_an_extent_between_two_divisions_is_bounded():
    extent = (i * 3 + 3) // 2 - i * 3 // 2 + 1
    assert bounds(extent, {}) == (2, 3)


def test_a_tail_is_no_longer_than_its_tile():
    tail = BinOp("min", i * 4 + 4, number(10)) - i * 4
    assert prove(tail <= 4, {})


def test_wrapping_types_are_left_alone():
    narrow = Var("n", "int8")
    e = (narrow + Const(100, "int8")) - Const(100, "int8")
    assert simplify(e, {narrow: (0, 100)}) is e


def test_unknown_ends_give_no_bounds():
    assert bounds(x, {}) is None
    assert not prove(x < 4, {})


def test_an_index_takes_a_millisecond_or_two():
    index = (i * 256 + k * 4 + j) // 8 * 16 + (i * 256 + k * 4 + j) % 8 // 2
    start = time.process_time()
    for _ in range(100):
        simplify(substitute(index, {x: y}), DOM)
    assert time.process_time() - start < 0.5
