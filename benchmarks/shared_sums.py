"""Sums that threads share out, on the GPU: small ones compared, one of 4096 rows timed."""

from __future__ import annotations

import numpy as np

import workbench as wb
from benchmarks.steps import SECONDS, Results
from benchmarks.vendor import time_copy
from tests.support.cross_thread import (
    LAYER_NORM,
    LEAST,
    SOFTMAX,
    argmax,
    in_one_kernel,
    row_sum,
)
from workbench.emulate import evaluate
from workbench.ir import PrimFunc
from workbench.runtime import Built

SIZES = {64: 32, 37: 32, 1000: 128}  # of a row -> the threads that share its sums
LARGE = 4096
THREADS = (128, 256, 512, 1024)
ENOUGH = 0.8  # of the bandwidth of a copy


def small() -> dict[str, PrimFunc]:
    """Programs that are one kernel each, by name."""
    found: dict[str, PrimFunc] = {}
    for size, threads in SIZES.items():
        found[f"row sum of {size}"] = row_sum(size, threads)
        found[f"softmax of {size}"] = in_one_kernel(SOFTMAX, size, threads)
        found[f"layer norm of {size}"] = in_one_kernel(LAYER_NORM, size, threads)
        found[f"argmax of {size}, the first"] = argmax(size, threads)
        found[f"argmax of {size}, the least index"] = argmax(size, threads, LEAST, strided=True)
    return found


def compare_small() -> list[Results]:
    """Each on the GPU, on the emulator and by its meaning; sums are added in other orders."""
    rng = np.random.default_rng(4)
    rows: list[Results] = []
    for name, func in small().items():
        built = wb.build(func, target="cuda")
        given = [rng.random(buffer.shape).astype(buffer.type) for buffer in func.params]
        on_gpu, emulated, meant = ([array.copy() for array in given] for _ in range(3))
        built(*on_gpu)
        built.emulate(*emulated)
        evaluate(func, meant)
        near = [np.allclose(on_gpu[-1], other[-1], rtol=1e-4, atol=1e-5)
                for other in (emulated, meant)]  # fmt: skip
        rows.append({"label": name, "kernels": len(built.kernels), "agrees": all(near)})
    return rows


def time_large() -> list[Results]:
    """The row sum of 4096 x 4096 by several numbers of threads: its bandwidth, and a copy's."""
    values = np.random.default_rng(5).integers(-8, 9, (LARGE, LARGE)).astype("float32")
    roof = time_copy(LARGE * LARGE)
    rows = [_timed(wb.build(row_sum(LARGE, n, LARGE), target="cuda"), n, values) for n in THREADS]
    for row in rows:
        row["of a copy's"] = round(row["terabytes_per_second"] / roof["terabytes_per_second"], 3)
    best = max(row["of a copy's"] for row in rows)
    return [roof, *rows, {"best": best, "to reach": ENOUGH, "reached": best >= ENOUGH}]


def _timed(built: Built, threads: int, values: np.ndarray) -> Results:
    sums = np.empty(LARGE, "float32")
    built(values, sums)
    right = bool(np.array_equal(sums, values.sum(axis=1)))  # whole numbers: exact in any order
    timing = built.time(values, sums, seconds=SECONDS)
    speed = (values.nbytes + sums.nbytes) / timing.median / 1e12
    return {
        "label": f"row sum of {LARGE} x {LARGE}, {threads} threads a row",
        "agrees": right,
        "seconds": timing.median,
        "terabytes_per_second": float(f"{speed:.3g}"),
    }
