"""From a click to the page drawn, in a real browser: ``python -m benchmarks.clicks [rounds]``.

A lab of each lesson in JupyterLab, or with ``[rounds] 3 8`` of these; in lesson 1 steps are applied
by their form; each step of the history, and each pane, is opened by a click. The page itself takes
the times, from the click to the frame in which a pane is drawn anew, and to that of the last
change, which the costs make. What else the machine does counts in: see the load that is told.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from playwright.sync_api import Locator, Page, sync_playwright

from benchmarks.lab_step import percentile_95
from tests.browser.jupyter import CHROMIUM_ARGS, ROOT, Server, jupyterlab, leave, open_lab
from tests.browser.test_lab import answer, first_lab, step
from tests.support import tools

REACH = 150  # ms, 19 clicks of 20
LESSONS = {  # the notebook, the cells of code up to a lab, and steps there
    "lesson 1": (
        ("01_vector_add.ipynb", 3),
        (
            ("split", "loop i", {"factors": "[2, 4]"}),
            ("bind", "loop i_0", {"thread_axis": "blockIdx.x"}),
            ("bind", "loop i_1", {"thread_axis": "threadIdx.x"}),
        ),
    ),
    "lesson 2": (
        ("02_window_sum.ipynb", 9),
        (),  # its cells took them
    ),
    "lesson 3": (("03_local_blocking.ipynb", 4), ()),
    "lesson 4": (("04_shared_blocking.ipynb", 4), ()),
    "lesson 6": (("06_convolution.ipynb", 5), ()),
    "lesson 7": (("07_own_operator.ipynb", 5), ()),
    "lesson 8": (("08_why_is_it_slow.ipynb", 5), ()),
    "lesson 9": (("09_as_fast_as_cublas.ipynb", 5), ()),
    "lesson 10": (("10_tensor_cores.ipynb", 6), ()),
}
WATCH = """() => {
  window.clicks = [];
  addEventListener("click", (event) => {
    if (event.isTrusted && event.target.closest(".wb-lab"))
      clicks.push({ at: performance.now(), first: 0, last: 0 });
  }, true);
  new MutationObserver((changes) => {
    const inLab = changes.filter(({ target }) => target.parentElement?.closest(".wb-lab"));
    const panes = inLab.some(({ target }) => target.closest?.(".wb-program, .wb-machine"));
    const click = clicks.at(-1);
    if (!inLab.length || !click) return;
    requestAnimationFrame(() => {
      click.last = performance.now();
      if (panes && !click.first) click.first = click.last;
    });
  }).observe(document.body, { subtree: true, childList: true });
}"""
SETTLED = "() => performance.now() - Math.max(clicks.at(-1).at, clicks.at(-1).last) > 400"
LAST = "() => { const { at, first, last } = clicks.at(-1); return [first - at, last - at]; }"

Waits = dict[str, list[tuple[float, float]]]  # ms to what was asked for, and to the last change


@contextmanager
def notebooks() -> Iterator[tuple[Page, Server]]:
    """JupyterLab over copies of the lessons, in a page of a headless browser."""
    lessons = [ROOT / "lessons" / name for (name, _), _ in LESSONS.values()]
    chromium = tools.find("chromium")
    with (
        tempfile.TemporaryDirectory() as folder,
        jupyterlab(Path(folder), lessons) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        open_lab(page, server)
        page.evaluate(WATCH)
        yield page, server
        browser.close()


def waits(page: Page, lesson: str) -> Waits:
    """Of each kind of click in the first lab of a lesson, once through its first steps."""
    notebook, steps = LESSONS[lesson]
    found: Waits = {"apply a step": [], "go to a step": [], "open a pane": []}
    lab = first_lab(page, *notebook)
    answer(lab)
    for verb, place, fields in steps:
        step(lab, verb, place, **fields)
        found["apply a step"].append(_settled(page))
    for chip in (*reversed(_all(lab, ".wb-link")), *_all(lab, ".wb-link")):
        if chip.get_attribute("aria-current"):
            continue
        chip.click()
        found["go to a step"].append(_settled(page))
    for tab in _all(lab, "[role=tab]"):
        if tab.get_attribute("aria-selected") == "true":
            continue
        tab.click()
        found["open a pane"].append(_settled(page))
    return found


def _all(lab: Locator, selector: str) -> list[Locator]:
    return [one for one in lab.locator(selector).all() if one.is_visible()]


def _settled(page: Page) -> tuple[float, float]:
    page.wait_for_function(SETTLED)
    first, last = page.evaluate(LAST)
    return first, last


def main() -> int:
    """Print the waits; 1 where what was asked for is drawn later than it should be."""
    rounds = max(2, int(sys.argv[1])) if len(sys.argv) > 1 else 5
    chosen = [f"lesson {number}" for number in sys.argv[2:]] or [*LESSONS]
    late = False
    print(f"{'ms from a click to the page drawn':<36}{'clicks':>7}{'median':>8}{'p95':>6}{'max':>6}"
          f"{'last change, p95':>18}")  # fmt: skip
    with notebooks() as (page, server):
        for lesson in chosen:
            found: Waits = {}
            for _ in range(rounds):
                for kind, times in waits(page, lesson).items():
                    found.setdefault(kind, []).extend(times)
                leave(page, server)
            found["every click"] = [one for times in found.values() for one in times]
            for kind, times in found.items():
                if len(times) < 2:
                    continue  # a lab with one pane has no other to open
                first, last = ([pair[k] for pair in times] for k in (0, 1))
                late |= percentile_95(first) > REACH
                print(f"{f'{lesson}, {kind}':<36}{len(times):>7}{median(first):>8.0f}"
                      f"{percentile_95(first):>6.0f}{max(first):>6.0f}"
                      f"{percentile_95(last):>18.0f}", flush=True)  # fmt: skip
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    print(f"to reach: p95 {REACH} ms; {'NOT REACHED' if late else 'reached'}; "
          f"{load:.1f} processes a core")  # fmt: skip
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
