"""What the hand is laid on has 24 px each way (WCAG 2.5.8), in the labs of the lessons."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.jupyter import ROOT
from tests.browser.plain import Plain, labs_of
from tests.browser.test_carry import lift
from tests.browser.test_lab import QUIET, shoot
from tests.support.every import some

WIDTHS = (1400, 829)
LABS = (  # notebooks, the cells of code that open labs, and how many of these are looked at
    ("04_shared_blocking.ipynb", 7, 3),
    ("02_window_sum.ipynb", 13, 5),
    ("03_local_blocking.ipynb", 34, 11),
    ("06_convolution.ipynb", 17, 5),
    ("07_own_operator.ipynb", 17, 5),
)
HELD = ".wb-grip-number, .wb-lifts, .wb-target, input[type=range]"

# Of all that can be held and whose 24 px are in view: that which has less, with where it has not.
SMALL = """(lab, held) => {
  const small = [];
  let seen = 0;
  for (const one of lab.querySelectorAll(held)) {
    if (!one.checkVisibility({ visibilityProperty: true })) continue;
    const { left, top, width, height } = one.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + height / 2];
    const around = one.closest(".wb-body, .wb-tray, .wb-row, .wb-menu").getBoundingClientRect();
    const inside = x - 12 > around.left && x + 12 < around.right && y - 12 > around.top;
    if (!inside || y + 12 > Math.min(around.bottom, innerHeight)) continue;
    seen += 1;
    for (const dx of [-11.5, 0, 11.5])
      for (const dy of [-11.5, 0, 11.5]) {
        const there = document.elementFromPoint(x + dx, y + dy);
        const is = there?.closest(held);
        if (is !== one)
          small.push([one.outerHTML.slice(0, 90), dx, dy, (is ?? there)?.outerHTML.slice(0, 90)]);
      }
  }
  return { small, seen };
}"""


@pytest.mark.parametrize(("notebook", "cells", "count"), some(*LABS))
def test_what_is_held_has_room_for_a_hand(
    plain: Plain, notebook: str, cells: int, count: int
) -> None:
    made = labs_of(ROOT / "lessons" / notebook, cells)
    assert len(made) >= count
    labs = plain.open(made).locator(".wb-lab")
    seen = 0
    for number in range(len(made)):
        lab = labs.nth(number)
        lab.scroll_into_view_if_needed()
        expect(lab.locator(".wb-listing").first).to_be_visible()
        for width in WIDTHS:
            plain.page.set_viewport_size({"width": width, "height": 1000})
            lab.evaluate(QUIET)
            shoot(lab, f"targets-{notebook[:2]}-{number}-{width}")
            found = lab.evaluate(SMALL, HELD)
            assert found["small"] == [], (made[number], width)
            seen += found["seen"]
    assert seen > count


def test_places_to_put_things_have_it_too(plain: Plain) -> None:
    lab = plain.first_lab()
    lift(lab, "i")
    lab.evaluate(QUIET)
    assert lab.locator(".wb-tray .wb-target").count() > 3
    found = lab.evaluate(SMALL, HELD)
    assert found["small"] == [] and found["seen"] > 3
    plain.page.keyboard.press("Escape")
    plain.page.mouse.up()
