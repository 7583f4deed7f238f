"""As a picture moves, what is in a box stays in it, and no box comes over the words of another."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeGuard

import pytest
from playwright.sync_api import Locator, expect

import workbench as wb
from benchmarks.matmuls import matmul, naive
from benchmarks.panes import MEASURE, SIZES, WORDS
from tests.browser.jupyter import ROOT
from tests.browser.plain import Plain, labs_of
from tests.browser.test_filling import BOX, HOLD
from tests.support.gpu_programs import VECTOR_ADD, parsed
from workbench.widgets import Lab

CELLS = 10_000  # all of a lesson
TIMES = (0, 75, 150, 225)  # ms of the 300 that it takes

# At a time of all that moves: words that end inside of a box and are not in it, by more than 2 px;
# and boxes that lie over words of something else, which they do not at the end. What is not seen,
# of which there is less than a tenth, counts for nothing.
COMES_APART = """(times) => {
  const body = document.querySelector(".wb-machine .wb-body");
  const shown = (kind) =>
    [...body.querySelectorAll(`.wb-strips > svg ${kind}`)].filter((one) => one.checkVisibility());
  const freeze = (time) => { for (const [one] of window.begun) one.currentTime = time; };
  const seen = (one) => {
    let share = 1;
    for (let at = one; at !== body; at = at.parentElement) share *= getComputedStyle(at).opacity;
    return share > 0.1;
  };
  const box = (one) => one.getBoundingClientRect();
  const area = (one) => box(one).width * box(one).height;
  const isIn = (a, b, by) =>
    a.left >= b.left - by && a.right <= b.right + by && a.top >= b.top - by &&
    a.bottom <= b.bottom + by;
  const meet = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
  const keyOf = (one) => {
    const { key, cell } = one.closest("[data-key], [data-cell]")?.dataset ?? {};
    return key ?? cell;
  };
  const covers = (rect, words) =>
    rect.compareDocumentPosition(words) & Node.DOCUMENT_POSITION_PRECEDING &&
    keyOf(rect) !== keyOf(words) && meet(box(rect), box(words));
  const [words, rects] = [shown("text").filter((one) => one.textContent), shown("rect")];
  const filled = rects.filter((one) => getComputedStyle(one).fill !== "none");
  freeze(300);
  const inner = words.flatMap((one) => {
    const around = rects.filter((rect) =>
      rect.ownerSVGElement === one.ownerSVGElement && isIn(box(one), box(rect), 0));
    return around.length ? [[one, around.sort((a, b) => area(a) - area(b))[0]]] : [];
  });
  const pairs = filled.flatMap((rect) => words.map((one) => [rect, one]));
  const apart = pairs.filter((pair) => !covers(...pair));
  const found = [];
  for (const time of times) {
    freeze(time);
    for (const [one, rect] of inner)
      if (seen(one) && !isIn(box(one), box(rect), 2))
        found.push(`${time} ms: “${one.textContent}” is out of ${keyOf(rect)}`);
    for (const [rect, one] of apart)
      if (seen(rect) && seen(one) && covers(rect, one))
        found.push(`${time} ms: ${keyOf(rect)} lies over “${one.textContent}” of ${keyOf(one)}`);
  }
  return { words: inner.length, found };
}"""
FRAMES = """() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"""
# Whether shapes of a picture have begun to move, and what is drawn is as it stays.
MOVES = "() => window.begun.some(([, , shape]) => shape.closest('.wb-strips, .wb-leaving'))"


class Moves(NamedTuple):
    """A step of a lab of a lesson, from one number of its history to another, in a pane."""

    lesson: str
    lab: int
    size: str
    pane: str
    start: int
    end: int


STEPS = [
    Moves("04_shared_blocking", 4, "829", "memory", 23, 20),
    Moves("04_shared_blocking", 4, "949", "memory", 20, 17),
    Moves("04_shared_blocking", 4, "829", "tiles", 20, 17),
    Moves("06_convolution", 1, "829", "memory", 0, 5),
    Moves("06_convolution", 1, "949", "memory", 5, 0),
    Moves("07_own_operator", 0, "829", "tiles", 0, 5),
    Moves("07_own_operator", 4, "829", "tiles", 8, 7),
    Moves("07_own_operator", 4, "829", "tiles", 0, 17),
]


@pytest.fixture(scope="module")
def labs_in() -> Callable[[str], list[Lab]]:
    """The labs of a lesson, which is run once."""
    return cache(lambda lesson: labs_of(ROOT / "lessons" / f"{lesson}.ipynb", CELLS))


def moved(plain: Plain, lab: Lab, step: Moves) -> Locator:
    """A lab whose picture stands at the beginning of a step that it has taken."""
    root = plain.open([lab]).locator(".wb-lab")
    plain.page.set_viewport_size(SIZES[step.size])
    plain.page.emulate_media(reduced_motion="no-preference")
    drawn = root.locator(".wb-machine .wb-strips").first
    for number in (step.end, step.start):  # both pictures are there, none is waited for
        chip(root, number).click()
        expect(chip(root, number)).to_have_attribute("aria-current", "step")
        root.locator(".wb-machine").get_by_role("tab", name=step.pane).first.click()
        expect(drawn).to_have_attribute("aria-label", re.compile(f"^{step.pane}"))
    plain.page.evaluate(FRAMES)  # what is drawn begins to move
    plain.page.keyboard.press("Shift")  # and is at its end
    expect(root.locator(".wb-leaving")).to_have_count(0)
    plain.page.evaluate(HOLD)
    chip(root, step.end).click()
    plain.page.wait_for_function(MOVES)
    return root


def chip(root: Locator, number: int) -> Locator:
    return root.locator(f'.wb-history [data-f="chip {number}"]')


@pytest.mark.parametrize("step", STEPS, ids=lambda step: "-".join(map(str, step)))
def test_what_is_in_a_box_stays_in_it_and_nothing_comes_over_others(
    plain: Plain, labs_in: Callable[[str], list[Lab]], step: Moves
):
    moved(plain, labs_in(step.lesson)[step.lab], step)
    told = plain.page.evaluate(COMES_APART, TIMES)
    assert told["words"] > 0 and told["found"] == []


def times_are_known(plain: Plain) -> None:
    """Wait until the page is told all times of what it shows, or that there are none."""
    for _ in range(200):
        if any(page["bar"]["waits"] == "" for page in plain.sent[0].values() if is_page(page)):
            return
        plain.page.wait_for_timeout(50)
    raise AssertionError("no time came")


def is_page(told: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(told, dict) and "bar" in told


def test_a_picture_of_another_kind_fades_in_whole(plain: Plain):
    """Bands are as wide as their times, and a program that has none has them by bytes."""
    sch = naive(wb.Schedule(matmul(64)), 4)
    sch.cache_read("C_update", "A", "shared")  # of no kernel yet
    lab = plain.open([wb.lab(sch, panes=["memory"])]).locator(".wb-lab")
    times_are_known(plain)
    lab.get_by_role("button", name="undo").click()
    expect(lab.locator(".wb-machine .wb-kind")).to_have_text("modelled")
    plain.page.emulate_media(reduced_motion="no-preference")
    plain.page.evaluate(HOLD)
    lab.get_by_role("button", name="redo").click()
    expect(lab.locator(".wb-machine .wb-kind")).to_have_text("counted")
    leaving = lab.locator(".wb-machine > .wb-leaving")
    expect(leaving.locator('g[data-key="load A"]').filter(visible=True)).not_to_have_count(0)
    expect(leaving.locator('g[data-key="load A>A_shared"]')).to_have_count(0)
    shapes = "() => window.begun.filter(([, , one]) => one.closest('.wb-strips')).length"
    assert plain.page.evaluate(shapes) == 0, "nothing of it moves"
    opaque = "one => { for (const [a] of window.begun) a.currentTime = 150; return %s }"
    assert 0 < leaving.evaluate(opaque % "Number(getComputedStyle(one).opacity)") < 0.5
    plain.page.keyboard.press("Shift")
    expect(leaving).to_have_count(0)


# Which share of the pixels of two pictures, PNGs in base64, differ.
DIFFER = """async (pictures) => {
  const pixels = async (png) => {
    const file = await fetch(`data:image/png;base64,${png}`);
    const image = await createImageBitmap(await file.blob());
    const room = new OffscreenCanvas(image.width, image.height).getContext("2d");
    room.drawImage(image, 0, 0);
    return new Uint32Array(room.getImageData(0, 0, image.width, image.height).data.buffer);
  };
  const [a, b] = await Promise.all(pictures.map(pixels));
  return a.filter((pixel, k) => pixel !== b[k]).length / a.length;
}"""


@pytest.mark.parametrize("size", SIZES)
def test_a_split_shows_its_loops_and_the_cells_move_apart(plain: Plain, size: str):
    sch = wb.Schedule(parsed(VECTOR_ADD.replace("1024", "8")))
    sch.split("i", [2, 4])
    plain.page.set_viewport_size(SIZES[size])
    lab = plain.open([wb.lab(sch, panes=["who"], costs=[])]).locator(".wb-lab")
    body = lab.locator(".wb-machine .wb-body")
    expect(body.locator("text", has_text="i_0 = 1")).to_be_visible()
    expect(body.locator("text", has_text="i_1 =")).to_be_visible()
    share = body.evaluate(MEASURE)
    assert share["meets"] == [] and share["words"] <= WORDS
    after = body.screenshot()
    lab.get_by_role("button", name="undo").click()
    expect(body.locator("text", has_text="i_0")).to_have_count(0)
    shots = [base64.b64encode(one).decode() for one in (body.screenshot(), after)]
    assert plain.page.evaluate(DIFFER, shots) >= 0.03

    cell = body.locator('g[data-cell="C[4]"] rect')
    plain.page.emulate_media(reduced_motion="no-preference")
    plain.page.evaluate(HOLD)
    was = cell.evaluate(BOX)
    lab.get_by_role("button", name="redo").click()
    expect(body.locator("text", has_text="i_0 = 1")).to_be_attached()
    assert cell.evaluate(BOX) == pytest.approx(was, abs=1), "of another strip, too"
    told = plain.page.evaluate(COMES_APART, TIMES)
    assert told["words"] == 8 and told["found"] == []
