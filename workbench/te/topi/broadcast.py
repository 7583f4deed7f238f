"""Arithmetic of two tensors, each stretched to the shape of both."""

from __future__ import annotations

from workbench.te import functions
from workbench.te.tensor import Operand, Tensor, joined, stretched


def add(lhs: Operand, rhs: Operand) -> Tensor:
    """``lhs + rhs``."""
    return stretched("add", "+", lhs, rhs)


def subtract(lhs: Operand, rhs: Operand) -> Tensor:
    """``lhs - rhs``."""
    return stretched("subtract", "-", lhs, rhs)


def multiply(lhs: Operand, rhs: Operand) -> Tensor:
    """``lhs * rhs``."""
    return stretched("multiply", "*", lhs, rhs)


def divide(lhs: Operand, rhs: Operand) -> Tensor:
    """``lhs / rhs``, of floats."""
    return stretched("divide", "/", lhs, rhs)


def maximum(lhs: Operand, rhs: Operand) -> Tensor:
    """The larger of the two."""
    return stretched("maximum", "max", lhs, rhs)


def minimum(lhs: Operand, rhs: Operand) -> Tensor:
    """The smaller of the two."""
    return stretched("minimum", "min", lhs, rhs)


def power(lhs: Operand, rhs: Operand) -> Tensor:
    """`lhs` to the power of `rhs`."""
    return joined("power", functions.power, lhs, rhs)


def greater(lhs: Operand, rhs: Operand) -> Tensor:
    """Whether ``lhs > rhs``."""
    return stretched("greater", ">", lhs, rhs)


def greater_equal(lhs: Operand, rhs: Operand) -> Tensor:
    """Whether ``lhs >= rhs``."""
    return stretched("greater_equal", ">=", lhs, rhs)


def less(lhs: Operand, rhs: Operand) -> Tensor:
    """Whether ``lhs < rhs``."""
    return stretched("less", "<", lhs, rhs)


def less_equal(lhs: Operand, rhs: Operand) -> Tensor:
    """Whether ``lhs <= rhs``."""
    return stretched("less_equal", "<=", lhs, rhs)


def equal(lhs: Operand, rhs: Operand) -> Tensor:
    """Whether the two are the same value."""
    return stretched("equal", "==", lhs, rhs)


def not_equal(lhs: Operand, rhs: Operand) -> Tensor:
    """Whether the two are different values."""
    return stretched("not_equal", "!=", lhs, rhs)
