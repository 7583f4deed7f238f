"""A link's lab behind a page, by the texts that go in and out, with Python as it is here."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import workbench as wb
from benchmarks.links import changed
from tests.support.cases import seeds
from tests.widgets.programs import ADD, parse
from workbench.history.link import link
from workbench.widgets.play.played import Played, begin

HOME = "https://example.org/course/play.html"


def bound() -> str:
    """A link to a vector addition that is split and bound."""
    sch = wb.Schedule(parse(ADD))
    outer, inner = sch.split("i", factors=[2, 4])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return link(sch.node, HOME)


def opened(url: str) -> tuple[Played | None, list[dict[str, Any]]]:
    """What opens `url`, and the list that it tells its page's news to."""
    news: list[dict[str, Any]] = []
    return begin(url, HOME, lambda text: news.append(json.loads(text))), news


def ask(played: Played, news: list[dict[str, Any]], **what: Any) -> list[dict[str, Any]]:
    """What a page is told that asks for `what`."""
    known = len(news)
    played.answer(json.dumps(what))
    return news[known:]


def test_a_page_is_told_all_of_the_lab_and_steps_lead_its_address():
    played, news = opened(bound())
    assert played is not None
    (first,) = news
    assert first["told"]["at"] == 3 and first["told"]["page_3"]["pictures"]
    assert first["told"]["setup"]["plays"] and first["link"] == bound()
    # a step is taken, and the address is that of its program
    (undone,) = ask(played, news, chosen={"at": 1})
    assert undone["chose"] == ["at"], "which the page knows, and may have left since"
    assert undone["told"]["at"] == 1 and undone["said"] == {"answered": True}
    assert undone["link"].startswith(f"{HOME}#workbench1.") and len(undone["link"]) < 600
    names = undone["told"]["page_1"]["names"]
    place = next(key for key, name in names.items() if name["name"] == "i_0")
    step = {"verb": "bind", "place": place, "args": {"thread_axis": "threadIdx.y"}}
    (taken,) = ask(played, news, message={"do": "apply", **step})
    assert taken["told"]["at"] == 4
    assert wb.open(taken["link"]).trace.steps[-1].text == 'bind(i_0, "threadIdx.y")'
    # what is tried changes nothing; a link is made; a choice that there is not is put back
    step |= {"args": {"thread_axis": "threadIdx.z"}}
    (tried,) = ask(played, news, message={"do": "try", "step": step, "seq": 7, "view": "1"})
    assert tried["told"] == {} and tried["said"]["seq"] == 7 and tried["link"] == ""
    assert tried["chose"] is None
    (made,) = ask(played, news, message={"do": "link"})
    assert made["said"] == {"link": taken["link"]}
    (refused,) = ask(played, news, chosen={"at": "here"})
    assert refused["told"]["at"] == 4 and refused["told"]["status"]["kind"] == "refused"


def test_a_place_that_a_step_has_taken_away_is_not_chosen_after_it():
    """The page chose it before it was told of the step."""
    played, news = opened(link(wb.Schedule(parse(ADD)).node, HOME))
    assert played is not None
    names = news[0]["told"]["page_0"]["names"]
    loop = next(key for key, one in names.items() if one["name"] == "i")
    step = {"do": "apply", "verb": "split", "place": loop, "args": {"factors": "[2, 4]"}}
    ask(played, news, message=step)
    (told,) = ask(played, news, chosen={"place": loop})
    page = played._session.page
    assert told["told"]["place"] in page["names"] and loop not in page["names"]


def test_a_run_is_told_of_before_it_is_done():
    played, news = opened(bound())
    assert played is not None
    begun, *between, came = ask(played, news, message={"do": "run"})
    assert begun["told"]["status"] == {"kind": "running", "text": "Running step 3 …"}
    assert all(one["told"]["status"]["kind"] == "running" for one in between)
    assert came["told"]["page_3"]["run"]["ok"]


def test_what_is_no_link_is_refused_in_words():
    played, news = opened("#workbench1.eNqrVkrL")
    assert played is None
    assert news == [
        {
            "refused": {
                "headline": "Can't open this link: part of it is missing or changed.",
                "hint": "copy it again, whole: the link button of a lab and lab.link() make one",
                "where": "",
                "detail": "",
            }
        }
    ]


@pytest.mark.fuzz
def test_damaged_links_are_refused_or_open():
    urls = [bound(), bound().partition("#")[2]]
    found = set()
    for seed in seeds(5):
        played, news = opened(changed(seed, urls[seed % 2]))
        (told,) = news
        assert played or (told["refused"]["headline"] and told["refused"]["hint"]), seed
        found.add(bool(played))
    assert found == {True, False}


WITHOUT = """
import sys

from workbench.widgets.play import without_numpy
without_numpy.stand_in()
import json
from workbench.widgets.play.played import begin
news = []
played = begin(sys.argv[1], "https://example.org/", lambda text: news.append(json.loads(text)))
played.answer(json.dumps({"chosen": {"view": {"program": "cuda"}}}))
played.answer(json.dumps({"message": {"do": "run"}}))
page = {**news[0]["told"]["page_3"], **news[1]["told"]["page_3"]}
(who,) = page["pictures"].values()
run = news[-1]["told"]["page_3"]["run"]
print(json.dumps([who["refusal"], page["texts"]["cuda"]["lines"], run]))
"""


@pytest.mark.tool
def test_without_numpy_what_computes_with_it_says_so_and_all_else_works():
    call = [sys.executable, "-c", WITHOUT, bound()]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    who, cuda, run = json.loads(done.stdout)
    assert who == {
        "headline": "Can't work this out on this page: its Python has no NumPy.",
        "hint": "open the link in Python: wb.open(…), or workbench open in a terminal",
        "where": "",
        "detail": who["detail"],
    }
    assert len(cuda) > 4
    assert run["text"] == f"✕ {who['headline']}"
