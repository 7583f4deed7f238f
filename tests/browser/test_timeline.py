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
        "1,056 of about 1,056 places · tail 928 blocks · 100% of warps"
    )
    expect(told).to_contain_text(" µs: 1,056 of 4,096 blocks run, 0 done")  # and no more in waves
    for key, words in (
        ("PageDown", "1,056 of 4,096 blocks run, 1,056 done"),
        ("End", "all is done"),
        ("PageUp", "928 of 4,096 blocks run, 3,168 done"),
        ("ArrowLeft", "1,056 of 4,096 blocks run, 2,112 done"),
    ):
        time.press(key)
        expect(told).to_contain_text(words)
        assert time.get_attribute("aria-valuetext") == told.text_content()
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
