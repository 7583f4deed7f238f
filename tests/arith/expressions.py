"""Random integer expressions and conditions over a few bounded variables, for hypothesis."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from hypothesis import strategies as st

from workbench.arith import Bounds
from workbench.ir import BinOp, Cast, Const, Expr, Not, Select, Var

VARS = tuple(Var(name) for name in "ijk")


@st.composite
def domains(draw: st.DrawFn) -> dict[Var, tuple[int, int]]:
    """Small inclusive bounds for each of VARS, so that all points can be tried."""
    result = {}
    for var in VARS:
        low = draw(st.sampled_from([0, 0, 0, 0, -3, 1]))
        result[var] = low, low + draw(st.integers(0, 8))
    return result


def numbers(draw: st.DrawFn) -> Const:
    """Constants like those of tile sizes."""
    return Const(draw(st.sampled_from([0, 1, 2, 3, 4, 5, 8, 16, -1, -2, -4, 7])), "int32")


@st.composite
def integers(draw: st.DrawFn, depth: int = 4) -> Expr:
    """An int32 expression: mostly sums, products and divisions by constants."""
    kind = draw(st.sampled_from(("var", "number", *_INNER))) if depth else "var"
    if kind == "var":
        return draw(st.sampled_from(VARS))
    if kind == "number":
        return numbers(draw)
    below = integers(depth - 1)
    a = draw(below)
    if kind in ("//", "%"):
        divisor = draw(st.sampled_from([1, 2, 3, 4, 6, 8, 12, -1, -2, -4]))
        return BinOp(kind, a, Const(divisor, "int32"))
    if kind == "select":
        return Select(draw(conditions(depth - 1)), a, draw(below))
    if kind == "cast":
        op = draw(st.sampled_from(["+", "-", "*", "//", "%"]))
        other = Const(draw(st.sampled_from([1, 2, 3, 4, 8, -2, 1 << 30, 1 << 33])), "int64")
        wide = BinOp(op, Cast("int64", a), other)
        return Cast("int32", draw(st.sampled_from([wide, BinOp("+", wide, Cast("int64", a))])))
    if kind in ("<<", ">>"):
        return BinOp(kind, a, Const(draw(st.sampled_from([0, 1, 2, 3])), "int32"))
    if kind == "mask":
        mask = draw(st.sampled_from([0, 1, 3, 7, 6, -1, -2, 15]))
        return BinOp(draw(st.sampled_from(["&", "|", "^"])), a, Const(mask, "int32"))
    if kind == "scale":
        return BinOp("*", a, numbers(draw))
    return BinOp(kind, a, draw(below))


_INNER = (
    "+",
    "+",
    "-",
    "scale",
    "scale",
    "//",
    "//",
    "%",
    "%",
    "min",
    "max",
    "*",
    "select",
    "cast",
    "<<",
    ">>",
    "mask",
    "&",
    "|",
    "^",
)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> Expr:
    """A bool expression over comparisons."""
    kind = draw(st.sampled_from(("compare", "compare", "and", "or", "not"))) if depth else "compare"
    if kind == "compare":
        op = draw(st.sampled_from(("<", "<=", ">", ">=", "==", "!=")))
        return BinOp(op, draw(integers(max(depth, 1))), draw(integers(max(depth, 1))))
    a = draw(conditions(depth - 1))
    return Not(a) if kind == "not" else BinOp(kind, a, draw(conditions(depth - 1)))


def points(dom: Bounds) -> Iterator[dict[Var, int]]:
    """Every assignment of the variables of `dom`."""
    for values in itertools.product(*(range(low, high + 1) for low, high in dom.values())):
        yield dict(zip(dom, values, strict=True))
