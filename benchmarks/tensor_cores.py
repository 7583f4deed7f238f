"""Calls of a warp on the GPU: products and a small convolution compared, TVM's tutorial timed."""

from __future__ import annotations

import numpy as np

import workbench as wb
from benchmarks.steps import SECONDS, Results
from tests.support.tensor_core_conv import SMALL, Sizes, expected, tensorized
from tests.support.tensor_core_product import whole

PRODUCTS = [
    (dtype, trans, pad)
    for dtype in ("float32", "float16")
    for trans in (False, True)
    for pad in (0, 8)
]


def compare() -> list[Results]:
    """Each with whether it agrees; the convolution of the tutorial with its time."""
    return [*compare_small(), time_tutorial()]


def _given(sch: wb.Schedule) -> list[np.ndarray]:
    """Small whole numbers, of which every sum is exact."""
    rng = np.random.default_rng(0)
    return [rng.integers(-3, 4, p.shape).astype(p.dtype) for p in sch.func.params]


def compare_small() -> list[Results]:
    """Each on the GPU and on the emulator: all bits are the same."""
    made = {f"product of {d}, trans={t}, pad={p}": whole(d, t, p) for d, t, p in PRODUCTS}
    rows: list[Results] = []
    for name, sch in {**made, "convolution": tensorized(SMALL)}.items():
        built, on_gpu = wb.build(sch, target="cuda"), _given(sch)
        emulated = [array.copy() for array in on_gpu]
        built(*on_gpu)
        built.emulate(*emulated)
        rows.append({"label": name, "agrees": bool(np.array_equal(on_gpu[-1], emulated[-1]))})
    return rows


def time_tutorial() -> Results:
    """The convolution as TVM's tutorial has it: right to 1e-3 of the largest, and its time."""
    sch = tensorized(Sizes())
    built, rng = wb.build(sch, target="cuda"), np.random.default_rng(0)
    a, w, out = (rng.random(p.shape).astype(p.dtype) for p in sch.func.params)
    built(a, w, out)
    wanted = expected(Sizes(), a, w)
    right = bool(np.abs(out - wanted).max() <= 1e-3 * np.abs(wanted).max())
    timing = built.time(a, w, out, seconds=SECONDS)
    return {"label": "tutorial", "agrees": right, "seconds": timing.median}
