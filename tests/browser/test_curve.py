"""The curve that a learner draws before a search is seen: by keys, by mouse, and once."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.axe import accessible
from tests.browser.plain import Plain
from tests.browser.test_lab import shoot
from workbench import draw, lesson
from workbench.draw.curves import ENDS
from workbench.lesson.expect import AT


def test_a_curve_is_drawn_and_kept(plain: Plain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-work").mkdir()
    expected = lesson.expect("05_let_the_machine_search")
    shown = plain.show(expected.view())
    svg = shown.locator("svg").first
    ticks = [one.bounding_box() for one in svg.locator("text.wb-muted", has_text="µs").all()]
    first = svg.locator("text.wb-on-strong").first.bounding_box()
    assert first is not None and ticks
    assert first["x"] > max(tick["x"] + tick["width"] for tick in ticks if tick), "beside the axis"
    third = shown.get_by_role("slider", name="the best after 10 trials")
    third.focus()
    for key in ("PageDown", "ArrowDown", "ArrowUp"):
        plain.page.keyboard.press(key)
    expect(third).to_have_attribute("aria-valuetext", "621 µs")
    last = shown.get_by_role("slider", name="the best after 20 trials")
    expect(last).to_have_attribute("aria-valuetext", "565 µs")  # it came down with it
    box, field = last.bounding_box(), shown.locator("svg").first.bounding_box()
    assert box is not None and field is not None
    plain.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    plain.page.mouse.down()
    plain.page.mouse.move(box["x"], field["y"] + field["height"] * 0.7, steps=3)
    plain.page.mouse.up()
    drawn = float((last.get_attribute("aria-valuenow")) or 0)
    assert 50 < drawn < 200
    for dark in (False, True):
        plain.dark(dark)
        accessible(plain.page, ".wb-curve")
        shoot(plain.page, f"curve-{'dark' if dark else 'light'}")
    shown.get_by_role("button", name="that is what I expect").click()
    expect(shown.get_by_role("status")).to_contain_text("Kept.")
    last.focus()
    plain.page.keyboard.press("ArrowDown")
    expect(last).to_have_attribute("aria-valuenow", f"{drawn:g}")
    again = lesson.expect("05_let_the_machine_search")
    assert [n for n, _ in again.curve] == [n - 1 for n in AT]
    assert again.seconds[2] == pytest.approx(621e-6) and ENDS[0] < again.seconds[-1] < 2e-4
    assert draw.time_text(again.seconds[0]) == "1.00 ms"
