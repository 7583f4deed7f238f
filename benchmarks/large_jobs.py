"""Kernels of a lesson's size on the GPU: checked whole, in part on the emulator, and timed."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

import numpy as np

import workbench as wb
from benchmarks.steps import SECONDS, Results, Step, note_wrong, run_of, steps
from workbench.diag import Fail
from workbench.runtime import Built, DeviceError, Timing, recorded

FEW_THREADS = 1024  # with fewer, one run of 2^30 multiply-adds may take seconds
MOST_SECONDS = 4  # of one run, with few threads: all samples must end in `SECONDS`


@dataclass(frozen=True)
class Job:
    """What kernels of one job are given: inputs, and the result that whole numbers make exact."""

    whole: tuple[np.ndarray, ...]
    result: np.ndarray
    usual: tuple[np.ndarray, ...]  # values as they come in practice, for the times
    flops: int

    def output(self) -> np.ndarray:
        """An output that nobody has written."""
        return np.full(self.result.shape, np.nan, "float32")


def inputs(*shapes: tuple[int, ...]) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Arrays of whole numbers, whose sums of products are exact in any order, and of usual ones."""
    rng = np.random.default_rng(2)
    whole = tuple(rng.integers(-8, 9, shape).astype("float32") for shape in shapes)
    return whole, tuple(rng.standard_normal(shape).astype("float32") for shape in shapes)


def run(
    source: Iterable[tuple[str, wb.Schedule]],
    job: Job,
    results: Results,
    runs: list[recorded.Run],
) -> list[Results]:
    """Every step of histories that are ways through `job`."""
    known = {run.program for run in runs}
    rows: list[Results] = []
    for step in steps(source):
        row: Results = {"label": step.label, "refused": step.refused}
        rows.append(row)
        if step.built is None:
            continue
        if takes_long(step.built, job):
            row["refused"] = f"not run: one run takes more than {MOST_SECONDS} seconds"
            continue
        timing = _measure(step, row, job)
        if timing is not None and recorded.program_key(step.func) not in known:
            runs.append(run_of(step, timing))
    note_wrong(results, rows)
    return rows


def threads_of(built: Built) -> int:
    """The threads of the whole launch."""
    return prod(built.grid) * prod(built.block)


def takes_long(built: Built, job: Job) -> bool:
    """Whether one run, by few threads, does not end in `MOST_SECONDS`."""
    if threads_of(built) >= FEW_THREADS:
        return False
    start = time.monotonic()
    try:
        built(*job.whole, job.output(), seconds=MOST_SECONDS)
    except DeviceError:
        if time.monotonic() - start < MOST_SECONDS:
            raise
        return True
    return False


def _measure(step: Step, row: Results, job: Job) -> Timing | None:
    assert step.built is not None
    try:
        row["agrees"] = compare_sampled(step.built, job)
        if row["agrees"] != "equal":
            return None
        timing = step.built.time(*job.usual, job.output(), seconds=SECONDS)
    except Fail as fail:
        row["agrees"] = f"FAILED: {fail.headline}"
        return None
    row["seconds"] = timing.median
    row["teraflops"] = float(f"{job.flops / timing.median / 1e12:.3g}")
    return timing


def compare_sampled(built: Built, job: Job) -> str:
    """The whole on the GPU against NumPy's exact result, some blocks against the emulator."""
    on_gpu, emulated = job.output(), job.output()
    built(*job.whole, on_gpu, seconds=SECONDS)
    if not np.array_equal(on_gpu, job.result):
        return "DIFFERS from NumPy"
    chosen = sampled_blocks(built)
    if not chosen:
        return "equal"
    built.emulate(*job.whole, emulated, blocks=chosen)
    seen = ~np.isnan(emulated)
    if not seen.any() or not np.array_equal(on_gpu[seen], emulated[seen]):
        return "DIFFERS from the emulator"
    return "equal"


def sampled_blocks(built: Built) -> list[int]:
    """Which blocks the emulator runs: few where a block is long, none where it takes minutes."""
    blocks, threads = prod(built.grid), threads_of(built)
    count = 3 if threads >= FEW_THREADS else int(blocks >= 64)
    return sorted({round(b) for b in np.linspace(0, blocks - 1, count)})
