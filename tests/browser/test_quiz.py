"""The small views of the lessons in JupyterLab: a quiz and a player, by mouse and keyboard."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.axe import accessible
from tests.browser.jupyter import dark, run_cells
from tests.browser.plain import Plain
from tests.browser.test_lab import shoot
from workbench import lesson


def test_a_quiz_is_answered_once_and_the_player_plays(lab_page: Page):
    panel = run_cells(lab_page, "00_gpu.ipynb", 4)
    quiz, player = panel.locator(".wb-quiz").first, panel.locator(".wb-player").first
    expect(panel.locator(".wb-quiz-still").first).to_be_hidden()
    expect(panel.locator(".wb-player-still").first).to_be_hidden()

    said, told = player.locator(".wb-track-said"), player.locator(".wb-player-told")
    time = player.get_by_role("slider")
    for _ in range(3):
        time.press("ArrowRight")  # step by step: where something begins would be the answer
    expect(said).to_have_text("3 steps")
    player.get_by_role("button", name="that is my guess").press("Enter")
    expect(said).to_have_text("time 0 steps: 2 of 6 blocks run, 4 wait, 0 done")
    expect(player.locator(".wb-track-plot")).to_contain_text("your guess")
    expect(told).to_be_hidden()
    player.get_by_role("button", name="next event").click()
    expect(told).to_have_text(
        "Block 2 starts at time 4, on multiprocessor 0. Until then all places are taken, and block "
        "0 is the first to leave one. You said 3."
    )
    time.press("PageUp")
    expect(said).to_have_text("time 8 steps: 2 of 6 blocks run, 0 wait, 4 done")
    expect(player.get_by_role("button", name="play")).to_be_hidden()  # no motion is wanted

    answered = quiz.locator(".wb-quiz-told")
    quiz.get_by_role("button", name="time 0").focus()
    lab_page.keyboard.press("ArrowDown")  # in JupyterLab's own hands it would leave the cell
    lab_page.keyboard.press("Tab")
    expect(answered).to_be_empty()
    lab_page.keyboard.press("Enter")
    expect(answered).to_contain_text("“time 4” would be right on 2 multiprocessors with room for 2")
    expect(quiz.get_by_role("button", name="time 8")).to_be_disabled()
    expect(quiz.locator(".wb-quiz-true")).to_have_text("time 8")

    for scheme in (True, False):
        dark(lab_page, scheme)
        for view in (".wb-quiz", ".wb-player"):
            accessible(lab_page, view)
    quiz.scroll_into_view_if_needed()
    shoot(lab_page, "lesson-0")


def test_after_an_answer_shift_enter_leads_on(lab_page: Page):
    quiz = run_cells(lab_page, "00_gpu.ipynb", 4).locator(".wb-quiz").first
    quiz.get_by_role("button", name="time 4").click()
    expect(quiz.locator(".wb-quiz-told")).not_to_be_empty()
    active = "window.jupyterapp.shell.currentWidget.content.activeCellIndex"
    before = lab_page.evaluate(active)
    lab_page.keyboard.press("Shift+Enter")
    lab_page.wait_for_function(f"{active} === {before + 1}")


def test_a_word_is_explained_where_it_stands_by_keyboard_too(lab_page: Page):
    panel = run_cells(lab_page, "00_gpu.ipynb", 3)
    word = panel.locator("a[title]", has_text="warp").first
    expect(word).to_have_attribute("title", "32 threads of a block that a GPU runs in step")
    lab_page.keyboard.press("Shift")  # a keyboard is in use
    word.focus()
    said = word.evaluate("(el) => getComputedStyle(el, '::after').content")
    assert (
        said == '" (" attr(title) ")"'
        or said == '" (32 threads of a block that a GPU runs in step)"'
    )
    shoot(lab_page, "word")


def test_a_program_of_fifty_lines_is_seen_whole(plain: Plain):
    programs = plain.show(lesson.quiz("03_end")).locator("pre")
    assert max(programs.evaluate_all("(all) => all.map((pre) => pre.scrollHeight)")) > 800
    assert programs.evaluate_all("(all) => all.every((p) => p.scrollHeight <= p.clientHeight)")


def test_a_question_without_a_program_has_no_box_for_one(plain: Plain):
    shown = plain.show(lesson.quiz("12_wins"))
    expect(shown.locator(".wb-quiz-choices button")).to_have_count(5)
    expect(shown.locator("pre")).to_have_count(0)
