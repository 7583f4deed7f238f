"""The player's four numbers: ``python -m benchmarks.player``; under three minutes.

How large its data are, of each lesson's way through a program and of a launch on 132 rows; how soon
after the page it can be used; how many frames a second it draws while it is scrubbed, at each
level; and by how much a notebook's file grows by 1,000 previews of a number and as many moments of
a warp. What else the machine does counts in: see the load that is told. Ends with 1 where one
number misses what is promised.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

import nbformat
from ipywidgets import Widget
from playwright.sync_api import Browser, Page, sync_playwright

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.browser.jupyter import CHROMIUM_ARGS
from tests.support import tools
from tests.widgets.programs import ADD, parse
from workbench.widgets import Lab
from workbench.widgets.still.in_time import levels_in_time
from workbench.widgets.still.offline import last_page

BYTES, READY, FRAMES = 1 << 16, 300, 50  # at most so many bytes and ms, at least so many a second
PREVIEWS = 1000
SECONDS = 3
LEVELS = ("whole", "block", "warp")

# From a click on a tab to the frame in which the timeline is drawn; others are drawn between.
OPENS = """async ([tab, other]) => {
  const named = (name) =>
    [...document.querySelectorAll(".wb-machine [role=tab]")].find((t) => t.textContent === name);
  const frame = () => new Promise(requestAnimationFrame);
  const waits = [];
  for (let k = 0; k < 20; k++) {
    named(other).click();
    while (document.querySelector(".wb-track-plot")) await frame();
    await frame();
    const from = performance.now();
    named(tab).click();
    while (!document.querySelector(".wb-track-plot .wb-room")) await frame();
    await frame();
    waits.push(performance.now() - from);
  }
  return waits;
}"""
# Moves the time once a frame, from end to end: how long each frame took, and the work in it.
SCRUBS = """async (seconds) => {
  const range = document.querySelector(".wb-track > input");
  const [frames, work] = [[], []];
  let last = await new Promise(requestAnimationFrame);
  const begun = last;
  for (let k = 0; last - begun < seconds * 1000; k = (k + 1) % 200) {
    range.value = (range.max * k) / 199;
    const from = performance.now();
    range.dispatchEvent(new Event("input"));
    await new Promise((done) => queueMicrotask(() => queueMicrotask(done)));
    document.body.offsetHeight; // lays out what has changed
    work.push(performance.now() - from);
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last);
    last = now;
  }
  return [frames, work];
}"""


def launch() -> wb.Schedule:
    """4,096 blocks of 64 threads, of which an H200 has room for some thousands at a time."""
    return blocking_with_shared(wb.Schedule(matmul(2048)), 4, 4, 8, 8, 8)


def sizes() -> Iterator[tuple[str, int]]:
    """Programs, and the bytes of all levels of theirs."""
    programs = {
        "lesson 1, vector add": lambda: _bound(wb.Schedule(parse(ADD))),
        "lesson 4, 1024": lambda: blocking_with_shared(wb.Schedule(matmul(1024)), 8, 8, 8, 8, 8),
        "132 rows, 2048": launch,
    }
    for name, make in programs.items():
        lab = wb.lab(make(), panes=["timeline"])
        kernels, pictures = levels_in_time(lab.cursor.node, lab.session.desk)
        whole = lab.session.page["pictures"]["timeline"]["track"]
        tracks = [[made["track"], made["asked"]] for made in pictures.values() if made["track"]]
        yield name, len(json.dumps([whole, kernels, tracks], separators=(",", ":")))
        lab.close()


def _bound(sch: wb.Schedule) -> wb.Schedule:
    for loop, axis in zip(sch.split("i", factors=[None, 4]), ("block", "thread"), strict=True):
        sch.bind(loop, f"{axis}Idx.x")
    return sch


def opened(browser: Browser, folder: Path) -> Page:
    """The saved page of a launch, at its timeline."""
    lab = wb.lab(launch(), panes=["timeline", "memory"])
    with redirect_stdout(StringIO()):
        lab.to_html(folder / "page.html")
    lab.close()
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.goto((folder / "page.html").as_uri())
    page.wait_for_selector(".wb-track-plot .wb-room")
    return page


def scrubbed(page: Page) -> Iterator[tuple[str, float, list[float]]]:
    """Of each level: frames a second, and the ms of work in each, sorted."""
    for level in LEVELS:
        page.locator(f'[data-f="level {level}"]').click()
        page.wait_for_selector(f'[data-f="level {level}"][aria-pressed="true"]')
        frames, work = page.evaluate(SCRUBS, SECONDS)
        yield level, 1000 * len(frames) / sum(frames), sorted(work)


def notebook(lab: Lab) -> int:
    """The bytes of a notebook that shows the lab, with the state of its widgets."""
    data = {"text/plain": repr(lab), "text/html": last_page(lab.session)}
    shown: Any = nbformat.v4.new_output("display_data", data)
    cell = nbformat.v4.new_code_cell("lab", outputs=[shown], id="lab")
    book = nbformat.v4.new_notebook(cells=[cell])
    book.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": state(lab)}
    return len(nbformat.writes(book).encode())


def state(lab: Lab) -> Any:
    """What a notebook keeps of a lab's widget."""
    return Widget.get_manager_state(widgets=[lab])


def grown() -> Iterator[tuple[str, int]]:
    """By how many bytes previews let a notebook grow: of a number, and of what a warp asks for."""
    lab = wb.lab(_bound(wb.Schedule(parse(ADD))), panes=["timeline"])
    before = notebook(lab)
    (key, grip), *_ = lab.session.page["grips"].items()
    for k in range(PREVIEWS):
        step = {"place": key, "value": grip["values"][k % len(grip["values"])]}
        lab._handle_custom_msg({"do": "try", "step": step, "seq": k, "view": "1"}, [])
    yield f"{PREVIEWS:,} values of a number", notebook(lab) - before
    lab.close()
    lab = wb.lab(blocking_with_shared(wb.Schedule(matmul(64)), 2, 2, 8, 8, 8), panes=["timeline"])

    def at(clock: int) -> None:
        select = {"block": 0, "warp": 0, "clock": clock}
        lab.set_state({"view": {**lab.view, "level": "warp", "select": select}})

    at(0)
    before = notebook(lab)
    for k in range(PREVIEWS // 10):
        at(k * 7)
    at(0)
    yield f"{PREVIEWS // 10:,} moments of a warp", notebook(lab) - before
    lab.close()


def main() -> int:
    """Measure, print, and say by the exit status whether all promises hold."""
    missed = False
    print("load:", *(f"{one:.1f}" for one in os.getloadavg()))
    for name, size in sizes():
        missed |= size > BYTES
        print(f"data, {name}: {size:,} bytes of {BYTES:,}")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # where labs keep their steps
        chromium = tools.need("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        page = opened(browser, Path(folder))
        waits = page.evaluate(OPENS, ["timeline", "memory"])
        missed |= median(waits) > READY
        print(f"ready: {median(waits):.0f} ms of {READY}, at most {max(waits):.0f}")
        for level, frames, work in scrubbed(page):
            missed |= frames < FRAMES
            least, most = work[0], work[int(len(work) * 0.95)]
            told = f"{frames:.0f} frames a second of {FRAMES}"
            print(f"scrub, {level}: {told}; work in one {least:.1f} to {most:.1f} ms")
        browser.close()
        for name, size in grown():
            missed |= size > 0
            print(f"notebook after {name}: {size:+,} bytes")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
