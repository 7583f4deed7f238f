"""The quizzes: answers computed, wrong ones explained, the first one kept."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from workbench import lesson
from workbench.diag import Fail
from workbench.lesson import record
from workbench.lesson.quiz import Quiz
from workbench.lesson.quizzes import QUIZZES
from workbench.widgets.page.question import NOT_SURE


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


GUIDE = (Path(__file__).parents[2] / "docs" / "teaching.md").read_text(encoding="utf-8")
TRUTHS = {
    name: told.split(" · ")
    for name, told in re.findall(r"^\| `(\d\d_\w+)` \| (.+) \|$", GUIDE, re.M)
}


@pytest.mark.lesson
@pytest.mark.parametrize("name", QUIZZES)
def test_each_question_has_its_answer_and_says_when_others_are_right(name: str):
    """Worked out by hand in the teachers' guide, by the program here. One shows CUDA."""
    items = QUIZZES[name].made()
    assert [i.verdict.truth for i in items] == TRUTHS[name]
    assert len(items) == QUIZZES[name].count == {"end": 3, "begin": 2}.get(name[3:], len(items))
    assert "CUDA" in [i.shown for i in items] or name[3:] not in ("end", "begin")
    most = 9 if name.startswith("08") else 5  # lesson 8 has one of eight faults named
    for i in items:
        assert i.choices[-1] == NOT_SURE and 4 <= len(set(i.choices)) == len(i.choices) <= most
        assert set(i.verdict.wrong) == set(i.choices) - {i.verdict.truth, NOT_SURE}
        assert ("__global__" in i.code) == (i.shown == "CUDA") and bool(i.code) == bool(i.shown)
        assert i.code.startswith("// launch: grid (") == (i.shown == "CUDA")
        assert i.verdict.why[-1] == "." and i.verdict.truth not in i.text


def test_a_question_of_several_programs_shows_none_and_a_record_tells_its_answer():
    """Its words say all that it asks about."""
    (item,) = QUIZZES["12_wins"].made()
    shown = lesson.quiz("12_wins")
    assert (item.code, item.shown) == ("", "")
    assert "<pre" not in shown.inner() and "<pre" in lesson.quiz("05_wins").inner()
    send(shown, item=0, choice=item.choices.index("(4, 128, 1), (1, 1, 7), (7, 1, 1), 4"))
    assert f"the record says “{item.verdict.truth}”. The tutorial" in shown.given[0]["told"]
    assert item.verdict.reply(NOT_SURE)[0] == f"The record says “{item.verdict.truth}”."


def test_an_answer_is_told_kept_and_stays(here: Path):
    shown = lesson.quiz("01_end")
    assert shown.given == [None, None, None]
    send(shown, item=1, choice=0)
    assert shown.given[0] is None and shown.given[1]["choice"] == 0
    assert shown.given[1]["told"].startswith(
        "<p><b>✕ It came out differently.</b> You said “0 threads”; the program says “28 threads”. "
        "“0 threads” would be right with 25 threads in a block.</p><p><b>Why:</b> 4 blocks of 32 "
    )
    send(shown, item=1, choice=2)
    assert shown.given[1]["choice"] == 0
    kept = json.loads((here / "my-work" / "01_vector_add_record.json").read_text())
    assert kept["quiz"]["01_end 2"] == {
        "text": "How many threads of this launch have nothing to do?",
        "answer": "0 threads",
        "right": False,
    }
    again = lesson.quiz("01_end")
    assert again.given == shown.given and "You: 0). ✕ It came out" in repr(again)
    assert "○ 28 threads" in again.still()


def send(view, **message: object) -> None:
    view._handle_custom_msg({"do": "answer", **message}, [])


@pytest.mark.parametrize("message", [{"item": 9, "choice": 0}, {"item": 0, "choice": -1}, {}])
def test_what_no_page_sends_changes_nothing(message: dict[str, int]):
    shown = lesson.quiz("02_begin")
    send(shown, **message)
    assert shown.given == [None, None]
    assert shown.heading.startswith("Can")


def test_once_all_are_answered_it_says_how_many_were_right(here: Path):
    shown = lesson.quiz("01_end")
    items = QUIZZES["01_end"].made()
    for k, item in enumerate(items):
        assert shown.outcome == ""
        choice = item.choices.index(item.verdict.truth) if k else len(item.choices) - 1
        send(shown, item=k, choice=choice)
    assert shown.outcome == "2 of 3 right."
    assert lesson.quiz("01_end").outcome == "2 of 3 right.", "also when it is opened again"
    kept = Quiz("01_end", items, record.file_of("01_vector_add"))
    assert repr(kept).endswith("\n\n2 of 3 right.")


def test_an_answer_that_cannot_be_kept_is_told_all_the_same(here: Path):
    (here / "my-work").write_text("a file, no folder")
    name = "02_begin"
    quiz = Quiz(name, QUIZZES[name].made(), record.file_of("02_window_sum"))
    first, second = quiz.answer(0, len(quiz.items[0].choices) - 1)
    assert first and second is None and first["head"] == "The program says “block 2, thread 5”."
    assert first["why"].endswith("(The answer could not be kept: my-work is a file, no folder.)")


def test_a_record_that_is_none_is_taken_for_empty(here: Path):
    file = record.file_of("01_vector_add")
    record.note(file, "points", "odd_vector", {"points": 3, "of": 4})
    points = {"odd_vector": {"points": 3, "of": 4}}
    assert record.read(file) == {"quiz": {}, "points": points, "curves": {}, "guesses": {}}
    for text in ("no JSON", "[]", '{"format": "another"}'):
        file.write_text(text)
        assert record.read(file) == {"quiz": {}, "points": {}, "curves": {}, "guesses": {}}


def test_a_quiz_that_is_not_there():
    with pytest.raises(Fail) as refused:
        lesson.quiz("99_end")
    assert str(refused.value).splitlines()[0] == "Can't find the quiz '99_end'."


@pytest.mark.parametrize("missing", ["anywidget", "traitlets"])
def test_where_no_widgets_are_there_is_text(missing: str, monkeypatch: pytest.MonkeyPatch):
    """As where notebooks are graded: an answer is taken by a call."""
    for name in ("", ".quiz", ".player"):
        monkeypatch.delitem(sys.modules, f"workbench.widgets.small{name}", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    quiz = lesson.quiz("02_begin")
    assert isinstance(quiz, Quiz) and "1. Who computes Y[37]?" in repr(quiz)
    given, _ = quiz.answer(0, 0)
    assert given and given["head"] == "✕ It came out differently."
    assert (
        repr(lesson.gpu(blocks=2)).splitlines()[1]
        == "Time 0 steps: 2 of 2 blocks run, 0 wait, 0 done."
    )
