"""The operators of topi at small odd shapes, each with what it computes said in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """An operator: `build` gives the tensors it reads and makes, in a `te` and `topi` of either."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    build: Callable[..., Any]  # topi, *tensors -> the result
    expected: Callable[..., Array]  # *arrays -> the result
    dtype: str = "float32"
    differs: str = ""  # why TVM's text is another, as docs/differences-from-tvm.md calls it

    def tensors(self, te: Any, topi: Any) -> list[Any]:
        """What is read, then what is made."""
        given = [
            te.placeholder(shape, self.dtype, name=name)
            for shape, name in zip(self.shapes, "ABC", strict=False)
        ]
        return [*given, self.build(topi, *given)]


def padded(x: Array, ends: tuple[int, int, int, int], value: float = 0.0) -> Array:
    """`x`, of which the last two dimensions are height and width, with `value` around it."""
    top, left, bottom, right = ends
    sides = [(0, 0)] * (x.ndim - 2) + [(top, bottom), (left, right)]
    return np.pad(x, sides, constant_values=value)


def windows(
    x: Array, kernel: tuple[int, int], stride: tuple[int, int], gap: tuple[int, int]
) -> Array:
    """The windows over the last two dimensions, in two more dimensions."""
    whole = tuple((k - 1) * d + 1 for k, d in zip(kernel, gap, strict=True))
    every = sliding_window_view(x, whole, axis=(-2, -1))
    rows, columns = (slice(None, None, s) for s in stride)
    return every[..., rows, columns, :: gap[0], :: gap[1]]


def conv_nchw(
    x: Array,
    w: Array,
    stride: tuple[int, int] = (1, 1),
    pad: tuple[int, int, int, int] = (0, 0, 0, 0),
    gap: tuple[int, int] = (1, 1),
    groups: int = 1,
) -> Array:
    """Convolution of NCHW by OIHW in float64, in groups of channels."""
    seen = windows(padded(x.astype("float64"), pad), w.shape[2:], stride, gap)
    parts = zip(np.split(seen, groups, axis=1), np.split(w, groups), strict=True)
    return np.concatenate([np.einsum("ncyxhw,fchw->nfyx", s, f) for s, f in parts], axis=1)


def conv(layout: str, filters: str, x: Array, w: Array, **how: Any) -> Array:
    """The same for data and filter in other layouts."""
    plain = conv_nchw(_to(x, layout, "NCHW"), _to(w, filters, "OIHW"), **how)
    return _to(plain, "NCHW", layout)


def _to(x: Array, ours: str, other: str) -> Array:
    return x.transpose([ours.index(d) for d in other])


def conv_blocks(x: Array, w: Array, **how: Any) -> Array:
    """NCHWc by OIHWio."""
    n, c, height, width, block = x.shape
    out, _, kh, kw, _, made = w.shape
    plain = x.transpose(0, 1, 4, 2, 3).reshape(n, c * block, height, width)
    filters = w.transpose(0, 5, 1, 4, 2, 3).reshape(out * made, c * block, kh, kw)
    result = conv_nchw(plain, filters, **how)
    return result.reshape(n, out, made, *result.shape[2:]).transpose(0, 1, 3, 4, 2)


def depthwise(x: Array, w: Array, **how: Any) -> Array:
    """NCHW by (channel, multiplier, height, width)."""
    channels, more = w.shape[:2]
    return conv_nchw(x, w.reshape(channels * more, 1, *w.shape[2:]), groups=channels, **how)


def depthwise_nhwc(x: Array, w: Array, **how: Any) -> Array:
    """NHWC by (height, width, channel, multiplier)."""
    result = depthwise(x.transpose(0, 3, 1, 2), w.transpose(2, 3, 0, 1), **how)
    return result.transpose(0, 2, 3, 1)


def pool(
    x: Array,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    gap: tuple[int, int],
    pad: tuple[int, int, int, int],
    kind: str,
    ceil: bool = False,
    include: bool = True,
) -> Array:
    """A pool over NCHW: what lies behind the padding counts in no mean."""
    top, left, bottom, right = pad
    more = [s - 1 if ceil else 0 for s in stride]
    ends = (top, left, bottom + more[0], right + more[1])
    if kind == "max":
        return windows(padded(x, ends, -np.inf), kernel, stride, gap).max((-2, -1))
    ones = padded(np.ones(x.shape), pad, float(include))
    counted = windows(padded(ones, (0, 0, *more)), kernel, stride, gap).sum((-2, -1))
    return windows(padded(x, ends), kernel, stride, gap).sum((-2, -1)) / np.maximum(counted, 1)


def softmax(x: Array, axis: int = -1) -> Array:
    """In float64."""
    e = np.exp(x.astype("float64") - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def layer_norm(x: Array, g: Array, b: Array | float, axes: tuple[int, ...]) -> Array:
    """In float64, with an epsilon of 1e-5."""
    x = x.astype("float64")
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axes, keepdims=True) + 1e-5) * g + b


def _erf(x: Array) -> Array:
    from math import erf

    return np.vectorize(erf)(x)


M, N = (4, 6), (6, 5)
IMAGE, CHANNELS_LAST = (2, 3, 7, 8), (2, 7, 8, 3)
DIV = "Division of integers"
COUNTS = "Values as short as we make them"

MATRICES = [
    Case("matmul", (M, N), lambda topi, a, b: topi.matmul(a, b), lambda a, b: a @ b),
    Case(
        "matmul_both",
        ((6, 4), (5, 6)),
        lambda topi, a, b: topi.matmul(a, b, transp_a=True, transp_b=True),
        lambda a, b: a.T @ b.T,
    ),
    Case("nn.matmul", (M, N), lambda topi, a, b: topi.nn.matmul(a, b), lambda a, b: a @ b),
    Case(
        "nn.matmul_of_batches",
        ((3, 1, 4, 6), (2, 5, 6)),
        lambda topi, a, b: topi.nn.matmul(a, b, transpose_b=True),
        lambda a, b: a @ b.transpose(0, 2, 1),
    ),
    Case(
        "nn.matmul_bias",
        ((6, 4), (5, 6), (5,)),
        lambda topi, a, b, c: topi.nn.matmul(a, b, c, None, True, True),
        lambda a, b, c: a.T @ b.T + c,
    ),
    Case("nn.dense", (M, (5, 6)), lambda topi, a, b: topi.nn.dense(a, b), lambda a, b: a @ b.T),
    Case(
        "nn.batch_matmul",
        ((2, 4, 6), (2, 5, 6)),
        lambda topi, a, b: topi.nn.batch_matmul(a, b),
        lambda a, b: a @ b.transpose(0, 2, 1),
    ),
    Case(
        "nn.batch_matmul_one",
        ((1, 6, 4), (2, 6, 5)),
        lambda topi, a, b: topi.nn.batch_matmul(a, b, transpose_a=True, transpose_b=False),
        lambda a, b: a.transpose(0, 2, 1) @ b,
    ),
]


def _conv_case(name: str, shapes: Any, args: tuple[Any, ...], **how: Any) -> Case:
    layout, filters = how.pop("layouts")
    return Case(
        f"nn.{name}{args}",
        shapes,
        lambda topi, a, b: getattr(topi.nn, name)(a, b, *args),
        partial(conv, layout, filters, **how),
    )


NCHW, NHWC, HWCN = ("NCHW", "OIHW"), ("NHWC", "HWIO"), ("HWCN", "HWIO")
W = (4, 3, 3, 2)
_STEPS: Any = {"stride": (2, 2), "pad": (1, 1, 1, 1)}
_UNEVEN: Any = {"stride": (1, 2), "pad": (0, 1, 2, 1), "gap": (2, 1)}


def _conv1d_case(name: str, shapes: Any, args: tuple[Any, ...], pad: Any, **how: Any) -> Case:
    """A convolution over width is one over height and width of height 1."""
    layouts, axis = (NCHW, 2) if name.endswith("ncw") else (NHWC, 1)
    rows = 0 if layouts is NHWC else axis
    return Case(
        f"nn.{name}{args}",
        shapes,
        lambda topi, a, b: getattr(topi.nn, name)(a, b, *args),
        lambda a, b: conv(
            *layouts, np.expand_dims(a, axis), np.expand_dims(b, rows), pad=pad, **how
        ).squeeze(axis),
    )


CONVOLUTIONS = [
    _conv1d_case("conv1d_ncw", ((2, 3, 11), (4, 3, 3)), (1, 0, 1), (0, 0, 0, 0)),
    _conv1d_case(
        "conv1d_ncw",
        ((2, 3, 11), (4, 3, 3)),
        (2, (2, 1), 2),
        (0, 2, 0, 1),
        stride=(1, 2),
        gap=(1, 2),
    ),
    _conv1d_case("conv1d_nwc", ((2, 11, 3), (3, 3, 4)), (1, "SAME", 1), (0, 1, 0, 1)),
    _conv_case("conv2d_nchw", (IMAGE, W), (1, 0, 1), layouts=NCHW),
    _conv_case("conv2d_nchw", (IMAGE, W), (2, 1, 1), layouts=NCHW, **_STEPS),
    _conv_case("conv2d_nchw", (IMAGE, W), ([1, 2], [0, 1, 2, 1], [2, 1]), layouts=NCHW, **_UNEVEN),
    _conv_case("conv2d_nchw", (IMAGE, W), (3, "VALID", 2), layouts=NCHW, stride=(3, 3), gap=(2, 2)),
    _conv_case("conv2d_nchw", (IMAGE, W), (1, "SAME", 1), layouts=NCHW, pad=(1, 1, 1, 0)),
    _conv_case("conv2d_nhwc", (CHANNELS_LAST, (3, 2, 3, 4)), (2, 1, 1), layouts=NHWC, **_STEPS),
    _conv_case("conv2d_hwcn", ((7, 8, 3, 2), (3, 2, 3, 4)), (2, 1, 1), layouts=HWCN, **_STEPS),
    _conv_case(
        "conv2d_hwcn",
        ((7, 8, 3, 2), (3, 2, 3, 4)),
        ([1, 2], [0, 1, 2, 1], [2, 1]),
        layouts=HWCN,
        **_UNEVEN,
    ),
    _conv_case("conv2d", (IMAGE, W), (2, 1, 1, "NCHW"), layouts=NCHW, **_STEPS),
    _conv_case(
        "conv2d",
        (CHANNELS_LAST, (4, 3, 3, 2)),
        (2, 1, 1, "NHWC", "OIHW"),
        layouts=("NHWC", "OIHW"),
        **_STEPS,
    ),
    _conv_case(
        "group_conv2d_nchw",
        ((1, 4, 7, 8), (6, 2, 3, 3)),
        (1, 1, 1, 2),
        layouts=NCHW,
        pad=(1, 1, 1, 1),
        groups=2,
    ),
    Case(
        "nn.conv2d_NCHWc",
        ((1, 2, 7, 8, 3), (2, 2, 3, 3, 3, 4)),
        lambda topi, a, b: topi.nn.conv2d_NCHWc(a, b, 2, 1, 1, "NCHW3c", "NCHW4c"),
        partial(conv_blocks, **_STEPS),
    ),
    Case(
        "nn.conv2d_NCHWc_no_padding",
        ((1, 2, 7, 8, 3), (2, 2, 3, 3, 3, 4)),
        lambda topi, a, b: topi.nn.conv2d_NCHWc(a, b, 1, 0, 2, "NCHW3c", "NCHW4c"),
        partial(conv_blocks, gap=(2, 2)),
    ),
    Case(
        "nn.depthwise_conv2d_nchw",
        (IMAGE, (3, 2, 3, 3)),
        lambda topi, a, b: topi.nn.depthwise_conv2d_nchw(a, b, [2, 2], 1, 1),
        partial(depthwise, **_STEPS),
    ),
    Case(
        "nn.depthwise_conv2d_nchw_one",
        (IMAGE, (3, 1, 3, 2)),
        lambda topi, a, b: topi.nn.depthwise_conv2d_nchw(a, b, [1, 2], [0, 1, 2, 1], [2, 1]),
        partial(depthwise, **_UNEVEN),
    ),
    Case(
        "nn.depthwise_conv2d_nhwc",
        (CHANNELS_LAST, (3, 3, 3, 2)),
        lambda topi, a, b: topi.nn.depthwise_conv2d_nhwc(a, b, [2, 2], 1, 1),
        partial(depthwise_nhwc, **_STEPS),
    ),
]


def _pool_case(*args: Any, differs: str = "") -> Case:
    return Case(
        f"nn.pool2d{args}",
        (IMAGE,),
        lambda topi, a: topi.nn.pool2d(a, *args[:6], "NCHW", args[6]),
        lambda a: pool(a, *args),
        differs=differs,
    )


POOLS = [
    _pool_case([3, 2], [2, 1], [1, 1], [1, 0, 1, 1], "max", False, True),
    _pool_case([3, 2], [2, 2], [2, 1], [0, 0, 0, 0], "max", True, True),
    _pool_case([2, 2], [2, 2], [1, 1], [0, 0, 0, 0], "max", False, True),
    _pool_case([2, 2], [2, 2], [1, 1], [0, 0, 0, 0], "avg", False, True, differs=COUNTS),
    _pool_case([3, 2], [2, 1], [1, 1], [1, 0, 1, 1], "avg", False, True, differs=COUNTS),
    _pool_case([3, 2], [2, 2], [1, 1], [1, 1, 1, 1], "avg", False, False, differs=COUNTS),
    _pool_case([3, 3], [2, 2], [1, 1], [1, 1, 1, 1], "avg", True, True, differs=COUNTS),
    _pool_case([3, 2], [2, 2], [2, 1], [1, 1, 1, 1], "avg", False, False, differs=DIV),
    Case(
        "nn.pool2d_nhwc",
        (CHANNELS_LAST,),
        lambda topi, a: topi.nn.pool2d(
            a, [3, 3], [2, 2], [1, 1], [1, 1, 1, 1], "max", False, "NHWC", True
        ),
        lambda a: pool(
            a.transpose(0, 3, 1, 2), (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "max"
        ).transpose(0, 2, 3, 1),
    ),
    Case(
        "nn.global_pool_max",
        (IMAGE,),
        lambda topi, a: topi.nn.global_pool(a, "max"),
        lambda a: a.max((2, 3), keepdims=True),
    ),
    Case(
        "nn.global_pool_avg",
        (CHANNELS_LAST,),
        lambda topi, a: topi.nn.global_pool(a, "avg", "NHWC"),
        lambda a: a.mean((1, 2), keepdims=True),
    ),
]

NORMS = [
    Case("nn.softmax", (M,), lambda topi, a: topi.nn.softmax(a), softmax),
    Case(
        "nn.softmax_1",
        ((2, 3, 4),),
        lambda topi, a: topi.nn.softmax(a, 1),
        partial(softmax, axis=1),
    ),
    Case(
        "nn.log_softmax",
        (M,),
        lambda topi, a: topi.nn.log_softmax(a),
        lambda a: np.log(softmax(a)),
    ),
    Case(
        "nn.layer_norm",
        (M, (6,), (6,)),
        lambda topi, a, b, c: topi.nn.layer_norm(a, b, c, [1]),
        lambda a, b, c: layer_norm(a, b, c, (1,)),
    ),
    Case(
        "nn.layer_norm_two",
        ((2, 3, 4), (3, 4)),
        lambda topi, a, b: topi.nn.layer_norm(a, b, None, [1, 2]),
        lambda a, b: layer_norm(a, b, 0.0, (1, 2)),
    ),
]


def _unary(name: str, function: Any, where: str = "") -> Case:
    build = lambda topi, a: getattr(topi.nn if where else topi, name)(a)  # noqa: E731
    return Case(f"{where}{name}", (M,), build, function)


ELEMENTWISE = [
    *(
        _unary(name, getattr(np, name))
        for name in ("exp", "log", "sqrt", "tanh", "sin", "cos", "floor", "ceil", "abs", "negative")
    ),
    _unary("identity", lambda a: a),
    _unary("rsqrt", lambda a: 1 / np.sqrt(a)),
    _unary("sigmoid", lambda a: 1 / (1 + np.exp(-a))),
    _unary("erf", _erf),
    _unary("relu", lambda a: np.maximum(a, 0), "nn."),
    Case(
        "nn.leaky_relu",
        (M,),
        lambda topi, a: topi.nn.leaky_relu(a, 0.25),
        lambda a: np.where(a > 0, a, a * 0.25),
    ),
    Case("clip", (M,), lambda topi, a: topi.clip(a, 0.25, 0.5), lambda a: np.clip(a, 0.25, 0.5)),
    Case("cast", (M,), lambda topi, a: topi.cast(a, "float16"), lambda a: a.astype("float16")),
]


def _both(name: str, function: Any) -> Case:
    return Case(name, (M, (6,)), lambda topi, a, b: getattr(topi, name)(a, b), function)


BROADCAST = [
    *(
        _both(name, getattr(np, name))
        for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power")
    ),
    *(
        _both(name, getattr(np, name))
        for name in ("greater", "greater_equal", "less", "less_equal", "equal", "not_equal")
    ),
    Case(
        "bias_add",
        (IMAGE, (3, 1, 1)),
        lambda topi, a, b: topi.add(a, b),
        lambda a, b: a + b,
    ),
    Case("add_number", (M,), lambda topi, a: topi.add(a, 1.5), lambda a: a + 1.5),
    Case("from_number", (M,), lambda topi, a: topi.subtract(1.0, a), lambda a: 1 - a),
]

SHAPES = [
    Case("transpose", (M,), lambda topi, a: topi.transpose(a), lambda a: a.T),
    Case(
        "transpose_three",
        ((2, 3, 4),),
        lambda topi, a: topi.transpose(a, [2, 0, 1]),
        lambda a: a.transpose(2, 0, 1),
    ),
    Case("expand_dims", (M,), lambda topi, a: topi.expand_dims(a, 1), lambda a: a[:, None]),
    Case("squeeze", ((1, 3, 1),), lambda topi, a: topi.squeeze(a), lambda a: a[0, :, 0]),
    Case(
        "pad",
        (M,),
        lambda topi, a: topi.nn.pad(a, [1, 0], [1, 2], name="p"),
        lambda a: np.pad(a, [(1, 1), (0, 2)]),
    ),
    Case(
        "pad_value",
        (M,),
        lambda topi, a: topi.nn.pad(a, [1, 0], pad_value=1.5),
        lambda a: np.pad(a, [(1, 1), (0, 0)], constant_values=1.5),
    ),
]


def _reduction(name: str, function: Any, axis: Any, keep: bool) -> Case:
    over = tuple(axis) if isinstance(axis, list) else axis
    return Case(
        f"{name}({axis}, {keep})",
        ((2, 3, 4),),
        lambda topi, a: getattr(topi, name)(a, axis, keep),
        lambda a: function(a, over, keepdims=keep),
        dtype="bool" if name in ("all", "any") else "float32",
    )


REDUCTIONS = [
    _reduction(name, getattr(np, name), axis, keep)
    for name in ("sum", "max", "min", "prod", "all", "any")
    for axis, keep in ((None, False), (1, False), ([0, -1], True))
]


def _place(name: str, axis: Any, keep: bool, last: bool, dtype: str) -> Case:
    def expected(a: Array) -> Array:
        over = [*range(a.ndim)] if axis is None else sorted(k % a.ndim for k in np.atleast_1d(axis))
        rows = np.moveaxis(a, over, range(-len(over), 0))
        shape = [1 if d in over else n for d, n in enumerate(a.shape) if keep or d not in over]
        rows = rows.reshape(*rows.shape[: a.ndim - len(over)], -1)
        find = getattr(np, name)
        found = rows.shape[-1] - 1 - find(rows[..., ::-1], -1) if last else find(rows, -1)
        return np.asarray(found, "int32").reshape(shape)

    return Case(
        f"{name}({axis}, {keep}, {last}) of {dtype}",
        ((2, 3, 4),),
        lambda topi, a: getattr(topi, name)(a, axis, keep, last),
        expected,
        dtype=dtype,
    )


PLACES = [
    _place(name, axis, keep, last, dtype)
    for name in ("argmax", "argmin")
    for axis, keep, dtype in ((None, False, "int8"), (1, False, "float32"), ([0, -1], True, "int8"))
    for last in (False, True)
]

CASES = [
    *(*MATRICES, *CONVOLUTIONS, *POOLS, *NORMS, *ELEMENTWISE, *BROADCAST, *SHAPES, *REDUCTIONS),
    *PLACES,
]
