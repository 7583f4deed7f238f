"""Until a question is answered, nothing that a lab shows or sends tells the answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.support.saved_page import saved_state
from tests.widgets.open_questions import (
    CHOSEN,
    answers_of,
    decided,
    look_everywhere,
    small,
    told,
)
from tests.widgets.programs import WINDOW, parse, send, window_steps
from workbench import lesson
from workbench.schedule import Schedule
from workbench.widgets import Lab
from workbench.widgets.page.page import every_view
from workbench.widgets.page.question import PICTURE, UNTIL
from workbench.widgets.page.tried import tried_page
from workbench.widgets.page.view import LATER_PANES, MACHINE_PANES
from workbench.widgets.still import offline

EVERY = [
    "TensorIR",
    "loops",
    "CUDA",
    "Metal",
    "OpenCL",
    "Code",
    "who",
    "memory",
    "tiles",
    "pipeline",
    *LATER_PANES,
]


def opened(name: str) -> Lab:
    """A lab at the program that decides the question, which nobody has answered."""
    sch, node, _ = decided(name)
    sch.history.answers.clear()
    sch.goto(sch.history[node])
    return wb.lab(sch, question=CHOSEN[name], panes=EVERY)


@pytest.mark.lesson
@pytest.mark.parametrize("name", CHOSEN)
def test_the_answer_is_nowhere_before_it_is_given_and_there_after(name: str, tmp_path: Path):
    sch, node, verdict = decided(name)
    lab = opened(name)
    lab.comm = None  # what is sent is the session's state; to pack it is a sixth of the test
    if small(sch.history[node].func):
        lab.run()
    answer = answers_of(CHOSEN[name], sch.history[node].func, verdict.truth)
    look_everywhere(lab, node)
    asked, before = sch.history[node], sch.history[node].parent
    for view in every_view(lab.setup["panes"]) if before else ():  # as a step that is only tried
        assert not answer.search(told({"page": tried_page(asked, before, view, lab.session.desk)}))
    lab.at = node
    found = answer.search(told(lab.session.state))
    assert not found, (found, told(lab.session.state)[found.start() - 200 : found.end() + 99])
    lab.to_html(tmp_path / "lab.html")
    assert not answer.search(told(saved_state(tmp_path / "lab.html")))
    assert not answer.search(repr(lab).split("\n")[-1])

    send(lab, do="answer", name=CHOSEN[name].name, choice=0)
    assert lab.session.page["verdict"]["text"] == verdict.truth
    look_everywhere(lab, node)
    assert answer.search(told({**lab.session.state, "answers": {}}))
    shown = "".join(map(str, lab.session.state.values()))
    assert UNTIL not in shown


def written(picture: dict[str, Any]) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", "".join(picture["strips"]))


def covered(picture: dict[str, Any]) -> bool:
    """Whether its buffers alone are drawn, with "?" for all that would tell."""
    return {**picture, "strips": []} == PICTURE and "?" in written(picture)


@pytest.mark.lesson
def test_a_covered_picture_has_what_the_program_says():
    lab = opened("window_cached")
    lab.view = {**lab.view, "machine": "tiles"}
    lab.view = {**lab.view, "machine": "memory"}
    pictures, shown = lab.session.page["pictures"], lab.session.page["shown"]
    places = ["device", "global memory", "?", "block", "shared memory", "?"]
    places += ["thread", "registers", "unused", "L2 cache", "work", "C"]
    low = ["device", "?", "block", "?", "thread", "L2 cache", "work", "C"]
    low += ["A", "A_shared", "B"]  # what a pane without room shows, and one with even less
    lowest = ["device", "block", "thread", "L2 cache", "work", "C", "A", "A", "_shared", "B"]
    full = [*places, "A", "?", "A_shared", "?", "B", "?"]
    assert written(pictures["memory"]) == [*full, *low, *lowest]
    assert written(pictures[shown["tiles"]]) == ["A 1027", "?", "B 1024", "?"]


@pytest.mark.lesson
def test_every_place_shows_a_question_mark():
    lab = opened("window_cached")
    lab.run()
    for machine in MACHINE_PANES:
        lab.view = {**lab.view, "machine": machine}
        page = lab.session.page
        assert covered(page["pictures"][page["shown"][machine]])
    page = lab.session.page
    assert page["axes"] == [] and page["verdict"] is None
    told = {"ok": True, "brief": "✓ right result", "text": page["run"]["text"], "notes": [UNTIL]}
    assert page["run"] == told
    assert {(row["before"], row["after"]) for row in page["costs"]["rows"]} == {("", "?")}
    assert PICTURE["caption"].startswith("?") and UNTIL.startswith("?")
    lab.against = 0
    compared = lab.session.comparison
    assert "?" in compared["table"] and compared["costs"]["rows"][0]["after"] == "?"
    assert all(covered(one["picture"]) for one in compared["pictures"])
    assert UNTIL in offline.last_page(lab.session)


def test_a_note_is_hidden_too():
    sch = Schedule(parse(WINDOW))
    outer, inner = sch.split("i", factors=[None, 4])
    sch.bind(outer, "threadIdx.x")
    sch.vectorize(inner)
    question = lesson.question("window_bound")
    lab = wb.lab(sch, question=question)
    assert lab.session.page["notes"] == [UNTIL]
    send(lab, do="answer", name=question.name, choice=1)
    assert lab.session.page["notes"][0].startswith("`i_1` runs cell by cell")


@pytest.mark.tool
def test_who_is_told_before_anything_is_bound():
    lab = opened("vector_2_4")
    lab.at = 1
    assert "time step 5" in lab.session.page["pictures"]["who:C"]["caption"]
    lab.at = 2
    assert covered(lab.session.page["pictures"]["who:C"])
    assert repr(lab).splitlines()[-1] == (
        'Step 2, bind(i_0, "blockIdx.x"): each turn of i_0 (2×) is now a block.'
    )


@pytest.mark.lesson
def test_an_answer_opens_the_pages_made_before():
    lab = opened("vector_2_4")
    lab.at = 2
    assert lab.page_3["verdict"] is None and covered(lab.page_3["pictures"]["who:C"])
    send(lab, do="answer", name=CHOSEN["vector_2_4"].name, choice=1)
    assert "thread 1" in lab.page_3["pictures"]["who:C"]["caption"]
    assert lab.at == lab.cursor.node.id == 2 and lab.page_3["verdict"]["truth"] == 1


def test_an_answer_that_was_saved_opens_what_it_opened(tmp_path: Path):
    def lab() -> Lab:
        sch = Schedule(parse(WINDOW))
        window_steps(sch)
        question = lesson.question("window_cooperative")
        return wb.lab(sch, question=question, autosave=tmp_path / "steps.json")

    first = lab()
    assert first.session.page["verdict"] is None
    send(first, do="answer", name=lesson.question("window_cooperative").name, choice=2)
    again = lab()
    assert again.session.page["verdict"] is None
    send(again, do="resume")
    assert again.session.page["verdict"]["text"] == "130 loads"
