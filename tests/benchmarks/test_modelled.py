"""The modelled time against what an H200 measured of drawn, recorded and mended schedules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from benchmarks.convolutions import lesson_large
from benchmarks.drawn import DRAWERS, SLOW, drawn
from benchmarks.histories import LARGE as MOST
from benchmarks.histories import add_branches, histories, vector_add, window_branches
from benchmarks.histories import window_sum as sums
from benchmarks.matmuls import (
    GRID,
    LARGE,
    ahead_large,
    blocking_with_shared,
    large_branches,
    matmul,
)
from benchmarks.modelled import slow_schedule
from tests.support.every import EVERY
from workbench import insight, target
from workbench.ir import Kernel, PrimFunc
from workbench.runtime import recorded

H200 = target.get("nvidia/h200")
MEASURED = json.loads(
    (Path(__file__).parents[2] / "benchmarks/results/modelled-h200.json").read_text()
)
# what each mending of a slow schedule is about, as `why` names it
NAMES = {
    "coalescing": "coalescing",
    "reuse": "reuse",
    "conflicts": "conflicts",
    "occupancy": "idle multiprocessors",
    "latency": "latency",
    "launch": "launch",
}


def number_of(row: dict[str, Any]) -> int:
    return int(row["name"].partition(":")[0].rsplit(" ", 1)[1])


def kernels_of(func: object) -> tuple[Kernel, ...]:
    assert isinstance(func, PrimFunc)
    lowered = insight.lowered_of(func)
    return lowered.kernels if lowered else ()


def rank_correlation(a: list[float], b: list[float]) -> float:
    """Spearman's."""
    ranks = [np.argsort(np.argsort(values)) for values in (a, b)]
    return float(np.corrcoef(*ranks)[0, 1])


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore::workbench.ScheduleWarning")
@pytest.mark.parametrize("family", DRAWERS if EVERY else ["window sum"])
def test_drawn_schedules_are_ranked_as_they_were_measured(family: str):
    rows = MEASURED[family][:: 1 if EVERY else 4]
    found = []
    for row in rows:
        _, sch = drawn(family, number_of(row))
        assert recorded.program_key(sch.func) == row["program"]
        found.append(insight.modelled(kernels_of(sch.func), H200).us)
    assert rank_correlation(found, [row["seconds"] for row in rows]) >= 0.85


@pytest.mark.fuzz
def test_the_fault_that_is_named_first_is_the_one_whose_mending_gains_most():
    seconds = {row["name"]: row["seconds"] for row in MEASURED["slow"]}
    right = 0
    for name, (_, mended) in SLOW.items():
        kernels = kernels_of(slow_schedule(name, "as it is").func)
        times = {seconds[f"{name}: {what}"]: what for what in mended}
        best = times[min(times)]
        right += insight.why(kernels, H200).faults[0].name == NAMES.get(best)
    assert right >= 8


def programs() -> dict[str, PrimFunc]:
    """Programs of the benchmarks by the keys that their times are recorded with."""
    tiles = GRID if EVERY else GRID[::6]
    made = (blocking_with_shared(wb.Schedule(matmul(LARGE)), *one) for one in tiles)
    sources = [
        *(wb.Schedule(sch.func) for sch in made),
        window_branches(sums(MOST), (128,)),
        add_branches(vector_add(MOST), (128,)),
    ]
    if EVERY:
        sources += [large_branches(), ahead_large(), lesson_large()]
        sources += [sch for _, sch in histories()]
    nodes = (node for sch in sources for node in sch.history)
    return {recorded.program_key(n.func): n.func for n in nodes if isinstance(n.func, PrimFunc)}


@pytest.mark.fuzz
def test_no_resource_is_busy_for_longer_than_a_recorded_kernel_took():
    every = programs()
    runs = [run for run in recorded.all_runs() if run.program in every]
    assert len(runs) > 10
    for run in runs:
        found = insight.modelled(kernels_of(every[run.program]), H200)
        assert found.us is not None, found.caption
        assert found.terms[0].us <= run.timing.median * 1e6, (run.label, found.caption)
