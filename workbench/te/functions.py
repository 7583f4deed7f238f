"""Functions of scalars for compute expressions, under TVM's names."""

from __future__ import annotations

from functools import reduce

from workbench.arith import prove, up_to
from workbench.ir import (
    Call,
    Expr,
    ExprLike,
    Not,
    Select,
    Var,
    as_expr,
    binary,
    dtypes,
    free_vars,
    meet,
    plain_number,
)
from workbench.ir import const as const_of
from workbench.script.operators import truncated
from workbench.te.tensor import Axis


def if_then_else(condition: ExprLike, then: ExprLike, otherwise: ExprLike) -> Expr:
    """`then` where `condition` holds, else `otherwise`; only that one is evaluated.

    Raises TypeError where `condition` is none.

    >>> te.compute((8, 8), lambda i, j: te.if_then_else(i < 4, X[i, j], 0.0))
    Tensor('compute', (8, 8), 'float32')
    """
    yes, no = meet(then, otherwise)
    return Call("if_then_else", (_condition("if_then_else", condition), yes, no), yes.dtype)


def select(condition: ExprLike, true_value: ExprLike, false_value: ExprLike) -> Expr:
    """`true_value` where `condition` holds, else `false_value`; both are evaluated.

    Raises TypeError where `condition` is none.

    >>> te.compute((8, 8), lambda i, j: te.select(i < 4, X[i, j], 0.0))
    Tensor('compute', (8, 8), 'float32')
    """
    yes, no = meet(true_value, false_value)
    return Select(_condition("select", condition), yes, no)


def all(*conditions: ExprLike) -> Expr:
    """Whether every condition holds.

    Raises TypeError for what is no condition, ValueError without any.

    >>> te.compute((8, 8), lambda i, j: te.if_then_else(te.all(i < 4, j < 4), X[i, j], 0.0))
    Tensor('compute', (8, 8), 'float32')
    """
    return _joined("and", "all", conditions)


def any(*conditions: ExprLike) -> Expr:
    """Whether one of the conditions holds.

    Raises TypeError for what is no condition, ValueError without any.

    >>> te.compute((8, 8), lambda i, j: te.if_then_else(te.any(i < 4, j < 4), X[i, j], 0.0))
    Tensor('compute', (8, 8), 'float32')
    """
    return _joined("or", "any", conditions)


def logical_not(condition: ExprLike) -> Expr:
    """Whether `condition` does not hold. Raises TypeError where it is none.

    >>> te.compute((8, 8), lambda i, j: te.if_then_else(te.logical_not(i < 4), X[i, j], 0.0))
    Tensor('compute', (8, 8), 'float32')
    """
    return Not(_condition("logical_not", condition))


def _joined(op: str, name: str, conditions: tuple[ExprLike, ...]) -> Expr:
    if not conditions:
        raise ValueError(f"{name} takes at least one condition")
    return reduce(lambda a, b: binary(op, a, b), [_condition(name, c) for c in conditions])


def _condition(name: str, condition: ExprLike) -> Expr:
    value = as_expr(condition)
    if value.dtype != "bool":
        raise TypeError(f"{name} takes conditions, not {value.dtype}")
    return value


def _of_float(name: str, x: ExprLike) -> Call:
    value = as_expr(x)
    if not dtypes.is_float(value.dtype):
        raise TypeError(f"{name} takes floats, not {value.dtype}; convert it with astype")
    return Call(name, (value,), value.dtype)


def _of_floats(name: str, x: ExprLike, y: ExprLike) -> Call:
    a, b = meet(x, y)
    if not dtypes.is_float(a.dtype):
        raise TypeError(f"{name} takes floats, not {a.dtype}; convert it with astype")
    return Call("pow" if name == "power" else name, (a, b), a.dtype)


def exp(x: ExprLike) -> Expr:
    """e to the power of `x`."""
    return _of_float("exp", x)


def log(x: ExprLike) -> Expr:
    """The natural logarithm of `x`."""
    return _of_float("log", x)


def sqrt(x: ExprLike) -> Expr:
    """The square root of `x`."""
    return _of_float("sqrt", x)


def rsqrt(x: ExprLike) -> Expr:
    """1 divided by the square root of `x`."""
    return _of_float("rsqrt", x)


def tanh(x: ExprLike) -> Expr:
    """The hyperbolic tangent of `x`."""
    return _of_float("tanh", x)


def sigmoid(x: ExprLike) -> Expr:
    """``1 / (1 + exp(-x))``."""
    return _of_float("sigmoid", x)


def erf(x: ExprLike) -> Expr:
    """The error function of `x`."""
    return _of_float("erf", x)


def sin(x: ExprLike) -> Expr:
    """The sine of `x`."""
    return _of_float("sin", x)


def cos(x: ExprLike) -> Expr:
    """The cosine of `x`."""
    return _of_float("cos", x)


def floor(x: ExprLike) -> Expr:
    """The largest whole number that is not above `x`."""
    return _of_float("floor", x)


def ceil(x: ExprLike) -> Expr:
    """The smallest whole number that is not below `x`."""
    return _of_float("ceil", x)


def exp2(x: ExprLike) -> Expr:
    """2 to the power of `x`."""
    return _of_float("exp2", x)


def exp10(x: ExprLike) -> Expr:
    """10 to the power of `x`."""
    return _of_float("exp10", x)


def log2(x: ExprLike) -> Expr:
    """The logarithm of `x` to base 2."""
    return _of_float("log2", x)


def log10(x: ExprLike) -> Expr:
    """The logarithm of `x` to base 10."""
    return _of_float("log10", x)


def log1p(x: ExprLike) -> Expr:
    """The natural logarithm of ``1 + x``, exact near 0 as well."""
    return _of_float("log1p", x)


def tan(x: ExprLike) -> Expr:
    """The tangent of `x`."""
    return _of_float("tan", x)


def asin(x: ExprLike) -> Expr:
    """The angle whose sine is `x`."""
    return _of_float("asin", x)


def acos(x: ExprLike) -> Expr:
    """The angle whose cosine is `x`."""
    return _of_float("acos", x)


def atan(x: ExprLike) -> Expr:
    """The angle whose tangent is `x`."""
    return _of_float("atan", x)


def sinh(x: ExprLike) -> Expr:
    """The hyperbolic sine of `x`."""
    return _of_float("sinh", x)


def cosh(x: ExprLike) -> Expr:
    """The hyperbolic cosine of `x`."""
    return _of_float("cosh", x)


def asinh(x: ExprLike) -> Expr:
    """The number whose hyperbolic sine is `x`."""
    return _of_float("asinh", x)


def acosh(x: ExprLike) -> Expr:
    """The number whose hyperbolic cosine is `x`."""
    return _of_float("acosh", x)


def atanh(x: ExprLike) -> Expr:
    """The number whose hyperbolic tangent is `x`."""
    return _of_float("atanh", x)


def trunc(x: ExprLike) -> Expr:
    """`x` without what stands behind the point."""
    return _of_float("trunc", x)


def round(x: ExprLike) -> Expr:
    """The whole number nearest to `x`, halves away from zero."""
    return _of_float("round", x)


def nearbyint(x: ExprLike) -> Expr:
    """The whole number nearest to `x`, halves to the even one."""
    return _of_float("nearbyint", x)


def abs(x: ExprLike) -> Expr:
    """`x` without its sign."""
    value = as_expr(x)
    return Call("abs", (value,), value.dtype)


def power(x: ExprLike, y: ExprLike) -> Expr:
    """`x` to the power of `y`."""
    return _of_floats("power", x, y)


def atan2(y: ExprLike, x: ExprLike) -> Expr:
    """The angle of the point (`y`, `x`)."""
    return _of_floats("atan2", y, x)


def fmod(x: ExprLike, y: ExprLike) -> Expr:
    """What is left of `x` divided by `y`, with the sign of `x`."""
    return _of_floats("fmod", x, y)


def hypot(x: ExprLike, y: ExprLike) -> Expr:
    """The length of the hypotenuse over `x` and `y`."""
    return _of_floats("hypot", x, y)


def copysign(x: ExprLike, y: ExprLike) -> Expr:
    """`x` with the sign of `y`."""
    return _of_floats("copysign", x, y)


def equal(a: ExprLike, b: ExprLike) -> Expr:
    """Whether `a` and `b` are the same value, as ``a == b`` says."""
    return binary("==", a, b)


def not_equal(a: ExprLike, b: ExprLike) -> Expr:
    """Whether `a` and `b` are different values, as ``a != b`` says."""
    return binary("!=", a, b)


def floordiv(a: ExprLike, b: ExprLike) -> Expr:
    """``a // b``, of integers.

    >>> te.compute((8, 4), lambda i, j: X[te.floordiv(i, 2), j])
    Tensor('compute', (8, 4), 'float32')
    """
    return binary("//", a, b)


def floormod(a: ExprLike, b: ExprLike) -> Expr:
    """``a % b``, of integers.

    >>> te.compute((8, 4), lambda i, j: X[te.floormod(i, 2), j])
    Tensor('compute', (8, 4), 'float32')
    """
    return binary("%", a, b)


def truncdiv(a: ExprLike, b: ExprLike) -> Expr:
    """`a` divided by `b`, of integers, rounded towards zero as in C.

    Raises TypeError for what is no integer, ZeroDivisionError for 0.

    >>> te.compute((8,), lambda i: te.truncdiv(i - 4, 2), name="B")
    Tensor('B', (8,), 'int32')
    """
    return _truncated("//", a, b)


def truncmod(a: ExprLike, b: ExprLike) -> Expr:
    """What `truncdiv` leaves of `a`, with the sign of `a`; `fmod` of floats.

    >>> te.compute((8,), lambda i: te.truncmod(i - 4, 3), name="B")
    Tensor('B', (8,), 'int32')
    """
    one, other = meet(a, b)
    return fmod(one, other) if dtypes.is_float(one.dtype) else _truncated("%", one, other)


def _truncated(op: str, a: ExprLike, b: ExprLike) -> Expr:
    one, other = meet(a, b)
    binary("//", one, other)  # which refuses what is no integer, and 0
    axes = [v for v in (*free_vars(one), *free_vars(other)) if isinstance(v, Axis)]
    dom: dict[Var, tuple[int, int]] = {
        v: up_to(v.dom.min + v.dom.extent) for v in axes if prove(v.dom.min >= 0, {})
    }
    return truncated(op, one, other, dom)


def const(value: bool | int | float, dtype: str | None = None) -> Expr:
    """The constant `value`; without `dtype`, int32 of an integer and float32 of a float.

    Raises ValueError for an integer that `dtype` does not hold.

    >>> te.const(2).dtype, te.const(2.0).dtype
    ('int32', 'float32')
    """
    if dtype is None:
        return as_expr(value)
    number = plain_number(value)
    if dtypes.is_int(dtype) and not dtypes.fits(int(number), dtype):
        raise ValueError(f"{dtype} does not hold {number}")
    return const_of(number, dtype)
