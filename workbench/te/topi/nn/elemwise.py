"""relu and its kind."""

from __future__ import annotations

from workbench.ir import binary
from workbench.te.functions import select
from workbench.te.tensor import Tensor, elementwise


def relu(x: Tensor) -> Tensor:
    """The larger of `x` and 0."""
    return elementwise(x, lambda e: binary("max", e, 0))


def leaky_relu(x: Tensor, alpha: float) -> Tensor:
    """`x` where it is above 0, else `alpha` times it."""
    return elementwise(x, lambda e: select(e > 0, e, e * alpha))
