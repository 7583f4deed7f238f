"""The script that runs on a GPU machine: what of it can be checked without one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from itertools import chain, count
from pathlib import Path
from types import SimpleNamespace
from weakref import WeakValueDictionary

import numpy as np
import pytest

import workbench as wb
import workbench.lesson
from benchmarks import (
    gpu,
    half_products,
    large_convolutions,
    large_jobs,
    large_matmuls,
    tiled_layers,
)
from benchmarks.beside import our_text, tvm_text
from benchmarks.convolutions import convolution, lesson_large, lesson_small, tiled, tutorial
from benchmarks.histories import histories, large, vector_add, window_sum
from benchmarks.lab_step import percentile_95
from benchmarks.matmuls import (
    LARGE,
    SCHEDULES,
    ahead_large,
    grid,
    large_branches,
    matmul,
    naive,
    slow,
    strided,
)
from benchmarks.sanitize import host_program
from benchmarks.tile_convolutions import TVM_TEXTS, small
from benchmarks.tile_convolutions import large as large_tiles
from tests.support.every import EVERY
from tests.support.lessons import without_tables
from tests.support.ptx import registers
from tests.support.seeds import run_cell
from tests.support.tensor_core_conv import Sizes, tensorized
from workbench.emulate import evaluate
from workbench.history.history import HistoryNode
from workbench.ir import PrimFunc
from workbench.lesson import Exercise
from workbench.runtime import Built, recorded

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sources() -> list[tuple[str, wb.Schedule]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wb.ScheduleWarning)
        return list(histories())


@pytest.fixture(scope="module")
def steps(sources: list[tuple[str, wb.Schedule]]) -> list[gpu.Step]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wb.ScheduleWarning)
        return list(gpu.steps(sources))


@pytest.mark.lesson
def test_every_program_comes_once_with_kernels_or_the_reason(steps: list[gpu.Step]):
    keys = [recorded.program_key(step.func) for step in steps]
    assert len(keys) == len(set(keys)) > 50
    assert all(bool(step.built) != bool(step.refused) for step in steps)
    built = [step.label for step in steps if step.built]
    assert len(built) > 40
    assert any("compute_at" in label and "bind(ax0_1" in label for label in built)


@pytest.mark.lesson
def test_steps_mean_on_the_emulator_what_the_program_means(steps: list[gpu.Step]):
    rng = np.random.default_rng(0)
    built = [step for step in steps if step.built]
    for step in built if EVERY else built[::24]:
        given = gpu.arrays_of(step.func, rng)
        emulated, meant = [a.copy() for a in given], [a.copy() for a in given]
        step.built.emulate(*emulated)
        evaluate(step.func, meant)
        assert all(map(np.array_equal, emulated, meant)), step.label


def test_outputs_start_as_nan_so_that_a_cell_nobody_writes_is_seen():
    a, b, c = gpu.arrays_of(vector_add(8), np.random.default_rng(0))
    assert not np.isnan(a).any() and not np.isnan(b).any() and np.isnan(c).all()


def test_the_large_comparison_finds_a_wrong_cell(monkeypatch):
    rng = np.random.default_rng(0)
    for func in (vector_add(64), window_sum(64)):
        sch = wb.Schedule(func)
        sch.bind("i", "threadIdx.x")
        step = gpu.Step("", func, wb.build(sch), "")
        monkeypatch.setattr(
            type(step.built), "__call__", lambda self, *arrays: self.emulate(*arrays)
        )
        assert gpu.compare_large(step, gpu.arrays_of(func, rng)) == "equal"

        def wrong(self, *arrays):
            self.emulate(*arrays)
            arrays[-1][5] += 1

        monkeypatch.setattr(type(step.built), "__call__", wrong)
        assert gpu.compare_large(step, gpu.arrays_of(func, rng)) == "DIFFERS from NumPy"


def test_the_large_histories_build():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wb.ScheduleWarning)
        built = [step for step in gpu.steps(large()) if step.built]
    assert {step.built.grid for step in built if step.built} >= {(2**19, 1, 1)}


def test_the_host_program_compiles(steps: list[gpu.Step], nvcc: str, tmp_path: Path):
    built = [step.built for step in steps if step.built]
    several = next(one for one in built if len(one.kernels) > 1)
    kernels = [several, *built[-5:]]
    source = tmp_path / "all.cu"
    source.write_text(host_program(kernels))
    done = subprocess.run(
        [nvcc, "-arch=sm_90", "-o", tmp_path / "all", source], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_part_that_fails_is_told_and_does_not_stop_the_report(tmp_path: Path):
    results = {
        "device": "runs on: Fake GPU",
        "date": "2026-11-21",
        "errors": ["vendor: no"],
        "steps": [
            {"label": "a > b", "refused": "", "agrees": "equal", "seconds": 1.5e-6},
            {"label": "a", "refused": "nothing bound"},
            {"label": "c", "refused": "", "agrees": "DIFFERS from the emulator"},
        ],
    }
    gpu.write(tmp_path, "Fake GPU", results, [])
    text = (tmp_path / "report.txt").read_text()
    assert "equal, 1.5 µs                      a > b" in text
    assert "no kernel                          a\n" in text
    assert "DIFFERS from the emulator" in text and "vendor: no" in text
    assert json.loads((tmp_path / "results.json").read_text()) == results
    assert recorded.parse((tmp_path / "recorded.json").read_text()) == ()


@pytest.fixture
def emulated_small(monkeypatch) -> None:
    """ "The GPU" is the emulator."""
    monkeypatch.setattr(wb.runtime.Built, "__call__", lambda self, *a, **_: self.emulate(*a))


def test_the_sampled_comparison_of_products_finds_what_is_wrong(emulated_small, monkeypatch):
    built = wb.build(naive(wb.Schedule(matmul(64)), 16))
    sample = large_matmuls.product(64)
    assert large_jobs.compare_sampled(built, sample) == "equal"

    def wrong(self, *arrays, **_):
        self.emulate(*arrays)
        arrays[-1][63, 5] += 1

    monkeypatch.setattr(wb.runtime.Built, "__call__", wrong)
    assert large_jobs.compare_sampled(built, sample) == "DIFFERS from NumPy"
    right = wb.runtime.Built.emulate

    def off(self, *arrays, blocks=None):
        right(self, *arrays, blocks=blocks)
        arrays[-1][0, 0] += 1 if blocks else 0

    monkeypatch.setattr(wb.runtime.Built, "__call__", lambda self, *a, **_: right(self, *a))
    monkeypatch.setattr(wb.runtime.Built, "emulate", off)
    assert large_jobs.compare_sampled(built, sample) == "DIFFERS from the emulator"


def test_slow_steps_are_left_out_and_say_so(emulated_small, monkeypatch):
    timing = recorded.all_runs()[0].timing
    run, clock = wb.runtime.Built.__call__, count(step=1)

    def call(self, *arrays, seconds=20.0):
        if large_jobs.threads_of(self) < 64:
            raise wb.DeviceError("Can't run main_kernel: it did not end")
        run(self, *arrays)

    monkeypatch.setattr(wb.runtime.Built, "__call__", call)
    monkeypatch.setattr(large_jobs.time, "monotonic", lambda: next(clock) * 10)
    monkeypatch.setattr(wb.runtime.Built, "time", lambda self, *a, **_: timing)
    results, runs = {"errors": []}, []
    source = [("product", naive(wb.Schedule(matmul(64)), 16))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wb.ScheduleWarning)
        rows = large_jobs.run(source, large_matmuls.product(64), results, runs)
    assert [row["refused"].split(":")[0] for row in rows[:4]] == ["Can't build this"] * 4
    assert rows[4]["refused"] == "not run: one run takes more than 4 seconds"
    assert rows[-1]["agrees"] == "equal" and rows[-1]["teraflops"] > 0
    assert len(runs) == sum("seconds" in row for row in rows) > 1 and not results["errors"]


def same_steps() -> dict[str, wb.Schedule]:
    """Ours by the steps of each text of TVM's."""
    ours = {name: of(wb.Schedule(matmul(LARGE)), *tiles) for name, of, tiles in SCHEDULES}
    ours["convolution"] = tutorial(wb.Schedule(convolution()))
    return ours | dict.fromkeys(TVM_TEXTS.values(), tensorized(Sizes()))


@pytest.mark.parametrize(
    "name", ["local_blocking", "shared_blocking", "convolution", *TVM_TEXTS.values()]
)
def test_tvms_text_is_launched_as_ours_and_takes_no_register_less(
    name: str, nvcc: str, tmp_path: Path
):
    ours, theirs = (
        our_text(wb.build(same_steps()[name])),
        tvm_text(name, head=name in TVM_TEXTS.values()),
    )
    assert (theirs.grid, theirs.block) == (ours.grid, ours.block)
    assert sorted(theirs.parameters()) == sorted(ours.parameters())
    assert registers(nvcc, ours.source, tmp_path) <= registers(nvcc, theirs.source, tmp_path)


def test_the_strided_product_is_right():
    built = wb.build(strided(wb.Schedule(matmul(64, 128, 32))))
    rng = np.random.default_rng(6)
    a, b = (rng.integers(-8, 9, shape).astype("float32") for shape in ((64, 32), (32, 128)))
    c = np.full((64, 128), np.nan, "float32")
    built.emulate(a, b, c)
    assert np.array_equal(c, a @ b)


@pytest.mark.parametrize(("steps_of", "channels"), [(tutorial, 64), (tiled, 128)])
def test_the_convolutions_are_right(steps_of, channels: int, monkeypatch):
    sizes = {"SIZE": 2, "BATCH": channels, "CHANNELS": 32, "FILTERS": channels}
    for name, size in sizes.items():
        monkeypatch.setattr(large_convolutions, name, size)
    job = large_convolutions.job()
    built = wb.build(steps_of(wb.Schedule(convolution(2, channels, 32, channels))))
    result = job.output()
    built.emulate(*job.whole, result)
    assert np.array_equal(result, job.result)


def test_percentile():
    assert percentile_95([1.0] * 95 + [9.0] * 5) == pytest.approx(1.0, abs=0.5)


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[HistoryNode]]:
    """Every step of the schedules that a lesson's cells make; of some those that it compares."""
    found = {}
    for lesson in sorted(path.name for path in (ROOT / "lessons").glob("[01]*"))[1:]:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path_factory.mktemp("lesson"))  # where its cells keep pictures
            Path("my-work").mkdir()
            made = [node for sch in schedules_of(lesson, patch) for node in sch.history]
        compared = lesson.startswith(("05", "08", "10", "11", "12"))
        found[lesson] = [node for node in made if node.mark not in ("", "start") or not compared]
    return found


@pytest.mark.lesson
def test_every_step_of_the_lessons_is_timed_by_the_script_and_has_a_recorded_time(
    taught: dict[str, list[HistoryNode]],
    sources: list[tuple[str, wb.Schedule]],
    steps: list[gpu.Step],
):
    """All lessons in one test: the script's programs are made once, and built once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wb.ScheduleWarning)
        timed = [sch for _, sch in sources]
        timed += [large_branches(), ahead_large(), lesson_small(), lesson_large()]
        timed += [sch for _, sch in chain(slow(), grid(), [small()], large_tiles())]
        timed += [sch for _, sch in chain(half_products.small(), half_products.large())]
        timed += [sch for _, sch in tiled_layers.large()]
        known = {recorded.program_key(node.func) for sch in timed for node in sch.history}
        kernels = {recorded.program_key(step.func): step.built for step in steps}
        unknown, missing = [], []
        for lesson, nodes in taught.items():
            searched = lesson.startswith(("05", "12"))  # whose times are those of a record
            assert len(nodes) > (1 if searched else 4), lesson
            for node in nodes:
                key = recorded.program_key(node.func)
                if key in known and recorded.times(node.func):
                    continue
                if key not in kernels:
                    kernels[key] = built_of(node.func)
                built = kernels[key]
                if built is None:
                    continue
                if key not in known:
                    unknown.append(f"{lesson}: {node}")
                # Of a large one with few threads one run may take seconds: the script leaves it out
                large = all(b.shape == (LARGE, LARGE) for b in node.func.params)
                few = large and large_jobs.threads_of(built) < large_jobs.FEW_THREADS
                if not recorded.times(node.func) and not few:
                    missing.append(f"{lesson}: {node}")
    assert not unknown
    assert not missing, "run benchmarks/gpu.py on a GPU and commit its recorded.json"


def built_of(func: PrimFunc) -> Built | None:
    """The kernels of a program, which then have a time; None where it is refused."""
    try:
        return wb.build(func)
    except wb.ScheduleError:
        return None


def schedules_of(lesson: str, monkeypatch: pytest.MonkeyPatch) -> list[wb.Schedule]:
    """Every schedule that a lesson's cells make, the labs left out."""
    lab = SimpleNamespace(to_html=lambda path: None)
    monkeypatch.setattr(wb, "lab", lambda *args, **options: lab)
    monkeypatch.setattr(Exercise, "check", lambda *_: None)  # of no lab, here
    own = WeakValueDictionary()  # what other tests began has their steps in it
    monkeypatch.setattr(sys.modules["workbench.lesson.begin"], "_begun", own)
    cells = json.loads((ROOT / "lessons" / lesson).read_text())["cells"]
    cells = [c for c in cells if c["cell_type"] == "code" and not c["id"].startswith("run-")]
    code = ["".join(c["source"]) for c in cells]
    scope: dict[str, object] = {"__name__": "lesson"}
    with warnings.catch_warnings(), without_tables():
        warnings.simplefilter("ignore", wb.ScheduleWarning)
        for number, text in enumerate(code):
            text = re.sub(r"^( *)%.*$", r"\1pass", text, flags=re.M)
            run_cell(text, f"<{lesson} cell {number}>", scope)
    return [value for value in scope.values() if isinstance(value, wb.Schedule)]
