"""A learner breaks a kernel on purpose, sees what comes of it, and mends it: by keyboard, too."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

import workbench as wb
from tests.browser.plain import Plain
from tests.browser.test_lab import AXE, shoot
from tests.support.every import some
from tests.widgets.programs import WINDOW, parse, window_steps
from workbench.schedule import Schedule


@pytest.mark.parametrize("scheme", some("dark", "light"))
def test_a_barrier_is_taken_away_and_put_back(plain: Plain, scheme: str):
    plain.dark(scheme == "dark")
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    lab = plain.open([wb.lab(sch, panes=["TensorIR", "CUDA", "memory"])]).locator(".wb-lab")
    keys, program = plain.page.keyboard, lab.locator(".wb-program")
    found, gaps, menu = (
        lab.locator(".wb-found"),
        lab.locator(".wb-gap"),
        lab.locator(".wb-breaking"),
    )
    opens = program.get_by_role("button", name="break it …")
    expect(opens).to_be_hidden()  # it is the kernel that breaks
    lab.get_by_role("tab", name="CUDA").click()

    opens.focus()
    keys.press("Enter")
    expect(menu.locator(".wb-break").first).to_contain_text("__syncthreads();")
    expect(menu.get_by_role("button", name="take this barrier away")).to_be_focused()
    keys.press("Escape")
    expect(opens).to_be_focused()
    line = program.locator(".wb-line:not(.wb-nowhere)", has_text="__syncthreads")
    line.locator(".wb-text").click(position={"x": 40, "y": 8})  # the same by mouse, at its line
    menu.get_by_role("button", name="take this barrier away").click()
    expect(program.locator(".wb-broken-head")).to_have_text(
        "✕ Broken on purpose: a barrier is missing.mend"
    )
    assert program.evaluate("(pane) => getComputedStyle(pane).borderImageSource") != "none"
    expect(line).to_have_count(0)
    expect(found).to_contain_text("no GPU runs it")

    lab.locator(".wb-run .wb-go").click()
    expect(found).to_contain_text("Race on A_shared[1]: two threads of a block meet there")
    expect(found.locator("svg text")).to_contain_text(["thread 1 writes", "thread 0 reads"])
    expect(program.locator(".wb-faulty")).to_have_count(2)
    shoot(plain.page, f"broken-{scheme}")
    said = Axe().run(plain.page, context=".wb-lab", options=AXE)
    assert said.violations_count == 0, said.generate_report()
    lab.get_by_role("tab", name="TensorIR").click()
    expect(program.locator(".wb-faulty")).to_contain_text(["A_shared[v0] = A[v0]", "B[vi] = "])
    lab.get_by_role("tab", name="CUDA").click()

    gaps.first.focus()
    keys.press("ArrowDown")
    keys.press("Space")
    expect(found).to_contain_text("With __syncthreads(); ahead of line 8: Race on A_shared[1]")
    expect(program.locator(".wb-put")).to_have_text("__syncthreads();")
    expect(gaps.nth(1)).to_be_focused()
    gaps.last.check()
    expect(lab.locator(".wb-said")).to_contain_text(
        "Mended: with __syncthreads(); ahead of line 13"
    )
    expect(found).to_be_hidden()
    expect(line).to_have_count(1)
