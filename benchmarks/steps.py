"""A step of a history on the GPU: whether it builds, what it computes, how long it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import workbench as wb
from benchmarks.histories import path_text
from workbench.diag import Fail
from workbench.ir import BlockRealize, PrimFunc, walk
from workbench.lower import least_target
from workbench.runtime import Built, Timing, recorded
from workbench.runtime.arguments import written_params
from workbench.schedule import ScheduleError

Results = dict[str, Any]
Check = Callable[["Step", list[np.ndarray]], str]

SECONDS = 60.0  # for all samples of one time; some steps on the way are slow


@dataclass(frozen=True)
class Step:
    """One program of a history: how it came about, and its kernels or why there are none."""

    label: str
    func: PrimFunc
    built: Built | None
    refused: str


def steps(source: Iterable[tuple[str, wb.Schedule]]) -> Iterator[Step]:
    """Every different program of the histories, each once."""
    seen = set()
    for name, sch in source:
        for node in sch.history:
            key = recorded.program_key(node.func)
            if key not in seen:
                seen.add(key)
                yield built_step(f"{name}: {path_text(node)}", node.func)


def built_step(label: str, func: PrimFunc) -> Step:
    """The kernels of one program, or why there are none."""
    try:
        return Step(label, func, wb.build(func, least_target(func)), "")
    except ScheduleError as error:
        return Step(label, func, None, error.headline)


def arrays_of(func: PrimFunc, rng: np.random.Generator) -> list[np.ndarray]:
    """Random inputs; outputs full of NaN, so that a cell that nobody writes is seen.

    A program that sums products gets whole numbers: a GPU multiplies and adds in one rounding,
    which the emulator does not, and they make no rounding.
    """
    written = written_params(func)
    whole = any(
        iter_var.kind == "reduce"
        for node in walk(func.body)
        if isinstance(node, BlockRealize)
        for iter_var in node.block.iter_vars
    )
    return [
        np.full(buffer.shape, np.nan, buffer.dtype)
        if buffer in written
        else _values(buffer.shape, whole, rng).astype(buffer.dtype)
        for buffer in func.params
    ]


def _values(shape: tuple[int, ...], whole: bool, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(-8, 9, shape) if whole else rng.standard_normal(shape)


def measure(step: Step, row: Results, arrays: list[np.ndarray], check: Check) -> Timing | None:
    """Check one step, and time it if it is right; what came of it is noted in `row`."""
    assert step.built is not None
    try:
        row["agrees"] = check(step, arrays)
        if row["agrees"] != "equal":
            return None
        timing = step.built.time(*arrays, seconds=SECONDS)
    except Fail as fail:
        row["agrees"] = f"FAILED: {fail.headline}"
        return None
    row["seconds"] = timing.median
    return timing


def note_wrong(results: Results, rows: list[Results]) -> None:
    """Every row that came out wrong is an error of the whole run."""
    wrong = [row for row in rows if row.get("agrees", "equal") != "equal"]
    results["errors"] += [f"{row['label']}: {row['agrees']}" for row in wrong]


def run_of(step: Step, timing: Timing) -> recorded.Run:
    """A time as it is recorded. It is installed with the lessons: no exercise's steps are told."""
    label, _, _ = step.label.partition(": ")
    told = label if label.startswith("exercise, ") else step.label
    return recorded.Run(recorded.program_key(step.func), told, timing)
