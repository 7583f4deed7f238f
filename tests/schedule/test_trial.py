"""Trials: steps that are no part of the history until they are adopted; steps taken again."""

import random
from contextlib import suppress
from pathlib import Path

import pytest

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.schedule import programs
from tests.support.cases import seeds
from tests.support.random_programs import random_program
from tests.support.random_steps import Chooser
from tests.support.steps import LOOP_VERBS, take_ours
from workbench import script
from workbench.schedule import HistoryNode, ScheduleError
from workbench.verbs.primitive import Primitive


@pytest.fixture
def sch() -> wb.Schedule:
    return wb.Schedule(script.parse(programs.MATMUL))


def saved(sch: wb.Schedule, folder: Path) -> bytes:
    sch.save(folder / "steps.json")
    return (folder / "steps.json").read_bytes()


def walked(seed: int, steps: int = 6) -> wb.Schedule:
    """A random program with some steps of any verb that were taken."""
    rng = random.Random(seed)
    sch = wb.Schedule(random_program(rng))
    for k in range(steps):
        step = Chooser(sch.func, rng).step(None if k % 2 else LOOP_VERBS)
        if step is not None:
            with suppress(ScheduleError):
                take_ours(sch, step)
    return sch


def test_a_trial_leaves_no_trace(sch: wb.Schedule, tmp_path: Path) -> None:
    sch.split("i", factors=[None, 4])
    sch.undo()
    told: list[HistoryNode] = []
    sch.history.observe(told.append)
    before, became = saved(sch, tmp_path), dict(sch.history[1].became)
    trial = sch.trial()
    (tried, _) = trial.split("j", factors=[None, 2])
    trial.bind(tried, "blockIdx.x")
    copy = trial.cache_read("C", 0, "shared")
    assert copy.name == "A_shared"  # a block that only a trial has is known by its name
    trial.undo()
    trial.retune(1, factors=[None, 4])
    assert saved(sch, tmp_path) == before and not told
    assert dict(sch.history[1].became) == became
    sch.redo()
    assert sch.node is sch.history[1]


def test_a_trial_goes_along_steps_that_the_history_has(sch: wb.Schedule) -> None:
    sch.split("i", factors=[None, 4])
    sch.undo()
    trial = sch.trial()
    trial.split("i", factors=[None, 4])
    assert trial.node is sch.history[1]


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds())
def test_what_is_adopted_is_what_the_steps_make(seed: int, tmp_path: Path) -> None:
    direct = walked(seed)
    sch = wb.Schedule(direct.history.root.mod)
    trial = sch.trial()
    trial.take(direct.trace)
    tip = trial.func
    sch.adopt(trial)
    assert sch.func is tip and saved(sch, tmp_path) == saved(
        wb.Schedule.replay(direct.history.root.mod, direct.trace), tmp_path
    )


def test_adopting_computes_nothing_again(sch: wb.Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = sch.trial()
    i_0, _ = trial.split("i", factors=[None, 4])
    told: list[HistoryNode] = []
    sch.history.observe(told.append)
    monkeypatch.setattr(Primitive, "take", None)
    sch.adopt(trial)
    assert told == [sch.node] == sch.history.nodes[1:] and sch.node.id == 1
    monkeypatch.undo()
    sch.bind(i_0, "blockIdx.x")
    assert [node.id for node in sch.history] == [0, 1, 2]


def test_a_step_that_was_taken_meanwhile_is_gone_along(sch: wb.Schedule) -> None:
    trial = sch.trial()
    trial.unroll("k")
    trial.vectorize("j")
    other = sch.fork()
    other.unroll("k")
    sch.adopt(trial)
    assert [node.label for node in sch.history] == ["start", "unroll(k)", "vectorize(j)"]
    assert sch.node is sch.history[2]


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(2))
def test_a_step_retuned_to_what_it_was_makes_the_same_program(seed: int) -> None:
    sch = walked(seed)
    number = random.Random(seed).randint(1, max(1, sch.node.depth))
    if sch.node.depth:
        known, count = sch.func, len(sch.history)
        sch.retune(number)
        assert wb.structural_equal(sch.func, known) and len(sch.history) == count


def test_retuned_is_as_if_the_steps_were_taken_so() -> None:
    sch, other = wb.Schedule(matmul(64)), wb.Schedule(matmul(64))
    blocking_with_shared(sch, 4, 4, 4, 4, 4)
    blocking_with_shared(other, 4, 4, 4, 4, 8)
    count, place = len(sch.history), sch.node
    sch.retune(4, factors=[None, 8])
    wb.assert_structural_equal(sch.func, other.func)
    assert len(sch.history) == count + place.depth - 3  # a branch from before the fourth step
    sch.goto(place)
    sch.retune(4, factors=[None, 8])
    assert len(sch.history) == count + place.depth - 3  # which is gone along another time


def test_numbers_that_follow() -> None:
    sch, other = wb.Schedule(matmul(64)), wb.Schedule(matmul(64))
    blocking_with_shared(sch, 4, 4, 4, 4, 4)
    count = len(sch.history)
    with pytest.raises(ScheduleError) as refused:
        sch.retune(2, factors=[None, 8, 4])
    assert len(sch.history) == count
    call = refused.value.hint.partition(": ")[2]
    exec(call, {"sch": sch})
    wb.build(sch)
    blocking_with_shared(other, 4, 4, 8, 4, 4)
    wb.assert_structural_equal(sch.func, other.func)
