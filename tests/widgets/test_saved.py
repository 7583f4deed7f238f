"""Histories that labs keep in files, and take up again in another session."""

from __future__ import annotations

import json
from pathlib import Path

import workbench as wb
from tests.widgets.programs import ADD, WINDOW, apply, bind_both, parse, send
from workbench.lesson import who_computes
from workbench.schedule import Schedule
from workbench.widgets import Lab

CHOICES = ("block 0, thread 5", "block 1, thread 1", "time step 5")


def add_lab(**options) -> Lab:
    return wb.lab(Schedule(parse(ADD)), **options)


def question():
    return who_computes("C", 5, CHOICES, steps="split and both binds")


ASKED = question().name


def test_answers_and_steps_are_kept_and_offered_again(tmp_path: Path):
    file = tmp_path / "work" / "lesson.json"
    first = add_lab(question=question(), autosave=file)
    send(first, do="answer", name=ASKED, choice=1)
    bind_both(first)
    saved = json.loads(file.read_text())
    assert saved["answers"] == {ASKED: "block 1, thread 1"}
    loaded = wb.load(file)
    assert loaded.func.script() == first.cursor.func.script()
    assert loaded.history.answers == saved["answers"]

    again = add_lab(question=question(), autosave=file)
    assert again.setup["resume"]["text"] == (
        "You were here before: lesson.json has 3 steps and 1 answer more than this lab."
    )
    assert again.at == 0
    send(again, do="resume")
    assert again.at == 3 and again.answers == saved["answers"]
    assert again.setup["resume"] is None
    assert again.status["text"] == 'Step 3, bind(i_1, "threadIdx.x").'


def test_answers_alone_are_offered_again_and_a_damaged_file_says_so(tmp_path: Path):
    file = tmp_path / "lesson.json"
    send(add_lab(question=question(), autosave=file), do="answer", name=question().name, choice=2)
    again = add_lab(question=question(), autosave=file)
    assert again.setup["resume"]["text"] == (
        "You were here before: lesson.json has 1 answer more than this lab."
    )
    data = json.loads(file.read_text())
    file.write_text(json.dumps({**data, "at": "3"}))
    send(again, do="resume")
    assert again.status["error"]["headline"].startswith(
        "Can't load this schedule: part of it is missing or damaged ("
    )


def test_labs_of_one_history_share_a_file(tmp_path: Path):
    """Each saves all; what one of them takes up, the others have too, and no offer is lost."""
    file = tmp_path / "lesson.json"
    bind_both(add_lab(autosave=file))
    sch = Schedule(parse(ADD))
    labs = [wb.lab(sch, question=question(), autosave=file) for _ in range(3)]
    text = "You were here before: lesson.json has 3 steps more than this lab."
    assert [lab.setup["resume"]["text"] for lab in labs] == [text] * 3
    send(labs[0], do="answer", name=ASKED, choice=2)  # goes on without a word
    assert labs[0].setup["resume"] is None and labs[0].at == 0
    assert len(sch.history) == 4 and labs[2].answers == {ASKED: CHOICES[2]}
    saved = json.loads(file.read_text())
    assert len(saved["nodes"]) == 3 and saved["answers"] == {ASKED: CHOICES[2]}
    send(labs[1], do="resume")  # nothing is left to take
    assert labs[1].setup["resume"] is None and labs[1].status["kind"] == "ready"
    apply(labs[2], "split", "i", factors="[4, 2]")
    assert len(json.loads(file.read_text())["nodes"]) == 4
    file.unlink()
    assert wb.lab(sch, autosave=file).setup["resume"] is None


def test_a_file_of_another_program_is_not_offered(tmp_path: Path):
    file = tmp_path / "lesson.json"
    bind_both(add_lab(autosave=file))
    other = wb.lab(Schedule(parse(WINDOW)), autosave=file)
    assert other.setup["resume"] is None
    file.write_text("{not json")
    assert add_lab(autosave=file).setup["resume"] is None


def test_steps_that_cannot_be_saved_are_taken_all_the_same(tmp_path: Path):
    (tmp_path / "file").write_text("")
    lab = add_lab(autosave=tmp_path / "file" / "lesson.json")
    apply(lab, "split", "i", factors="[2, 4]")
    assert lab.at == 1 and lab.status["text"].startswith("Steps are not saved by themselves:")
