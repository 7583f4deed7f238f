"""Where a lab stands in JupyterLab as it opens: whole in view, and what belongs together in it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Error, Locator, Page, ViewportSize, expect

from tests.browser.axe import accessible
from tests.browser.conftest import LESSONS
from tests.browser.jupyter import FORGET, OPEN, PANEL, ROOT, Server, dark, jupyterlab, open_lab
from tests.browser.test_lab import answer, shoot
from tests.colab.test_colab import PINS
from tests.support.every import EVERY, some

SMALL: ViewportSize = {"width": 1280, "height": 720}
LARGE: ViewportSize = {"width": 1400, "height": 900}
LEFT = "if (app.shell.leftCollapsed === false) app.shell.collapseLeft();"
assert LEFT in OPEN
AS_IT_OPENS = OPEN.replace(LEFT, "app.shell.expandLeft();")
SETTLED = (
    700 if EVERY else 300
)  # ms: a lab that comes into view stays there for 500 ms, whatever moves


@pytest.fixture(scope="module")
def opened(browser: Browser, server: Server) -> Iterator[Page]:
    """JupyterLab, loaded once: that costs more than most tests do in it."""
    with loaded(browser, server) as page:
        yield page


@contextmanager
def loaded(browser: Browser, server: Server) -> Iterator[Page]:
    context = browser.new_context(viewport=SMALL)
    context.set_default_timeout(15_000)
    page = context.new_page()
    open_lab(page, server)
    yield page
    context.close()


@pytest.fixture
def page(opened: Page) -> Iterator[Page]:
    """JupyterLab as it opens, file browser and all, at 1280 x 720."""
    yield opened
    opened.set_viewport_size(SMALL)
    dark(opened, False)
    opened.evaluate(CLOSE_ALL, FORGET)


# The kernel stays, as new, and is the next notebook's, which lies at the same path.
CLOSE_ALL = """async (code) => {
  for (const panel of [...window.jupyterapp.shell.widgets('main')]) {
    if (panel.isDisposed) continue; // a view of one that was closed
    const { context, sessionContext } = panel;
    await sessionContext?.session?.kernel.requestExecute({ code, store_history: false }).done;
    await context?.save();
    // It closes a while later, and until then is what opens at its path.
    const closed = new Promise((done) => panel.disposed.connect(done));
    panel.close();
    await closed;
  }
}"""
NAME = "lesson.ipynb"

# Those of the other tests' notebooks go on.
END_KERNEL = f"""async () => {{
  const {{ sessions }} = window.jupyterapp.serviceManager;
  await sessions.refreshRunning();
  for (const {{ id, path }} of [...sessions.running()])
    if (path === '{NAME}') await sessions.shutdown(id);
}}"""


def open_notebook(page: Page, server: Server, path: Path) -> None:
    """Open a copy of a notebook, its first cell active, as it is in a lesson's folder."""
    shutil.copy(path, server.root / NAME)
    try:
        page.evaluate(AS_IT_OPENS, NAME)
    except Error as error:
        if "garbage collected" not in str(error):
            raise
        page.evaluate(AS_IT_OPENS, NAME)  # it waited for a panel that was still being closed
    page.evaluate(
        "() => { const panel = window.jupyterapp.shell.currentWidget;"
        "panel.content.activeCellIndex = 0; panel.content.mode = 'command'; panel.activate(); }"
    )


# What the last run left: whether all is done, and which cell is active.
STATE = """() => { const { content, sessionContext } = window.jupyterapp.shell.currentWidget;
  const busy = content.widgets.some(cell => cell.prompt === '*');
  const [idle, kernel] = [sessionContext.kernelDisplayStatus === 'idle', sessionContext.session];
  return { done: idle && !busy && Boolean(kernel), active: content.activeCellIndex,
    cells: content.widgets.length }; }"""


# Whether a cell has a widget among its outputs; its view comes a while after the cell is done.
HAS_VIEW = """(at) => {
  const outputs = window.jupyterapp.shell.currentWidget.content.widgets[at].model.outputs;
  return Array.from({ length: outputs?.length ?? 0 }, (_, k) => outputs.get(k).toJSON())
    .some(({ data }) => data && "application/vnd.jupyter.widget-view+json" in data);
}"""


# The number of a cell's last run; 0 where it runs for the first time, or is no code.
COUNT = """at => window.jupyterapp.shell.currentWidget.content.widgets[at].model.executionCount
  ?? 0"""


def shift_enter(page: Page) -> int:
    """Run the active cell by hand, wait for its end; returns which one it was."""
    at: int = page.evaluate(STATE)["active"]
    before = page.evaluate(COUNT, at)
    page.keyboard.press("Shift+Enter")
    # a kernel that still starts takes the cell later, and is idle until then
    page.wait_for_function(
        f"""([at, before]) => {{ const s = ({STATE})();
          const {{ widgets }} = window.jupyterapp.shell.currentWidget.content;
          const ran = widgets[at].model.type !== 'code' || ({COUNT})(at) > before;
          return ran && s.done && s.active === at + 1; }}""",
        arg=[at, before],
        timeout=60_000,
        polling=50,  # ms; asked at each frame, the page is never idle
    )
    return at


# Goes to the first of `shown` from the active cell on; cells before it run out of sight, as they
# do where nobody has the notebook open.
TO_NEXT = """async (shown) => {
  const { content, sessionContext } = window.jupyterapp.shell.currentWidget;
  for (let at = content.activeCellIndex; at < content.widgets.length; at++) {
    if (shown.includes(at)) {
      content.activeCellIndex = at;
      return true;
    }
    const { model } = content.widgets[at];
    if (model.type !== 'code') continue;
    await sessionContext.ready;
    const code = model.sharedModel.source;
    const { content: reply } = await sessionContext.session.kernel.requestExecute({ code }).done;
    if (reply.status !== 'ok') throw new Error(code);
  }
  return false;
}"""


def shown_shortly(notebook: Path) -> list[int]:
    """The cells that open something: of quizzes and players the first, of labs each third.

    The last lab, which has most steps, is among them.
    """
    cells = nbformat.read(notebook, as_version=4).cells
    opening = [
        [k for k, cell in enumerate(cells) if cell.cell_type == "code" and word in cell.source]
        for word in ("lesson.quiz(", "lesson.gpu(", "lesson.progress(", "wb.lab(")
    ]
    *others, labs = opening
    return sorted({k for one in others for k in one[:1]} | {*labs[::-3]})


def run_to_the_end(page: Page, shown: list[int] | None = None) -> Iterator[Locator]:
    """Shift+Enter on each cell, or on those `shown`; each lab as it comes."""
    last = page.evaluate(STATE)["cells"] - 1
    at = -1
    while at < last and (shown is None or page.evaluate(TO_NEXT, shown)):
        at = shift_enter(page)
        cell = page.locator(f"{PANEL} .jp-Cell").nth(at)
        if not page.evaluate(HAS_VIEW, at):
            continue
        lab = cell.locator(".wb-lab")
        cell.locator(".wb-lab, .wb-quiz, .wb-player").first.wait_for(timeout=15_000)
        if lab.count():
            settle(page)
            yield lab


PLACE = """lab => {
  let panel = lab.parentElement;
  while (!panel.matches('.jp-WindowedPanel-outer, #panel')) panel = panel.parentElement;
  const [box, around] = [lab.getBoundingClientRect(), panel.getBoundingClientRect()];
  return { above: around.top - box.top, below: box.bottom - around.bottom,
    height: box.height, room: panel.clientHeight };
}"""


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait until it holds; 5 s are too long."""
    end = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def whole(lab: Locator) -> None:
    """All of the lab is in view."""
    until(lambda: inside(lab.evaluate(PLACE)), f"whole in view: {lab.evaluate(PLACE)}")


def inside(found: dict[str, float]) -> bool:
    return found["above"] <= 0 and found["below"] <= 0


# What of a lab is out of sight or covered: its question, its first changed line with the changed
# words, the picture (of more than two kernels, the first's), the next steps.
UNSEEN = """lab => {
  const look = (name, el, [width, height] = []) => {
    if (!el) return `no ${name}`;
    const box = el.getBoundingClientRect();
    const [right, bottom] = [
      Math.min(box.right, box.left + (width ?? box.width)),
      Math.min(box.bottom, box.top + (height ?? box.height)),
    ];
    for (const [x, y] of [[box.left + 2, box.top + 2], [right - 2, bottom - 2]]) {
      const there = document.elementFromPoint(x, y);
      if (!there || !(el.contains(there) || there.contains(el)) || !lab.contains(there))
        return `${name} at ${[x, y].map(Math.round)}: ${there?.outerHTML.slice(0, 80)}`;
    }
    return null;
  };
  const isDrawn = (el) => el.getClientRects().length; // of two drawings, that for this pane
  // a program may have no picture to show, which a line says, or the reason
  const shown = '.wb-machine :is(svg, .wb-table, .wb-caption, .wb-refusal)';
  const changed = lab.querySelector('.wb-program :is(.wb-edit, .wb-come, .wb-gone)');
  const words = changed?.querySelector('.wb-changed');
  const asked = lab.querySelector('.wb-question:not([hidden]) .wb-ask');
  const costs = lab.querySelector('.wb-costs:not([hidden])'); // hidden where a lesson names none
  const pane = lab.querySelector('.wb-machine .wb-body')?.getBoundingClientRect();
  const strips = [...lab.querySelectorAll('.wb-machine .wb-strips > svg:not([data-scrolls])')]
    .map((strip) => strip.getBoundingClientRect())
    .filter((box) => box.height);
  const cut = strips
    .slice(0, strips.length > 2 ? 1 : 2)
    .find((box) => box.bottom > pane.bottom + 1 || box.right > pane.right + 1);
  return [
    cut && `a picture that ends at ${[cut.right, cut.bottom]}, out of its pane`,
    asked && look('question', asked),
    changed && look('changed line', changed.querySelector('.wb-sign')),
    words && look('changed words', words, [20, 10]),
    look('picture', [...lab.querySelectorAll(shown)].find(isDrawn), [60, 20]),
    costs && look('costs', costs),
    look('place', lab.querySelector('.wb-place')),
    look('step', lab.querySelector('.wb-link[aria-current]')),
  ].filter(Boolean);
}"""


def seen_together(lab: Locator, step: object) -> None:
    """Question, changed line, picture, costs and next step are in view, and nothing covers them."""
    for _ in range(20):  # a page may still come, and be scrolled to its change
        found = lab.evaluate(UNSEEN)
        if not found:
            return
        lab.page.wait_for_timeout(100)
    raise AssertionError((step, found))


def fits(lab: Locator) -> bool:
    """Whether the lab is as tall as its panel lets it be."""
    found = lab.evaluate(PLACE)
    return bool(440 <= found["height"] <= found["room"] - 32 + 1)


def comes(lab: Locator) -> bool:
    """Whether the lab is whole in view once it is scrolled to."""
    lab.evaluate("lab => lab.scrollIntoView({ block: 'center' })")
    return fits(lab) and inside(lab.evaluate(PLACE))


def each_step_is_seen(lab: Locator, name: str) -> None:
    """Go through the lab's history: its height stays, and what belongs together is in view."""
    links, heights = lab.locator(".wb-link"), set()
    last = links.count() - 1
    for k in range(last + 1) if EVERY else (0, last):
        links.nth(k).click()
        expect(links.nth(k)).to_have_attribute("aria-current", "step")
        seen_together(lab, (name, k))
        heights.add(lab.evaluate("lab => lab.offsetHeight"))
    assert len(heights) == 1, name


def clean(view: Locator) -> None:
    """Nothing that axe-core finds wrong in what is scrolled to."""
    view.scroll_into_view_if_needed()
    view.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    view.evaluate("view => view.setAttribute('data-looked-at', '')")
    accessible(view.page, "[data-looked-at]")
    view.evaluate("view => view.removeAttribute('data-looked-at')")


def looked_at(page: Page, longest: Locator | None) -> list[Locator]:
    """What of a lesson axe-core looks at: all, or one of each kind."""
    if EVERY:
        return page.locator(f"{PANEL} :is(.wb-lab, .wb-quiz, .wb-player)").all()
    others = (page.locator(f"{PANEL} {kind}").first for kind in (".wb-quiz", ".wb-player"))
    return [one for one in (longest, *others) if one is not None and one.count()]


SHORTLY = [path for path in LESSONS if path.stem[:2] in ("in", "01")]


@pytest.mark.parametrize("lesson", LESSONS if EVERY else SHORTLY, ids=lambda path: path.stem[:2])
def test_labs_are_whole_in_view_and_so_is_what_belongs_together(
    page: Page, server: Server, lesson: Path
):
    """Every lab as it comes, then at its steps; all that a lesson shows is accessible.

    Looked at shortly, it is the map and one lesson, of which each third lab, the steps are the
    first and the last of the one that has most, and what is accessible is that lab, a quiz and a
    player. test_text.py opens every lab of all lessons, on a plain page.
    """
    open_notebook(page, server, lesson)
    labs = []
    for lab in run_to_the_end(page, None if EVERY else shown_shortly(lesson)):
        whole(lab)
        seen_together(lab, f"lab {len(labs)} as it comes")
        labs.append(lab)
    assert bool(labs) == ("wb.lab(" in lesson.read_text(encoding="utf-8"))
    longest = max(labs, key=lambda lab: lab.locator(".wb-link").count(), default=None)
    for size, scheme in some((SMALL, "light"), (LARGE, "dark")):
        page.set_viewport_size(size)
        dark(page, scheme == "dark")
        for k, lab in enumerate(labs):
            until(lambda lab=lab: comes(lab), f"lab {k} comes into view at {size}")
            if lab.locator(".wb-answer input:enabled").count():
                answer(lab)
            if lab is longest or (EVERY and size == SMALL):
                each_step_is_seen(lab, f"lab {k} at {size}")
                shoot(page, f"frame-{lesson.stem[:2]}-{k}-{size['width']}")
        for view in looked_at(page, longest):
            clean(view)


SET_UP = "import workbench as wb\nfrom tests.widgets.programs import ADD, bind_both, parse"
LAB = "lab = wb.lab(parse(ADD))\nbind_both(lab)\nlab"
COPIES = """
names = [f"C{k}" for k in range(8)]
types = ", ".join(f'{name}: T.Buffer((64, 64), "float32")' for name in ("A", *names))
loops = "".join(f'''
    for i, j in T.grid(64, 64):
        with T.block("{name}"):
            vi, vj = T.axis.remap("SS", [i, j])
            {name}[vi, vj] = A[vi, vj]''' for name in names)
sch = wb.Schedule(parse(f"@T.prim_func\\ndef copies({types}):{loops}"))
sch.cache_write(sch.get_block("C7"), 0, "local")
wb.lab(sch)
"""
ASK = "from workbench import lesson\nexercise = lesson.exercise('odd_vector')"
CHECK = "exercise.check(exercise.schedule())"
QUIZ = "lesson.quiz('01_end')"
CODE = (SET_UP, LAB, COPIES, ASK, CHECK, QUIZ)
LONG = "\n\n".join(f"Paragraph {k}: prose that follows a lab." for k in range(60))


def notebook(folder: Path, name: str, *cells: str) -> Path:
    """A notebook of these cells; what is no code of the lab's is Markdown."""
    code, text = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    made = [code(c) if c in CODE else text(c) for c in cells]
    path = folder / f"{name}.ipynb"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    written = nbformat.v4.new_notebook(cells=made, metadata={"kernelspec": kernel})
    nbformat.write(written, path)
    return path


def scroll_to(page: Page, top: int) -> None:
    page.evaluate(f"document.querySelector('{PANEL} .jp-WindowedPanel-outer').scrollTop = {top}")


def scrolled(page: Page) -> float:
    top: float = page.evaluate(
        f"document.querySelector('{PANEL} .jp-WindowedPanel-outer').scrollTop"
    )
    return top


# Waits until the panel has not moved for so many ms and, since a busy machine draws seldom, frames.
REST = f"""async ([ms, frames]) => {{
  const panel = document.querySelector('{PANEL} .jp-WindowedPanel-outer');
  const since = () => ({{ top: panel.scrollTop, from: performance.now(), drawn: 0 }});
  for (let seen = since(); performance.now() - seen.from < ms || seen.drawn < frames; ) {{
    await new Promise(requestAnimationFrame);
    if (panel.scrollTop === seen.top) seen.drawn += 1;
    else seen = since();
  }}
}}"""


def settle(page: Page) -> None:
    page.evaluate(REST, [SETTLED, 20])


# Notes when someone sets where the panel is scrolled to: a lab does it so; JupyterLab, which goes
# to the last cell of *Run All* by heights that it guesses, and may show the lab by that, does not.
NOTE_MOVES = f"""() => {{
  const panel = document.querySelector('{PANEL} .jp-WindowedPanel-outer');
  const place = Object.getOwnPropertyDescriptor(Element.prototype, 'scrollTop');
  const set = (top) => {{ panel.moved = true; place.set.call(panel, top); }};
  Object.defineProperty(panel, 'scrollTop', {{ get: () => place.get.call(panel), set }});
}}"""
MOVED = f"Boolean(document.querySelector('{PANEL} .jp-WindowedPanel-outer').moved)"


@pytest.mark.parametrize("size", some(SMALL, LARGE))
def test_a_lab_that_is_run_by_hand_comes_into_view(
    page: Page, server: Server, tmp_path: Path, size: ViewportSize
):
    """Cold, with a long cell next; again; and as the last cell, where a new one is made."""
    page.set_viewport_size(size)
    cells = (LONG, SET_UP, LAB, LONG, LAB)
    page.evaluate(END_KERNEL)
    open_notebook(page, server, notebook(tmp_path, "hand", *cells))
    page.evaluate(NOTE_MOVES)
    labs = list(run_to_the_end(page))
    assert page.evaluate(MOVED)
    assert len(labs) == 2
    whole(labs[1])
    state = page.evaluate(STATE)
    assert (state["cells"], state["active"]) == (6, 5), "the focus is where JupyterLab puts it"

    page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 2")
    page.keyboard.press("Escape")
    scroll_to(page, 0)
    shift_enter(page)
    settle(page)
    whole(labs[0])
    assert page.evaluate(STATE)["active"] == 3

    page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 2")
    page.keyboard.press("Control+Enter")
    page.mouse.move(700, 400)
    page.wait_for_function(f"() => ({STATE})().done")
    page.mouse.wheel(0, 3000)  # the learner goes elsewhere
    settle(page)
    assert labs[0].evaluate(PLACE)["above"] > 0


def test_a_verdict_and_a_quiz_are_seen_from_their_first_line(
    page: Page, server: Server, tmp_path: Path
):
    """The report whole, the quiz, which is taller than the panel, from its top on."""
    cells = (ASK, LONG, CHECK, LONG, QUIZ, LONG, "The end.")
    open_notebook(page, server, notebook(tmp_path, "told", *cells))
    places = []
    for _ in range(5):
        at = shift_enter(page)
        cell = page.locator(f"{PANEL} .jp-Cell").nth(at)
        if at in (2, 4):
            shown = cell.locator(".jp-RenderedHTMLCommon > div:has(script), .wb-quiz").last
            expect(shown).to_be_visible()
            settle(page)
            places.append(shown.evaluate(PLACE))
    report, quiz = places
    assert report["above"] <= 0 and report["below"] <= 0, report
    assert -40 <= quiz["above"] <= 0 < quiz["below"], quiz


def test_run_all_a_page_loaded_again_and_a_second_view_are_left_where_they_are(
    page: Page, server: Server, tmp_path: Path
):
    page.evaluate(END_KERNEL)
    open_notebook(page, server, notebook(tmp_path, "all", LONG, SET_UP, LAB, LONG))
    page.keyboard.press("ArrowDown")  # a page that is used
    page.evaluate(NOTE_MOVES)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    lab = page.locator(f"{PANEL} .wb-lab").first
    lab.wait_for(state="attached", timeout=60_000)
    page.wait_for_function(f"() => ({STATE})().done")
    settle(page)
    assert not page.evaluate(MOVED)

    page.evaluate("window.jupyterapp.shell.currentWidget.context.save()")
    open_lab(page, server)  # with the kernel that made it
    page.keyboard.press("Escape")
    page.evaluate(AS_IT_OPENS, NAME)
    lab.wait_for(state="attached")
    settle(page)
    assert scrolled(page) == 0

    page.evaluate(
        "() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 2;"
        "return window.jupyterapp.commands.execute('notebook:create-output-view'); }"
    )
    view = page.locator(".jp-LinkedOutputView .wb-lab")
    expect(view.locator(".wb-listing")).to_be_visible()
    lab.scroll_into_view_if_needed()
    settle(page)  # the panel is narrower now
    before = scrolled(page)
    view.locator(".wb-link").first.click()
    expect(lab.locator(".wb-link").first).to_have_attribute("aria-current", "step")
    assert scrolled(page) == before
    lab.locator(".wb-link").nth(2).click()
    expect(view.locator(".wb-link").nth(2)).to_have_attribute("aria-current", "step")
    shoot(page, "frame-two-views")


@pytest.mark.parametrize(
    ("saved", "busy"), some((False, True), (False, False), (True, True), (True, False))
)
def test_a_page_loaded_again_has_its_labs(
    page: Page, server: Server, tmp_path: Path, saved: bool, busy: bool
):
    """Whether its outputs were saved or not; while Python is busy, as soon as it is not."""
    comes_back(page, server, tmp_path, saved, busy)


@pytest.mark.skipif(not EVERY, reason="fetches ipywidgets as Colab has them; in the weekly run")
@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("saved", [False, True])
def test_under_colabs_widgets_as_well(
    opened_old: tuple[Page, Server], tmp_path: Path, saved: bool, busy: bool
):
    page, old = opened_old
    comes_back(page, old, tmp_path, saved, busy)
    assert (
        page.evaluate(DONE, "import ipywidgets; assert ipywidgets.__version__ == '7.7.1'") == "ok"
    )
    page.evaluate(CLOSE_ALL, FORGET)


DONE = """async (code) => {
  const { session } = window.jupyterapp.shell.currentWidget.sessionContext;
  return (await session.kernel.requestExecute({ code }).done).content.status;
}"""


@pytest.fixture(scope="module")
def opened_old(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Page, Server]]:
    """JupyterLab, loaded once, with a kernel whose ipywidgets are Colab's."""
    folder = tmp_path_factory.mktemp("old")
    wanted = [f"ipywidgets=={PINS['ipywidgets']}", "ipython_genutils"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    subprocess.run([*pip, str(folder / "widgets"), *wanted], check=True)
    kernel = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Python 3",
        "language": "python",
        "env": {"PYTHONPATH": os.pathsep.join((str(folder / "widgets"), str(ROOT)))},
    }
    spec = folder / "data" / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps(kernel))
    with pytest.MonkeyPatch.context() as change:
        change.setenv("JUPYTER_PREFER_ENV_PATH", "0")  # our kernel before the environment's
        with jupyterlab(folder, []) as running, loaded(browser, running) as page:
            yield page, running


def comes_back(page: Page, server: Server, tmp_path: Path, saved: bool, busy: bool) -> None:
    """The labs of a notebook, each at its step, once its page is loaded again."""
    open_notebook(page, server, notebook(tmp_path, "again", SET_UP, LAB, LAB))
    first, _ = run_to_the_end(page)
    page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1")
    shift_enter(page)  # the lab that its first run made is not put back as well
    first.locator(".wb-link").nth(1).click()
    expect(first.locator(".wb-link").nth(1)).to_have_attribute("aria-current", "step")
    if saved:
        page.evaluate("window.jupyterapp.shell.currentWidget.context.save()")
    if busy:
        page.evaluate(BUSY)
    open_lab(page, server)
    page.evaluate(AS_IT_OPENS, NAME)
    if saved and busy:
        still = page.locator(f"{PANEL} .wb-still").first
        expect(still.locator("p").first).to_contain_text("the lab comes back by itself")
    cells = page.locator(f"{PANEL} .jp-Cell")
    for cell, step in ((cells.nth(1), 1), (cells.nth(2), 3)):
        lab = cell.locator(".wb-lab")
        expect(lab).to_have_count(1, timeout=30_000)
        expect(lab.locator(".wb-link").nth(step)).to_have_attribute("aria-current", "step")
        expect(cell.locator(".wb-still")).to_be_hidden()
    first.locator(".wb-link").nth(2).click()  # and Python answers
    expect(first.locator(".wb-link").nth(2)).to_have_attribute("aria-current", "step")


BUSY = """() => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  kernel.requestExecute({ code: 'import time; time.sleep(6)' });
}"""


def test_the_wheel_goes_on_at_the_end_of_a_pane(page: Page, server: Server, tmp_path: Path):
    open_notebook(page, server, notebook(tmp_path, "wheel", LONG, SET_UP, LAB, LONG))
    (lab,) = run_to_the_end(page)
    for part in (".wb-program .wb-body", ".wb-machine .wb-strips", ".wb-costs", ".wb-bar"):
        scroll_to(page, 0)
        lab.evaluate("lab => lab.scrollIntoView({ block: 'center' })")
        before = scrolled(page)
        lab.locator(part).hover()
        page.mouse.wheel(0, 300)
        until(lambda before=before: scrolled(page) > before, part)


@pytest.mark.parametrize("scheme", some("dark", "light"))
def test_a_long_program_shows_its_first_change_and_leads_to_the_next(
    page: Page, server: Server, tmp_path: Path, scheme: str
):
    dark(page, scheme == "dark")
    open_notebook(page, server, notebook(tmp_path, "long", SET_UP, COPIES))
    (lab,) = run_to_the_end(page)
    body, more = lab.locator(".wb-program .wb-body"), lab.locator(".wb-next")
    folds = lab.locator(".wb-fold button")
    expect(folds).to_have_count(1)  # what did not change
    expect(more).to_be_hidden()
    last = lab.locator(".wb-program :is(.wb-come, .wb-gone, .wb-edit)").last
    assert not last.evaluate(BELOW)
    folds.click()
    expect(more).to_have_text(re.compile(r"^\d more changes? ↓$"))
    assert last.evaluate(BELOW)
    while last.evaluate(BELOW):
        left = last.bounding_box()
        more.click()
        until(lambda left=left: last.bounding_box() != left, "the next change comes up")
    expect(more).to_be_hidden()
    body.evaluate("body => body.scrollTo(0, 0)")
    expect(more).to_be_visible()  # and nothing moves any more
    body.locator(".wb-text .wb-unfold").click()
    expect(body).to_contain_text("T.Buffer((64, 64)")
    shoot(page, f"frame-long-{scheme}")
    accessible(page)


BELOW = """row => row.getBoundingClientRect().bottom
  > row.closest('.wb-body').getBoundingClientRect().bottom + 1"""
