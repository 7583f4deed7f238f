"""Colours and lines have one meaning each: the chosen tab, what is wrong, the one filled button."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

import workbench as wb
from benchmarks.matmuls import LARGE, blocking_with_shared, matmul
from tests.browser.axe import accessible
from tests.browser.plain import Plain
from tests.browser.test_lab import QUIET
from tests.browser.test_menu import mark
from tests.widgets.programs import ADD, parse
from workbench.widgets.ask import session

# The colour that a name of the table stands for, as the page computes it.
COLOUR = """(lab, name) => {
  const probe = lab.appendChild(document.createElement('i'));
  probe.style.color = `var(--${name})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}"""
FILLED = """(lab, fill) => [...lab.querySelectorAll('button')]
  .filter((one) => one.checkVisibility() && getComputedStyle(one).backgroundColor === fill)
  .map((one) => one.textContent)"""


@pytest.fixture
def lab(plain: Plain) -> Locator:
    made = wb.lab(wb.Schedule(parse(ADD)), panes=["TensorIR", "CUDA", "who", "memory"])
    lab = plain.open([made]).locator(".wb-lab")
    expect(lab.locator(".wb-listing").first).to_be_visible()
    return lab


def test_the_chosen_tab_alone_has_the_blue_line(lab: Locator) -> None:
    blue = lab.evaluate(COLOUR, "brand")
    expect(lab.get_by_role("tab", name="TensorIR")).to_have_css("border-bottom-color", blue)
    other = lab.get_by_role("tab", name="CUDA")
    other.hover()
    expect(other).not_to_have_css("border-bottom-color", blue)


def test_a_run_that_is_refused_is_in_the_colour_of_faults(lab: Locator) -> None:
    lab.get_by_role("button", name="▶ run").click()
    fault = lab.evaluate(COLOUR, "fault")
    result = lab.locator(".wb-result")
    expect(result).to_contain_text("✕ refused")
    expect(result).to_have_css("color", fault)
    expect(lab.locator(".wb-said")).to_contain_text("✕ Can't build")
    expect(lab.locator(".wb-said")).to_have_css("color", fault)


def test_run_is_the_one_filled_button_also_where_a_form_is_open(lab: Locator) -> None:
    filled = lab.evaluate(COLOUR, "came")
    mark(lab, "i").click()
    lab.locator(".wb-menu .wb-verb", has_text="split").click()
    lab.locator(".wb-menu .wb-form input[type=text]").first.fill("[2, 4]")
    expect(lab.locator(".wb-would-head").get_by_role("button", name="take it")).to_be_visible()
    assert lab.evaluate(FILLED, filled) == ["▶ run"]


def timed(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> Locator:
    """A finished kernel in time, in a low pane."""
    monkeypatch.setattr(session, "SLOW", 60.0)
    sch = wb.Schedule(matmul(LARGE))
    blocking_with_shared(sch, 8, 8, 8, 8, 8)
    plain.page.set_viewport_size({"width": 829, "height": 598})
    lab = plain.open([wb.lab(sch, panes=["timeline"])]).locator(".wb-lab")
    expect(lab.locator(".wb-track > input")).to_be_visible()
    lab.evaluate(QUIET)  # what comes late draws it anew
    return lab


def test_the_ring_of_the_slider_of_time_lies_on_no_words(
    plain: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = timed(plain, monkeypatch)
    slider = lab.locator(".wb-track > input")
    slider.focus()
    plain.page.keyboard.press("Home")
    ring = slider.evaluate(
        """(it) => it.getBoundingClientRect().top
          - parseFloat(getComputedStyle(it).outlineOffset)
          - parseFloat(getComputedStyle(it).outlineWidth)"""
    )
    texts = lab.locator(".wb-track-plot text").all()
    assert texts
    for words in texts:
        box = words.bounding_box()
        assert box is None or box["y"] + box["height"] <= ring + 1, words.text_content()


def test_how_much_of_a_gpu_is_used_is_whole_and_in_its_hue(
    plain: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = timed(plain, monkeypatch)
    amount = lab.locator(".wb-machine .wb-amount")
    expect(amount).to_have_text("6% of warps")
    kind = lab.locator(".wb-machine .wb-kind")
    inside = amount.evaluate("(it) => it.scrollWidth <= it.clientWidth + 1")
    edges = [one.evaluate("(it) => it.getBoundingClientRect()") for one in (amount, kind)]
    assert inside and edges[0]["right"] <= edges[1]["left"]
    ground = lab.evaluate(COLOUR, "paper")
    expect(amount).not_to_have_css("background-color", ground)
    accessible(plain.page, ".wb-foot")
