"""From the hand on a number to what would be, in a real browser: ``python -m benchmarks.drags``.

A lab of each lesson in JupyterLab, at the last program that it has, or with ``drags 3 4`` of these
lessons. A step is tried by carrying a loop over the tray, an earlier split by dragging a number:
the page itself takes the times, from the input to the frame in which program and picture are drawn
anew, and to that in which the costs are. With CUDA as the program a slider is moved. Then numbers
are dragged fast, to and fro, without waiting: how many frames there are meanwhile, and whether the
value that the hand ends at is the one that is shown. What else the machine does counts in: see the
load that is told.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import nbformat
from playwright.sync_api import Locator, Page, TimeoutError, sync_playwright

from benchmarks.lab_step import percentile_95
from tests.browser.jupyter import (
    CHROMIUM_ARGS,
    ROOT,
    Server,
    jupyterlab,
    leave,
    open_lab,
    run_cells,
)
from tests.browser.test_lab import BOUND, QUIET, step
from tests.browser.test_trying import STEP
from tests.support import tools

LESSONS = {  # the notebook, and the cell whose lab it is
    1: ("01_vector_add.ipynb", "lab-eight"),
    2: ("02_window_sum.ipynb", "lab-compare"),
    3: ("03_local_blocking.ipynb", "lab-1024"),
    4: ("04_shared_blocking.ipynb", "lab-1024"),
    5: ("05_let_the_machine_search.ipynb", "by-hand"),
    6: ("06_convolution.ipynb", "lab-256"),
    7: ("07_own_operator.ipynb", "lab-1024"),
}
REACH = {"a step": 100, "retune": 150, "costs": 300, "CUDA": 300}  # ms, 19 of 20
FRAMES = 50  # a second, while a number is dragged
FAST = 200  # drags of all lessons
SAMPLES = 24  # of slow ones, in each lesson
MOVES = 90  # of the drag whose frames are counted
LATE = 3_000  # ms after which the last value is not awaited any more

WATCH = """() => {
  window.drag = { at: 0, last: 0, shown: 0, costs: 0, frames: 0 };
  const begin = (event) => {
    const moved = event.type !== "pointermove" || event.movementX || event.movementY;
    if (event.isTrusted && moved)
      Object.assign(drag, { at: event.timeStamp, last: 0, shown: 0, costs: 0 });
  };
  for (const kind of ["pointermove", "keydown"]) addEventListener(kind, begin, true);
  new MutationObserver((changes) => {
    const inside = (pane) => changes.some(({ target }) => target.closest?.(pane));
    const [program, costs] = [inside(".wb-program .wb-body"), inside(".wb-costs.wb-would")];
    const { at } = drag;
    if (!inside(".wb-lab")) return;
    requestAnimationFrame(() => {
      if (drag.at !== at) return;
      drag.last = performance.now();
      if (program && !drag.shown) drag.shown = drag.last;
      if (costs) drag.costs = drag.last;
    });
  }).observe(document.body, { subtree: true, childList: true });
  const count = () => requestAnimationFrame(count, (drag.frames += 1));
  count();
}"""
SETTLED = """(lab) => {
  const [why, costs] = [lab.querySelector(".wb-would-not"), lab.querySelector(".wb-costs.wb-late")];
  return (why || (drag.shown && !costs)) && performance.now() - Math.max(drag.at, drag.last) > 100;
}"""
TIMES = "() => [drag.shown, drag.costs].map((time) => time && time - drag.at)"
ANY_NUMBER = ".wb-program .wb-line:not(.wb-gone, .wb-was) [data-grip][title^='drag it:']"
NUMBER = ANY_NUMBER.replace("[data-grip]", "[data-grip='{}']")
READ = "(one) => [one.dataset.grip, one.textContent, one.title]"
SHOWS = """([lab, key, value]) => {
  const shown = lab.querySelector(`.wb-program.wb-would [data-grip='${key}']`);
  return shown?.textContent === value;
}"""


@dataclass
class Found:
    """The waits of a lesson in ms, by kind; frames a second; fast drags, and how many are shown."""

    waits: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in REACH})
    frames: float = 0.0
    fast: int = 0
    shown: int = 0


@contextmanager
def notebooks(lessons: list[int]) -> Iterator[tuple[Page, Server]]:
    """JupyterLab over the lessons, each up to its lab, in a page of a headless browser."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        (Path(folder) / "lessons").mkdir()
        cut = [_cut(*LESSONS[number], Path(folder) / "lessons") for number in lessons]
        with jupyterlab(Path(folder), cut) as server:
            chromium = tools.find("chromium")
            browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.set_default_timeout(20_000)
            open_lab(page, server)
            page.evaluate(WATCH)
            yield page, server
            browser.close()


def _cut(name: str, last: str, folder: Path) -> Path:
    """A copy of a lesson up to a cell, without those that run or time, of which no lab shows."""
    notebook = nbformat.read(ROOT / "lessons" / name, as_version=4)
    to = next(k for k, cell in enumerate(notebook.cells) if cell.id == last)
    notebook.cells = [cell for cell in notebook.cells[: to + 1] if not cell.id.startswith("run-")]
    nbformat.write(notebook, folder / name)
    return folder / name


def measured(page: Page, number: int, fast: int) -> Found:
    """What a lesson's lab takes; the numbers that a drag ends at are those that can be taken."""
    found = Found()
    lab = run_cells(page, LESSONS[number][0], 100).locator(".wb-lab").last
    lab.scroll_into_view_if_needed()
    lab.locator(".wb-listing").first.wait_for()
    if lab.locator(".wb-answer input").count():  # what would tell is hidden until then
        lab.locator(".wb-answer input").first.check()
        lab.locator(".wb-given").wait_for()
    if number == 1:
        for verb, place, fields in BOUND:
            step(lab, verb, place, **fields)
    lab.evaluate(QUIET)
    ends = _retunes(lab, found)
    _carries(lab, found)
    _frames(lab, ends, found)
    _fast_drags(lab, ends, fast, found)
    _cuda(lab, found)
    return found


def _numbers(lab: Locator) -> dict[str, list[int]]:
    """The numbers in view that can be dragged: by key, the values, its own being first."""
    rows = [one.evaluate(READ) for one in lab.locator(ANY_NUMBER).all() if one.is_visible()]
    return {
        key: [int(own), *map(int, title.partition(": ")[2].split(", "))] for key, own, title in rows
    }


def _hold(lab: Locator, key: str) -> tuple[float, float]:
    """Take hold of the number of a loop; returns where."""
    at = lab.locator(NUMBER.format(key)).first.bounding_box()
    assert at
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    lab.page.mouse.move(x, y)
    lab.page.mouse.down()
    return x, y


def _let_go(lab: Locator) -> None:
    """Put it back: nothing is taken."""
    lab.page.keyboard.press("Escape")
    lab.page.mouse.up()
    lab.locator(".wb-would-head").wait_for(state="hidden")


def _retunes(lab: Locator, found: Found) -> list[tuple[str, int, str]]:
    """Drag each number by one value and two, up and down, and wait for what comes.

    Returns the key, values apart and value of those that could be taken.
    """
    page, ends = lab.page, []
    numbers = _numbers(lab)
    moves = [(key, by) for by in (1, -1, 2, -2) for key in numbers]
    for key, by in moves:
        own, *values = numbers[key]
        to = values.index(own) + by
        if not 0 <= to < len(values) or len(found.waits["retune"]) >= SAMPLES:
            continue
        x, y = _hold(lab, key)
        page.mouse.move(x + STEP * by, y)
        if _noted(lab, "retune", found):
            ends.append((key, by, f"{values[to]}"))
        _let_go(lab)
    return ends


def _noted(lab: Locator, kind: str, found: Found) -> bool:
    """Wait for what would be of the last input, and note how long that took, and its costs.

    False where it is refused, or nothing came: it was dropped for being late, or is what is there.
    """
    page = lab.page
    with suppress(TimeoutError):
        page.wait_for_function(SETTLED, arg=lab.element_handle(), timeout=LATE)
    shown, costs = page.evaluate(TIMES)
    if not shown or lab.locator(".wb-would-not").count() or not lab.locator(".wb-would").count():
        return False
    found.waits[kind].append(shown)
    found.waits["costs"] += [costs] if costs and kind != "CUDA" else []
    return True


def _carries(lab: Locator, found: Found) -> None:
    """Carry loops over the places of the tray that take them."""
    page = lab.page
    for name in lab.locator(".wb-program .wb-lifts").all():
        at = name.bounding_box() if name.is_visible() else None
        if at is None or len(found.waits["a step"]) >= SAMPLES // 2:
            continue
        page.mouse.move(at["x"] + 3, at["y"] + at["height"] / 2)
        page.mouse.down()
        page.mouse.move(at["x"] + 30, at["y"] + at["height"] / 2 + 40, steps=2)
        lab.locator(".wb-tray .wb-target").first.wait_for()
        for place in lab.locator(".wb-tray .wb-target:not([aria-disabled])").all()[:4]:
            lab.evaluate(QUIET)
            box = place.bounding_box()
            assert box
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            _noted(lab, "a step", found)
        page.keyboard.press("Escape")
        page.mouse.up()
        lab.locator(".wb-tray").wait_for(state="hidden")


def _frames(lab: Locator, ends: list[tuple[str, int, str]], found: Found) -> None:
    """Drag a number over all of its values and back, as a hand does: one move a frame."""
    page = lab.page
    x, y = _hold(lab, ends[0][0])
    begun = page.evaluate("() => [performance.now(), drag.frames]")
    for k in range(MOVES):
        page.mouse.move(x + STEP * (3 - abs(k % 12 - 6)) + k % 3, y)
        page.wait_for_timeout(16)
    ended = page.evaluate("() => [performance.now(), drag.frames]")
    _let_go(lab)
    found.frames = 1e3 * (ended[1] - begun[1]) / (ended[0] - begun[0])


def _fast_drags(lab: Locator, ends: list[tuple[str, int, str]], fast: int, found: Found) -> None:
    """Drag numbers over many values without waiting; the last is one that can be taken."""
    page, rng = lab.page, random.Random(0)
    handle = lab.element_handle()
    for _ in range(fast):
        key, by, value = rng.choice(ends)
        x, y = _hold(lab, key)
        for _ in range(rng.randint(3, 12)):
            page.mouse.move(x + STEP * rng.randint(-4, 4), y)
        page.mouse.move(x + STEP * by, y)
        found.fast += 1
        with suppress(TimeoutError):
            page.wait_for_function(SHOWS, arg=[handle, key, value], timeout=LATE)
            page.wait_for_timeout(150)  # and it stays
            found.shown += bool(page.evaluate(SHOWS, [handle, key, value]))
        _let_go(lab)


def _cuda(lab: Locator, found: Found) -> None:
    """With CUDA as the program, move the slider of a loop in its menu."""
    page, key = lab.page, next(iter(_numbers(lab)))
    tab = lab.locator(".wb-program [role=tab]").get_by_text("CUDA", exact=True)
    if not tab.count():
        lab.locator(".wb-program > .wb-more").click()
    tab.click()
    lab.evaluate(QUIET)
    lab.locator(f".wb-place[data-k='{key}']").click()  # it is scrolled to, of many
    slider = lab.locator(".wb-menu .wb-grip input")
    slider.focus()
    for press in ("ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowRight"):
        slider.press(press)
        _noted(lab, "CUDA", found)
    page.keyboard.press("Escape")


def _told(lesson: str, found: Found) -> str:
    cells = []
    for times in found.waits.values():
        pair = f"{median(times):.0f} / {percentile_95(times):.0f}" if len(times) > 1 else "–"
        cells.append(f"{f'{pair} ({len(times)})':>18}")
    return f"{lesson:<10}{''.join(cells)}{found.frames:>10.0f}{found.shown:>7} of {found.fast}"


def _all(every: list[Found]) -> Found:
    waits = {kind: [time for one in every for time in one.waits[kind]] for kind in REACH}
    frames = min(one.frames for one in every)
    return Found(waits, frames, sum(one.fast for one in every), sum(one.shown for one in every))


def main() -> int:
    """Print a row a lesson; 1 where something takes longer than it should, or a value is lost."""
    chosen = [int(number) for number in sys.argv[1:]] or [*LESSONS]
    fast = -(-FAST // len(LESSONS))
    print("ms, median / p95 (how many), from the input to the frame that shows it")
    print(f"{'':<10}{''.join(f'{kind:>18}' for kind in REACH)}{'frames/s':>10}{'last value':>14}")
    every: list[Found] = []
    with notebooks(chosen) as (page, server):
        for number in chosen:
            every.append(measured(page, number, fast))
            print(_told(f"lesson {number}", every[-1]), flush=True)
            leave(page, server)
    whole = _all(every)
    print(_told("all", whole))
    late = [
        f"{kind} {percentile_95(times):.0f} ms, not {REACH[kind]}"
        for kind, times in whole.waits.items()
        if len(times) > 1 and percentile_95(times) > REACH[kind]
    ]
    late += [f"{whole.frames:.0f} frames a second, not {FRAMES}"] if whole.frames < FRAMES else []
    lost = whole.fast - whole.shown
    late += [f"{lost} last values were not shown"] if lost else []
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    print(
        f"{'NOT REACHED: ' + '; '.join(late) if late else 'reached'}; {load:.1f} processes a core"
    )
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
