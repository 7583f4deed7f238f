"""The view of a search: what it is told while that runs, what it opens, and what stays."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

import workbench as wb
from tests.tuning.programs import VECTOR, Planted, space
from tests.tuning.synthetic import lines_of
from workbench import tuning
from workbench.widgets import search
from workbench.widgets.search import Watching

LARGEST = 300_000  # bytes of what a notebook keeps of 1,000 trials


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What cells display, with the names of outputs that are updated."""
    published: list[dict[str, Any]] = []

    def publish(data: dict[str, Any], metadata: object = None, **more: Any) -> None:
        published.append({"data": data, **more})

    monkeypatch.setattr("IPython.display.publish_display_data", publish)
    return published


@pytest.fixture
def sent() -> list[dict[str, Any]]:
    """What a view sends."""
    return []


@pytest.fixture
def watched(
    monkeypatch: pytest.MonkeyPatch, shown: list[Any], sent: list[dict[str, Any]]
) -> Iterator[Callable[[], Watching]]:
    """Has the next search seen as in a notebook; returns what sees it."""
    made: list[Watching] = []

    def watching(tried: tuning.Tried, of: int) -> Watching:
        made.append(Watching(tried, of))
        monkeypatch.setattr(made[-1].view, "send", sent.append)
        return made[-1]

    monkeypatch.setattr("workbench.tuning.run.watching", watching)
    yield lambda: made[-1]


def tuned(**options: Any) -> tuning.Tuned:
    asked = {"trials": 6, "strategy": "random", "seed": 3, "measurer": Planted(), **options}
    return wb.tune(VECTOR, space=space, target="cuda", **asked)


def test_rows_come_in_few_messages_and_once_each(
    watched: Callable[[], Watching], sent: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
):
    """At most one in a quarter of a second, by a clock that goes on by a tenth at each look."""
    times = iter(range(10**6))
    monkeypatch.setattr(search, "monotonic", lambda: next(times) / 10)
    monkeypatch.setattr(search, "SHARE", 1.0)  # by this clock a message takes a tenth, too
    best = tuned()
    view = watched().view
    rows = [row for news in sent for row in news["rows"]]
    assert [row[0] for row in rows] == list(range(6)) and view.rows == rows
    assert all(news["from"] == sum(len(n["rows"]) for n in sent[:k]) for k, news in enumerate(sent))
    assert len(sent) == 5, "at first, after the first trial and each two more, at last"
    said = [news["told"]["caption"].replace("\N{NO-BREAK SPACE}", " ") for news in sent]
    assert said[0] == "0 of 6 trials, making the next ones; none has ended yet."
    assert re.match(r"1 of 6 trials, about \d s left; the best takes \d.\d+ µs", said[1]), said[1]
    assert not sent[-1]["told"]["running"] and view.told["best"] == best.tried.best.trial.number
    assert view.choices == ["i", "choice 1"]
    json.dumps(sent)


def test_what_ended_late_comes_late(shown: list[Any]):
    """Where several are measured side by side: the rows have the order in which they ended."""
    whole = lines_of(6)
    lines = tuning.Lines(whole.header)
    watching = Watching(tuning.show(lines), 6)
    for numbers in ((1, 2), (0, 4), (5, 3)):
        for number in numbers:
            lines.add(whole.trials[number])
            lines.add(tuning.Ended(whole.trials[number], whole.outcomes[number]))
        watching._tell()
    assert [row[0] for row in watching.view.rows] == [1, 2, 0, 4, 5, 3]


def test_stop_keeps_all_and_gives_the_best_so_far(watched: Callable[[], Watching]):
    class Stops(Planted):
        def submit(self, candidate: tuning.Candidate) -> tuning.Outcome:
            if len(self.seen) == 2:
                watched().view._handle_custom_msg({"do": "stop"}, [])
            return super().submit(candidate)

    best = tuned(measurer=Stops())
    assert len(best.tried.lines.ended) == 3 and not watched().view.told["running"]


def test_an_interrupt_stops_a_search_that_is_seen(watched: Callable[[], Watching]):
    best = tuned(measurer=Planted(after=3))
    assert len(best.tried.lines.ended) == 3
    with pytest.raises(KeyboardInterrupt):
        tuned(measurer=Planted(after=0))  # nothing was found that could be returned


def test_a_trial_opens_in_a_lab_beside_the_best(
    watched: Callable[[], Watching], shown: list[dict[str, Any]]
):
    best = tuned()
    view, tried = watched().view, best.tried
    number = next(n for n in tried.lines.trials if n != tried.best.trial.number)
    view._handle_custom_msg({"do": "open", "trial": number, "compare": True}, [])
    (lab,) = watched()._labs
    assert lab.cursor.node.mark == f"trial {number}"
    assert lab.history[lab.against].mark == f"the best, trial {tried.best.trial.number}"
    assert shown[-1]["transient"] == {"display_id": view.beside} and shown[-1]["update"]
    assert view.said == f"Trial {number} is open in the lab below."
    lab.close()
    view._handle_custom_msg({"do": "ablation"}, [])
    assert view.ablation["strips"] and view.ablation["caption"]


@pytest.mark.parametrize(
    "message, said",
    [
        ({}, "Can&#x27;t read what the page sent: do is NoneType, not str"),
        (
            {"do": "open", "trial": "1", "compare": True},
            "Can&#x27;t read what the page sent: trial",
        ),
        ({"do": "open", "trial": 99, "compare": True}, "Can&#x27;t make trial 99 again"),
        ({"do": "else"}, ""),
    ],
)
def test_what_no_page_sends_is_told(shown: list[Any], message: dict[str, Any], said: str):
    watching = Watching(tuning.show(lines_of(3), space=space), 0)
    watching.running = False
    watching.view._handle_custom_msg(message, [])
    assert watching.view.said.startswith(said)


def test_while_it_runs_it_only_stops(shown: list[Any]):
    watching = Watching(tuning.show(lines_of(3), space=space), 6)
    watching.view._handle_custom_msg({"do": "ablation"}, [])
    assert watching.view.said == "Can&#x27;t do that while the search runs."


def test_what_stays_of_a_thousand_trials_is_small(shown: list[dict[str, Any]]):
    tried = tuning.show(lines_of(1000))
    tried._choices = (tuning.Choice("i"), tuning.Choice("wide"))
    search.show_search(tried)
    still, view, lab = (one["data"] for one in shown[:3])
    assert still["text/html"] and view["text/html"] == lab["text/html"] == ""
    kept = shown[-1]["data"]  # in the place of the first
    assert "1,000 trials: the best takes" in kept["text/plain"]
    assert 'class="wb-search-still"' in kept["text/html"] and "<script" not in kept["text/html"]
    assert 50_000 < len(json.dumps([kept, view, lab])) < LARGEST


def test_what_a_record_says_is_text(shown: list[dict[str, Any]]):
    """Whatever stands in it: names and reasons are written, and never read as markup."""
    lines = tuning.Lines(replace(lines_of(1).header, device="<b>H200"))
    lines.add(tuning.Trial(0, 0, 1, (), (1,), "p"))
    lines.add(tuning.Ended(lines.trials[0], tuning.Outcome("compile", "measured", (), "<img>")))
    lines.add(tuning.Refusal(0, (2,), "<script>"))
    tried = tuning.show(lines)
    search.show_search(tried)
    still = shown[-1]["data"]["text/html"]
    assert "&lt;img&gt;" in still and "&lt;script&gt;" in still and "&lt;b&gt;H200" in still
    assert not any(tag in still for tag in ("<img", "<script", "<b>"))


def test_where_there_is_no_notebook_nothing_is_shown(shown: list[dict[str, Any]]):
    tuned(trials=2)
    assert not shown
