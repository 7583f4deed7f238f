"""Windows that move over height and width, or width alone: what convolutions and pools share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.ir import Const, Expr
from workbench.te.tensor import Axis, Tensor
from workbench.te.topi.nn.pad import pad

Pair = int | Sequence[int]


def pair(what: str, value: Pair, count: int = 2) -> tuple[int, ...]:
    """A size for each of `count` dimensions; one number stands for all.

    Raises ValueError for another count and for a size below 1.
    """
    each = (value,) * count if isinstance(value, int) else tuple(value)
    if len(each) != count or min(each) < 1:
        numbers = "one or two numbers" if count == 2 else "one number"
        raise ValueError(f"{what} takes {numbers} from 1, not {value}")
    return each


def pad_sizes(padding: Pair | str, kernel: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of `padding` ahead of each dimension, then behind each.

    It is one number, one for each dimension, one for each end, "VALID" or "SAME". `kernel` are the
    sizes of the window with its gaps. Raises ValueError for anything else.
    """
    count = len(kernel)
    if padding == "VALID":
        padding = 0
    if padding == "SAME":  # an odd cell goes to the top and to the left, as in TVM
        return tuple(n // 2 for n in kernel) + tuple((n - 1) // 2 for n in kernel)
    if isinstance(padding, str):
        raise ValueError(f"padding takes numbers, VALID or SAME, not {padding!r}")
    sizes = (padding,) * count if isinstance(padding, int) else tuple(padding)
    sizes = sizes * 2 if len(sizes) == count else sizes
    if len(sizes) != 2 * count or min(sizes) < 0:
        counts = " or ".join(map(str, [1, 2, 4][: count + 1])).replace(" or ", ", ", count - 1)
        raise ValueError(f"padding takes {counts} numbers from 0, not {padding}")
    return sizes


def positions(what: str, size: int, window: int, stride: int) -> int:
    """How many windows of `window` cells there are among `size`, each `stride` further on.

    Raises ValueError where there is none.
    """
    if window > size:
        raise ValueError(f"{what}: a window of {window} does not fit into {size} cells")
    return (size - window) // stride + 1


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows over some dimensions of `padded`; `out` counts them in each."""

    padded: Tensor
    out: dict[str, int]
    strides: dict[str, int]
    dilations: dict[str, int]

    def cells(self, at: Mapping[str, Expr], taps: Mapping[str, Expr]) -> dict[str, Expr]:
        """The cell of each dimension under the taps of the window that `at` names."""
        return {d: cell(at[d], self.strides[d], taps[d], self.dilations[d]) for d in self.out}


def windows(
    name: str,
    data: Tensor,
    layout: str,
    taps: Mapping[str, Axis],
    how: tuple[Pair, Pair | str, Pair],
    pad_name: str,
) -> Windows:
    """The windows of `taps` over `data`, by `how`: stride, padding and dilation.

    Raises ValueError where those are none, or where no window fits.
    """
    dims = [d for d in layout if d in "HW"]
    strides = pair("stride", how[0], len(dims))
    dilations = pair("dilation", how[2], len(dims))
    counts = [range_of(taps[d]) for d in dims]
    sizes = tuple((n - 1) * gap + 1 for n, gap in zip(counts, dilations, strict=True))
    ends = pad_sizes(how[1], sizes)
    before = dict(zip(dims, ends, strict=False))
    after = dict(zip(dims, ends[len(dims) :], strict=True))
    padded = pad(
        data, [before.get(d, 0) for d in layout], [after.get(d, 0) for d in layout], name=pad_name
    )
    out = {
        d: positions(name, padded.shape[layout.index(d)], size, stride)
        for d, size, stride in zip(dims, sizes, strides, strict=True)
    }
    steps = [dict(zip(dims, each, strict=True)) for each in (strides, dilations)]
    return Windows(padded, out, steps[0], steps[1])


def range_of(axis: Axis) -> int:
    """How many values an axis takes."""
    assert isinstance(axis.dom.extent, Const)
    return int(axis.dom.extent.value)


def cell(at: Expr, stride: int, tap: Expr, dilation: int) -> Expr:
    """The cell under tap number `tap` of window number `at`; the larger step first, as TVM."""
    if dilation > stride:
        return tap * dilation + at * stride
    return at * stride + tap * dilation
