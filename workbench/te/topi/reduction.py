"""Sums, products, largest and smallest over dimensions of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from workbench.ir import Expr, Select, binary, flat_index
from workbench.te.reduce import comm_reducer, identity, reduced
from workbench.te.tensor import Axis, Tensor, compute, reduce_axis

Dimensions = int | Sequence[int] | None


def dimensions(name: str, ndim: int, axis: Dimensions) -> tuple[int, ...]:
    """The dimensions that `axis` names, in their order; all for None, negative from the last.

    Raises ValueError for one that the tensor does not have, and for one named twice.
    """
    named = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    dims = sorted(one + ndim if one < 0 else one for one in named)
    outside = dims and (dims[0] < 0 or dims[-1] >= ndim)
    if outside or len(set(dims)) < len(dims):
        raise ValueError(f"{name}: axis {axis} does not name different ones of {ndim} dimensions")
    return tuple(dims)


def _reduce(
    name: str,
    op: Literal["+", "*", "max", "min", "and", "or"],
    data: Tensor,
    axis: Dimensions,
    keepdims: bool,
) -> Tensor:
    axes, kept = _axes_of(name, data, axis, keepdims)

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


def _axes_of(
    name: str, data: Tensor, axis: Dimensions, keepdims: bool
) -> tuple[dict[int, Axis], list[int]]:
    """The axes to go over, by dimension, and the dimensions of the result."""
    over = dimensions(f"topi.{name}", data.ndim, axis)
    if not over:
        raise ValueError(f"topi.{name}: there is no dimension to go over")
    axes = {d: reduce_axis((0, data.shape[d]), f"k{d}") for d in over}
    return axes, [d for d in range(data.ndim) if keepdims or d not in axes]


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


def argmax(
    data: Tensor, axis: Dimensions = None, keepdims: bool = False, select_last_index: bool = False
) -> Tensor:
    """Where the largest is over the dimensions `axis`; in rows of all of them where several are.

    Of equal ones it is the first, or the last if `select_last_index`.
    """
    return _place("argmax", ">", data, axis, keepdims, select_last_index)


def argmin(
    data: Tensor, axis: Dimensions = None, keepdims: bool = False, select_last_index: bool = False
) -> Tensor:
    """Where the smallest is over the dimensions `axis`; in rows of all of them where several are.

    Of equal ones it is the first, or the last if `select_last_index`.
    """
    return _place("argmin", "<", data, axis, keepdims, select_last_index)


def _place(
    name: str,
    wins: Literal["<", ">"],
    data: Tensor,
    axis: Dimensions,
    keepdims: bool,
    last: bool,
) -> Tensor:
    axes, kept = _axes_of(name, data, axis, keepdims)

    def combined(a: Sequence[Expr], b: Sequence[Expr]) -> tuple[Expr, Expr]:
        better = binary(wins, a[1], b[1])
        nearer = binary(">" if last else "<", a[0], b[0])
        stays = binary("or", better, binary("and", binary("==", a[1], b[1]), nearer))
        return Select(stays, a[0], b[0]), Select(better, a[1], b[1])

    def start(_: str, dtype: str) -> tuple[int, Expr]:
        return -1, identity("max" if wins == ">" else "min", dtype)

    reduced = comm_reducer(combined, start, name)

    def element(*at: Axis) -> object:
        own = {**dict(zip(kept, at, strict=True)), **axes}
        value = data[tuple(own[d] for d in range(data.ndim))]
        place = flat_index(axes.values(), [data.shape[d] for d in axes], "int32")
        return reduced((place, value), tuple(axes.values()))

    shape = tuple(1 if d in axes else data.shape[d] for d in kept)
    names = [f"ax{k}" for k in range(len(kept))]
    both = compute(shape, element, name=f"{data.op.name}_red_temp", varargs_names=names)
    return compute(
        shape, lambda *at: both[0][at], name=f"{data.op.name}_red", tag="comm_reduce_idx",
        varargs_names=names,
    )  # fmt: skip
