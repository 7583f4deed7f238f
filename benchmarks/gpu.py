"""Everything that needs a GPU, in one run: ``OUT=<folder> python3 -m benchmarks.gpu``.

Runs both lessons' histories at every step that builds, compares with the emulator and with the
program's meaning, times them beside the vendor's kernels and the roof, lets kernels fail on
purpose, and checks all of them with compute-sanitizer. Writes to OUT: recorded.json (for
workbench/runtime/recorded/), results.json (for benchmarks/results/), report.txt.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from benchmarks import isolation, sanitize, vendor
from benchmarks.histories import histories, large, path_text
from workbench.diag import Fail
from workbench.emulate import evaluate
from workbench.ir import PrimFunc
from workbench.runtime import Built, Timing, recorded
from workbench.runtime.arguments import written_params
from workbench.schedule import ScheduleError

Results = dict[str, Any]
Check = Callable[["Step", list[np.ndarray]], str]


@dataclass(frozen=True)
class Step:
    """One program of a history: how it came about, and its kernels or why there are none."""

    label: str
    func: PrimFunc
    built: Built | None
    refused: str


def steps(source: Iterator[tuple[str, wb.Schedule]]) -> Iterator[Step]:
    """Every different program of the histories, each once."""
    seen = set()
    for name, sch in source:
        for node in sch.history:
            key = recorded.program_key(node.func)
            if key in seen:
                continue
            seen.add(key)
            label = f"{name}: {path_text(node)}"
            try:
                yield Step(label, node.func, wb.build(node.func), "")
            except ScheduleError as error:
                yield Step(label, node.func, None, error.headline)


def arrays_of(func: PrimFunc, rng: np.random.Generator) -> list[np.ndarray]:
    """Random inputs; outputs full of NaN, so that a cell that nobody writes is seen."""
    written = written_params(func)
    return [
        np.full(buffer.shape, np.nan, buffer.dtype)
        if buffer in written
        else rng.standard_normal(buffer.shape).astype(buffer.dtype)
        for buffer in func.params
    ]


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


def measure(step: Step, row: Results, arrays: list[np.ndarray], check: Check) -> Timing | None:
    """Check one step, and time it if it is right; what came of it is noted in `row`."""
    assert step.built is not None
    try:
        row["agrees"] = check(step, arrays)
        if row["agrees"] != "equal":
            return None
        timing = step.built.time(*arrays)
    except Fail as fail:
        row["agrees"] = f"FAILED: {fail.headline}"
        return None
    row["seconds"] = timing.median
    return timing


def run_histories(results: Results, runs: list[recorded.Run], kernels: list[Built]) -> None:
    """Compare and time every step of the lessons' histories."""
    rng = np.random.default_rng(0)
    rows = results["steps"] = []
    for step in steps(histories()):
        row: Results = {"label": step.label, "refused": step.refused}
        rows.append(row)
        if step.built is not None:
            kernels.append(step.built)
            timing = measure(step, row, arrays_of(step.func, rng), compare)
            runs += [run_of(step, timing)] if timing else []
    _note_wrong(results, rows)


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
    _note_wrong(results, rows)


def _note_wrong(results: Results, rows: list[Results]) -> None:
    wrong = [row for row in rows if row.get("agrees", "equal") != "equal"]
    results["errors"] += [f"{row['label']}: {row['agrees']}" for row in wrong]


def run_of(step: Step, timing: Timing) -> recorded.Run:
    """A time as it is recorded."""
    return recorded.Run(recorded.program_key(step.func), step.label, timing)


def report(results: Results) -> str:
    """The results as a text that fits on a screen or two."""
    lines = [str(results["device"]), ""]
    for row in results.get("steps", []) + results.get("large", []):
        lines.append(f"{_outcome(row):<34} {row['label']}")
    lines.append("")
    for row in results.get("vendor", []):
        speed = f"{row['seconds'] * 1e6:.3g} µs, {row['terabytes_per_second']} TB/s"
        lines.append(f"{speed:<34} {row['name']}")
    keep = ("card", "faults", "full", "idle", "sanitizer", "errors", "seconds")
    lines += [f"{key}: {json.dumps(results.get(key), indent=1)}" for key in keep]
    return "\n".join(lines)


def _outcome(row: Results) -> str:
    if row["refused"]:
        return "no kernel"
    if "seconds" not in row:
        return row.get("agrees", "FAILED")
    speed = f", {row['terabytes_per_second']} TB/s" if "terabytes_per_second" in row else ""
    return f"{row['agrees']}, {row['seconds'] * 1e6:.3g} µs{speed}"


def main() -> int:
    """Run every part; a part that fails is told and does not stop the others."""
    warnings.simplefilter("ignore", wb.ScheduleWarning)  # wasteful steps are measured on purpose
    out = Path(os.environ.get("OUT", "."))
    device = wb.device()
    results: Results = {"device": str(device), "date": date.today().isoformat(), "errors": []}
    if not device.is_gpu:
        print(device)
        return 1
    runs: list[recorded.Run] = []
    kernels: list[Built] = []
    arch = device.gpu.arch if device.gpu else ""
    parts: dict[str, Callable[[], object]] = {
        "card": vendor.card,
        "histories": lambda: run_histories(results, runs, kernels),
        "sanitizer": lambda: sanitize.sanitize(kernels, arch),
        "faults": isolation.faulty_kernels,
        "full": isolation.full_card,
        "idle": isolation.idle_worker,
        "large arrays": lambda: run_large(results, runs),
        "vendor": vendor.vendor_times,
    }
    seconds = results["seconds"] = {}
    for name, part in parts.items():
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


def write(out: Path, device: str, results: Results, runs: list[recorded.Run]) -> None:
    """Everything so far, so that a run that is cut short leaves what it had."""
    (out / "recorded.json").write_text(recorded.to_json(device, results["date"], runs))
    (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (out / "report.txt").write_text(report(results) + "\n")


if __name__ == "__main__":
    sys.exit(main())
