"""Convolutions in which each channel has filters of its own."""

from __future__ import annotations

from workbench import ir
from workbench.ir import Expr
from workbench.te.reduce import sum
from workbench.te.tensor import Axis, Tensor, compute, reduce_axis
from workbench.te.topi.nn.windows import Pair, windows

_AXES = {"N": "b", "C": "c", "H": "i", "W": "j"}


def depthwise_conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Pair,
    padding: Pair | str,
    dilation: Pair,
    out_dtype: str | None = None,
) -> Tensor:
    """Data (batch, channel, height, width), filter (channel, multiplier, height, width).

    Result channel c is made of channel ``c // multiplier``. Raises ValueError for shapes that do
    not fit.
    """
    return _depthwise(Input, Filter, (stride, padding, dilation), "NCHW", "CMHW", out_dtype)


def depthwise_conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Pair,
    padding: Pair | str,
    dilation: Pair,
    kernel_layout: str = "HWOI",
    out_dtype: str | None = None,
) -> Tensor:
    """Data (batch, height, width, channel), filter (height, width, channel, multiplier).

    With `kernel_layout` "HWIO" the filter's last two are the other way round. Raises ValueError
    for another layout and for shapes that do not fit.
    """
    if kernel_layout not in ("HWOI", "HWIO"):
        raise ValueError(f"depthwise_conv2d_nhwc takes HWOI or HWIO, not {kernel_layout!r}")
    filters = "HWCM" if kernel_layout == "HWOI" else "HWMC"
    return _depthwise(Input, Filter, (stride, padding, dilation), "NHWC", filters, out_dtype)


def _depthwise(
    data: Tensor,
    weight: Tensor,
    how: tuple[Pair, Pair | str, Pair],
    layout: str,
    kernel_layout: str,
    out_dtype: str | None,
) -> Tensor:
    name = f"depthwise_conv2d_{layout.lower()}"
    if data.ndim != 4 or weight.ndim != 4:
        raise ValueError(f"{name} takes four dimensions, not shapes {data.shape}, {weight.shape}")
    size = dict(zip(layout, data.shape, strict=True))
    filters = dict(zip(kernel_layout, weight.shape, strict=True))
    if size["C"] != filters["C"]:
        raise ValueError(f"{name}: data has {size['C']} channels, the filter {filters['C']}")
    taps = {"H": reduce_axis((0, filters["H"]), "di"), "W": reduce_axis((0, filters["W"]), "dj")}
    over = windows(name, data, layout, taps, how, "PaddedInput")
    out = {"N": size["N"], "C": size["C"] * filters["M"], **over.out}
    dtype = out_dtype or data.dtype

    def element(*indices: Axis) -> Expr:
        at = dict(zip(layout, indices, strict=True))
        channel = {"C": at["C"] // filters["M"], "M": at["C"] % filters["M"]}
        read = {"N": at["N"], "C": channel["C"], **over.cells(at, taps)}
        value = over.padded[tuple(read[d] for d in layout)]
        factor = weight[tuple((taps | channel)[d] for d in kernel_layout)]
        return sum(ir.cast(dtype, value) * ir.cast(dtype, factor), list(taps.values()))

    return compute(
        tuple(out[d] for d in layout),
        element,
        name="DepthwiseConv2d",
        tag=name,
        varargs_names=[_AXES[d] for d in layout],
    )
