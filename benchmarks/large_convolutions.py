"""The tutorial's convolution on the GPU: every step, TVM's own text of it, our best."""

from __future__ import annotations

from functools import partial
from math import prod

import numpy as np

import workbench as wb
from benchmarks import large_jobs
from benchmarks.beside import beside, our_text, tvm_text
from benchmarks.convolutions import (
    BATCH,
    CHANNELS,
    FILTERS,
    SIZE,
    convolution,
    lesson_large,
    lesson_small,
    tiled,
    tutorial,
)
from benchmarks.large_jobs import Job
from benchmarks.steps import Results
from workbench.runtime import recorded

fetched_ahead = partial(tiled, ahead=True)
NAMES = ("A", "W", "B")
MOST, LEAST = 1.01, 1.38  # of TVM's time by the same steps; times faster by our best


def job() -> Job:
    """The tutorial's arrays, and windows over whole numbers: exact in any order."""
    return job_of(SIZE, BATCH, CHANNELS, FILTERS)


def job_of(size: int, batch: int, channels: int, filters: int) -> Job:
    """The same of other sizes."""
    image, window = (size, size, channels, batch), (3, 3, channels, filters)
    whole, usual = large_jobs.inputs(image, window)
    a, w = whole
    padded = np.pad(a, ((1, 1), (1, 1), (0, 0), (0, 0)))
    result = np.zeros((size, size, filters, batch), "float32")
    for ry, rx in np.ndindex(3, 3):
        result += w[ry, rx].T @ padded[ry : ry + size, rx : rx + size]
    return Job(whole, result, usual, flops=2 * result.size * prod(window[:3]))


def run_convolutions(results: Results, runs: list[recorded.Run]) -> list[Results]:
    """Every step of lesson 6 that has enough threads, the tutorial's kernel and our best."""
    source = [
        *(
            (name, wb.Schedule(steps(wb.Schedule(convolution())).func))
            for name, steps in (("tutorial", tutorial), ("tiled", tiled), ("ahead", fetched_ahead))
        ),
        ("lesson 6", lesson_large()),
    ]
    small = [("lesson 6 in small", lesson_small())]
    rows = large_jobs.run(small, job_of(4, 64, 16, 64), results, runs)
    return rows + large_jobs.run(source, job(), results, runs)


def beside_tvm() -> list[Results]:
    """The tutorial's steps, and our best, beside TVM's text of the tutorial's steps."""
    work, theirs = job(), tvm_text("convolution")
    rows = []
    for name, steps in (("the tutorial's steps", tutorial), ("our best", fetched_ahead)):
        ours = our_text(wb.build(steps(wb.Schedule(convolution()))))
        rows.append({"name": name} | beside({"ours": ours, "TVM's": theirs}, NAMES, work))
    same, best = rows
    same |= {"to reach": MOST, "reached": same["ours / TVM's"] <= MOST}
    best["times faster"] = round(1 / best["ours / TVM's"], 3)
    best |= {"to reach": LEAST, "reached": best["times faster"] >= LEAST}
    return rows
