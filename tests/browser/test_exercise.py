"""The lab of an exercise in JupyterLab: its steps are taken as code."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.jupyter import run_cells
from tests.browser.test_lab import AXE, shoot

pytestmark = pytest.mark.browser

WRITE = """([id, source]) => {
  const { widgets } = window.jupyterapp.shell.currentWidget.content;
  const cell = widgets.map((widget) => widget.model).find((model) => model.id === id);
  const before = cell.sharedModel.getSource();
  cell.sharedModel.setSource(source);
  return before;
}"""
STEPS = """mine.goto("start")
mine.bind(mine.split("i", factors=[None, 250])[1], "threadIdx.x")"""
LINES = """\
mine.goto("start")
C = mine.get_block("C")
i, = mine.get_loops(C)
i_0, i_1 = mine.split(i, factors=[None, 250])
mine.bind(i_1, "threadIdx.x")"""


def test_the_steps_of_an_exercise_are_taken_as_code_by_keyboard(lab_page: Page):
    run_cells(lab_page, "01_vector_add.ipynb", 0)
    before = lab_page.evaluate(WRITE, ["exercise-start", STEPS])
    try:
        panel = run_cells(lab_page, "01_vector_add.ipynb", 14)  # to the exercise's lab
    finally:
        lab_page.evaluate(WRITE, ["exercise-start", before])
    card = panel.get_by_role("region", name="Exercise")
    take = card.get_by_role("button", name="take as code")
    take.focus()
    lab_page.keyboard.press("Enter")
    lines = panel.get_by_label("your steps as code")
    expect(lines).to_be_focused()
    expect(lines).to_have_value(LINES)
    expect(card).to_contain_text("Put them into the cell above this lab")
    found = Axe().run(lab_page, context=".wb-lab", options=AXE)
    assert found.violations_count == 0, found.generate_report()
    shoot(lab_page, "exercise")
    lab_page.keyboard.press("Escape")
    expect(lines).to_be_hidden()
    expect(take).to_be_focused()
