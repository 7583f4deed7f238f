"""Loops and blocks are carried: onto the tray, onto lines of loops, by mouse, clicks and keys."""

from __future__ import annotations

import json

from playwright.sync_api import Locator, expect

import workbench as wb
from tests.browser.axe import accessible
from tests.browser.plain import Plain
from tests.browser.test_lab import shoot
from tests.schedule import programs
from workbench import script


def name(lab: Locator, word: str) -> Locator:
    """The name of a loop or block at the head of its line, where it can be taken."""
    lines = lab.locator(".wb-program .wb-line:not(.wb-gone, .wb-was)")
    return lines.locator(".wb-heads").get_by_text(word, exact=True)


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


def test_loops_and_blocks_are_carried(plain: Plain) -> None:
    sch = wb.Schedule(script.parse(programs.MATMUL))
    sch.cache_write("C", "C", "local")
    verbs = ["bind", "reorder", "unroll"]
    lab_ = wb.lab(sch, actions=verbs, panes=["tiles"], costs=[])
    blocks = wb.lab(sch, actions=["reverse_compute_at"], panes=["tiles"], costs=[])
    labs, page = plain.open([lab_, blocks]).locator(".wb-lab"), plain.page
    lab = labs.first
    text, head = lab.locator(".wb-program .wb-listing"), lab.locator(".wb-would-head")
    tray, status = lab.locator(".wb-tray"), lab.locator(".wb-status")
    known = json.dumps([lab_.session.state, len(sch.history)], default=str)
    # what would be is shown while it hovers; Escape puts back, and there is no trace
    lift(lab, "i")
    over(place(lab, "blockIdx x"))
    expect(head).to_contain_text('would be bind(i, "blockIdx.x")')
    expect(text).to_contain_text('thread="blockIdx.x"')
    accessible(page, ".wb-program")
    shoot(page, "carry-over")
    page.keyboard.press("Escape")
    expect(tray).to_be_hidden()
    expect(head).to_be_hidden()
    page.mouse.up()
    assert json.dumps([lab_.session.state, len(sch.history)], default=str) == known
    # what is refused says why, and is not taken
    lift(lab, "k")
    over(place(lab, "blockIdx x"))
    expect(head).to_contain_text("✕ Can't bind k to blockIdx.x: blocks k=0 and k=1")
    page.mouse.up()
    expect(tray).to_be_hidden()
    expect(lab.locator(".wb-menu")).to_be_hidden()
    assert len(sch.history) == 2
    page.keyboard.press("Escape")
    # a loop onto the line of a loop: it takes that place
    lift(lab, "k")
    expect(place(lab, "blockIdx x")).to_be_visible()  # its places are known
    over(name(lab, "i"))
    expect(head).to_contain_text("would be reorder(k, i, j)")
    shoot(page, "carry-line")
    page.mouse.up()
    expect(status).to_contain_text("reorder(k, i, j)")
    lab.get_by_role("button", name="undo").click()
    expect(text).to_contain_text("for i, j, k in")
    # two clicks: a name, and a place in its menu
    name(lab, "i").click()
    place(lab, "blockIdx x", ".wb-menu").click()
    expect(status).to_contain_text('bind(i, "blockIdx.x")')
    expect(lab.locator(".wb-menu")).to_be_hidden()
    # keys: lifted with Space, put back, lifted again, along the places, put down with Enter
    name(lab, "j").focus()
    page.keyboard.press("Space")
    expect(place(lab, "blockIdx z")).to_be_focused()
    expect(head).to_contain_text('would be bind(j, "blockIdx.z")')
    page.keyboard.press("Escape")
    expect(name(lab, "j")).to_be_focused()
    page.keyboard.press("Space")
    expect(place(lab, "blockIdx z")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(head).to_contain_text('would be bind(j, "blockIdx.y")')
    page.keyboard.press("Enter")
    expect(status).to_contain_text('bind(j, "blockIdx.y")')
    expect(name(lab, "j")).to_be_focused()
    # a block onto the line of a loop, where blocks alone are carried: it goes inside
    lab = labs.last
    lift(lab, "C_local")
    expect(lab.locator(".wb-tray")).to_contain_text("on the line of a loop")
    over(name(lab, "k"))  # its own loops are no place
    over(name(lab, "j"))
    expect(lab.locator(".wb-would-head")).to_contain_text("reverse_compute_at(C_local, j)")
    page.mouse.up()
    expect(lab.locator(".wb-status")).to_contain_text("reverse_compute_at(C_local, j)")
