"""Everything that needs a GPU, in one run: ``OUT=<folder> python3 -m benchmarks.gpu [part …]``.

Runs the lessons' histories at every step that builds, compares with the emulator and with the
program's meaning, times them beside the vendor's kernels, TVM's text and the roof, lets kernels
fail on purpose, checks all of them with compute-sanitizer, and reads the GPU's counters. Writes to
OUT: recorded.json (for workbench/runtime/recorded/), results.json (for benchmarks/results/),
counters.json, counted.json (for workbench/insight/recorded.json), ncu.csv, report.txt.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from datetime import date
from math import prod
from pathlib import Path

import numpy as np

import workbench as wb
from benchmarks import (
    any_size,
    choices,
    counters,
    half_products,
    isolation,
    large_convolutions,
    large_matmuls,
    modelled,
    rates,
    residents,
    sanitize,
    shared_sums,
    sharing,
    slow_products,
    tensor_cores,
    tile_convolutions,
    tiled_layers,
    vendor,
)
from benchmarks.histories import histories, large
from benchmarks.steps import Results, Step, arrays_of, measure, note_wrong, run_of, steps
from workbench.emulate import evaluate
from workbench.runtime import Built, recorded

MOST_CELLS = 2**18  # of the arrays of a program that is sanitized: racecheck is slow


def compare(step: Step, given: list[np.ndarray]) -> str:
    """Run on the GPU, on the emulator and by meaning; "equal", or what differs."""
    assert step.built is not None
    on_gpu, emulated, meant = ([array.copy() for array in given] for _ in range(3))
    step.built(*on_gpu)
    step.built.emulate(*emulated)
    evaluate(step.func, meant)
    for name, other in (("emulator", emulated), ("meaning", meant)):
        if not all(map(np.array_equal, on_gpu, other)):
            return f"DIFFERS from the {name}"
    return "equal"


def compare_large(step: Step, arrays: list[np.ndarray]) -> str:
    """Run on the GPU and compare with NumPy's own arithmetic in the same order."""
    assert step.built is not None
    step.built(*arrays)
    if len(arrays) == 3:
        expected = arrays[0] + arrays[1]
    else:
        n = arrays[1].size
        expected = (arrays[0][:n] + arrays[0][1 : n + 1]) + arrays[0][2 : n + 2]
    return "equal" if np.array_equal(arrays[-1], expected) else "DIFFERS from NumPy"


def run_histories(results: Results, runs: list[recorded.Run], kernels: list[Built]) -> None:
    """Compare and time every step of the lessons' histories."""
    rng = np.random.default_rng(0)
    rows = results["steps"] = []
    for step in steps(histories()):
        row: Results = {"label": step.label, "refused": step.refused}
        rows.append(row)
        if step.built is not None:
            if sum(prod(buffer.shape) for buffer in step.func.params) <= MOST_CELLS:
                kernels.append(step.built)
            timing = measure(step, row, arrays_of(step.func, rng), compare)
            runs += [run_of(step, timing)] if timing else []
    note_wrong(results, rows)


def run_large(results: Results, runs: list[recorded.Run]) -> None:
    """The same histories on arrays that fill the card: bytes a second beside the roof."""
    rng = np.random.default_rng(1)
    rows = results["large"] = []
    for step in steps(large()):
        row: Results = {"label": step.label, "refused": step.refused}
        rows.append(row)
        if step.built is None:
            continue
        if step.built.block == (1, 1, 1) or step.built.grid == (1, 1, 1):
            row["refused"] = "not run: one thread a block or one block in all, minutes at this size"
            continue
        arrays = arrays_of(step.func, rng)
        timing = measure(step, row, arrays, compare_large)
        if timing:
            moved = sum(array.nbytes for array in arrays)
            row["terabytes_per_second"] = float(f"{moved / timing.median / 1e12:.3g}")
            runs.append(run_of(step, timing))
    note_wrong(results, rows)


def report(results: Results) -> str:
    """The results as a text that fits on a screen or two."""
    lines = [str(results["device"]), ""]
    for part in ("steps", "large", "matrix multiply", "tile sizes", "convolution"):
        for row in results.get(part, []):
            lines.append(f"{_outcome(row):<34} {row['label']}")
    lines.append("")
    for row in results.get("vendor", []):
        speed = f"{row['seconds'] * 1e6:.3g} µs, {row['terabytes_per_second']} TB/s"
        lines.append(f"{speed:<34} {row['name']}")
    keep = (
        "libraries",
        "beside TVM",
        "values kept",
        "beside cuBLAS",
        "asynchronous copies",
        "convolution beside TVM",
        "counters",
        "card",
        "residents",
        "faults",
        "lock",
        "idle",
        "sanitizer",
        "shared sums",
        "row sum",
        "tensor cores",
        "mma.sync beside cuBLAS",
        "mma.sync, convolution",
        "lesson 8",
        "lesson 10",
        "lesson 10 beside TVM",
        "lesson 11",
        "lesson 11 beside cuBLAS",
        "lesson 12",
        "any size",
        "any size, time",
        "choices",
        "errors",
        "seconds",
    )
    lines += [f"{key}: {json.dumps(results.get(key), indent=1)}" for key in keep]
    return "\n".join(lines)


def _outcome(row: Results) -> str:
    if row["refused"]:
        return "not run" if row["refused"].startswith("not run") else "no kernel"
    if "seconds" not in row:
        return row.get("agrees", "FAILED")
    speed = f", {row['terabytes_per_second']} TB/s" if "terabytes_per_second" in row else ""
    speed += f", {row['teraflops']} TFLOP/s" if "teraflops" in row else ""
    return f"{row['agrees']}, {row['seconds'] * 1e6:.3g} µs{speed}"


def parts_of(
    results: Results, runs: list[recorded.Run], out: Path, device: wb.runtime.DeviceReport
) -> dict[str, Callable[[], object]]:
    """Every part by its name, in the order in which they run."""
    kernels: list[Built] = []
    arch = device.gpu.arch if device.gpu else ""
    return {
        "card": vendor.card,
        "histories": lambda: run_histories(results, runs, kernels),
        "asynchronous copies": lambda: large_matmuls.asynchronous(kernels),
        "sanitizer": lambda: sanitize.sanitize(kernels, arch),
        "faults": isolation.faults,
        "lock": sharing.shared_card,
        "idle": isolation.idle_worker,
        "shared sums": shared_sums.compare_small,
        "row sum": shared_sums.time_large,
        "tensor cores": tensor_cores.compare,
        "mma.sync beside cuBLAS": tensor_cores.beside_cublas,
        "mma.sync, convolution": tensor_cores.convolutions,
        "lesson 8": lambda: slow_products.measure(results, runs),
        "lesson 10": lambda: tile_convolutions.measure(results, runs),
        "lesson 10 beside TVM": tile_convolutions.beside_tvm,
        "lesson 11": lambda: half_products.measure(results, runs),
        "lesson 11 beside cuBLAS": half_products.beside_cublas,
        "lesson 12": lambda: tiled_layers.measure(results, runs),
        "any size": any_size.compare,
        "any size, time": any_size.time_one,
        "choices": choices.compare,
        "large arrays": lambda: run_large(results, runs),
        "vendor": vendor.vendor_times,
        "libraries": lambda: vendor.libraries(runs),
        "beside TVM": large_matmuls.beside_tvm,
        "values kept": large_matmuls.values_kept,
        "beside cuBLAS": large_matmuls.beside_cublas,
        "matrix multiply": lambda: large_matmuls.run_matmuls(results, runs),
        "tile sizes": lambda: large_matmuls.run_grid(results, runs),
        "convolution": lambda: large_convolutions.run_convolutions(results, runs),
        "convolution beside TVM": large_convolutions.beside_tvm,
        "counters": lambda: write_counters(out, device.which, arch),
        "residents": residents.measure,
        "rates": rates.measure,
        "modelled": modelled.measure,
    }


def main(*asked: str) -> int:
    """Run every part, or those asked for; one that fails is told and does not stop the others."""
    warnings.simplefilter("ignore", wb.ScheduleWarning)  # wasteful steps are measured on purpose
    out = Path(os.environ.get("OUT", "."))
    device = wb.device()
    results: Results = {"device": str(device), "date": date.today().isoformat(), "errors": []}
    if not device.is_gpu:
        print(device)
        return 1
    runs: list[recorded.Run] = []
    parts = parts_of(results, runs, out, device)
    seconds = results["seconds"] = {}
    for name in asked or parts:
        part = parts[name]
        start = time.perf_counter()
        try:
            value = part()
            if value is not None:
                results[name] = value
        except Exception:  # the other parts' results are worth having
            results["errors"].append(f"{name}: {traceback.format_exc(limit=-4)}")
        seconds[name] = round(time.perf_counter() - start, 1)
        write(out, device.which, results, runs)
    print(report(results))
    return 1 if results["errors"] else 0


def write_counters(out: Path, device: str, arch: str) -> Results:
    """Counters of all kernels, in files of their own; how many are in them."""
    found = {"device": device, "arch": arch, "date": date.today().isoformat()}
    found |= counters.counters(out / "ncu.csv")
    (out / "counters.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "counted.json").write_text(counters.shipped(found))
    return {"kernels": len(found["kernels"]), "left out": found["left out"]}


def write(out: Path, device: str, results: Results, runs: list[recorded.Run]) -> None:
    """Everything so far, so that a run that is cut short leaves what it had."""
    (out / "recorded.json").write_text(recorded.to_json(device, results["date"], runs))
    (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (out / "report.txt").write_text(report(results) + "\n")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
