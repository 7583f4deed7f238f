"""What is tried is taken by a press of a mouse, wherever it was tried."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.plain import Plain
from tests.browser.test_carry import name, over, place
from tests.browser.test_lab import QUIET, answer, first_lab, form_of, step
from tests.browser.test_menu import box, mark


@pytest.fixture
def lab(plain: Plain) -> Locator:
    lab = plain.first_lab()
    answer(lab)
    return lab


def press(button: Locator) -> None:
    """As a hand does: the mouse goes there, down and up, with nothing waited for."""
    at = box(button)
    mouse = button.page.mouse
    mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2, steps=4)
    mouse.down()
    mouse.up()


def head(lab: Locator, word: str = "take it") -> Locator:
    return lab.locator(".wb-would-head").get_by_role("button", name=word)


def expect_taken(lab: Locator, label: str) -> None:
    expect(lab.locator(".wb-step[aria-current]")).to_contain_text(label)
    expect(lab.locator(".wb-would-head")).to_be_hidden()
    for gone in (".wb-menu", ".wb-tray"):
        expect(lab.locator(gone)).to_be_hidden()


def test_what_a_form_of_split_holds_is_taken_by_a_press(lab: Locator) -> None:
    mark(lab, "i").click()
    form_of(lab, "split")
    expect(lab.locator(".wb-would-head")).to_contain_text("split(i, factors=[2, 4])")  # at once
    lab.get_by_label("factors", exact=True).fill("[8, 1]")
    expect(lab.locator(".wb-would-head")).to_contain_text("split(i, factors=[8, 1])")
    press(head(lab, "leave it"))
    expect(lab.locator(".wb-would-head")).to_be_hidden()
    expect(lab.locator(".wb-menu")).to_be_visible()  # for something else
    lab.get_by_label("factors", exact=True).fill("[4, 2]")
    expect(lab.locator(".wb-would-head")).to_contain_text("split(i, factors=[4, 2])")
    press(head(lab))
    expect_taken(lab, "split(i, factors=[4, 2])")


def test_a_press_takes_it_in_a_notebook_too(lab_page: Page) -> None:
    lab = first_lab(lab_page)
    mark(lab, "i").click()
    form_of(lab, "split")
    lab.get_by_label("factors", exact=True).fill("[8, 1]")
    expect(lab.locator(".wb-would-head")).to_contain_text("split(i, factors=[8, 1])")
    press(head(lab))
    expect_taken(lab, "split(i, factors=[8, 1])")


def test_a_form_stays_while_its_loop_is_gone_from_what_would_be(lab: Locator) -> None:
    """The page is scrolled, and Escape leads back to the loop."""
    mark(lab, "i").click()
    form_of(lab, "split")
    expect(lab.locator(".wb-program .wb-listing")).to_contain_text("for i_0, i_1 in")
    lab.page.evaluate("() => document.dispatchEvent(new Event('scroll'))")
    expect(lab.locator(".wb-menu")).to_be_visible()
    lab.page.keyboard.press("Escape")
    expect(lab.locator(".wb-program .wb-listing")).to_contain_text("for i in")
    expect(mark(lab, "i")).to_be_focused()


def test_what_a_form_of_bind_holds_is_taken_by_a_press(lab: Locator) -> None:
    step(lab, "split", "loop i", factors="[2, 4]")
    mark(lab, "i_1").click()
    form_of(lab, "bind")
    lab.locator(".wb-form select").select_option(label="threadIdx.x")
    expect(lab.locator(".wb-would-head")).to_contain_text('bind(i_1, "threadIdx.x")')
    press(head(lab))
    expect_taken(lab, 'bind(i_1, "threadIdx.x")')


def test_what_the_slider_of_a_number_is_at_is_taken_by_a_press(lab: Locator) -> None:
    step(lab, "split", "loop i", factors="[2, 4]")
    mark(lab, "i_1").click()
    slider = lab.locator(".wb-menu .wb-grip input")
    at = box(slider)
    lab.page.mouse.click(at["x"] + at["width"] - 3, at["y"] + at["height"] / 2)
    expect(lab.locator(".wb-would-head")).to_contain_text("split(i, factors=[None, 8])")
    press(head(lab))
    expect_taken(lab, "split(i, factors=[None, 8])")


def test_what_would_be_is_read_whole_in_a_narrow_lab(lab: Locator) -> None:
    lab.page.set_viewport_size({"width": 790, "height": 720})
    step(lab, "split", "loop i", factors="[2, 4]")
    line = lab.locator(".wb-program .wb-line").first
    at = box(line)["y"]
    mark(lab, "i_1").click()
    lab.locator(".wb-menu .wb-grip input").press("End")
    told = lab.locator(".wb-would-told")
    expect(told).to_contain_text("split(i, factors=[None, 8]) in place of step 1")
    assert told.evaluate("told => told.scrollWidth <= told.clientWidth")
    assert told.evaluate("told => getComputedStyle(told).overflow") == "visible"
    assert box(told)["height"] > 30, "in two lines"
    assert box(line)["y"] == at, "no line of the program moves for it"


def test_what_is_lifted_by_keys_is_taken_or_left_by_a_press(lab: Locator) -> None:
    name(lab, "i").focus()
    for button in ("leave it", "take it"):
        lab.page.keyboard.press("Space")
        expect(place(lab, "blockIdx x")).to_be_focused()
        expect(lab.locator(".wb-would-head")).to_contain_text('bind(i, "blockIdx.x")')
        press(head(lab, button))
        if button == "leave it":
            expect(lab.locator(".wb-tray")).to_be_hidden()
            expect(name(lab, "i")).to_be_focused()
    expect_taken(lab, 'bind(i, "blockIdx.x")')


def test_a_place_of_the_menu_is_shown_while_the_hand_is_there(lab: Locator) -> None:
    """No button can be reached from it: a press on the place takes it. The form comes back."""
    mark(lab, "i").click()
    would = lab.locator(".wb-would-head")
    over(place(lab, "blockIdx y", ".wb-menu"))
    expect(would).to_contain_text('bind(i, "blockIdx.y")')
    expect(would).to_contain_text("press it to take it")
    for word in ("take it", "leave it"):
        expect(head(lab, word)).to_be_hidden()
    lab.page.mouse.move(2, 2)
    expect(would).to_be_hidden()
    form_of(lab, "split")
    over(place(lab, "blockIdx y", ".wb-menu"))
    expect(would).to_contain_text('bind(i, "blockIdx.y")')
    lab.page.mouse.move(2, 2)
    expect(would).to_contain_text("split(i, factors=[2, 4])")
    expect(head(lab)).to_be_visible()
    press(place(lab, "blockIdx y", ".wb-menu"))
    expect_taken(lab, 'bind(i, "blockIdx.y")')


def test_the_tray_comes_into_view_where_the_lab_stands_half_below(lab: Locator) -> None:
    page = lab.page
    page.set_viewport_size({"width": 1400, "height": 620})
    page.evaluate("() => document.querySelector('#panel').prepend(document.createElement('div'))")
    page.evaluate("() => { document.querySelector('#panel > div').style.height = '500px'; }")
    page.evaluate("() => document.querySelector('#panel').scrollTo(0, 180)")
    lab.evaluate(QUIET)  # the program of another size is drawn anew, under the focus
    name(lab, "i").evaluate("name => name.focus({ preventScroll: true })")
    page.keyboard.press("Space")
    expect(place(lab, "blockIdx x")).to_be_focused()
    tray = box(lab.locator(".wb-tray"))
    assert tray["y"] + tray["height"] <= 620


def test_what_is_pointed_at_is_told_beside_the_badge(lab: Locator) -> None:
    lab.locator(".wb-machine g[data-cell]").nth(5).hover()
    told = lab.locator(".wb-told-cell")
    expect(told).to_contain_text("C[5]")
    over_, badge = box(told), box(lab.locator(".wb-machine .wb-kind"))
    assert over_["x"] + over_["width"] <= badge["x"], "which stays in view, all of it"


def test_an_answered_prediction_stays_answered_after_undo(lab: Locator) -> None:
    card = lab.locator(".wb-question")
    step(lab, "split", "loop i", factors="[2, 4]")
    step(lab, "bind", "loop i_0", thread_axis="blockIdx.x")
    step(lab, "bind", "loop i_1", thread_axis="threadIdx.x")
    expect(card).to_contain_text("Why:")
    lab.get_by_role("button", name="undo").click()
    expect(card).to_contain_text("Answered: step 3 in the history shows what came of it.")
    expect(card.locator("input:not(:disabled)")).to_have_count(0)


def test_costs_are_of_what_would_be(lab: Locator) -> None:
    costs = lab.locator(".wb-costs")
    expect(costs).to_contain_text("No costs yet")
    over(place_of(lab, "blockIdx x"))
    expect(costs).to_contain_text("blocks none → 8")
    expect(costs).not_to_contain_text("No costs yet")
    lab.page.mouse.move(2, 2)
    expect(costs).to_contain_text("No costs yet")


def place_of(lab: Locator, label: str) -> Locator:
    """A place in the menu of the loop."""
    mark(lab, "i").click()
    return place(lab, label, ".wb-menu")


def test_a_link_says_how_it_is_opened_in_a_lab(lab: Locator) -> None:
    lab.get_by_role("button", name="copy a link").click()
    expect(lab.locator(".wb-share")).to_contain_text('wb.lab(wb.open("…"))')
