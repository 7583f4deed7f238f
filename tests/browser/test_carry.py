"""Loops, blocks and buffers are carried: onto the tray, onto lines of loops, by mouse, clicks and
keys."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Locator, expect

import workbench as wb
from tests.browser.axe import accessible
from tests.browser.plain import Plain
from tests.browser.test_lab import shoot
from tests.schedule import programs
from tests.widgets.ask.test_carrying import TWO_READERS
from workbench import script


def name(lab: Locator, word: str) -> Locator:
    """The name of a loop, block or buffer where it can be taken, or things put."""
    lines = lab.locator(".wb-program .wb-line:not(.wb-gone, .wb-was)")
    return lines.locator(".wb-heads, .wb-lifts").get_by_text(word, exact=True)


def place(lab: Locator, label: str, where: str = ".wb-tray") -> Locator:
    return lab.locator(f'{where} .wb-target[data-f="target {label}"]')


def lift(lab: Locator, word: str) -> None:
    """Take a name with the mouse and carry it a little way off; it is not put down."""
    expect(name(lab, word)).to_have_count(1)
    name(lab, word).scroll_into_view_if_needed()
    at = name(lab, word).bounding_box()
    assert at
    mouse = lab.page.mouse
    mouse.move(at["x"] + 3, at["y"] + at["height"] / 2)
    mouse.down()
    mouse.move(at["x"] + 23, at["y"] + 60, steps=2)
    expect(lab.locator(".wb-tray")).to_be_visible()


def over(thing: Locator) -> None:
    expect(thing).to_be_visible()
    at = thing.bounding_box()
    assert at
    thing.page.mouse.move(at["x"] + 5, at["y"] + at["height"] / 2, steps=2)


def product() -> wb.Schedule:
    sch = wb.Schedule(script.parse(programs.MATMUL))
    sch.cache_write("C", "C", "local")
    return sch


def lab_of(sch: wb.Schedule, *verbs: str) -> wb.widgets.Lab:
    return wb.lab(sch, actions=list(verbs), panes=["tiles"], costs=[])


def test_a_loop_is_dragged_onto_the_tray_and_onto_a_line(plain: Plain) -> None:
    sch = product()
    lab_ = lab_of(sch, "bind", "reorder", "unroll")
    lab, page = plain.open([lab_]).locator(".wb-lab"), plain.page
    # as a notebook's panel: what is fixed in it is not where the page has it
    page.evaluate("Object.assign(panel.style, { contain: 'strict', marginLeft: '60px' })")
    text, head = lab.locator(".wb-program .wb-listing"), lab.locator(".wb-would-head")
    tray, known = lab.locator(".wb-tray"), json.dumps(lab_.session.state, default=str)
    # what would be is shown while it hovers; Escape puts back, and there is no trace
    lift(lab, "i")
    over(place(lab, "blockIdx x"))
    expect(head).to_contain_text('would be bind(i, "blockIdx.x")')
    expect(text).to_contain_text('thread="blockIdx.x"')
    at, chip = (lab.locator(f).bounding_box() for f in (".wb-target.wb-over", ".wb-in-hand"))
    assert at and chip
    assert [round(chip[k] - at[k]) for k in ("x", "y")] == [15, 10 + round(at["height"] / 2)]
    # the slider of a loop that the picture has no more stays as it is
    expect(lab.locator(".wb-machine.wb-would")).to_be_visible()
    expect(lab.locator(".wb-loops")).not_to_contain_text("undefined")
    expect(lab.locator(".wb-slide input")).to_have_value("0")
    accessible(page, ".wb-program")
    shoot(page, "carry-over")
    page.keyboard.press("Escape")
    expect(tray).to_be_hidden()
    expect(head).to_be_hidden()
    page.mouse.up()
    assert json.dumps(lab_.session.state, default=str) == known and len(sch.history) == 2
    # a loop onto the line of a loop: it takes that place
    lift(lab, "k")
    expect(place(lab, "blockIdx x")).to_be_visible()  # its places are known
    over(name(lab, "i"))
    expect(head).to_contain_text("put here: reorder(k, i, j)")
    shoot(page, "carry-line")
    page.mouse.up()
    expect(lab.locator(".wb-status")).to_contain_text("reorder(k, i, j)")
    expect(lab.locator(".wb-menu")).to_be_hidden()


def test_what_is_refused_where_a_loop_is_put_is_told_in_full(plain: Plain) -> None:
    sch = product()
    lab, page = plain.open([lab_of(sch, "bind")]).locator(".wb-lab"), plain.page
    head, tray = lab.locator(".wb-would-head"), lab.locator(".wb-tray")
    lift(lab, "k")
    over(place(lab, "blockIdx x"))
    expect(head).to_contain_text("✕ Can't bind k to blockIdx.x: blocks k=0 and k=1")
    cut = "(el) => [el.scrollWidth > el.clientWidth, el.scrollHeight > el.clientHeight]"
    page.set_viewport_size({"width": 700, "height": 1000})
    assert lab.locator(".wb-would-told").evaluate(cut) == [False, False]
    page.mouse.up()
    expect(tray).to_be_hidden()
    expect(head).to_be_hidden()
    refused = lab.get_by_role("alert")
    expect(refused).to_contain_text("blocks k=0 and k=1 would both update C_local[0, 0]")
    expect(refused).to_contain_text("Do: ")
    shoot(page, "carry-refused")
    page.keyboard.press("Escape")
    expect(refused).to_be_hidden()
    assert len(sch.history) == 2


def test_the_same_by_clicks_and_keys_and_a_block_inside_a_loop(plain: Plain) -> None:
    sch = product()
    loops, blocks = lab_of(sch, "bind"), lab_of(sch, "reverse_compute_at")
    labs, page = plain.open([loops, blocks]).locator(".wb-lab"), plain.page
    lab = labs.first
    head, status = lab.locator(".wb-would-head"), lab.locator(".wb-status")
    # two clicks: a name, and a place in its menu
    name(lab, "i").click()
    place(lab, "blockIdx x", ".wb-menu").click()
    expect(status).to_contain_text('bind(i, "blockIdx.x")')
    expect(lab.locator(".wb-menu")).to_be_hidden()
    # keys: lifted with Space, put back, lifted again, along the places, put down with Enter
    name(lab, "j").focus()
    page.keyboard.press("Space")
    expect(place(lab, "blockIdx y")).to_be_focused()  # x is refused: i is bound to it
    expect(head).to_contain_text('would be bind(j, "blockIdx.y")')
    page.keyboard.press("Escape")
    expect(name(lab, "j")).to_be_focused()
    page.keyboard.press("Space")
    expect(place(lab, "blockIdx y")).to_be_focused()
    # Enter where it is refused tells of it; one goes on from there
    page.keyboard.press("ArrowLeft")
    expect(place(lab, "blockIdx x")).to_be_focused()
    page.keyboard.press("Enter")
    expect(lab.get_by_role("alert")).to_contain_text("Do: ")
    expect(place(lab, "blockIdx x")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(head).to_contain_text('would be bind(j, "blockIdx.y")')
    page.keyboard.press("Enter")
    expect(status).to_contain_text('bind(j, "blockIdx.y")')
    expect(name(lab, "k")).to_be_focused()  # where the lab goes on
    # a block onto the line of a loop, where blocks alone are carried
    lab = labs.last
    lift(lab, "C_local")
    expect(lab.locator(".wb-tray")).to_contain_text("on the line of a loop")
    over(name(lab, "k"))  # is not shared with the copy
    over(name(lab, "j"))
    expect(lab.locator(".wb-would-head")).to_contain_text("reverse_compute_at(C_local, j)")
    page.mouse.up()
    expect(lab.locator(".wb-status")).to_contain_text("reverse_compute_at(C_local, j)")


def test_a_buffer_is_carried_into_a_memory_and_several_readers_are_asked_which(
    plain: Plain,
) -> None:
    sch = wb.Schedule(script.parse(TWO_READERS))
    lab, page = (
        plain.open([lab_of(sch, "cache_read", "cache_write")]).locator(".wb-lab"),
        plain.page,
    )
    head, text = lab.locator(".wb-would-head"), lab.locator(".wb-program .wb-listing")
    tray, status = lab.locator(".wb-tray"), lab.locator(".wb-status")
    lift(lab, "A")
    for who in ("all read through", "B reads through", "C reads through"):
        expect(tray.get_by_role("group", name=who)).to_be_visible()
    over(place(lab, "C reads through shared"))
    expect(head).to_contain_text('would be cache_read(C, "A", "shared", consumer_blocks=[C])')
    expect(text).to_contain_text("C[v] = A_shared[v] + ")
    expect(text).to_contain_text("B[v] = A[v] * ")
    accessible(page, ".wb-program")
    shoot(page, "carry-buffer")
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(tray).to_be_hidden()
    assert len(sch.history) == 1
    lift(lab, "A")
    over(place(lab, "all read through local"))
    expect(head).to_contain_text('would be cache_read(B, "A", "local")')
    page.mouse.up()
    expect(status).to_contain_text('cache_read(B, "A", "local")')
    # by keys, and by two clicks
    name(lab, "C").first.focus()
    page.keyboard.press("Space")
    expect(place(lab, "write through shared")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(head).to_contain_text('would be cache_write(C, "C", "local")')
    page.keyboard.press("Enter")
    expect(status).to_contain_text('cache_write(C, "C", "local")')
    name(lab, "B").first.click()
    place(lab, "write through shared", ".wb-menu").click()
    expect(status).to_contain_text('cache_write(B, "B", "shared")')


def test_a_memory_that_is_refused_is_crossed_with_the_reason(plain: Plain) -> None:
    sch = wb.Schedule(script.parse(programs.MATMUL))
    sch.decompose_reduction("C", "k")
    lab, page = plain.open([lab_of(sch, "cache_write")]).locator(".wb-lab"), plain.page
    lift(lab, "C")
    crossed = place(lab, "C_init writes through shared")
    over(crossed)
    expect(crossed).to_have_attribute("aria-disabled", "true")
    expect(crossed).to_have_class(re.compile("wb-cannot"))
    expect(lab.locator(".wb-would-head")).to_contain_text("✕ Can't cache_write")
    page.mouse.up()
    expect(lab.get_by_role("alert")).to_contain_text("Can't cache_write")
    assert len(sch.history) == 2


def long_lab(plain: Plain) -> Locator:
    """A program of which a low window shows a part, between its folds."""
    sch = wb.Schedule(script.parse(programs.MATMUL))
    sch.cache_write("C", 0, "local")
    for loop in "ijk":
        sch.split(loop, factors=[None, 2])
    sch.reorder("i_0", "j_0", "k_0", "i_1", "j_1", "k_1")
    for which in (0, 1):
        sch.cache_read("C", which, "local")
    plain.page.set_viewport_size({"width": 1400, "height": 620})
    lab = plain.open([lab_of(sch, "compute_at", "reorder")]).locator(".wb-lab")
    expect(name(lab, "C")).to_have_count(1)
    return lab


def test_lines_stay_where_they_are_while_a_hand_carries_over_them(plain: Plain) -> None:
    lab = long_lab(plain)
    mouse, text = plain.page.mouse, lab.locator(".wb-program .wb-listing")
    expect(text.locator(".wb-fold")).to_have_count(2)
    tops = "(rows) => rows.map((row) => [row.textContent, row.getBoundingClientRect().top])"
    lines = text.locator(".wb-line:not([hidden])")
    before = lines.evaluate_all(tops)
    lift(lab, "B_local")
    over(name(lab, "k_1"))
    would = lab.locator(".wb-would-head")
    expect(would).to_contain_text("put here: compute_at(B_local, k_1)")
    assert lines.evaluate_all(tops) == before
    expect(name(lab, "k_1")).to_have_class(re.compile("wb-over"))
    for dark in (True, False):
        plain.dark(dark)
        accessible(plain.page, ".wb-program")
        shoot(plain.page, f"carry-over-a-line-{'dark' if dark else 'light'}")
    # the same line, wherever on it the hand is
    at = name(lab, "k_1").bounding_box()
    assert at
    mouse.move(at["x"] + 60, at["y"] + at["height"] - 2)
    plain.page.wait_for_timeout(200)
    expect(would).to_contain_text("put here: compute_at(B_local, k_1)")
    mouse.up()
    expect(lab.locator(".wb-status")).to_contain_text("compute_at(B_local, k_1)")


def test_what_is_carried_scrolls_at_the_edges_and_opens_folds(plain: Plain) -> None:
    lab = long_lab(plain)
    mouse, body = plain.page.mouse, lab.locator(".wb-program .wb-body")
    top = "(body) => body.scrollTop"
    folds = body.locator(".wb-fold")
    lift(lab, "B_local")
    over(folds.first)
    expect(folds).to_have_count(1)
    at = body.bounding_box()
    assert at
    mouse.move(at["x"] + 200, at["y"] + at["height"] - 4, steps=3)
    plain.page.wait_for_function(f"({top})(document.querySelector('.wb-program .wb-body')) > 20")
    mouse.move(at["x"] + 200, at["y"] + 4, steps=3)
    plain.page.wait_for_function(f"({top})(document.querySelector('.wb-program .wb-body')) === 0")
    expect(lab.locator(".wb-tray")).to_be_visible()
    plain.page.keyboard.press("Escape")
    mouse.up()
