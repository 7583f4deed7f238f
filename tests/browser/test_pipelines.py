"""The picture of a pipeline in a lab: it fits, its letters are read, an iteration lights up."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import workbench as wb
from tests.browser.plain import Plain
from tests.browser.test_lab import inside, menu_at, shoot
from tests.browser.test_places import opened
from tests.lower.test_double_buffers import tiled
from tests.lower.test_pipelines import noted, of_one_thread, prefetching
from tests.support.every import some

SIZES = [(829, 566), (949, 747), (1400, 1000)]  # of labs: panes of 368 x 310 up to a full screen

# How wide and how tall an em of the smallest words is on the screen.
SMALLEST = """svg => Math.min(...[...svg.querySelectorAll('text')].flatMap((el) => {
  const [size, { a, d }] = [parseFloat(getComputedStyle(el).fontSize), el.getScreenCTM()];
  return [size * a, size * d];
}))"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A product that fetches its tiles through registers, three iterations under way at a time."""
    sch = prefetching(32)
    sch.pipeline("k_0", stages=[0, 1, 0, 1, 2], order=[0, 3, 1, 4, 2])
    lab = wb.lab(sch, panes=["CUDA", "pipeline"])
    lab.view = {**lab.view, "program": "cuda"}
    file = tmp_path_factory.mktemp("saved") / "lab.html"
    lab.to_html(file)
    return file


def run(page: Page, statement: str, iteration: int) -> Locator:
    """The cell in which a statement works on an iteration."""
    return page.locator(f'g[data-statement="{statement}"][data-iteration="k_0 = {iteration}"]')


@pytest.mark.parametrize("width, height", SIZES)
@pytest.mark.parametrize("scheme", some("light", "dark"))
def test_it_fits_and_its_letters_are_read(
    browser: Browser, saved: Path, width: int, height: int, scheme: str
):
    page = opened(browser, saved, width + 16, height + 60)
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.add_style_tag(content=f".wb-lab {{ height: {height}px !important }}")
    drawing = page.locator(".wb-strips > svg").filter(visible=True)
    expect(drawing).to_have_count(1)
    assert drawing.evaluate(SMALLEST) >= 11.9
    assert page.locator(".wb-machine .wb-body").evaluate("el => el.scrollWidth <= el.clientWidth")
    shoot(page, f"pipeline-{width}-{scheme}")
    page.close()


def test_many_statements_scroll_and_their_letters_are_read(browser: Browser, tmp_path: Path):
    stores = [
        f'with T.block("B{k}"):\n        B[k, {k % 4}, t] = A[k, {k % 4}, t]' for k in range(20)
    ]
    text = "\n    ".join(["for k in T.serial(8, annotations=NOTES):", *stores])
    func = of_one_thread(text, NOTES=noted([0] * 19 + [1]))
    wb.lab(func, panes=["pipeline"]).to_html(tmp_path / "lab.html")
    page = opened(browser, tmp_path / "lab.html", 845, 626)
    page.add_style_tag(content=".wb-lab { height: 566px !important }")
    drawing = page.locator(".wb-strips > svg").filter(visible=True)
    expect(drawing.locator("g[data-statement]").first).to_be_visible()
    assert drawing.evaluate(SMALLEST) >= 11.9
    body = page.locator(".wb-machine .wb-body")
    assert body.evaluate("el => el.scrollHeight > el.clientHeight")
    assert body.evaluate("el => el.scrollWidth <= el.clientWidth")
    shoot(page, "pipeline-many")
    page.close()


def test_a_cell_lights_up_its_iteration_and_its_statement(browser: Browser, saved: Path):
    page = opened(browser, saved, 1250, 900)
    run(page, "A_shared", 1).hover()
    lit = page.locator("g[data-with~=iteration][data-statement]")
    cells = lit.evaluate_all("all => all.map((el) => el.dataset.statement)")
    assert sorted(cells) == ["A_local", "A_shared", "B_local", "B_shared", "C_update"]
    told = page.locator(".wb-told-cell")
    text = "A_shared of k_0 = 1, in turn 2: writes A_shared, reads A_local (copy 1 of 2)"
    expect(told).to_have_text(f"{text}; 2 in the step before")
    lines = page.locator(".wb-program .wb-lit").filter(visible=True)
    kept = {"A_shared", "A_shared_kept"}
    assert set(lines.all_inner_texts()) == kept, "in CUDA, the buffer that it writes"
    shoot(page, "pipeline-pointed")
    page.mouse.move(0, 0)
    expect(page.locator("g[data-with]")).to_have_count(0)
    page.close()


def test_a_click_on_a_cell_opens_the_menu_of_its_block(plain: Plain):
    sch = prefetching(32)
    lab = plain.open([wb.lab(sch, panes=["pipeline"])]).locator(".wb-lab")
    expect(lab.locator(".wb-caption")).to_contain_text("No loop of the program is a pipeline")
    act = lab.locator(".wb-machine").get_by_role("button", name="pipeline k_0")
    for width, height in ((829, 598), (1400, 860)):
        plain.page.set_viewport_size({"width": width, "height": height})
        expect(act).to_have_count(1)
        expect(act).to_be_visible()
        assert inside(lab.locator(".wb-machine .wb-body"), act)
        shoot(plain.page, f"pipeline-pale-{width}")
    act.click()
    expect(lab.locator(".wb-menu .wb-call")).to_contain_text('sch.pipeline("k_0"')
    plain.page.keyboard.press("Escape")
    sch.pipeline("k_0", stages=[0, 1, 0, 1, 2], order=[0, 3, 1, 4, 2])
    lab = plain.open([wb.lab(sch, panes=["pipeline"])]).locator(".wb-lab").last
    lab.locator('g[data-statement="A_shared"][data-iteration="k_0 = 1"]').click()
    expect(lab.locator(".wb-menu h4")).to_contain_text("block A_shared")
    shoot(plain.page, "pipeline-menu")


def test_a_proposal_says_what_it_costs_and_fills_the_form(plain: Plain):
    """Bytes of shared memory against barriers a turn; one that is asynchronous names a GPU."""
    lab = plain.open([wb.lab(tiled(8), actions=["pipeline"], panes=["CUDA"])]).locator(".wb-lab")
    menu_at(lab, "loop k_0")
    ways = lab.locator(".wb-way")
    expect(ways).to_have_count(3)
    expect(ways.first).to_contain_text("2,048 bytes of shared memory, 1 barrier a turn")
    expect(ways.last).to_contain_text("on GPUs from sm_80 on")
    assert all(inside(lab.locator(".wb-menu"), way) for way in ways.all())
    shoot(plain.page, "pipeline-proposals")
    ways.last.click()
    expect(lab.get_by_label("async_stages", exact=True)).to_have_value("[0]")
    call = 'sch.pipeline("k_0", stages=[0, 0, 2], async_stages=[0])'
    expect(lab.locator(".wb-call")).to_have_text(call)
    ways.first.click()
    expect(lab.locator(".wb-call")).to_have_text('sch.pipeline("k_0", stages=[0, 0, 1])')
    lab.locator("button[type=submit]").click()
    expect(lab.locator(".wb-program")).to_contain_text("software_pipeline_stage")


def test_a_form_that_is_taller_than_its_room_shows_what_applies_it(plain: Plain):
    plain.page.set_viewport_size({"width": 1280, "height": 520})
    lab = plain.open([wb.lab(tiled(8), actions=["pipeline"], panes=["CUDA"])]).locator(".wb-lab")
    menu_at(lab, "loop k_0")
    menu = lab.locator(".wb-menu")
    expect(menu.locator(".wb-way").last).to_contain_text("on GPUs from sm_80 on")
    assert menu.evaluate("el => el.scrollHeight > el.clientHeight")
    assert inside(menu, menu.locator("button[type=submit]"))
    shoot(plain.page, "pipeline-low")


def test_without_one_the_pane_says_how_to_get_there(browser: Browser, tmp_path: Path):
    wb.lab(prefetching(32), panes=["pipeline"]).to_html(tmp_path / "lab.html")
    page = opened(browser, tmp_path / "lab.html", 845, 626)
    caption = page.locator(".wb-caption")
    hint = "Take pipeline at k_0, with a stage for each of its 5 statements"
    caption.click()
    expect(caption).to_contain_text(hint)
    expect(page.locator(".wb-machine td").first).to_have_text("k_0")
    expect(page.locator(".wb-machine td").first).to_be_visible()
    expect(page.locator(".wb-machine .wb-corridor").first).to_be_visible()
    expect(page.get_by_role("button", name="pipeline k_0")).to_have_count(0)  # no Python takes it
    shoot(page, "pipeline-none")
    page.close()
