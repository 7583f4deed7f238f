"""Sums, products, largest and smallest over dimensions of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NoReturn

from workbench.te.reduce import reduced
from workbench.te.tensor import Axis, Tensor, compute, reduce_axis

Dimensions = int | Sequence[int] | None


def dimensions(name: str, ndim: int, axis: Dimensions) -> tuple[int, ...]:
    """The dimensions that `axis` names, in their order; all for None, negative from the last.

    Raises ValueError for one that the tensor does not have, and for one named twice.
    """
    named = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    found = sorted(one + ndim if one < 0 else one for one in named)
    outside = found and (found[0] < 0 or found[-1] >= ndim)
    if outside or len(set(found)) < len(found):
        raise ValueError(f"{name}: axis {axis} does not name different ones of {ndim} dimensions")
    return tuple(found)


def _reduce(
    name: str,
    op: Literal["+", "*", "max", "min", "and", "or"],
    data: Tensor,
    axis: Dimensions,
    keepdims: bool,
) -> Tensor:
    over = dimensions(f"topi.{name}", data.ndim, axis)
    if not over:
        raise ValueError(f"topi.{name}: there is no dimension to go over")
    axes = {d: reduce_axis((0, data.shape[d]), f"k{d}") for d in over}
    kept = [d for d in range(data.ndim) if keepdims or d not in axes]

    def element(*at: Axis) -> object:
        own = {**dict(zip(kept, at, strict=True)), **axes}
        value = data[tuple(own[d] for d in range(data.ndim))]
        return reduced(op, value, tuple(axes.values()))

    return compute(
        tuple(1 if d in axes else data.shape[d] for d in kept),
        element,
        name=f"{data.op.name}_red",
        tag="comm_reduce",
        varargs_names=[f"ax{k}" for k in range(len(kept))],
    )


def sum(data: Tensor, axis: Dimensions = None, keepdims: bool = False) -> Tensor:
    """The sum over the dimensions `axis`, over all for None."""
    return _reduce("sum", "+", data, axis, keepdims)


def prod(data: Tensor, axis: Dimensions = None, keepdims: bool = False) -> Tensor:
    """The product over the dimensions `axis`, over all for None."""
    return _reduce("prod", "*", data, axis, keepdims)


def max(data: Tensor, axis: Dimensions = None, keepdims: bool = False) -> Tensor:
    """The largest over the dimensions `axis`, over all for None."""
    return _reduce("max", "max", data, axis, keepdims)


def min(data: Tensor, axis: Dimensions = None, keepdims: bool = False) -> Tensor:
    """The smallest over the dimensions `axis`, over all for None."""
    return _reduce("min", "min", data, axis, keepdims)


def all(data: Tensor, axis: Dimensions = None, keepdims: bool = False) -> Tensor:
    """Whether all hold over the dimensions `axis`, over all for None."""
    return _reduce("all", "and", data, axis, keepdims)


def any(data: Tensor, axis: Dimensions = None, keepdims: bool = False) -> Tensor:
    """Whether one holds over the dimensions `axis`, over all for None."""
    return _reduce("any", "or", data, axis, keepdims)


def argmax(data: Tensor, axis: Dimensions = None, keepdims: bool = False) -> NoReturn:
    """Not carried: it combines an index and a value at once."""
    _two_values("argmax", "max")


def argmin(data: Tensor, axis: Dimensions = None, keepdims: bool = False) -> NoReturn:
    """Not carried: it combines an index and a value at once."""
    _two_values("argmin", "min")


def _two_values(name: str, other: str) -> NoReturn:
    raise NotImplementedError(
        f"topi.{name} is not carried: it combines an index and a value at once; "
        f"topi.{other} gives the value, and a topi.min over the indices that have it the place"
    )
