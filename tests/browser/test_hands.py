"""Hands that do anything at any time: what is shown at rest is what is there, or is held."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Error, Locator, expect

import workbench as wb
from tests.browser.plain import Plain
from tests.browser.test_lab import QUIET
from tests.browser.test_trying import STEP
from tests.schedule import programs
from tests.support.cases import CASES
from workbench import script
from workbench.widgets import Lab

EPISODES = 6
MOVES = 7  # of a hand, at most, before it rests

# Answers come late, each by its own time, in their order, as those of a busy kernel do; and frames
# come late, as those of large pictures do.
LATE = """([most, slow]) => {
  const frame = window.requestAnimationFrame;
  window.requestAnimationFrame = (act) => frame(() => setTimeout(act, slow * Math.random()));
  const answer = window.answer;
  let before = Promise.resolve();
  window.waits = 0;
  window.answer = async (...what) => {
    window.waits += 1;
    const after = before.then(() => new Promise((go) => setTimeout(go, most * Math.random())));
    const [told] = await Promise.all([answer(...what), (before = after)]);
    window.waits -= 1;
    return told;
  };
}"""
RESTS = "() => window.waits === 0"
# Below the head, whose types are folded.
LINES = """(lab) => [...lab.querySelectorAll(
  ".wb-program .wb-listing .wb-line:not(.wb-gone, .wb-was) .wb-text")].map((one) =>
  one.textContent.trim()).slice(2)"""


def small() -> wb.Schedule:
    """A product in tiles, whose splits and one loop that no split made can be dragged."""
    sch = wb.Schedule(script.parse(programs.MATMUL))
    (i, j, _) = sch.get_loops("C")
    (i_0, i_1), (j_0, j_1) = sch.split(i, [None, 4]), sch.split(j, [None, 4])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    return sch


def tied() -> wb.Schedule:
    """A product whose copy is fetched by as many threads as compute: one number, in two splits."""
    sch = wb.Schedule(script.parse(programs.MATMUL))
    i_0, i_1 = sch.split("i", factors=[None, 4])
    sch.bind(i_1, "threadIdx.x")
    copy = sch.cache_read("C", 0, "shared")
    sch.compute_at(copy, i_0)
    _, own = sch.split(sch.fuse(*sch.get_loops(copy)[-2:]), factors=[None, 4])
    sch.bind(own, "threadIdx.x")
    return sch


@dataclass
class Hand:
    """A hand on the numbers and names of a lab: what it holds and where, and what it did."""

    plain: Plain
    lab: Locator
    made: Lab
    rng: random.Random
    holds: tuple[str, list[int], int, float, float] | None = None
    at: int = 0  # which of its values it is at
    did: list[str] = field(default_factory=list)

    def moves(self) -> None:
        """Do one thing that can be done now."""
        mouse, press = self.plain.page.mouse, self.plain.page.keyboard.press
        if self.holds is None:
            kinds = ["take", "take", "take", "carry", "undo", "redo", "pane", "Escape"]
            kind = self.rng.choice(kinds)
        else:
            kind = self.rng.choice(["move", "move", "move", "move", "Escape", "release"])
        self.did.append(kind)
        match kind:
            case "take":
                self.takes()
            case "carry":
                self.carries()
            case "move":
                assert self.holds is not None
                _, values, own, x, y = self.holds
                self.at = self.rng.randrange(len(values))
                self.did.append(f"{values[self.at]}")
                mouse.move(x + STEP * (self.at - own), y)
            case "Escape":
                press("Escape")
                mouse.up()
                self.holds = None
            case "release":
                mouse.up()
                self.holds = None
            case "pane":
                name = self.rng.choice(["tiles", "memory"])
                self.lab.locator(".wb-machine [role=tab]").get_by_text(name).click()
            case _:
                button = self.lab.get_by_role("button", name=kind, exact=True)
                if button.is_enabled():
                    button.click()
        self.plain.page.wait_for_timeout(self.rng.choice([0, 0, 0, 20, 150]))

    def takes(self) -> None:
        """Take hold of a number, if one can be dragged now."""
        found = self.lab.locator(".wb-program .wb-line:not(.wb-gone, .wb-was) [data-grip]").all()
        if not found:
            return
        number = self.rng.choice(found)
        key = number.get_attribute("data-grip") or ""
        own, title, box = number.inner_text(), number.get_attribute("title"), number.bounding_box()
        if not (title and box):  # it is folded away, or gone by now
            return
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        values = [int(value) for value in title.partition(": ")[2].split(", ")]
        self.plain.page.mouse.move(x, y)
        self.plain.page.mouse.down()
        self.at = values.index(int(own))
        self.holds = key, values, self.at, x, y
        self.did.append(f"{key} {own}")

    def carries(self) -> None:
        """Carry a loop, block or buffer over another line or to a place, and put it there, or back.

        It may be gone by then, and so may the place.
        """
        page, mouse = self.plain.page, self.plain.page.mouse
        names = [one for one in self.lab.locator(".wb-program .wb-lifts").all() if one.is_visible()]
        box = self.rng.choice(names).bounding_box() if names else None
        if box is None:
            return
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + 20, y + 20, steps=2)
        page.wait_for_timeout(self.rng.choice([0, 100, 500]))
        heads = ".wb-program .wb-heads, .wb-tray .wb-target"
        spots = [one.bounding_box() for one in self.lab.locator(heads).all() if one.is_visible()]
        for spot in self.rng.sample(spots, min(len(spots), self.rng.randint(1, 3))):
            if spot:
                mouse.move(spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2)
                page.wait_for_timeout(self.rng.choice([0, 0, 100]))
        if self.rng.random() < 0.5:
            self.did.append("back")
            page.keyboard.press("Escape")
        mouse.up()

    def rests(self) -> None:
        """Once all is answered, what is shown is what is held, or what is there."""
        page, head = self.plain.page, self.lab.locator(".wb-would-head")
        page.wait_for_timeout(200)
        page.wait_for_function(RESTS)
        says = re.compile("would be|put here")
        tried = self.lab.locator(".wb-would-head:not([hidden])", has_text=says)
        if self.holds is None:
            expect(tried).to_have_count(0)
        elif self.at != self.holds[2]:
            value = f"{self.holds[1][self.at]}"
            refused = self.lab.locator(".wb-would-not").filter(visible=True)
            shown = self.lab.locator(f".wb-program.wb-would [data-grip='{self.holds[0]}']")
            expect(refused.or_(shown.get_by_text(value, exact=True)).first).to_be_visible()
            expect(page.locator(".wb-tried-as")).to_contain_text(f"→ {value}")
            return
        else:
            expect(head).to_be_hidden()
        for _ in range(50):  # a press may wait for the answer to an earlier one
            there = [line.strip() for line in script.show(self.made.cursor.node.func).splitlines()]
            if self.lab.evaluate(LINES) == there[2:]:
                return
            page.wait_for_timeout(200)
        raise AssertionError(f"there is {there[2:]}")


@pytest.mark.parametrize("seed", range(CASES // 5))
def test_what_is_shown_at_rest_is_what_is_held_or_there(plain: Plain, seed: int) -> None:
    rng = random.Random(seed)
    sch, costs = rng.choice([small, tied])(), rng.choice([[], ["modelled time"]])
    made = wb.lab(sch, panes=["TensorIR", "tiles", "memory"], costs=costs)
    lab = plain.open([made]).locator(".wb-lab")
    lab.evaluate(QUIET)
    plain.page.evaluate(LATE, [rng.choice([0, 60, 400]), rng.choice([0, 200])])
    hand = Hand(plain, lab, made, rng)
    for _ in range(EPISODES):
        for _ in range(rng.randint(1, MOVES)):
            hand.moves()
        try:
            hand.rests()
        except (AssertionError, Error) as wrong:
            raise AssertionError(f"{hand.did}; shown: {lab.evaluate(LINES)}") from wrong
