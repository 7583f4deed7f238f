"""layer_norm: values brought to mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from workbench.ir import Expr
from workbench.te.functions import rsqrt
from workbench.te.reduce import sum
from workbench.te.tensor import Axis, Tensor, compute, reduce_axis
from workbench.te.topi.reduction import Dimensions, dimensions


def layer_norm(
    data: Tensor, gamma: Tensor, beta: Tensor | None, axis: Dimensions, epsilon: float = 1e-5
) -> Tensor:
    """`data` less its mean, divided by its deviation over `axis`, times `gamma`, plus `beta`.

    `gamma` and `beta` have the sizes of those dimensions, and all are float32 or float64.
    Raises ValueError and TypeError for others.
    """
    over = dimensions("layer_norm", data.ndim, axis)
    sizes = tuple(data.shape[d] for d in over)
    for weight in (gamma, beta):
        if weight is not None and weight.shape != sizes:
            raise ValueError(f"layer_norm: {weight.name} has shape {weight.shape}, not {sizes}")
    if data.dtype not in ("float32", "float64"):
        raise TypeError(f"layer_norm takes float32 or float64, not {data.dtype}; cast it before")
    kept = [d for d in range(data.ndim) if d not in over]
    rest = tuple(data.shape[d] for d in kept)
    axes = {d: reduce_axis((0, data.shape[d]), f"k{d}") for d in over}
    names = [f"ax{k}" for k in range(data.ndim)]

    def taken(at: tuple[Axis, ...]) -> Expr:
        own = {**dict(zip(kept, at, strict=True)), **axes}
        return data[tuple(own[d] for d in range(data.ndim))]

    def made(name: str, shape: tuple[int, ...], element: Callable[..., Expr]) -> Tensor:
        return compute(shape, element, name=name, varargs_names=names[: len(shape)])

    every, count = list(axes.values()), float(prod(sizes))
    total = made(f"{data.op.name}_sum", rest, lambda *at: sum(taken(at), every))
    mean = made(f"{data.op.name}_mean", rest, lambda *at: total[at] / count)
    spread = made(
        f"{data.op.name}_var_sum",
        rest,
        lambda *at: sum((taken(at) - mean[at]) * (taken(at) - mean[at]), every),
    )

    def normal(*at: Axis) -> Expr:
        outer, inner = tuple(at[d] for d in kept), tuple(at[d] for d in over)
        scale = rsqrt(spread[outer] / count + epsilon)
        scaled = (data[at] - mean[outer]) * scale * gamma[inner]
        return scaled if beta is None else scaled + beta[inner]

    return made("T_layer_norm", data.shape, normal)
