"""A learner breaks a kernel on purpose, sees what comes of it, and mends it: by keyboard, too."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

import workbench as wb
from tests.browser.axe import accessible
from tests.browser.plain import Plain
from tests.browser.test_lab import shoot
from tests.support.every import some
from tests.widgets.programs import WINDOW, parse, window_steps
from workbench.schedule import Schedule

RACE = "Race on A_shared[1]: two threads of a block meet there"


def broken(plain: Plain, lab: Locator) -> None:
    """Break the lab's only barrier: the menu by keyboard, and again by mouse, at its line."""
    menu, keys = lab.locator(".wb-breaking"), plain.page.keyboard
    opens = lab.get_by_role("button", name="break it …")
    expect(opens).to_be_hidden()  # it is the kernel that breaks
    lab.get_by_role("tab", name="CUDA").click()
    opens.focus()
    keys.press("Enter")
    expect(menu.locator(".wb-break").first).to_contain_text("12 __syncthreads();")
    expect(menu.get_by_role("button", name="take this barrier away")).to_be_focused()
    keys.press("Escape")
    expect(opens).to_be_focused()
    line = lab.locator(".wb-program .wb-line", has_text="__syncthreads")
    line.locator(".wb-text").click(position={"x": 40, "y": 8})
    menu.get_by_role("button", name="take this barrier away").click()


@pytest.mark.parametrize("scheme", some("dark", "light"))
def test_a_barrier_is_taken_away_and_put_back(plain: Plain, scheme: str):
    plain.dark(scheme == "dark")
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    lab = plain.open([wb.lab(sch, panes=["TensorIR", "CUDA", "memory"])]).locator(".wb-lab")
    program, found = lab.locator(".wb-program"), lab.locator(".wb-found")
    gaps, faulty, keys = lab.locator(".wb-gap"), lab.locator(".wb-faulty"), plain.page.keyboard
    broken(plain, lab)
    expect(program).to_contain_text("✕ Broken on purpose: a barrier is missing.")
    assert program.evaluate("(pane) => getComputedStyle(pane).borderImageSource") != "none"
    expect(found).to_contain_text("no GPU runs it")
    lab.locator(".wb-run .wb-go").click()
    expect(found).to_contain_text(RACE)
    expect(found.locator("svg text")).to_contain_text(["thread 1 writes", "thread 0 reads"])
    expect(faulty).to_have_count(2)
    shoot(plain.page, f"broken-{scheme}")
    accessible(plain.page)
    lab.get_by_role("tab", name="TensorIR").click()
    expect(faulty).to_contain_text(["A_shared[v0] = A[v0]", "B[vi] = "])
    lab.get_by_role("tab", name="CUDA").click()
    gaps.first.focus()
    keys.press("ArrowDown")
    keys.press("Space")
    expect(found).to_contain_text(f"With __syncthreads(); ahead of line 8: {RACE}")
    expect(lab.locator(".wb-put")).to_have_text("__syncthreads();")
    expect(gaps.nth(1)).to_be_focused()
    gaps.last.click()  # it goes, mended
    mended = "Mended: with __syncthreads(); ahead of line 13"
    expect(lab.locator(".wb-said")).to_contain_text(mended)
    expect(found).to_be_hidden()
    expect(program.locator(".wb-line", has_text="__syncthreads")).to_have_count(1)
