"""Fragments in a lab: a lane lights up in all tiles, and is chosen; a swizzle beside none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import workbench as wb
from tests.browser.plain import Plain
from tests.browser.test_lab import QUIET, shoot
from tests.browser.test_pipelines import SIZES, SMALLEST
from tests.browser.test_places import opened
from tests.browser.test_requests import turn_to
from tests.support.every import some
from tests.support.mma_product import Product, scheduled


def swizzled() -> wb.Schedule:
    """A product by mma.sync, whose rows in shared memory are swizzled by the last step."""
    sch = wb.Schedule(scheduled(Product(32, 32, 64, 32, 32, 64, 1, 2, False, False, 1, 0)).func)
    sch.annotate("A_shared", "permuted_layout", 1)
    return sch


def test_both_instructions_of_a_product_are_drawn_at_one_scale(plain: Plain):
    """So the numbers of rows at the left are those of both."""
    lab = plain.open([wb.lab(swizzled(), panes=["fragments"])]).locator(".wb-lab")
    lab.get_by_label("call ").select_option("mma.sync of C_update_o")
    strips = lab.locator(".wb-machine .wb-strips > svg")
    expect(strips).to_have_count(2)
    scales = "all => all.map(({ style }) => style.getPropertyValue('--down'))"
    left, right = strips.evaluate_all(scales)
    assert left == right != ""


def test_a_lane_is_pointed_at_and_chosen_and_a_swizzle_seen(plain: Plain):
    lab = plain.open([wb.lab(swizzled(), panes=["who"])]).locator(".wb-lab")
    expect(lab.get_by_role("tab", name="fragments")).to_be_visible()  # the program brings it
    turn_to(lab, "fragments")
    expect(lab.locator(".wb-costs")).to_contain_text("modelled")
    lab.evaluate(QUIET)  # what comes late draws the program anew, and folds it
    folded = lab.locator(".wb-program .wb-fold", has_text='T.block("C_update_o")')
    folded.get_by_role("button").first.click()
    call = lab.get_by_label("call ")
    expect(call).to_have_value("mma.sync of C_update_o")
    lab.locator('g[data-lanes="13"] text').first.hover()
    lit = lab.locator("g[data-with~=lanes]")
    assert set(lit.evaluate_all("all => all.map((el) => el.dataset.lanes)")) == {"13"}
    expect(lit).to_have_count(5)  # of A, of both parts of B and of C
    told = "lane 13 of A: register 0 [3, 2:4], 1 [11, 2:4], 2 [3, 10:12], 3 [11, 10:12]"
    expect(lab.locator(".wb-told-cell")).to_have_text(told)
    expect(lab.locator(".wb-mark.wb-pointed", has_text="C_update_o")).to_be_visible()
    lab.locator('g[data-lanes="13"] text').first.click()
    chosen = lab.locator('g[data-lanes="13"] .wb-chosen:visible')
    expect(chosen).to_have_count(5)
    slider = lab.get_by_role("slider", name="lane")
    expect(slider).to_have_value("13")
    slider.press("ArrowRight")
    expect(lab.locator(".wb-caption")).to_contain_text("Lane 14 holds cells: 8 of A in 4 registers")
    call.select_option("ldmatrix of B_shared_warp_o")
    expect(lab.locator('g[data-lanes="14"] .wb-chosen:visible')).to_have_count(1)
    expect(lab.locator(".wb-caption")).to_contain_text("Lane 14 gives the row at [14, 0]")
    lab.get_by_role("button", name=re.compile("more views?$")).last.click()
    turn_to(lab, "banks")
    lab.get_by_label("requests of").select_option("read A_shared")
    expect(lab.locator('g[data-lanes="14"] .wb-chosen:visible')).to_have_count(1)
    lab.get_by_role("button", name="compare").click()
    captions = lab.locator(".wb-compare .wb-caption")
    expect(captions.nth(0)).to_contain_text("reads of A_shared: 32 wavefronts, 4 would do.")
    expect(captions.nth(1)).to_contain_text("reads of A_shared: 4 wavefronts, the least.")
    shoot(plain.page, "fragments-swizzle")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("saved") / "lab.html"
    wb.lab(swizzled(), panes=["fragments", "banks"]).to_html(file)
    return file


@pytest.mark.parametrize("width, height", SIZES[:2])
@pytest.mark.parametrize("scheme", some("light", "dark"))
def test_a_saved_page_has_all_calls_and_they_fit(
    browser: Browser, saved: Path, width: int, height: int, scheme: str
):
    page = opened(browser, saved, width + 16, height + 60)
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.add_style_tag(content=f".wb-lab {{ height: {height}px !important }}")
    call = page.get_by_label("call ")
    for number, strips in enumerate((1, 1, 2, 1)):
        call.select_option(index=number)
        drawing = page.locator(".wb-strips > svg").filter(visible=True)
        expect(drawing).to_have_count(strips)
        assert drawing.first.evaluate(SMALLEST) >= 11.9
        body = page.locator(".wb-machine .wb-body")
        assert body.evaluate("el => el.scrollWidth <= el.clientWidth"), number
        page.locator('g[data-lanes="9"] text').last.hover()
        expect(page.locator(".wb-told-cell")).to_contain_text("lane 9")
        shoot(page, f"fragments-{number}-{width}-{scheme}")
    page.close()
