"""The pictures of costs in a lab: they fit, a lane lights up, an access and a turn are chosen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.browser.plain import Plain
from tests.browser.test_lab import shoot
from tests.browser.test_pipelines import SIZES, SMALLEST
from tests.browser.test_places import opened
from tests.support.every import some
from tests.widgets.page.test_page import STEPS
from tests.widgets.programs import parse
from workbench.widgets.page.view import COST_PANES


def product() -> wb.Schedule:
    """A product over tiles: 32 threads of a block, which read four rows of A at a time."""
    return blocking_with_shared(wb.Schedule(matmul(64)), 2, 2, 8, 4, 8)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("saved") / "lab.html"
    wb.lab(product().func, panes=["CUDA", *COST_PANES]).to_html(file)
    return file


def turn_to(page: Page | Locator, pane: str) -> None:
    page.get_by_role("tab", name=pane, exact=True).click()


@pytest.mark.parametrize("width, height", SIZES[:2])
@pytest.mark.parametrize("scheme", some("light", "dark"))
def test_they_fit_and_their_letters_are_read(
    browser: Browser, saved: Path, width: int, height: int, scheme: str
):
    page = opened(browser, saved, width + 16, height + 60)
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.add_style_tag(content=f".wb-lab {{ height: {height}px !important }}")
    for pane in COST_PANES:
        turn_to(page, pane)
        drawing = page.locator(":is(.wb-strips, .wb-track-plot) > svg").filter(visible=True)
        expect(drawing).to_have_count(1)
        assert drawing.evaluate(SMALLEST) >= 11.9
        body = page.locator(".wb-machine .wb-body")
        assert body.evaluate("el => el.scrollWidth <= el.clientWidth"), pane
        shoot(page, f"costs-{pane}-{width}-{scheme}")
    page.close()


def test_a_lane_lights_up_with_all_that_is_its(browser: Browser, saved: Path):
    page = opened(browser, saved, 1250, 900)
    turn_to(page, "sectors")
    page.locator('g[data-lanes="3"] rect').first.hover()
    lit = page.locator("g[data-with~=lanes]")
    lanes = lit.evaluate_all("all => all.map((el) => el.dataset.lanes.split(' '))")
    assert len(lanes) == 2 and all("3" in those for those in lanes), "its line, its sector"
    expect(page.locator(".wb-told-cell")).to_contain_text("lane 3, thread 3,0,0: bytes ")
    shoot(page, "costs-lane")
    turn_to(page, "banks")
    page.locator("g[data-lanes]").first.hover()
    expect(page.locator(".wb-told-cell")).to_contain_text("wavefront 1: bank")
    page.close()


def test_an_access_and_a_turn_are_chosen(plain: Plain):
    lab = plain.open([wb.lab(product(), panes=["banks", "sectors"])]).locator(".wb-lab")
    caption = lab.locator(".wb-caption")
    access = lab.get_by_label("requests of")
    expect(access).to_have_value("read A_shared")
    first = caption.inner_text()
    access.select_option("write B_shared")
    expect(caption).not_to_have_text(first)
    expect(caption).to_contain_text("writes of B_shared")
    lab.get_by_label("loop", exact=True).select_option("k_0")
    slider = lab.get_by_role("slider", name="k_0")
    expect(slider).to_have_attribute("min", "0")
    slider.press("ArrowRight")
    expect(lab.locator(".wb-slide output")).to_have_text("1")
    words = lab.locator(".wb-strips")
    expect(words).to_have_attribute("aria-label", re.compile(r"k_0 = 1 of 8"))
    slider.press("Home")
    expect(words).to_have_attribute("aria-label", re.compile(r"k_0 = 0 of 8"))
    turn_to(lab, "sectors")
    expect(access).to_have_value("write C")


def test_a_saved_page_has_the_requests_that_take_most(browser: Browser, tmp_path: Path):
    """Of a loop whose turns take 4, 8, 12 and 16 sectors, the three worst, told by how many."""
    wb.lab(parse(STEPS), panes=["sectors"]).to_html(tmp_path / "lab.html")
    page = opened(browser, tmp_path / "lab.html", 845, 700)
    caption, costs = page.locator(".wb-caption").first, page.get_by_label("that take")
    expect(costs.locator("option")).to_have_count(3)
    expect(costs).to_have_value("16 sectors: 1 of 4")
    expect(caption).to_have_text("The worst of 4 reads of A: 16 sectors, 4 would do.")
    costs.select_option("8 sectors: 1 of 4")
    expect(caption).to_have_text("This read of A: 8 sectors, 4 would do; the worst: 16.")
    shoot(page, "costs-saved-requests")
    page.get_by_label("requests of").select_option("write C")
    expect(costs).to_have_count(0)
    page.close()


def test_a_picture_of_what_nobody_runs_leads_to_the_form_of_bind(plain: Plain):
    lab = plain.open([wb.lab(matmul(8), actions=["split"], panes=["occupancy"])]).locator(".wb-lab")
    lab.get_by_role("button", name="bind i", exact=False).click()
    expect(lab.locator(".wb-menu")).to_be_visible()
    lab.get_by_role("button", name="apply bind").click()
    expect(lab.locator(".wb-machine .wb-refusal")).to_have_count(0)
    expect(lab.locator(".wb-machine figure")).to_be_visible()


def test_a_lane_that_is_clicked_chooses_its_thread_in_all_pictures(plain: Plain):
    lab = plain.open([wb.lab(product(), panes=["sectors", "tiles"])]).locator(".wb-lab")
    expect(lab.locator(".wb-strips .wb-chosen")).to_have_count(0)
    lab.locator('g[data-lanes="6"] rect').first.click()
    expect(lab.locator('g[data-lanes="6"] .wb-chosen').first).to_be_visible()
    expect(lab.locator(".wb-menu")).not_to_be_visible()
    lab.get_by_label("requests of").select_option("read B")
    expect(lab.locator('g[data-lanes="6"] .wb-chosen').first).to_be_visible()
    turn_to(lab, "tiles")
    expect(lab.locator(".wb-caption")).to_contain_text("threadIdx.x = 6")


def test_a_saved_comparison_has_one_picture_and_no_tabs_that_do_nothing(
    browser: Browser, tmp_path: Path
):
    sch = wb.Schedule(matmul(8))
    sch.bind("i", "blockIdx.x")
    sch.bind("j", "threadIdx.x")
    wb.lab(sch, panes=["occupancy", "sectors"]).to_html(tmp_path / "lab.html")
    page = opened(browser, tmp_path / "lab.html", 1250, 900)
    page.get_by_role("button", name="compare").first.click()
    drawn = page.locator(".wb-compare .wb-strips > svg").filter(visible=True)
    expect(drawn).to_have_count(2)  # others have fewer words, for panes with less room
    expect(page.get_by_role("tab")).to_have_count(0)
    page.get_by_role("button", name="stop comparing").first.click()
    turn_to(page, "sectors")
    expect(page.locator(".wb-caption").filter(visible=True)).to_contain_text("sector")
    page.close()


def test_two_branches_are_compared_at_one_scale(plain: Plain):
    sch = product()
    lab = plain.open([wb.lab(sch, panes=["memory"])]).locator(".wb-lab")
    lab.get_by_role("button", name="compare").click()
    drawings = lab.locator(".wb-compare .wb-strips > svg").filter(visible=True)
    expect(drawings).to_have_count(2)
    wide = drawings.evaluate_all("all => all.map((el) => el.viewBox.baseVal.width)")
    assert wide[0] == wide[1]
    shoot(plain.page, "costs-compared")
