"""What te and topi refuse, and how they say it."""

from __future__ import annotations

from typing import Any

import pytest

from workbench import T, te
from workbench.te import topi

A = te.placeholder((4, 6), name="A")
J = te.placeholder((4, 6), "int32", name="J")
X = te.placeholder((1, 3, 7, 8), name="X")
W = te.placeholder((4, 3, 3, 2), name="W")
k = te.reduce_axis((0, 6), "k")
i = te.compute((4,), lambda i: A[i, 0], name="B").op.axis[0]

PAIRS = te.comm_reducer(
    lambda x, y: (x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]),
    lambda *types: (1.0, 0.0),
    name="pairs",
)

REFUSED: list[tuple[Any, str]] = [
    (
        lambda: te.compute((4,), lambda i: te.sum(te.sum(A[i, k], k), k), name="C"),
        "C: a reduction must be the whole value of a tensor; "
        "compute it as a tensor of its own, and read that",
    ),
    (
        lambda: te.compute((4,), lambda i: A[i, k], name="C"),
        "C: nothing reduces over k; use it in a sum, max or min with axis=",
    ),
    (lambda: te.compute((4,), lambda j: A[i, j], name="C"), "C: i is no axis of this tensor"),
    (
        lambda: te.compute((4,), lambda i: (te.sum(A[i, k], k), A[i, 0]), name="C"),
        "C: several values are reduced at once by one comm_reducer, all that it makes; "
        "compute a tensor of its own for each other reduction",
    ),
    (
        lambda: te.compute((4,), lambda i: PAIRS((A[i, k], A[i, k]), k)[0], name="C"),
        "C: several values are reduced at once by one comm_reducer, all that it makes; "
        "compute a tensor of its own for each other reduction",
    ),
    (
        lambda: PAIRS(A[0, k], k),
        "pairs does not combine single values: 'Var' object is not subscriptable",
    ),
    (
        lambda: PAIRS((A[0, k], 1.0, 2.0), k),
        "pairs combines 3 values, and starts from as many",
    ),
    (
        lambda: PAIRS((A[0, k], 1.0), k, where=k > 2),
        "pairs takes no where= or init=: choose by select inside",
    ),
    (
        lambda: te.create_prim_func(
            [A, *te.compute((4,), lambda i: PAIRS((A[i, k], A[i, k]), k), name="C")]
        ),
        "pairs: each value needs another one as it was before it changed",
    ),
    (lambda: te.compute((4,), lambda i: (), name="C"), "C: the function returns no value"),
    (
        lambda: te.compute((4,), lambda i: A[i, 0], attrs={"a": A}),
        "attrs take numbers, texts and lists of them; a is Tensor('A', (4, 6), 'float32')",
    ),
    (
        lambda: te.max(A[0, k], A[0, 1], where=k > 2),
        "max of two values takes no where=: it goes with axes",
    ),
    (
        lambda: te.max(A[0, k], k, init=1.0),
        "max takes no init=: combine it in a tensor that reads this one",
    ),
    (lambda: te.sum(A[0, k], [k, k]), "sum goes over at least one axis, and over each once"),
    (
        lambda: te.sum(A[0, k], [i]),
        "sum goes over axes made by reduce_axis, not over Axis(name='i'",
    ),
    (lambda: te.reduce_axis((3, 3), "z"), "z runs over nothing: from 3 up to 3"),
    (lambda: te.create_prim_func([A, A]), "nothing is computed: every tensor is a placeholder"),
    (
        lambda: te.create_prim_func([A, A, te.compute((4,), lambda i: A[i, 0])]),
        "A is an argument twice",
    ),
    (lambda: te.exp(J[0, 0]), "exp takes floats, not int32; convert it with astype"),
    (lambda: te.power(J[0, 0], 2), "power takes floats, not int32; convert it with astype"),
    (
        lambda: te.if_then_else((k < 2) & 1, 1.0, 0.0),
        "'&' takes two integers or two conditions, not one of each",
    ),
    (lambda: A[0, 0] & 1, "'&' takes integers, not float32"),
    (lambda: ~A[0, 0], "'^' takes integers, not float32"),
    (lambda: T.Not(J[0, 0]), "T.Not takes a condition, not int32"),
    (lambda: T.And(J[0, 0], k < 2), "'and' takes conditions, not int32"),
    (
        lambda: te.if_then_else(k < 2 and k > 0, 1.0, 0.0),
        "an expression has no truth value before the program runs; "
        "combine conditions with &, | and ~, choose with if_then_else",
    ),
    (lambda: te.all(A[0, 0]), "all takes conditions, not float32"),
    (lambda: te.any(), "any takes at least one condition"),
    (lambda: te.if_then_else(J[0, 0], 1.0, 0.0), "if_then_else takes conditions, not int32"),
    (lambda: topi.add(A, X), "topi.add: shapes (4, 6) and (1, 3, 7, 8) do not fit: 6 is not 8"),
    (lambda: topi.add(1, 2), "topi.add takes at least one tensor"),
    (lambda: topi.matmul(A, A), "topi.matmul: the inner sizes differ: 6 and 4"),
    (
        lambda: topi.matmul(A, X),
        "topi.matmul takes two matrices, not shapes (4, 6) and (1, 3, 7, 8)",
    ),
    (
        lambda: topi.transpose(A, [0, 0]),
        "topi.transpose: axes [0, 0] do not name each of 2 dimensions once",
    ),
    (lambda: topi.squeeze(A, 0), "topi.squeeze: of (4, 6), axis 0 names more than sizes of 1"),
    (
        lambda: topi.sum(A, 2),
        "topi.sum: axis 2 does not name different ones of 2 dimensions",
    ),
    (
        lambda: topi.argmax(A, 2),
        "topi.argmax: axis 2 does not name different ones of 2 dimensions",
    ),
    (lambda: topi.nn.matmul(A, A), "T_matmul: the inner sizes differ: 6 and 4"),
    (lambda: topi.nn.dense(A, A, A), "a bias has one dimension, not shape (4, 6)"),
    (
        lambda: topi.nn.conv2d(X, W, 1, 1, 1, "CHWN"),
        "conv2d knows the layouts NCHW, NHWC, HWCN, not 'CHWN'",
    ),
    (
        lambda: topi.nn.conv2d_nhwc(X, W, 1, 1, 1),
        "conv2d_nhwc: data has 8 channels, the filter takes 3",
    ),
    (
        lambda: topi.nn.conv2d_nchw(X, W, 1, 0, 4),
        "conv2d_nchw: a window of 9 does not fit into 7 cells",
    ),
    (
        lambda: topi.nn.conv2d_nchw(X, W, 0, 0, 1),
        "stride takes one or two numbers from 1, not 0",
    ),
    (
        lambda: topi.nn.conv2d_nchw(X, W, 1, "FULL", 1),
        "padding takes numbers, VALID or SAME, not 'FULL'",
    ),
    (
        lambda: topi.nn.conv2d_nchw(X, W, 1, [1, -1], 1),
        "padding takes 1, 2 or 4 numbers from 0, not [1, -1]",
    ),
    (
        lambda: topi.nn.conv2d_nchw(A, W, 1, 0, 1),
        "conv2d_nchw takes data of 4 dimensions and a filter of 4, "
        "not shapes (4, 6) and (4, 3, 3, 2)",
    ),
    (
        lambda: topi.nn.depthwise_conv2d_nchw(X, W, 1, 0, 1),
        "depthwise_conv2d_nchw: data has 3 channels, the filter 4",
    ),
    (
        lambda: topi.nn.pool2d(X, [2, 2], [1, 1], [1, 1], [0] * 4, "sum"),
        'a pool is "max" or "avg", not \'sum\'',
    ),
    (
        lambda: topi.nn.pool2d(X, [2, 2], [1, 1], [1, 1], [0, 0], "max"),
        "padding takes four numbers from 0, not [0, 0]",
    ),
    (lambda: topi.nn.pad(A, [1]), "pad: [1] are not 2 sizes from 0"),
    (
        lambda: topi.nn.log_softmax(X),
        "log_softmax goes along the last of two dimensions, not -1 of 4",
    ),
    (lambda: topi.nn.layer_norm(A, A, None, [1]), "layer_norm: A has shape (4, 6), not (6,)"),
    (
        lambda: topi.nn.layer_norm(J, te.placeholder((6,)), None, [1]),
        "layer_norm takes float32 or float64, not int32; cast it before",
    ),
]


@pytest.mark.parametrize(("make", "said"), REFUSED, ids=lambda x: x if isinstance(x, str) else "")
def test_refused_in_these_words(make: Any, said: str):
    with pytest.raises((TypeError, ValueError, NotImplementedError)) as refused:
        make()
    assert str(refused.value).startswith(said)
