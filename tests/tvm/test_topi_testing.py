"""tvm.topi.testing gives what the operators of tvm.topi give."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.support import topi_cases
from workbench import emulate, te, tvm
from workbench.tvm import topi
from workbench.tvm.topi import testing

Array = np.ndarray[Any, Any]
Operator = Callable[..., te.Tensor]


def check(operator: Operator, reference: Callable[..., Array], *shapes: tuple[int, ...]) -> None:
    given = [np.random.default_rng(k).random(shape, "float32") for k, shape in enumerate(shapes)]
    tensors = [te.placeholder(a.shape, name=n) for a, n in zip(given, "ABC", strict=False)]
    made = operator(*tensors)
    found, wanted = np.zeros(made.shape, "float32"), reference(*given)
    emulate.evaluate(te.create_prim_func([*tensors, made]), [*given, found])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("stride, padding", [(1, 0), (2, 1), ((2, 1), "SAME"), (1, (0, 1, 2, 0))])
def test_convolutions(stride: Any, padding: Any):
    nchw, nhwc, hwcn = (2, 3, 6, 5), (2, 6, 5, 3), (6, 5, 3, 2)
    for name, reference, data, taps in (
        ("conv2d_nchw", testing.conv2d_nchw_python, nchw, (4, 3, 3, 2)),
        ("conv2d_nhwc", testing.conv2d_nhwc_python, nhwc, (3, 2, 3, 4)),
        ("conv2d_hwcn", testing.conv2d_hwcn_python, hwcn, (3, 2, 3, 4)),
        ("depthwise_conv2d_nchw", testing.depthwise_conv2d_python_nchw, nchw, (3, 2, 3, 2)),
        ("depthwise_conv2d_nhwc", testing.depthwise_conv2d_python_nhwc, nhwc, (3, 2, 3, 2)),
    ):
        how = {"stride": stride, "padding": padding}
        operator = partial(getattr(topi.nn, name), dilation=1, **how)
        check(operator, partial(reference, **how), data, taps)


def test_others():
    check(topi.nn.dense, testing.dense, (2, 5), (3, 5))
    check(topi.nn.batch_matmul, testing.batch_matmul, (2, 3, 5), (2, 4, 5))
    check(lambda x: topi.nn.softmax(x, axis=1), testing.softmax_python, (2, 5))
    check(
        lambda x, g, b: topi.nn.layer_norm(x, g, b, axis=(1, 2)),
        lambda x, g, b: testing.layer_norm_python(x, g, b, axis=(1, 2)),
        (2, 3, 4), (3, 4), (3, 4),
    )  # fmt: skip
    relu = testing.dense(np.ones((1, 2)), -np.ones((3, 2)), np.ones(3), True, True)
    assert np.array_equal(relu, np.zeros((1, 3)))


def test_groups_are_convolved_each_by_itself():
    a, w = np.random.rand(1, 4, 5, 5), np.random.rand(6, 2, 3, 3)
    wanted = topi_cases.conv_nchw(a, w, pad=(1, 1, 1, 1), groups=2)
    np.testing.assert_allclose(testing.conv2d_nchw_python(a, w, 1, 1, groups=2), wanted)


def test_a_stride_of_nothing_is_refused():
    with pytest.raises(ValueError, match=r"^stride takes one or two numbers from 1, not 0$"):
        testing.conv2d_nchw_python(np.zeros((1, 1, 3, 3)), np.zeros((1, 1, 3, 3)), 0, 0)


def test_tensor_cores_are_told_by_the_compute_capability(monkeypatch: pytest.MonkeyPatch):
    told = [tvm.contrib.nvcc.have_tensorcore(v) for v in ("6.1", "7.0", "9.0", "12.0")]
    assert told == [False, True, True, True]
    for here, has in ((None, False), ("9.0", True)):
        monkeypatch.setattr("workbench.tvm.runtime.Device.compute_version", here)
        assert tvm.contrib.nvcc.have_tensorcore() is has
        assert tvm.contrib.nvcc.have_tensorcore(tvm.cuda(0).compute_version) is has
