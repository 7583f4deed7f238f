"""Arithmetic of two tensors, each stretched to the shape of both."""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest

from workbench.ir import Expr, ExprLike, binary
from workbench.te import functions
from workbench.te.tensor import Axis, Tensor, compute

Operand = Tensor | ExprLike


def broadcast_shape(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of both: sizes are paired from the last, and 1 fits any.

    Raises ValueError for sizes that do not fit.
    """
    shape = []
    for x, y in zip_longest(reversed(a), reversed(b), fillvalue=1):
        if x != y and 1 not in (x, y):
            raise ValueError(f"{name}: shapes {a} and {b} do not fit: {x} is not {y}")
        shape.append(max(x, y))
    return tuple(reversed(shape))


def _element(operand: Operand, at: tuple[Axis, ...], shape: tuple[int, ...]) -> ExprLike:
    if not isinstance(operand, Tensor):
        return operand
    pairs = zip(operand.shape, shape[len(shape) - operand.ndim :], strict=True)
    stretched = [own != size for own, size in pairs]
    own = at[len(at) - operand.ndim :]
    return operand[tuple(0 if one else i for i, one in zip(own, stretched, strict=True))]


def _joined(
    name: str, combine: Callable[[ExprLike, ExprLike], Expr], lhs: Operand, rhs: Operand
) -> Tensor:
    shapes = [x.shape if isinstance(x, Tensor) else () for x in (lhs, rhs)]
    if not isinstance(lhs, Tensor) and not isinstance(rhs, Tensor):
        raise TypeError(f"topi.{name} takes at least one tensor")
    shape = broadcast_shape(f"topi.{name}", *shapes)
    return compute(
        shape,
        lambda *at: combine(_element(lhs, at, shape), _element(rhs, at, shape)),
        name=f"T_{name}",
        tag="broadcast",
        varargs_names=[f"ax{k}" for k in range(len(shape))],
    )


def _operator(name: str, op: str, lhs: Operand, rhs: Operand) -> Tensor:
    return _joined(name, lambda a, b: binary(op, a, b), lhs, rhs)


def add(lhs: Operand, rhs: Operand) -> Tensor:
    """``lhs + rhs``."""
    return _operator("add", "+", lhs, rhs)


def subtract(lhs: Operand, rhs: Operand) -> Tensor:
    """``lhs - rhs``."""
    return _operator("subtract", "-", lhs, rhs)


def multiply(lhs: Operand, rhs: Operand) -> Tensor:
    """``lhs * rhs``."""
    return _operator("multiply", "*", lhs, rhs)


def divide(lhs: Operand, rhs: Operand) -> Tensor:
    """``lhs / rhs``, of floats."""
    return _operator("divide", "/", lhs, rhs)


def maximum(lhs: Operand, rhs: Operand) -> Tensor:
    """The larger of the two."""
    return _operator("maximum", "max", lhs, rhs)


def minimum(lhs: Operand, rhs: Operand) -> Tensor:
    """The smaller of the two."""
    return _operator("minimum", "min", lhs, rhs)


def power(lhs: Operand, rhs: Operand) -> Tensor:
    """`lhs` to the power of `rhs`."""
    return _joined("power", functions.power, lhs, rhs)


def greater(lhs: Operand, rhs: Operand) -> Tensor:
    """Whether ``lhs > rhs``."""
    return _operator("greater", ">", lhs, rhs)


def greater_equal(lhs: Operand, rhs: Operand) -> Tensor:
    """Whether ``lhs >= rhs``."""
    return _operator("greater_equal", ">=", lhs, rhs)


def less(lhs: Operand, rhs: Operand) -> Tensor:
    """Whether ``lhs < rhs``."""
    return _operator("less", "<", lhs, rhs)


def less_equal(lhs: Operand, rhs: Operand) -> Tensor:
    """Whether ``lhs <= rhs``."""
    return _operator("less_equal", "<=", lhs, rhs)


def equal(lhs: Operand, rhs: Operand) -> Tensor:
    """Whether the two are the same value."""
    return _operator("equal", "==", lhs, rhs)


def not_equal(lhs: Operand, rhs: Operand) -> Tensor:
    """Whether the two are different values."""
    return _operator("not_equal", "!=", lhs, rhs)
