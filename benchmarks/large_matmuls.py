"""The matrix multiply of 1024 x 1024 on the GPU: every step, the grid, cuBLAS, TVM's own text."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from math import prod
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import workbench as wb
from benchmarks.matmuls import LARGE, SCHEDULES, grid, large_branches, matmul
from benchmarks.steps import SECONDS, Results, Step, note_wrong, run_of, steps
from workbench.diag import Fail
from workbench.runtime import Built, DeviceError, Timing, recorded
from workbench.runtime.gpu import between_events, graph_sample, runs_per_sample
from workbench.runtime.vendor import time_matmul

TVM_TEXT = Path(__file__).parent / "tvm_text"
FEW_THREADS = 1024  # with fewer, one run of 2^30 multiply-adds may take seconds
MOST_SECONDS = 4  # of one run, with few threads: all samples must end in `SECONDS`
FLOPS = 2 * LARGE**3
ROUNDS = 60


def run_matmuls(results: Results, runs: list[recorded.Run]) -> list[Results]:
    """Every step of the lessons' histories at the course's size."""
    return _run([("matrix multiply of 1024 x 1024", large_branches())], results, runs)


def run_grid(results: Results, runs: list[recorded.Run]) -> list[Results]:
    """Shared-memory blocking with each of lesson 4's tile sizes: only the finished schedules."""
    return _run([(name, wb.Schedule(sch.func)) for name, sch in grid()], results, runs)


def _run(
    source: Iterable[tuple[str, wb.Schedule]], results: Results, runs: list[recorded.Run]
) -> list[Results]:
    sample = Sample()
    known = {run.program for run in runs}
    rows: list[Results] = []
    for step in steps(source):
        row: Results = {"label": step.label, "refused": step.refused}
        rows.append(row)
        if step.built is None:
            continue
        if takes_long(step.built, sample):
            row["refused"] = f"not run: one run takes more than {MOST_SECONDS} seconds"
            continue
        timing = _measure(step, row, sample)
        if timing is not None and recorded.program_key(step.func) not in known:
            runs.append(run_of(step, timing))
    note_wrong(results, rows)
    return rows


def threads_of(built: Built) -> int:
    """The threads of the whole launch."""
    return prod(built.grid) * prod(built.block)


def takes_long(built: Built, sample: Sample) -> bool:
    """Whether one run, by few threads, does not end in `MOST_SECONDS`."""
    if threads_of(built) >= FEW_THREADS:
        return False
    start = time.monotonic()
    try:
        built(*sample.whole, sample.output(), seconds=MOST_SECONDS)
    except DeviceError:
        if time.monotonic() - start < MOST_SECONDS:
            raise
        return True
    return False


class Sample:
    """Matrices, their exact product, and matrices of usual values for the times."""

    def __init__(self) -> None:
        rng = np.random.default_rng(2)
        shape = (LARGE, LARGE)
        self.whole = [rng.integers(-8, 9, shape).astype("float32") for _ in "AB"]
        self.product = (self.whole[0].astype("int32") @ self.whole[1].astype("int32")).astype(
            "float32"
        )
        self.usual = [rng.standard_normal(shape).astype("float32") for _ in "AB"]

    def output(self) -> np.ndarray:
        """An output that nobody has written."""
        return np.full((LARGE, LARGE), np.nan, "float32")


def _measure(step: Step, row: Results, sample: Sample) -> Timing | None:
    assert step.built is not None
    try:
        row["agrees"] = compare_sampled(step.built, sample)
        if row["agrees"] != "equal":
            return None
        timing = step.built.time(*sample.usual, sample.output(), seconds=SECONDS)
    except Fail as fail:
        row["agrees"] = f"FAILED: {fail.headline}"
        return None
    row["seconds"] = timing.median
    row["teraflops"] = float(f"{FLOPS / timing.median / 1e12:.3g}")
    return timing


def compare_sampled(built: Built, sample: Sample) -> str:
    """The whole on the GPU against NumPy's exact product, some blocks against the emulator."""
    on_gpu, emulated = sample.output(), sample.output()
    built(*sample.whole, on_gpu, seconds=SECONDS)
    if not np.array_equal(on_gpu, sample.product):
        return "DIFFERS from NumPy"
    chosen = sampled_blocks(built)
    if not chosen:
        return "equal"
    built.emulate(*sample.whole, emulated, blocks=chosen)
    seen = ~np.isnan(emulated)
    if not seen.any() or not np.array_equal(on_gpu[seen], emulated[seen]):
        return "DIFFERS from the emulator"
    return "equal"


def sampled_blocks(built: Built) -> list[int]:
    """Which blocks the emulator runs: few where a block is long, none where it takes minutes."""
    blocks, threads = prod(built.grid), threads_of(built)
    count = 3 if threads >= FEW_THREADS else int(blocks >= 64)
    return sorted({round(b) for b in np.linspace(0, blocks - 1, count)})


def cublas(runs: list[recorded.Run]) -> Results:
    """cuBLAS in float32 on the same product, by the protocol of our own times."""
    sample = Sample()
    a, b = sample.usual
    timing = time_matmul(a, b)
    key = recorded.vendor_key("matmul", a.shape, b.shape)
    runs.append(recorded.Run(key, "cuBLAS, float32 without TF32", timing))
    teraflops = float(f"{FLOPS / timing.median / 1e12:.3g}")
    return {"seconds": timing.median, "teraflops": teraflops, "steady": timing.steady}


def beside_tvm() -> list[Results]:
    """Ours over TVM's time: both texts compiled by NVRTC with the same options, timed in turn."""
    launches = json.loads((TVM_TEXT / "launches.json").read_text())
    return [
        _beside(name, wb.build(steps_of(wb.Schedule(matmul(LARGE)), *tiles)), launches[name])
        for name, steps_of, tiles in SCHEDULES
    ]


def _beside(name: str, ours: Built, launch: dict[str, Any]) -> Results:
    import cupy

    sample = Sample()
    a, b = (cupy.asarray(array) for array in sample.whole)
    texts = {"ours": ours.source, "TVM's": tvm_source(name)}
    shapes = {"ours": (ours.grid, ours.block), "TVM's": (launch["grid"], launch["block"])}
    stream = cupy.cuda.Stream(non_blocking=True)
    samples: dict[str, Callable[[], float]] = {}
    row: Results = {"name": name, "tvm": launch["tvm"], "wrong": []}
    for who, text in texts.items():
        module = cupy.RawModule(code=text, options=("-std=c++17",))
        function = module.get_function("main_kernel")
        c = cupy.full((LARGE, LARGE), cupy.nan, dtype="float32")
        cupy.cuda.Device().synchronize()
        grid_, block = (tuple(size) for size in shapes[who])
        with stream:
            work = _launch(function, grid_, block, (a, b, c))
            once = between_events(stream, work)
            samples[who] = graph_sample(stream, work, runs_per_sample(once))
        if not np.array_equal(c.get(), sample.product):
            row["wrong"].append(who)
        row[f"{who} registers"] = function.num_regs
        row[f"{who} bytes spilled"] = function.local_size_bytes
    pairs = [{who: take() for who, take in samples.items()} for _ in range(ROUNDS)]
    for who in texts:
        row[f"{who} seconds"] = median(pair[who] for pair in pairs)
    row["ours / TVM's"] = round(median(pair["ours"] / pair["TVM's"] for pair in pairs), 4)
    return row


def _launch(
    function: Any, size: tuple[int, ...], block: tuple[int, ...], arrays: tuple[Any, ...]
) -> Callable[[], None]:
    return lambda: function(size, block, arrays)


def tvm_source(name: str) -> str:
    """TVM's kernel; its head, type names that it does not use, needs headers NVRTC may not have."""
    text = (TVM_TEXT / f"{name}.cu").read_text()
    return text[text.index('extern "C"') :]
