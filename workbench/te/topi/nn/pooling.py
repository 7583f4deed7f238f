"""Pools: the largest or the mean of each window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workbench.ir import Expr, ExprLike, binary, cast, dtypes
from workbench.te.functions import all, if_then_else
from workbench.te.reduce import identity, max, sum
from workbench.te.tensor import Axis, Tensor, compute, reduce_axis
from workbench.te.topi.nn.windows import Pair, cell, pair, positions


@dataclass(frozen=True, slots=True)
class _Side:
    """How windows go over one dimension of `size` cells, `before` and `after` more around it.

    `further` cells behind those are there for windows that `ceil_mode` lets end outside.
    """

    size: int
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int
    further: int

    @property
    def count(self) -> int:
        """How many windows there are."""
        cells = self.before + self.size + self.after + self.further
        return positions("pool2d", cells, (self.kernel - 1) * self.dilation + 1, self.stride)

    def counted(self, at: Expr, padding: bool) -> Expr:
        """How many cells of window `at` lie inside: of the padded tensor with `padding`."""
        start = at * self.stride - self.before
        last = start + (self.kernel - 1) * self.dilation
        if padding:
            last = binary("min", last, self.size + self.after - 1)
        else:
            gone = binary("max", (self.dilation - 1 - start) // self.dilation, 0)
            start = start + gone * self.dilation
            last = binary("min", last, self.size - 1)
        return (last - start) // self.dilation + 1


def pool2d(
    data: Tensor,
    kernel: Pair,
    stride: Pair,
    dilation: Pair,
    padding: Sequence[int],
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Tensor:
    """The largest ("max") or the mean ("avg") of each window over height and width.

    `padding` is top, left, bottom and right. With `ceil_mode` a window that ends behind the padding
    counts, too. A mean divides by the cells of the window that lie inside the padded tensor, or,
    without `count_include_pad`, inside the tensor.

    Raises ValueError for another layout or pool and for windows that do not fit.
    """
    places = _places(data, layout, pool_type)
    if len(padding) != 4 or min(padding) < 0:
        raise ValueError(f"padding takes four numbers from 0, not {list(padding)}")
    sizes, steps, gaps = (
        pair(what, both)
        for what, both in (("kernel", kernel), ("stride", stride), ("dilation", dilation))
    )
    sides = {
        d: _Side(
            data.shape[d],
            sizes[k],
            steps[k],
            gaps[k],
            padding[k],
            padding[k + 2],
            steps[k] - 1 if ceil_mode else 0,
        )
        for k, d in enumerate(places)
    }
    padded = _padded(data, sides, pool_type)
    taps = {d: reduce_axis((0, side.kernel), f"rv{k}") for k, (d, side) in enumerate(sides.items())}
    shape = tuple(sides[d].count if d in sides else n for d, n in enumerate(data.shape))

    def window(*at: Axis) -> Expr:
        return padded[
            tuple(
                cell(i, sides[d].stride, taps[d], sides[d].dilation) if d in sides else i
                for d, i in enumerate(at)
            )
        ]

    def inside(*at: Axis) -> Expr:
        first, second = (side.counted(at[d], count_include_pad) for d, side in sides.items())
        cells = first * second
        return cast(data.dtype, cells if count_include_pad else binary("max", cells, 1))

    return _pool("pool", shape, window, list(taps.values()), pool_type, inside)


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """The largest ("max") or the mean ("avg") over all of height and width.

    Raises ValueError for another layout or pool.
    """
    places = _places(data, layout, pool_type)
    taps = {d: reduce_axis((0, data.shape[d]), f"rv{k}") for k, d in enumerate(places)}
    shape = tuple(1 if d in taps else n for d, n in enumerate(data.shape))

    def window(*at: Axis) -> Expr:
        return data[
            tuple(i * data.shape[d] + taps[d] if d in taps else i for d, i in enumerate(at))
        ]

    cells = data.shape[places[0]] * data.shape[places[1]]
    over = list(taps.values())
    return _pool("adaptive_pool", shape, window, over, pool_type, lambda *at: float(cells))


def _places(data: Tensor, layout: str, pool_type: str) -> tuple[int, int]:
    """The dimensions of height and width."""
    if pool_type not in ("max", "avg"):
        raise ValueError(f'a pool is "max" or "avg", not {pool_type!r}')
    if sorted(layout) != sorted("NCHW") or data.ndim != 4:
        raise ValueError(f"a pool takes N, C, H and W in some order, not {layout!r}: {data.shape}")
    if pool_type == "avg" and not dtypes.is_float(data.dtype):
        raise TypeError(f"a mean is of floats, not of {data.dtype}; cast them before")
    return layout.index("H"), layout.index("W")


def _padded(data: Tensor, sides: dict[int, _Side], pool_type: str) -> Tensor:
    """`data` with what changes no result around it; itself where nothing has to be."""
    ends = {d: (side.before, side.after + side.further) for d, side in sides.items()}
    if not any(map(any, ends.values())):
        return data
    value = identity("max" if pool_type == "max" else "+", data.dtype)

    def element(*at: Axis) -> Expr:
        conditions = []
        for d, (before, after) in ends.items():
            conditions += [at[d] >= before] if before else []
            conditions += [at[d] < data.shape[d] + before] if after else []
        indices = tuple(i - ends[d][0] if d in ends else i for d, i in enumerate(at))
        return if_then_else(all(*conditions), data[indices], value)

    shape = tuple(n + ends[d][0] + ends[d][1] if d in ends else n for d, n in enumerate(data.shape))
    return compute(shape, element, name="pad_temp", varargs_names=_names(data.ndim))


def _pool(
    name: str,
    shape: tuple[int, ...],
    window: Callable[..., Expr],
    taps: list[Axis],
    pool_type: str,
    cells: Callable[..., ExprLike],
) -> Tensor:
    attrs = {"schedule_rule": f"meta_schedule.{name}_{pool_type}"}
    names = _names(len(shape))
    if pool_type == "max":
        return compute(
            shape,
            lambda *at: max(window(*at), taps),
            name=f"{name}_max",
            attrs=attrs,
            varargs_names=names,
        )
    total = compute(
        shape, lambda *at: sum(window(*at), taps), name=f"{name}_sum", varargs_names=names
    )
    return compute(
        shape,
        lambda *at: total[at] / cells(*at),
        name=f"{name}_avg",
        attrs=attrs,
        varargs_names=names,
    )


def _names(count: int) -> list[str]:
    return [f"ax{k}" for k in range(count)]
