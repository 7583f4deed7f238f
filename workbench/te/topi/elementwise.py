"""Functions of each element of one tensor."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.ir import Expr, binary
from workbench.te import functions
from workbench.te.tensor import Tensor, compute, elementwise


def identity(x: Tensor) -> Tensor:
    """A copy of `x`."""
    return elementwise(x, lambda e: e)


def elemwise_sum(xs: Sequence[Tensor]) -> Tensor:
    """The sum of tensors of one shape, element by element.

    Raises ValueError where there is none.
    """
    if not xs:
        raise ValueError("topi.elemwise_sum: there is no tensor to add up")

    def total(*at: Expr) -> Expr:
        value: Expr = xs[0][at]
        for x in xs[1:]:
            value = value + x[at]
        return value

    axes = [f"ax{k}" for k in range(len(xs[0].shape))]
    return compute(xs[0].shape, total, name="T_elemwise_sum", tag="elemwise", varargs_names=axes)


def negative(x: Tensor) -> Tensor:
    """``-x``."""
    return elementwise(x, lambda e: -e)


def cast(x: Tensor, dtype: str) -> Tensor:
    """`x` converted to `dtype`."""
    return x.astype(dtype)


def clip(x: Tensor, a_min: float, a_max: float) -> Tensor:
    """`x`, where it lies from `a_min` to `a_max`; else the nearer of the two."""
    return elementwise(x, lambda e: binary("max", binary("min", e, a_max), a_min))


def exp(x: Tensor) -> Tensor:
    """e to the power of `x`."""
    return elementwise(x, functions.exp)


def log(x: Tensor) -> Tensor:
    """The natural logarithm of `x`."""
    return elementwise(x, functions.log)


def sqrt(x: Tensor) -> Tensor:
    """The square root of `x`."""
    return elementwise(x, functions.sqrt)


def rsqrt(x: Tensor) -> Tensor:
    """1 divided by the square root of `x`."""
    return elementwise(x, functions.rsqrt)


def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent of `x`."""
    return elementwise(x, functions.tanh)


def sigmoid(x: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``."""
    return elementwise(x, functions.sigmoid)


def erf(x: Tensor) -> Tensor:
    """The error function of `x`."""
    return elementwise(x, functions.erf)


def sin(x: Tensor) -> Tensor:
    """The sine of `x`."""
    return elementwise(x, functions.sin)


def cos(x: Tensor) -> Tensor:
    """The cosine of `x`."""
    return elementwise(x, functions.cos)


def floor(x: Tensor) -> Tensor:
    """The largest whole number that is not above `x`."""
    return elementwise(x, functions.floor)


def ceil(x: Tensor) -> Tensor:
    """The smallest whole number that is not below `x`."""
    return elementwise(x, functions.ceil)


def abs(x: Tensor) -> Tensor:
    """`x` without its sign."""
    return elementwise(x, functions.abs)
