"""The search by TVM's names: own spaces, databases, and records that the same call goes on with."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.tuning.programs import VECTOR, space
from workbench import tuning, tvm
from workbench.tvm import meta_schedule as ms

TARGET = "nvidia/nvidia-h200"


def test_a_database_has_the_winner_and_the_same_call_does_nothing_anew(tmp_path):
    asked = {
        "mod": VECTOR,
        "target": TARGET,
        "max_trials_global": 3,
        "num_trials_per_iter": 2,
        "space": ms.space_generator.ScheduleFn(space),
        "work_dir": str(tmp_path / "tune_tmp"),
    }
    database = ms.tune_tir(**asked)
    best = ms.tir_integration.compile_tir(database, VECTOR, target=TARGET)
    assert isinstance(best, wb.Schedule) and best.trace.steps[0].verb == "sample_perfect_tile"
    assert ms.tir_integration.compile_tir(database, VECTOR, "cuda") is None
    (record,) = (tmp_path / "tune_tmp").iterdir()
    before = record.read_bytes()
    assert len(tuning.read(record).ended) == 3
    again = ms.tune_tir(**asked).query_schedule(VECTOR, TARGET)
    assert again.trace == best.trace and record.read_bytes() == before
    config = ms.TuneConfig(max_trials_global=1, num_trials_per_iter=1)
    assert isinstance(
        ms.tune_tir(mod=VECTOR, target=TARGET, config=config, space=space), wb.Schedule
    )
    assert tvm.s_tir.meta_schedule.tune_tir is ms.tune_tir


def test_a_space_of_several_schedules_is_refused():
    with pytest.raises(tuning.TuneError, match="several schedules at once"):
        ms.tune_tir(VECTOR, TARGET, space=ms.space_generator.ScheduleFn(lambda sch: [sch]))


@pytest.mark.parametrize(
    "asked, said",
    [
        (
            {"strategy": "best"},
            "Can't tune main: there is no strategy 'best'.\n"
            "do:    give strategy='evolutionary', 'replay-trace', 'replay_trace'",
        ),
        (
            {"space": "all"},
            "Can't tune main: there is no space 'all'.\n"
            "do:    give space='post-order-apply' or a ScheduleFn",
        ),
        (
            {"max_trials_global": 0},
            "Can't tune main: trials=0 is no count.\ndo:    give a whole number from 1: trials=64",
        ),
        (
            {"max_trials_per_task": 0},
            "Can't tune main: trials=0 is no count.\ndo:    give a whole number from 1: trials=64",
        ),
    ],
)
def test_what_is_no_search_is_refused(asked, said: str):
    with pytest.raises(tuning.TuneError) as refused:
        ms.tune_tir(VECTOR, TARGET, **{"space": space, **asked})
    assert str(refused.value) == said
