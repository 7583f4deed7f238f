"""Lesson 8's schedules on the GPU: each right in every cell, and timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import workbench as wb
from benchmarks import large_jobs
from benchmarks.large_jobs import Job
from benchmarks.matmuls import matmul
from benchmarks.steps import Results
from workbench import lesson
from workbench.runtime import recorded

N = 1024
SQUARE = (N, N)
STEPS: dict[str, Callable[[wb.Schedule], None]] = {
    "first": partial(lesson.in_registers, tile=(4, 4), threads=(16, 16), depth=4, along="i"),
    "first, mended": partial(lesson.in_registers, tile=(4, 4), threads=(16, 16), depth=4),
    "second": partial(lesson.in_registers, tile=(8, 8), threads=(2, 2), depth=4),
    "second, mended": partial(lesson.in_registers, tile=(8, 8), threads=(8, 8), depth=4),
    "third, mended": partial(lesson.in_shared, tile=(4, 4), threads=(16, 16), depth=16),
    "fourth": partial(lesson.in_shared, tile=(16, 16), threads=(8, 8), depth=8),
    "fourth, mended": partial(lesson.in_shared, tile=(8, 8), threads=(16, 16), depth=8),
    "fifth, mended": partial(lesson.in_shared, tile=(4, 4), threads=(16, 16), depth=8),
    "sixth": partial(lesson.in_shared, tile=(8, 8), threads=(8, 8), depth=8),
    "sixth, mended": partial(
        lesson.in_shared, tile=(8, 8), threads=(8, 8), depth=8, virtual=(2, 2), pad=4
    ),
}


def large() -> Iterator[tuple[str, wb.Schedule]]:
    """Those that its labs stand at; "third" is "first, mended", and "fifth" is "fourth, mended"."""
    for name, take in STEPS.items():
        sch = wb.Schedule(matmul(N))
        take(sch)
        yield f"lesson 8, {name}", wb.Schedule(sch.func)


def measure(results: Results, runs: list[recorded.Run]) -> list[Results]:
    """Each against NumPy's sums of whole numbers, which are exact, and timed."""
    whole, usual = large_jobs.inputs(SQUARE, SQUARE)
    return large_jobs.run(large(), Job(whole, whole[0] @ whole[1], usual, 2 * N**3), results, runs)
