"""Convolutions over width."""

from __future__ import annotations

from workbench.te.tensor import Tensor
from workbench.te.topi.nn.conv2d import conv
from workbench.te.topi.nn.windows import Pair


def conv1d(
    data: Tensor,
    kernel: Tensor,
    strides: Pair = 1,
    padding: Pair | str = "VALID",
    dilation: Pair = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """The convolution of `data` with `kernel`, in the layout NCW or NWC.

    The filter's layout is OIW for NCW, else WIO. `padding` is one number, two (left, right),
    "VALID" or "SAME". Elements are converted to `out_dtype` before they are multiplied.

    Raises ValueError for another layout and for shapes that do not fit.
    """
    if data_layout not in ("NCW", "NWC"):
        raise ValueError(f"conv1d knows the layouts NCW, NWC, not {data_layout!r}")
    name = f"{'group_' if groups > 1 else ''}conv1d_{data_layout.lower()}"
    how = (strides, padding, dilation)
    return conv(name, data, kernel, how, data_layout, kernel_layout, out_dtype, groups)


def conv1d_ncw(
    data: Tensor,
    kernel: Tensor,
    strides: Pair = 1,
    padding: Pair | str = "VALID",
    dilation: Pair = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """`conv1d` of data (batch, channel, width) and a filter OIW."""
    return conv1d(data, kernel, strides, padding, dilation, 1, "NCW", "OIW", out_dtype)


def conv1d_nwc(
    data: Tensor,
    kernel: Tensor,
    strides: Pair = 1,
    padding: Pair | str = "VALID",
    dilation: Pair = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """`conv1d` of data (batch, width, channel) and a filter WIO."""
    return conv1d(data, kernel, strides, padding, dilation, 1, "NWC", "WIO", out_dtype)
