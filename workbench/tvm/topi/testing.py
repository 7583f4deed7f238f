"""What operators should give, by NumPy: tvm.topi.testing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from workbench.te.topi.nn.windows import Pair, pad_sizes, pair
from workbench.tvm.not_carried import refusing

__all__ = [
    "batch_matmul",
    "conv2d_hwcn_python",
    "conv2d_nchw_python",
    "conv2d_nhwc_python",
    "dense",
    "depthwise_conv2d_python_nchw",
    "depthwise_conv2d_python_nhwc",
    "layer_norm_python",
    "softmax_python",
]

Array = np.ndarray[Any, Any]


def conv2d_nchw_python(
    a_np: Array, w_np: Array, stride: Pair, padding: Pair | str, groups: int = 1
) -> Array:
    """The convolution of NCHW by OIHW, in float64: each of `groups` of channels by itself.

    `stride` is one number or two, `padding` one, two, four (top, left, bottom, right), "VALID" or
    "SAME". Raises ValueError for others, and where no window fits.
    """
    top, left, bottom, right = pad_sizes(padding, w_np.shape[2:])
    padded = np.pad(a_np.astype("float64"), ((0, 0), (0, 0), (top, bottom), (left, right)))
    down, along = pair("stride", stride)
    seen = sliding_window_view(padded, w_np.shape[2:], (2, 3))[:, :, ::down, ::along]
    parts = zip(np.split(seen, groups, axis=1), np.split(w_np, groups), strict=True)
    return np.concatenate(
        [np.einsum("ncyxhw,fchw->nfyx", some, of, optimize=True) for some, of in parts], axis=1
    )


def conv2d_nhwc_python(
    a_np: Array, w_np: Array, stride: Pair, padding: Pair | str, groups: int = 1
) -> Array:
    """The same of NHWC by HWIO."""
    data, taps = a_np.transpose(0, 3, 1, 2), w_np.transpose(3, 2, 0, 1)
    return conv2d_nchw_python(data, taps, stride, padding, groups).transpose(0, 2, 3, 1)


def conv2d_hwcn_python(a_np: Array, w_np: Array, stride: Pair, padding: Pair | str) -> Array:
    """The same of HWCN by HWIO."""
    data, taps = a_np.transpose(3, 2, 0, 1), w_np.transpose(3, 2, 0, 1)
    return conv2d_nchw_python(data, taps, stride, padding).transpose(2, 3, 1, 0)


def depthwise_conv2d_python_nchw(
    input_np: Array, filter_np: Array, stride: Pair, padding: Pair | str
) -> Array:
    """The convolution of each channel of NCHW by its own taps, in float64.

    The filter is channel, multiplier, height, width.
    """
    channels, multiplier, *window = filter_np.shape
    taps = filter_np.reshape(channels * multiplier, 1, *window)
    return conv2d_nchw_python(input_np, taps, stride, padding, channels)


def depthwise_conv2d_python_nhwc(
    input_np: Array, filter_np: Array, stride: Pair, padding: Pair | str
) -> Array:
    """The same of NHWC; the filter is height, width, channel, multiplier."""
    data, taps = input_np.transpose(0, 3, 1, 2), filter_np.transpose(2, 3, 0, 1)
    return depthwise_conv2d_python_nchw(data, taps, stride, padding).transpose(0, 2, 3, 1)


def dense(
    x: Array,
    y: Array,
    bias: Array | None = None,
    use_bias: bool = False,
    use_relu: bool = False,
    out_dtype: str | None = None,
) -> Array:
    """`x`, (batch, in), by the rows of `y`, (out, in); with `bias` and a relu where asked for."""
    made = x.astype(out_dtype or x.dtype) @ y.astype(out_dtype or y.dtype).T
    if use_bias:
        made = made + bias
    return np.maximum(made, 0) if use_relu else made


def batch_matmul(
    x: Array, y: Array, out_dtype: str | None = None, trans_x: bool = False, trans_y: bool = True
) -> Array:
    """The products of matrices of a batch, the second one transposed unless told otherwise."""
    a = x.transpose(0, 2, 1) if trans_x else x
    b = y.transpose(0, 2, 1) if trans_y else y
    return np.matmul(a.astype(out_dtype or x.dtype), b.astype(out_dtype or x.dtype))


def softmax_python(a_np: Array, axis: int = 1) -> Array:
    """Each element's share along `axis`, after exp."""
    powers = np.exp(a_np - a_np.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def layer_norm_python(
    data: Array, gamma: Array, beta: Array, axis: int | tuple[int, ...], epsilon: float = 1e-5
) -> Array:
    """`data` with mean 0 and variance 1 over `axis`, then times `gamma`, plus `beta`."""
    axes = axis if isinstance(axis, int) else tuple(axis)
    centred = data - data.mean(axes, keepdims=True)
    scale = np.sqrt(data.var(axes, keepdims=True) + epsilon)
    over = [a % data.ndim for a in ((axes,) if isinstance(axes, int) else axes)]
    shape = [n if d in over else 1 for d, n in enumerate(data.shape)]
    return centred / scale * gamma.reshape(shape) + beta.reshape(shape)


__getattr__ = refusing(__name__)
