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
from workbench.diag import Fail
from workbench.tuning.decided import Choice, choices_of, named
from workbench.widgets import no_lab


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("search") / "search.jsonl"


@pytest.fixture(scope="module")
def best(record: Path) -> tuning.Tuned:
    return wb.tune(
        VECTOR,
        space=space,
        target="cuda",
        trials=12,
        strategy="random",
        seed=3,
        record=record,
        measurer=Planted(),
        progress=lambda told: None,
    )


def test_the_winner_is_a_schedule_with_all_that_was_tried(best: tuning.Tuned):
    tried = best.tried
    assert isinstance(best, wb.Schedule) and len(tried.lines.ended) == 12
    assert tried.best is not None and tried.best == tuning.best_of(tried.lines.ended)
    assert tried.candidate(tried.best.trial.number).schedule.trace == best.trace
    assert best.fork().trace == best.trace and best.fork().tried is tried
    wb.Schedule.replay(VECTOR, best.trace)


def test_pictures_of_the_search_and_of_the_winner_are_written_for_paper(
    best: tuning.Tuned, tmp_path: Path
):
    for name, words in (("trials", "12 trials"), ("who", "block")):
        best.figure(name, path=tmp_path / f"{name}.svg")
        assert words in (tmp_path / f"{name}.svg").read_text()


def test_a_record_is_shown_without_what_measured_it(best: tuning.Tuned, record: Path):
    tried = tuning.show(record, space=space)
    assert tried.best == best.tried.best and repr(tried) == "<Tried: 12 trials of main>"
    assert draw.search_picture(tried.lines) == draw.search_picture(best.tried.lines)
    assert [choice.name for choice in tried.choices] == ["i", "choice 1"]
    first = tried.lines.ended[0]
    assert draw.best_table([first], tried.choices).columns[-2:] == ("i", "choice 1")
    other = tuning.show(record)  # as if it were of the ready space
    with pytest.raises(tuning.NotTried, match="the space makes another program of it"):
        other.candidate(0)


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
    assert len(told.same) == 2 - len(parts) and not {name for name, _ in told.same} & set(parts)
    assert len(table.rows) == 2
    with pytest.raises(tuning.NotTried, match="Can't put decisions back to those of trial 999"):
        tried.ablation(999)


def test_decisions_are_told_as_one_reads_them():
    made = tuning.candidate(VECTOR, space, target.get("cuda"), ((8, 1, 128, 1), 1), Random(0))
    tile, wide = choices_of(space, made)
    assert (tile.name, tile.said((8, 1, 128, 1))) == ("i", "8 × 1 × 128 × 1")
    assert (wide.name, wide.said(1), Choice("x").said(1)) == ("choice 1", "1", "number 1")
    with pytest.raises(Fail) as refused:
        tuning.choices(7)  # as a bare @tuning.choices gives it the space itself
    assert str(refused.value) == (
        "Can't call a choice 7: a name is text.\n"
        'do:    write @tuning.choices("tile of i", "threads") above the space'
    )
    sch = made.schedule.fork()
    sch.undo()
    sch.undo()
    undone = choices_of(space, replace(made, schedule=sch))  # as of a space that took them back
    assert [choice.name for choice in undone] == ["choice 0", "choice 1"]
    called = tuning.choices("tiles")(lambda sch: space(sch))
    assert [choice.name for choice in choices_of(called, made)] == ["tiles", "choice 1"]
    assert [choice.name for choice in named((tile,), (1, 2))] == ["choice 0", "choice 1"]


def ask(what: str) -> object:
    """What a search of four trials of no space of ours, or a record of it, is asked for."""
    lines = lines_of(4)
    if what.startswith(("def", "@")):
        lines.header = replace(HEADER, program=what)
        return tuning.show(lines)
    tried = tuning.show(tuning.Lines(HEADER) if what == "empty" else lines)
    return {
        "empty": tried.ablation,
        "trial 9": lambda: tried.candidate(9),
        "trial 0": lambda: tried.candidate(0),
        "speed": lambda: tried.figure("speed"),
        "other": lambda: tried.ablation(999),
    }[what]()


@pytest.mark.parametrize(
    "what, said",
    [
        (
            "def",
            "Can't show the record: its program is none.\n"
            "found: Python can't read this: invalid syntax.\n"
            "do:    its first line was changed; the trials can be read: tuning.read(path)",
        ),
        (
            "@ir_module\nclass M:\n    pass",
            "Can't show the record: its program is a module.\ndo:    show one of a function",
        ),
        (
            "trial 9",
            "Can't make trial 9 again: there is no such trial.\n"
            "do:    there are 4, numbered from 0",
        ),
        (
            "trial 0",
            "Can't make trial 0 again: the space makes another program of it.\n"
            "do:    show the record with the space that it is of: tuning.show(path, space=…)",
        ),
        (
            "speed",
            "Can't draw 'speed': a search has no such picture.\n"
            "do:    there are: trials, predicted, decisions",
        ),
        (
            "other",
            "Can't put decisions back to those of trial 999: it has none of these choices.\n"
            "do:    give a trial with as many decisions as the best, or none",
        ),
        (
            "empty",
            "Can't tell which decision mattered: no trial is correct.\ndo:    try more of them",
        ),
    ],
)
def test_what_cannot_be_shown_is_told(what: str, said: str):
    with pytest.raises(tuning.NotTried) as refused:
        ask(what)
    assert str(refused.value) == said


def test_where_there_are_no_widgets_it_is_a_line(
    best: tuning.Tuned, capsys: pytest.CaptureFixture[str]
):
    no_lab.show_search(best.tried)
    assert capsys.readouterr().out == "<Tried: 12 trials of main>\n"
    assert no_lab.watch(best.tried, 12) is None  # a terminal's line is shown then


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


def test_an_ablation_is_of_the_choices_of_the_best_whatever_others_met():
    """A space whose choices hang on others: who watched the search may have seen more of them."""

    def some(sch: wb.Schedule) -> None:
        threads = sch.sample_categorical([32, 64, 128], probs=[0.4, 0.3, 0.3])
        if threads > 32:
            sch.sample_categorical([0, 1], probs=[0.5, 0.5])
        outer, inner = sch.split("i", factors=[None, threads])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")

    measurer = Planted()
    measurer.submit = lambda one: tuning.Outcome("correct", "measured", (1.0 * len(one.decisions),))
    asked = {"space": some, "target": "cuda", "trials": 3, "measurer": measurer}
    tried = wb.tune(VECTOR, **asked, progress=lambda told: None).tried
    longest = max(tried.lines.trials.values(), key=lambda trial: len(trial.decisions))
    tried.learn(tried.candidate(longest.number))
    assert len(tried.choices) == 2 and tried.best is not None
    assert len(tried.best.trial.decisions) == 1 and tried.ablation().parts == ()
