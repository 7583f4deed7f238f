"""The menu of a place in a real JupyterLab: it stands where one looks, and the notebook stays."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import accessible
from tests.browser.plain import Plain
from tests.browser.test_lab import (
    answer,
    first_lab,
    form_of,
    inside,
    menu_at,
    shoot,
    step,
)
from tests.support.every import some

RUNS = """() => window.jupyterapp.shell.currentWidget.content.widgets
  .filter(cell => cell.model.type === 'code').map(cell => cell.model.executionCount)"""


def mark(lab: Locator, word: str) -> Locator:
    """The first place of the program with that word."""
    return lab.locator(".wb-program .wb-mark").get_by_text(word, exact=True).first


def box(thing: Locator) -> Any:
    """Where it stands: nowhere for a moment while it is drawn anew."""
    for _ in range(50):
        found = thing.bounding_box()
        if found:
            return found
        thing.page.wait_for_timeout(50)
    raise AssertionError(f"{thing} is not shown")


def layout(lab: Locator) -> list[Any]:
    """Where everything of the lab stands that is no menu, once it stays there."""
    parts = [lab, *lab.locator(".wb-pane").all(), *lab.locator(".wb-line").all()]
    before, found = None, [part.bounding_box() for part in parts]
    while before != found:
        lab.page.wait_for_timeout(200)
        before, found = found, [part.bounding_box() for part in parts]
    return found


def clear_of(menu: Locator, line: Locator, page: Page) -> bool:
    """Whether the menu is whole in the window and covers nothing of the line."""
    at, of = box(menu), box(line)
    size = page.viewport_size
    assert size
    inside = at["y"] >= 0 and at["y"] + at["height"] <= size["height"]
    inside = inside and at["x"] >= 0 and at["x"] + at["width"] <= size["width"]
    return inside and (at["y"] >= of["y"] + of["height"] - 1 or at["y"] + at["height"] <= of["y"])


def test_a_loop_is_clicked_and_its_verbs_stand_there(plain: Plain):
    lab = plain.first_lab()
    answer(lab)
    menu, loop = lab.locator(".wb-menu"), mark(lab, "i")
    before, ringed = layout(lab), lab.locator(".wb-pinned")
    expect(ringed).to_have_count(0)  # nothing is chosen before it is clicked
    expect(lab.locator(".wb-place[aria-current]")).to_have_text("loop i")
    loop.click()
    expect(menu.locator("h4")).to_have_text("loop i")
    expect(ringed.filter(has_text="loop i")).to_be_visible()
    expect(loop).to_have_class(re.compile("wb-pinned"))
    assert menu.locator(".wb-verb").all_inner_texts() == ["split", "bind"]
    line = lab.locator(".wb-line", has_text="for i in")
    assert clear_of(menu, line, plain.page)
    form_of(lab, "split")
    lab.get_by_label("factors", exact=True).fill("[2, 4]")
    line = lab.locator(".wb-line", has_text="for i_0, i_1 in")  # what it would be
    assert clear_of(menu, line, plain.page)
    assert layout(lab) == before, "nothing is pushed"
    shoot(plain.page, "menu-light")
    lab.locator("button[type=submit]").click()
    expect(menu).to_be_hidden()
    expect(lab.locator(".wb-line.wb-come")).to_contain_text("for i_0, i_1 in")
    expect(lab.locator(".wb-said")).to_contain_text("i (8×) became i_0 (2×) and i_1 (4×)")
    expect(mark(lab, "i_0")).to_be_focused()
    mark(lab, "i_1").click()
    form_of(lab, "bind")
    lab.locator(".wb-form select").select_option(label="threadIdx.x")
    lab.locator("button[type=submit]").click()
    expect(lab.locator(".wb-step")).to_have_count(3)
    expect(lab.locator(".wb-mark:focus")).to_have_text("i_0")  # where the lab goes on
    mark(lab, "i_0").click()
    expect(menu.locator("h4")).to_have_text("loop i_0")
    mark(lab, "C").click()
    expect(menu.locator("h4")).to_contain_text("buffer C")  # one click leads from menu to menu


def test_what_would_be_refused_can_be_asked_for_and_says_why_at_its_place(plain: Plain):
    """Lesson 3 asks for it: the loop of the sum, bound to blocks; a verb that is crossed out."""
    lab = plain.run_cells("03_local_blocking.ipynb", 4).locator(".wb-lab").first
    answer(lab)
    mark(lab, "k").click()
    form_of(lab, "bind")
    axis = lab.locator(".wb-form select")
    axis.press("End")
    while axis.input_value() != '"blockIdx.x"':
        assert axis.locator("option:checked").inner_text().startswith("✕")
        axis.press("ArrowUp")
    lab.locator("button[type=submit]").click()
    told = lab.locator(".wb-refused")
    expect(told).to_contain_text("Can't bind k")
    expect(told).to_contain_text("C[")  # the cell in which two of its turns meet
    expect(lab.locator(".wb-step")).to_have_count(1)
    shoot(plain.page, "menu-refused")
    lab.locator(".wb-menu .wb-more").click()
    crossed = lab.locator(".wb-verb[aria-disabled=true]", has_text="parallel")
    crossed.press("Enter")
    expect(told).to_contain_text("Can't run k in parallel")
    expect(lab.locator(".wb-menu")).to_be_visible()
    accessible(plain.page, ".wb-menu")
    shoot(plain.page, "menu-crossed")


def test_all_of_a_head_opens_what_it_begins(plain: Plain):
    """Of a loop or a block, also its keyword and the empty space; a statement only its names."""
    lab = plain.first_lab()
    answer(lab)
    menu = lab.locator(".wb-menu")
    for head, word, title in (("for i", "for", "loop i"), ("with T.block", "with", "block C")):
        line = lab.locator(".wb-program .wb-line", has_text=head).locator(".wb-text[data-head]")
        size = box(line)
        for spot in (line.get_by_text(word, exact=True), line):
            at = {"x": size["width"] - 5, "y": 8} if spot is line else {"x": 3, "y": 8}
            spot.click(position=at)
            expect(menu.locator("h4")).to_have_text(title)
            assert box(menu)["y"] > box(lab.locator(".wb-line", has_text="C[vi] =").last)["y"]
            menu.get_by_role("button", name="close").click()
            expect(menu).to_be_hidden()
            expect(line.locator(".wb-mark").first).to_be_focused()
    lab.locator(".wb-line", has_text="T.writes(").locator(".wb-text").click(position=at)
    expect(menu).to_be_hidden()


def test_a_refusal_stands_in_the_menu_and_pushes_nothing(plain: Plain):
    lab = plain.first_lab()
    menu = lab.locator(".wb-menu")
    before = layout(lab)
    mark(lab, "i").click()
    form_of(lab, "split")
    for factors, told in (("[2, 3]", "6 of 8"), ("[3, 2]", "6 of 8"), ("[2,", "can't be read")):
        lab.get_by_label("factors", exact=True).fill(factors)
        plain.page.keyboard.press("Enter")
        expect(menu.locator(".wb-error")).to_contain_text(told)
        expect(menu.locator(".wb-error")).to_be_in_viewport()
        assert clear_of(menu, lab.locator(".wb-line", has_text="for i in"), plain.page)
    assert layout(lab)[1:] == before[1:]
    shoot(plain.page, "menu-refused")
    plain.page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(lab.locator(".wb-said")).to_have_text("The program as it was written.")
    expect(lab.locator(".wb-pinned")).to_have_count(0)
    mark(lab, "i").click()
    form_of(lab, "split")
    expect(menu.locator(".wb-error")).to_be_hidden()  # it was of another form
    lab.get_by_label("factors", exact=True).fill("[2,")
    plain.page.keyboard.press("Enter")
    expect(menu.locator(".wb-error")).to_contain_text("can't be read")  # told another time


def test_shift_enter_in_a_lab_leads_on_and_runs_nothing_again(lab_page: Page):
    lab = first_lab(lab_page)
    ran = lab_page.evaluate(RUNS)
    active = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"
    answers = lab.locator(".wb-answer")
    for there in (answers.first, lab.locator(".wb-place").first, mark(lab, "i")):
        there.click()  # in the cell of the lab
        lab_page.keyboard.press("Escape")
        before = lab_page.evaluate(active)
        lab_page.keyboard.press("Shift+Enter")
        lab_page.wait_for_function(f"{active[6:]} === {before + 1}")
    assert lab_page.evaluate(RUNS) == ran


def test_a_field_applies_its_form_where_a_cell_would_run(lab_page: Page):
    lab = first_lab(lab_page)
    ran = lab_page.evaluate(RUNS)
    mark(lab, "i").click()
    form_of(lab, "split")
    for count, (factors, chord) in enumerate(
        (("[2, 4]", "Shift+Enter"), ("[2, 2]", "Control+Enter"))
    ):
        field = lab.get_by_label("factors", exact=True)
        field.fill(factors)
        field.press(chord)
        expect(lab.locator(".wb-step")).to_have_count(count + 2)
        if not count:
            mark(lab, "i_1").click()
            form_of(lab, "split")
    assert lab_page.evaluate(RUNS) == ran


def test_escape_closes_the_menu_and_else_passes(plain: Plain):
    lab = plain.first_lab()
    menu, loop = lab.locator(".wb-menu"), mark(lab, "i")
    lab.evaluate(
        """root => { window.escapes = 0;
          root.parentElement.addEventListener('keydown',
            e => { window.escapes += e.key === 'Escape'; }); }"""
    )
    loop.click()
    expect(menu.locator(".wb-verb").first).to_be_focused()
    chosen = lab.locator(".wb-place[aria-current]").inner_text()
    plain.page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(loop).to_be_focused()
    assert plain.page.evaluate("window.escapes") == 0
    plain.page.keyboard.press("Escape")
    assert plain.page.evaluate("window.escapes") == 1
    assert lab.locator(".wb-place[aria-current]").inner_text() == chosen


def test_keys_reach_the_lab_from_below_and_take_a_step(lab_page: Page):
    """Backwards from the next cell, without the mouse."""
    lab = first_lab(lab_page)
    keys = lab_page.keyboard
    lab_page.evaluate(
        """() => { const notebook = window.jupyterapp.shell.currentWidget.content;
          const at = notebook.widgets.findIndex(cell => cell.node.querySelector('.wb-lab'));
          notebook.activeCellIndex = at + 1; notebook.activeCell.node.focus(); }"""
    )
    keys.press("Shift+Tab")  # full screen
    keys.press("Shift+Tab")  # link
    keys.press("Shift+Tab")
    expect(lab.locator(".wb-run .wb-go")).to_be_focused()
    keys.press("Shift+Tab")
    expect(lab.locator(".wb-place", has_text="loop i")).to_be_focused()
    active = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"
    before = lab_page.evaluate(active)
    keys.press("ArrowRight")
    expect(lab.locator(".wb-place", has_text="block C")).to_be_focused()
    keys.press("ArrowLeft")
    keys.press("Space")
    expect(lab.locator(".wb-verb", has_text="split")).to_be_focused()
    keys.press("Enter")
    expect(lab.get_by_label("factors", exact=True)).to_be_focused()
    keys.press("Enter")
    expect(lab.locator(".wb-step")).to_have_count(2)
    expect(lab.locator(".wb-place:focus")).to_contain_text("loop i_0")
    assert lab_page.evaluate(active) == before
    keys.press("Enter")
    expect(lab.locator(".wb-menu")).to_be_visible()
    keys.press("Shift+Tab")  # out of the menu: it is one stop
    expect(lab.locator(".wb-menu")).to_be_hidden()
    expect(lab.locator(".wb-place:focus")).to_contain_text("loop i_0")


def test_names_of_places_are_whole_and_keys_lead_to_all(plain: Plain):
    plain.page.set_viewport_size({"width": 1010, "height": 720})
    lab = plain.run_cells("04_shared_blocking.ipynb", 8).locator(".wb-lab").last
    lab.scroll_into_view_if_needed()
    places, row = lab.locator(".wb-place"), lab.locator(".wb-places")
    names = places.all_inner_texts()
    assert len(names) > 9 and names[0] == "loop ax0 of A_shared"
    seen = [inside(row, place) for place in places.all()]
    edge = box(row)["y"] + box(row)["height"]
    assert seen[0] and all(
        box(places.nth(k))["y"] >= edge for k in range(len(names)) if not seen[k]
    )
    turn = lab.get_by_role("button", name="more places")
    turn.click()
    below = seen.index(False)
    assert inside(row, places.nth(below)) and not inside(row, places.first)
    for _ in range(len(names)):
        if inside(row, places.first):
            break
        turn.click()
    assert inside(row, places.first), "from the last row it leads to the first"
    places.first.focus()
    plain.page.keyboard.press("End")
    expect(places.last).to_be_focused()
    assert inside(row, places.last) and places.last.get_attribute("title") == names[-1]


def test_a_place_of_the_program_is_opened_by_a_key(plain: Plain):
    lab = plain.first_lab()
    mark(lab, "C").focus()
    plain.page.keyboard.press("Enter")
    expect(lab.locator(".wb-menu h4")).to_contain_text("buffer C")
    plain.page.keyboard.press("Escape")
    expect(mark(lab, "C")).to_be_focused()


def test_a_buffer_is_clicked_in_a_picture(plain: Plain):
    plain.run_cells("02_window_sum.ipynb", 6)
    lab = plain.page.locator(".wb-lab").nth(1)
    lab.scroll_into_view_if_needed()
    answer(lab)
    lab.get_by_role("tab", name="memory").click()
    menu = lab.locator(".wb-menu")
    lab.locator(".wb-machine [data-name=A]").first.click()
    expect(menu.locator("h4")).to_contain_text("buffer A")
    expect(menu.locator(".wb-verb")).to_have_text(["cache_read"])
    expect(menu.locator(".wb-call")).to_contain_text("cache_read(")
    shoot(plain.page, "menu-picture")
    shown = menu.locator(".wb-call").inner_text()
    menu.locator("button[type=submit]").click()
    expect(menu).to_be_hidden()
    expect(lab.locator(".wb-step[aria-current]")).to_contain_text("cache_read(C, ")
    assert shown.startswith('sch.cache_read("C", read_buffer_index="A"')
    expect(lab.locator(".wb-mark:focus")).to_have_text("A_shared")


def test_a_tile_is_clicked_for_its_loop_and_a_cell_for_its_block(plain: Plain):
    """A press that moves drags the tile, and opens nothing."""
    lab = plain.run_cells("04_shared_blocking.ipynb", 6).locator(".wb-lab").last
    answer(lab)
    lab.get_by_role("tab", name="tiles").click()
    menu, keys, mouse = lab.locator(".wb-menu"), plain.page.keyboard, plain.page.mouse
    tile = lab.locator(".wb-machine g[data-name=A][data-loops] rect").filter(visible=True).first
    tile.click(position={"x": 8, "y": 8})
    expect(menu.locator("h4")).to_contain_text("loop i_0")
    keys.press("Escape")
    box = tile.bounding_box()
    assert box is not None
    mouse.move(box["x"] + 8, box["y"] + 8)
    mouse.down()
    mouse.move(box["x"] + 8, box["y"] + box["height"] + 8, steps=4)
    mouse.up()
    expect(lab.locator(".wb-machine .wb-caption")).to_contain_text("blockIdx.y = 1")
    expect(menu).to_be_hidden()
    lab.locator(".wb-machine .wb-more").click()
    lab.get_by_role("tab", name="who does what").click()
    lab.locator(".wb-machine g[data-cell]").first.click()
    expect(menu.locator("h4")).to_contain_text("block C")


def test_where_no_step_starts_at_a_block_a_cell_is_clicked_for_its_loop(plain: Plain):
    lab = plain.first_lab()
    answer(lab)
    lab.locator(".wb-machine g[data-cell]").first.click()
    expect(lab.locator(".wb-menu h4")).to_contain_text("loop i")


@pytest.mark.parametrize("width", some(360, 1280))
def test_a_menu_is_whole_in_a_small_window_and_in_the_dark(plain: Plain, width: int):
    plain.page.set_viewport_size({"width": width, "height": 720})
    plain.dark(True)
    lab = plain.first_lab()
    step(lab, "split", "loop i", factors="[2, 4]")
    menu_at(lab, "loop i_1")
    assert clear_of(lab.locator(".wb-menu"), lab.locator(".wb-place", has_text="i_1"), plain.page)
    plain.page.keyboard.press("Escape")
    for word in ("i_0", "C"):
        thing = mark(lab, word)
        thing.click()
        expect(lab.locator(".wb-menu .wb-verbs button").first).to_be_visible()
        line = lab.locator(".wb-line", has=plain.page.locator(".wb-pinned")).first
        assert clear_of(lab.locator(".wb-menu"), line, plain.page)
        shoot(plain.page, f"menu-dark-{width}-{word}")
        accessible(plain.page, ".wb-lab" if word == "i_0" else ".wb-menu")
        plain.page.keyboard.press("Escape")
