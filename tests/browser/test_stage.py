"""Pictures that answer without Python: dragged, played, pointed at, nearer and farther."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, Locator, expect

import workbench as wb
from benchmarks.matmuls import blocking, blocking_with_shared, matmul
from tests.browser.plain import Plain
from tests.browser.test_lab import answer, cell, shoot
from tests.support.every import some
from tests.widgets.programs import ADD, bind_both, parse, send
from workbench import lesson


def tiles(root: Locator) -> Locator:
    """The pane of pictures, with the tiles in it."""
    tab = root.get_by_role("tab", name="tiles")
    if tab.count():
        tab.click()
    return root.locator(".wb-machine")


def spot(pane: Locator, buffer: str, across: float, down: float) -> tuple[float, float]:
    """A spot of the sheet of `buffer`, in px of the window, once it stays where it is."""
    sheet = pane.locator(f"g[data-name={buffer}] rect.wb-soft").filter(visible=True).first
    before = None
    for _ in range(30):
        sheet.scroll_into_view_if_needed()
        box = sheet.bounding_box()
        if box is not None and box == before:
            return box["x"] + across * box["width"], box["y"] + down * box["height"]
        before = box
        pane.page.wait_for_timeout(150)
    raise AssertionError(f"the sheet of {buffer} does not come to rest")


def outputs(pane: Locator) -> list[str]:
    """Where each loop stands."""
    told = pane.locator(".wb-loops option").all_text_contents()
    return [words.partition(" = ")[2] or "all" for words in told]


def chosen(pane: Locator, loop: str) -> Locator:
    """The slider of a loop, which is chosen beside it."""
    pane.locator(".wb-loops").select_option(loop)
    return pane.locator(".wb-slide input")


EDGES = """shapes => shapes.map((shape) => {
  const { stroke, strokeWidth, rx } = getComputedStyle(shape);
  return [stroke, strokeWidth, rx];
})"""


def test_the_cell_that_is_asked_about_and_the_tile_of_a_block_are_seen_as_chosen(plain: Plain):
    choices = ("block 1, thread 1", "time step 5")
    question = lesson.who_computes("C", 5, choices, steps="both")
    one = wb.lab(parse(ADD), question=question)
    bind_both(one)
    send(one, do="answer", name=question.name, choice=0)
    sch = wb.Schedule(matmul(64))
    blocking_with_shared(sch, 4, 4, 4, 4, 4)
    asked, tiled = plain.open([one, wb.lab(sch, panes=["tiles"])]).locator(".wb-lab").all()
    for scheme, who in (("light", "rgb(0, 121, 107)"), ("dark", "rgb(79, 209, 184)")):
        plain.dark(scheme == "dark")
        for lab in (asked, tiled):
            expect(lab.locator(".wb-strips [data-name=C] .wb-chosen").first).to_be_visible()
            edges = lab.locator(".wb-strips [data-name=C] .wb-chosen").evaluate_all(EDGES)
            assert {tuple(edge) for edge in edges} == {(who, "2px", "auto")}
            shoot(lab, f"chosen-{scheme}-{'cell' if lab is asked else 'tile'}")
    cells = asked.locator(".wb-strips [data-cell] rect")
    expect(cells).to_have_count(8)
    assert {rx for _, _, rx in cells.evaluate_all(EDGES)} == {"auto"}, "right corners"


def test_a_tile_is_dragged_and_a_cell_pointed_at_in_lesson_4(plain: Plain):
    lab = plain.run_cells("04_shared_blocking.ipynb", 6).locator(".wb-lab").last
    answer(lab)
    pane = tiles(lab)
    for level in ("thread", "registers", "block", "whole"):
        button = pane.get_by_role("button", name=level, exact=True)
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(pane.locator(".wb-strips > svg").filter(visible=True)).to_have_count(1)
    expect(pane.locator(".wb-caption")).to_contain_text("threadIdx.x = 0")

    mouse = plain.page.mouse
    mouse.move(*spot(pane, "C", 0.8, 0.7))
    expect(pane.locator(".wb-told-cell")).to_have_text("C[5, 6] · block (1, 1) · thread 1")
    assert pane.locator(".wb-pointing .wb-new").count() == 3, "its row, its column, and itself"
    lit = lab.locator(".wb-program .wb-pointed").all_inner_texts()
    assert {"C_local", "i_0", "j_0", "i_1_j_1_fused"} <= set(lit)
    for scheme in some("dark", "light"):
        plain.dark(scheme == "dark")
        mouse.move(*spot(pane, "C", 0.8, 0.7))  # a theme moves things a little
        expect(pane.locator(".wb-pointing .wb-new")).to_have_count(3)
        shoot(lab, f"pointed-{scheme}")
    mouse.down()
    mouse.move(*spot(pane, "C", 0.3, 0.3), steps=4)
    expect(pane.locator(".wb-caption")).to_contain_text("blockIdx.y = 0, threadIdx.x = 3:")
    mouse.move(*spot(pane, "C", 0.3, 0.9), steps=4)
    mouse.up()
    expect(pane.locator(".wb-caption")).to_contain_text("blockIdx.y = 1, threadIdx.x = 3:")
    pane.locator(".wb-saying summary").click()
    expect(pane.locator("table")).to_contain_text("C[6:8, 2:4]")
    mouse.move(0, 0)
    expect(lab.locator(".wb-pointed")).to_have_count(0)


def test_a_saved_page_drags_plays_and_points(browser: Browser, tmp_path: Path):
    sch = blocking(wb.Schedule(matmul(64)), 2, 2, 4, 4, 4, keep=True)
    last = wb.Schedule(sch.func)  # the page has no steps on the way there, which take seconds
    wb.lab(last, panes=["tiles", "who"]).to_html(tmp_path / "lab.html")
    context = browser.new_context(viewport={"width": 1250, "height": 1500}, offline=True)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto((tmp_path / "lab.html").as_uri())
    pane = tiles(page.locator(".wb-lab"))
    pane.get_by_role("button", name="thread", exact=True).click()
    assert outputs(pane)[:4] == ["0", "0", "0", "0"]
    pane.get_by_role("button", name="whole", exact=True).click()

    page.mouse.move(*spot(pane, "C", 0.1, 0.1))
    page.mouse.down()
    page.mouse.move(*spot(pane, "C", 0.985, 0.612), steps=5)
    page.mouse.up()
    assert outputs(pane)[:4] == ["7", "4", "3", "3"]
    expect(pane.locator(".wb-caption")).to_contain_text(
        "With blockIdx.x = 7, blockIdx.y = 4, threadIdx.x = 3, threadIdx.y = 3:"
    )
    told = re.compile(r"C\[3[89], 6[23]\] · block \(7, 4\) · thread \(3, 3\)")
    expect(pane.locator(".wb-told-cell")).to_have_text(told)

    chosen(pane, "blockIdx.x").press("Home")  # all of them
    chosen(pane, "blockIdx.y")
    pane.get_by_role("button", name="play: blockIdx.y").click()
    expect(pane.locator(".wb-slide output")).to_have_text("7", timeout=8_000)
    pane.get_by_role("button", name="one back: blockIdx.y").click()
    expect(pane.locator(".wb-slide output")).to_have_text("6")
    pane.get_by_role("button", name="one on: blockIdx.y").click()
    expect(pane.locator(".wb-caption")).to_contain_text("blockIdx.y = 7")
    expect(pane.get_by_role("button", name="one on: blockIdx.y")).to_be_disabled()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        shoot(page, f"saved-tiles-{scheme}")
    assert not faults
    context.close()


def test_a_level_that_does_not_slide_is_shown_for_what_it_was_drawn(
    browser: Browser, tmp_path: Path
):
    """Of shared memory a thread writes one part and reads another: these do not move as one."""
    sch = blocking_with_shared(wb.Schedule(matmul(16)), 2, 2, 2, 2, 4)
    lab = wb.lab(wb.Schedule(sch.func), panes=["tiles"])
    lab.to_html(tmp_path / "lab.html")
    page = browser.new_page(viewport={"width": 1250, "height": 1500})
    page.goto((tmp_path / "lab.html").as_uri())
    pane = tiles(page.locator(".wb-lab"))
    chosen(pane, "blockIdx.x").press("End")
    expect(pane.locator(".wb-slide output")).to_have_text("3")
    thread = pane.get_by_role("button", name="thread", exact=True)
    thread.click()
    expect(thread).to_have_attribute("aria-pressed", "true")
    assert outputs(pane)[:3] == ["0", "0", "0"]
    expect(pane.locator(".wb-caption")).to_contain_text("threadIdx.x = 0")
    pane.get_by_role("button", name="whole", exact=True).click()
    chosen(pane, "blockIdx.y").press("End")
    expect(pane.locator(".wb-slide output")).to_have_text("3")
    page.close()


def test_a_cell_of_who_does_what_lights_up_its_block(browser: Browser, tmp_path: Path):
    lab = wb.lab(parse(ADD), panes=["who"])
    bind_both(lab)
    lab.to_html(tmp_path / "lab.html")
    page = browser.new_page(viewport={"width": 1250, "height": 1000})
    page.goto((tmp_path / "lab.html").as_uri())
    root = page.locator(".wb-lab")
    cell(root, "C[5]").hover()
    expect(root.locator("g[data-with~=block]")).to_have_count(4)
    expect(root.locator("g[data-with~=thread]")).to_have_count(1)
    lit = root.locator(".wb-program .wb-pointed").all_inner_texts()
    assert {"i_0", "i_1", "C"} <= set(lit)
    shoot(page, "who-pointed")
    page.close()
