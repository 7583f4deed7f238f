"""Lesson 10's schedules on the GPU: each right in every cell, timed, and beside TVM's by turns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import workbench as wb
from benchmarks import large_jobs
from benchmarks.beside import beside, our_text, tvm_text
from benchmarks.large_jobs import Job
from benchmarks.steps import Results
from tests.support.tensor_core_conv import Sizes, expected, tensorized
from workbench.lesson.tile_convolutions import on_tensor_cores, tile_convolution
from workbench.runtime import recorded

SMALL = Sizes(batch=4, side=2, inputs=4, outputs=4)
NAMES = ("A", "W", "Conv")
TVM_TEXTS = {  # of the same steps
    "as scheduled": "tensor_core_convolution",
    "with TVM's loops unrolled, as in its tutorial": "tensor_core_convolution_unrolled",
}


def small() -> tuple[str, wb.Schedule]:
    """The one that the lesson begins with."""
    return "lesson 10 in small", wb.Schedule(on_tensor_cores(_program(SMALL)))


def large() -> Iterator[tuple[str, wb.Schedule]]:
    """Those that it compares, in the tutorial's size."""
    for name, tiles, vector in (
        ("one tile", (1, 1), 1),
        ("tutorial", (2, 4), 1),
        ("by vectors", (2, 4), 8),
    ):
        func = on_tensor_cores(_program(Sizes()), (4, 2), tiles, vector=vector)
        yield f"lesson 10, {name}", wb.Schedule(func)


def measure(results: Results, runs: list[recorded.Run]) -> list[Results]:
    """Each against NumPy's sums of whole numbers, which are exact, and timed."""
    rows = large_jobs.run([small()], _job(SMALL), results, runs)
    return [*rows, *large_jobs.run(large(), _job(Sizes()), results, runs)]


def beside_tvm() -> list[Results]:
    """The steps of TVM's tutorial beside TVM's texts of them, which need ``mma.h``: all by nvcc."""
    work, ours = _job(Sizes()), our_text(wb.build(tensorized(Sizes()), target="cuda"))
    rows = []
    for name, text in TVM_TEXTS.items():
        texts = {"ours": ours, "TVM's": tvm_text(text, head=True)}
        rows.append({"name": name} | beside(texts, NAMES, work, "nvcc"))
    return rows


def _program(of: Sizes) -> wb.ir.PrimFunc:
    return tile_convolution(of.side, of.inputs, of.outputs, of.batch)


def _job(of: Sizes) -> Job:
    rng = np.random.default_rng(2)
    shapes = [p.shape for p in _program(of).params]
    a, w = (rng.integers(-3, 4, shape).astype("float16") for shape in shapes[:2])
    usual = tuple(rng.standard_normal(shape, "float32").astype("float16") for shape in shapes[:2])
    flops = 2 * 9 * 16 * of.inputs * int(np.prod(shapes[2]))
    return Job((a, w), expected(of, a, w), usual, flops)
