"""A launch, a block and a warp in time: one goes nearer by a click, and by keys through events."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.browser.plain import Plain

# Of what is drawn, the spot at a share of its width and its height.
SPOT = """(plot, [across, down]) => {
  const [frame, all] = [plot.querySelector('.wb-room'), plot].map((el) =>
    el.getBoundingClientRect());
  return [frame.x - all.x + frame.width * across, frame.y - all.y + frame.height * down];
}"""


def press(lab: Locator, across: float, down: float) -> None:
    plot = lab.locator(".wb-track-plot")
    expect(plot.locator(".wb-room")).to_have_count(1)
    x, y = plot.evaluate(SPOT, [across, down])
    plot.click(position={"x": x, "y": y})


def test_one_goes_from_the_launch_to_a_request(plain: Plain):
    """The same time at each level; the program lights up, Python draws each request once."""
    sch = blocking_with_shared(wb.Schedule(matmul(64)), 2, 2, 8, 8, 8)  # two warps a block
    lab = plain.open([wb.lab(sch, panes=["timeline"])]).locator(".wb-lab")
    time, crumbs = lab.get_by_label("time: timeline"), lab.get_by_role("group", name="how near")
    said, lit = lab.locator(".wb-track-said"), lab.locator(".wb-pointed")
    expect(said).to_contain_text("blocks run")
    crumbs.get_by_role("button", name="block").click()
    expect(crumbs.get_by_role("button", name="block 0")).to_have_attribute("aria-pressed", "true")
    expect(said).to_contain_text("2 of 2 warps")
    expect(lab.locator(".wb-track-plot text").filter(has_text="warp 1")).to_have_count(1)
    time.press("Home")
    expect(time).to_have_attribute("aria-valuetext", re.compile(r"^modelled 0 clocks: 2 of 2 "))
    time.press("PageDown")  # a barrier: then one fetches, and the other waits for it
    fetch = "1 of 2 warps in A_shared, k_0 = 0, 1 of 2 warps at barrier 2 of 16"
    expect(said).to_have_text(fetch)
    expect(lit.filter(has_text="A_shared")).not_to_have_count(0)
    press(lab, 0.3, 0.75)
    expect(crumbs.get_by_role("button", name="warp 1")).to_have_attribute("aria-pressed", "true")
    expect(lab.locator(".wb-track-plot text").filter(has_text="computes")).to_have_count(1)
    expect(lit.filter(has_text="C_update")).not_to_have_count(0)
    wavefront = re.compile(r"wavefront (\d) of 2, .*; 32 lanes, bytes \d+ to \d+$")
    for _ in range(12):  # events: wavefronts one by one, and what is computed
        if wavefront.search(said.inner_text()):
            break
        before = said.inner_text()
        time.press("ArrowRight")
        expect(said).not_to_have_text(before)
    expect(said).to_have_text(wavefront)
    served = lab.locator(".wb-served-now")
    expect(served).not_to_have_count(0)
    part = wavefront.search(said.inner_text())
    assert part and served.first.get_attribute("data-served") == part[1]
    takes = "reads of B_shared: 2 wavefronts, the least."
    expect(lab.locator(".wb-caption")).to_contain_text(takes)
    expect(time).to_be_focused()  # though all around it was drawn anew
    crumbs.get_by_role("button", name="whole").click()
    expect(said).to_contain_text("blocks run")
    expect(lit).to_have_count(0)
