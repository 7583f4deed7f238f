"""What the browser chooses and asks for, in any order and of any form."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from benchmarks import lab_messages
from tests.widgets.programs import ADD, WINDOW, bind_both, key, parse, send, window_steps
from workbench.diag import Fail
from workbench.schedule import Schedule
from workbench.widgets import Lab
from workbench.widgets.ask.asked import CHOSEN
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.page import page
from workbench.widgets.page.view import View


def window_lab() -> Lab:
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    return wb.lab(sch, panes=["tiles", "memory"])


def own_page(lab: Lab) -> dict[str, Any]:
    """The page of the node, made with nothing known, as far as the lab shows it."""
    cursor = lab.cursor.fork()
    cursor.goto(lab.at)
    view = {k: v for k, v in lab.view.items() if k in View.__dataclass_fields__}
    desk = Desk(keys=lab.session.desk.keys, lines=lab.session.desk.lines)
    return page(cursor, View(**{**view, "place": lab.place}), desk)


@pytest.mark.parametrize("order", list(permutations(("at", "place", "view"))), ids=" ".join)
def test_the_page_is_that_of_its_program_in_whatever_order_it_is_chosen(order: tuple[str, ...]):
    """In one message of the browser, and one after the other."""
    one, each = window_lab(), window_lab()
    one.at = 0
    view = {
        "program": "cuda",
        "machine": "tiles",
        "select": {"blockIdx.x": 3},
        "buffer": "A_shared",
    }
    chosen = {"at": 2, "place": key(one, "i"), "view": view}  # a loop that step 1 split
    one.set_state({"against": 5, **{name: chosen[name] for name in order}})
    for name in ("against", *order):
        each.set_state({name: {"against": 5, **chosen}[name]})
    for lab in (one, each):
        assert (lab.at, lab.against, lab.cursor.node.id) == (2, 5, 2)
        made, own = lab.page_2, own_page(lab)
        for part in ("names", "buffers", "notes"):
            assert made[part] == own[part], part
        for part in ("texts", "pictures", "offers"):
            assert own[part].items() <= made[part].items(), part
        assert lab.session.comparison is lab.session.state["compare_5_2"]


def test_several_traits_set_by_a_cell_are_followed_like_a_message():
    lab = window_lab()
    with lab.hold_trait_notifications():
        lab.view = {**lab.view, "program": "loops"}
        lab.place = key(lab, "ax0_0")
        lab.at = 1
    assert lab.page_1["names"] == own_page(lab)["names"]
    assert "loops" in lab.page_1["texts"]


def test_code_that_moves_the_cursor_does_not_move_what_is_shown():
    lab = window_lab()
    lab.at = 0
    lab.cursor.goto("bound")
    lab.view = {**lab.view, "program": "loops"}
    assert lab.cursor.node.id == lab.at == 0
    assert lab.page_0["names"] == own_page(lab)["names"]
    lab.cursor.goto("bound")
    send(lab, do="apply", verb="split", place=lab.place, args={"factors": "[None, 64]"})
    assert lab.history[lab.at].parent is lab.history.root


@pytest.mark.parametrize(
    ("state", "headline"),
    [
        ({"at": "1"}, "Can't read what the page sent: at is str, not int."),
        ({"at": True}, "Can't read what the page sent: at is bool, not int."),
        ({"place": None, "at": 1}, "Can't read what the page sent: place is NoneType, not str."),
        ({"view": []}, "Can't read what the page sent: view is list, not dict."),
        ({"view": {"program": "ptx"}}, "Can't show 'ptx' of the program: there is no such pane."),
        ({"view": {"machine": {}}}, "Can't show a dict of the machine: there is no such pane."),
        (
            {"view": {"select": {"blockIdx.x": "3"}}},
            "Can't show that view: buffer, level and access are names",
        ),
        ({"view": {"more": 1}}, "Can't show that view: buffer, level and access are names"),
    ],
)
def test_what_cannot_be_chosen_is_refused_and_nothing_of_it_taken(state: dict, headline: str):
    lab = window_lab()
    before = {name: getattr(lab, name) for name in CHOSEN}
    lab.set_state(state)
    assert lab.status["error"]["headline"].startswith(headline) and lab.status["error"]["hint"]
    assert {name: getattr(lab, name) for name in CHOSEN} == before


def test_the_browser_cannot_set_what_python_says():
    lab = window_lab()
    before = lab.get_state()
    lab.set_state({"tree": [], "setup": {}, "page_7": {}, "_esm": "alert(1)", "status": {}})
    assert lab.get_state() == before


def test_a_cell_that_sets_a_wrong_view_is_told():
    lab = window_lab()
    with pytest.raises(Fail) as refused:
        lab.view = {"machine": "tile"}
    assert refused.value.headline == "Can't show 'tile' of the machine: there is no such pane."
    assert refused.value.hint == (
        "there are: who, memory, tiles, pipeline, sectors, banks, occupancy, timeline, roofline, "
        "fragments"
    )
    assert lab.view["machine"] == "tiles"


@pytest.mark.parametrize(
    ("message", "headline"),
    [
        (None, "Can't read what the page sent: do is NoneType, not str."),
        ({"do": "dance"}, "Can't do 'dance': a lab has no such request."),
        ({"do": "apply", "place": 3}, "Can't read what the page sent: place is int, not str."),
        (
            {"do": "apply", "place": "i", "verb": "__init__"},
            "Can't apply '__init__': there is no primitive of that name.",
        ),
        (
            {"do": "apply", "place": "i", "verb": "split", "args": {"factors": [2, 4]}},
            "Can't read what the page sent: factors is list, not str.",
        ),
        (
            {"do": "apply", "place": "i", "verb": "split", "args": {"factors": "2," * 4000}},
            "Can't take factors: it has 8,000 characters.",
        ),
        (
            {"do": "answer", "name": "which", "choice": "0"},
            "Can't read what the page sent: choice is str, not int.",
        ),
    ],
)
def test_a_request_of_the_wrong_form_is_refused(message: Any, headline: str):
    lab = wb.lab(Schedule(parse(ADD)))
    if message and message.get("place") == "i":
        message = {**message, "place": lab.place}
    lab._on_message(None, message, [])
    assert lab.status["error"]["headline"] == headline and lab.status["error"]["hint"]
    assert len(lab.history) == 1


def test_what_is_too_long_is_refused_when_it_is_applied_and_not_while_it_is_typed():
    lab = wb.lab(Schedule(parse(ADD)))
    before = lab.status
    send(lab, do="write", verb="split", place=lab.place, args={"factors": "2," * 400})
    assert lab.status == before and not lab.call
    send(lab, do="write", verb="split", place=lab.place, args={"factors": "[2, 4]"})
    assert lab.call["text"] == 'sch.split("i", factors=[2, 4])'


@pytest.mark.parametrize("text", ["[" * 400, "-" * 499 + "1", "9" * 500, "{[]: 1}", "\0", "\ud800"])
def test_a_form_reads_no_more_than_it_can(text: str):
    lab = wb.lab(Schedule(parse(ADD)))
    send(lab, do="apply", verb="split", place=lab.place, args={"factors": text})
    assert lab.status["kind"] == "refused" and lab.status["error"]["hint"]


def test_messages_that_no_browser_sends():
    """A sample of benchmarks/lab_messages.py."""
    assert list(lab_messages.attack(160, seed=5)) == []


def test_the_attack_sees_a_page_of_another_program_and_what_is_run(tmp_path: Path):
    lab = wb.lab(Schedule(parse(ADD)))
    bind_both(lab)
    assert lab_messages.untrue(lab) == ""
    lab.session.state["page_3"] = lab.session.state["page_0"]
    assert lab_messages.untrue(lab) == "shows another program under 3"
    lab._on_message = lambda *_: exec(lab_messages.CODE)
    try:
        assert lab_messages.fault(lab, {"do": "look"}) == "something of it was run"
    finally:
        lab_messages.CANARY.unlink()


def test_dragging_does_not_let_a_page_grow():
    """A tiling picture that slides to others of the page stands for them."""
    lab = wb.lab(parse(ADD), panes=["tiles"])
    bind_both(lab)
    for value in (1, 0, 1):
        for select in ({"blockIdx.x": value}, {"blockIdx.x": value, "threadIdx.x": value + 2}):
            lab.view = {"machine": "tiles", "select": select}
    assert {name for name in lab.session.page["pictures"] if name.startswith("tiles:")} == {
        "tiles:blockIdx.x=1",
        "tiles:blockIdx.x=1,threadIdx.x=3",
    }
