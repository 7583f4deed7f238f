"""What a search tried is there afterwards, and read back: candidates, pictures, an ablation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import workbench as wb
from tests.tuning.programs import VECTOR, Planted, planted, space
from tests.tuning.synthetic import HEADER, lines_of
from workbench import draw, target, tuning
from workbench.tuning.decided import Choice, choices_of, named


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("search") / "search.jsonl"


@pytest.fixture(scope="module")
def best(record: Path) -> tuning.Tuned:
    return wb.tune(
        VECTOR,
        space=space,
        target="cuda",
        trials=24,
        per_batch=8,
        seed=3,
        record=record,
        measurer=Planted(),
        progress=lambda told: None,
    )


def test_the_winner_is_a_schedule_with_all_that_was_tried(best: tuning.Tuned):
    tried = best.tried
    assert isinstance(best, wb.Schedule) and len(tried.lines.ended) == 24
    assert tried.best is not None and tried.best == tuning.best_of(tried.lines.ended)
    assert tried.candidate(tried.best.trial.number).schedule.trace == best.trace
    assert best.fork().trace == best.trace and best.fork().tried is tried
    wb.Schedule.replay(VECTOR, best.trace)


def test_a_record_is_shown_without_what_measured_it(best: tuning.Tuned, record: Path):
    tried = tuning.show(record, space=space)
    assert tried.best == best.tried.best and repr(tried) == "<Tried: 24 trials of main>"
    assert draw.search_picture(tried.lines) == draw.search_picture(best.tried.lines)
    assert [choice.name for choice in tried.choices] == ["i", "choice 1"]
    first = tried.lines.ended[0]
    assert draw.best_table([first], tried.choices).columns[-2:] == ("i", "choice 1")
    other = tuning.show(record)  # as if it were of the ready space
    with pytest.raises(tuning.NotTried) as refused:
        other.candidate(0)
    assert str(refused.value).startswith(
        "Can't make trial 0 again: the space makes another program of it"
    )
    assert "show the record with the space that it is of: tuning.show(path, space=…)" in str(
        refused.value
    )


def test_a_candidate_and_the_best_are_branches_of_one_history(best: tuning.Tuned):
    tried = best.tried
    assert tried.best is not None
    number = next(n for n in tried.lines.trials if n != tried.best.trial.number)
    schedule, end = tried.beside(number)
    assert end is not None and schedule.trace == tried.candidate(number).schedule.trace
    assert schedule.node.mark == f"trial {number}"
    assert end.mark == f"the best, trial {tried.best.trial.number}"
    schedule.goto(end)
    assert schedule.trace == best.trace
    assert tried.beside(tried.best.trial.number)[1] is None


def test_an_ablation_measures_the_best_without_each_of_its_decisions(best: tuning.Tuned):
    """By the planted times it can be said what each is worth: the product of none but one."""
    tried = best.tried
    assert tried.best is not None
    told = tried.ablation()
    wanted = tried.best.trial.decisions
    other = tried.lines.trials[told.other].decisions
    parts = {part.choice: part for part in told.parts}
    assert parts
    for k, name in enumerate(["i", "choice 1"]):
        assert (name in parts) == (wanted[k] != other[k])
        if name in parts:
            given = (*wanted[:k], other[k], *wanted[k + 1 :])
            one = tuning.candidate(VECTOR, space, target.get("cuda"), given, Random(0))
            assert parts[name].ratio == pytest.approx(planted(one) / tried.best.seconds)
    table = draw.ablation_picture(told).table
    assert len(table.rows) == len(parts)
    with pytest.raises(tuning.NotTried, match="Can't put decisions back to those of trial 999"):
        tried.ablation(999)


def test_decisions_are_told_as_one_reads_them():
    made = tuning.candidate(VECTOR, space, target.get("cuda"), ((8, 1, 128, 1), 1), Random(0))
    tile, wide = choices_of(space, made)
    assert (tile.name, tile.said((8, 1, 128, 1))) == ("i", "8 × 1 × 128 × 1")
    assert (wide.name, wide.said(1), Choice("x").said(1)) == ("choice 1", "1", "number 1")
    called = tuning.choices("tiles")(lambda sch: space(sch))
    assert [choice.name for choice in choices_of(called, made)] == ["tiles", "choice 1"]
    assert [choice.name for choice in named((tile,), (1, 2))] == ["choice 0", "choice 1"]


def test_what_cannot_be_shown_is_told():
    lines = lines_of(4)
    module = "@ir_module\nclass M:\n    pass"
    for program, why in (("def", "its program is none"), (module, "its program is a module")):
        lines.header = replace(HEADER, program=program)
        with pytest.raises(tuning.NotTried, match=f"Can't show the record: {why}"):
            tuning.show(lines)
    tried = tuning.show(lines_of(4))
    with pytest.raises(tuning.NotTried, match="Can't make trial 9 again: there is no such trial"):
        tried.candidate(9)
    with pytest.raises(tuning.NotTried, match="Can't draw 'speed': a search has no such picture"):
        tried.figure("speed")
    empty = tuning.show(tuning.Lines(HEADER))
    with pytest.raises(tuning.NotTried, match="Can't tell which decision mattered: no trial is"):
        empty.ablation()


def test_a_search_is_stopped_by_who_hears_of_it():
    heard = []

    def stop(told: tuning.Progress) -> None:
        heard.append(told)
        if told.count == 3:
            raise tuning.Stopped

    measurer = Planted()
    best = wb.tune(VECTOR, space=space, target="cuda", trials=8, measurer=measurer, progress=stop)
    assert len(measurer.seen) == len(heard) == len(best.tried.lines.ended) == 3
    assert len(best.tried.lines.trials) == 8  # what was written ahead is measured another time
    assert heard[-1].candidate.decisions == heard[-1].last.trial.decisions
