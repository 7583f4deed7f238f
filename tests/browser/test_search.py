"""The view of a search on a plain page: points as they come, keyboard, replay, what it opens."""

from __future__ import annotations

from math import log
from typing import Any

import pytest
from playwright.sync_api import Page, Position, expect

from tests.browser.axe import accessible
from tests.browser.plain import Plain
from tests.browser.test_lab import shoot
from tests.tuning.programs import VECTOR, Planted, space
from tests.tuning.synthetic import lines_of
from workbench import tuning
from workbench.widgets.search import Watching


@pytest.fixture(autouse=True)
def no_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no notebook whose cell would show it."""
    monkeypatch.setattr("IPython.display.publish_display_data", lambda *_, **__: None)


def points(plain: Plain, role: str) -> int:
    """How many are drawn, all in one path."""
    path = plain.page.locator(f".wb-search-drawing g path.wb-{role}")
    expect(path).to_have_count(1)
    return (path.get_attribute("d") or "").count("z" if role == "used" else "m")


def test_a_search_is_followed_stopped_and_looked_through(
    plain: Plain, monkeypatch: pytest.MonkeyPatch
):
    """As in a notebook: rows come while it runs, and then it is gone through by keyboard."""
    page, seen = plain.page, []

    def watching(tried: tuning.Tried, of: int) -> Watching:
        seen.append(Watching(tried, of))
        plain.show(seen[0].view)
        return seen[0]

    class Looks(Planted):
        """Looks at the page before each measurement, and stops at the fifth."""

        def submit(self, candidate: tuning.Candidate) -> tuning.Outcome:
            if seen[0].running:
                self.look()
            return super().submit(candidate)

        def look(self) -> None:
            seen[0]._tell()
            plain.deliver()
            assert points(plain, "used") == len(self.seen)
            if len(self.seen) == 4:
                expect(page.locator(".wb-search-far").first).to_contain_text("4 of 9 trials, about")
                page.get_by_role("button", name="stop, and keep all").click()
                expect(page.get_by_role("button", name="stopping …")).to_be_disabled()

    monkeypatch.setattr("workbench.tuning.run.watching", watching)
    best = tuning.tune(
        VECTOR, space=space, target="cuda", trials=9, strategy="random", measurer=Looks()
    )
    plain.deliver()
    assert points(plain, "used") == len(best.tried.lines.ended) == 5
    expect(page.get_by_role("button", name="stopping …")).to_be_hidden()
    go_through(page, best.tried)
    page.get_by_role("button", name="open in the lab").click()
    expect(page.locator(".wb-search-said")).to_have_text("Trial 0 is open in the lab below.")
    assert seen[0]._labs[0].cursor.node.mark == "trial 0"
    seen[0]._labs[0].close()
    page.get_by_role("button", name="which decision mattered?").click()
    expect(page.locator(".wb-search-ablation figcaption")).not_to_be_empty()


def go_through(page: Page, tried: tuning.Tried) -> None:
    """From trial to trial by keyboard, and by time, and at last to the first."""
    field, detail = page.locator(".wb-search-field"), page.locator(".wb-search-detail")
    field.focus()
    page.keyboard.press("End")
    expect(detail).to_contain_text("trial 4: ")
    expect(page.locator("dt").first).to_have_text("i")
    for _ in range(5):
        page.keyboard.press("ArrowDown")  # to the fastest
    assert tried.best is not None
    number = tried.best.trial.number
    expect(field).to_have_attribute("aria-valuenow", str(number))
    expect(page.get_by_role("button", name="compare with the best")).to_be_disabled()
    page.keyboard.press("Home")
    expect(field).to_have_attribute("aria-valuenow", "0")


def test_a_long_record_is_pointed_at_and_played_again(plain: Plain):
    page, lines = plain.page, lines_of(300)
    tried = tuning.show(lines)
    tried._choices = tuple(tuning.Choice(name) for name in "ijk34567")
    view = Watching(tried, 0)
    view.running = False
    first = lines.outcomes.pop(7)  # which is measured beside others, and ends late
    view._tell()
    root = plain.show(view.view)
    lines.outcomes[7] = first
    view._tell()
    plain.deliver()
    correct = sum(one.outcome.status == "correct" for one in lines.ended)
    assert points(plain, "used") == correct
    assert points(plain, "failed") == 300 - correct
    drawing = page.locator(".wb-search-drawing svg")
    one = tried.best
    assert one is not None
    box, ground = drawing.bounding_box(), view.view.grounds["trials"]
    assert box is not None
    x = ground["x"][0] + ground["x"][1] * one.trial.number
    spot = spot_of(ground, x, one.seconds, box["width"] / 740)
    drawing.hover(position=spot)
    detail = page.locator(".wb-search-detail")
    expect(detail).to_contain_text(f"trial {one.trial.number}: ")
    expect(detail).to_contain_text("made from trials" if one.trial.parents else "drawn by chance")
    drawing.click(position=spot)
    page.mouse.move(0, 0)
    expect(detail).to_contain_text(f"trial {one.trial.number}: ")
    shown = page.get_by_label("trials shown")
    shown.fill("40")
    some = sum(one.outcome.status == "correct" for one in lines.ended[:40])
    assert points(plain, "used") == some
    shown.fill("300")
    for summary in root.locator("summary").all():
        summary.click()
    expect(root.locator(".wb-table tr")).to_have_count(1 + 20 + 1 + 7)
    second = root.locator(".wb-search-best tbody tr").nth(1)
    second.click()
    expect(detail).to_contain_text(f"trial {second.locator('td').first.inner_text()}: ")
    for dark in (False, True):
        plain.dark(dark)
        accessible(page, ".wb-search")
        shoot(page, f"search-{'dark' if dark else 'light'}")
    page.get_by_role("button", name="time by prediction").click()
    assert points(plain, "used") == correct and points(plain, "failed") == 0


JUPYTERLAB = """
.jp-OutputArea-output dt { font-weight: bold; float: left; width: 20%; padding: 0; margin: 0; }
.jp-OutputArea-output dd { float: left; width: 80%; padding: 0; margin: 0; }
"""


def test_decisions_stand_beside_their_names_where_jupyterlab_has_a_style_of_its_own(plain: Plain):
    page, tried = plain.page, tuning.show(lines_of(20))
    tried._choices = tuple(tuning.Choice(f"threads of {name}") for name in "ijk34567")
    view = Watching(tried, 0)
    view.running = False
    view._tell()
    root = plain.show(view.view)
    page.add_style_tag(content=JUPYTERLAB)
    page.evaluate("() => document.body.classList.add('jp-OutputArea-output')")
    root.locator(".wb-search-field").focus()
    page.keyboard.press("Home")
    pairs = root.locator("dl > div").all()
    assert len(pairs) == 8
    for pair in pairs:
        name, said = pair.locator("dt").bounding_box(), pair.locator("dd").bounding_box()
        assert name is not None and said is not None
        assert said["x"] >= name["x"] + name["width"] and name["height"] < 24, "one line"


def spot_of(ground: dict[str, Any], x: float, seconds: float, scale: float) -> Position:
    """Where a point stands on the screen, from the upper left corner of the drawing."""
    return {"x": x * scale, "y": (ground["y"][0] + ground["y"][1] * log(seconds)) * scale}
