"""What a program loses its time to: named first, then listed; modelled, and beside it recorded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import workbench as wb
from benchmarks.matmuls import blocking, blocking_with_shared, matmul
from tests.lessons.test_lessons import run_cells
from workbench import lesson, script
from workbench.lesson.calls import BUILDERS
from workbench.lesson.faults import FAULTS, fault, kept_beyond
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
    assert rest[-1].startswith("To gain: ")


def test_numbers_beyond_the_registers_come_first_and_without_a_time():
    """By hand: 16 x 16 sums are 256, one more than the most registers; 16 x 8 are 128."""
    much = shared((16, 16), (8, 8))
    assert kept_beyond(much) == [(256, 255)] and fault(much) == FAULTS["registers"]
    assert lesson.why(much).rows[0] == ("", f"{FAULTS['registers']}: 256, and at most 255")
    assert kept_beyond(shared((16, 8), (8, 16))) == []


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
