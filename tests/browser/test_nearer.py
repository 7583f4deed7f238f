"""A launch, a block and a warp in time: one goes nearer by a click, and by keys through events."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.browser.axe import accessible
from tests.browser.plain import Plain
from tests.browser.test_access import tab_to
from tests.browser.test_lab import shoot
from tests.browser.test_places import BEYOND, CUT, OVER
from tests.support.every import some
from workbench import script

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
    time.press("PageUp")  # a barrier: then one fetches, and the other waits for it
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
    time.press("End")
    expect(said).to_contain_text("done")
    expect(lab.locator(".wb-caption")).to_contain_text("writes of C")  # what came last
    time.press("Home")
    crumbs.get_by_role("button", name="whole").click()
    expect(said).to_contain_text("blocks run")
    expect(lit).to_have_count(0)


def crumbs_of(lab: Locator) -> list[str]:
    return lab.get_by_role("group", name="how near").get_by_role("button").all_inner_texts()


def test_crumbs_name_what_they_open(plain: Plain):
    """194 blocks of 1,250 are in a second wave; the first of it is block 1,056."""
    lab = plain.open([wb.lab(vector(), panes=["timeline"])]).locator(".wb-lab")
    time, crumbs = lab.get_by_label("time: timeline"), lab.get_by_role("group", name="how near")
    plot, said = lab.locator(".wb-track-plot"), lab.locator(".wb-track-said")
    expect(said).to_contain_text(" µs: 1,056 of 1,250 blocks run, 0 done")
    assert crumbs_of(lab) == ["whole", "block 0", "warp 0"]
    time.press("PageUp")
    expect(crumbs.get_by_role("button", name="block 1,056")).to_have_count(1)
    time.fill(str(float(time.input_value()) + 0.2))
    expect(said).to_contain_text("194 of 1,250 blocks run, 1,056 done")
    press(lab, 0.8, 100.5 / 132)  # a multiprocessor in the picture of all of them, and a time
    expect(plot).to_contain_text("multiprocessor 100: 8 places")
    shown = crumbs.get_by_role("button", name="block 1,156")
    expect(shown).to_have_attribute("aria-pressed", "false")
    shown.click()
    expect(shown).to_have_attribute("aria-pressed", "true")
    expect(said).to_contain_text("8 of 8 warps")


def test_zooming_out_keeps_the_time_and_the_multiprocessor(plain: Plain):
    lab = plain.open([wb.lab(vector(), panes=["timeline"])]).locator(".wb-lab")
    time, crumbs = lab.get_by_label("time: timeline"), lab.get_by_role("group", name="how near")
    said, plot = lab.locator(".wb-track-said"), lab.locator(".wb-track-plot")
    expect(said).to_contain_text(" µs: 1,056 of 1,250")  # and no more in waves
    time.press("PageUp")
    time.press("Shift+ArrowDown")
    expect(plot).to_contain_text("multiprocessor 1: 8 places")
    expect(time).to_have_attribute("aria-valuetext", re.compile("; multiprocessor 1$"))
    time.fill(str(float(time.input_value()) + 0.2))
    before = said.text_content() or ""
    assert "194 of 1,250 blocks run, 1,056 done" in before
    time.press("Enter")
    shown = crumbs.get_by_role("button", name="block 1,057")
    expect(shown).to_have_attribute("aria-pressed", "true")
    time.press("ArrowDown")
    expect(crumbs.get_by_role("button", name="warp 1")).to_have_count(1)
    expect(time).to_have_attribute("aria-valuetext", re.compile("; warp 1$"))
    time.press("Enter")
    expect(crumbs.get_by_role("button", name="warp 1")).to_have_attribute("aria-pressed", "true")
    time.press("Escape")
    expect(shown).to_have_attribute("aria-pressed", "true")
    time.press("Escape")
    expect(crumbs.get_by_role("button", name="whole")).to_have_attribute("aria-pressed", "true")
    expect(said).to_have_text(before)
    expect(plot).to_contain_text("multiprocessor 1: 8 places")
    assert not plain.faults


def vector() -> wb.Schedule:
    """1,250 blocks of 240 threads, of which an H200 has room for 1,056."""
    sch = wb.Schedule(script.parse(ADD))
    for loop, axis in zip(sch.split("i", factors=[None, 240]), ("block", "thread"), strict=True):
        sch.bind(loop, f"{axis}Idx.x")
    return sch


ADD = """
@T.prim_func
def add(A: T.Buffer((300000,), "float32"), B: T.Buffer((300000,), "float32")):
    for i in range(300000):
        with T.block("B"):
            v = T.axis.spatial(300000, i)
            B[v] = A[v] + T.float32(1)
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a lab of which block 13 of 16 is open, two warps in each."""
    lab = wb.lab(
        blocking_with_shared(wb.Schedule(matmul(64)), 2, 2, 8, 8, 8), panes=["timeline", "memory"]
    )
    select = {"kernel": 0, "block": 13}
    lab.set_state({"view": {**lab.view, "level": "block", "select": select}})
    file = tmp_path_factory.mktemp("saved") / "lab.html"
    lab.to_html(file)
    return file


def test_a_saved_page_goes_from_a_block_to_a_request(browser: Browser, saved: Path):
    """By keys alone, from the level that was open, with the program alight and no Python."""
    page = opened(browser, saved, 1400, 1000)
    lab = page.locator(".wb-lab")
    time, crumbs = lab.get_by_label("time: timeline"), lab.get_by_role("group", name="how near")
    said, lit = lab.locator(".wb-track-said"), lab.locator(".wb-pointed")
    shown = crumbs.get_by_role("button", name="block 13")
    expect(shown).to_have_attribute("aria-pressed", "true")
    expect(said).to_contain_text("2 of 2 warps")
    time.press("Home")
    time.press("PageUp")
    expect(said).to_have_text("1 of 2 warps in A_shared, k_0 = 0, 1 of 2 warps at barrier 2 of 16")
    expect(lit.filter(has_text="A_shared")).not_to_have_count(0)
    time.press("ArrowDown")
    time.press("Enter")
    expect(crumbs.get_by_role("button", name="warp 1")).to_have_attribute("aria-pressed", "true")
    for _ in range(40):
        if "reads B_shared, wavefront 2 of 2, k_0 = 0, k_1 = 1" in said.inner_text():
            break
        before = said.inner_text()
        time.press("ArrowRight")
        expect(said).not_to_have_text(before)
    expect(said).to_have_text(re.compile("k_1 = 1.*; 32 lanes, bytes 64 to 127$"))
    expect(lit.filter(has_text="C_update")).not_to_have_count(0)
    strips, caption = lab.locator(".wb-strips"), lab.locator(".wb-caption")
    expect(strips).not_to_have_class(re.compile("wb-past"))
    expect(lab.locator(".wb-served-now").first).to_have_attribute("data-served", "2")
    expect(caption).to_contain_text(
        "reads of B_shared: 2 wavefronts, the least. Drawn is one alike"
    )
    expect(time).to_be_focused()
    time.press("Escape")
    expect(shown).to_have_attribute("aria-pressed", "true")
    expect(crumbs.get_by_role("button", name="warp 1")).to_have_count(1)
    time.press("Escape")
    expect(said).to_contain_text("blocks run")
    expect(lit).to_have_count(0)
    page.close()


def test_a_saved_page_leads_to_any_block_by_pointer_and_plays(browser: Browser, saved: Path):
    page = opened(browser, saved, 1400, 1000)
    page.emulate_media(reduced_motion="no-preference")
    lab = page.locator(".wb-lab")
    crumbs, time = lab.get_by_role("group", name="how near"), lab.get_by_label("time: timeline")
    said = lab.locator(".wb-track-said")
    crumbs.get_by_role("button", name="whole").click()
    expect(said).to_contain_text("16 of 16 blocks run")
    press(lab, 0.5, 12.5 / 132)  # a multiprocessor is seen first, and then the block that it has
    expect(lab.locator(".wb-track-plot")).to_contain_text("multiprocessor 12:")
    crumbs.get_by_role("button", name="block 12").click()
    expect(said).to_contain_text("2 of 2 warps")
    crumbs.get_by_role("button", name="warp 0").click()
    expect(crumbs.get_by_role("button", name="block 12")).to_have_count(1)
    time.press("Home")
    time.press(" ")
    expect(lab.get_by_role("button", name="pause")).to_be_visible()
    page.wait_for_function("(range) => range.value > 0", arg=time.element_handle())
    time.press(" ")
    lab.get_by_role("button", name="undo").click()  # a program of which some loop is not bound
    expect(lab.locator(".wb-machine")).to_be_visible()
    page.close()


LEVELS = ("whole", "block", "warp")
SIZES = [*some((640, 360, 2), (400, 800, 1), (1100, 800, 1)), (3000, 1400, 1)]  # one is 200 %


@pytest.mark.parametrize("size", SIZES)
def test_each_level_of_a_saved_page_fits_its_frame(
    browser: Browser, saved: Path, size: tuple[int, int, float]
):
    """The rows, the slider, the buttons; axe-core finds nothing in either theme."""
    page = opened(browser, saved, *size)
    narrow = page.locator(".wb-lab").get_attribute("data-columns") == "1"
    if narrow:
        page.locator(".wb-sides").get_by_role("button", name="Picture").click()
    pane = page.locator(".wb-machine")
    for level in LEVELS:
        to_level(page, level)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), level
        assert page.evaluate(BEYOND) == [] and page.evaluate(OVER) == 0, level
        body = pane.locator(".wb-body")
        assert body.evaluate("el => el.scrollWidth <= el.clientWidth"), level
        for part in (".wb-room", ".wb-track > input", ".wb-track-row"):
            shown = pane.locator(part).first
            shown.scroll_into_view_if_needed()
            box, room = shown.bounding_box(), body.bounding_box()
            assert box and room and box["height"] >= 12, (level, part)
            assert room["x"] <= box["x"] and box["x"] + box["width"] <= room["x"] + room["width"]
        for scheme in some("dark", "light"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            accessible(page, "html")
        shoot(page, f"nearer-saved-{size[0]}-{level}")
    page.close()


@pytest.mark.parametrize("level", LEVELS)
def test_on_paper_each_level_is_whole(browser: Browser, saved: Path, level: str):
    page = opened(browser, saved, 794, 1123)
    if page.locator(".wb-lab").get_attribute("data-columns") == "1":
        page.locator(".wb-sides").get_by_role("button", name="Picture").click()
    to_level(page, level)
    page.emulate_media(media="print")
    assert page.evaluate(CUT) == []
    plot = page.locator(".wb-track-plot > svg")
    box = plot.bounding_box()
    assert box and box["height"] >= 60 and box["x"] + box["width"] <= 794
    expect(page.locator(".wb-machine .wb-caption")).to_be_visible()
    shoot(page, f"nearer-paper-{level}")
    page.close()


def test_levels_work_in_a_frame_that_may_run_scripts_alone(browser: Browser, saved: Path):
    """As where a notebook's outputs stand in a sandbox, without same origin or storage."""
    page = browser.new_page(viewport={"width": 1100, "height": 900}, offline=True)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.set_content('<iframe sandbox="allow-scripts" style="width: 100%; height: 800px"></iframe>')
    page.locator("iframe").evaluate("(frame, html) => (frame.srcdoc = html)", saved.read_text())
    lab = page.frame_locator("iframe").locator(".wb-lab")
    said = lab.locator(".wb-track-said")
    for level, words in (
        ("warp", "computes C_init"),
        ("block", "of 2 warps"),
        ("whole", "blocks run"),
    ):
        lab.locator(f'[data-f="level {level}"]').click()
        expect(said).to_contain_text(words)
    assert not faults
    page.close()


def test_a_saved_page_is_used_by_keyboard_alone_and_nothing_moves_by_itself(
    browser: Browser, saved: Path
):
    """With less motion wished no button plays, nor Space; Tab and arrows lead to the time."""
    page = opened(browser, saved, 1400, 1000)
    page.emulate_media(reduced_motion="reduce")
    page.reload()
    lab = page.locator(".wb-lab")
    time, said = lab.get_by_label("time: timeline"), lab.locator(".wb-track-said")
    expect(lab.get_by_role("button", name=re.compile("^play"))).to_have_count(0)
    tab_to(page, lab.get_by_role("tab", name="timeline"))
    for _ in range(12):
        if time.evaluate("el => el === document.activeElement"):
            break
        page.keyboard.press("ArrowRight")
    expect(time).to_be_focused()
    page.keyboard.press("End")
    now = time.input_value()
    page.keyboard.press(" ")
    page.wait_for_timeout(200)
    assert time.input_value() == now
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(said).to_contain_text("lanes, bytes")  # the last thing that it does is a write
    for words in ("of 2 warps", "blocks run"):
        page.keyboard.press("Escape")
        expect(said).to_contain_text(words)
    expect(time).to_be_focused()
    page.close()


def to_level(page: Page, level: str) -> None:
    button = page.locator(f'[data-f="level {level}"]')
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".wb-track-plot .wb-room")).to_have_count(1)


def opened(browser: Browser, file: Path, width: int, height: int, scale: float = 1) -> Page:
    page = browser.new_page(
        viewport={"width": width, "height": height}, device_scale_factor=scale, offline=True
    )
    page.goto(file.as_uri())
    expect(page.locator(".wb-track")).to_be_attached()
    return page
