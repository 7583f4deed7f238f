"""sum, max and min over reduction axes."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.ir import Const, Expr, const, dtypes
from workbench.te.tensor import Axis, Reduction

# The largest finite value of each type (IEEE 754; bfloat16: float32's exponent, 7 bits of fraction)
_LARGEST = {
    "float16": 65504.0,
    "bfloat16": (2 - 2**-7) * 2.0**127,
    "float32": (2 - 2**-23) * 2.0**127,
    "float64": (2 - 2**-52) * 2.0**1023,
}


def sum(expr: Expr, axis: Axis | Sequence[Axis]) -> Reduction:
    """The sum of `expr` over `axis`."""
    return Reduction("+", expr, _axes(axis))


def max(expr: Expr, axis: Axis | Sequence[Axis]) -> Reduction:
    """The largest `expr` over `axis`."""
    return Reduction("max", expr, _axes(axis))


def min(expr: Expr, axis: Axis | Sequence[Axis]) -> Reduction:
    """The smallest `expr` over `axis`."""
    return Reduction("min", expr, _axes(axis))


def identity(op: str, dtype: str) -> Const:
    """What combining starts from: 0, or the value of `dtype` that loses against every other."""
    if op == "+":
        return const(0, dtype)
    if dtypes.is_float(dtype):
        return const(_LARGEST[dtype] * (-1 if op == "max" else 1), dtype)
    low, high = dtypes.limits(dtype)
    return const(low if op == "max" else high, dtype)


def _axes(axis: Axis | Sequence[Axis]) -> tuple[Axis, ...]:
    return (axis,) if isinstance(axis, Axis) else tuple(axis)
