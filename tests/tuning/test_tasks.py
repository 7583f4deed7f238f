"""Several programs share the trials of one search, where most is to be gained."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.tuning.programs import VECTOR, space
from workbench import script, tuning
from workbench.ir import PrimFunc
from workbench.tuning import Candidate, Ended, Outcome, Trial, tasks
from workbench.tuning.builders import Builders, Processes
from workbench.tuning.tasks import expected_gain


def vector(size: int) -> PrimFunc:
    """As long as `size`; of a name of its own, by which its record is called."""
    text = script.show(VECTOR).replace("1024", str(size))
    return replace(script.parse(text), name=f"vector_{size}")


class Taking:
    """Measures: each candidate takes so many seconds, or ends otherwise."""

    device = "planted"

    def __init__(self, seconds: float, status: str = "correct") -> None:
        self.seconds, self.status = seconds, status
        self.count = 0

    def submit(self, candidate: Candidate) -> Outcome:
        self.count += 1
        if self.status != "correct":
            return Outcome("runtime", "measured", (), "planted")
        return Outcome("correct", "measured", (self.seconds,))


HOW: dict[str, Any] = {"target": "cuda", "space": space, "per_batch": 2}
SIZES = [vector(4096), vector(8192), vector(16384)]


def shared(measurers: list[Taking], trials: int = 24, **given: object) -> list[int]:
    """How many trials each program had."""
    tuning.tune_tasks(SIZES, **HOW, trials=trials, measurers=measurers, **given)
    return [one.count for one in measurers]


def test_most_goes_to_what_takes_longest():
    few, some, most = shared([Taking(1e-6), Taking(2e-6), Taking(8e-6)], trials=40)
    assert few + some + most == 40 and 2 <= few < some < most


def test_a_weight_is_how_often_a_program_runs():
    same = shared([Taking(1e-6), Taking(1e-6), Taking(1e-6)])
    assert same == [8, 8, 8]
    heavy = shared([Taking(1e-6), Taking(1e-6), Taking(1e-6)], weights=[6, 1, 1])
    assert heavy[0] > 12 and min(heavy) >= 2


def test_gains_by_hand():
    """0.2 of what the last batch took off, and 0.8 of the time over the batches so far."""

    def ended(*micros: float) -> list[Ended]:
        trial = Trial(0, 0, 1, (), (), "")
        return [
            Ended(replace(trial, number=k), Outcome("correct", "measured", (us * 1e-6,)))
            for k, us in enumerate(micros)
        ]

    assert expected_gain([], 2) == inf
    assert expected_gain(ended(10, 8), 2) == pytest.approx((0.2 * 8 + 0.8 * 8) * 1e-6)
    assert expected_gain(ended(10, 8, 9, 5), 2) == pytest.approx((0.2 * 3 + 0.8 * 5 / 2) * 1e-6)
    assert expected_gain(ended(10, 8, 9, 8), 2) == pytest.approx(0.8 * 8 / 2 * 1e-6)


def test_one_of_which_nothing_is_correct_takes_no_more_than_three_batches():
    measurers = [Taking(1e-6, status="runtime"), Taking(1e-6), Taking(1e-6)]
    best = tuning.tune_tasks(SIZES, **HOW, trials=24, measurers=measurers)
    assert best[0] is None and all(best[1:])
    assert [one.count for one in measurers] == [6, 10, 8]


def test_few_trials_are_shared_before_any_program_has_more():
    failing = Taking(1e-6, status="runtime")
    assert shared([failing, Taking(1e-6), Taking(1e-6)], trials=6) == [2, 2, 2]
    asked = {**HOW, "per_batch": 32, "trials": 10}
    best = tuning.tune_tasks(SIZES, **asked, measurers=[Taking(1e-6) for _ in SIZES])
    assert [len(one.tried.lines.outcomes) for one in best] == [3, 3, 4]


def test_what_each_failed_for_is_told_where_nothing_is_correct():
    with pytest.raises(tuning.TuneError) as told:
        shared([Taking(1e-6, status="runtime") for _ in SIZES])
    assert "most often: planted" in str(told.value)


def test_weights_may_be_numbers_of_numpy():
    light = shared([Taking(1e-6) for _ in SIZES], weights=np.array([1, 1, 6]))
    assert light[2] > 12


def test_a_folder_that_cannot_be_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(tuning.RecordError, match="Can't keep records in file: File exists"):
        shared([Taking(1e-6) for _ in SIZES], folder=tmp_path / "file")


def test_a_search_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path):
    def stopped(after: int):
        left = iter(range(after))

        def told(task: int, progress: tuning.Progress) -> None:
            if next(left, None) is None:
                raise tuning.Stopped

        return told

    def measurers() -> list[Taking]:
        return [Taking(1e-6), Taking(2e-6), Taking(4e-6)]

    whole, parts = tmp_path / "whole", tmp_path / "parts"
    shared(measurers(), folder=whole)
    for after in (3, 6, 4):
        shared(measurers(), folder=parts, progress=stopped(after))
    shared(measurers(), folder=parts)
    names = [f"{k}_{func.name}.jsonl" for k, func in enumerate(SIZES)]
    assert sorted(path.name for path in parts.iterdir()) == sorted(names)
    for name in names:
        one, other = (tuning.read(folder / name) for folder in (whole, parts))
        assert list(one.trials.values()) == list(other.trials.values())
        assert len(other.outcomes) == len(one.outcomes)
    again = measurers()
    assert shared(again, folder=parts) == [0, 0, 0]


@pytest.mark.fuzz  # it imports the workbench in another process
def test_all_programs_have_the_processes_that_build_ahead(monkeypatch):
    """There are more programs than processes; each may use all of them, one after the other."""
    answers: dict[str, int] = {}
    build, started = Builders.build, Processes.start

    def asked(self: Builders, many: Any, whole: bool) -> Any:
        found = build(self, many, whole)
        answers[self._job[0]] = answers.get(self._job[0], 0) + len(found)
        return found

    counts: list[int] = []

    def start(self: Processes) -> None:
        started(self)
        counts.append(len(self.alive))

    monkeypatch.setattr(Builders, "build", asked)
    monkeypatch.setattr(Processes, "start", start)
    monkeypatch.setattr(tasks, "useful", lambda trials: 2)
    kept = tuning.tune_tasks(
        SIZES, target="cuda", space=space, trials=6, per_batch=2, measurers=[Taking(1e-6)] * 3
    )
    assert all(kept) and counts == [2, 2, 2]
    assert set(answers) == {script.show(func) for func in SIZES} and min(answers.values()) > 0


def test_each_has_its_schedule_and_all_that_was_tried():
    best = tuning.tune_tasks(
        [VECTOR, wb.Schedule(SIZES[0])], target="nvidia/h200", trials=4, per_batch=2
    )
    assert [one.tried.search.program.name for one in best] == ["main", "vector_4096"]
    assert sum(len(one.tried.lines.outcomes) for one in best) == 4
    for one in best:
        wb.build(one, "nvidia/h200")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"programs": []}, "there is no program"),
        ({"programs": VECTOR}, "this is one program"),
        ({"trials": 2}, "Can't tune 3 programs with 2 trials"),
        ({"space": "ready"}, "Can't search 'ready': a space is a function"),
        ({"weights": [1]}, "Can't tune 3 programs: there are 1 weights"),
        ({"weights": [1, 0, 1]}, "a weight of 0 is no number of times"),
        ({"weights": [1, True, 1]}, "a weight of True is no number of times"),
        ({"weights": [1, float("nan"), 1]}, "a weight of nan is no number of times"),
        ({"measurers": []}, "Can't tune 3 programs: there are 0 measurers"),
        ({"trials": 0}, "trials=0 is no count"),
        ({"strategy": "best"}, "there is no strategy 'best'"),
    ],
)
def test_arguments_that_say_no_search(given: dict[str, object], told: str):
    with pytest.raises(tuning.TuneError) as error:
        tuning.tune_tasks(**{"programs": SIZES, "target": "cuda", **given})
    assert told in error.value.headline and error.value.hint
