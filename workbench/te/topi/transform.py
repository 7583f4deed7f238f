"""Tensors in another order or shape, and the product of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.te.reduce import sum
from workbench.te.tensor import Tensor, compute, reduce_axis
from workbench.te.topi.reduction import Dimensions, dimensions


def _ax(count: int) -> list[str]:
    return [f"ax{k}" for k in range(count)]


def transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """`a` with dimension `axes[k]` as its dimension k; with all turned round for None.

    Raises ValueError where `axes` do not name every dimension once.
    """
    order = list(reversed(range(a.ndim))) if axes is None else list(axes)
    order = [d + a.ndim if d < 0 else d for d in order]
    if sorted(order) != list(range(a.ndim)):
        raise ValueError(
            f"topi.transpose: axes {axes} do not name each of {a.ndim} dimensions once"
        )
    return compute(
        tuple(a.shape[d] for d in order),
        lambda *at: a[tuple(at[order.index(d)] for d in range(a.ndim))],
        name="T_transpose",
        tag="injective",
        varargs_names=_ax(a.ndim),
    )


def expand_dims(a: Tensor, axis: int, num_newaxis: int = 1) -> Tensor:
    """`a` with `num_newaxis` dimensions of size 1 ahead of dimension `axis`.

    Raises ValueError for a place that the result does not have.
    """
    place = axis + a.ndim + 1 if axis < 0 else axis
    if not 0 <= place <= a.ndim or num_newaxis < 0:
        raise ValueError(f"topi.expand_dims: {axis} is no place among {a.ndim} dimensions")
    return compute(
        (*a.shape[:place], *[1] * num_newaxis, *a.shape[place:]),
        lambda *at: a[(*at[:place], *at[place + num_newaxis :])],
        name="T_expand_dims",
        tag="broadcast",
        varargs_names=_ax(a.ndim + num_newaxis),
    )


def squeeze(a: Tensor, axis: Dimensions = None) -> Tensor:
    """`a` without the dimensions `axis`, all of size 1; without all such for None.

    Raises ValueError for a dimension of another size.
    """
    ones = [d for d, size in enumerate(a.shape) if size == 1]
    gone = ones if axis is None else list(dimensions("topi.squeeze", a.ndim, axis))
    if not set(gone) <= set(ones):
        raise ValueError(f"topi.squeeze: of {a.shape}, axis {axis} names more than sizes of 1")
    kept = [d for d in range(a.ndim) if d not in gone]
    return compute(
        tuple(a.shape[d] for d in kept),
        lambda *at: a[tuple(at[kept.index(d)] if d in kept else 0 for d in range(a.ndim))],
        name="T_squeeze",
        tag="injective",
        varargs_names=_ax(len(kept)),
    )


def matmul(a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False) -> Tensor:
    """The product of two matrices, each transposed before where its flag says so.

    Raises ValueError for what are no matrices or do not fit.
    """
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError(f"topi.matmul takes two matrices, not shapes {a.shape} and {b.shape}")
    (m, inner), (other, n) = (
        x.shape[::-1] if flag else x.shape for x, flag in ((a, transp_a), (b, transp_b))
    )
    if inner != other:
        raise ValueError(f"topi.matmul: the inner sizes differ: {inner} and {other}")
    k = reduce_axis((0, inner), "k")
    return compute(
        (m, n),
        lambda ax0, ax1: sum(
            (a[k, ax0] if transp_a else a[ax0, k]) * (b[ax1, k] if transp_b else b[k, ax1]), k
        ),
        name="T_matmul",
        tag="matmul",
    )
