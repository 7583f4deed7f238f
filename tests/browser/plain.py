"""Labs on a plain page, with Python answering in this process: what JupyterLab does, without it.

The page loads what a notebook's widget loads. What a lab sends comes to `Plain.answer`, which hands
it to the lab as the notebook's kernel would, and returns the traits that have changed since.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import nbformat
import pytest
from playwright.sync_api import Browser, Error, Locator, Page, Route, ViewportSize, expect

import workbench as wb
import workbench.lesson
from tests.browser.jupyter import ROOT
from tests.support.lessons import without_tables
from tests.support.seeds import run_cell
from workbench.widgets import Lab, static
from workbench.widgets.ask.session import SHOWN
from workbench.widgets.small import Small

SIZE: ViewportSize = {"width": 1400, "height": 1000}
ADDRESS = "http://localhost/"  # a page from there may use the clipboard; nothing is fetched
DOM = ("layout", "tabbable", "tooltip")  # what every widget has
SCRIPT = "text/javascript; charset=utf-8"
# What of the page is seen scrolls, as a notebook's panel does: a lab is as tall as it lets it be.
PANEL = '<body style="margin: 0"><div id="panel" style="height: 100vh; overflow-y: auto"></div>'

# Draws a lab with a model as notebooks have one. What one lab asks may change the others of its
# history, so these ask for news then, as a lab does while its run says how far it is.
HOST = """async (render, id) => {
  const [state, on] = [{}, new Map()];
  const news = (window.news ??= []);
  const sent = []; // what was chosen and is not answered yet
  let chosen = {}, soon = 0;
  const tell = (event) => { for (const act of on.get(event) ?? []) act(); };
  const change = () => tell('change');
  const ask = async (what) => {
    if (what.chosen) sent.push(Object.keys(what.chosen));
    const { told, running, said } = JSON.parse(await window.answer(id, JSON.stringify(what)));
    if (what.chosen) sent.shift();
    for (const name of sent.flat()) delete told[name]; // a notebook waits for its echo
    Object.assign(state, told);
    if (Object.keys(told).length) change();
    if (what.message || what.chosen) {
      for (const content of said) for (const act of on.get('msg:custom') ?? []) act(content);
      for (const look of news) if (look !== own) look();
    }
    clearTimeout(soon);
    if (running) soon = setTimeout(own, 100);
  };
  const own = () => ask({});
  const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = chosen[name] = value; },
    on: (event, act) => on.set(event, [...(on.get(event) ?? []), act]),
    off: () => {},
    send: (message) => { window.asked = true; ask({ message }); },
    save_changes: () => { window.asked = true; ask({ chosen }); chosen = {}; change(); },
  };
  await own();
  news.push(own);
  const around = document.querySelector('#panel') ?? document.body;
  render({ model, el: around.appendChild(document.createElement('div')) });
}"""

# Draws one of the small views: what it sends is answered with what that changed.
VIEW = """async (state) => {
  const on = new Map();
  const tell = (event, news) => { for (const act of on.get(event) ?? []) act(news); };
  window.hear = ({ messages, changed }) => {
    Object.assign(state, changed);
    for (const name of Object.keys(changed)) tell(`change:${name}`);
    for (const news of messages) tell('msg:custom', news);
  };
  const model = {
    get: (name) => state[name],
    on: (event, act) => on.set(event, [...(on.get(event) ?? []), act]),
    off: () => {},
    send: async (message) => window.hear(JSON.parse(await window.ask(JSON.stringify(message)))),
  };
  const view = (await import('/view.js')).default;
  const panel = document.querySelector('#panel');
  view.render({ model, el: panel.appendChild(document.createElement('div')) });
}"""


class Plain:
    """A page, the labs on it, and its faults."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.labs: list[Lab] = []
        self.sent: list[dict[str, object]] = []  # of each lab: the traits that the page has
        self.said: list[object] = []  # what a lab sent in answer to what is asked now
        self.faults: list[str] = []
        page.on("pageerror", self._hear_fault)
        page.expose_function("answer", self.answer)
        page.expose_function("ask", self._ask)
        self.view: Small | None = None
        self._news: dict[str, Any] = {}

    def _hear_fault(self, error: Error) -> None:
        self.faults.append(error.stack or str(error))

    def clear(self) -> None:
        """As it was at first: no labs, no faults, and the mouse, the size and the media, too."""
        self.page.goto("about:blank")
        self.page.mouse.move(-1, -1)
        self.page.set_viewport_size(SIZE)
        self.page.context.clear_permissions()
        self.page.emulate_media(color_scheme="light", media="screen", reduced_motion="reduce")
        for made in (self.labs, self.sent, self.faults):
            made.clear()

    def add(self, lab: Lab) -> int:
        """Answer for a lab from now on, under the number that this returns."""
        lab.comm = None  # `answer` tells what changed; to pack it for a notebook as well takes long
        lab.send = self.said.append  # type: ignore[method-assign]
        self.labs.append(lab)
        self.sent.append({})
        return len(self.labs) - 1

    def answer(self, id: int, what: str) -> str:
        """Do what a lab of the page asks; as JSON, what changed, and whether more is to come."""
        lab, sent, told = self.labs[id], self.sent[id], json.loads(what)
        if "chosen" in told:
            lab.set_state(told["chosen"])
            for name, value in told["chosen"].items():  # what the page knows is not sent back
                sent[name] = now if (now := getattr(lab, name)) == value else None
        if "message" in told:
            lab._handle_custom_msg(told["message"], [])
        running = lab.jobs.running  # first: what is told then is all that there is
        shown = {
            name: value
            for name, value in lab.get_state().items()
            if name in SHOWN or name.startswith(("page_", "compare_"))
        }
        new = {name: value for name, value in shown.items() if sent.get(name, sent) is not value}
        sent.update(new)
        said, self.said[:] = [*self.said], []
        return json.dumps({"told": new, "running": running, "said": said})

    def open(self, labs: list[Lab]) -> Locator:
        """A new page with these labs, one below the other."""
        self.page.goto(ADDRESS)
        for lab in labs:
            self.page.evaluate(
                f"async (id) => ({HOST})((await import('/widget.js')).default.render, id)",
                self.add(lab),
            )
        return self.page.locator("body")

    def show(self, view: Small) -> Locator:
        """A new page with a small view, whose messages `deliver` brings there."""
        self.view = view
        self._news = {"messages": [], "changed": {}}

        def send(content: object, _: object = None) -> None:
            self._news["messages"].append(content)

        def state(key: str | list[str]) -> None:
            keys = [key] if isinstance(key, str) else key
            self._news["changed"].update({name: getattr(view, name) for name in keys})

        view.send, view.send_state = send, state
        own = [name for name in view.keys if name[0] != "_" and name not in DOM]
        self.page.goto(ADDRESS)
        self.page.add_style_tag(content=view._css)
        self.page.evaluate(VIEW, {name: getattr(view, name) for name in own})
        return self.page.locator(f".wb-{view.kind}")

    def deliver(self) -> None:
        """Bring to the page what its view has sent."""
        self.page.evaluate("(news) => window.hear(news)", self._taken())

    def _ask(self, what: str) -> str:
        assert self.view is not None
        self.view._handle_custom_msg(json.loads(what), [])
        return json.dumps(self._taken())

    def _taken(self) -> dict[str, Any]:
        news, self._news = self._news, {"messages": [], "changed": {}}
        return news

    def run_cells(self, notebook: str, count: int) -> Locator:
        """The labs that the first `count` code cells of a lesson open."""
        return self.open(labs_of(ROOT / "lessons" / notebook, count))

    def dark(self, on: bool) -> None:
        """Switch the theme."""
        self.page.emulate_media(color_scheme="dark" if on else "light")

    def first_lab(self, notebook: str = "01_vector_add.ipynb", cells: int = 3) -> Locator:
        """The first of them, once it is drawn."""
        lab = self.run_cells(notebook, cells).locator(".wb-lab").first
        lab.scroll_into_view_if_needed()
        expect(lab.locator(".wb-listing").first).to_be_visible()
        expect(lab.locator(".wb-strips svg").first).to_be_attached()
        return lab


def labs_of(lesson: Path, count: int) -> list[Lab]:
    """The labs that the first `count` code cells of a lesson open, run in this process."""
    opened: list[Lab] = []
    cells = [c for c in nbformat.read(lesson, as_version=4).cells if c.cell_type == "code"]
    scope: dict[str, object] = {"__name__": "lesson"}
    with pytest.MonkeyPatch.context() as change, without_tables():
        change.setattr(sys.modules["workbench.lesson.begin"], "_begun", WeakValueDictionary())
        change.setattr(wb, "lab", _noting(wb.lab, opened))
        for cell in cells[:count]:
            if not cell.id.startswith(("run-", "keep")):  # of which no lab shows anything
                run_cell(cell.source, f"<{lesson.name} {cell.id}>", scope)
    return opened


def _noting(make: Callable[..., Lab], opened: list[Lab]) -> Callable[..., Lab]:
    def lab(*args: Any, **options: Any) -> Lab:
        opened.append(make(*args, **options))
        return opened[-1]

    return lab


@contextmanager
def plain_page(browser: Browser) -> Iterator[Plain]:
    """A page of 1400 px for labs; to begin another costs as much as a test does in it."""
    opened: list[Plain] = []
    context = browser.new_context(viewport=SIZE, reduced_motion="reduce")
    context.set_default_timeout(10_000)

    def serve(route: Route) -> None:
        if route.request.url == ADDRESS:
            themes = '<meta name="color-scheme" content="light dark">'
            head = f"<!doctype html><title>labs</title>{themes}<style>{static.style()}</style>"
            route.fulfill(body=head + PANEL, content_type="text/html; charset=utf-8")
        elif route.request.url == f"{ADDRESS}widget.js":
            route.fulfill(body=static.script(), content_type=SCRIPT)
        elif route.request.url == f"{ADDRESS}view.js" and opened[0].view is not None:
            route.fulfill(body=opened[0].view._esm, content_type=SCRIPT)
        else:
            route.abort()

    context.route("**/*", serve)
    opened.append(Plain(context.new_page()))
    yield opened[0]
    context.close()
