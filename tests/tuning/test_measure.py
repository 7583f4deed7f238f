"""Each way in which a candidate can fail costs one trial, and is told by its reason."""

from __future__ import annotations

import concurrent.futures
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import workbench as wb
from tests.tuning.programs import VECTOR, Planted, space
from workbench import script, target, tuning
from workbench.diag import Fail
from workbench.runtime.devices import DeviceReport
from workbench.runtime.worker import Worker
from workbench.tuning import Candidate, Local, Outcome
from workbench.tuning.bench import timed_outcome

FAKE = Path(__file__).parents[1] / "runtime" / "fake_gpu.py"  # computes 2 * x, as the program
CUDA = target.get("cuda")
MADE = tuning.candidate(VECTOR, space, CUDA, ((8, 1, 128, 1), 0), Random(0))


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    worker = Worker((sys.executable, "-P", str(FAKE)))
    yield Local(VECTOR, DeviceReport("Fake GPU", "a test"), "GPU", seconds=2.0, workers=[worker])
    worker.stop()


def ended(local: Local, candidate: Candidate) -> Outcome:
    """How it ends, beside what the clocks did."""
    return replace(local.submit(candidate), yardstick=None)


def planted(source: str) -> Candidate:
    """The candidate with a text that the worker acts by."""
    return replace(MADE, kernel=replace(MADE.kernel, source=source))


PLANTED = {
    "source": ("compile", "source: k.cu(3): error: expected a ;"),
    "fatal illegal address": ("runtime", "illegal address: CUDA_ERROR_X: told"),
    "fatal misaligned address": ("runtime", "misaligned address: CUDA_ERROR_X: told"),
    "fatal watchdog": ("timeout", "watchdog: CUDA_ERROR_X: told"),
    "fatal resources": ("constraints", "resources: CUDA_ERROR_X: told"),
    "full": ("constraints", "full: out of memory"),
    "hang": ("timeout", "no answer in 2 s"),
    "abort": ("runtime", "the worker was lost: it was ended by SIGABRT"),
    "exit": ("runtime", "the worker was lost: it ended with exit status 3"),
}


def test_planted_faults_cost_a_trial_each_and_nothing_else_is_lost(local: Local):
    right = Outcome("correct", "measured", (1e-6,) * 20)
    for source, (status, reason) in PLANTED.items():
        assert ended(local, planted(source)) == Outcome(status, "measured", (), reason)
        assert ended(local, MADE) == right, source


def test_a_kernel_that_is_always_the_same_tells_how_clocks_drift(local: Local):
    fresh = Local(VECTOR, local.report, "GPU", workers=local.workers)
    told = [fresh.submit(MADE).yardstick for _ in range(18)]
    assert [k for k, seconds in enumerate(told) if seconds is not None] == [0, 16]
    trial = tuning.Trial(0, 0, 1, (), (), "")
    right = Outcome("correct", "measured", (1e-6,))
    some = [tuning.Ended(trial, replace(right, yardstick=y)) for y in (2e-6, None, 2.2e-6, 2.1e-6)]
    assert tuning.drift(some) == pytest.approx(1.1) and tuning.drift(some[:2]) is None


def test_times_behind_an_emptied_cache_are_of_another_device(local: Local):
    flushed = Local(VECTOR, local.report, "GPU", flush=True, workers=local.workers)
    assert flushed.device == "Fake GPU, caches emptied" != local.device


def test_a_wrong_result_is_never_timed(local: Local):
    other = Local(
        script.parse(script.show(VECTOR).replace("T.float32(2)", "T.float32(3)")),
        local.report,
        "GPU",
        workers=local.workers,
    )
    told = other.submit(MADE)
    assert (told.status, told.times) == ("correctness", ()) and told.seconds == float("inf")
    assert told.reason.startswith("B[0] is ") and told.reason.endswith(" wrong cells")


def test_several_candidates_are_measured_at_a_time(tmp_path):
    workers = [Worker((sys.executable, "-P", str(FAKE))) for _ in range(2)]
    both = Local(VECTOR, DeviceReport("Fake GPU", "a test"), "GPU", seconds=0.6, workers=workers)
    asked = [planted("slow"), planted("hang"), planted("slow")]
    seen: list[int] = []
    submit = both.submit
    both.submit = lambda one: submit(asked.pop() if asked else one)
    wb.tune(
        VECTOR,
        space=space,
        target="cuda",
        trials=6,
        record=tmp_path / "record.jsonl",
        measurer=both,
        progress=lambda told: seen.append(told.last.trial.number),
    )
    lines = tuning.read(tmp_path / "record.jsonl")
    assert sorted(seen) == [*range(6)] == [e.trial.number for e in lines.ended]
    assert [e.outcome.status for e in lines.ended].count("timeout") == 1
    for worker in workers:
        worker.stop()


def test_what_is_wrong_with_the_machine_is_no_trial(local: Local):
    with pytest.raises(Fail, match="Can't measure on Fake GPU: no device"):
        local.submit(planted("fatal no device"))
    never = Local(VECTOR, local.report, "GPU", workers=[Worker(("/nowhere/python",))])
    with pytest.raises(Fail, match="the worker did not start"):
        never.submit(MADE)


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), 0.0, -1e-6])
def test_what_is_no_time_is_no_time(odd: float):
    told = timed_outcome([1e-6, odd])
    assert told == Outcome("runtime", "measured", (), f"it gave {odd} as a time")


def test_a_recorded_search_is_played_again(tmp_path):
    trial = tuning.Trial(
        0, 0, 1, (), MADE.decisions, tuning.measure.structural_hash(MADE.schedule.func)
    )
    lines = tuning.Lines(tuning.Header("", "", "", "a GPU", "", "", "", "random", 0, 1))
    lines.add(trial)
    lines.add(tuning.Ended(trial, Outcome("correct", "measured", (4e-6,))))
    replayed = tuning.Replayed(lines)
    assert replayed.device == "a GPU, recorded"
    assert replayed.submit(MADE) == Outcome("correct", "recorded", (4e-6,))
    other = tuning.candidate(VECTOR, space, CUDA, ((16, 1, 64, 1), 0), Random(0))
    assert replayed.submit(other).reason == "the record has no time of this program"


def test_what_ended_beside_a_fault_of_the_machine_is_kept(tmp_path, monkeypatch):
    """The first of two fails, when the second has its outcome already."""
    monkeypatch.setattr(tuning.run, "wait", lambda running, **_: concurrent.futures.wait(running))
    asked, both = iter((True, False)), threading.Barrier(2)

    def submit(candidate: Candidate) -> Outcome:
        fails = next(asked)
        both.wait(5)
        if fails:
            raise Fail("Can't measure on a GPU: it is gone")
        return Outcome("correct", "measured", (1e-6,))

    measurer, path = Planted(), tmp_path / "record.jsonl"
    measurer.submit, measurer.side_by_side = submit, 2
    asked_of = {"space": space, "target": "cuda", "trials": 2, "record": path}
    with pytest.raises(Fail, match="it is gone"):
        wb.tune(VECTOR, **asked_of, measurer=measurer, progress=lambda told: None)
    assert len(tuning.read(path).ended) == 1
