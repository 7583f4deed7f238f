"""Convolutions over height and width."""

from __future__ import annotations

from workbench import ir
from workbench.ir import Expr
from workbench.te.reduce import sum
from workbench.te.tensor import Axis, Tensor, compute, reduce_axis
from workbench.te.topi.nn.windows import Pair, windows

# By the layout of the data: the filter's, and the order of the sum's axes; names as TVM's.
_FILTERS = {"NCHW": "OIHW", "NHWC": "HWIO", "HWCN": "HWIO", "NCW": "OIW", "NWC": "WIO"}
_SUMS = {"NCHW": "CHW", "NHWC": "HWC", "HWCN": "WHC", "NCW": "CW", "NWC": "WC"}


def conv2d(
    input: Tensor,
    filter: Tensor,
    strides: Pair,
    padding: Pair | str,
    dilation: Pair,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """The convolution of `input` with `filter`, in one of the layouts NCHW, NHWC and HWCN.

    The filter's layout is OIHW for NCHW, else HWIO. `strides` and `dilation` are one number or
    two, `padding` one, two, four (top, left, bottom, right), "VALID" or "SAME". Elements are
    converted to `out_dtype` before they are multiplied.

    Raises ValueError for another layout and for shapes that do not fit.
    """
    layouts = [layout for layout in _FILTERS if "H" in layout]
    if data_layout not in layouts:
        known = ", ".join(layouts)
        raise ValueError(f"conv2d knows the layouts {known}, not {data_layout!r}")
    return conv(
        f"conv2d_{data_layout.lower()}",
        input,
        filter,
        (strides, padding, dilation),
        data_layout,
        kernel_layout,
        out_dtype,
    )


def conv(
    name: str,
    data: Tensor,
    weight: Tensor,
    how: tuple[Pair, Pair | str, Pair],
    layout: str,
    kernel_layout: str,
    out_dtype: str | None,
    groups: int = 1,
    layout_free: bool = False,
) -> Tensor:
    """A convolution whose dimensions stand as `layout` and `kernel_layout` say."""
    kernel_layout = kernel_layout or _FILTERS[layout]
    dims = [d for d in layout if d in "HW"]
    if sorted(kernel_layout) != sorted(["O", "I", *dims]):
        letters = ", ".join(["O", "I", *dims])
        raise ValueError(f"{name}: the filter's layout is made of {letters}, not {kernel_layout!r}")
    _check_ranks(name, data, len(layout), weight, len(layout))
    size = dict(zip(layout, data.shape, strict=True))
    filters = dict(zip(kernel_layout, weight.shape, strict=True))
    _check_channels(name, size["C"], filters["I"], filters["O"], groups)
    named = dict(zip(["N", "C", *dims], ("nn", "ff", "yy", "xx"), strict=False))
    axes = {"C": filters["I"]} | {d: filters[d] for d in dims}
    taps = {
        d: reduce_axis((0, size), tap)
        for (d, size), tap in zip(axes.items(), ("rc", "ry", "rx"), strict=False)
    }
    over = windows(name, data, layout, taps, how, "pad_temp")
    out = {"N": size["N"], "C": filters["O"], **over.out}
    dtype = out_dtype or data.dtype

    def element(*indices: Axis) -> Expr:
        at = dict(zip(layout, indices, strict=True))
        group = at["C"] // (filters["O"] // groups) * filters["I"] if groups > 1 else 0
        read = {"N": at["N"], "C": group + taps["C"], **over.cells(at, taps)}
        own = {**taps, "O": at["C"], "I": taps["C"]}
        value = over.padded[tuple(read[d] for d in layout)]
        factor = weight[tuple(own[d] for d in kernel_layout)]
        product = ir.cast(dtype, value) * ir.cast(dtype, factor)
        return sum(product, [taps[d] for d in _SUMS[layout]])

    return compute(
        tuple(out[d] for d in layout),
        element,
        name=name,
        tag=name,
        attrs={"layout_free_placeholders": [weight]} if layout_free else None,
        varargs_names=[named[d] for d in layout],
    )


def _check_ranks(name: str, data: Tensor, rank: int, weight: Tensor, filter_rank: int) -> None:
    if data.ndim != rank or weight.ndim != filter_rank:
        raise ValueError(
            f"{name} takes data of {rank} dimensions and a filter of {filter_rank}, "
            f"not shapes {data.shape} and {weight.shape}"
        )


def _check_channels(name: str, given: int, taken: int, made: int, groups: int) -> None:
    if groups < 1 or made % groups:
        raise ValueError(f"{name}: {made} filters do not make {groups} equal groups")
    if given != taken * groups:
        raise ValueError(f"{name}: data has {given} channels, the filter takes {taken * groups}")


def conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Pair,
    padding: Pair | str,
    dilation: Pair,
    out_dtype: str | None = None,
) -> Tensor:
    """`conv2d` of data (batch, channel, height, width) and a filter OIHW."""
    return conv2d(Input, Filter, stride, padding, dilation, "NCHW", "", out_dtype)


def conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Pair,
    padding: Pair | str,
    dilation: Pair,
    out_dtype: str | None = "float32",
) -> Tensor:
    """`conv2d` of data (batch, height, width, channel) and a filter HWIO."""
    how = (stride, padding, dilation)
    return conv("conv2d_nhwc", Input, Filter, how, "NHWC", "", out_dtype, layout_free=True)


def conv2d_hwcn(
    Input: Tensor,
    Filter: Tensor,
    stride: Pair,
    padding: Pair | str,
    dilation: Pair,
    out_dtype: str | None = None,
) -> Tensor:
    """`conv2d` of data (height, width, channel, batch) and a filter HWIO."""
    return conv2d(Input, Filter, stride, padding, dilation, "HWCN", "", out_dtype)


def group_conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Pair,
    padding: Pair | str,
    dilation: Pair,
    groups: int,
    out_dtype: str | None = None,
) -> Tensor:
    """`conv2d_nchw` in `groups` groups of channels, each with its own filters.

    Raises ValueError for channels that do not divide into the groups.
    """
    how = (stride, padding, dilation)
    return conv("group_conv2d_nchw", Input, Filter, how, "NCHW", "", out_dtype, groups)


def conv2d_NCHWc(
    data: Tensor,
    kernel: Tensor,
    stride: Pair,
    padding: Pair | str,
    dilation: Pair,
    layout: str,
    out_layout: str,
    out_dtype: str = "float32",
) -> Tensor:
    """A convolution in blocks of channels: data NCHWc, filter OIHWio, result NCHWc.

    The shapes tell the blocks; `layout` and `out_layout` are not looked at, as in TVM.
    Raises ValueError for shapes that do not fit.
    """
    _check_ranks("conv2d_NCHWc", data, 5, kernel, 6)
    n, chunks, _, _, block = data.shape
    out_chunks, taken, filter_h, filter_w, filter_block, out_block = kernel.shape
    if filter_block != block:
        raise ValueError(
            f"conv2d_NCHWc: blocks of {block} channels meet a filter of {filter_block}"
        )
    _check_channels("conv2d_NCHWc", chunks * block, taken * block, out_chunks * out_block, 1)
    ic = reduce_axis((0, chunks * block), "ic")
    taps = {"H": reduce_axis((0, filter_h), "kh"), "W": reduce_axis((0, filter_w), "kw")}
    over = windows("conv2d_NCHWc", data, "NCHWc", taps, (stride, padding, dilation), "data_pad")
    read = data if over.padded.shape == data.shape else over.padded

    def element(n: Axis, oc_chunk: Axis, oh: Axis, ow: Axis, oc_block: Axis) -> Expr:
        at = over.cells({"H": oh, "W": ow}, taps)
        value = read[n, ic // block, at["H"], at["W"], ic % block]
        factor = kernel[oc_chunk, ic // block, taps["H"], taps["W"], ic % block, oc_block]
        product = ir.cast(out_dtype, value) * ir.cast(out_dtype, factor)
        return sum(product, [ic, taps["H"], taps["W"]])

    shape = (n, out_chunks, over.out["H"], over.out["W"], out_block)
    return compute(shape, element, name="conv2d_NCHWc", tag="conv2d_NCHWc")
