"""Lesson 12's schedules on the GPU: each right in every cell, and timed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import workbench as wb
from benchmarks import large_jobs
from benchmarks.large_jobs import Job
from benchmarks.steps import Results
from workbench.lesson.spaces import layer, tile_layer
from workbench.runtime import recorded


def large() -> Iterator[tuple[str, wb.Schedule]]:
    """Those that its labs stand at, and the fastest of its space."""
    for name, tiles in (
        ("tutorial", ((4, 128, 1), (1, 1, 7), (7, 1, 1), 4)),
        ("rows to blocks", ((8, 64, 1), (7, 1, 1), (1, 7, 1), 8)),
        ("the fastest", ((16, 32, 1), (7, 1, 1), (1, 7, 1), 8)),
    ):
        sch = wb.Schedule(layer())
        tile_layer(sch, *tiles)
        yield f"lesson 12, {name}", wb.Schedule(sch.func)


def measure(results: Results, runs: list[recorded.Run]) -> list[Results]:
    """Each against NumPy's sums of whole numbers, which are exact, and timed."""
    rng = np.random.default_rng(2)
    shapes = [param.shape for param in layer().params[:3]]
    whole = tuple(rng.integers(-3, 4, shape).astype("float32") for shape in shapes)
    usual = tuple(rng.standard_normal(shape, "float32") for shape in shapes)
    job = Job(whole, _expected(*whole), usual, 2 * whole[1].size * 7 * 7)
    return large_jobs.run(large(), job, results, runs)


def _expected(data: np.ndarray, kernel: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The layer, a product of matrices for each of the 3 x 3 weights."""
    padded = np.pad(data[0], ((0, 0), (1, 1), (1, 1)))
    sums = sum(
        np.einsum("oc,chw->ohw", kernel[:, :, y, x], padded[:, y : y + 7, x : x + 7])
        for y in range(3)
        for x in range(3)
    )
    return np.maximum(sums + bias[0], 0)[None].astype("float32")
