"""softmax and its logarithm."""

from __future__ import annotations

from workbench.ir import Expr
from workbench.te.functions import exp, log
from workbench.te.reduce import max, sum
from workbench.te.tensor import Axis, Tensor, compute, reduce_axis
from workbench.te.topi.reduction import dimensions


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """``exp(x)`` divided by its sum along dimension `axis`; the largest is taken off before.

    Raises ValueError for a dimension that the tensor does not have.
    """
    (along,) = dimensions("softmax", x.ndim, axis)
    k = reduce_axis((0, x.shape[along]), "k")

    def others(at: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return (*at[:along], *at[along + 1 :])

    def line(at: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return (*at[:along], k, *at[along:])

    rest = (*x.shape[:along], *x.shape[along + 1 :])
    largest = compute(rest, lambda *at: max(x[line(at)], k), name="T_softmax_maxelem")
    exps = compute(x.shape, lambda *at: exp(x[at] - largest[others(at)]), name="T_softmax_exp")
    sums = compute(rest, lambda *at: sum(exps[line(at)], k), name="T_softmax_expsum")
    return compute(
        x.shape,
        lambda *at: exps[at] / sums[others(at)],
        name="T_softmax_norm",
        tag="softmax_output",
        attrs={"axis": along},
    )


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """The logarithm of `softmax`, along the last dimension of a matrix.

    Raises ValueError for another tensor or dimension, as TVM does.
    """
    if x.ndim != 2 or axis not in (-1, 1):
        raise ValueError(
            f"log_softmax goes along the last of two dimensions, not {axis} of {x.ndim}"
        )
    rows, columns = x.shape
    k = reduce_axis((0, columns), "k")
    largest = compute((rows,), lambda i0: max(x[i0, k], k), name="T_softmax_maxelem")

    def shifted(i0: Axis, i1: Axis) -> Expr:
        return x[i0, i1] - largest[i0]

    sums = compute((rows,), lambda i0: sum(exp(shifted(i0, k)), k))
    return compute(
        x.shape,
        lambda i0, i1: shifted(i0, i1) - log(sums[i0]),
        tag="log_softmax_output",
        attrs={"axis": 1},
    )
