"""pad: a tensor with a constant around it."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.ir import Expr, number_like
from workbench.te.functions import all, if_then_else
from workbench.te.tensor import Axis, Tensor, compute


def pad(
    data: Tensor,
    pad_before: Sequence[int],
    pad_after: Sequence[int] | None = None,
    pad_value: float = 0.0,
    name: str = "PadInput",
) -> Tensor:
    """`data` with `pad_before` cells of `pad_value` ahead in each dimension, `pad_after` behind.

    Behind are as many as ahead where `pad_after` is left out.
    Raises ValueError for another number of sizes than the tensor has dimensions, or one below 0.
    """
    after = pad_after or pad_before
    for sizes in (pad_before, after):
        if len(sizes) != data.ndim or min(sizes, default=0) < 0:
            raise ValueError(f"pad: {list(sizes)} are not {data.ndim} sizes from 0")
    padded = list(zip(pad_before, after, strict=True))

    def element(*at: Axis) -> Expr:
        inside, indices = [], []
        for i, (before, behind), size in zip(at, padded, data.shape, strict=True):
            indices.append(i - before)
            if before or behind:
                inside += [i >= before, i < size + before]
        value = data[tuple(indices)]
        if not inside:
            return value
        return if_then_else(all(*inside), value, number_like(pad_value, data.dtype))

    shape = tuple(size + sum(ends) for size, ends in zip(data.shape, padded, strict=True))
    return compute(shape, element, name=name, tag="injective,pad")
