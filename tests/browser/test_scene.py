"""Pictures that slide without Python: scene.js draws 1,000 random selections as Python does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.draw.sliding import PROGRAMS, drawn, other, sliders
from tests.draw.test_fields import pointed
from workbench import draw
from workbench.draw import Picture, Rect, Words, placed
from workbench.draw.scene import moving, slices, worded

SELECTIONS = 1000
DRAW = """
([strips, slides, selections]) => {
  document.body.innerHTML = strips.join("");
  const drawings = [...document.body.children];
  return selections.map((select) => {
    if (!scene.slidesTo(slides, select)) return null;
    scene.slideTo(drawings, slides, select);
    return drawings.map((drawing) =>
      [...drawing.querySelectorAll("[data-slide]")].map((shape) => [
        ...["x", "y", "width", "height"].map((name) => Number(shape.getAttribute(name) ?? 0)),
        shape.textContent,
        shape.closest("[data-cells]")?.dataset.cells ?? "",
      ]),
    );
  });
}
"""


@pytest.fixture
def scene_page(browser: Browser) -> Iterator[Page]:
    """A page with scene.js as `scene`."""
    page = browser.new_page()
    module = files("workbench.widgets.static").joinpath("scene.js").read_text(encoding="utf-8")
    page.add_script_tag(
        type="module",
        content=f"{module}\nwindow.scene = {{ slidesTo, slideTo, pointAt, saidAt }};",
    )
    page.wait_for_function("window.scene")
    yield page
    page.close()


def shapes(picture: Picture, select: dict[str, int]) -> list[list[list[Any]]]:
    """What slides of each strip, where Python has it for `select`."""
    made = []
    for strip in picture.strips:
        there = placed(strip, select)
        moved = [new for old, new in zip(strip.shapes, there.shapes, strict=True) if moving(old)]
        made.append([_shape(shape) for shape in moved])
    return made


def _shape(shape: Any) -> list[Any]:
    size = (shape.width, shape.height) if isinstance(shape, Rect) else (0, 0)
    label = shape.label if isinstance(shape, Words) else ""
    return [shape.x, shape.y, *size, label, slices(shape.of.cells)]


def pictures(rng: random.Random) -> Iterator[Picture]:
    """Pictures that slide, of all programs by turns."""
    found = {name: sliders(make(), rng, 1000) for name, make in PROGRAMS.items()}
    while True:
        for name, selections in found.items():
            views = drawn(PROGRAMS[name](), next(selections))
            yield from (view for view in views if view.slides)


def test_a_thousand_selections_are_drawn_alike(scene_page: Page):
    rng, done = random.Random(0), 0
    for picture in pictures(rng):
        selections = [other(picture, rng) for _ in range(10)]
        told = draw.plain(picture)
        found = scene_page.evaluate(DRAW, [told["strips"], told["slides"], selections])
        for select, got in zip(selections, found, strict=True):
            for ours, theirs in zip(shapes(picture, select), got, strict=True):
                for a, b in zip(ours, theirs, strict=True):
                    assert a[:4] == pytest.approx(b[:4], abs=1e-3) and a[4:] == b[4:], select
        done += len(selections)
        if done >= SELECTIONS:
            return


def test_what_is_pointed_at_is_told_alike(scene_page: Page):
    rng, done = random.Random(2), 0
    for picture in pictures(rng):
        told = draw.plain(picture)
        select = other(picture, rng)
        for number, strip in enumerate(picture.strips):
            for field in strip.fields:
                left, top, right, bottom = field.edges
                x, y = rng.uniform(left, right - 1), rng.uniform(top, bottom - 1)
                got = scene_page.evaluate(
                    "(args) => scene.pointAt(...args)", [told["fields"], number, select, x, y]
                )
                now = pointed(field, select, (x, y))
                assert got["words"] == worded(field.words, now)
                assert got["turns"] == {name: form.at(now) for name, form in field.axes}
                for a, b in zip(field.marks, got["marks"], strict=True):
                    assert [edge.at(now) for edge in a] == pytest.approx(b)
                done += 1
        if done >= 200:
            return


def test_captions_and_tables_follow_alike(scene_page: Page):
    rng = random.Random(3)
    for picture, _ in zip(pictures(rng), range(40), strict=False):
        select = other(picture, rng)
        slides = draw.plain(picture)["slides"]
        if not slides:
            continue
        got = scene_page.evaluate("(args) => scene.saidAt(...args)", [slides, select])
        assert got["caption"] == worded(picture.follow, select)
        rows = [[row, column, worded(parts, select)] for row, column, parts in picture.cells]
        assert got["table"] == rows


def test_nothing_is_at_a_spot_beside_all_sheets(scene_page: Page):
    picture = drawn(PROGRAMS["bound"](), {"blockIdx.x": 1})[0]
    args = [draw.plain(picture)["fields"], 0, {"blockIdx.x": 1}, 1, 1]
    assert scene_page.evaluate("(args) => scene.pointAt(...args)", args) is None


def test_it_says_when_python_has_to_be_asked(scene_page: Page):
    slides = {"axes": [["k_0", 2, 8]], "digits": [], "forms": [], "strips": []}
    knows = "([slides, select]) => scene.slidesTo(slides, select)"
    asked = [{"k_0": 3}, {"k_0": 8}, {"k_0": 1}, {"k_0": -1}, {"k_1": 1}, {}, {"k_0": 1, "k_1": 1}]
    got = [scene_page.evaluate(knows, [slides, select]) for select in asked]
    assert got == [True, False, False, False, False, False, False]
    assert scene_page.evaluate(knows, [None, {"k_0": 3}]) is False
