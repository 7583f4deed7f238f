"""sum, max and min: over reduction axes, or of two values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from workbench.ir import Const, Expr, ExprLike, as_expr, binary, const, dtypes
from workbench.te.tensor import Axis, Reduction

# The largest finite value of each type (IEEE 754; bfloat16: float32's exponent, 7 bits of fraction)
_LARGEST = {
    "float16": 65504.0,
    "bfloat16": (2 - 2**-7) * 2.0**127,
    "float32": (2 - 2**-23) * 2.0**127,
    "float64": (2 - 2**-52) * 2.0**1023,
}
_START = {"+": 0, "*": 1, "and": True, "or": False}

Over = Axis | Sequence[Axis] | ExprLike


def sum(
    expr: ExprLike, axis: Over, where: ExprLike | None = None, init: ExprLike | None = None
) -> Expr:
    """The sum of `expr` over `axis`; with an expression in the place of axes, of the two.

    Raises ValueError for `where` and `init`, which TVM 0.27 drops without a word.
    """
    return reduced("+", expr, axis, where, init)


def max(
    expr: ExprLike, axis: Over, where: ExprLike | None = None, init: ExprLike | None = None
) -> Expr:
    """The largest `expr` over `axis`; with an expression in the place of axes, of the two."""
    return reduced("max", expr, axis, where, init)


def min(
    expr: ExprLike, axis: Over, where: ExprLike | None = None, init: ExprLike | None = None
) -> Expr:
    """The smallest `expr` over `axis`; with an expression in the place of axes, of the two."""
    return reduced("min", expr, axis, where, init)


def reduced(
    op: Literal["+", "*", "max", "min", "and", "or"],
    expr: ExprLike,
    axis: Over,
    where: ExprLike | None = None,
    init: ExprLike | None = None,
) -> Expr:
    """`expr` combined by `op` over `axis`, or with `axis` where that is a value."""
    name = "sum" if op == "+" else op
    if where is not None:
        raise ValueError(
            f"{name} takes no where=: write if_then_else(condition, value, "
            f"{'0' if op == '+' else 'what loses'}) inside"
        )
    if init is not None:
        raise ValueError(f"{name} takes no init=: combine it in a tensor that reads this one")
    if isinstance(axis, Axis) and axis.kind == "reduce":
        axis = (axis,)
    if not isinstance(axis, Sequence):
        return binary(op, expr, axis)
    axes = tuple(axis)
    for each in axes:
        if not isinstance(each, Axis) or each.kind != "reduce":
            raise TypeError(f"{name} goes over axes made by reduce_axis, not over {each!r}")
    if len(set(axes)) < len(axes) or not axes:
        raise ValueError(f"{name} goes over at least one axis, and over each once")
    return Reduction(op, as_expr(expr), axes)


def identity(op: str, dtype: str) -> Const:
    """What combining starts from: the value of `dtype` that changes no other."""
    if op in _START:
        return const(_START[op], dtype)
    if dtypes.is_float(dtype):
        return const(_LARGEST[dtype] * (-1 if op == "max" else 1), dtype)
    low, high = dtypes.limits(dtype)
    return const(low if op == "max" else high, dtype)
