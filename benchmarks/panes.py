"""How far pictures fill their pane, in every lab of the lessons: ``python -m benchmarks.panes``.

Each lab is opened in a plain page as its lesson opens it, in three sizes: in a notebook of 1280 x
720, in one of 1400 x 1000, and on a full screen of 1920 x 1080. Of each picture of its first panes
it is measured which part of the pane's body, below the tabs, the box of what is drawn takes, how
large its words are, which of them meet each other or a band that is narrower than they, and which
part of the body words take. With names of lessons, of these alone.
The table is written to ``benchmarks/results/panes.json``, or to ``--out FILE``.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Locator, ViewportSize, expect, sync_playwright

from tests.browser.jupyter import CHROMIUM_ARGS, ROOT
from tests.browser.plain import Plain, labs_of, plain_page
from tests.support import tools
from workbench.widgets import Lab

RESULTS = ROOT / "benchmarks" / "results" / "panes.json"
SIZES: dict[str, ViewportSize] = {  # what a notebook's panel shows there
    "829": {"width": 829, "height": 598},
    "949": {"width": 949, "height": 892},
    "full": {"width": 1920, "height": 1080},
}
FREE = ("memory", "pipeline", "occupancy", "roofline")  # proportions carry no meaning
SIDE, OTHER, WORDS = 0.95, 0.60, 0.15  # of one side, of the other where it is free; at most
TEXT = (12.0, 15.0)  # px

# The body's box, the box of all that is drawn in its strips, the sizes of words there, those that
# meet others or a band, and the area of all words that are seen in the body; None where there is no
# picture.
MEASURE = """
(body) => {
  const strips = [...body.querySelectorAll(".wb-strips > svg")].filter((one) => one.clientWidth);
  if (!strips.length) return null;
  const frame = body.getBoundingClientRect();
  const room = { width: body.clientWidth, height: body.clientHeight };
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  const sizes = [];
  const labels = [];
  let words = 0;
  const seen = ({ left, top, right, bottom }) =>
    Math.max(Math.min(right, frame.right) - Math.max(left, frame.left), 0) *
    Math.max(Math.min(bottom, frame.bottom) - Math.max(top, frame.top), 0);
  for (const strip of strips) {
    for (const shape of strip.querySelectorAll("rect, path, text")) {
      const at = shape.getBoundingClientRect();
      if (!at.width && !at.height) continue;
      box.left = Math.min(box.left, at.left);
      box.top = Math.min(box.top, at.top);
      box.right = Math.max(box.right, at.right);
      box.bottom = Math.max(box.bottom, at.bottom);
      if (shape.tagName !== "text") continue;
      sizes.push(parseFloat(getComputedStyle(shape).fontSize) * Math.abs(shape.getScreenCTM().d));
      words += seen(at);
      if (shape.textContent && shape.checkVisibility()) labels.push([shape, at]);
    }
  }
  const NEAR = 0.5;
  const met = (a, b) =>
    a.left < b.right - NEAR && b.left < a.right - NEAR &&
    a.top < b.bottom - NEAR && b.top < a.bottom - NEAR;
  const meets = [];
  const bands = [...body.querySelectorAll("g:is([data-key^=load], [data-key^=store]) > rect")]
    .map((band) => band.getBoundingClientRect());
  labels.forEach(([shape, at], k) => {
    const other = labels.slice(k + 1).find(([, one]) => met(at, one));
    if (other) meets.push(`${shape.textContent} / ${other[0].textContent}`);
    if (bands.some((band) => band.width < at.width && met(at, band)))
      meets.push(`${shape.textContent} / band`);
  });
  const around = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let text = around.nextNode(); text; text = around.nextNode()) {
    if (text.parentElement.closest("svg")) continue;
    range.selectNodeContents(text);
    for (const at of range.getClientRects()) words += seen(at);
  }
  return {
    room: [room.width, room.height],
    sides: [(box.right - box.left) / room.width, (box.bottom - box.top) / room.height],
    text: sizes.length ? [Math.min(...sizes), Math.max(...sizes)] : [],
    meets,
    words: words / (room.width * room.height),
    out: box.bottom > frame.bottom + 1 || box.right > frame.left + body.clientWidth + 1,
  };
}
"""
# Whether a lab is seen whole in its panel once it has landed, and nothing above its stage scrolls.
FITS = """
(lab) => {
  const panel = document.querySelector("#panel").getBoundingClientRect();
  const [at, top] = [lab.getBoundingClientRect(), lab.querySelector(".wb-top")];
  return at.top >= panel.top - 1 && at.bottom <= panel.bottom + 1 &&
    lab.scrollHeight <= lab.clientHeight + 1 && top.scrollHeight <= top.clientHeight + 1;
}
"""


def measured(plain: Plain, lab: Lab, size: str) -> Iterator[dict[str, Any]]:
    """What is seen of each of the first pictures of a lab in a page of that size."""
    plain.page.set_viewport_size(SIZES[size])
    root = plain.open([lab]).locator(".wb-lab")
    expect(root.locator(".wb-listing").first).to_be_attached()
    if size == "full":
        root.locator(".wb-screen").click()
        expect(root).to_have_js_property("clientHeight", SIZES[size]["height"])
    fits = bool(root.evaluate(FITS))
    for pane in lab.setup["panes"]["machine"]["first"]:
        found = _pane(plain, root, lab, pane)
        told = {"size": size, "lab": lab.setup["title"], "pane": pane, "fits": fits}
        if found is not None:
            yield told | found


def _pane(plain: Plain, root: Locator, lab: Lab, pane: str) -> dict[str, Any] | None:
    tab = root.locator(".wb-machine").get_by_role("tab", name=lab.setup["labels"][pane])
    if tab.is_visible():
        tab.first.click()
    plain.page.evaluate("() => new Promise((go) => requestAnimationFrame(() => setTimeout(go)))")
    found: dict[str, Any] | None = root.locator(".wb-machine .wb-body").evaluate(MEASURE)
    return found


def short(found: dict[str, Any]) -> list[str]:
    """What a picture misses of the goals, a word each."""
    most, least = sorted(found["sides"], reverse=True)
    small, large = found["text"] or TEXT
    misses = {
        "side": most < SIDE,
        "other": found["pane"] in FREE and least < OTHER,
        "text": small < TEXT[0] - 0.1 or large > TEXT[1] + 0.1,
        "words": found["words"] > WORDS,
        "meets": bool(found["meets"]),
        "cut": found["out"],
        "landing": not found["fits"] and found["size"] == "829",
    }
    return [name for name, missed in misses.items() if missed]


def told(found: list[dict[str, Any]]) -> Iterator[str]:
    """A line a picture, and the sums."""
    for one in found:
        wide, high = one["sides"]
        small, large = one["text"] or (0, 0)
        yield (
            f"{one['lesson']:3} {one['size']:>4} {one['pane']:10} {one['lab'][:34]:34} "
            f"{wide:4.0%} {high:4.0%}  {small:4.1f}–{large:4.1f} px  words {one['words']:3.0%}  "
            f"{' '.join(short(one))}"
        )
    for size in SIZES:
        of = [one for one in found if one["size"] == size]
        if not of:
            continue
        missed = Counter(name for one in of for name in short(one))
        longer, other = (median(sorted(o["sides"])[k] for o in of) for k in (1, 0))
        yield f"{size}: {len(of)} pictures, median {longer:.0%} and {other:.0%}; missed: " + (
            ", ".join(f"{name} {count}" for name, count in missed.items()) or "none"
        )


def main() -> int:
    """Measure all lessons, or those that are named; print and write the table."""
    names = sys.argv[1:]
    out = RESULTS
    if "--out" in names:
        at = names.index("--out")
        out = Path(names[at + 1]).resolve()
        del names[at : at + 2]
    lessons = sorted((ROOT / "lessons").glob("[0-9]*.ipynb"))
    found: list[dict[str, Any]] = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        chromium = tools.need("chromium")
        started = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        os.chdir(folder)  # where labs keep their steps
        with plain_page(started) as plain:
            for lesson in lessons:
                if names and not any(lesson.stem.startswith(name) for name in names):
                    continue
                with redirect_stdout(StringIO()):
                    labs = labs_of(lesson, 10_000)
                for lab in labs:
                    for size in SIZES:
                        of = {"lesson": lesson.stem[:2]}
                        found += [of | one for one in measured(plain, lab, size)]
                        plain.clear()
        started.close()
    print(*told(found), sep="\n")
    out.write_text("[\n" + ",\n".join(json.dumps(_rounded(one)) for one in found) + "\n]\n")
    return 0


def _rounded(one: dict[str, Any]) -> dict[str, Any]:
    def two(value: Any) -> Any:
        if isinstance(value, list):
            return [two(part) for part in value]
        return round(value, 2) if isinstance(value, float) else value

    return {key: two(value) for key, value in one.items()}


if __name__ == "__main__":
    sys.exit(main())
