"""The timeline of a lab: a row a multiprocessor, moved through by keys, pointer and buttons."""

from __future__ import annotations

from playwright.sync_api import expect

import workbench as wb
from tests.browser.axe import accessible
from tests.browser.plain import Plain
from tests.browser.test_lab import shoot
from tests.browser.test_requests import turn_to
from workbench import script

# 4,096 blocks of 256 threads, of which an H200 has room for 1,056: four waves
PROGRAM = """
@T.prim_func
def main(A: T.Buffer((1048576,), "float32"), B: T.Buffer((1048576,), "float32")):
    for i in range(1048576):
        with T.block("B"):
            v = T.axis.spatial(1048576, i)
            B[v] = A[v] * T.float32(2)
"""


def test_blocks_are_seen_wave_by_wave_in_modelled_time(plain: Plain):
    sch = wb.Schedule(script.parse(PROGRAM))
    for loop, axis in zip(sch.split("i", factors=[None, 256]), ("block", "thread"), strict=True):
        sch.bind(loop, f"{axis}Idx.x")
    lab = plain.open([wb.lab(sch, panes=["timeline", "memory"])]).locator(".wb-lab")
    time = lab.get_by_role("slider", name="time: timeline")
    told = lab.locator(".wb-track-said")
    expect(lab.locator(".wb-caption")).to_have_text(
        "1,056 of about 1,056 places · tail 928 blocks · up to 100% of warps"
    )
    expect(told).to_contain_text(" µs: 1,056 of 4,096 blocks run, 0 done")  # and no more in waves
    for key, words in (
        ("PageUp", "1,056 of 4,096 blocks run, 1,056 done"),
        ("End", "all is done"),
        ("PageDown", "928 of 4,096 blocks run, 3,168 done"),
        ("ArrowLeft", "1,056 of 4,096 blocks run, 2,112 done"),
    ):
        time.press(key)
        expect(told).to_contain_text(words)
        assert time.get_attribute("aria-valuetext") == f"{told.text_content()}; multiprocessor 0"
    expect(lab.locator(".wb-track-plot")).to_contain_text("multiprocessor 0: 8 places")
    box = lab.locator(".wb-track-plot").bounding_box()
    assert box is not None
    plain.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.8)
    expect(lab.locator(".wb-track-plot")).not_to_contain_text("multiprocessor 0: 8 places")
    now = told.text_content()
    plain.page.mouse.down()
    plain.page.mouse.move(box["x"] + box["width"] - 20, box["y"] + box["height"] * 0.8, steps=3)
    plain.page.mouse.up()
    expect(told).not_to_have_text(now or "")
    shoot(lab, "timeline")
    for scheme in (True, False):
        plain.dark(scheme)
        accessible(plain.page, ".wb-machine")
    turn_to(lab, "memory")
    turn_to(lab, "timeline")
    expect(told).not_to_have_text(now or "")  # where it was
    assert not plain.faults


def test_what_is_said_below_is_read_whole_where_it_is_pointed_at(plain: Plain):
    plain.page.set_viewport_size({"width": 850, "height": 700})
    sch = wb.Schedule(script.parse(PROGRAM))
    for loop, axis in zip(sch.split("i", factors=[None, 256]), ("block", "thread"), strict=True):
        sch.bind(loop, f"{axis}Idx.x")
    lab = plain.open([wb.lab(sch, panes=["timeline"])]).locator(".wb-lab")
    caption, body = lab.locator(".wb-caption"), lab.locator(".wb-machine .wb-body")
    expect(lab.locator(".wb-track-said")).to_contain_text(" µs: ")
    cut = "(el) => [el, ...el.children].some((one) => one.scrollWidth > one.clientWidth)"
    before = body.bounding_box()
    assert caption.evaluate(cut)
    caption.hover()
    assert not caption.evaluate(cut) and body.bounding_box() == before
    shoot(lab, "timeline-said")
    lab.locator(".wb-saying > summary").press("Enter")
    expect(lab.locator(".wb-about")).to_contain_text("strictly in the order of their numbers")
    accessible(plain.page, ".wb-machine")


def test_all_of_it_is_seen_in_a_low_pane(plain: Plain):
    """As low as a lab of lesson 1 is with all its pictures offered: 32 places, 132 rows."""
    plain.page.set_viewport_size({"width": 850, "height": 455})
    sch = wb.Schedule(script.parse(PROGRAM.replace("1048576", "8")))
    for loop, axis in zip(sch.split("i", factors=[None, 4]), ("block", "thread"), strict=True):
        sch.bind(loop, f"{axis}Idx.x")
    panes = ["timeline", "memory", "tiles", "banks", "occupancy", "roofline", "sectors"]
    lab = plain.open([wb.lab(sch, panes=panes)]).locator(".wb-lab")
    turn_to(lab, "timeline")
    expect(lab.locator(".wb-track-said")).to_contain_text(" µs: ")  # and no more in waves
    expect(lab.locator(".wb-track-plot")).to_contain_text("multiprocessor 0: 32 places")
    body, rows, buttons = (
        lab.locator(f".wb-machine {part}").bounding_box()
        for part in (".wb-body", ".wb-room", ".wb-track-row")
    )
    words = lab.locator(".wb-track-plot text", has_text="all 132 multiprocessors").bounding_box()
    assert body and rows and buttons and words
    assert body["height"] < 190
    assert rows["height"] >= 20 and words["y"] + words["height"] <= rows["y"] + 2
    assert buttons["y"] + buttons["height"] <= body["y"] + body["height"] + 1
