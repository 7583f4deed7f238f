"""What a program loses its time to: named first, then listed; modelled, and beside it recorded."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

import workbench as wb
from benchmarks.matmuls import blocking, blocking_with_shared, matmul
from tests.lessons.test_lessons import run_cells
from workbench import lesson, script
from workbench.lesson.calls import BUILDERS
from workbench.lesson.faults import FAULTS, fault, lesser, spills
from workbench.lesson.programs import product
from workbench.lesson.quizzes import QUIZZES
from workbench.runtime import recorded
from workbench.widgets.page.guess import Guess

LESSON = Path(__file__).parents[2] / "lessons" / "08_why_is_it_slow.ipynb"
START = product(1024, 1024, 1024)


@pytest.fixture
def here(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shared(tile: tuple[int, int], threads: tuple[int, int], depth: int = 8, **how: object):
    return BUILDERS["in_shared"](START, tile, threads, depth, **how)


def test_the_steps_are_those_of_lessons_3_and_4():
    """So that times which were recorded of these are found."""
    registers = BUILDERS["in_registers"](START, (4, 4), (16, 16), 4)
    for mine, steps, tiles in (
        (registers, blocking, (4, 4, 16, 16, 4)),
        (shared((8, 8), (8, 8)), blocking_with_shared, (8, 8, 8, 8, 8)),
    ):
        theirs = steps(wb.Schedule(matmul(1024)), *tiles).func
        assert recorded.program_key(mine) == recorded.program_key(theirs)


def test_the_list_stays_closed_until_the_question_is_answered(here: Path):
    tutorial = shared((8, 8), (8, 8))
    closed = lesson.why(tutorial, "08_six")
    assert str(closed) == "Name it first: answer the question above, and run this cell again."
    assert "table" not in closed._repr_html_()
    lesson.quiz("08_six")._answer(0, 0)  # a wrong one will do
    assert str(lesson.why(tutorial, "08_six")) == str(lesson.why(tutorial)) != str(closed)


def test_a_list_has_modelled_and_recorded_times_and_what_each_would_gain():
    first, second, *rest = str(lesson.why(shared((8, 8), (16, 16)))).splitlines()
    assert first == (
        "196 µs on NVIDIA H200 SXM, modelled; 192.9 µs recorded on NVIDIA H200; "
        "192.3 µs recorded on NVIDIA H100 80GB HBM3."
    )
    assert second == (
        "   100 µs  68 of 132 multiprocessors have no block (undo the bind of j_0, then split j_0)"
    )
    assert (
        "To gain: how much shorter the modelled time would be if this one thing were ideal." in rest
    )


def test_numbers_beyond_the_registers_come_first_with_a_gain_that_is_a_guess():
    """By hand: 16 x 16 sums are 256, one more than the most registers; 16 x 8 are 128.

    With 32 of A and B, kept for a step of k, and 24 for indices a thread wants 312 registers.
    """
    much = shared((16, 16), (8, 8))
    assert spills(much) and fault(much) == FAULTS["registers"]
    told = lesson.why(much)
    (gain, words), (second, blocks) = told.rows[:2]
    assert (gain, second) == ("about 105 µs", "181 µs")
    assert words.startswith("A thread wants about 312 registers and has 255: 20% of its numbers ")
    assert blocks.startswith("68 of 132 multiprocessors have no block")
    assert len([row for row in told.rows if "registers" in row[1]]) == 1
    assert any(note.startswith("What registers would gain is a guess") for note in told.notes)
    assert not spills(shared((16, 8), (8, 16)))


def test_times_can_be_asked_of_one_gpu():
    tutorial = shared((8, 8), (8, 8))
    assert "recorded on NVIDIA H200;" in lesson.why(tutorial).headline
    assert lesson.why(tutorial, gpu="nvidia/h100").headline == (
        "150 µs on NVIDIA H100 SXM5, modelled; 154.8 µs recorded on NVIDIA H100 80GB HBM3."
    )
    with pytest.raises(wb.diag.Fail, match="Can't find a target called 'h1000'"):
        lesson.why(tutorial, gpu="h1000")


def test_a_list_says_that_a_compiler_joins_what_a_picture_shows_one_by_one():
    """B of the sixth: two wavefronts in the picture, eight for the load that a compiler makes."""
    notes = lesson.why(shared((8, 8), (8, 8))).notes
    assert any(note.startswith("A picture shows a load as the program has it") for note in notes)
    assert len(lesson.why(BUILDERS["in_registers"](START, (4, 4), (16, 16), 4)).notes) == 1


def test_what_is_true_of_the_schedule_too_is_not_said_to_be_true_of_another(here: Path):
    """The fourth has 64 blocks, as the one has that loses most to that."""
    (item,) = QUIZZES["08_four"].made()
    idle = FAULTS["idle multiprocessors"]
    assert "64 blocks, too" in item.verdict.wrong[idle]
    first = BUILDERS["in_registers"](START, (4, 4), (16, 16), 4, "i")
    (item,) = QUIZZES["08_one"].made()
    said = "That is so here, too, and would gain less: 291 µs of 610 µs, modelled."
    assert lesser(first)[FAULTS["reuse"]] == item.verdict.wrong[FAULTS["reuse"]] == said
    assert "would be right" in item.verdict.wrong[FAULTS["idle lanes"]]


def test_what_the_list_says_stands_folded():
    """As the other answers: the sixth's step stood beside its question."""
    cells = nbformat.read(LESSON, as_version=4).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    open_ = [re.sub(r"<details>.*?</details>", "", text, flags=re.S) for text in texts]
    assert not any("storage_align" in text for text in open_)
    assert any("storage_align" in text for text in texts)


def test_what_is_no_product_of_blocks_has_no_list():
    start = "Can't build this: no loop of `C` is bound to blocks or threads"
    with pytest.raises(wb.diag.Fail, match=re.escape(start)):
        lesson.why(START)


@pytest.mark.lesson
def test_each_schedule_of_the_lesson_is_asked_about_and_has_another_fault(here: Path):
    """Each mended one is modelled, or was recorded, at least 1.3 times as fast."""
    opened = []

    def lab(sch: wb.Schedule, *, question: object = None, **_: object) -> None:
        if not isinstance(question, Guess):  # which asks how long a step takes, not why
            opened.append(sch.func)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wb, "lab", lab)
        scope = run_cells(LESSON, last="tutorial-mended")
    asked = [QUIZZES[f"08_{n}"].made()[0] for n in ("one", "two", "three", "four", "five", "six")]
    assert [fault(func) for func in opened] == [item.verdict.truth for item in asked]
    assert len({item.verdict.truth for item in asked}) == len(asked) == 6
    texts = [script.show(func) for func in opened]
    assert len(set(texts)) == 6
    sch = scope["sch"]
    for func, mark in zip(
        opened, ("first", "second", "third", "fourth", "fifth", "sixth"), strict=True
    ):
        sch.goto(f"{mark}, mended")
        assert times(func, sch.func) >= 1.3, mark


def times(slow: object, mended: object) -> float:
    """How many times as fast, by what was recorded of both, else by the model."""
    known = [recorded.times(func) for func in (slow, mended)]
    if all(known):
        return known[0][0].median / known[1][0].median
    us = [
        wb.insight.modelled(wb.build(func).kernels, wb.target.get("nvidia/h200")).us
        for func in (slow, mended)
    ]
    return us[0] / us[1]
