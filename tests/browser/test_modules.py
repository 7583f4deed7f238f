"""The lab's modules as files, each loaded by itself: they draw what Python says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route

from tests.widgets.test_static import MODULES
from workbench.widgets import static

pytestmark = pytest.mark.browser

FOLDER = Path(static.__file__).parent
ALONE = sorted(set(MODULES) - {"offline.js"})  # which is a page's and starts at once


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """An empty page beside which the modules lie."""

    def serve(route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        if name:
            route.fulfill(path=FOLDER / name, content_type="text/javascript")
        else:
            route.fulfill(body="<!doctype html><title>modules</title>", content_type="text/html")

    opened = browser.new_page()
    opened.route("http://modules.test/*", serve)
    opened.goto("http://modules.test/")
    yield opened
    opened.close()


def call(page: Page, module: str, code: str, arg: Any = None) -> Any:
    """What `code`, a function of the module's exports and `arg`, returns."""
    return page.evaluate(
        f"async (arg) => ({code})(await import('http://modules.test/{module}'), arg)", arg
    )


@pytest.mark.parametrize("module", ALONE)
def test_a_browser_loads_each_by_itself(page: Page, module: str):
    assert call(page, module, "(exports) => Object.keys(exports)")


def test_a_line_keeps_its_text_and_marks_what_changed(page: Page):
    tokens = [["", "    "], ["keyword", "for"], ["", " "], ["", "i_0", "L1"], ["", " in x:"]]
    html = call(
        page,
        "code.js",
        "({ codeLine }, [tokens, names, changed]) => codeLine(tokens, names, changed).outerHTML",
        [tokens, {"L1": {"label": "loop i_0"}}, [[8, 11]]],
    )
    assert html == (
        '<code class="wb-text" data-indent="4"><span class="wb-indent">    </span>'
        '<span class="wb-keyword">for</span> <span class="wb-changed wb-mark" data-k="L1" '
        'role="button" tabindex="-1" aria-label="loop i_0">i_0</span> in x:</code>'
    )


def test_what_is_gone_is_a_line_and_cannot_be_chosen(page: Page):
    lines = [[["", "for i", "L0"]], [["", "for i_0", "L1"]]]
    rows = call(
        page,
        "code.js",
        """({ diffRows }, [rows, lines, names]) => diffRows(rows, lines, names).map((row) =>
          [row.className, row.textContent, row.querySelectorAll(".wb-mark").length])""",
        [
            [["~", 1, 1, 0, 1, [[4, 5]], [[4, 7]]], [" ", 2, 2, 0, 0, [], []]],
            lines,
            {"L0": {"label": "loop i"}, "L1": {"label": "loop i_0"}},
        ],
    )
    assert rows == [
        ["wb-line wb-was", "−removed line: for i", 0],
        ["wb-line wb-edit", "1~changed line: for i_0", 2],
        ["wb-line wb-same", "2 for i", 1],
    ]


def test_changed_lines_stay_with_those_around_and_what_they_stand_in(page: Page):
    lines = [(0, 0), (4, 0), (4, 0), (8, 0), (8, 0), (8, 0), (8, 1), (8, 0), (8, 0), (8, 0), (4, 0)]
    stay = call(
        page,
        "fold.js",
        """({ staying }, lines) =>
          staying(lines.map(([indent, changed]) => ({ indent, changed: Boolean(changed) })))""",
        lines,
    )
    assert [k for k, stays in enumerate(stay) if stays] == [0, 2, 4, 5, 6, 7, 8]


def test_a_signature_is_brief_without_its_types(page: Page):
    def brief(tokens: list[list[str]]) -> Any:
        code = "({ briefTokens }, tokens) => briefTokens(tokens)?.map((token) => token[1]).join('')"
        return call(page, "fold.js", code, tokens)

    types = [["", ": T.Buffer((8,), "], ["string", '"float32"']]
    named = [["", "A", "B0"], *types, ["", "), "], ["", "B", "B1"], *types, ["", ")):"]]
    assert brief([["keyword", "def"], ["", " add("], *named]) == "def add(A, B):"
    assert brief([["", "  "], ["keyword", "def"], ["", " add("], *named]) == "  def add(A, B):"
    assert brief([["keyword", "def"], ["", " add("], ["", "n: int):"]]) is None
    assert brief([["", "C["], ["", "vi", "L0"], ["", "]"]]) is None


def test_words_between_backticks_are_code_and_units_stay_by_their_numbers(page: Page):
    made = call(
        page,
        "dom.js",
        """({ h, prose }, text) => h("p", {}, prose(text)).innerHTML""",
        "`C[5]` takes 12 µs & more",
    )
    assert made == '<code class="wb-word">C[5]</code> takes 12&nbsp;µs &amp; more'


def test_arrows_go_to_the_nearest_in_the_next_row(page: Page):
    """Two rows of two: from the right of the first, down leads to the right of the second."""
    found = call(
        page,
        "dom.js",
        """({ neighbour }, places) => {
          const all = places.map(([left, top]) => ({ getBoundingClientRect: () =>
            ({ left, top, bottom: top + 20, height: 20 }) }));
          return ["ArrowDown", "ArrowUp", "ArrowLeft", "End", "x"].map((key) =>
            all.indexOf(neighbour(all, all[1], key)));
        }""",
        [[0, 0], [100, 0], [0, 30], [104, 30]],
    )
    assert found == [3, -1, 0, 3, -1]


MODEL = """({ Lab }, [state, act]) => {
  const asked = [];
  const lab = new Lab({
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    save_changes: () => {},
    send: (message) => asked.push(message),
  });
  return [eval(act)(lab), state, asked];
}"""


def with_model(page: Page, act: str, **state: Any) -> list[Any]:
    """What `act` returns for a lab of these traits; the traits then, and what was asked for."""
    tree = [{"id": 0, "parent": None}, {"id": 1, "parent": 0}, {"id": 2, "parent": 0}]
    given = {"setup": {"panes": {}}, "tree": tree, "at": 0, "against": -1, "view": {}, **state}
    return call(page, "model.js", MODEL, [given, act])


def test_redo_goes_where_one_came_from_and_else_to_the_first(page: Page):
    first, *_ = with_model(page, "(lab) => lab.redoTo(0)")
    assert first == 1
    left, *_ = with_model(page, "(lab) => { lab.goto(0); return lab.redoTo(0); }", at=2)
    assert left == 2


def test_the_picture_is_the_one_that_python_names(page: Page):
    made = {"shown": {"who": "who:C"}, "buffers": [{"name": "A", "picture": "who:A"}]}
    shown, *_ = with_model(page, "(lab) => lab.pictureName('who')", page_0=made,
                           view={"buffer": "A"})  # fmt: skip
    assert shown == "who:C", "the page follows when Python has made the other"


def test_in_a_saved_page_it_is_the_one_of_the_stop(page: Page):
    stops = [{"value": 3, "picture": "tiles:i=3"}, {"value": -1, "picture": "tiles:"}]
    made = {"shown": {"tiles": "tiles:i=0"}, "buffers": [], "axes": [{"key": "i", "stops": stops}]}
    for select, name in (({}, "tiles:i=0"), ({"i": 3}, "tiles:i=3"), ({"k": 1}, "tiles:i=0")):
        shown, *_ = with_model(page, "(lab) => lab.pictureName('tiles')", page_0=made,
                               setup={"offline": True}, view={"select": select})  # fmt: skip
        assert shown == name


def test_without_python_a_node_is_shown_if_its_page_is_here(page: Page):
    act = "(lab) => [lab.shows(0), lab.shows(1), lab.shows(9), lab.compares(1)]"
    assert with_model(page, act, page_0={})[0] == [True, True, False, True]
    saved = {"page_0": {}, "setup": {"offline": True}}
    assert with_model(page, act, **saved)[0] == [True, False, False, False]


def test_the_call_shown_is_that_of_what_is_typed(page: Page):
    call_ = {"verb": "split", "place": "L1", "args": {"factors": "[2, 4]"}, "text": "sch.split()"}
    act = """(lab) => ["[2, 4]", "[2, 5]"].map((factors) =>
      lab.writes({ verb: "split", place: "L1", args: { factors } }))"""
    assert with_model(page, act, call=call_)[0] == [True, False]
