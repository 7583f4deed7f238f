"""A lesson by keyboard alone, forwards and backwards; axe-core on what opens in it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import accessible
from tests.browser.jupyter import ROOT
from tests.browser.plain import Plain, labs_of
from tests.browser.test_lab import all_steps, cell, first_lab, form_of, menu_at, shoot
from tests.browser.test_places import BEYOND, OVER, WITHIN
from tests.support.every import some

ACTIVE = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"


def tab_to(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Press the key until the focus is on what is wanted; 30 times are too many."""
    for _ in range(30):
        page.keyboard.press(key)
        if wanted.evaluate("el => el === document.activeElement"):
            return
    has = page.evaluate("document.activeElement.outerHTML.slice(0, 120)")
    raise AssertionError(f"not reached by {key}; the focus is on {has}")


def arrow_to(page: Page, wanted: Locator, key: str) -> None:
    """Press an arrow until the focus is on what is wanted."""
    if not wanted.evaluate("el => el === document.activeElement"):
        tab_to(page, wanted, key)


def test_a_lesson_by_keyboard_alone(lab_page: Page):
    lab = first_lab(lab_page)
    keys = lab_page.keyboard
    before = lab_page.evaluate(ACTIVE)
    # from the cell's own code forwards into the lab
    lab.evaluate(
        "lab => lab.closest('.jp-Cell').querySelector('.jp-Editor [tabindex], .cm-content').focus()"
    )
    keys.press("Escape")
    tab_to(lab_page, lab.locator(".wb-answer input").first)
    keys.press("Space")
    expect(lab.locator(".wb-given")).to_be_visible()

    loop = lab.locator(".wb-program .wb-mark[role=button]").get_by_text("i", exact=True).first
    tab_to(lab_page, lab.locator(".wb-program [tabindex='0']").first)
    arrow_to(lab_page, loop, "ArrowRight")
    keys.press("Enter")
    expect(lab.locator(".wb-verb", has_text="split")).to_be_focused()
    keys.press("Escape")
    expect(lab.locator(".wb-menu")).to_be_hidden()
    expect(loop).to_be_focused()
    keys.press("Enter")
    expect(lab.locator(".wb-verb", has_text="split")).to_be_focused()
    keys.press("Enter")
    field = lab.get_by_label("factors")
    expect(field).to_be_focused()
    keys.press("ControlOrMeta+a")
    keys.type("[2, 4]")
    keys.press("Control+Enter")
    expect(lab.locator(".wb-link")).to_have_count(2)
    expect(lab.locator(".wb-menu")).to_be_hidden()

    tab_to(lab_page, lab.locator(".wb-link[aria-current]"))
    keys.press("ArrowLeft")
    keys.press("Enter")
    expect(cell(lab, "C[5]")).to_contain_text("time step 5")
    expect(lab.locator(".wb-link[aria-current]")).to_contain_text("0")
    keys.press("ControlOrMeta+a")
    assert lab_page.evaluate("getSelection().toString()") == ""
    tab_to(lab_page, lab.locator(".wb-machine [role=tab][tabindex='0']"), "Shift+Tab")
    out_and_in_again(lab)
    assert lab_page.evaluate(ACTIVE) == before


def out_and_in_again(lab: Locator) -> None:
    """Leave the lab at both ends, and come back."""
    keys = lab.page.keyboard
    outside = "el => !el.contains(document.activeElement)"
    for key in ("Tab", "Shift+Tab"):
        for _ in range(30):
            if lab.evaluate(outside):
                break
            keys.press(key)
        assert lab.evaluate(outside), f"{key} does not lead out"
        back = "Shift+Tab" if key == "Tab" else "Tab"
        for _ in range(8):
            if not lab.evaluate(outside):
                break
            keys.press(back)
        assert not lab.evaluate(outside), f"{back} does not lead back in"


def test_escape_closes_the_lab_s_own_menu_and_else_passes(lab_page: Page):
    lab = first_lab(lab_page)
    lab_page.evaluate(
        "() => { window.passed = 0; const panel = '.jp-NotebookPanel:not(.lm-mod-hidden)';"
        "document.querySelector(`${panel} .jp-Notebook`).addEventListener("
        "'keydown', (event) => { window.passed += event.key === 'Escape'; }); }"
    )
    lab.locator(".wb-place").first.focus()
    lab_page.keyboard.press("Enter")
    expect(lab.locator(".wb-verb").first).to_be_focused()
    lab_page.keyboard.press("Escape")
    expect(lab.locator(".wb-menu")).to_be_hidden()
    expect(lab.locator(".wb-place").first).to_be_focused()
    assert lab_page.evaluate("window.passed") == 0
    lab_page.keyboard.press("Escape")
    assert lab_page.evaluate("window.passed") == 1

    # however soon: no timer runs between the two keys
    lab.locator(".wb-place").first.press("Enter")
    expect(lab.locator(".wb-verb").first).to_be_focused()
    lab.evaluate(
        "lab => { const escape = { key: 'Escape', bubbles: true };"
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', escape));"
        "lab.querySelector('.wb-place').click(); }"
    )
    expect(lab.locator(".wb-menu")).to_be_visible()


@pytest.mark.parametrize("scheme", some("light", "dark"))
def test_what_opens_is_accessible(plain: Plain, scheme: str):
    plain.dark(scheme == "dark")
    last = labs_of(ROOT / "lessons" / "04_shared_blocking.ipynb", 6)[-1]
    lab = plain.open([last]).locator(".wb-lab")
    expect(lab.locator(".wb-listing").first).to_be_visible()
    accessible(plain.page)
    menu_at(lab, lab.locator(".wb-place").first.inner_text())
    lab.locator(".wb-menu .wb-more").click()
    form_of(lab, "split")
    expect(lab.locator(".wb-form")).to_be_visible()
    accessible(plain.page, ".wb-menu")
    lab.get_by_label("factors", exact=True).fill("[0]")
    lab.locator("button[type=submit]").click()
    expect(lab.locator(".wb-menu .wb-error")).to_be_visible()
    accessible(plain.page, ".wb-menu")
    plain.page.keyboard.press("Escape")
    all_steps(lab)
    accessible(plain.page, ".wb-tree")
    plain.page.keyboard.press("Escape")
    lab.get_by_role("button", name="full screen").click()
    plain.page.wait_for_function("document.fullscreenElement?.matches('.wb-lab')")
    menu_at(lab, lab.locator(".wb-place").first.inner_text())
    accessible(plain.page)
    shoot(plain.page, f"full-screen-menu-{scheme}")
    plain.page.keyboard.press("Escape")
    plain.page.evaluate("document.exitFullscreen()")
    lab.locator(".wb-run .wb-go").click()
    expect(lab.locator(".wb-result")).to_be_visible(timeout=60_000)
    accessible(plain.page)
    for tab in lab.locator(".wb-machine [role=tab]").all():
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        accessible(plain.page, ".wb-machine")


def test_zoomed_to_200_percent_a_lab_is_one_column_and_takes_a_step(plain: Plain):
    """1280 x 720 at twice the size, which leaves 640 x 360 of CSS."""
    plain.page.set_viewport_size({"width": 640, "height": 360})
    lab = plain.first_lab()
    expect(lab).to_have_attribute("data-columns", "1")
    for side in ("Picture", "Program"):
        button = lab.locator(".wb-sides").get_by_role("button", name=side)
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        assert plain.page.evaluate(BEYOND) == [] and plain.page.evaluate(OVER) == 0, side
        assert lab.evaluate("el => el.scrollWidth <= el.clientWidth"), side
        assert plain.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), side
        accessible(plain.page)
    lab.locator(".wb-program .wb-mark").get_by_text("i", exact=True).first.click()
    form_of(lab, "split")
    field, submit = lab.get_by_label("factors", exact=True), lab.locator("button[type=submit]")
    field.fill("[2, 4]")
    for part in (field, submit):
        part.scroll_into_view_if_needed()
        expect(part).to_be_in_viewport(ratio=1)
    assert plain.page.locator("html").evaluate(WITHIN, ".wb-menu")
    accessible(plain.page, ".wb-menu")
    submit.click()
    expect(lab.locator(".wb-link")).to_have_count(2)
