"""The lab in a real JupyterLab: by mouse and by keyboard, narrow and wide, light and dark."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.browser.axe import accessible
from tests.browser.jupyter import PANEL, RESTART, Server, run_cells
from tests.browser.plain import Plain
from tests.support.cpu_programs import add_on_cores
from tests.support.every import some
from tests.widgets.programs import ADD, bind_both, parse
from workbench import runtime
from workbench.schedule import Schedule

WIDTHS = (360, 950, 1400)


def shoot(target: Page | Locator, name: str) -> None:
    """A screenshot for people, where WORKBENCH_SHOTS names a folder."""
    folder = os.environ.get("WORKBENCH_SHOTS")
    if folder:
        target.screenshot(path=str(Path(folder) / f"{name}.png"))


# Until nothing of the lab has changed for a while: a click on what is drawn anew meets nothing.
QUIET = """lab => new Promise((done) => {
  let wait;
  const later = () => { clearTimeout(wait); wait = setTimeout(end, 150); };
  const changes = new MutationObserver(later);
  const end = () => { changes.disconnect(); done(); };
  changes.observe(lab, { subtree: true, childList: true, attributes: true, characterData: true });
  later();
})"""


def first_lab(page: Page, notebook: str = "01_vector_add.ipynb", cells: int = 3) -> Locator:
    panel = run_cells(page, notebook, cells)
    lab = panel.locator(".wb-lab").first
    lab.scroll_into_view_if_needed()
    expect(lab.locator(".wb-listing").first).to_be_visible()
    expect(lab.locator(".wb-strips svg").first).to_be_attached()
    lab.evaluate(QUIET)
    return lab


def step(lab: Locator, verb: str, place: str, **fields: str) -> None:
    """Open the menu of the place, in it the verb's form, fill it, apply, by mouse."""
    count = lab.locator(".wb-step").count()
    menu_at(lab, place)
    form_of(lab, verb)
    for name, value in fields.items():
        control = lab.get_by_label(name, exact=True)
        if control.evaluate("el => el.tagName") == "SELECT":
            control.select_option(label=value)
        else:
            control.fill(value)
    apply = lab.locator("button[type=submit]")
    assert level_with(apply, lab.locator(".wb-field :is(input, select)").first), verb
    apply.click()
    expect(lab.locator(".wb-step")).to_have_count(count + 1)
    expect(lab.locator(".wb-menu")).to_be_hidden()


def level_with(button: Locator, control: Locator) -> bool:
    """Whether the button stands in the middle of the control beside it, or in a row of its own."""
    one, other = button.bounding_box(), control.bounding_box()
    assert one and other
    apart = one["y"] + one["height"] / 2 - other["y"] - other["height"] / 2
    return abs(apart) < 2 or one["y"] > other["y"] + other["height"]


def form_of(lab: Locator, verb: str) -> None:
    """Show the form of the verb in the menu that is open, or why there is none."""
    button = lab.locator(".wb-verb").get_by_text(verb, exact=True)
    expect(button).to_be_visible()
    if button.get_attribute("aria-expanded") != "true":
        button.click()


def menu_at(lab: Locator, place: str) -> None:
    """Open the menu of a place, from the bar."""
    lab.locator(".wb-place", has_text=place).click()
    expect(lab.locator(".wb-menu h4")).to_have_text(place)


def inside(around: Locator, of: Locator) -> bool:
    """Whether the box of `of` lies in that of `around`, within a pixel."""
    outer, inner = around.bounding_box(), of.bounding_box()
    assert outer and inner
    return all(
        outer[edge] - 1 <= inner[edge]
        and inner[edge] + inner[size] <= outer[edge] + outer[size] + 1
        for edge, size in (("x", "width"), ("y", "height"))
    )


BOUND = (
    ("split", "loop i", {"factors": "[2, 4]"}),
    ("bind", "loop i_0", {"thread_axis": "blockIdx.x"}),
    ("bind", "loop i_1", {"thread_axis": "threadIdx.x"}),
)


def bind_by_mouse(lab: Locator) -> None:
    for verb, place, fields in BOUND:
        step(lab, verb, place, **fields)


def answer(lab: Locator) -> None:
    """Any answer: until there is one, what would tell is hidden."""
    lab.locator(".wb-answer input").first.check()
    lab.locator(".wb-given").wait_for()  # `expect` would describe all of the page while it waits


def all_steps(lab: Locator) -> None:
    """Open the tree of all programs, which closes once one is chosen."""
    lab.locator(".wb-all").click()
    expect(lab.locator(".wb-steps")).to_be_visible()


def cell(lab: Locator, name: str) -> Locator:
    return lab.locator(f'g[data-cell="{name}"]')


def test_lesson_1_by_mouse(lab_page: Page):
    lab = first_lab(lab_page)
    expect(cell(lab, "C[5]")).to_contain_text("time step 5")
    assert lab.locator(".wb-picture").count() == 1

    lab.get_by_label("block 0, thread 5").click()
    bind_by_mouse(lab)
    expect(cell(lab, "C[5]")).to_contain_text("block 1")
    expect(cell(lab, "C[5]")).to_contain_text("thread 1")
    expect(lab.locator(".wb-told")).to_contain_text("C[1 * 4 + 1]")
    expect(lab.locator(".wb-told")).to_contain_text("the program says “block 1, thread 1”")

    lab.get_by_role("button", name="▶ run").click()
    expect(lab.locator(".wb-result")).to_have_text("✓ right result: details ▴")
    expect(lab.locator(".wb-said")).to_contain_text("the start gives the same. Recorded on")
    expect(lab.locator(".wb-verdict")).to_contain_text("every value is right: the start")
    expect(lab.locator(".wb-error")).to_be_hidden()
    shoot(lab, "lesson-1-done")

    lab.locator(".wb-link").first.click()  # the first answer is kept where one could choose again
    expect(lab.get_by_label("block 1, thread 1")).to_be_disabled()
    expect(lab.get_by_label("block 0, thread 5")).to_be_checked()


def test_lesson_1_by_keyboard(plain: Plain):
    lab = plain.first_lab()
    keys = plain.page.keyboard
    lab.locator(".wb-answer input").first.focus()
    keys.press("ArrowDown")  # radio buttons move and choose with arrows
    expect(lab.locator(".wb-given")).to_contain_text("block 1, thread 1")

    chip = lab.locator(".wb-place", has_text="loop i")
    chip.focus()
    keys.press("Enter")
    expect(lab.locator(".wb-verb", has_text="split")).to_be_focused()
    keys.press("Enter")
    expect(lab.get_by_label("factors")).to_be_focused()
    keys.press("ControlOrMeta+a")
    keys.type("[2, 4]")
    keys.press("Enter")
    expect(lab.locator(".wb-step")).to_have_count(2)
    expect(lab.locator(".wb-menu")).to_be_hidden()

    for count, (place, axis) in enumerate(
        (("loop i_0", "blockIdx.x"), ("loop i_1", "threadIdx.x")), start=2
    ):
        chip = lab.locator(".wb-place", has_text=place)
        expect(chip).to_be_focused()  # where the lab goes on
        keys.press("Enter")
        expect(lab.locator(".wb-verb", has_text="split")).to_be_focused()
        keys.press("ArrowRight")
        keys.press("Enter")
        choice = lab.locator(".wb-form select")
        expect(choice).to_be_focused()
        keys.type(axis)
        expect(choice.locator("option:checked")).to_have_text(axis)
        keys.press("Shift+Enter")
        expect(lab.locator(".wb-step")).to_have_count(count + 1)
    expect(lab.locator(".wb-place:focus")).to_have_count(1)
    expect(cell(lab, "C[5]")).to_contain_text("thread 1")


def test_arrows_move_inside_a_pane_and_never_leave_the_cell(lab_page: Page):
    lab = first_lab(lab_page)
    answer(lab)
    bind_by_mouse(lab)
    active = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"
    before = lab_page.evaluate(active)
    cells = lab_page.locator(f"{PANEL} .jp-Cell").count()

    lab.locator(".wb-link[aria-current]").focus()
    lab_page.keyboard.press("ArrowLeft")
    lab_page.keyboard.press("Enter")
    expect(lab.locator(".wb-link[aria-current]")).to_contain_text("blockIdx.x")
    expect(cell(lab, "C[5]")).to_contain_text("time step 1")
    lab_page.keyboard.press("ArrowLeft")
    lab_page.keyboard.press("ArrowLeft")
    lab_page.keyboard.press("Enter")
    expect(cell(lab, "C[5]")).to_contain_text("time step 5")
    for key in ("d", "d", "ArrowDown", "ArrowDown"):
        lab_page.keyboard.press(key)
    assert lab_page.evaluate(active) == before
    assert lab_page.locator(f"{PANEL} .jp-Cell").count() == cells


def test_keys_and_clicks_in_the_lab_select_no_cells(lab_page: Page):
    lab = first_lab(lab_page)
    selected = """() => { const notebook = window.jupyterapp.shell.currentWidget.content;
      return notebook.widgets.filter(cell => notebook.isSelectedOrActive(cell)).length; }"""
    menu_at(lab, "loop i")
    form_of(lab, "bind")
    for part in (".wb-menu select", ".wb-menu .wb-verb", ".wb-link", ".wb-run .wb-go"):
        lab.locator(part).first.focus()
        lab_page.keyboard.press("ControlOrMeta+a")
        assert lab_page.evaluate(selected) == 1
    assert lab_page.evaluate("getSelection().toString()") == "", "nor all the text of the page"
    cells = lab_page.locator(f"{PANEL} .jp-Cell").count()
    lab_page.keyboard.press("Control+Backspace")
    assert lab_page.locator(f"{PANEL} .jp-Cell").count() == cells
    lab_page.locator(f"{PANEL} .jp-Cell").first.click()  # another cell is the active one
    lab.locator(".wb-link").first.click(modifiers=["Shift"])
    assert lab_page.evaluate(selected) == 1


def test_each_row_of_the_history_is_compared_by_its_button(plain: Plain):
    lab = plain.first_lab()
    bind_by_mouse(lab)
    all_steps(lab)
    lab.locator(".wb-step").nth(1).click(modifiers=["Shift"])  # a click like any other
    expect(lab.locator(".wb-compare")).to_be_hidden()
    expect(lab.locator(".wb-steps")).to_be_hidden()
    lab.locator(".wb-link").nth(3).click()
    all_steps(lab)
    shoot(plain.page, "history-tree")
    button = lab.get_by_role("button", name="compare with 1", exact=True)
    button.click()
    expect(lab.locator(".wb-compare h3")).to_have_text("Compared with 1 split(i, factors=[2, 4])")
    shoot(lab, "history-compare")
    all_steps(lab)
    lab.locator(".wb-versus[aria-pressed=true]").click()
    expect(lab.locator(".wb-compare")).to_be_hidden()
    lab.get_by_role("button", name="compare with the step before").click()
    expect(lab.locator(".wb-compare")).to_be_visible()
    lab.get_by_role("button", name="undo").click()  # to the program that was compared with
    expect(lab.locator(".wb-compare")).to_be_hidden()


def test_each_pane_is_one_tab_stop(plain: Plain):
    lab = plain.first_lab()
    bind_by_mouse(lab)
    stops = lab.evaluate(
        """root => Object.fromEntries([...root.querySelectorAll('.wb-pane')]
          .filter(pane => pane.getClientRects().length)
          .map(pane => [pane.ariaLabel, [...pane.querySelectorAll('*')]
            .filter(el => el.tabIndex === 0 && !el.disabled && el.getClientRects().length
              && !el.closest('form')).length]))"""
    )
    assert stops == {"History": 1, "Program": 1, "Machine": 1, "Next step": 1, "Run": 1}


def test_hovering_marks_a_loop_everywhere_and_asks_python_nothing(plain: Plain):
    lab = plain.first_lab()
    bind_by_mouse(lab)
    plain.page.evaluate("() => { window.asked = false; }")
    key = lab.locator(".wb-place", has_text="loop i_1").get_attribute("data-k")
    lab.locator(f'.wb-program .wb-mark[data-k="{key}"]').first.hover()
    lit = lab.locator(f'.wb-lit[data-k~="{key}"]')
    assert lit.count() >= 3
    assert plain.page.evaluate("window.asked") is False
    lab.get_by_label("more view").first.click()
    lab.get_by_role("tab", name="CUDA").click()
    mark = lab.locator(".wb-program .wb-mark", has_text="threadIdx.x").first
    mark.hover()
    expect(lab.locator(".wb-place", has_text="loop i_1")).to_have_class(re.compile("wb-lit"))


SCALES = """pane => [...pane.querySelectorAll(".wb-beside .wb-strips > svg")]
  .filter(svg => svg.clientWidth)
  .map(svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"""


# How wide and tall is what is drawn of the picture that is shown.
INK = """(pane) => {
  const drawn = [...pane.querySelectorAll(".wb-drawn svg")].map((o) => o.getBoundingClientRect());
  return [Math.max(...drawn.map((box) => box.right)) - Math.min(...drawn.map((box) => box.left)),
    Math.max(...drawn.map((box) => box.bottom)) - Math.min(...drawn.map((box) => box.top))];
}"""
CUT = "(lab) => lab.querySelectorAll('.wb-compare .wb-line[data-more]').length"
BOTH_INSIDE = """(around) => {
  const pane = around.getBoundingClientRect();
  const shown = [...around.querySelectorAll('.wb-beside svg')]
    .map((svg) => svg.getBoundingClientRect())
    .filter((box) => box.width > 0);
  return shown.length === 2 && shown.every((box) =>
    box.left >= pane.left - 1 && box.right <= pane.right + 1
    && box.top >= pane.top - 1 && box.bottom <= pane.bottom + 1);
}"""


def test_a_comparison_has_the_programs_left_and_both_pictures_right(plain: Plain):
    plain.page.set_viewport_size({"width": 1280, "height": 720})
    lab = plain.run_cells("04_shared_blocking.ipynb", 6).locator(".wb-lab").last
    answer(lab)  # until then the pictures are covered
    lab.scroll_into_view_if_needed()
    before = lab.locator(".wb-machine").bounding_box()
    lab.get_by_role("button", name="compare with the step before").click()
    expect(lab.get_by_text("same in both")).to_be_visible()  # of tiles
    expect(lab.locator(".wb-compare .wb-drawn")).to_have_count(1)
    for size in ((829, 598), (1280, 720)):
        plain.page.set_viewport_size({"width": size[0], "height": size[1]})
        lab.evaluate(QUIET)
        on_the_right = lab.locator(".wb-compare .wb-versus-side").last
        drawn, tabs, pane = (
            part.evaluate("(it) => it.getBoundingClientRect()")
            for part in (
                on_the_right.locator(".wb-drawn"),
                lab.locator(".wb-machine"),
                on_the_right,
            )
        )
        assert abs(tabs["bottom"] - pane["top"]) <= 1 and tabs["left"] == pane["left"]
        assert drawn["width"] * drawn["height"] >= 0.6 * pane["width"] * pane["height"]
        ink = on_the_right.evaluate(INK)
        assert max(ink[0] / drawn["width"], ink[1] / drawn["height"]) > 0.9
        assert lab.evaluate(CUT) == 0, "lines are broken, and none is cut"
    lab.get_by_role("button", name=re.compile("^all")).click()
    lab.get_by_role("button", name="compare with 0", exact=True).click()
    pane = lab.locator(".wb-compare")
    left, right = pane.locator(".wb-versus-side").all()
    expect(left.locator(".wb-listing")).to_be_in_viewport()
    expect(right.locator(".wb-beside svg").filter(visible=True)).to_have_count(2)
    # what comes later may draw them once more
    plain.page.wait_for_function(BOTH_INSIDE, arg=pane.element_handle())
    one, other = pane.evaluate(SCALES)
    assert abs(one - other) < 0.01
    expect(lab.locator(".wb-program .wb-tabs")).to_be_hidden()  # the programs stay TensorIR
    expect(lab.get_by_role("tab", name="memory")).to_be_visible()
    plain.page.set_viewport_size({"width": 829, "height": 598})
    expect(pane.locator(".wb-table tbody tr").first).to_be_in_viewport(ratio=1)
    drawn = right.locator(".wb-beside svg").filter(visible=True)
    tops = drawn.evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
    assert abs(tops[0] - tops[1]) < 1
    plain.page.set_viewport_size({"width": 1280, "height": 720})
    lab.get_by_role("button", name="stop comparing").first.click()
    expect(pane).to_be_hidden()
    after = lab.locator(".wb-machine").bounding_box()
    assert before and after
    assert (after["x"], after["width"]) == (before["x"], before["width"])


# The lines whose last letter is not seen, and those that say so.
ENDS = """pane => {
  const edge = pane.getBoundingClientRect().right + 1;
  const words = document.createRange();
  const right = (line) => {
    words.selectNodeContents(line.querySelector('.wb-text'));
    return words.getBoundingClientRect().right;
  };
  const lines = [...pane.querySelectorAll('.wb-line')];
  return [lines.map(line => right(line) > edge), lines.map(line => line.matches('[data-more]'))];
}"""


def test_a_line_and_a_pane_that_go_on_say_so(plain: Plain):
    plain.page.set_viewport_size({"width": 850, "height": 700})  # so that no fold has that line
    sch = Schedule(matmul(64))
    blocking_with_shared(sch, 4, 4, 4, 4, 4)
    sch.goto(16)  # in whose indices are brackets, in which no line is broken
    lab = plain.open([wb.lab(sch)]).locator(".wb-lab")
    body = lab.locator(".wb-program .wb-body")
    expect(body).to_have_attribute("data-more", "right below")
    ends, told = body.evaluate(ENDS)
    assert ends == told
    assert 0 < sum(told) < len(told)
    body.evaluate("body => body.scrollTo(9999, 9999)")
    expect(body).to_have_attribute("data-more", "left")
    expect(body.locator(".wb-line[data-more]")).to_have_count(0)


def test_branches_compare_and_more(plain: Plain):
    lab = plain.first_lab()
    answer(lab)
    bind_by_mouse(lab)
    lab.locator(".wb-link").first.click()
    step(lab, "split", "loop i", factors="[4, 2]")
    expect(lab.locator(".wb-link")).to_have_count(2)  # one branch, which starts where two do
    expect(lab.locator(".wb-link").first).to_contain_text("+1")
    all_steps(lab)
    expect(lab.locator(".wb-steps li").nth(4)).to_contain_text("[4, 2]) from 0")
    lab.locator(".wb-step", has_text="threadIdx.x").click()
    lab.get_by_role("button", name="compare with the step before").click()
    expect(lab.locator(".wb-compare table").first).to_contain_text("threads")
    accessible(plain.page, ".wb-compare")
    shoot(lab, "lesson-1-compare")
    lab.get_by_role("button", name="stop comparing").click()  # the one that ends it
    expect(lab.locator(".wb-compare")).to_be_hidden()
    lab.locator(".wb-machine summary").click()  # the table twin
    expect(lab.locator(".wb-machine td", has_text="block 1, thread 1").first).to_be_visible()


def test_a_comparison_and_the_step_shown_come_into_view(plain: Plain):
    lab = plain.run_cells("04_shared_blocking.ipynb", 6).locator(".wb-lab").first
    lab.scroll_into_view_if_needed()
    for here, around in ((".wb-link", ".wb-chain"), (".wb-step", ".wb-tree")):
        if here == ".wb-step":
            all_steps(lab)
        expect(lab.locator(f"{here}[aria-current]")).to_be_in_viewport(ratio=1)
        assert inside(lab.locator(around), lab.locator(f"{here}[aria-current]"))
    plain.page.keyboard.press("Escape")
    lab.get_by_role("button", name="compare with the step before").click()
    expect(lab.locator(".wb-compare h3")).to_be_in_viewport()


# Runs the second cell with another source, and does not wait until it is done.
BEGIN = """(source) => {
  const { content } = window.jupyterapp.shell.currentWidget;
  const k = content.widgets.findIndex((widget) => widget.model.id === "same-steps");
  const { sharedModel } = content.widgets[k].model;
  const before = sharedModel.getSource();
  sharedModel.setSource(source);
  content.activeCellIndex = k;
  window.began = window.jupyterapp.commands.execute("notebook:run-cell");
  sharedModel.setSource(before);
}"""
# A cell that runs as long as something is so; for a test that fails, half a minute.
WAIT = """import os, time
end = time.monotonic() + 30
while {} and time.monotonic() < end: time.sleep(0.01)
assert time.monotonic() < end"""
TELL = """from ipywidgets.widgets import widget
for view in list(widget._instances.values()): view.send_state()
"""
KERNEL = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
BUSY = re.compile("^Python (is busy|has not answered)")


def test_while_a_cell_runs_a_lab_says_that_python_is_busy_and_then_goes_on(
    lab_page: Page, server: Server
):
    lab = first_lab(lab_page)
    go = server.root / "go"
    # a kernel with subshells would answer while a cell runs: this one keeps the lab's turn, too
    wait = WAIT.format(f"not os.path.exists({str(go)!r})")
    lab_page.evaluate(BEGIN, f"lab.jobs.turn.acquire()\n{wait}\nlab.jobs.turn.release()")
    try:
        lab.locator(".wb-run .wb-go").click()
        expect(lab.locator(".wb-said")).to_have_text(BUSY)
        shoot(lab, "busy")
    finally:
        go.touch()  # the cell ends
    expect(lab.locator(".wb-said")).to_contain_text("Can't build this")  # it was done, late
    lab_page.evaluate("window.began")
    go.unlink()


def test_a_kernel_that_can_answers_clicks_while_a_cell_runs(lab_page: Page):
    """In a thread of its own, so that the cell, which waits for the click, comes to an end.

    Also where the cell has told the lab something before.
    """
    lab = first_lab(lab_page)
    if not lab_page.evaluate(f"{KERNEL}.supportsSubshells"):
        pytest.skip("this ipykernel has no subshells")
    # until JupyterLab has been told of the thread, it sends what is asked behind the cell
    threads = f"[...{KERNEL}._comms.values()].map((comm) => comm.subshellStarted)"
    lab_page.evaluate(f"() => Promise.all({threads}).then(() => null)")
    lab_page.evaluate(BEGIN, TELL + WAIT.format("len(sch.history) < 2"))
    step(lab, "split", "loop i", factors="[2, 4]")
    lab_page.evaluate("window.began")
    expect(lab.locator(".wb-said")).to_contain_text("Step 1")


def test_a_restarted_kernel_is_told(lab_page: Page):
    lab = first_lab(lab_page)
    answer(lab)
    bind_by_mouse(lab)
    expect(cell(lab, "C[5]")).to_contain_text("thread 1")
    lab_page.evaluate(RESTART)
    expect(lab.locator(".wb-said")).to_contain_text("run the notebook's cells")
    expect(lab.locator(".wb-run .wb-go")).to_be_hidden()
    lab.get_by_role("button", name="undo").click()
    expect(cell(lab, "C[5]")).to_contain_text("time step 1")
    shoot(lab, "kernel-gone")
    again = run_cells(lab_page, "01_vector_add.ipynb", 3).locator(".wb-lab").first
    expect(again.locator(".wb-run .wb-go")).to_be_visible()


NO_CLIPBOARD = """() => {
  navigator.clipboard.writeText = () => Promise.reject(new Error("not here"));
  document.execCommand = () => false;
}"""


def test_the_code_of_the_path_is_copied(plain: Plain):
    lab = plain.first_lab()
    bind_by_mouse(lab)
    lab.locator(".wb-program .wb-more").click()
    lab.get_by_role("tab", name="Code").click()
    plain.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    lab.get_by_role("button", name="copy", exact=True).click()
    expect(lab.locator(".wb-copy")).to_have_text("copied")
    text = plain.page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("import workbench as wb") and text.rstrip().endswith('"threadIdx.x")')


def test_a_link_to_the_step_is_copied_by_keyboard_or_shown_to_be_copied(plain: Plain):
    plain.page.set_viewport_size({"width": 829, "height": 720})
    lab = plain.first_lab()
    bind_by_mouse(lab)
    plain.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = lab.get_by_role("button", name="link")
    button.focus()
    plain.page.keyboard.press("Enter")
    box, area = lab.locator(".wb-share [popover]"), lab.get_by_label("the link", exact=True)
    expect(box.get_by_role("status")).to_contain_text("The link is copied. It holds the program")
    url = plain.labs[0].link()
    assert plain.page.evaluate("navigator.clipboard.readText()") == url
    expect(area).to_be_focused()
    shoot(plain.page, "link-copied")
    accessible(plain.page, ".wb-share")
    plain.page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    expect(button).to_be_focused()
    plain.dark(True)
    plain.page.set_viewport_size({"width": 1400, "height": 1000})
    plain.page.evaluate(NO_CLIPBOARD)
    button.click()
    expect(box.get_by_role("status")).to_contain_text("Copy the link (Ctrl+C).")
    assert area.evaluate("el => el.value.slice(el.selectionStart, el.selectionEnd)") == url
    assert inside(plain.page.locator("body"), box)
    shoot(plain.page, "link-shown")
    accessible(plain.page, ".wb-share")


def test_a_refusal_is_shown_where_one_looks(plain: Plain):
    lab = plain.first_lab()
    menu_at(lab, "loop i")
    form_of(lab, "split")
    lab.get_by_label("factors").fill("[2, 3]")
    lab.locator("button[type=submit]").click()
    expect(lab.locator(".wb-menu .wb-error")).to_contain_text("6 of 8")
    expect(lab.locator(".wb-call")).to_have_text('sch.split("i", factors=[2, 3])')
    expect(lab.locator(".wb-step")).to_have_count(1)


def test_a_form_shows_the_call_that_it_makes(plain: Plain):
    lab = plain.first_lab()
    call = lab.locator(".wb-call")
    menu_at(lab, "loop i")
    lab.locator(".wb-menu .wb-more").click()
    form_of(lab, "annotate")
    expect(call).to_have_text('sch.annotate("i", ann_key=…, ann_val=…)')
    for value, text in (("4", "4"), ("[1, 2]", "[1, 2]"), ("True", "True"), ("it's", '"it\'s"')):
        lab.get_by_label("ann_key").fill("note")
        lab.get_by_label("ann_val").fill(value)
        expect(call).to_have_text(f'sch.annotate("i", ann_key="note", ann_val={text})')
    lab.get_by_label("ann_key").fill("'note'")
    expect(call).to_have_text('sch.annotate("i", ann_key=\'note\', ann_val="it\'s")')
    form_of(lab, "split")
    factors = lab.get_by_label("factors")
    factors.fill("2, " * 200)
    lab.locator("button[type=submit]").click()
    expect(lab.locator(".wb-menu")).to_contain_text("it has 600 characters")
    expect(factors).to_have_value("2, " * 200)  # nothing that is typed is lost
    factors.fill("[2, 4]")
    lab.locator("button[type=submit]").click()
    menu_at(lab, "loop i_0")
    form_of(lab, "fuse")
    expect(call).to_have_text('sch.fuse("i_0", "i_1")')  # the only choice there is


def test_labs_of_one_page_do_not_share_their_answers(plain: Plain):
    plain.first_lab("01_vector_add.ipynb", 6)
    first, second = (plain.page.locator(".wb-lab").nth(k) for k in (0, 1))
    first.locator(".wb-answer", has_text="time step 5").click()
    expect(first.locator(".wb-question")).to_contain_text("You say: time step 5.")
    expect(second.locator(".wb-question")).to_contain_text("Choose an answer.")
    second.locator(".wb-answer", has_text="block 2, thread 1").click()
    expect(second.locator(".wb-question")).to_contain_text("You say: block 2, thread 1.")
    expect(first.locator(".wb-question")).to_contain_text("You say: time step 5.")


def test_lesson_2_shows_tiles_that_follow_the_slider(plain: Plain):
    lab = plain.first_lab("02_window_sum.ipynb", 9)
    lab = plain.page.locator(".wb-lab").nth(2)
    lab.scroll_into_view_if_needed()
    answer(lab)
    lab.get_by_role("tab", name="tiles").click()
    lab.locator(".wb-loops").select_option("blockIdx.x")
    slider = lab.get_by_label("block (blockIdx.x)")
    expect(slider).to_be_visible()
    before = lab.locator(".wb-machine .wb-strips").inner_html()
    slider.focus()
    plain.page.keyboard.press("ArrowRight")
    expect(lab.locator(".wb-slide output").first).to_have_text("1")
    expect(slider).to_have_attribute("aria-valuetext", "1 of 0…7")
    expect(lab.locator(".wb-machine .wb-strips")).not_to_have_js_property("innerHTML", before)
    expect(slider).to_be_focused()
    lab.get_by_role("tab", name="memory").click()
    expect(lab.locator(".wb-machine")).to_contain_text("shared memory")
    lab.locator(".wb-place").first.click()
    lab.locator(".wb-menu .wb-more").click()
    lab.locator(".wb-verb.wb-cannot").first.press("Enter")
    expect(lab.locator(".wb-menu .wb-headline")).to_contain_text("Can't")
    accessible(plain.page)
    shoot(lab, "lesson-2-memory")


@pytest.mark.parametrize("scheme", some("dark", "light"))
def test_width_theme_and_accessibility(plain: Plain, scheme: str):
    """Opened where it is narrowest; at each width one step is taken."""
    plain.page.set_viewport_size({"width": WIDTHS[0], "height": 1000})
    plain.dark(scheme == "dark")
    lab = plain.first_lab()
    lab.get_by_label("block 0, thread 5").click()
    for width, (verb, place, fields) in zip(WIDTHS, BOUND, strict=True):
        plain.page.set_viewport_size({"width": width, "height": 1000})
        step(lab, verb, place, **fields)
        inner = lab.evaluate("el => el.clientWidth")
        columns = "1" if inner < 760 else "2"
        expect(lab).to_have_attribute("data-columns", columns)
        assert lab.evaluate("el => el.scrollWidth <= el.clientWidth"), "no sideways scrolling"
        assert plain.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        shoot(lab, f"lesson-1-{width}-{scheme}")
        accessible(plain.page)


def test_a_saved_page_steps_without_python(browser: Browser, tmp_path: Path):
    lab = wb.lab(Schedule(parse(ADD)), height=700)
    bind_both(lab)
    file = tmp_path / "lab.html"
    lab.to_html(file)
    context = browser.new_context(viewport={"width": 1250, "height": 900}, offline=True)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(file.as_uri())
    root = page.locator(".wb-lab")
    assert root.evaluate("el => el.offsetHeight") == 700, "no notebook says how much is seen of it"
    expect(cell(root, "C[5]")).to_contain_text("thread 1")
    page.get_by_role("button", name="undo").click()
    expect(cell(root, "C[5]")).to_contain_text("time step 1")
    page.get_by_role("button", name="redo").click()
    page.get_by_role("tab", name="CUDA").click()
    expect(root.locator(".wb-listing")).to_contain_text("threadIdx.x")
    page.get_by_role("tab", name="memory").click()
    expect(root.locator(".wb-machine")).to_contain_text("global memory")
    expect(root.locator(".wb-run .wb-go")).to_be_hidden()
    expect(root.locator(".wb-share")).to_be_hidden()
    expect(root.locator(".wb-said")).to_contain_text('bind(i_1, "threadIdx.x")')
    every_pane_of_every_step(root)
    stop_by_stop(root)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        shoot(page, f"saved-page-{scheme}")
        accessible(page, "html")
    assert not faults
    context.close()


def every_pane_of_every_step(root: Locator) -> None:
    """Alone, and beside the step before, from the last to the first."""
    for step in reversed(root.locator(".wb-link").all()):
        step.click()
        for tab in root.get_by_role("tab").all():
            tab.click()
            expect(tab).to_have_attribute("aria-selected", "true")
            expect(root.locator(".wb-program .wb-body")).not_to_be_empty()
            expect(root.locator(".wb-machine .wb-body")).not_to_contain_text("was not made")
        compare = root.get_by_role("button", name="compare with the step before")
        if compare.is_disabled():
            continue  # the first
        compare.click()
        expect(root.locator(".wb-compare")).to_contain_text("Compared with")
        expect(root.locator(".wb-compare")).not_to_contain_text("was not made")
        expect(root.get_by_role("tab")).to_have_count(0)  # of the one picture that was saved
        root.get_by_role("button", name="stop comparing").first.click()
    root.locator(".wb-link").last.click()


def stop_by_stop(root: Locator) -> None:
    """The sliders of a saved page go where there is a picture, one at a time."""
    root.get_by_role("tab", name="tiles").click()
    loops, slider = root.locator(".wb-loops"), root.locator(".wb-slide input")
    options = loops.locator("option")
    loops.select_option("threadIdx.x")
    slider.press("End")
    expect(options).to_have_text(["blockIdx.x = 0", "threadIdx.x = 3"])
    expect(root.locator(".wb-machine .wb-caption")).to_contain_text("threadIdx.x = 3")
    loops.select_option("blockIdx.x")
    slider.press("End")
    expect(options).to_have_text(["blockIdx.x = 1", "threadIdx.x = 3"])
    expect(root.locator(".wb-machine .wb-caption")).to_contain_text("threadIdx.x = 3")
    loops.select_option("threadIdx.x")
    slider.press("Home")
    expect(root.locator(".wb-machine .wb-caption")).to_contain_text("With blockIdx.x = 1:")
    loops.select_option("blockIdx.x")
    slider.press("Home")
    expect(root.locator(".wb-machine .wb-caption")).to_contain_text("The whole program")


def test_a_saved_page_reads_without_its_script(browser: Browser, tmp_path: Path):
    lab = wb.lab(Schedule(parse(ADD)))
    bind_both(lab)
    lab.to_html(tmp_path / "lab.html")
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((tmp_path / "lab.html").as_uri())
    expect(page.locator("summary").first).to_have_text("0 start")
    expect(page.locator("pre").last).to_contain_text('thread="threadIdx.x"')
    expect(page.locator("svg").first).to_be_visible()
    shoot(page, "saved-page-without-script")
    context.close()


@pytest.mark.usefixtures("cc")
def test_what_a_program_runs_on_is_chosen_beside_run(plain: Plain):
    lab = plain.open([wb.lab(add_on_cores(), panes=["C", "memory"])]).locator(".wb-lab")
    device = lab.get_by_role("combobox", name="runs on")
    labels = ["on this CPU", f"on {wb.device().which}"]
    assert device.locator("option").all_inner_texts() == labels
    expect(device).to_have_value("cpu")
    lab.locator(".wb-run .wb-go").click()
    ran = f"Run on {runtime.cpu().which}: every value is right: the start gives the same."
    expect(lab.locator(".wb-status")).to_contain_text(ran, timeout=30_000)
    lab.locator(".wb-run .wb-go").focus()
    plain.page.keyboard.press("ArrowRight")  # past what came out, in the same stop
    expect(device).to_be_focused()
    plain.page.keyboard.press("ArrowDown")
    expect(device).to_have_value("gpu")
    lab.locator(".wb-run .wb-go").click()
    expect(lab.locator(".wb-result")).to_contain_text("refused")
