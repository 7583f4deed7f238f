"""Steps tried before they are taken: a number dragged, a slider, a form; nothing stays of them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.browser.axe import accessible
from tests.browser.plain import Plain
from tests.browser.test_lab import QUIET, shoot
from tests.browser.test_menu import mark
from tests.schedule import programs
from workbench import script
from workbench.widgets.ask import session

STEP = 14  # px of a drag from one value to the next, as grip.js has it
# The second value comes before the first is answered.
BOTH = """(body, xs) => {
  for (const clientX of xs) body.dispatchEvent(new PointerEvent("pointermove", { clientX }));
}"""
LATE = 2.5  # s after which an answer is waited for no longer, as trying.js has it, and more


def number(lab: Locator, name: str) -> Locator:
    """The number of a loop, which can be dragged."""
    line = lab.locator(".wb-program .wb-line", has=lab.page.get_by_text(name, exact=True))
    key = line.locator(".wb-mark").get_by_text(name, exact=True).first.get_attribute("data-k")
    return lab.locator(f".wb-program [data-grip={key}]").first


def drag(thing: Locator, by: int) -> None:
    """Take hold of a number and move it by so many values; it is not released."""
    thing.scroll_into_view_if_needed()
    at = thing.bounding_box()
    assert at
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    thing.page.mouse.move(x, y)
    thing.page.mouse.down()
    for k in range(1, abs(by) + 1):
        thing.page.mouse.move(x + STEP * k * (1 if by > 0 else -1), y)


@pytest.fixture
def sch() -> wb.Schedule:
    sch = wb.Schedule(matmul(64))
    blocking_with_shared(sch, 4, 4, 4, 4, 4)
    return sch


def test_a_number_of_a_finished_kernel_is_dragged(
    plain: Plain, sch: wb.Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "SLOW", 60.0)  # times are worked out however slow the machine is
    lab_ = wb.lab(sch, panes=["TensorIR", "tiles"])
    lab = plain.open([lab_]).locator(".wb-lab")
    page, head = plain.page, lab.locator(".wb-would-head")
    text, picture = lab.locator(".wb-program .wb-listing"), lab.locator(".wb-machine svg").first
    expect(picture).to_be_visible()
    expect(lab.locator(".wb-costs")).to_contain_text("modelled")
    lab.evaluate(QUIET)  # costs move what stands above them
    drawn = picture.inner_html()
    known = json.dumps([lab_.session.state, len(sch.history)], default=str)
    # while it is held, program and picture are those that would be
    drag(number(lab, "i_2"), 1)
    expect(head).to_contain_text("split(i, factors=[None, 4, 8]) in place of step 2")
    expect(text).to_contain_text("k_1, i_2, j_2 in T.grid(4, 8, 4)")
    expect(lab.locator(".wb-machine.wb-would svg")).not_to_have_count(0)
    assert picture.inner_html() != drawn
    expect(lab.locator(".wb-costs.wb-would .wb-bar-now")).to_be_visible()  # costs follow
    shoot(page, "trying-dragged")
    plain.dark(True)
    shoot(page, "trying-dragged-dark")
    plain.dark(False)
    # Escape puts all back, and there is no trace
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(head).to_be_hidden()
    expect(text).to_contain_text("k_1, i_2, j_2 in T.grid(4, 4, 4)")
    assert picture.inner_html() == drawn
    assert json.dumps([lab_.session.state, len(sch.history)], default=str) == known
    expect(lab.locator(".wb-menu")).to_be_hidden()
    # what would be refused is told, and release takes nothing
    lab.get_by_role("button", name="fetch A_shared").click()
    drag(number(lab, "ax0_ax1_fused_1"), -1)
    expect(head).to_contain_text("✕ Can't let ax0_ax1_fused_1 be 8: i_1_j_1_fused, on threadIdx.x")
    accessible(page, ".wb-would-head")
    page.mouse.up()
    assert len(sch.history) == 24
    page.keyboard.press("Escape")
    # release takes what is shown: the later steps follow
    drag(number(lab, "i_2"), 1)
    expect(text).to_contain_text("k_1, i_2, j_2 in T.grid(4, 8, 4)")
    page.mouse.up()
    expect(lab.locator(".wb-status")).to_contain_text("split(i, factors=[None, 4, 8])")
    expect(head).to_be_hidden()
    expect(text).to_contain_text("k_1, i_2, j_2 in T.grid(4, 8, 4)")
    assert lab_.cursor.node.path()[2].label == "split(i, factors=[None, 4, 8])"


# How far apart two boxes are, across and down; 0 where they touch or meet. At once: what is tried
# is drawn anew meanwhile.
APART = """(parts) => {
  const [a, b] = parts.map((part) => document.querySelector(part).getBoundingClientRect());
  const far = (from, to) => Math.max(b[from] - a[to], a[from] - b[to], 0);
  return [far('left', 'right'), far('top', 'bottom')];
}"""


TOP = "(part) => document.querySelector(part).getBoundingClientRect().top"


def test_the_line_of_a_held_number_stays_and_what_it_is_tried_as_stands_at_it(
    plain: Plain, sch: wb.Schedule
) -> None:
    """In a low pane, where lines are folded, and where the program is scrolled to its end."""
    plain.page.set_viewport_size({"width": 829, "height": 598})
    lab_ = wb.lab(sch, panes=["TensorIR", "tiles"])
    lab = plain.open([lab_]).locator(".wb-lab")
    page, body = plain.page, lab.locator(".wb-program .wb-body")
    head, hand = lab.locator(".wb-would-head"), lab.locator(".wb-tried-as:popover-open")
    expect(lab.locator(".wb-costs")).to_contain_text("modelled")
    lab.evaluate(QUIET)
    number(lab, "k_0").scroll_into_view_if_needed()
    top = number(lab, "k_0").evaluate("(it) => it.getBoundingClientRect().top")
    at = number(lab, "k_0").bounding_box()
    assert at
    for value, told in ((32, "would be split(k, factors=[32, None])"), (64, "be 64: loop ax1 is")):
        drag(number(lab, "k_0"), 1) if value == 32 else page.mouse.move(at["x"] + 45, at["y"])
        expect(head).to_contain_text(told)
        expect(hand).to_contain_text(f"16 → {value}")
        assert page.evaluate(TOP, ".wb-held") == top
        apart = page.evaluate(APART, [".wb-held", ".wb-tried-as"])
        assert max(apart) <= 4, apart
        # the strip has the height of the tabs: it lies on no line
        gap = page.evaluate(APART, [".wb-would-head", ".wb-program .wb-body"])
        edges = [one.evaluate("(it) => it.getBoundingClientRect()") for one in (head, body)]
        assert edges[0]["bottom"] <= edges[1]["top"] + 1 and gap[1] < 12
        words = head.locator(".wb-would-told")
        assert words.evaluate("(it) => it.getClientRects().length") == 1
    fault = lab.locator(".wb-would-told").evaluate("(it) => getComputedStyle(it).color")
    expect(hand).to_have_css("color", fault)
    expect(hand).to_have_text("16 → 64 · 32 goes")  # told once the hand rests
    marked = lab.locator(".wb-program .wb-faulty .wb-text")
    expect(marked.filter(has_text="for ax0_ax1_fused_0 in range(1)")).to_have_count(1)
    assert len(sch.history) == 24
    shoot(page, "trying-refused")
    plain.dark(True)
    shoot(page, "trying-refused-dark")
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(hand).to_have_count(0)
    expect(head).to_be_hidden()
    expect(marked).to_have_count(0)


def test_the_last_value_is_shown_also_where_an_earlier_one_is_waited_for_in_vain(
    plain: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = wb.Schedule(script.parse(programs.MATMUL))
    small.split("i", factors=[None, 2])
    lab_ = wb.lab(small, panes=["TensorIR", "tiles"], costs=[])
    lab = plain.open([lab_]).locator(".wb-lab")
    lab.evaluate(QUIET)
    hear, tried = lab_.session.hear, []

    def slowly(message: Mapping[str, Any]) -> Any:
        if message["do"] == "try":
            tried.append(message["step"]["value"])
            time.sleep(LATE * (len(tried) == 1))
        return hear(message)

    monkeypatch.setattr(lab_.session, "hear", slowly)
    drag(number(lab, "i_1"), 0)
    at = number(lab, "i_1").bounding_box()
    assert at
    middle = at["x"] + at["width"] / 2
    lab.locator(".wb-program .wb-body").evaluate(BOTH, [middle + STEP, middle + 2 * STEP])
    expect(lab.locator(".wb-program .wb-listing")).to_contain_text("T.grid(1, 8, 8, 8)")
    assert tried == [4, 8]


def test_a_kernel_that_is_busy_is_told_and_what_has_no_answer_is_not_taken(
    plain: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = wb.Schedule(script.parse(programs.MATMUL))
    small.split("i", factors=[None, 2])
    lab_ = wb.lab(small, panes=["TensorIR", "tiles"], costs=[])
    lab = plain.open([lab_]).locator(".wb-lab")
    lab.evaluate(QUIET)
    monkeypatch.setattr(lab_.session, "hear", lambda message: None)
    head, hand = lab.locator(".wb-would-head"), lab.locator(".wb-tried-as")
    drag(number(lab, "i_1"), 1)
    expect(hand).to_have_text("2 → 4 · kernel busy")
    expect(head).to_contain_text("kernel busy")
    expect(hand).to_have_text("2 → 4 · no answer")
    expect(head).to_contain_text("no answer within 2 s: the kernel is busy, or gone")
    monkeypatch.undo()
    plain.page.mouse.up()
    expect(lab.locator(".wb-program .wb-listing")).to_contain_text("T.grid(4, 2, 8, 8)")
    assert len(small.history) == 2
    drag(number(lab, "i_1"), 1)
    expect(head).to_contain_text("would be split(i, factors=[None, 4])")
    expect(hand).to_have_text("2 → 4")


@pytest.mark.parametrize("level", ["block 0", "warp 0"])
def test_escape_is_for_the_hand_also_where_the_time_has_the_focus(
    plain: Plain, sch: wb.Schedule, level: str
) -> None:
    lab = plain.open([wb.lab(sch, panes=["TensorIR", "timeline"])]).locator(".wb-lab")
    lab.evaluate(QUIET)
    machine, head = lab.locator(".wb-machine"), lab.locator(".wb-would-head")
    for near in ("block 0", "warp 0")[: 1 + (level == "warp 0")]:
        machine.get_by_role("button", name=near, exact=True).click()
    machine.locator("input[type=range]").first.focus()
    drag(number(lab, "i_2"), 1)
    expect(head).to_contain_text("would be")
    plain.page.keyboard.press("Escape")
    expect(head).to_be_hidden()
    plain.page.mouse.up()
    current = machine.get_by_role("button", name=level, exact=True)
    expect(current).to_have_attribute("aria-pressed", "true")
    assert len(sch.history) == 24


def test_escape_puts_back_what_is_not_drawn_yet(plain: Plain, sch: wb.Schedule) -> None:
    """The program is drawn for the hand that lets go, and again without what was tried."""
    lab = plain.open([wb.lab(sch, panes=["TensorIR", "tiles"])]).locator(".wb-lab")
    lab.evaluate(QUIET)
    head, text = lab.locator(".wb-would-head"), lab.locator(".wb-program .wb-listing")
    held = number(lab, "i_2")
    held.scroll_into_view_if_needed()  # which waits until it is drawn
    at = held.bounding_box()
    assert at
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    drag(held, 1)
    expect(text).to_contain_text("k_1, i_2, j_2 in T.grid(4, 8, 4)")
    expect(lab.locator(".wb-costs.wb-late")).to_have_count(0)
    plain.page.keyboard.press("Escape")
    plain.page.mouse.up()
    plain.page.wait_for_timeout(1000)
    # it has its answer now; what is drawn after the first time waits for a frame
    plain.page.evaluate("() => { window.requestAnimationFrame = () => 0; }")
    drag(number(lab, "i_2"), 1)
    expect(text).to_contain_text("k_1, i_2, j_2 in T.grid(4, 8, 4)")
    plain.page.mouse.move(x, y)
    expect(text).to_contain_text("k_1, i_2, j_2 in T.grid(4, 4, 4)")
    plain.page.mouse.move(x + STEP, y)
    plain.page.keyboard.press("Escape")
    plain.page.mouse.up()
    expect(text).to_contain_text("k_1, i_2, j_2 in T.grid(4, 4, 4)")
    expect(head).to_be_hidden()


LOW = {"width": 829, "height": 598}  # a program of which some lines are seen


@pytest.mark.parametrize("ends", ["Escape", "release"])
def test_a_line_whose_number_is_let_go_stays_where_it_is(
    plain: Plain, sch: wb.Schedule, ends: str
) -> None:
    """Lines that the hand had unfolded fold again, and the program is another, or as it was."""
    plain.page.set_viewport_size(LOW)
    lab = plain.open([wb.lab(sch, panes=["TensorIR", "tiles"], costs=[])]).locator(".wb-lab")
    lab.evaluate(QUIET)
    text, held = lab.locator(".wb-program .wb-listing"), number(lab, "i_2")
    lab.locator(".wb-program .wb-body").evaluate("(it) => it.scrollTo({ top: 40 })")
    line = held.evaluate("(it) => it.closest('.wb-line').querySelector('.wb-number').textContent")
    row = lab.locator(".wb-program .wb-line:not(.wb-gone, .wb-was)").filter(
        has=plain.page.locator(".wb-number", has_text=re.compile(f"^{line}$"))
    )
    before = held.bounding_box()
    assert before and lab.locator(".wb-program .wb-body").evaluate("(it) => it.scrollTop") > 0
    drag(held, 1)
    expect(text).to_contain_text("k_1, i_2, j_2 in T.grid(4, 8, 4)")
    if ends == "Escape":
        plain.page.keyboard.press("Escape")
    plain.page.mouse.up()
    expect(lab.locator(".wb-would-head")).to_be_hidden()
    if ends == "release":
        expect(lab.locator(".wb-status")).to_contain_text("split(i, factors=[None, 4, 8])")
    plain.page.wait_for_timeout(500)  # what comes late moves it no more
    after = row.bounding_box()
    assert after and abs(after["y"] - before["y"]) < before["height"]


def test_a_number_that_is_pressed_opens_the_menu_of_its_loop(
    plain: Plain, sch: wb.Schedule
) -> None:
    lab = plain.open([wb.lab(sch, panes=["TensorIR", "tiles"], costs=[])]).locator(".wb-lab")
    lab.evaluate(QUIET)
    number(lab, "i_2").click()
    slider = lab.locator(".wb-menu .wb-grip input")
    expect(slider).to_have_attribute("aria-label", "how often i_2 runs")
    assert len(sch.history) == 24


def test_a_hand_on_its_way_asks_ahead_and_what_was_tried_is_not_asked_again(
    plain: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = wb.Schedule(script.parse(programs.MATMUL))
    small.split("i", factors=[None, 2])
    lab_ = wb.lab(small, panes=["TensorIR", "tiles"], costs=[])
    lab = plain.open([lab_]).locator(".wb-lab")
    lab.evaluate(QUIET)
    hear, tried = lab_.session.hear, []

    def noted(message: Mapping[str, Any]) -> Any:
        if message["do"] == "try":
            tried.append(message["step"]["value"])
        return hear(message)

    monkeypatch.setattr(lab_.session, "hear", noted)
    text, head = lab.locator(".wb-program .wb-listing"), lab.locator(".wb-would-head")
    drag(number(lab, "i_1"), 0)
    at = number(lab, "i_1").bounding_box()
    assert at
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    plain.page.mouse.move(x + 0.4 * STEP, y)
    while not tried:  # which ends with the time that a test has
        plain.page.wait_for_timeout(20)
    expect(head).to_be_hidden()  # the hand is not there yet
    for by, grid in ((1, "2, 4, 8, 8"), (2, "1, 8, 8, 8"), (1, "2, 4, 8, 8"), (2, "1, 8, 8, 8")):
        plain.page.mouse.move(x + by * STEP, y)
        expect(text).to_contain_text(f"T.grid({grid})")
    plain.page.mouse.move(x, y)
    expect(head).to_be_hidden()
    assert tried == [4, 8]
    plain.page.mouse.move(x + STEP, y)
    plain.page.mouse.up()
    expect(lab.locator(".wb-status")).to_contain_text("split(i, factors=[None, 4])")


def test_a_number_that_no_split_made_is_dragged_to_a_new_split(plain: Plain) -> None:
    sch = wb.Schedule(script.parse(programs.MATMUL))
    lab_ = wb.lab(sch, actions=["split"], panes=["TensorIR", "tiles"], costs=[])
    lab = plain.open([lab_]).locator(".wb-lab")
    lab.evaluate(QUIET)
    text, head = lab.locator(".wb-program .wb-listing"), lab.locator(".wb-would-head")
    expect(number(lab, "j")).to_have_attribute("title", "drag it to split the loop: 2, 4, 8")
    drag(number(lab, "j"), -1)
    expect(head).to_contain_text("would be split(j, factors=[None, 4])")
    expect(text).to_contain_text("for i, j_0, j_1, k in T.grid(8, 2, 4, 8)")
    expect(lab.locator(".wb-machine.wb-would svg")).not_to_have_count(0)
    plain.page.mouse.move(0, 0)  # as far as it goes
    expect(text).to_contain_text("for i, j_0, j_1, k in T.grid(8, 4, 2, 8)")
    shoot(plain.page, "trying-new-split")
    plain.page.keyboard.press("Escape")
    plain.page.mouse.up()
    expect(text).to_contain_text("for i, j, k in T.grid(8, 8, 8)")
    assert len(sch.history) == 1
    drag(number(lab, "j"), -1)
    expect(text).to_contain_text("for i, j_0, j_1, k in T.grid(8, 2, 4, 8)")
    plain.page.mouse.up()
    expect(lab.locator(".wb-status")).to_contain_text("split(j, factors=[None, 4])")
    # its number is the split's from now on, and what was there comes back by undo
    expect(number(lab, "j_1")).to_have_attribute("title", "drag it: 1, 2, 4, 8")
    lab.get_by_role("button", name="undo").click()
    expect(text).to_contain_text("for i, j, k in T.grid(8, 8, 8)")
    # by keys it has the form of the verb, and no slider beside it
    mark(lab, "j").click()
    expect(lab.locator(".wb-menu .wb-form")).to_be_visible()
    expect(lab.locator(".wb-menu .wb-grip")).to_have_count(0)


def test_undo_leads_back_to_where_a_number_was_dragged(plain: Plain, sch: wb.Schedule) -> None:
    lab = plain.open([wb.lab(sch, panes=["TensorIR", "tiles"])]).locator(".wb-lab")
    text = lab.locator(".wb-program .wb-listing")
    lab.evaluate(QUIET)  # the program of another size is drawn anew, under the hand
    drag(number(lab, "i_2"), 1)
    plain.page.mouse.up()
    expect(lab.locator(".wb-status")).to_contain_text("split(i, factors=")
    expect(text).to_contain_text("k_1, i_2, j_2 in T.grid(4, 8, 4)")
    lab.get_by_role("button", name="undo").click()
    expect(text).to_contain_text("k_1, i_2, j_2 in T.grid(4, 4, 4)")
    expect(lab.locator(".wb-chain [aria-current]")).to_contain_text("23 decompose_reduction")
    lab.get_by_role("button", name="redo").click()
    expect(text).to_contain_text("k_1, i_2, j_2 in T.grid(4, 8, 4)")


def test_keys_and_forms_try_too(plain: Plain, sch: wb.Schedule) -> None:
    lab_ = wb.lab(sch, panes=["TensorIR", "tiles"])
    lab = plain.open([lab_]).locator(".wb-lab")
    head, text = lab.locator(".wb-would-head"), lab.locator(".wb-program .wb-listing")
    mark(lab, "j_2").click()
    slider = lab.locator(".wb-menu .wb-grip input")
    slider.focus()
    plain.page.keyboard.press("ArrowRight")
    expect(text).to_contain_text("k_1, i_2, j_2 in T.grid(4, 4, 8)")
    expect(slider).to_have_attribute("aria-valuetext", "j_2: 8")
    shoot(plain.page, "trying-slider")
    accessible(plain.page, ".wb-menu")
    plain.page.keyboard.press("Escape")
    expect(head).to_be_hidden()
    mark(lab, "j_2").click()
    lab.locator(".wb-menu .wb-verb", has_text="split").click()
    field = lab.locator(".wb-menu .wb-form input[type=text]").first
    field.fill("[None, 2]")
    expect(head).to_contain_text("split(j_2, factors=[None, 2])")
    expect(text).to_contain_text("j_2_0, j_2_1")
    shoot(plain.page, "trying-form")
    field.press("Enter")
    expect(lab.locator(".wb-status")).to_contain_text("split(j_2, factors=[None, 2])")
    assert len(sch.history) == 25


def test_a_number_that_is_held_is_tried_in_a_pane_that_keys_choose(
    plain: Plain, sch: wb.Schedule
) -> None:
    made = wb.lab(sch, panes=["TensorIR", "CUDA", "tiles"], costs=[])
    lab = plain.open([made]).locator(".wb-lab")
    lab.evaluate(QUIET)
    lab.get_by_role("tab", name="TensorIR").focus()
    drag(number(lab, "i_2"), 1)
    told = expect(lab.locator(".wb-would-head"))
    told.to_contain_text("would be split(i, factors=[None, 4, 8])")
    plain.page.keyboard.press("ArrowRight")
    plain.page.keyboard.press("Enter")
    expect(lab.get_by_role("tab", name="CUDA")).to_have_attribute("aria-selected", "true")
    expect(lab.locator(".wb-program .wb-body")).to_contain_text("float C_local[32]")
    told.to_contain_text("would be split(i, factors=[None, 4, 8])")
    plain.page.keyboard.press("Escape")
    plain.page.mouse.up()
    expect(lab.locator(".wb-program .wb-body")).to_contain_text("float C_local[16]")


@pytest.mark.parametrize("pressed", ["tab", "name"])
def test_a_press_beside_a_form_that_is_tried_closes_it_and_does_what_it_is_for(
    plain: Plain, sch: wb.Schedule, pressed: str
) -> None:
    made = wb.lab(sch, panes=["TensorIR", "tiles", "memory"], costs=[])
    lab = plain.open([made]).locator(".wb-lab")
    lab.evaluate(QUIET)
    lab.locator(".wb-place", has_text="loop k_0").first.click()
    lab.locator(".wb-verb").get_by_text("unroll", exact=True).click()
    expect(lab.locator(".wb-program.wb-would")).to_be_visible()
    if pressed == "tab":
        lab.get_by_role("tab", name="memory").click()
        expect(lab.get_by_role("tab", name="memory")).to_have_attribute("aria-selected", "true")
        expect(lab.locator(".wb-menu")).to_be_hidden()
    else:
        mark(lab, "i_0").click()
        expect(lab.locator(".wb-menu h4")).to_have_text("loop i_0")
    expect(lab.locator(".wb-program.wb-would")).to_have_count(0)
    expect(lab.locator(".wb-would-head")).to_be_hidden()


def test_a_saved_page_tries_the_numbers_that_it_was_given(
    browser: Browser, sch: wb.Schedule, tmp_path: Path
) -> None:
    """By a drag and by a slider, in any pane; what is tried stays until it is left."""
    file = tmp_path / "lab.html"
    lab_ = wb.lab(sch, panes=["TensorIR", "CUDA", "tiles", "memory"])
    lab_.to_html(file, vary={"i_2": [2, 4, 8], "A_shared.ax0_ax1_fused_1": [8]})
    page = browser.new_page(viewport={"width": 1400, "height": 1000}, offline=True)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(file.as_uri())
    lab = page.locator(".wb-lab")
    head, text = lab.locator(".wb-would-head"), lab.locator(".wb-program .wb-listing")
    picture = lab.locator(".wb-machine.wb-would svg")
    drag(number(lab, "i_2"), 1)
    expect(head).to_contain_text("split(i, factors=[None, 4, 8]) in place of step 2")
    expect(text).to_contain_text("k_1, i_2, j_2 in T.grid(4, 8, 4)")
    page.mouse.up()
    expect(picture).not_to_have_count(0)  # it stays, and can only be left
    expect(head.get_by_role("button")).to_have_text(["leave it"])
    page.get_by_role("tab", name="memory").click()
    expect(picture).not_to_have_count(0)
    expect(lab.locator(".wb-costs.wb-would")).to_be_visible()
    page.keyboard.press("Escape")
    expect(head).to_be_hidden()
    page.get_by_role("tab", name="CUDA").click()
    slider = lab.get_by_label("how often i_2 runs")
    expect(slider).to_have_attribute("aria-valuetext", "i_2: 4")
    slider.press("ArrowLeft")
    expect(text).to_contain_text("i_2 < 2")
    expect(slider).to_have_attribute("aria-valuetext", "i_2: 2")
    accessible(page, "html")
    shoot(page, "trying-saved")
    head.get_by_role("button", name="leave it").click()
    expect(head).to_be_hidden()
    expect(slider).to_have_attribute("aria-valuetext", "i_2: 4")
    expect(text).to_contain_text("i_2 < 4")
    lab.get_by_label("how often ax0_ax1_fused_1 runs").press("ArrowLeft")
    expect(head).to_contain_text("✕ Can't let ax0_ax1_fused_1 be 8: i_1_j_1_fused, on threadIdx.x")
    lab.get_by_role("button", name="undo").click()
    expect(head).to_be_hidden()
    expect(slider).to_have_count(0)
    expect(lab.locator("[data-grip]")).to_have_count(0)
    lab.get_by_role("button", name="redo").click()
    expect(slider).to_be_visible()
    assert not faults
    page.close()
