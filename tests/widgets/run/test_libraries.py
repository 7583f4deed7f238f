"""The vendor's library that does a program's job is known by the program."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.histories import stages, vector_add, window_sum
from tests.widgets.run.test_times import MATMUL, parse
from workbench import te
from workbench.emulate import evaluate
from workbench.ir import PrimFunc
from workbench.lesson.convolutions import convolution
from workbench.lesson.programs import product
from workbench.widgets.run.libraries import library


def named_otherwise() -> PrimFunc:
    a, b = te.placeholder((8, 4), name="X"), te.placeholder((4, 16), name="Y")
    k = te.reduce_axis((0, 4), name="k")
    c = te.compute((8, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="Z")
    return te.create_prim_func([a, b, c])


def found(func: PrimFunc) -> str:
    made = library(func, [np.zeros(p.shape, p.type) for p in func.params])
    return f"{made.name}: {made.key}" if made else ""


@pytest.mark.parametrize(
    "func, known",
    [
        (vector_add(8), "cuBLAS: vendor add 8 8"),
        (window_sum(16), "cuDNN: vendor window_sums 18 1x3"),
        (product(8, 16, 4), "cuBLAS: vendor matmul 8x4 4x16"),
        (named_otherwise(), "cuBLAS: vendor matmul 8x4 4x16"),
        (convolution(6, 4, 8, 2), "cuDNN: vendor conv2d 6x6x4x2 3x3x4x8"),
        (stages(16, 8, (1, 1, 1), (1, 1, 1)), "cuDNN: vendor window_sums 18x10 3x3"),
    ],
)
def test_the_operators_of_the_lessons_are_known(func: PrimFunc, known: str):
    assert found(func) == known


@pytest.mark.parametrize(
    "text",
    [
        MATMUL.replace("A[vi, vk]", "A[vi, 3 - vk]"),
        MATMUL.replace("float32", "float64"),
    ],
)
def test_others_are_not(text: str):
    assert found(parse(text)) == ""


def test_other_taps_and_layouts_are_not():
    assert found(stages(16, 8, (1, 2, 1), (1, 1, 1))) == ""
    assert found(convolution(6, 4, 8, 2, layout="HWNC")) == ""


def test_what_cudnn_gets_is_the_same_job():
    """Sums of windows, and convolutions, as PyTorch defines them, worked out by NumPy."""
    rng = np.random.default_rng(0)
    for func in (window_sum(16), stages(6, 5, (1, 1, 1), (1, 1, 1)), convolution(6, 4, 8, 2)):
        arrays = [rng.integers(-8, 9, p.shape).astype("float32") for p in func.params]
        made = library(func, arrays)
        assert made is not None
        evaluate(func, arrays)
        got = convolved(*made.job().arrays, made.job().padding)
        wanted = arrays[-1]
        if wanted.ndim == 4:
            got = got.transpose(2, 3, 1, 0)
        np.testing.assert_array_equal(got.reshape(wanted.shape), wanted)


def convolved(image: np.ndarray, taps: np.ndarray, padding: int) -> np.ndarray:
    """Sums of products, NCHW with FCHW."""
    padded = np.pad(image, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, taps.shape[2:], axis=(2, 3))
    return np.einsum("nchwyx,fcyx->nfhw", windows, taps)
