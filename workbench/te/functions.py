"""Functions of scalars for compute expressions, under TVM's names."""

from __future__ import annotations

from workbench.ir import Call, Expr, ExprLike, as_expr, binary, cast


def if_then_else(condition: Expr, then: ExprLike, otherwise: ExprLike) -> Expr:
    """`then` where `condition` holds, else `otherwise`; only that one is evaluated."""
    dtype = binary("+", then, otherwise).dtype  # the type in which the two meet
    values = (cast(dtype, as_expr(value)) for value in (then, otherwise))
    return Call("if_then_else", (condition, *values), dtype)


def exp(x: Expr) -> Expr:
    """e to the power of `x`."""
    return Call("exp", (x,), x.dtype)


def log(x: Expr) -> Expr:
    """The natural logarithm of `x`."""
    return Call("log", (x,), x.dtype)


def sqrt(x: Expr) -> Expr:
    """The square root of `x`."""
    return Call("sqrt", (x,), x.dtype)


def tanh(x: Expr) -> Expr:
    """The hyperbolic tangent of `x`."""
    return Call("tanh", (x,), x.dtype)


def sigmoid(x: Expr) -> Expr:
    """``1 / (1 + exp(-x))``."""
    return Call("sigmoid", (x,), x.dtype)


def erf(x: Expr) -> Expr:
    """The error function of `x`."""
    return Call("erf", (x,), x.dtype)
