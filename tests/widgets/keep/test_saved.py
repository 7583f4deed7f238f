"""Histories that labs keep in files, and take up again in another session."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

import workbench as wb
from tests.widgets.programs import ADD, WINDOW, apply, bind_both, parse, send
from workbench import script
from workbench.diag import Fail
from workbench.lesson import who_computes
from workbench.schedule import Schedule
from workbench.widgets import Lab

CHOICES = ("block 0, thread 5", "block 1, thread 1", "time step 5")

STEP_2 = 'Step 2, bind(i_0, "blockIdx.x"): each turn of i_0 (2×) is now a block.'
STEP_3 = 'Step 3, bind(i_1, "threadIdx.x"): each turn of i_1 (4×) is now a thread.'


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
    assert again.status["text"] == STEP_3


@pytest.mark.parametrize("keeps", [False, True])
def test_a_cell_that_runs_again_offers_to_go_on_where_its_lab_stood(keeps: bool, tmp_path: Path):
    file = tmp_path / "lesson.json" if keeps else None
    sch = Schedule(parse(ADD))

    def run_cell(task: str = "") -> Lab:
        return wb.lab(sch, task=task, autosave=file)

    assert run_cell().setup["resume"] is None
    bind_both(run_cell())
    assert run_cell("of another cell").setup["resume"] is None
    again = run_cell()
    assert again.at == 0 and again.setup["resume"] == {
        "text": 'You were here before, at step 3: bind(i_1, "threadIdx.x").',
        "go": "go on from step 3",
    }
    send(again, do="resume")
    assert again.at == 3 and again.setup["resume"] is None
    assert again.status["text"] == STEP_3
    third = run_cell()
    send(third, do="forget")
    assert third.at == 0 and third.setup["resume"] is None and run_cell().setup["resume"] is None


def test_who_takes_other_steps_is_offered_the_old_place_no_more():
    sch = Schedule(parse(ADD))
    bind_both(wb.lab(sch))
    again = wb.lab(sch)
    apply(again, "split", "i", factors="[4, 2]")
    assert again.at == 4 and again.setup["resume"] is None


def test_answers_alone_are_offered_again(tmp_path: Path):
    file = tmp_path / "lesson.json"
    send(add_lab(question=question(), autosave=file), do="answer", name=question().name, choice=2)
    again = add_lab(question=question(), autosave=file)
    assert again.setup["resume"]["text"] == (
        "You were here before: lesson.json has 1 answer more than this lab."
    )
    send(again, do="resume")
    assert again.answers == {ASKED: CHOICES[2]} and again.at == 0


def test_the_first_answer_is_the_one_that_is_kept(tmp_path: Path):
    """Another session's does not replace it, and who goes on from there has it back."""
    file = tmp_path / "lesson.json"

    def kept() -> str:
        return json.loads(file.read_text())["answers"][ASKED]

    first = add_lab(question=question(), autosave=file)
    for choice in (1, 2):  # a mind that is changed before the program decides
        send(first, do="answer", name=ASKED, choice=choice)
        assert kept() == CHOICES[choice]
    bind_both(first)
    again = add_lab(question=question(), autosave=file)
    for choice in (0, 1):
        send(again, do="answer", name=ASKED, choice=choice)
        assert kept() == CHOICES[2] and again.answers == {ASKED: CHOICES[choice]}
    send(again, do="resume")
    assert again.answers == {ASKED: CHOICES[2]}
    assert again.session.page["verdict"]["truth"] == 1 and kept() == CHOICES[2]


def test_who_takes_up_an_answer_may_change_it_while_nothing_decides(tmp_path: Path):
    file = tmp_path / "lesson.json"
    send(add_lab(question=question(), autosave=file), do="answer", name=ASKED, choice=0)
    again = add_lab(question=question(), autosave=file)
    send(again, do="resume")
    send(again, do="answer", name=ASKED, choice=1)
    assert json.loads(file.read_text())["answers"] == {ASKED: CHOICES[1]} == again.answers


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
    assert len(data["nodes"]) == 4 and data["answers"] == {ASKED: CHOICES[1]}
    later = add_lab(question=question(), autosave=file)  # what was not wanted then may be now
    assert later.setup["resume"]["text"] == OFFER.replace("3", "4")


def test_a_lab_without_a_file_has_nothing_to_go_on_from():
    lab = add_lab()
    send(lab, do="resume")
    assert lab.status["text"] == "Can't go on from there: this lab has no file."


def test_a_file_of_another_program_keeps_its_steps_for_when_it_is_put_back(tmp_path: Path):
    file = tmp_path / "lesson.json"
    bind_both(add_lab(autosave=file))
    edited = wb.lab(Schedule(parse(WINDOW)), autosave=file)
    assert edited.setup["resume"] is None
    apply(edited, "split", "i", factors="[8, 128]")
    assert wb.load(file).func.script() == edited.cursor.func.script()

    back = add_lab(autosave=file)
    assert back.setup["resume"]["text"].endswith("lesson.json has 3 steps more than this lab.")
    send(back, do="resume")
    assert back.at == 3 and back.setup["resume"] is None
    again = wb.lab(Schedule(parse(WINDOW)), autosave=file)
    assert again.setup["resume"]["text"].endswith("lesson.json has 1 step more than this lab.")


def test_to_save_into_the_file_of_the_lab_loses_nothing_either(tmp_path: Path):
    file = tmp_path / "lesson.json"
    bind_both(add_lab(autosave=file))
    lab = session(file, "[4, 2]")
    lab.save(file)
    lab.save(tmp_path / "alone.json")
    assert len(wb.load(file).history) == 5
    assert len(wb.load(tmp_path / "alone.json").history) == 2


def test_a_module_of_two_functions_is_offered_again(tmp_path: Path):
    other = ADD.replace("def add", "def other").replace('block("C")', 'block("D")')
    module = script.parse(f"@ir_module\nclass Two:\n{indent(ADD + other, '    ')}")
    file = tmp_path / "lesson.json"
    lab = wb.lab(module, autosave=file)
    apply(lab, "split", "i", factors="[2, 4]")
    assert wb.lab(module, autosave=file).setup["resume"]


def left(file: Path) -> list[str]:
    """What lies beside `file`, apart from it."""
    return sorted(path.name for path in file.parent.iterdir() if path != file)


def session(file: Path, factors: str) -> Lab:
    """A lab of a schedule of its own, in which one step was taken."""
    lab = add_lab(autosave=file)
    apply(lab, "split", "i", factors=factors)
    return lab


def test_two_notebooks_on_one_file_lose_nothing(tmp_path: Path):
    file = tmp_path / "lesson.json"
    one, other = add_lab(autosave=file), add_lab(autosave=file)
    bind_both(one)
    bind_both(other, "[4, 2]")
    other.cursor.mark("mine")
    one.at = 1
    third = add_lab(autosave=file)
    assert third.setup["resume"]["text"].endswith("lesson.json has 6 steps more than this lab.")
    send(third, do="resume")
    assert len(third.tree) == 7 and third.cursor.node.label == "split(i, factors=[2, 4])"
    assert left(file) == []


def marks_in(file: Path) -> dict[str, str]:
    """The marks in a file, each with the step whose program has it."""
    return {mark: node.label for node in wb.load(file).history for mark in node.marks}


def test_marks_of_two_notebooks_on_one_file_are_both_kept(tmp_path: Path):
    file = tmp_path / "lesson.json"
    one, other = session(file, "[2, 4]"), session(file, "[2, 4]")
    one.cursor.mark("one's")
    other.cursor.mark("other's")
    for lab, name in ((one, "begin"), (other, "start"), (one, "begin")):
        lab.cursor.goto(0)
        lab.cursor.mark(name)
        lab.save(file)
    split = "split(i, factors=[2, 4])"
    both = {"start": "start", "begin": "start", "one's": split, "other's": split}
    assert marks_in(file) == both
    assert other.history.root.marks == ("start",), "what others call it is in the file alone"
    third = add_lab(autosave=file)
    third.cursor.mark("third")
    send(third, do="resume")
    assert [third.history.find(mark).label for mark in both] == list(both.values())
    assert third.history.root.marks == ("third", "begin", "start")
    assert repr(third.history).splitlines()[0] == '  0 start  "third"  "begin"  "start"'
    third.cursor.goto(1)
    third.cursor.mark("begin")  # it moves, as ever
    third.save(file)
    assert marks_in(file) == {**both, "third": "start", "begin": split}


def test_a_mark_of_two_notebooks_for_different_programs_is_kept_twice(tmp_path: Path):
    file = tmp_path / "lesson.json"

    def marked(lab: Lab) -> dict[str, str]:
        lab.cursor.mark("tiled")
        lab.save(file)
        return marks_in(file)

    one, other = session(file, "[2, 4]"), session(file, "[4, 2]")
    first, second = "split(i, factors=[2, 4])", "split(i, factors=[4, 2])"
    marked(one)
    for _ in range(3):  # however often they take turns
        assert marked(other) == {"tiled": second, "tiled (2)": first}
        assert marked(one) == {"tiled": first, "tiled (2)": second}
    one.cursor.goto(0)  # where one takes it with it, the other's stays
    assert marked(one) == {"tiled": "start", "tiled (2)": second}
    third = "split(i, factors=[8, 1])"
    assert marked(session(file, "[8, 1]")) == {
        "tiled": third,
        "tiled (2)": second,
        "tiled (3)": "start",
    }


WRITER = """
import sys
from pathlib import Path
import workbench as wb
from tests.widgets.programs import ADD, parse
from workbench.widgets.keep.saved import kept

sch = wb.Schedule(parse(ADD))
file = kept(Path(sys.argv[1]), sch.history)
for step in range(25):
    sch.goto(0)
    sch.annotate("C", sys.argv[2], step)
    file.write(sch)
"""


@pytest.mark.tool
def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path):
    file = tmp_path / "lesson.json"
    calls = [[sys.executable, "-c", WRITER, str(file), name] for name in ("one", "two", "three")]
    running = [subprocess.Popen(call) for call in calls]
    assert [process.wait() for process in running] == [0, 0, 0]
    labels = {node.label for node in wb.load(file).history}
    assert len(labels) == 76 and left(file) == []


def test_one_goes_on_at_the_branch_that_was_left(tmp_path: Path):
    file = tmp_path / "lesson.json"
    lab = add_lab(autosave=file)
    bind_both(lab)
    lab.at = 0
    bind_both(lab, "[4, 2]")
    lab.at = 2
    waiting = add_lab(question=question(), autosave=file)
    send(waiting, do="answer", name=ASKED, choice=0)  # who only answers has gone nowhere
    again = add_lab(autosave=file)
    send(again, do="resume")
    assert again.cursor.node.path()[1].label == "split(i, factors=[2, 4])"
    assert again.cursor.node.depth == 2


def test_the_offer_counts_what_going_on_gives(tmp_path: Path):
    file = tmp_path / "lesson.json"
    bind_both(add_lab(autosave=file))
    data = json.loads(file.read_text())
    twice, gone = data["nodes"][0], json.loads(json.dumps(data["nodes"][1]))
    gone["step"]["verb"] = "tessellate"
    data["nodes"] += [twice, {**data["nodes"][1], "parent": 4}, gone, {**gone, "parent": 6}]
    file.write_text(json.dumps({**data, "at": 7}))
    again = add_lab(autosave=file)
    offer = "You were here before: lesson.json has {} more than this lab."
    lost = " 2 steps of it can no longer be taken."
    assert again.setup["resume"]["text"] == offer.format("3 steps") + lost
    again.cursor.split("i", factors=[2, 4])  # by a cell, while the offer stands
    assert again.setup["resume"]["text"] == offer.format("2 steps") + lost
    send(again, do="resume")
    assert len(again.tree) == 4 and again.at == 1  # the nearest to where it was left
    assert len(json.loads(file.read_text())["nodes"]) == 5  # what is not taken stays


@pytest.mark.lesson
def test_of_a_long_history_the_last_steps_are_taken_and_the_others_stay(tmp_path: Path):
    file, sch = tmp_path / "lesson.json", Schedule(parse(ADD))
    bind_both(wb.lab(sch))
    for k in range(600):
        sch.goto(3 if k % 2 else 0)
        sch.annotate("C", "tried", k)
    sch.goto(3)  # the way there is taken, too
    sch.save(file)
    again = add_lab(autosave=file)
    assert again.setup["resume"]["text"] == (
        "You were here before: lesson.json has 500 steps more than this lab. "
        "103 earlier steps stay in it, for wb.load."
    )
    send(again, do="resume")
    assert again.status["kind"] == "ready" and again.cursor.node.depth == 3
    assert len(again.cursor.history) == 501
    again.cursor.annotate("C", "more", 1)
    again.session.keeping.write("")
    saved = wb.load(file)
    assert len(saved.history) == 605 and saved.node.label == 'annotate(C, "more", ann_val=1)'


def test_what_cells_do_again_is_offered_no_more(tmp_path: Path):
    file = tmp_path / "lesson.json"
    bind_both(add_lab(autosave=file))
    again = add_lab(autosave=file)
    i_0, i_1 = again.cursor.split("i", factors=[2, 4])
    again.cursor.bind(i_0, "blockIdx.x")
    assert again.setup["resume"]["text"].endswith("lesson.json has 1 step more than this lab.")
    again.cursor.bind(i_1, "threadIdx.x")
    assert again.setup["resume"] is None


NOT_OURS = {
    "is left as it is (it is not JSON text)": [
        b"{not json",
        b"\x89PNG\r\n",
        b"[" * 100_000,
        b"1" * 10_000,
    ],
    "is left as it is (it is not a saved schedule)": [b"[]", b'{"cells": [], "nbformat": 4}'],
    "is left as it is (it has version 2, this workbench reads 1)": [
        b'{"format": "workbench-schedule", "version": 2, "steps": {}}'
    ],
    "is left as it is (part of it is missing or damaged ('program'))": [
        b'{"format": "workbench-schedule", "version": 1}'
    ],
}


@pytest.mark.parametrize(
    "why, held", [(why, held) for why, all_held in NOT_OURS.items() for held in all_held]
)
def test_a_file_that_is_not_ours_stays_and_steps_are_kept_beside_it(
    why: str, held: bytes, tmp_path: Path
):
    file = tmp_path / "lesson.json"
    file.write_bytes(held)
    lab = add_lab(autosave=file)
    beside = f"lesson.json {why}; steps are kept in lesson.kept-2.json."
    assert lab.status["text"] == f"The program as it was written. {beside}"
    bind_both(lab)
    assert file.read_bytes() == held and left(file) == ["lesson.kept-2.json"]
    again = add_lab(autosave=file)
    assert again.setup["resume"]["text"] == (
        "You were here before: lesson.kept-2.json has 3 steps more than this lab."
    )
    file.unlink()
    again = add_lab(autosave=file)
    assert again.setup["resume"] and "lesson.json is not there; steps" in again.status["text"]


def test_a_file_that_others_put_there_meanwhile_stays(tmp_path: Path):
    file = tmp_path / "lesson.json"
    lab = session(file, "[2, 4]")
    file.write_text("mine now")
    apply(lab, "bind", "i_0", thread_axis='"blockIdx.x"')
    assert lab.status["text"] == (
        STEP_2
        + " lesson.json is left as it is (it is not JSON text); "
        + "steps are kept in lesson.kept-2.json."
    )
    assert (
        file.read_text() == "mine now"
        and len(wb.load(tmp_path / "lesson.kept-2.json").history) == 3
    )


def test_what_else_is_in_a_file_stays(tmp_path: Path):
    file = tmp_path / "lesson.json"
    bind_both(add_lab(autosave=file))
    file.write_text(json.dumps({**json.loads(file.read_text()), "notes": [{"mine": 1}]}))
    apply(add_lab(autosave=file), "split", "i", factors="[4, 2]")
    data = json.loads(file.read_text())
    assert data["notes"] == [{"mine": 1}] and len(data["nodes"]) == 4


def test_steps_that_cannot_be_saved_are_taken_all_the_same(tmp_path: Path):
    (tmp_path / "file").write_text("")
    file = tmp_path / "file" / "lesson.json"
    lab = add_lab(autosave=file)
    apply(lab, "split", "i", factors="[2, 4]")
    lost = " Can't write lesson.json: file is a file, no folder. Your steps are in memory only."
    assert lab.at == 1 and lab.status["text"].endswith("i_1 (4×)." + lost)
    apply(lab, "bind", "i_0", thread_axis='"blockIdx.x"')
    assert lab.status["text"] == STEP_2 + lost
    (tmp_path / "file").unlink()
    apply(lab, "bind", "i_1", thread_axis='"threadIdx.x"')  # as soon as it can be, all is saved
    assert lab.status["text"] == STEP_3
    assert len(wb.load(file).history) == 4


@pytest.mark.parametrize(
    "path, says",
    [
        (".", "it is a folder"),
        ("/dev/null", "it is a device, no file"),
        ("x" * 300, "file name too long"),
    ],
)
def test_what_is_no_file_is_not_written(path: str, says: str, tmp_path: Path):
    lab = add_lab(autosave=tmp_path / path)
    apply(lab, "split", "i", factors="[2, 4]")
    assert f": {says}. Your steps" in lab.status["text"] and not list(tmp_path.iterdir())


def test_a_path_that_is_none_is_refused():
    with pytest.raises(Fail, match=r"Can't keep steps in 'a\\x00b': (lstat: )?embedded null"):
        add_lab(autosave="a\0b")
    with pytest.raises(Fail, match="Can't keep steps in 3: "):
        add_lab(autosave=3)


@pytest.mark.parametrize(
    "name", ["Übung 1.json", "a b'\"\n.json", "x" * 250, ".json", "..j", "é€𝄞" * 25]
)
def test_odd_names_are_names(name: str, tmp_path: Path):
    bind_both(add_lab(autosave=tmp_path / name))
    assert add_lab(autosave=tmp_path / name).setup["resume"] and left(tmp_path / name) == []


def test_hidden_faults_of_a_file_do_not_keep_a_lab_from_opening(tmp_path: Path):
    file = tmp_path / "lesson.json"
    bind_both(add_lab(autosave=file))
    data = json.loads(file.read_text())
    for name, value in (
        ("program", "\ud800"),
        ("mark", "a\udfff"),
        ("also", ["a\udfff"]),
        ("at", 9),
        ("others", [{}]),
    ):
        file.write_text(json.dumps({**data, name: value}))
        lab = add_lab(autosave=file)
        assert lab.setup["resume"] is None and "steps are kept in" in lab.status["text"]
