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
    data = json.loads(file.read_text())
    file.write_text(json.dumps({**data, "at": "3"}))
    again = add_lab(question=question(), autosave=file)
    assert again.setup["resume"]["text"] == (
        "You were here before: lesson.json has 1 answer more than this lab."
    )
    send(again, do="resume")
    assert again.status["error"]["headline"].startswith(
        "Can't load this schedule: part of it is missing or damaged ("
    )


OFFER = "You were here before: lesson.json has 3 steps and 1 answer more than this lab."


def three_labs(file: Path) -> list[Lab]:
    """Labs of one history, in another session than the three steps and the answer in `file`."""
    first = add_lab(question=question(), autosave=file)
    bind_both(first)
    send(first, do="answer", name=ASKED, choice=1)
    sch = Schedule(parse(ADD))
    return [wb.lab(sch, question=question(), autosave=file) for _ in range(3)]


def test_what_is_done_while_the_offer_stands_shows_nothing_of_it_and_loses_nothing(tmp_path: Path):
    file = tmp_path / "lesson.json"
    labs = three_labs(file)
    assert [lab.setup["resume"]["text"] for lab in labs] == [OFFER] * 3
    apply(labs[1], "split", "i", factors="[4, 2]")
    labs[1].cursor.mark("mine")
    apply(labs[1], "bind", "i_0", thread_axis='"blockIdx.x"')
    for lab in labs:
        assert len(lab.tree) == 3 and lab.answers == {} and lab.setup["resume"]
    data = json.loads(file.read_text())
    assert [node["parent"] for node in data["nodes"]] == [0, 1, 0, 3, 4] and data["at"] == 2
    assert [node["mark"] for node in data["nodes"]] == ["mine", "", "", "", ""]
    assert data["answers"] == {ASKED: CHOICES[1]}

    later = add_lab(question=question(), autosave=file)  # another session, all is there
    send(later, do="resume")
    assert len(later.tree) == 6 and later.at == 2 and later.history[1].mark == "mine"
    assert later.answers == {ASKED: CHOICES[1]}


def test_a_step_taken_again_is_not_kept_twice(tmp_path: Path):
    file = tmp_path / "lesson.json"
    lab = three_labs(file)[0]
    bind_both(lab)
    assert len(json.loads(file.read_text())["nodes"]) == 3


def test_labs_of_one_history_ask_once(tmp_path: Path):
    file = tmp_path / "lesson.json"
    labs = three_labs(file)
    send(labs[0], do="resume")
    assert [lab.setup["resume"] for lab in labs] == [None] * 3
    assert [len(lab.tree) for lab in labs] == [4] * 3 and [lab.at for lab in labs] == [3, 0, 0]
    assert labs[2].answers == {ASKED: CHOICES[1]}
    send(labs[1], do="resume")  # a click that came too late
    assert labs[1].status["kind"] == "ready" and len(labs[1].tree) == 4


def test_to_start_afresh_holds_for_all_labs_of_the_history(tmp_path: Path):
    file = tmp_path / "lesson.json"
    labs = three_labs(file)
    send(labs[0], do="forget")
    assert [lab.setup["resume"] for lab in labs] == [None] * 3
    assert wb.lab(labs[0].cursor, autosave=file).setup["resume"] is None
    apply(labs[2], "split", "i", factors="[4, 2]")
    assert [len(lab.tree) for lab in labs] == [2] * 3 and labs[2].answers == {}
    data = json.loads(file.read_text())
    assert len(data["nodes"]) == 1 and data["answers"] == {}


def test_a_lab_without_a_file_has_nothing_to_go_on_from():
    lab = add_lab()
    send(lab, do="resume")
    assert lab.status["text"] == "Can't go on from there: this lab has no file."


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
