"""Pictures that slide without Python: scene.js draws 1,000 random selections as Python does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.draw.sliding import PROGRAMS, drawn, other, sliders
from workbench import draw
from workbench.draw import Picture, Rect, Words, placed
from workbench.draw.scene import moving, slices

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
        content=f"{module}\nwindow.scene = {{ formAt, slidesTo, slideTo }};",
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
    found = {name: sliders(make(), rng, 1000) for name, make in PROGRAMS.items() if name != "tail"}
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


def test_it_says_when_python_has_to_be_asked(scene_page: Page):
    slides = {"axes": [["k_0", 8]], "digits": [], "strips": []}
    knows = "([slides, select]) => scene.slidesTo(slides, select)"
    asked = [{"k_0": 3}, {"k_0": 8}, {"k_0": -1}, {"k_1": 1}, {}, {"k_0": 1, "k_1": 1}]
    got = [scene_page.evaluate(knows, [slides, select]) for select in asked]
    assert got == [True, False, False, False, False, False]
    assert scene_page.evaluate(knows, [None, {"k_0": 3}]) is False
