"""A long history, that of the tutorial's convolution: folded, looked through, jumped in."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

import workbench as wb
from benchmarks.convolutions import convolution, tutorial
from tests.browser.axe import accessible
from tests.browser.plain import Plain
from tests.browser.test_lab import inside, shoot
from tests.support.every import some

AMID = """() => {
  const list = document.querySelector(".wb-tree > .wb-steps").getBoundingClientRect();
  const here = document.querySelector(".wb-step[aria-current]").getBoundingClientRect();
  return here.top - list.top > 30 && list.bottom - here.bottom > 30;
}"""


@pytest.fixture(params=some((1280, 720, False), (1400, 900, True)))
def page(request: pytest.FixtureRequest, plain: Plain) -> Page:
    """A lab at the end of that history, whose tree is open, at one of the sizes."""
    width, height, dark = request.param
    plain.page.set_viewport_size({"width": width, "height": height})
    plain.dark(dark)
    sch = wb.Schedule(convolution(4, 16, 64, 64))
    tutorial(sch)
    last = sch.node.id
    sch.goto(20)
    sch.mark("tiles of outputs")
    sch.goto(last)
    plain.open([wb.lab(sch, panes=["tiles", "CUDA"])]).locator(".wb-all").click()
    return plain.page


def test_runs_of_a_verb_are_folded_and_steps_are_found_by_their_words(page: Page):
    tree, search = page.locator(".wb-tree"), page.locator(".wb-tree input")
    runs = tree.locator("details")
    expect(search).to_be_focused()
    assert runs.count() >= 4 and not any(run.get_attribute("open") for run in runs.all())
    current = tree.locator(".wb-step[aria-current]")
    assert inside(tree, current)
    runs.filter(has_text="bind").first.locator("summary").click()
    expect(runs.filter(has_text="bind").first).to_have_attribute("open", "")
    search.fill("BIND threadIdx.x")
    steps = tree.locator(".wb-step:visible")
    texts = steps.all_inner_texts()
    assert len(texts) == 3 and all("bind" in text and "threadIdx.x" in text for text in texts)
    expect(tree.get_by_role("status")).to_have_text(f"3 of {tree.locator('.wb-step').count()}")
    accessible(page)
    shoot(page, f"history-{page.viewport_size['width']}")  # type: ignore[index]
    search.press("ArrowDown")
    expect(steps.first).to_be_focused()
    search.press("Enter")
    expect(tree).to_be_hidden()
    chip = page.locator(".wb-link[aria-current]")
    expect(chip).to_contain_text("bind(nn_2, ")
    assert inside(page.locator(".wb-chain"), chip)


def test_the_step_shown_is_seen_amid_the_others_the_start_and_a_name_are_a_key_away(page: Page):
    search, chip = page.locator(".wb-tree input"), page.locator(".wb-link[aria-current]")
    search.fill("nothing like it")
    expect(page.locator(".wb-tree .wb-step:visible")).to_have_count(0)
    search.press("Enter")  # leads nowhere
    search.fill("vthread.x")
    search.press("Enter")
    expect(chip).to_contain_text("vthread.x")
    page.locator(".wb-all").click()
    search.fill("")
    current = page.locator(".wb-tree .wb-step[aria-current]")
    expect(page.locator(".wb-tree details[open]")).to_have_count(1)
    assert inside(page.locator(".wb-tree"), current)
    page.keyboard.press("Escape")
    page.locator(".wb-link").first.focus()
    page.keyboard.press("Enter")
    expect(chip).to_contain_text("start")
    page.locator(".wb-all").click()
    name = page.get_by_role("group", name="programs with a name").get_by_role("button")
    expect(name).to_have_text(["tiles of outputs"])
    name.focus()
    page.keyboard.press("Enter")
    expect(chip).to_have_attribute("data-f", "chip 20")
    page.locator(".wb-all").click()
    expect(name).to_have_attribute("aria-current", "step")
    page.wait_for_function(AMID)  # steps before and after it are in view
    shoot(page, f"history-names-{page.viewport_size['width']}")  # type: ignore[index]


def test_a_folded_run_that_branches_says_from_where(plain: Plain):
    sch = wb.Schedule(convolution(4, 16, 64, 64))
    tutorial(sch)
    sch.goto(0)
    for loop in sch.get_loops(sch.get_blocks()[0])[:3]:
        sch.split(loop, factors=[None, 2])
    plain.open([wb.lab(sch, panes=["tiles"])]).locator(".wb-all").click()
    run = plain.page.locator(".wb-tree summary", has_text="split × 3").last
    expect(run).to_contain_text("↳")
    expect(run).to_contain_text("from 0")
