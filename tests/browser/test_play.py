"""play.html in a browser: a link opens as a lab with the browser's own Python behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import workbench as wb
from benchmarks.matmuls import blocking, matmul
from tests.browser.axe import accessible
from tests.browser.served import served
from tests.browser.test_lab import QUIET, shoot
from tests.browser.test_trying import drag, number
from tests.support import tools
from workbench.history.link import link
from workbench.widgets.play.page import page as play_page

PATIENCE = 120_000  # ms: of a machine with much else to do


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """The address of a web server with two pages: beside one lies Python, beside the other not."""
    written = play_page("pyodide/").replace('"seconds": 10', '"seconds": 1000')
    (tmp_path / "play.html").write_text(written, encoding="utf-8")
    (tmp_path / "alone.html").write_text(play_page("nowhere/"), encoding="utf-8")
    with served(tmp_path) as address:
        yield address


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """A page of its own, since what it keeps is its origin's; fails on any fault in it."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    faults: list[str] = []
    made = context.new_page()
    made.on("pageerror", lambda error: faults.append(error.stack or str(error)))
    yield made
    context.close()
    assert not faults, faults


NASTY = "<img src=x onerror=\"document.title = 'ran'\">"


def tiled() -> wb.Schedule:
    """A product in tiles, with a note that would be markup, and run, if it were no text."""
    sch = wb.Schedule(matmul(64))
    blocking(sch, 4, 4, 4, 4, 4)
    sch.annotate("C_update", NASTY, NASTY)
    return sch


def test_a_link_opens_as_a_lab_with_nothing_installed(tab: Page, site: str, tmp_path: Path) -> None:
    (tmp_path / "pyodide").symlink_to(tools.need_pyodide())
    sch = tiled()
    tab.goto(link(sch.node, f"{site}/play.html"))
    lab = tab.locator(".wb-lab")
    text, status = lab.locator(".wb-program .wb-listing"), lab.locator(".wb-said")
    expect(text).to_contain_text("T.thread_binding", timeout=PATIENCE)
    expect(text).to_contain_text("<img src=x onerror=")
    expect(tab).to_have_title("Workbench")
    expect(lab.locator(".wb-costs")).to_contain_text("No modelled time", timeout=PATIENCE)
    lab.evaluate(QUIET)  # costs move what stands above them
    shoot(tab, "play")
    # a number is dragged: the later steps are taken again, and the address follows
    drag(number(lab, "i_2"), 1)
    tab.mouse.up()
    expect(text).to_contain_text("i_2, j_2 in T.grid(8, 4)", timeout=PATIENCE)
    again = wb.open(tab.url)
    assert len(again.trace) == len(sch.trace) and "factors=[None, 4, 8]" in str(again.trace)
    # a step by its form
    lab.locator(".wb-place", has_text="loop k_0").click()
    lab.locator(".wb-verb").get_by_text("unroll", exact=True).click(timeout=PATIENCE)
    lab.locator("button[type=submit]").click()
    expect(text).to_contain_text("for k_0 in T.unroll(16)", timeout=PATIENCE)
    # there is no NumPy beside this page
    lab.get_by_text("▶ run").click()
    expect(status).to_contain_text("its Python has no NumPy", timeout=PATIENCE)
    lab.get_by_text("link", exact=True).click()
    expect(lab.locator(".wb-taken p")).to_contain_text("in any browser", timeout=PATIENCE)
    assert lab.get_by_label("the link").input_value() == tab.url
    assert wb.open(tab.url).trace.steps[-1].text == "unroll(k_0)"


def test_without_python_the_steps_of_a_link_are_text(tab: Page, site: str) -> None:
    sch = tiled()
    tab.goto(f"{site}/alone.html")
    tab.get_by_label("Paste a link").fill(link(sch.node))
    tab.get_by_text("open", exact=True).click()
    expect(tab.get_by_role("status")).to_contain_text("Python could not be fetched: no lab")
    expect(tab.locator("pre")).to_have_text(sch.history.text)
    expect(tab.locator("li")).to_have_count(len(sch.trace))
    expect(tab.locator("li").last).to_contain_text(f"annotate(C, {json.dumps(NASTY)}")
    expect(tab).to_have_title("Workbench")
    shoot(tab, "play-text")
    accessible(tab, "main")
