"""Compute expressions that TVM and we make programs of: graphs of one and of several stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Args = list[Any]


def window_sum(te: Any) -> Args:
    A = te.placeholder((15,), name="A")
    return [A, te.compute((12,), lambda i: A[i] + A[i + 1] + A[i + 2], name="B")]


def padded_convolution(te: Any) -> Args:
    """The convolution of the tutorial, small."""
    A = te.placeholder((5, 5, 4, 3), name="A")
    W = te.placeholder((3, 3, 4, 2), name="W")
    Apad = te.compute(
        (7, 7, 4, 3),
        lambda yy, xx, cc, nn: te.if_then_else(
            te.all(yy >= 1, yy - 1 < 5, xx >= 1, xx - 1 < 5),
            A[yy - 1, xx - 1, cc, nn],
            te.const(0.0, "float32"),
        ),
        name="Apad",
    )
    rc, ry, rx = (te.reduce_axis((0, n), name=f"r{d}") for d, n in (("c", 4), ("y", 3), ("x", 3)))
    B = te.compute(
        (5, 5, 2, 3),
        lambda yy, xx, ff, nn: te.sum(
            Apad[yy * 1 + ry, xx * 1 + rx, rc, nn] * W[ry, rx, rc, ff], axis=[ry, rx, rc]
        ),
        name="B",
    )
    return [A, W, B]


def tiled_convolution(te: Any) -> Args:
    """NHWCnc: tiles of batch and channel inside, multiplied in float16 and summed in float32."""
    A = te.placeholder((2, 4, 4, 2, 2, 3), "float16", name="A")
    W = te.placeholder((3, 3, 2, 2, 3, 4), "float16", name="W")
    ic, ii = te.reduce_axis((0, 2), name="ic"), te.reduce_axis((0, 3), name="ii")
    kh, kw = te.reduce_axis((0, 3), name="kh"), te.reduce_axis((0, 3), name="kw")
    Apad = te.compute(
        (2, 6, 6, 2, 2, 3),
        lambda n, h, w, i, nn, ii: te.if_then_else(
            te.all(h >= 1, h - 1 < 4, w >= 1, w - 1 < 4),
            A[n, h - 1, w - 1, i, nn, ii],
            te.const(0.0, "float16"),
        ),
        name="Apad",
    )
    Conv = te.compute(
        (2, 4, 4, 2, 2, 4),
        lambda n, h, w, o, nn, oo: te.sum(
            Apad[n, h * 1 + kh, w * 1 + kw, ic, nn, ii].astype("float32")
            * W[kh, kw, ic, o, ii, oo].astype("float32"),
            axis=[ic, kh, kw, ii],
        ),
        name="Conv",
    )
    return [A, W, Conv]


def two_outputs(te: Any) -> Args:
    A = te.placeholder((4, 6), name="A")
    B, C = te.compute((4, 6), lambda i, j: (A[i, j] + 1.0, A[i, j] * 2.0), name="B")
    return [A, B, C]


def one_output_of_two(te: Any) -> Args:
    A, _, C = two_outputs(te)
    return [A, te.compute((4, 6), lambda i, j: C[i, j] - A[i, j], name="D"), C]


def types_of_outputs(te: Any) -> Args:
    A = te.placeholder((4, 6), name="A")
    return [A, *te.compute((4, 6), lambda i, j: (A[i, j], i + j), name="B")]


def diamond(te: Any) -> Args:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((6,), lambda i: B[i] + B[i + 2], name="C")
    D = te.compute((6,), lambda i: te.max(B[i], C[i]), name="D")
    return [A, te.compute((6,), lambda i: C[i] - D[i], name="E"), C]


def axis_of_two_stages(te: Any) -> Args:
    A = te.placeholder((4, 6), name="A")
    k = te.reduce_axis((0, 6), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return [A, B, te.compute((4,), lambda i: te.max(A[i, k] - B[i], axis=k), name="C")]


def axis_from_two(te: Any) -> Args:
    A = te.placeholder((4, 6), "int8", name="A")
    k = te.reduce_axis((2, 6), name="k")
    return [A, te.compute((4,), lambda i: te.min(A[i, k], axis=[k]), name="B")]


def functions(te: Any) -> Args:
    A = te.placeholder((4, 6), name="A")

    def value(i: Any, j: Any) -> Any:
        x = A[i, j]
        first = te.exp(x) + te.tanh(x) * te.sigmoid(x) - te.erf(x) / te.sqrt(te.abs(x) + 1.0)
        return first + te.power(te.cos(x), 2.0) + te.floor(te.sin(x)) + te.ceil(te.rsqrt(x))

    return [A, te.compute((4, 6), value, name="B")]


def conditions(te: Any) -> Args:
    A = te.placeholder((4, 6), name="A")

    def value(i: Any, j: Any) -> Any:
        outside = te.any(i < 1, te.logical_not(te.all(j > 0, te.not_equal(j, 3))), A[i, j] > 0.5)
        return te.if_then_else(outside, te.select(A[i, j] >= 0.25, A[i, j], 0.0), 1.0)

    return [A, te.compute((4, 6), value, name="B")]


def elementwise_extremes(te: Any) -> Args:
    A = te.placeholder((4, 6), name="A")
    return [
        A,
        te.compute((4, 6), lambda i, j: te.max(A[i, j], 0.0) + te.min(A[i, j], 1.0), name="B"),
    ]


def index_arithmetic(te: Any) -> Args:
    A = te.placeholder((24,), name="A")
    return [A, te.compute((4, 6), lambda i, j: A[(i * 6 + j) // 4 * 4 + (i + j) % 4], name="B")]


def gather(te: Any) -> Args:
    J, A = te.placeholder((4,), "int32", name="J"), te.placeholder((4, 6), name="A")
    return [J, A, te.compute((4, 6), lambda i, j: A[J[i], j], name="B")]


def types_that_meet(te: Any) -> Args:
    A, B = te.placeholder((4,), name="A"), te.placeholder((4,), "float16", name="B")
    J = te.placeholder((4,), "int32", name="J")
    return [A, B, J, te.compute((4,), lambda i: A[i] + B[i] * 2.0 + J[i], name="C")]


def names(te: Any) -> Args:
    A = te.placeholder((4, 6))
    B = te.compute((4, 6), lambda i, *rest: A[(i, *rest)] + 1.0)
    C = te.compute((4, 6), lambda *at: B[at] * 2.0, varargs_names=["p", "q"])
    return [A, te.compute((4, 6), lambda *at: C[at] - 1.0, name="last.of all")]


def scalar(te: Any) -> Args:
    A = te.placeholder((4, 6), name="A")
    k, l = te.reduce_axis((0, 4), name="k"), te.reduce_axis((0, 6), name="l")
    return [A, te.compute((), lambda: te.sum(A[k, l], axis=[k, l]), name="B")]


def attributes(te: Any) -> Args:
    A, B = te.placeholder((4, 6), name="A"), te.placeholder((6, 5), name="B")
    attrs = {"a": 1, "b": "x", "c": [1, 2], "layout_free_placeholders": [B]}
    return [
        A,
        B,
        te.compute((4, 5), lambda i, j: A[i, j] * B[j, i], name="C", tag="t", attrs=attrs),
    ]


def no_input(te: Any) -> Args:
    return [te.compute((4, 6), lambda i, j: i * 6 + j, name="B")]


def result_ahead_of_input(te: Any) -> Args:
    A = te.placeholder((4, 6), name="A")
    B = te.compute((4, 6), lambda i, j: A[i, j] + 1.0, name="B")
    return [B, A, te.compute((4, 6), lambda i, j: B[i, j] * 2.0, name="C")]


def several_at_once(te: Any) -> Args:
    """Online softmax, whose values are stored in another order than they are told in."""
    A, k = te.placeholder((4, 6), name="A"), te.reduce_axis((0, 6), "k")

    def combined(x: Any, y: Any) -> Any:
        most = te.max(x[0], y[0])
        return most, x[1] * te.exp(x[0] - most) + y[1] * te.exp(y[0] - most)

    def start(a: str, b: str) -> Any:
        return te.min_value(a), te.const(0.0, b)

    online = te.comm_reducer(combined, start, name="online")
    term = te.const(1.0, "float32")
    m, s = te.compute((4,), lambda i: online((A[i, k], term), axis=k), name="S")
    return [A, s, m]


def operators(te: Any) -> Args:
    """Python's operators on what is made of others: conversions, conditions, bits."""
    A = te.placeholder((6, 8), name="A")
    K = te.placeholder((6, 8), "int32", name="K")
    B = te.compute((6, 8), lambda i, j: (A[i, j] + A[i, 7 - j]).astype("float16"), name="B")
    C = te.compute(
        (6, 8),
        lambda i, j: te.if_then_else(
            (i < 3) & (j < 5) | (A[i, j] < 2.0), (i + j).astype("float32"), A[i, j]
        ),
        name="C",
    )
    D = te.compute((6, 8), lambda i, j: (K[i, j] & 7 | K[i, j] >> 2) ^ ~K[i, j] << 1, name="D")
    return [A, K, B, C, D]


PROGRAMS: tuple[Callable[[Any], Args], ...] = (
    window_sum,
    padded_convolution,
    tiled_convolution,
    two_outputs,
    one_output_of_two,
    types_of_outputs,
    diamond,
    axis_of_two_stages,
    axis_from_two,
    functions,
    conditions,
    elementwise_extremes,
    index_arithmetic,
    operators,
    gather,
    types_that_meet,
    names,
    scalar,
    attributes,
    no_input,
    result_ahead_of_input,
    several_at_once,
)

# Those whose values TVM writes in other words, and what docs/differences-from-tvm.md says to it.
EXPRESSIONS = {
    "conditions": "Values as short as we make them",
    "operators": "Conditions are conditions",
    "types_that_meet": "Numbers take the type beside them",
}
