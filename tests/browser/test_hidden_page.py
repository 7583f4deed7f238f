"""In a browser: the strip of costs, and pages on which an open question is answered nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import workbench as wb
from tests.browser.axe import accessible
from tests.support.every import EVERY, some
from tests.widgets.open_questions import CHOSEN, answers_of, decided, plain, small
from tests.widgets.programs import WINDOW, parse, window_steps
from workbench.schedule import Schedule
from workbench.widgets.page.view import MACHINE_PANES

# whose answers the verdict alone tells
NO_PICTURE = ("conv_sectors", "conv_corner", "blur_whole", "warp_calls")

# All that is seen and heard but the question and what the learner made: the program, its steps.
READ = """() => {
  const page = document.documentElement.cloneNode(true);
  const own = ".wb-question, .wb-program, .wb-history, .wb-status, .wb-listing, script, style";
  for (const part of page.querySelectorAll(own)) part.remove();
  const names = ["aria-label", "title", "alt", "aria-valuetext", "data-cell"];
  const said = (el) => names.map((name) => el.getAttribute(name) ?? "");
  return [page.textContent, ...[...page.querySelectorAll("*")].flatMap(said)].join(" ");
}"""


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1200, "height": 900})
    yield opened
    opened.close()


def read_all(page: Page, steps: set[int]) -> str:
    """What those steps say in every picture, and the last one beside the step before."""
    found = []
    for step in sorted(steps):
        page.locator(".wb-link").nth(step).click()
        for tab in range(page.locator(".wb-machine .wb-tab").count()):
            page.locator(".wb-machine .wb-tab").nth(tab).click()
            found.append(page.evaluate(READ))
    beside = page.get_by_role("button", name="compare with the step before")
    if beside.is_enabled():
        beside.click()
        found.append(page.evaluate(READ))
    return plain(" ".join(found))


# Some, of different lessons, or every one; test_hidden.py looks in what Python sends of all.
LOOKED_AT = list(CHOSEN)[:: 1 if EVERY else 7]


@pytest.mark.parametrize("name", LOOKED_AT)
def test_an_open_question_is_answered_nowhere_on_its_page(name: str, page: Page, tmp_path: Path):
    sch, node, verdict = decided(name)
    question = CHOSEN[name]
    answer = answers_of(question, sch.history[node].func, verdict.truth)
    texts = {}
    for given in ("open", "answered"):
        sch.history.answers.clear()
        if given == "answered":
            sch.history.answers[question.name] = question.choices[0]
        lab = wb.lab(sch, question=question, panes=[*MACHINE_PANES])
        if small(sch.history[node].func):
            lab.run()
        lab.to_html(tmp_path / f"{given}.html")
        page.goto((tmp_path / f"{given}.html").as_uri())
        expect(page.locator(".wb-lab .wb-picture").first).to_be_visible()
        texts[given] = read_all(page, {0, node - 1, node, len(sch.history) - 1})
    assert not answer.search(texts["open"]) and "? Answer the question first" in texts["open"]
    assert answer.search(texts["answered"]) or name in NO_PICTURE
    assert "nswer the question first" not in texts["answered"]


@pytest.mark.parametrize("scheme", some("dark", "light"))
def test_the_costs_stand_in_a_line(scheme: str, page: Page, tmp_path: Path):
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    wb.lab(sch, costs=["global loads an output", "barriers a block"]).to_html(tmp_path / "c.html")
    page.emulate_media(color_scheme=scheme)
    page.goto((tmp_path / "c.html").as_uri())
    costs = page.locator(".wb-costs li")
    expect(costs).to_have_count(2)
    expect(costs.first.locator("[aria-hidden]")).to_have_text(
        "global loads an output 130 → 1.016 ▼"
    )
    expect(costs.first).to_contain_text("130 before, 1.016 now, less")
    assert costs.first.bounding_box()["y"] == costs.last.bounding_box()["y"]
    expect(page.locator(".wb-costs .wb-kind")).to_have_text("counted")
    accessible(page, ".wb-costs")
