"""The bar of the modelled time in a browser: by mouse and by keyboard, light and dark."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul, naive
from tests.browser.axe import accessible
from tests.browser.plain import Plain
from tests.browser.test_lab import shoot
from tests.support.every import some
from tests.widgets.programs import WINDOW, parse, window_steps
from workbench import lesson
from workbench.lesson.programs import product
from workbench.schedule import Schedule
from workbench.widgets.ask import session
from workbench.widgets.page.modelled_time import modelled_of

# The words on the axis: each within it, and none over another.
WORDS = """axis => {
  const edges = axis.getBoundingClientRect();
  const boxes = [...axis.querySelectorAll('.wb-tick-words:not([hidden])')]
    .map((words) => words.getBoundingClientRect());
  const out = boxes.filter((box) => box.left < edges.left || box.right > edges.right);
  const over = boxes.filter((a, k) =>
    boxes.slice(k + 1).some((b) => a.left < b.right && b.left < a.right));
  return [boxes.length, out.length, over.length];
}"""


def opened(plain: Plain) -> Locator:
    """A lab whose bar has come."""
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    lab = plain.open([wb.lab(sch, actions=["bind"])]).locator(".wb-lab")
    expect(lab.locator(".wb-bar-of-time")).to_be_visible()
    return lab


@pytest.mark.parametrize("scheme", some("dark", "light"))
def test_by_keyboard_it_opens_leads_to_a_statement_and_closes(plain: Plain, scheme: str):
    plain.dark(scheme == "dark")
    lab = opened(plain)
    bar, rows, keys = lab.locator(".wb-bar-of-time"), lab.locator(".wb-opened"), plain.page.keyboard
    bar.focus()
    keys.press("Enter")
    expect(rows.locator(".wb-resource")).to_have_count(8)
    expect(rows).to_contain_text("most is the launch")
    shoot(plain.page, f"cost-bar-{scheme}")
    accessible(plain.page)
    rows.locator("summary", has_text="shared").focus()
    keys.press("Enter")
    keys.press("ArrowDown")
    statement = rows.locator(".wb-part").first
    expect(statement).to_be_focused()
    lit = lab.locator(".wb-program .wb-mark.wb-lit")
    expect(lit.first).to_be_visible()
    assert "C" in lit.all_inner_texts()
    keys.press("Escape")
    expect(rows).to_be_hidden()
    expect(bar).to_be_focused()


@pytest.mark.parametrize("scheme", some("dark", "light"))
def test_a_step_asks_for_a_guess_by_keyboard_and_the_bar_grows_past_it(plain: Plain, scheme: str):
    plain.dark(scheme == "dark")
    lab = plain.open([wb.lab(Schedule(naive(Schedule(matmul(64)), 8).func))]).locator(".wb-lab")
    bar, keys, mark = lab.locator(".wb-bar-of-time"), plain.page.keyboard, "[role=slider]"
    bar.focus()
    keys.press("Enter")
    lab.get_by_label("guess first").focus()
    keys.press("Space")
    keys.press("Escape")
    lab.locator('.wb-places [data-k="L8"]').click()
    lab.get_by_role("button", name="unroll", exact=True).click()
    lab.locator(".wb-form button").click()
    expect(lab.locator(".wb-guess")).to_contain_text("Guess first")
    expect(bar).to_have_count(0)
    expect(lab.locator(".wb-cost-list")).to_be_visible()  # nothing more is drawn anew
    axis = lab.locator(".wb-guess-axis")
    wide = axis.evaluate("axis => axis.offsetWidth")
    axis.click(position={"x": wide / 4, "y": 12})  # half of what it was before
    expect(lab.locator(mark)).to_be_focused()
    keys.press("ArrowUp")
    keys.press("ArrowUp")
    keys.press("ArrowLeft")
    expect(lab.locator(mark)).to_have_attribute("aria-valuetext", re.compile("µs; before 1.28 µs"))
    assert 1.15 < float(lab.get_by_label("your guess in µs").input_value()) < 1.4
    shoot(plain.page, f"guess-{scheme}")
    accessible(plain.page, ".wb-costs")
    lab.get_by_label("your guess in µs").fill("1")
    keys.press("Enter")
    expect(lab.locator(".wb-guess-told")).to_contain_text("Close: within a factor of 1.25")
    expect(bar).to_contain_text("your guess")
    assert "wb-grows" in (bar.get_attribute("class") or "")
    accessible(plain.page, ".wb-costs")


STRUCK = """axis => {
  const edges = (one) => one.getBoundingClientRect();
  const lines = [...axis.querySelectorAll('.wb-tick, .wb-span')].map(edges);
  const struck = ({ left, right, bottom }) =>
    lines.some((line) => line.top < bottom - 1 && line.right > left && line.left < right);
  return [...axis.querySelectorAll('.wb-tick-words:not([hidden])')]
    .filter((words) => struck(edges(words)))
    .map((words) => words.innerText);
}"""
"""The words on the axis that a line runs through, or the bar."""


@pytest.mark.parametrize("wide", [900, 1400])
def test_a_guess_and_what_was_recorded_are_told_and_no_line_runs_through_words(
    plain: Plain, wide: int
):
    """Lesson 8's fifth, mended: modelled 91, recorded 95, guessed 105."""
    sch = Schedule(product(1024, 1024, 1024))
    sch.mark("start")
    lesson.in_shared(sch, (4, 4), (16, 16), 8)
    sch.mark("fifth, mended")
    mended = sch.node
    sch.goto("start")
    lesson.in_shared(sch, (8, 8), (16, 16), 8)
    for node in (mended, sch.node):  # or it would have to be asked for, on a busy machine
        modelled_of(node.func, "nvidia/h100")
        modelled_of(node.before, "nvidia/h100")
    asked = lesson.question("blocks_time")
    plain.page.set_viewport_size({"width": wide, "height": 860})
    one = wb.lab(sch, costs=["modelled time"], question=asked, target="nvidia/h100")
    lab = plain.open([one]).locator(".wb-lab")
    lab.get_by_label("your guess in µs").fill("105")
    plain.page.keyboard.press("Enter")
    expect(lab).to_contain_text("You say: 105 µs")
    lab.get_by_role("button", name=re.compile("^all")).click()
    lab.get_by_role("button", name=re.compile("fifth, mended")).first.click()
    axis = lab.locator(".wb-bar-of-time .wb-axis")
    expect(axis.get_by_text("your guess 105 µs")).to_be_visible()
    expect(axis.get_by_text("recorded 95.1 µs")).to_be_visible()
    assert axis.evaluate(STRUCK) == []


ROWS = """pane => {
  const edges = (one) => one.getBoundingClientRect();
  const { width, top, height } = edges(pane);
  const shown = (one) => edges(one).height > 0 && edges(one).top < top + height - 1;
  const lines = [...pane.querySelectorAll('p, summary, h4, li')].filter(shown);
  const rows = [...pane.querySelectorAll('.wb-resource')];
  const cells = rows.flatMap((row) => [...row.children]);
  return {
    axes: rows.map((row) => edges(row.querySelector('.wb-resource-axis')).width / width),
    heights: rows.map((row) => edges(row).height),
    cut: lines.filter((line) => edges(line).bottom > top + height).map((line) => line.innerText),
    narrow: cells.filter((cell) => cell.scrollWidth > cell.clientWidth + 1 && cell.clientWidth)
      .map((cell) => cell.innerText),
    hidden: pane.scrollHeight - pane.clientHeight,
  };
}"""
"""Of the opened bar: shares of its width, heights, what is cut at its edge, and in its cells."""


@pytest.mark.parametrize("size", ((829, 598), (829, 430), (1400, 860), (480, 700)))
def test_bars_have_half_of_the_pane_a_row_is_a_line_and_no_line_is_cut(
    plain: Plain, size: tuple[int, int]
):
    plain.page.set_viewport_size({"width": size[0], "height": size[1]})
    sch = Schedule(product(1024, 1024, 1024))
    lesson.in_shared(sch, (4, 4), (16, 16), 16)
    modelled_of(sch.func, "nvidia/h200")
    lab = plain.open([wb.lab(Schedule(sch.func))]).locator(".wb-lab")
    lab.locator(".wb-bar-of-time").click()
    rows = lab.locator(".wb-opened")
    expect(rows.locator(".wb-resource")).to_have_count(8)
    expect(rows.locator(".wb-faults > li").first).to_be_attached()
    found = rows.evaluate(ROWS)
    shoot(plain.page, f"cost-rows-{size[0]}-{size[1]}")
    assert min(found["axes"]) >= 0.5 and max(found["heights"]) <= 24
    assert found["cut"] == [] and found["narrow"] == []
    if size == (829, 430):
        assert found["hidden"] > 0, "or nothing could have been cut"
    row = rows.locator("summary", has_text="shared")
    said = row.locator(".wb-resource-much")
    expect(said).to_have_text(re.compile("^[0-9.]+ M wavefronts$"))
    expect(said).to_be_visible(visible=size[0] > 800)
    whole = row.get_attribute("title") or ""
    assert "wavefronts of shared memory, 1 a clock on" in whole
    expect(rows.get_by_text(whole)).to_be_hidden()
    row.click()
    expect(rows.get_by_text(whole)).to_be_visible()


BESIDE = """axis => [...axis.querySelectorAll('.wb-tick-words:not([hidden])')].map((words) => {
  const [at, { left, right }] = [words.parentElement, words].map((one) =>
    one.getBoundingClientRect());
  return Math.min(Math.abs(left - at.left), Math.abs(right - at.left));
})"""
"""How far the words on the axis are from their line."""


def test_a_fault_opens_the_form_of_the_verb_that_would_help(plain: Plain):
    sch = Schedule(matmul(64))
    naive(sch, 8)
    lab = plain.open([wb.lab(sch, actions=["bind"])]).locator(".wb-lab")
    menu = lab.locator(".wb-menu")
    lab.locator(".wb-bar-of-time").click()
    fault = lab.locator(".wb-fault-verb", has_text="cache_read").first
    expect(fault).to_be_visible()
    accessible(plain.page, ".wb-opened")
    fault.click()
    expect(lab.locator(".wb-opened")).to_be_hidden()
    form = menu.get_by_role("button", name="apply cache_read")
    expect(form).to_be_visible()  # although this lab offers another verb
    plain.page.keyboard.press("Escape")
    lab.locator(".wb-bar-of-time").click()
    # what is bound has no form that would help: it says what to undo first
    said = lab.locator(".wb-faults code", has_text="undo the bind of j_0, then split j_0")
    expect(said).to_be_visible()
    expect(lab.locator(".wb-fault-verb", has_text="split")).to_have_count(0)


@pytest.mark.parametrize("wide", (400, 829, 1400))
def test_words_on_the_axis_have_room_or_are_left_out(plain: Plain, wide: int):
    plain.page.set_viewport_size({"width": wide, "height": 700})
    axis = opened(plain).locator(".wb-axis")
    number, out, over = axis.evaluate(WORDS)
    assert number >= 1 and not out and not over
    assert axis.evaluate(STRUCK) == []
    beside = axis.evaluate(BESIDE)
    assert len(beside) == number and max(beside) <= 5, "words stand beside their line"


def test_a_guess_whose_time_waits_until_it_is_asked_for_says_what_to_press(plain: Plain):
    sch = Schedule(product(1024, 1024, 1024))
    sch.mark("start")
    lesson.in_shared(sch, (4, 4), (16, 16), 8)
    sch.mark("fifth, mended")
    sch.goto("start")
    lesson.in_shared(sch, (8, 8), (16, 16), 8)
    modelled_of(sch.func, "nvidia/h100")
    asked = lesson.question("blocks_time")
    one = wb.lab(sch, costs=["modelled time"], question=asked, target="nvidia/h100")
    lab = plain.open([one]).locator(".wb-lab")
    lab.get_by_label("your guess in µs").fill("105")
    plain.page.keyboard.press("Enter")
    question = lab.locator(".wb-question")
    expect(question).to_contain_text("You say: 105 µs")
    expect(question).not_to_contain_text("Then press")
    one.session.desk.slow.add("time")
    lab.get_by_role("button", name=re.compile("^all")).click()
    lab.get_by_role("button", name=re.compile("fifth, mended")).first.click()
    expect(question).to_contain_text("Then press model.")
    lab.get_by_role("button", name="model", exact=True).click()
    expect(question).not_to_contain_text("Then press")
    lab.get_by_role("button", name="undo").click()
    number = next(node.id for node in sch.history if "fifth, mended" in node.marks)
    came = f"Answered: step {number} in the history shows what came of it."
    expect(question).to_contain_text(f"You say: 105 µs. {came}")


def test_panes_stay_where_they_are_when_a_lesson_s_guess_is_made(plain: Plain):
    """Else what is said below a picture comes under the mouse, and opens over the picture."""
    sch = Schedule(product(1024, 1024, 1024))
    sch.mark("start")
    lesson.in_shared(sch, (4, 4), (16, 16), 16)
    sch.goto("start")
    lesson.in_shared(sch, (8, 8), (8, 8), 8)
    modelled_of(sch.func, "nvidia/h100")
    asked = lesson.question("searched_time")
    one = wb.lab(sch, costs=["modelled time"], question=asked, target="nvidia/h100")
    lab = plain.open([one]).locator(".wb-lab")
    lab.get_by_label("your guess in µs").fill("200")
    saying, costs = lab.locator(".wb-saying").first, lab.locator(".wb-costs")
    before = saying.bounding_box(), costs.bounding_box()
    lab.get_by_role("button", name="guess", exact=True).click()
    expect(lab).to_contain_text("You say: 200 µs")
    expect(lab.locator(".wb-guess")).to_contain_text("Your guess is kept.")
    assert (saying.bounding_box(), costs.bounding_box()) == before


HEIGHTS = """pane => {
  window.heights = [];
  new ResizeObserver(() => window.heights.push(pane.offsetHeight)).observe(pane);
}"""


def test_pictures_keep_their_height_while_a_time_is_awaited(
    plain: Plain, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(session, "SLOW", 60.0)  # it is worked out however slow the machine is
    sch = blocking_with_shared(Schedule(matmul(64)), 2, 2, 4, 4, 4)
    lab = plain.open([wb.lab(sch)]).locator(".wb-lab")
    bar = lab.locator(".wb-bar-of-time")
    expect(bar).to_be_visible()
    lab.locator(".wb-machine").evaluate(HEIGHTS)
    before = bar.get_attribute("aria-label")
    lab.get_by_role("button", name="undo").click()
    expect(bar).to_have_count(0)
    expect(bar).not_to_have_attribute("aria-label", before or "")
    plain.page.evaluate("() => new Promise(requestAnimationFrame)")
    first, *others = plain.page.evaluate("() => window.heights")
    assert set(others) <= {first, others[-1]}, "it goes to what it will be, if anywhere"
