"""A guess of a cost: asked for before it is shown, held against what the model says, kept."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from benchmarks.matmuls import matmul, naive
from tests.support.saved_page import saved_state
from tests.widgets.open_questions import told
from tests.widgets.programs import key, send
from workbench.diag import Fail
from workbench.draw import GPU
from workbench.schedule import Schedule
from workbench.widgets import Lab, Verdict
from workbench.widgets.ask import session
from workbench.widgets.page.costs import MODEL, count, totals_of
from workbench.widgets.page.guess import Guess, amount_text, changed_most, guess, weighed
from workbench.widgets.page.modelled_time import modelled_of
from workbench.widgets.page.question import NOT_SURE
from workbench.widgets.still.offline import last_page


@pytest.fixture(autouse=True)
def _at_leisure(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model counts as slow, however busy this machine is."""
    monkeypatch.setattr(session, "SLOW", inf)


def stepped(**options: Any) -> Lab:
    """A lab that asks for a guess first, after a step that has taken its time down."""
    lab = wb.lab(Schedule(naive(Schedule(matmul(64)), 8).func), **options)
    send(lab, do="model")
    lab.view = {**lab.view, "guess": True}
    send(lab, do="apply", verb="unroll", place=key(lab, "k"), args={})
    return lab


def asked(cost: str = MODEL) -> Guess:
    func = naive(Schedule(matmul(64)), 8).func
    return guess("one", "how long?", cost, lambda other: other, lambda other: True, func)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("60", "60 µs"),
        (" 1,200.5 µs ", "1,200 µs"),
        (".5us", "0.5 µs"),
        *((bad, None) for bad in ("", "0", "-3", "60 ms", "1e3", "nan", "much", "9" * 16)),
    ],
)
def test_a_number_of_microseconds_is_read_and_all_else_refused(text: str, kept: str | None):
    if kept is None:
        with pytest.raises(Fail, match=r"no number of µs above 0"):
            asked().read(text)
    else:
        assert asked().read(text) == kept


@pytest.mark.parametrize(
    ("cost", "said", "truth", "outcome"),
    [
        (MODEL, "80 µs", "100 µs", ("✓ Close: within a factor of 1.25.", "")),
        (MODEL, "125 µs", "100 µs", ("✓ Close: within a factor of 1.25.", "")),
        (MODEL, "126 µs", "100 µs", ("✕ It came out differently.", ", 1.26 times less.")),
        (MODEL, "20 µs", "100 µs", ("✕ It came out differently.", ", 5 times more.")),
        (MODEL, NOT_SURE, "100 µs", ("The model says 100 µs.", "")),
        (MODEL, "20 µs", "none", ("There is no number to hold it against.", "")),
        ("global sectors", "64 sectors", "64 sectors", ("✓ Exactly.", "")),
        ("global sectors", "63 sectors", "64 sectors", ("✕ It came out differently.", ", 1.02")),
    ],
)
def test_close_is_a_factor_of_a_time_and_a_count_is_exact(
    cost: str, said: str, truth: str, outcome: tuple[str, str]
):
    head, rest = asked(cost).told(said, Verdict(truth, ""))
    assert head == outcome[0] and outcome[1] in rest
    assert asked(cost).is_right(said, Verdict(truth, "")) == head.startswith("✓")


def test_the_time_is_nowhere_until_the_guess_is_made_and_then_beside_it(tmp_path: Path):
    lab = stepped(panes=["roofline", "memory"])
    truth = amount_text(modelled_of(lab.cursor.func, GPU).us or 0, MODEL)
    page = lab.session.page
    assert page["guess"]["open"] and page["guess"]["was"] == "1.28 µs"
    assert page["costs"]["rows"] or page["costs"]["waits"]  # who guesses may count
    for what in ("model", "why", "count", "look"):
        send(lab, do=what)
    lab.against = 0
    assert truth not in told(lab.session.state) and lab.session.page["why"] is None
    assert lab.session.page["pictures"]["roofline"]["caption"].startswith("?")
    lab.to_html(tmp_path / "lab.html")
    assert truth not in told(saved_state(tmp_path / "lab.html"))
    name = page["guess"]["name"]
    send(lab, do="guess", name=name, number="1")
    page = lab.session.page
    assert page["guess"]["told"] == [
        "✓ Close: within a factor of 1.25.",
        f"You said 1 µs; the model says {truth}.",
    ]
    assert page["guess"]["why"].startswith("`latency` changed most, from 0.682 µs to ")
    assert page["bar"]["us"] == truth and page["bar"]["marks"][0]["words"] == "your guess 1 µs"
    send(lab, do="guess", name=name, number="9")
    assert lab.status["kind"] == "refused" and lab.history.answers == {name: "1 µs"}
    assert f"You guessed: {page['guess']['text']} 1" in last_page(lab.session)


def test_one_press_skips_and_a_step_that_was_seen_does_not_ask():
    lab = stepped()
    name = lab.session.page["guess"]["name"]
    at = lab.at
    send(lab, do="answer", name=name, choice=0)
    assert lab.history.answers[name] == NOT_SURE and lab.session.page["bar"]["waits"] == "soon"
    lab.at = at - 1
    send(lab, do="apply", verb="unroll", place=key(lab, "k"), args={})
    assert lab.at == at and not lab.session.page["guess"]["open"]
    lab.at = at - 1
    lab.view = {**lab.view, "guess": False}
    send(lab, do="apply", verb="parallel", place=key(lab, "k"), args={})
    assert lab.session.page["guess"] is None


def test_turned_off_nothing_waits_any_more():
    lab = stepped()
    assert lab.session.page["open"]
    lab.view = {**lab.view, "guess": False}
    assert lab.session.page["guess"] is None and lab.session.page["bar"]["waits"] == "soon"


def test_a_guess_is_kept_with_the_steps_and_comes_back_with_them(tmp_path: Path):
    file = tmp_path / "steps.json"
    lab = stepped(autosave=file)
    name = lab.session.page["guess"]["name"]
    send(lab, do="guess", name=name, number="4")
    again = wb.lab(wb.load(file))
    again.at = lab.at
    assert again.session.page["guess"]["answer"] == "4 µs"
    assert again.history.answers == {name: "4 µs"}


def test_what_changed_most_is_told_of_counts_too():
    cost, funcs = "global sectors", [naive(Schedule(matmul(64)), n).func for n in (8, 16)]
    reads = [count(func, [cost]) and totals_of(func).written("global", "read") for func in funcs]
    assert changed_most(funcs[0], weighed(funcs[1], cost, GPU), cost, GPU) == (
        f"`global reads` changed most, from {reads[0]:,} sectors to {reads[1]:,} sectors."
    )


def test_a_lab_that_does_not_show_the_cost_refuses_to_ask_for_it():
    with pytest.raises(Fail, match="its costs have none"):
        wb.lab(Schedule(matmul(64)), question=asked("global sectors"))


def test_bands_of_memory_take_times_once_these_may_be_seen():
    def legend(lab: Lab) -> str:
        return str(lab.session.page["pictures"]["memory"]["caption"])

    lab = wb.lab(Schedule(naive(Schedule(matmul(64)), 8).func), panes=["memory"])
    assert "the more bytes it carries" in legend(lab)
    send(lab, do="model")
    assert "the longer is what carries it busy" in legend(lab)
    widest = lab.session.desk.widest
    lab.view = {**lab.view, "guess": True}
    send(lab, do="apply", verb="unroll", place=key(lab, "k"), args={})
    assert "the more bytes it carries" in legend(lab)
    send(lab, do="guess", name=lab.session.page["guess"]["name"], number="1")
    assert "the longer is what carries it busy" in legend(lab)
    assert lab.session.desk.widest == widest, "one scale for all programs of the lab"


@pytest.mark.parametrize(
    "message",
    [
        {"name": "none of that name", "number": "3"},
        {"name": "none of that name"},
        {"number": 3},
    ],
)
def test_what_nobody_asks_is_refused_and_changes_nothing(message: dict[str, Any]):
    lab = stepped()
    name = lab.session.page["guess"]["name"]
    send(lab, **{"do": "guess", "name": name, **message})
    assert lab.status["kind"] == "refused" and not lab.history.answers
    assert lab.session.page["guess"]["open"]


def test_a_count_is_guessed_exactly_and_hidden_with_all_counts_until_then():
    cost, sch, ends = "global sectors", Schedule(matmul(64)), []
    for threads in (8, 16):
        sch.goto(0)
        ends.append(naive(sch, threads).node)
    begun, last = ends
    sch.goto(begun)
    question = guess(
        "sectors", "how many?", cost, lambda f: f if f is last.func else None, lambda f: True
    )
    lab = wb.lab(sch, question=question, costs=[cost, MODEL], panes=["sectors"])
    send(lab, do="count")
    truth = count(last.func, [cost])[cost].text
    assert lab.session.page["guess"]["start"] == count(begun.func, [cost])[cost].number
    assert lab.session.page["costs"]["rows"][0]["after"] != "?", "where it begins is seen"
    lab.at, lab.against = last.id, begun.id
    for what in ("count", "model"):
        send(lab, do=what)
    assert truth not in told(lab.session.state)
    assert lab.session.page["costs"]["rows"][0]["after"] == "?"
    lab.against = -1
    send(lab, do="guess", name="sectors", number=truth)
    assert lab.session.page["guess"]["told"][0] == "✓ Exactly."
    assert lab.session.page["costs"]["rows"][0]["after"] == truth
