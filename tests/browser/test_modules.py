"""The lab's modules as files, each loaded by itself: they draw what Python says."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.history.test_link import inside, packed, schedule
from tests.insight.test_issued import wide_kernel
from tests.support.random_tracks import random_track
from tests.widgets.test_static import MODULES
from workbench.history.link import MOST_BYTES, MOST_STEPS, link
from workbench.insight.block_time import block_time
from workbench.widgets import static

FOLDER = Path(static.__file__).parent
# The others are pages' own, or a worker's, and start at once.
ALONE = sorted(set(MODULES) - {"offline.js", "playing.js", "python.js"})


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


# Of a page and a Python that answers late, in turn: what each holds after each of the `turns`.
PLAYS = """({ playedModel }, turns) => {
  const [asks, held, there] = [[], [], { at: 0, view: 0, setup: {} }];
  const model = playedModel((what) => asks.push(what));
  const answer = ({ chosen, message }) => {
    if (message) there.at = message.goes;
    for (const name of Object.keys(chosen ?? {})) {
      if (chosen[name] < 8) there[name] = chosen[name]; // it refuses the rest
    }
    const told = chosen ? Object.fromEntries(Object.keys(chosen).map((n) => [n, there[n]])) : there;
    return JSON.parse(JSON.stringify({ told, link: "", chose: chosen && Object.keys(chosen) }));
  };
  model.hear({ told: { ...there } });
  for (const [kind, value] of turns) {
    if (kind === "answers") asks.splice(0, value).map(answer).forEach((news) => model.hear(news));
    else if (kind === "goes") model.send({ goes: value });
    else {
      model.set(kind, value);
      model.save_changes();
    }
    held.push([model.get("at"), model.get("view"), there.at, there.view, asks.length]);
  }
  return held;
}"""


@pytest.mark.parametrize("seed", range(20))
def test_a_page_holds_what_was_chosen_until_it_is_answered(page: Page, seed: int):
    rng = random.Random(seed)
    turns: list[tuple[str, int]] = []
    for _ in range(40):
        kind = rng.choice(["at", "view", "goes", "answers"])
        turns.append((kind, rng.randrange(1, 4) if kind == "answers" else rng.randrange(10)))
    turns.append(("answers", len(turns)))
    held = call(page, "played.js", PLAYS, turns)
    waits: list[tuple[str, int]] = []
    for (kind, value), (at, view, *there, left) in zip(turns, held, strict=True):
        if kind != "answers":
            waits.append((kind, value))
        waits = waits[len(waits) - left :]
        chosen = dict(waits)
        assert chosen.get("at", at) == at and chosen.get("view", view) == view
        if not waits:
            assert [at, view] == there
    assert not waits


def test_a_page_goes_on_after_an_answer_that_failed(page: Page):
    fails = """({ playedModel }) => {
      const model = playedModel(() => {});
      model.hear({ told: { at: 3, setup: {} } });
      model.set("at", 2);
      model.save_changes();
      model.fail("MemoryError");
      model.hear({ told: { at: 4 } });
      return [model.get("at"), model.get("status").kind];
    }"""
    assert call(page, "played.js", fails) == [4, "failed"]


TRIES = """({ tryOut }, { changes, expects }) => {
  const [asked, sent] = [[], []];
  const lab = { at: 1, page: {}, view: {}, place: "L1", answers: {} };
  Object.assign(lab, { ask: (message) => asked.push(message), send: (one) => sent.push(one) });
  const trying = tryOut(lab, () => {});
  const step = { place: "L1", value: 4 };
  const hear = (seq, tried) => trying.heard({ view: asked[0].view, seq, tried });
  if (expects) trying.expect(step);
  else trying.ask(step);
  if (changes === "before") lab.view = {};
  hear(asked[0].seq, { told: "four", text: {} });
  if (changes === "weighing") lab.view = {};
  if (lab.tried) hear(lab.tried.seq, { costs: {} });
  const shown = lab.tried?.told ?? null;
  if (expects) trying.take();
  else trying.drop();
  trying.ask(step);
  return [shown, asked.length, lab.tried?.told ?? null, Boolean(lab.tried?.costs), sent.length];
}"""


@pytest.mark.parametrize(
    ("changes", "expects", "told"),
    [
        ("", False, ["four", 1, "four", True, 0]),  # it is kept, with its costs
        ("before", False, [None, 3, None, False, 0]),  # what came was of other panes: asked again
        ("weighing", False, ["four", 2, None, False, 0]),
        ("", True, [None, 1, "four", False, 0]),  # nobody is there yet: nothing is taken
    ],
)
def test_what_was_tried_is_kept_while_the_same_is_shown(
    page: Page, changes: str, expects: bool, told: list[object]
):
    assert call(page, "trying.js", TRIES, {"changes": changes, "expects": expects}) == told


def test_a_line_keeps_its_text_and_marks_what_changed(page: Page):
    tokens = [["", "    "], ["keyword", "for"], ["", " "], ["", "i_0", "L1"], ["", " in x:"]]
    html = call(
        page,
        "code.js",
        "({ codeLine }, [tokens, names, changed]) => codeLine(tokens, names, changed).outerHTML",
        [tokens, {"L1": {"label": "loop i_0"}}, [[8, 11]]],
    )
    assert html == (
        '<code class="wb-text" data-indent="4" data-head="L1"><span class="wb-indent">    </span>'
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


@pytest.mark.parametrize(
    ("room", "left"),
    [
        (3, list(range(2, 12))),  # one line of ten would be left out
        (7, list(range(6, 12))),  # four lines more than the fold leaves
        (10, []),  # fewer than four are not worth a fold
        (12, []),
    ],
)
def test_what_room_there_is_goes_to_the_lines_behind_what_stays(
    page: Page, room: int, left: list[int]
):
    stay = [True, True] + [False] * 10
    code = "({ filled }, [stay, room]) => filled(stay, room)"
    made = call(page, "fold.js", code, [stay, room])
    assert [k for k, stays in enumerate(made) if not stays and left] == left


def test_a_nest_is_folded_whole_under_its_name_and_opened_where_there_is_room(page: Page):
    """A line that changed or is kept is in no fold, whatever its nest does."""
    code = """({ foldUnchanged }, [changed, kept, room]) => {
      const row = (_, k) => {
        const div = document.createElement("div");
        div.className = `wb-line wb-${changed.includes(k) ? "edit" : "same"}`;
        div.innerHTML = `<span class="wb-number">${k + 1}</span>
          <code class="wb-text" data-indent="${k && 4}">line ${k + 1}</code>`;
        return div;
      };
      const rows = Array.from({ length: 15 }, row);
      const nests = [[3, 7, "fetch A 8 x 8"], [8, 12, "compute C"]];
      const keeps = (one) => kept.includes(rows.indexOf(one));
      const said = (one) => one.querySelector("button")?.textContent;
      const number = (one) => Number(one.querySelector(".wb-number").textContent);
      return foldUnchanged(rows, room, nests, keeps).map((one) => said(one) ?? number(one));
    }"""

    def folded(changed: list[int], kept: list[int], room: int) -> Any:
        return call(page, "fold.js", code, [changed, kept, room])

    assert folded([1], [], 7) == [1, 2, "⋯ fetch A 8 x 8", "⋯ compute C", 13, 14, 15]
    assert folded([1], [], 4) == [1, 2, "⋯ fetch A 8 x 8, and 1 more"]
    assert folded([1], [], 11) == [1, 2, 3, 4, 5, 6, 7, "⋯ compute C", 13, 14, 15]
    assert folded([1], [4], 12) == [1, 2, 3, 4, 5, 6, 7, "⋯ compute C", 13, 14, 15]
    assert folded([1], [4], 7) == [1, 2, 3, 4, 5, "⋯ compute C, and more"]
    assert folded([1, 9], [], 7) == [1, 2, "⋯ fetch A 8 x 8", *range(8, 16)]
    assert folded([1], [], 15) == [*range(1, 16)]


def test_a_line_is_broken_at_calls_and_operators_and_in_no_index(page: Page):
    def pieces(text: str) -> list[str]:
        breaks = call(page, "code.js", "({ breaksOf }, text) => breaksOf(text)", text)
        return [text[a:b] for a, b in zip([0, *breaks], [*breaks, len(text)], strict=True)]

    assert pieces("    T.reads(A[v0, v1], B[v1 + 1])") == ["    T.reads(A[v0, v1], ", "B[v1 + 1])"]
    assert pieces("C[i, j] = C[i, j] + A[i]") == ["C[i, j] ", "= C[i, j] ", "+ A[i]"]
    assert pieces('T.f((a + b) // 2, "x, y")') == ["T.f((a + b) // 2, ", '"x, y")']
    assert pieces("for i, j in T.grid(8, 4):") == ["for i, j ", "in T.grid(8, ", "4):"]
    assert pieces("f(0 < i and i < 9)") == ["f(0 < i ", "and i < 9)"]
    assert pieces("for (int i = 0; i < 8; ++i) {") == ["for (int i = 0; ", "i < 8; ", "++i) {"]


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


def test_in_a_saved_page_it_is_the_one_drawn_there_or_one_that_slides_there(page: Page):
    axes = [["i", 2, 6], ["k", 0, 4]]
    slides = {"at": {"i": 3, "k": 1}, "axes": axes, "strips": [{}, None]}
    pictures = {
        "tiles:i=0": {"at": {"i": 0, "k": -1}},
        "tiles:i=3": {"at": {"i": 3, "k": -1}},
        "tiles:i=3,k=1": {"at": {"i": 3, "k": 1}, "slides": slides, "levels": ["whole", "thread"]},
    }
    axes = [{"key": "i", "start": 0}, {"key": "k", "start": -1}]
    made = {"shown": {"tiles": "tiles:i=0"}, "buffers": [], "axes": axes, "pictures": pictures}
    for select, level, name in (
        ({}, "", "tiles:i=0"),
        ({"i": 3}, "", "tiles:i=3"),
        ({"i": 2}, "", "tiles:i=0"),
        ({"i": 5, "k": 2}, "", "tiles:i=3,k=1"),
        ({"i": 6, "k": 2}, "", "tiles:i=0"),
        ({"i": 5, "k": 2}, "thread", "tiles:i=0"),
        ({"i": 3, "k": 1}, "thread", "tiles:i=3,k=1"),
    ):
        shown, *_ = with_model(page, "(lab) => lab.pictureName('tiles')", page_0=made,
                               setup={"offline": True},
                               view={"select": select, "level": level})  # fmt: skip
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


PLAY = """async ({ playButton }, [turns, wait, press]) => {
  let at = 0, saved = 0;
  const { button } = playButton({
    label: "step", turns, next: () => (at += 1) < 5, done: () => { saved += 1; },
  });
  document.body.replaceChildren(button);
  const begun = button.ariaLabel;
  for (let k = 0; k < press; k++) button.click();
  const going = button.ariaLabel;
  await new Promise((done) => setTimeout(done, wait));
  return [begun, going, button.ariaLabel, at, saved];
}"""


def test_a_loop_is_played_to_its_end_and_saved_once(page: Page):
    made = call(page, "play.js", PLAY, [1000, 900, 1])
    assert made == ["play: step", "pause: step", "play: step", 5, 1]


def test_a_press_pauses(page: Page):
    made = call(page, "play.js", PLAY, [1000, 300, 2])
    assert made == ["play: step", "play: step", "play: step", 1, 1]


def test_who_wants_less_motion_takes_one_turn_a_press(page: Page):
    page.emulate_media(reduced_motion="reduce")
    made = call(page, "play.js", PLAY, [1000, 300, 3])
    page.emulate_media(reduced_motion="no-preference")
    assert made == ["next turn: step"] * 3 + [3, 3]


def test_out_of_view_it_stops(page: Page):
    code = """async ({ playButton }) => {
      let at = 0;
      const { button } = playButton({
        label: "k", turns: 1000, next: () => (at += 1) < 99, done: () => {},
      });
      document.body.replaceChildren(button);
      button.click();
      await new Promise((done) => setTimeout(done, 300));
      button.style.cssText = "position: absolute; top: 9000px";
      await new Promise((done) => setTimeout(done, 300));
      return [at > 1, button.ariaLabel];
    }"""
    assert call(page, "play.js", code) == [True, "play: k"]


FLOW = """async ({ playButton }) => {
  const passed = []; // ms
  const end = () => passed.reduce((sum, one) => sum + one, 0);
  await new Promise((done) => {
    const { button } = playButton({
      label: "time", next: (one) => passed.push(one) && end() < 100, done,
    });
    document.body.replaceChildren(button);
    button.click();
  });
  return [passed[0], Math.max(...passed) <= 80, end() >= 100, document.body.textContent];
}"""


def test_time_flows_frame_by_frame_and_never_leaps(page: Page):
    assert call(page, "play.js", FLOW) == [0, True, True, "▶"]


def test_pointing_lights_up_a_statement_and_its_loops(page: Page):
    names = {
        "K1": {"kind": "block", "name": "C"},
        "L2": {"kind": "loop", "name": "i_0"},
        "L3": {"kind": "loop", "name": "k"},
    }
    code = """({ lightWords }, [names, of]) => {
      document.body.innerHTML = ["K1", "L2", "L2 L9", "L3"].map((key) =>
        `<span class="wb-mark" data-k="${key}">${key}</span>`).join("");
      lightWords(document.body, names, of);
      return [...document.querySelectorAll(".wb-pointed")].map((el) => el.textContent);
    }"""
    of = {"statement": "A, C", "loops": ["i_0"]}
    assert call(page, "point.js", code, [names, of]) == ["K1", "L2", "L2 L9"]
    assert call(page, "point.js", code, [names, {}]) == []


def test_a_cell_lights_up_its_row_column_block_and_thread(page: Page):
    code = """({ lightKin }, cells) => {
      document.body.innerHTML = cells.map(([at, block, thread]) =>
        `<b data-cell="C[${at}]" data-cells="${at}" data-block="${block}"
            data-thread="${thread}"></b>`).join("");
      const all = [...document.querySelectorAll("b")];
      lightKin(document.body, all[0]);
      const found = all.map((cell) => cell.dataset.with ?? "");
      lightKin(document.body, null);
      return [...found, all.some((cell) => cell.dataset.with)];
    }"""
    cells = [["0, 0", "0,0,0", "0,0,0"], ["0, 1", "0,0,0", "1,0,0"], ["1, 0", "1,0,0", "0,0,0"],
             ["1, 1", "1,0,0", "1,0,0"]]  # fmt: skip
    found = call(page, "point.js", code, cells)
    assert found == ["block thread row column", "block row", "column", "", False]


@pytest.mark.parametrize(
    ("top", "left", "at"),
    [
        (100, 40, {"left": 40, "top": 184, "room": 608}),  # below the block
        (460, 40, {"left": 40, "top": 544, "room": 248}),
        (500, 40, {"left": 40, "bottom": 304, "room": 488}),  # below the block are 228
        (600, 40, {"left": 40, "bottom": 204, "room": 588}),
        (100, 900, {"left": 600, "top": 184, "room": 608}),  # to the edge of the lab
        (100, -30, {"left": 20, "top": 184, "room": 608}),
    ],
)
def test_a_popup_stands_where_there_is_room_and_leaves_the_line(
    page: Page, top: int, left: int, at: dict[str, int]
):
    found = call(
        page,
        "popup.js",
        "({ popupPlace }, args) => popupPlace(...args)",
        [
            {"top": top, "bottom": top + 20, "left": left, "block": block(top, top + 80)},
            {"width": 300, "height": 240},
            EDGES,
        ],
    )
    assert found == at


EDGES = {"left": 20, "right": 900, "height": 800}


def block(top: int, bottom: int) -> dict[str, int]:
    return {"top": top, "bottom": bottom}


@pytest.mark.parametrize(
    ("top", "tall", "at"),
    [
        (100, 240, {"left": 40, "top": 124, "room": 668}),  # it covers the block, not the line
        (460, 400, {"left": 40, "bottom": 344, "room": 448}),  # below the line are 308
        (380, 700, {"left": 40, "top": 404, "room": 388}),
    ],
)
def test_a_popup_beside_a_long_block_leaves_at_least_the_line(
    page: Page, top: int, tall: int, at: dict[str, int]
):
    line = {"top": top, "bottom": top + 20, "left": 40, "block": block(50, 780)}
    size = {"width": 300, "height": tall}
    found = call(
        page, "popup.js", "({ popupPlace }, args) => popupPlace(...args)", [line, size, EDGES]
    )
    assert found == at


@pytest.mark.parametrize(
    ("top", "tall", "at"),
    [
        (400, 320, {"left": 40, "top": 424, "room": 368}),  # not above, where it is whole, too
        (400, 700, {"left": 40, "top": 424, "room": 368}),
        (500, 320, {"left": 40, "bottom": 304, "room": 488}),  # too little is left below
    ],
)
def test_a_popup_that_grows_stays_where_it_is_read(
    page: Page, top: int, tall: int, at: dict[str, int]
):
    line = {"top": top, "bottom": top + 20, "left": 40, "block": block(top, 780)}
    size = {"width": 300, "height": tall}
    place = "({ popupPlace }, args) => popupPlace(...args)"
    assert call(page, "popup.js", place, [line, size, EDGES, True]) == at


POPUP = """({ popup }, code) => {
  document.body.innerHTML = `<style>%s .wb-lab { position: static }</style>
    <div class="wb-lab wb-theme">
    <button id="far" style="position: absolute; top: 300px; left: 500px">far</button>
    <div class="wb-line" style="position: absolute; top: 100px; width: 600px"><br>
      <button id="here">here</button></div>
    <div id="box"><button id="inside">inside</button></div></div>`;
  const at = (id) => document.getElementById(id);
  window.said = [];
  document.body.onkeydown = (event) => said.push(event.key);
  window.box = popup(at("box"), () => said.push("closed"));
  at("here").onclick = () => box.open(() => at("here"));
  at("far").onclick = () => box.open(() => at("far"));
}"""


@pytest.fixture
def popup_page(page: Page) -> Page:
    """Two buttons beside which a box opens, one of them in a line of two rows."""
    call(page, "popup.js", POPUP % static.style())
    return page


def test_a_popup_leaves_the_line_in_sight_and_is_closed_by_a_second_press(popup_page: Page):
    page, box = popup_page, popup_page.locator("#box")
    expect(box).to_be_hidden()
    page.locator("#here").click()
    expect(box).to_be_visible()
    line, shown = page.locator(".wb-line").bounding_box(), box.bounding_box()
    assert line and shown and shown["y"] >= line["y"] + line["height"]
    page.locator("#here").click()
    expect(box).to_be_hidden()
    page.locator("#here").click()
    page.locator("#far").click()
    expect(box).to_be_visible()
    moved = box.bounding_box()
    assert moved and moved["y"] > 300 and moved["x"] == 500
    page.mouse.click(5, 5)
    expect(box).to_be_hidden()


def test_escape_closes_a_popup_and_goes_no_further(popup_page: Page):
    page, box = popup_page, popup_page.locator("#box")
    page.locator("#here").focus()
    page.keyboard.press("Enter")
    page.locator("#inside").focus()
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    expect(page.locator("#here")).to_be_focused()
    assert page.evaluate("said") == ["Enter", "closed"]
    page.keyboard.press("Escape")
    assert page.evaluate("said") == ["Enter", "closed", "Escape"], "with none open it passes"
    page.locator("#here").click()  # not the press that closed it
    expect(box).to_be_visible()


def test_a_button_closes_a_popup_and_the_focus_goes_back(popup_page: Page):
    page, box = popup_page, popup_page.locator("#box")
    page.locator("#here").click()
    box.get_by_role("button", name="close").click()
    expect(box).to_be_hidden()
    expect(page.locator("#here")).to_be_focused()


def test_a_popup_that_is_taken_away_takes_no_more_keys(popup_page: Page):
    page = popup_page
    page.locator("#here").click()
    page.evaluate("document.querySelector('.wb-lab').remove()")
    page.keyboard.press("Escape")
    assert page.evaluate("said") == ["Escape"]


def test_a_popup_goes_with_its_line(popup_page: Page):
    page, box = popup_page, popup_page.locator("#box")
    page.locator("#here").click()
    page.evaluate("document.querySelector('.wb-line').style.top = '250px'; box.place()")
    shown = box.bounding_box()
    assert shown and shown["y"] > 250
    page.evaluate("document.querySelector('.wb-line').remove(); box.place()")
    expect(box).to_be_hidden()


def test_what_no_form_asked_for_is_refused_beside_the_line_of_status(page: Page):
    call(
        page,
        "status.js",
        """({ statusBar }, style) => {
          window.lab = { status: { text: "Step 1." }, setup: {}, offline: false };
          lab.node = () => ({ said: "Step 1." });
          const { bar, draw } = statusBar(lab, () => null);
          document.body.innerHTML = `<style>${style}</style><div class="wb-lab wb-theme"></div>`;
          document.querySelector(".wb-lab").append(bar);
          window.tell = (status) => { lab.status = status; draw(); };
          draw();
        }""",
        static.style(),
    )
    bar, error = page.locator(".wb-status"), page.locator(".wb-error")
    expect(error).to_be_hidden()
    before = bar.bounding_box()
    why = {"headline": "Can't run: a run is under way.", "hint": "stop it first"}
    page.evaluate("error => tell({ kind: 'refused', text: '', error })", why)
    expect(error).to_contain_text("stop it first")
    expect(page.locator(".wb-said")).to_have_text("Step 1.")  # where one stands, as before
    assert bar.bounding_box() == before
    page.evaluate("tell({ kind: 'ready', text: 'Step 2.' })")
    expect(error).to_be_hidden()


BUSY = "Python is busy with this, or with another cell. It goes on here when that is done."
STILL = "Python has not answered: it is busy, or no longer there. The history still steps."


def test_a_busy_python_is_told_at_once_and_no_click_flickers(page: Page):
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    call(
        page,
        "status.js",
        """({ statusBar }) => {
          window.lab = { status: { text: "Step 1." }, setup: {}, offline: false };
          const { bar, draw } = statusBar(lab, () => null);
          window.redraw = draw;
          document.body.replaceChildren(bar);
          draw();
        }""",
    )
    said = page.locator(".wb-said")
    page.evaluate("lab.waiting()")
    page.clock.run_for(590)
    page.evaluate("redraw()")  # what changes meanwhile is no answer
    expect(said).to_have_text("Step 1.")
    page.evaluate("lab.answered()")
    page.clock.run_for(5000)
    expect(said).to_have_text("Step 1.")

    page.evaluate("lab.waiting()")
    page.clock.run_for(610)
    expect(said).to_have_text(BUSY)
    page.evaluate("redraw()")
    expect(said).to_have_text(BUSY)
    page.evaluate("lab.waiting()")  # a second click does not begin anew
    page.clock.run_for(3400)
    expect(said).to_have_text(STILL)
    page.evaluate("lab.status = { text: 'Step 2.' }; lab.answered()")
    expect(said).to_have_text("Step 2.")

    page.evaluate("lab.waiting(); lab.gone = true; redraw()")  # restarted meanwhile
    page.clock.run_for(5000)
    expect(said).to_contain_text("Python is gone")


MENU = """({ verbMenu }, [style, offer]) => {
  window.asked = [];
  window.lab = {
    at: 0, place: "", offline: false, status: {}, view: {}, call: {}, offers: {}, grips: {},
    page: { names: { L1: { label: "loop i, 8 times" } } }, setup: {},
    offer: () => lab.offers[lab.place],
    choose: (key) => { lab.place = key; },
    show: (view) => { lab.view = view; },
    writes: () => false,
    ask: (message) => asked.push(message), send: (message) => asked.push(message),
  };
  const trying = { ask: () => {}, drop: () => {}, take: () => {} };
  const [take, leave] = ["take", "leave"].map(() => document.createElement("button"));
  window.menu = verbMenu(lab, trying, { take, leave });
  document.body.innerHTML = `<style>${style} .wb-lab { position: static; height: auto }</style>
    <div class="wb-lab wb-theme"><div class="wb-program"></div></div>`;
  document.querySelector(".wb-lab").append(menu.pane);
  window.program = (...keys) => document.querySelector(".wb-program").replaceChildren(
    ...keys.map((key) => Object.assign(document.createElement("button"), {
      textContent: key, className: "wb-mark", onclick: (event) =>
        menu.open(key, () => (event.target.isConnected ? event.target : menu.markOf(key))),
    })).map((mark) => (mark.dataset.k = mark.textContent, mark)));
  window.arrives = () => { lab.offers.L1 = offer; menu.draw(); };
  program("L1");
}"""

SPLIT = {
    "name": "split",
    "place": "L1",
    "offered": True,
    "verdict": "possible",
    "summary": "Cut.",
    "fields": [
        {"name": "factors", "label": "factors", "kind": "list", "options": [], "value": "[2, 4]"}
    ],
    "call": 'sch.split("i", factors=[2, 4])',
}
FUSE = {
    "name": "fuse",
    "place": "L1",
    "offered": True,
    "verdict": "refused",
    "summary": "Join.",
    "why": {"headline": "Can't fuse `i`.", "hint": "split first"},
}
BIND = {**SPLIT, "name": "bind", "offered": False, "fields": [], "call": 'sch.bind("i")'}
OFFER = {"place": {"key": "L1", "label": "loop i"}, "verbs": [SPLIT, FUSE, BIND], "more": True}


@pytest.fixture
def menu_page(page: Page) -> Page:
    """A program of one mark, the menu of a lab, and what it offers as soon as it `arrives`."""
    call(page, "menu.js", MENU, [static.style(), OFFER])
    return page


def test_a_menu_is_there_at_once_and_filled_when_python_has_answered(menu_page: Page):
    page, menu = menu_page, menu_page.locator(".wb-menu")
    page.locator(".wb-mark").click()
    expect(menu.locator("h4")).to_have_text("loop i, 8 times")
    expect(menu).to_be_focused()
    page.evaluate("arrives()")
    expect(menu.locator("h4")).to_have_text("loop i")
    expect(menu.locator(".wb-verb")).to_have_text(["split", "fuse why not?"])
    expect(menu.locator(".wb-verb").first).to_be_focused()
    menu.locator(".wb-verb").last.press("Enter")
    expect(menu.locator(".wb-headline")).to_contain_text("Can't fuse i.")


def test_a_menu_asks_for_the_call_that_it_shows_and_closes_after_the_step(menu_page: Page):
    page, menu = menu_page, menu_page.locator(".wb-menu")
    page.locator(".wb-mark").click()
    page.evaluate("arrives()")
    page.keyboard.press("Enter")
    expect(menu.get_by_label("factors")).to_be_focused()
    expect(menu.locator(".wb-call")).to_have_text('sch.split("i", factors=[2, 4])')
    page.keyboard.press("Control+Enter")
    step = {"do": "apply", "verb": "split", "place": "L1", "args": {"factors": "[2, 4]"}}
    assert page.evaluate("asked") == [step]
    page.evaluate("lab.at = 1; lab.place = 'L2'; program('L2', 'L3'); menu.draw()")
    expect(menu).to_be_hidden()
    expect(page.locator(".wb-mark").first).to_be_focused()  # what became of the loop


def test_a_refusal_stands_in_the_menu_until_another_form_is_opened(menu_page: Page):
    page, told = menu_page, menu_page.locator(".wb-refused")
    page.locator(".wb-mark").click()
    page.evaluate("arrives()")
    page.keyboard.press("Enter")
    assert page.evaluate("menu.errors()") is None
    page.keyboard.press("Enter")
    page.evaluate("lab.status = { error: {} }; menu.errors().textContent = 'no'; menu.conclude()")
    expect(told).to_have_text("no")
    page.locator(".wb-verb").last.press("Enter")
    expect(told).to_be_hidden()


def test_the_only_verb_shows_its_form_at_once(menu_page: Page):
    page = menu_page
    page.locator(".wb-mark").click()
    page.evaluate("verb => { lab.offers.L1 = verb; menu.draw(); }", {**OFFER, "verbs": [SPLIT]})
    expect(page.get_by_label("factors")).to_be_focused()


def test_without_python_a_place_is_chosen_and_no_menu_opens(menu_page: Page):
    page = menu_page
    page.evaluate("lab.offline = true")
    page.locator(".wb-mark").click()
    expect(page.locator(".wb-menu")).to_be_hidden()
    assert page.evaluate("lab.place") == "L1"


AT = """(js, tracks) => tracks.map(([track, times]) => times.map((t) => [
  js.toldAt(track, t),
  ...["ArrowRight", "ArrowLeft", "PageUp", "PageDown"].map((key) => js.timeBy(key, track, t)),
  js.runningAt(track, t).map(({ number, row, place, start, end }) =>
    [number, row, place, start, end]),
]))"""


def test_a_browser_finds_what_python_finds_at_a_thousand_times(page: Page):
    tracks = [random_track(seed) for seed in range(100, 120)]
    rng = random.Random(27)
    times = [[rng.uniform(0, track.length) for _ in range(50)] for track in tracks]
    asked = [[track.plain(), at] for track, at in zip(tracks, times, strict=True)]
    found = call(page, "track.js", AT, asked)
    for track, at, told in zip(tracks, times, found, strict=True):
        for t, seen in zip(at, told, strict=True):
            assert seen == [
                track.told(t), track.later(t), track.earlier(t), track.next_mark(t),
                track.last_mark(t), [list(span[:5]) for span in track.running(t)],
            ]  # fmt: skip


def test_steps_of_a_link_are_read_without_python_up_to_what_a_link_holds(page: Page):
    def read(url: str) -> Any:
        return call(page, "fragment.js", "({ stepsOf }, link) => stepsOf(link)", url)

    sch = schedule()
    assert read(link(sch.node, "")) == {
        "program": sch.history.text,
        "calls": ["split(i, factors=[2, 4])", 'bind(i_0, "blockIdx.x")'],
    }
    assert read(link(sch.node, "").replace(".", "%2E")) == read(link(sch.node, ""))
    many = inside(link(sch.node, ""))
    many["nodes"] = [many["nodes"][0]] * (MOST_STEPS + 1)
    bomb = packed({**many, "nodes": [], "program": " " * MOST_BYTES})
    others = [packed(many), bomb, packed(b"[" * 9000), packed({}), link(sch.node, "")[:-9], "#x"]
    assert [read(url) for url in others] == [None] * 6


ASK = """(js, kernels) => kernels.map(([requests, asked, block, threads, at]) =>
  at.map(([warp, t]) => {
    const span = js.issuedAt(requests, warp, t);
    if (!span) return null;
    const { sort, digits } = span;
    return [sort, digits, asked[sort] && js.lanesAt(asked[sort], block, threads, warp, digits)];
  }))"""


def test_a_browser_knows_what_lanes_ask_for_at_a_thousand_times(page: Page):
    rng, asked, wanted = random.Random(7), list[Any](), list[Any]()
    for seed in range(10):
        time = block_time(wide_kernel(seed))
        grid, threads, rows = time.kernel.grid, time.kernel.block, time.warps.rows
        x, y, z = (rng.randrange(int(size)) for size in grid)
        at = [(rng.randrange(rows), rng.uniform(0, time.warps.length)) for _ in range(100)]
        terms = [one.plain() for one in time.asked]
        asked.append([time.requests.plain(), terms, [x, y, z], threads, at])
        for warp, t in at:
            spans = [span for span in time.requests.running(t) if span.row == warp]
            wanted += [
                [s.sort, s.digits, None if terms[s.sort] is None
                 else [*time.asked[s.sort].lanes((x, y, z), threads, warp, s.digits)]]
                for s in spans
            ] or [None]  # fmt: skip
    assert [one for row in call(page, "lanes.js", ASK, asked) for one in row] == wanted
    assert len(wanted) == 1000 and sum(one is not None for one in wanted) > 300
