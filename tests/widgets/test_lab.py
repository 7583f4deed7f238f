"""The lab without a browser: what clicks do to traits, to the history, to files."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.support.saved_page import saved_state
from tests.widgets.programs import ADD, WINDOW, apply, bind_both, key, parse, send, window_steps
from workbench import lesson
from workbench.diag import Fail
from workbench.history import link
from workbench.history.write_whole import NotWritten
from workbench.lesson import who_computes
from workbench.schedule import Schedule
from workbench.widgets import Lab, widget
from workbench.widgets.page.view import LATER_PANES
from workbench.widgets.still import offline
from workbench.widgets.still.offline import last_page

CHOICES = ("block 0, thread 5", "block 1, thread 1", "time step 5")


def add_lab(**options) -> Lab:
    return wb.lab(Schedule(parse(ADD)), **options)


def question():
    return who_computes("C", 5, CHOICES, steps="split and both binds")


ASKED = "who computes C[5] after split and both binds"


def shown(lab: Lab) -> dict:
    return lab.session.page


def test_a_click_sends_its_own_page_and_no_other(monkeypatch: pytest.MonkeyPatch):
    lab = add_lab()
    bind_both(lab)
    sent: list[str] = []
    send_state = Lab._send
    monkeypatch.setattr(
        Lab,
        "_send",
        lambda self, msg, *a, **k: (
            sent.extend(msg.get("state", ())),
            send_state(self, msg, *a, **k),
        ),
    )
    apply(lab, "annotate", "i_1", ann_key='"note"', ann_val="1")
    assert {name for name in sent if name.startswith("page_")} == {"page_4"}
    sent.clear()
    lab.against = 0
    assert [name for name in sent if name.startswith(("page_", "compare_"))] == ["compare_0_4"]
    assert lab.get_state()["page_1"] == lab.session.state["page_1"], (
        "a page that is opened anew gets all"
    )


def test_clicking_takes_steps_in_the_history_but_moves_no_other_cursor():
    sch = Schedule(parse(ADD))
    lab = wb.lab(sch)
    bind_both(lab)
    assert [node.label for node in sch.history] == [
        "start",
        "split(i, factors=[2, 4])",
        'bind(i_0, "blockIdx.x")',
        'bind(i_1, "threadIdx.x")',
    ]
    assert lab.at == 3 and sch.node.id == 0
    assert "thread_binding" not in sch.func.script()


def test_steps_of_a_cell_appear_in_the_lab_and_do_not_move_it():
    sch = Schedule(parse(ADD))
    lab = wb.lab(sch)
    sch.split("i", factors=[4, 2])
    sch.mark("other")
    assert [(n["label"], n["mark"]) for n in lab.tree[1:]] == [
        ("split(i, factors=[4, 2])", "other")
    ]
    assert lab.at == 0


def test_an_equal_step_enters_the_node_that_is_there():
    sch = Schedule(parse(ADD))
    lab = wb.lab(sch)
    bind_both(lab)
    lab.at = 0
    bind_both(lab)
    assert len(sch.history) == 4 and lab.at == 3


def test_going_to_a_node_shows_its_page_and_announces_it():
    lab = add_lab()
    bind_both(lab)
    lab.at = 1
    assert (
        lab.status["text"]
        == "Step 1, split(i, factors=[2, 4]): i (8×) became i_0 (2×) and i_1 (4×)."
    )
    assert lab.cursor.node.id == 1 and "page_1" in lab.session.state


def test_a_node_that_is_not_there_is_not_gone_to():
    lab = add_lab()
    bind_both(lab)
    lab.at = 99
    assert lab.at == 3 and not lab.status.get("error")


def test_after_a_step_the_place_goes_on_to_what_it_made():
    lab = add_lab()
    assert lab.place == key(lab, "i")
    apply(lab, "split", "i", factors="[2, 4]")
    assert lab.place == key(lab, "i_0")


def test_a_refused_step_is_shown_and_changes_nothing():
    lab = add_lab()
    apply(lab, "split", "i", factors="[2, 3]")
    error = lab.status["error"]
    assert "6 of 8" in error["headline"] and error["hint"]
    assert lab.at == 0 and len(lab.history) == 1
    apply(lab, "split", "i", factors="[2, 4]")
    assert "error" not in lab.status


@pytest.mark.parametrize("text", ["[2,", "two", "__import__('os')"])
def test_a_form_reads_data_and_nothing_else(text: str):
    lab = add_lab()
    apply(lab, "split", "i", factors=text)
    assert lab.status["error"]["headline"] == (f"Can't split: factors can't be read from {text!r}.")
    assert lab.status["error"]["hint"] == "write it as in Python, such as [None, 2]"


def test_without_a_place_no_step_is_taken():
    lab = add_lab()
    send(lab, do="apply", verb="split", place="", args={"factors": "[2, 4]"})
    assert lab.status["error"]["headline"] == ("Can't apply a step: no loop or block is chosen.")


def test_a_fault_in_a_callback_is_shown(monkeypatch: pytest.MonkeyPatch):
    lab = add_lab()
    monkeypatch.setattr(wb.Schedule, "apply", lambda *a, **k: 1 / 0)
    apply(lab, "split", "i", factors="[2, 4]")
    assert lab.status["error"]["headline"] == "The lab failed: ZeroDivisionError: division by zero"


def test_named_actions_are_offered_first_and_the_rest_waits():
    lab = add_lab(actions=["split", "bind"], panes=["who"])
    verbs = shown(lab)["offers"][lab.place]["verbs"]
    assert [(v["name"], v["offered"]) for v in verbs] == [("split", True), ("bind", True)]
    lab.view = {**lab.view, "more": True}
    every = shown(lab)["offers"][lab.place]["verbs"]
    assert len(every) > 6 and [v["name"] for v in every if v["offered"]] == ["split", "bind"]
    assert lab.setup["panes"]["machine"] == {
        "first": ["who"],
        "rest": ["memory", "tiles", "pipeline", *LATER_PANES],
    }
    assert lab.setup["panes"]["program"]["first"] == ["tensorir"]
    assert lab.setup["starts"] == ["loop"], "neither starts at a block"
    assert add_lab().setup["starts"] == ["loop", "block"]


def test_a_verb_that_is_refused_says_why():
    lab = add_lab()
    bind_both(lab)
    lab.place = key(lab, "i_0")
    verbs = {v["name"]: v for v in shown(lab)["offers"][lab.place]["verbs"]}
    assert verbs["vectorize"]["verdict"] == "refused"
    why = verbs["vectorize"]["why"]
    assert why["headline"].startswith("Can't") and why["hint"]


def test_forms_offer_what_the_check_allows():
    lab = add_lab()
    verbs = {v["name"]: v for v in shown(lab)["offers"][lab.place]["verbs"]}
    (factors,) = [f for f in verbs["split"]["fields"] if f["name"] == "factors"]
    assert factors["kind"] == "list" and "[None, 2]" in [o["value"] for o in factors["options"]]
    (axis,) = verbs["bind"]["fields"]
    assert axis["kind"] == "choice"
    assert {o["label"] for o in axis["options"]} >= {"blockIdx.x", "threadIdx.x"}


def test_every_verb_of_lesson_2_can_be_clicked():
    lab = wb.lab(Schedule(parse(WINDOW)))
    bind_both(lab, factors="[None, 128]")
    apply(lab, "cache_read", "C", "block", read_buffer_index="0", storage_scope='"shared"')
    assert not lab.status.get("error"), lab.status
    apply(lab, "compute_at", "A_shared", "block", loop='"i_1"')
    assert not lab.status.get("error"), lab.status
    lab.place = key(lab, "ax0")
    apply(lab, "split", "ax0", factors="[None, 128]")
    apply(lab, "bind", "ax0_1", thread_axis='"threadIdx.x"')
    code = Schedule(parse(WINDOW))
    window_steps(code)
    assert lab.cursor.func.script() == code.func.script()


def test_run_compares_with_the_program_one_started_from():
    lab = add_lab()
    bind_both(lab)
    result = lab.run()
    assert result["ok"] is True, result
    assert result["text"].endswith("every value is right: the start gives the same.")
    assert "<td>threads</td>" in result["table"]
    assert shown(lab)["run"] == result and result["brief"] == "✓ right result"
    assert re.fullmatch(
        r"Recorded on [^:]+: [\d.]+ µs, mostly launch: too little work to compare\.", result["time"]
    )
    assert lab.status["text"] == f"{result['text']} {result['time']}"


def test_run_tells_the_first_wrong_cell():
    def wrong(A, B, C):
        C[:] = A + B
        C[5] += 1

    ones = np.ones(8, dtype="float32")
    lab = add_lab(inputs={"A": ones, "B": 2 * ones}, reference=wrong)
    bind_both(lab)
    result = lab.run()
    assert result["ok"] is False
    assert result["brief"] == "✕ 1 of 8 wrong"
    assert "1 of 8 values are wrong; C[5] is 3.0, not 4.0" in result["text"]
    assert lab.status["text"] == result["text"], "a wrong result has no time"


def test_what_cannot_run_says_why():
    lab = add_lab()
    result = lab.run()
    assert result["ok"] is False and result["refusal"]["hint"]
    assert result["brief"] == "✕ refused"


def test_a_stopped_run_has_no_result():
    lab = wb.lab(Schedule(parse(ADD.replace("8", str(1 << 20)))))
    bind_both(lab, factors="[None, 256]")

    def stop_at_once(change):
        if change.new.get("kind") == "running" and "done" in change.new:
            lab.jobs.runner.stop.set()

    lab.observe(stop_at_once, names="status")
    result = lab.run()
    assert result == {
        "ok": None,
        "brief": "stopped",
        "text": "Stopped: the run did not come to its end, so there is no result.",
    }


def test_stop_counts_from_the_click_on_run():
    lab = add_lab(reference=lambda a, b, c: send(lab, do="stop"))  # before the first block runs
    bind_both(lab)
    send(lab, do="run")
    lab.jobs.wait()
    assert lab.status["text"] == "Stopped: the run did not come to its end, so there is no result."
    assert shown(lab)["run"]["ok"] is None


def test_a_prediction_is_decided_by_the_program():
    lab = add_lab(question=question())
    assert shown(lab)["verdict"] is None
    send(lab, do="answer", name=ASKED, choice=0)
    assert lab.answers == {ASKED: "block 0, thread 5"}
    bind_both(lab)
    verdict = shown(lab)["verdict"]
    assert CHOICES[verdict["truth"]] == "block 1, thread 1"
    assert "`C[1 * 4 + 1]` is C[5]" in verdict["why"]


@pytest.mark.parametrize("message", [{"name": "another", "choice": 0},
                                     {"name": ASKED, "choice": 7}])  # fmt: skip
def test_an_answer_to_no_question_is_refused(message: dict):
    lab = add_lab(question=question())
    send(lab, do="answer", **message)
    assert lab.status["error"]["headline"] == (
        "Can't take the answer: the lab asks no such question."
    )
    assert lab.answers == {}


def test_two_nodes_are_compared():
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    lab = wb.lab(sch)
    lab.against = sch.history.find("bound").id
    made = lab.session.comparison
    assert "1,040" in made["table"] and "3,072" in made["table"]
    lab.against = 99
    assert lab.against == -1


def test_panes_stand_in_the_order_given():
    lab = add_lab(panes=["tiles", "CUDA", "who"])
    panes = lab.setup["panes"]
    assert panes["machine"] == {
        "first": ["tiles", "who"],
        "rest": ["memory", "pipeline", *LATER_PANES],
    }
    assert panes["program"]["first"] == ["tensorir", "cuda"]
    assert lab.view == {"program": "tensorir", "machine": "tiles"}


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict, dict]]:
    """What goes to the cell's outputs: the forms of each, and how it was published."""
    found: list[tuple[dict, dict]] = []

    def publish(data: dict, metadata: dict | None = None, **how: Any) -> None:
        found.append((data, how))

    monkeypatch.setattr("IPython.display.publish_display_data", publish)
    return found


def test_beside_the_view_stands_a_page_without_a_script(outputs: list):
    lab = add_lab(question=question())
    bind_both(lab)
    assert not outputs, "a lab that is not displayed publishes nothing"
    lab._ipython_display_()
    (still, how), (view, _) = outputs
    assert "application/vnd.jupyter.widget-view+json" in view
    assert view["text/plain"] == view["text/html"] == "", "nothing is said twice"
    assert still["text/plain"].splitlines()[:3] == [
        "Lab: add, 4 programs",
        "  0 start",
        "  1 split(i, factors=[2, 4])",
    ]
    html = still["text/html"]
    assert html.count("<details") == 5 and "<script" not in html and "block 1" in html
    assert how["transient"]["display_id"] in html and not how["update"]


def test_a_lab_knows_its_cell_until_that_runs_again(outputs: list, monkeypatch: pytest.MonkeyPatch):
    """A page that is loaded again puts it back there, once."""
    labs = [add_lab() for _ in range(4)]
    for lab, cell, run in zip(labs, ("c", "c", "d", "c"), ("m1", "m1", "m2", "m3"), strict=True):
        parent = {"metadata": {"cellId": cell}, "header": {"msg_id": run}}
        kernel = SimpleNamespace(get_parent=lambda parent=parent: parent)
        monkeypatch.setattr("IPython.get_ipython", lambda k=kernel: SimpleNamespace(kernel=k))
        lab._ipython_display_()
    assert [lab.cell for lab in labs] == ["", "", "d", "c"]
    sent: list[Any] = []
    monkeypatch.setattr(labs[3], "send", sent.append)
    send(labs[3], do="again")
    assert sent == [{"still": outputs[-2][0]["text/html"], "id": labs[3].model_id}]


def test_the_page_without_a_script_follows_the_lab(outputs: list):
    lab = add_lab(question=question())
    lab._ipython_display_()
    bind_both(lab)
    send(lab, do="answer", name=ASKED, choice=0)
    lab.view = {**lab.view, "program": "cuda"}
    lab.run()
    assert all(how["update"] for _, how in outputs[2:])
    html = outputs[-1][0]["text/html"]
    assert "block 1" in html and "You say: " in html and "int i_0 = blockIdx.x;" in html
    assert "every value is right: the start gives the same" in html
    before = len(outputs)
    lab.place = key(lab, "i_0")
    assert len(outputs) == before, "what stays the same is not sent again"


def test_a_link_opens_at_the_program_that_is_shown(monkeypatch: pytest.MonkeyPatch):
    lab = add_lab(address="https://example.org/play.html")
    bind_both(lab)
    lab.at = 2
    said: list[Any] = []
    lab.send = said.append
    send(lab, do="link")
    assert said[-1] == {"link": lab.link()}
    assert lab.link().startswith("https://example.org/play.html#workbench1.")
    found = wb.open(lab.link())
    assert found.node.label == lab.history[2].label and len(found.history) == 3
    wb.assert_structural_equal(found.func, lab.history[2].func)
    monkeypatch.setattr(link, "MOST_STEPS", 1)
    send(lab, do="link")
    assert said[-1] == {"link": ""}
    assert lab.status["error"]["headline"] == (
        "Can't make a link: 2 steps lead here, and one holds 1."
    )


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (
            "play.html",
            "Can't make links to 'play.html': it is no address.\n"
            f"do:    give a whole one, such as {link.ADDRESS}",
        ),
        (
            "https://example.org/#top",
            "Can't make links to 'https://example.org/#top': it has a fragment of its own.\n"
            "do:    leave out what begins with #: the steps stand there",
        ),
    ],
)
def test_an_address_is_a_whole_one_without_a_fragment(address: str, text: str):
    with pytest.raises(Fail) as error:
        add_lab(address=address)
    assert str(error.value) == text


def test_a_saved_page_holds_every_pane_of_every_node(tmp_path: Path):
    lab = wb.lab(Schedule(parse(ADD)), question=question())
    bind_both(lab)
    file = tmp_path / "lab.html"
    lab.to_html(file)
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", file.read_text())
    state = saved_state(file)
    pages = [made for name, made in state.items() if name.startswith("page_")]
    assert [set(page["texts"]) for page in pages] == [
        {"tensorir", "loops", "cuda", "metal", "opencl", "c", "code"}
    ] * 4
    assert all({"who:C", "memory"} <= set(page["pictures"]) for page in pages)
    assert state["setup"]["offline"] is True
    compared = {name for name in state if name.startswith("compare_")}
    assert compared == {"compare_0_1", "compare_1_2", "compare_2_3"}, "each step with the last"


def test_a_page_that_would_be_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lab, file = wb.lab(Schedule(parse(ADD))), tmp_path / "lab.html"
    bind_both(lab)
    file.write_text("before")
    monkeypatch.setattr(offline, "LARGEST", 36)
    with pytest.raises(NotWritten) as error:
        lab.to_html(file)
    assert str(error.value) == (
        "Can't write a page of this history: it has room for about 2 of its 4 programs.\n"
        "found: a page shows each program in every pane, and this one would take minutes\n"
        "do:    lab.save(path) writes any history, which wb.load reads; for a "
        "page, take the steps that matter on a new schedule"
    )
    assert file.read_text() == "before"


@pytest.mark.parametrize("deep", [False, True])
def test_many_small_programs_are_too_many_for_a_page(deep: bool, tmp_path: Path):
    sch = Schedule(parse(ADD))
    for number in range(1_200):
        sch.annotate("i", "note", number)
        if not deep:
            sch.goto(sch.history.root)
    with pytest.raises(NotWritten, match=r"room for about [1-9],?\d+ of its 1,201 programs"):
        wb.lab(sch).to_html(tmp_path / "lab.html")
    assert list(tmp_path.iterdir()) == []


def test_a_page_says_how_far_it_is_and_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    lab, file = wb.lab(Schedule(parse(ADD))), tmp_path / "lab.html"
    bind_both(lab)
    times = iter(range(100))
    monkeypatch.setattr(widget, "monotonic", lambda: next(times))
    lab.to_html(file)
    told = capsys.readouterr().out
    assert "\r1 of 4 programs; interrupt to stop\r2 of 4" in told
    assert told.splitlines()[-1].startswith("The lab is written to ")
    before = file.read_text()

    def interrupted(*_: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr("workbench.widgets.still.whole.comparison", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lab.to_html(file)
    assert file.read_text() == before and list(tmp_path.iterdir()) == [file]


def test_an_open_question_is_asked_once_of_each_program():
    asked: list[object] = []
    open_question = question()
    judge = open_question.judge
    sch = Schedule(parse(ADD))
    counted = replace(open_question, judge=lambda func: asked.append(func) or judge(func))
    counting = counted.along(sch.history)
    for number in range(20):
        sch.annotate("i", "note", number)
        assert counting.judge(sch.func) is None
    assert [counting.judge(node.func) for node in sch.history] == [None] * 21
    assert len(asked) == 21


def test_text_of_the_program_cannot_break_out_of_a_saved_page(tmp_path: Path):
    lab = wb.lab(Schedule(parse(ADD)))
    mark = "</script><script>alert(1)</script><!--"
    lab.history.mark(lab.history.root, mark)
    lab.to_html(tmp_path / "lab.html")
    text = (tmp_path / "lab.html").read_text()
    assert text.count("<script") == 2 and "alert(1)" not in text
    assert saved_state(tmp_path / "lab.html")["tree"][0]["mark"] == mark


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"actions": ["splitt"]}, "Can't open a lab with the action 'splitt': there is none"),
        ({"panes": ["cuda!"]}, "Can't open a lab with the pane 'cuda!': there is none"),
    ],
)
def test_unknown_actions_and_panes_are_refused(options: dict, text: str):
    with pytest.raises(Fail) as refused:
        add_lab(**options)
    assert refused.value.headline.startswith(text)
    assert refused.value.hint.startswith("there are: ")


@pytest.mark.parametrize("height", [300, True, "700"])
def test_a_height_that_holds_no_lab_is_refused(height: Any):
    with pytest.raises(Fail) as refused:
        add_lab(height=height)
    assert str(refused.value) == (
        f"Can't open a lab {height!r} pixels tall: it needs at least 440.\n"
        "do:    give a whole number, such as 640; a notebook's panel says it by itself"
    )


@pytest.mark.parametrize("options", [{"panes": "who"}, {"actions": 3}])
def test_what_is_no_list_of_names_is_refused(options: dict):
    with pytest.raises(Fail, match="that is no list of names") as refused:
        add_lab(**options)
    assert refused.value.hint.startswith('give a list, such as ["')


def test_a_program_gets_a_schedule_of_its_own():
    lab = wb.lab(parse(ADD))
    assert lab.history.root.func.name == "add"


def test_a_closed_lab_watches_no_more():
    sch = Schedule(parse(ADD))
    lab = wb.lab(sch)
    lab.close()
    sch.split("i", factors=[2, 4])
    assert len(lab.tree) == 1


def test_a_lab_of_an_exercise_follows_where_the_code_ends():
    """Also through steps that the history has, of which it tells nobody."""
    exercise = lesson.exercise("odd_vector")
    mine = exercise.schedule()
    mine.split("i", factors=[None, 250])
    lab = wb.lab(mine, task=exercise)
    assert (lab.at, lab.coded) == (1, 1)
    mine.bind("i_1", "threadIdx.x")
    assert (lab.at, lab.coded) == (1, 2)
    mine.goto("start")
    assert (lab.at, lab.coded) == (1, 0)
    mine.split("i", factors=[None, 250])
    assert lab.coded == 1 and len(mine.history) == 3
    apply(lab, "unroll", "i_0")
    assert (lab.at, lab.coded) == (3, 1), "a click moves no code"
    lab.close()
    mine.goto("start")
    assert lab.coded == 1


def test_all_that_a_browser_asks_is_answered_also_where_nothing_changes(
    monkeypatch: pytest.MonkeyPatch,
):
    lab = add_lab()
    answers: list[object] = []
    monkeypatch.setattr(lab, "send", answers.append)
    for state in ({"place": "L3"}, {"place": "L3"}, {"at": 99}, {"view": 3}):
        lab.set_state(state)
    send(lab, do="look")
    send(lab, do="nothing that there is")
    assert answers == [{"answered": True}] * 6


def test_a_cell_chooses_while_another_thread_sends():
    """As where a notebook answers clicks while a cell runs."""
    lab = add_lab()
    lab.session.cursor.split("i", factors=[2, 4])
    cell = Thread(target=lambda: setattr(lab, "at", 1))
    with lab.jobs.turn, lab._following():
        cell.start()
        cell.join(0.2)
    cell.join()
    assert lab.session.at == 1


def test_a_saved_page_has_its_title_once_above(tmp_path: Path):
    lab = add_lab()
    lab.to_html(tmp_path / "lab.html")
    shown = (tmp_path / "lab.html").read_text(encoding="utf-8").partition("<body>")[2]
    assert shown.count(">Lab: add</") == 1
    assert "<p><b>Lab: add</b></p>" in last_page(lab.session), "in a notebook nothing stands above"


@pytest.mark.parametrize(
    ("panes", "first"), [(None, "gpu"), (["C", "memory"], "cpu"), (["C", "CUDA"], "gpu")]
)
def test_a_lab_that_shows_c_alone_begins_with_the_cpu(panes: list[str] | None, first: str):
    devices = add_lab(panes=panes).setup["devices"]
    assert [device["key"] for device in devices] == [first, {"gpu": "cpu", "cpu": "gpu"}[first]]
    assert {device["label"] for device in devices} == {wb.device().which, "this CPU"}


def test_programs_keep_their_columns_on_pages_of_no_font():
    """In nbconvert's, a program without a style is set as prose is."""
    pages = [last_page(wb.lab(Schedule(parse(ADD))).session), lesson.quiz("01_end").inner()]
    for page in pages:
        found = re.findall(r"<pre\b[^>]*>", page)
        assert found and all("monospace" in tag for tag in found), found


AGAIN = (
    "<p><b>Run this cell again: it {where}.</b>{newer} While Python is busy, wait: the lab comes "
    "back by itself. If Python was restarted, run the cells above first.</p>"
    "<p><b>Lab: add</b></p>"
)
NEWER = " Steps taken since the notebook was saved are there, too."


@pytest.mark.parametrize("autosave", [False, True])
def test_the_page_of_a_lab_begins_with_how_it_comes_back(tmp_path: Path, autosave: bool):
    sch = Schedule(parse(ADD))
    lab = wb.lab(sch, autosave=tmp_path / "add.json" if autosave else None)
    start = AGAIN.format(where="begins at the start", newer=NEWER)
    assert f"</style>{start}" in last_page(lab.session)
    bind_both(lab)
    there = AGAIN.format(where="goes on at step 3", newer=NEWER)
    assert f"</style>{there}" in last_page(lab.session)
    again = wb.lab(sch, autosave=tmp_path / "add.json" if autosave else None)
    assert again.setup["resume"]["go"] == "go on from step 3"


def test_a_page_promises_no_steps_that_only_its_lab_has(tmp_path: Path):
    lab = wb.lab(parse(ADD))
    bind_both(lab)
    assert AGAIN.format(where="begins at the start", newer="") in last_page(lab.session)
    kept = wb.lab(parse(ADD), autosave=tmp_path / "add.json")
    bind_both(kept)
    assert AGAIN.format(where="goes on at step 3", newer=NEWER) in last_page(kept.session)
