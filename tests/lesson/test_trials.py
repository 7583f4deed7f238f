"""Trials by hand: spent, refused, kept; what was recorded, and the curves beside each other."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import workbench as wb
from tests.support.cases import CASES
from tests.tuning.programs import VECTOR, space
from workbench import lesson, tuning
from workbench import target as targets
from workbench.diag import Fail
from workbench.ir import PrimFunc
from workbench.ir.equal import structural_hash
from workbench.lesson import record, spaces
from workbench.lesson.expect import KEPT
from workbench.lesson.programs import product
from workbench.lesson.trials import Trials, _decision, _wrong, time_of
from workbench.tuning import Space

FIVE = "05_let_the_machine_search"
PROGRAMS: dict[str, tuple[Callable[[], PrimFunc], Space]] = {
    "12_auto_scheduling": (lesson.layer, spaces.layer_tiles),
    FIVE: (lambda: replace(product(1024, 1024, 1024), name="matmul_1024"), spaces.five_numbers),
}
CUDA = targets.get("cuda")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines_of(name: str) -> tuning.Lines:
    return tuning.read(Path(spaces.__file__).parent / "records" / f"{name}.jsonl")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_record_is_of_the_space_and_makes_the_same_programs(name: str):
    """As many of them as there is time for; else it is recorded anew."""
    make, own = PROGRAMS[name]
    func, ended = make(), lines_of(name).ended
    assert all(one.outcome.status == "correct" for one in ended)
    for one in Random(0).sample(ended, min(CASES, 20) // 10):
        made = tuning.candidate(func, own, CUDA, one.trial.decisions, Random(0))
        assert made.decisions == one.trial.decisions, made.reason
        assert structural_hash(made.schedule.func) == one.trial.program


@pytest.fixture
def by_hand() -> Trials:
    make, own = PROGRAMS[FIVE]
    return Trials(FIVE, make(), own, 2, tuning.Replayed(lines_of(FIVE)))


def test_trials_are_spent_refused_and_kept(by_hand: Trials, folder: Path):
    numbers = (8, 8, 8, 8, 8)
    assert by_hand.spend(numbers, (16, 16, 8, 8, 8), numbers) is by_hand
    assert repr(by_hand) == (
        "1 of 2 trials spent; best 155 µs (NVIDIA H100 80GB HBM3, recorded).\n"
        "0  (8, 8, 8, 8, 8)  155 µs, recorded  155 µs\n"
        "–  (16, 16, 8, 8, 8)  refused: 256 sums do not fit the registers of a thread"
    )
    assert by_hand._repr_html_().count("<tr>") == 3
    again = Trials(FIVE, by_hand.program, by_hand.space, 2, by_hand.by)
    assert [one.trial.decisions for one in again.ended] == [(2, 2, 0, 0, 1)]
    again.spend((4, 4, 16, 16, 16), (4, 4, 16, 16, 32))
    assert repr(again) == (
        "2 of 2 trials spent; best 73.4 µs (NVIDIA H100 80GB HBM3, recorded). Compare them with "
        f"the machine's; to begin again, delete my-work/{FIVE}_by_hand.jsonl.\n"
        "0  (8, 8, 8, 8, 8)  155 µs, recorded  155 µs\n"
        "1  (4, 4, 16, 16, 16)  73.4 µs, recorded  73.4 µs\n"
        "–  (4, 4, 16, 16, 32)  refused: all 2 trials are spent"
    )
    assert again.file == folder / "my-work" / f"{FIVE}_by_hand.jsonl" and again.file.is_file()
    assert again.best is not None and time_of(again.best) == "73.4 µs, recorded"
    drawn = lesson.beside(lesson.expect(FIVE), again, tuning.read(again.file))
    assert repr(drawn) == "In the end: by hand 73.4 µs, by machine 73.4 µs."
    assert drawn.picture.table.rows[1] == (1, "", "73.4 µs", "73.4 µs")
    assert "<svg" in drawn._repr_html_()


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((8, 8, 8), "(8, 8, 8)  refused: the space has 5 choices, a number for each"),
        (8, "(8,)  refused: the space has 5 choices, a number for each"),
        ((8, 8, 5, 8, 8), "(8, 8, 5, 8, 8)  refused: threads down: 5 is none of 8, 16, 32"),
        ((8, "x", 8, 8, 8), "(8, 'x', 8, 8, 8)  refused: columns: 'x' is none of 2, 4, 8, 16"),
    ],
)
def test_numbers_that_are_none_of_the_space(numbers: object, said: str):
    """They name the choice, and leave the rows of what was tried before and after."""
    make, own = PROGRAMS[FIVE]

    @tuning.choices("rows", "columns", "threads down")
    def space(sch: wb.Schedule) -> None:
        own(sch)

    by_hand = Trials(FIVE, make(), space, 2, tuning.Replayed(lines_of(FIVE)))
    by_hand.spend((8, 8, 8, 8, 8), numbers, (4, 4, 16, 16, 16))  # type: ignore[arg-type]
    assert repr(by_hand).splitlines()[1:] == [
        "0  (8, 8, 8, 8, 8)  155 µs, recorded  155 µs",
        "1  (4, 4, 16, 16, 16)  73.4 µs, recorded  73.4 µs",
        f"–  {said}",
    ]


def test_factors_that_do_not_make_the_loop():
    made = tuning.candidate(lesson.layer(), spaces.layer_tiles, CUDA, (), Random(0))
    channels = tuning.Choice("channels", made.domains[0])
    assert _decision(channels, [128, 4, 1]) == (128, 4, 1) and not _wrong(channels, [128, 4, 1])
    assert _wrong(channels, (128, 4)) == "[128, 4] has 2 of 3 factors"


def test_the_curve_that_is_expected_is_kept_once(folder: Path):
    (folder / "my-work").mkdir()
    expected = lesson.expect(FIVE)
    for wrong in ((1, 2, 3, 4, 5), (100, 50), (100, 50, 50, 0, 0), ("a",) * 5):
        with pytest.raises(Fail) as refused:
            expected.draw(*wrong)
        assert str(refused.value) == (
            "Can't expect that: a curve has 5 times in µs, none longer than the one before.\n"
            "do:    after 1, 5, 10, 15 and 20 trials: expected.draw(900, 500, 300, 200, 200)"
        )
    assert expected.draw(900, 500, 300, 200, 100) == KEPT
    assert lesson.expect(FIVE).draw(5, 4, 3, 2, 1) == KEPT  # the first one stays
    assert repr(lesson.expect(FIVE)) == (
        "The best expected after trials, 1: 900 µs, 5: 500 µs, 10: 300 µs, 15: 200 µs, 20: 100 µs."
    )
    record.note(record.file_of(FIVE), "curves", "expected", {"seconds": [1, "x", None, 2, 3]})
    assert lesson.expect(FIVE).seconds == ()  # whatever a file holds


def test_which_decision_mattered_by_the_names_of_the_choices():
    own = tuning.choices("tile", "vector")(lambda sch: space(sch))
    best = wb.tune(VECTOR, space=own, target="nvidia/h200", trials=12, progress=lambda done: None)
    slow = max(best.tried.lines.ended, key=lambda one: one.seconds)
    told = lesson.which_mattered(best, slow.trial.number)
    assert {row[0] for row in told.picture.table.rows} == {"tile", "vector"}
    assert re.match("(tile|vector) matters most: ", repr(told)) and "<svg" in told._repr_html_()
