"""Windows that move over height and width: what convolutions and pools share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.ir import Const, Expr
from workbench.te.tensor import Axis, Tensor
from workbench.te.topi.nn.pad import pad

Pair = int | Sequence[int]


def pair(what: str, value: Pair) -> tuple[int, int]:
    """A size for height and one for width; one number stands for both.

    Raises ValueError for another count and for a size below 1.
    """
    both = (value, value) if isinstance(value, int) else tuple(value)
    if len(both) != 2 or min(both) < 1:
        raise ValueError(f"{what} takes one or two numbers from 1, not {value}")
    return both


def pad_sizes(padding: Pair | str, kernel: tuple[int, int]) -> tuple[int, int, int, int]:
    """Top, left, bottom and right of `padding`: one number, two, four, "VALID" or "SAME".

    `kernel` are the sizes of the window with its gaps. Raises ValueError for anything else.
    """
    if padding == "VALID":
        padding = 0
    if padding == "SAME":  # an odd cell goes to the top and to the left, as in TVM
        height, width = (size - 1 for size in kernel)
        return (height + 1) // 2, (width + 1) // 2, height // 2, width // 2
    if isinstance(padding, str):
        raise ValueError(f"padding takes numbers, VALID or SAME, not {padding!r}")
    sizes = (padding,) * 2 if isinstance(padding, int) else tuple(padding)
    sizes = sizes * 2 if len(sizes) == 2 else sizes
    if len(sizes) != 4 or min(sizes) < 0:
        raise ValueError(f"padding takes 1, 2 or 4 numbers from 0, not {padding}")
    top, left, bottom, right = sizes
    return top, left, bottom, right


def positions(what: str, size: int, window: int, stride: int) -> int:
    """How many windows of `window` cells there are among `size`, each `stride` further on.

    Raises ValueError where there is none.
    """
    if window > size:
        raise ValueError(f"{what}: a window of {window} does not fit into {size} cells")
    return (size - window) // stride + 1


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows over the dimensions H and W of `padded`; `out` counts them in each."""

    padded: Tensor
    out: dict[str, int]
    strides: dict[str, int]
    dilations: dict[str, int]

    def cells(self, at: Mapping[str, Expr], taps: Mapping[str, Expr]) -> dict[str, Expr]:
        """The cell of each dimension under the taps of the window that `at` names."""
        return {d: cell(at[d], self.strides[d], taps[d], self.dilations[d]) for d in "HW"}


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
    strides, dilations = pair("stride", how[0]), pair("dilation", how[2])
    counts = [range_of(taps[d]) for d in "HW"]
    sizes = [(n - 1) * gap + 1 for n, gap in zip(counts, dilations, strict=True)]
    top, left, bottom, right = pad_sizes(how[1], (sizes[0], sizes[1]))
    before, after = {"H": top, "W": left}, {"H": bottom, "W": right}
    padded = pad(
        data, [before.get(d, 0) for d in layout], [after.get(d, 0) for d in layout], name=pad_name
    )
    out = {
        d: positions(name, padded.shape[layout.index(d)], size, stride)
        for d, size, stride in zip("HW", sizes, strides, strict=True)
    }
    steps = [dict(zip("HW", both, strict=True)) for both in (strides, dilations)]
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
