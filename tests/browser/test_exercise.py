"""Labs in JupyterLab as a class has them: an exercise handed in, a question before an audience."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

import workbench as wb
from tests.browser.axe import accessible
from tests.browser.jupyter import run_cells
from tests.browser.plain import Plain
from tests.browser.test_lab import shoot
from workbench import lesson

WRITE = """([id, source]) => {
  const { widgets } = window.jupyterapp.shell.currentWidget.content;
  const cell = widgets.map((widget) => widget.model).find((model) => model.id === id);
  const before = cell.sharedModel.getSource();
  cell.sharedModel.setSource(source);
  return before;
}"""
RUN_ONE = """async ([id, source]) => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  const k = notebook.widgets.findIndex((widget) => widget.model.id === id);
  const { sharedModel } = notebook.widgets[k].model;
  const before = sharedModel.getSource();
  sharedModel.setSource(source);
  notebook.activeCellIndex = k;
  await window.jupyterapp.commands.execute("notebook:run-cell");
  sharedModel.setSource(before);
}"""
STEPS = """mine.goto("start")
mine.bind(mine.split("i", factors=[None, 250])[1], "threadIdx.x")"""
LINES = """\
mine.goto("start")
block_C = mine.get_block("C")
(i,) = mine.get_loops(block_C)
i_0, i_1 = mine.split(i, factors=[None, 250])
mine.bind(i_1, "threadIdx.x")"""


def run_with(
    page: Page, count: int, cell: str, source: str, lesson: str = "01_vector_add.ipynb"
) -> Locator:
    """Run the first code cells of a lesson, one of them with another source, for now."""
    run_cells(page, lesson, 0)
    before = page.evaluate(WRITE, [cell, source])
    try:
        return run_cells(page, lesson, count)
    finally:
        page.evaluate(WRITE, [cell, before])


def test_the_steps_of_an_exercise_are_taken_as_code_by_keyboard(lab_page: Page):
    panel = run_with(lab_page, 14, "exercise-start", STEPS)  # to the exercise's lab
    card = panel.get_by_role("region", name="Exercise")
    goals = card.get_by_role("list", name="goals")
    expect(goals).to_contain_text("○ not reached: the same result as before (press run to see)")
    expect(goals).to_contain_text("○ not reached: at least 16 blocks")
    expect(goals.locator(".wb-reached")).to_have_count(0)
    panel.locator(".wb-lab").last.locator(".wb-run .wb-go").click()
    expect(goals.locator(".wb-reached")).to_contain_text("the same result as before")
    expect(panel.locator(".wb-lab").last).to_contain_text("idle threads")
    take = card.get_by_role("button", name="take as code")
    take.focus()
    lab_page.keyboard.press("Enter")
    lines = panel.get_by_label("your steps as code")
    expect(lines).to_be_focused()
    expect(lines).to_have_value(LINES)
    box = lines.bounding_box()
    assert box and box["x"] + box["width"] < 1400, "it stands in the window, all of it"
    expect(card).to_contain_text("Put them into the cell for your steps")
    accessible(lab_page)
    shoot(lab_page, "exercise")
    lab_page.keyboard.press("Escape")
    expect(lines).to_be_hidden()
    expect(take).to_be_focused()
    lab_page.keyboard.press("Tab")
    write = card.get_by_role("button", name="write into your steps' cell")
    expect(write).to_be_focused()
    expect(write).to_have_attribute("title", re.compile("in place of all that stands there$"))
    lab_page.keyboard.press("Enter")
    expect(card).to_contain_text("written: run that cell")
    assert lab_page.evaluate(WRITE, ["exercise-start", STEPS]) == LINES


LECTURE = """import os, numpy as np, workbench as wb
from workbench import T, lesson
os.environ["WORKBENCH_LECTURE"] = "1\""""
SHOWN = """sch.bind(sch.split("i", factors=[2, 4])[0], "blockIdx.x")
sch.bind("i_1", "threadIdx.x")
lab.at = 3"""


def test_before_a_class_the_verdict_waits_for_a_key(lab_page: Page):
    """Larger, on the whole screen; without it the lab is as any other."""
    panel = run_with(lab_page, 3, "imports", LECTURE)
    lab_page.evaluate(RUN_ONE, ["same-steps", SHOWN])
    lab, question = panel.locator(".wb-lab"), panel.get_by_role("region", name="Prediction")
    expect(lab.locator(".wb-listing").first).to_contain_text("blockIdx.x")
    before = question.get_by_text("Before you try").evaluate(HEIGHT)
    question.get_by_text("Before you try").click()  # a browser wants a sign of life
    lab.evaluate("(root) => root.requestFullscreen()")
    expect(question).to_contain_text("Page Down shows the answer")
    larger = question.get_by_text("Before you try").evaluate(HEIGHT)
    assert larger == pytest.approx(1.5 * before, abs=1)
    assert "✓" not in question.inner_text()
    shoot(lab_page, "lecture")
    lab_page.keyboard.press("PageDown")
    expect(question).to_contain_text("The program says “block 1, thread 1”.")
    expect(question).not_to_contain_text("Page Down")
    shoot(lab_page, "lecture-told")
    lab_page.evaluate("document.exitFullscreen()")
    expect(question).to_contain_text("The program says “block 1, thread 1”.")


HEIGHT = "(el) => el.getBoundingClientRect().height"


def test_before_a_class_quiz_and_player_are_larger_and_a_key_leads_on(lab_page: Page):
    panel = run_with(lab_page, 4, "imports", LECTURE, "00_gpu.ipynb")
    quiz, player = panel.locator(".wb-quiz").first, panel.locator(".wb-player").first
    head = quiz.locator(".wb-quiz-head")
    before = head.evaluate(HEIGHT)
    lab_page.keyboard.press("PageDown")  # not the quiz's, while it stands in the notebook
    quiz.get_by_role("button", name="full screen").click()
    lab_page.wait_for_function("document.fullscreenElement?.matches('.wb-quiz')")
    assert head.evaluate(HEIGHT) == pytest.approx(1.5 * before, abs=1)
    expect(quiz.locator(".wb-quiz-told")).to_be_empty()
    shoot(lab_page, "lecture-quiz")
    lab_page.keyboard.press("PageDown")
    expect(quiz.locator(".wb-quiz-told")).to_contain_text("The program says “time 8”.")
    shoot(lab_page, "lecture-quiz-told")
    lab_page.evaluate("document.exitFullscreen()")

    player.get_by_role("button", name="full screen").click()
    lab_page.wait_for_function("document.fullscreenElement?.matches('.wb-player')")
    expect(player.locator(".wb-player-ask")).to_contain_text("When does block 2 start?")
    lab_page.keyboard.press("PageDown")
    expect(player.locator(".wb-player-ask")).to_have_text("You say: time 0.")
    lab_page.keyboard.press("PageDown")
    expect(player).to_contain_text("time 4 steps: ")
    shoot(lab_page, "lecture-player")
    accessible(lab_page, ".wb-player")
    lab_page.evaluate("document.exitFullscreen()")


def test_an_exercise_says_where_the_code_went_and_goes_there(plain: Plain):
    exercise = lesson.exercise("odd_vector")
    mine = exercise.schedule()
    threads = mine.split("i", factors=[None, 250])[1]
    mine.bind(threads, "threadIdx.x")
    page = plain.open([wb.lab(mine, task=exercise)])
    card = page.get_by_role("region", name="Exercise")
    expect(card).to_contain_text("These are the steps of your code, which the check grades.")
    mine.goto("start")
    mine.split("i", factors=[None, 100])
    plain.page.evaluate("() => { for (const look of window.news) look(); }")
    expect(card).to_contain_text(
        "The check grades the steps of your code, which end at step 3, not here."
    )
    card.get_by_role("button", name="step 3").click()
    expect(card).to_contain_text("These are the steps of your code, which the check grades.")
    expect(page.get_by_text("Step 3, split(").first).to_be_visible()
