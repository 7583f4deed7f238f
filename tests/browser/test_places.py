"""A saved lab on paper, at 200 % zoom, in frames that grow with it; its pictures use the room."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.browser.axe import accessible
from tests.browser.plain import HOST, Plain
from tests.browser.test_lab import shoot
from tests.support.every import some
from tests.widgets.programs import ADD, parse
from workbench.schedule import Schedule
from workbench.widgets import static

PICTURES = ("who does what", "memory", "tiles")

# What of the lab is wider than it, or is cut off at the side without a way to scroll to it.
BEYOND = """() => {
  const lab = document.querySelector('.wb-lab').getBoundingClientRect();
  const shown = [...document.querySelectorAll('.wb-lab :is(button, input, select, summary)')]
    .filter((el) => el.checkVisibility() && !el.closest('.wb-chain'));
  return shown.map((el) => [el.outerHTML.slice(0, 90), el.getBoundingClientRect()])
    .filter(([, box]) => box.left < lab.left - 1 || box.right > lab.right + 1)
    .map(([words]) => words);
}"""
# Which of what stands in the lab's rows lie over each other.
OVER = """() => {
  const rows = '.wb-top, .wb-stage, .wb-costs, .wb-history, .wb-acts';
  const boxes = [...document.querySelectorAll(rows)].map((el) => el.getBoundingClientRect());
  return boxes.slice(1).filter((box, k) => box.top < boxes[k].bottom - 1).length;
}"""
# Panes that do not show all that is in them.
CUT = """() => [...document.querySelectorAll('.wb-lab, .wb-lab :is(.wb-top, .wb-body, .wb-listing, \
.wb-text, .wb-notes, .wb-told, .wb-chain, .wb-said)')]
  .filter((el) => el.checkVisibility() && (el.scrollHeight > el.clientHeight + 2
    || el.scrollWidth > el.clientWidth + 2) && getComputedStyle(el).overflow !== 'visible')
  .map((el) => el.className)"""


# Whether a thing is whole in the window of its frame.
WITHIN = """(html, selector) => {
  const box = html.querySelector(selector).getBoundingClientRect();
  return box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight && box.right <= innerWidth;
}"""
HTML = "text/html; charset=utf-8"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a long program with many steps, run."""
    lab = wb.lab(blocking_with_shared(Schedule(matmul(16)), 2, 2, 2, 2, 4))
    lab.run()
    file = tmp_path_factory.mktemp("saved") / "lab.html"
    lab.to_html(file)
    return file


def opened(browser: Browser, file: Path, width: int, height: int, scale: float = 1) -> Page:
    page = browser.new_page(
        viewport={"width": width, "height": height}, device_scale_factor=scale, offline=True
    )
    page.goto(file.as_uri())
    expect(page.locator(".wb-listing").first).to_be_attached()
    return page


def choose(page: Page, picture: str) -> None:
    tab = page.get_by_role("tab", name=picture, exact=True)
    if not tab.count():
        page.locator(".wb-machine > .wb-more").click()
    tab.click()
    expect(tab).to_have_attribute("aria-selected", "true")


SIZES = [*some((640, 360, 2), (400, 800, 1), (700, 800, 1)), (1100, 800, 1)]


@pytest.mark.parametrize("size", SIZES)
def test_zoomed_and_in_narrow_frames_nothing_is_cut_off(
    browser: Browser, saved: Path, size: tuple[int, int, float]
):
    page = opened(browser, saved, *size)
    narrow = size[0] < 770
    expect(page.locator(".wb-lab")).to_have_attribute("data-columns", "1" if narrow else "2")
    for side in ("Program", "Picture"):
        if narrow:
            page.locator(".wb-sides").get_by_role("button", name=side).click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), side
        assert page.evaluate(BEYOND) == [] and page.evaluate(OVER) == 0
        body = page.locator(f".wb-{'program' if side == 'Program' else 'machine'} .wb-body")
        assert body.evaluate("el => el.clientHeight") >= 100, side
        shoot(page, f"places-{size[0]}-{side}")
        accessible(page, "html")
    page.close()


def test_in_a_frame_that_grows_with_it_the_lab_is_640_px(browser: Browser, saved: Path):
    """As in Colab and VS Code: the frame is as tall as what is in it, and does not feed on that."""
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.set_content('<iframe sandbox="allow-scripts" style="width: 100%; height: 150px"></iframe>')
    page.locator("iframe").evaluate(
        "(frame, html) => { frame.srcdoc = html + `<script>new ResizeObserver(() => "
        "parent.postMessage(document.documentElement.scrollHeight, '*')).observe(document.body)"
        "</` + `script>`; window.onmessage = (event) => { frame.style.height = event.data + 'px';"
        " }; }",
        saved.read_text(),
    )
    lab = page.frame_locator("iframe").locator(".wb-lab")
    for width, columns in ((1100, "2"), (700, "1"), (400, "1")):
        page.set_viewport_size({"width": width, "height": 900})
        expect(lab).to_have_attribute("data-columns", columns)
        expect(lab).to_have_css("height", "640px")
    page.close()


# A page of another origin in which a lab is live; it says how tall it is.
FOREIGN = """<!doctype html><html><body style="margin: 8px"><script type="module">
%s
await (%s)(openLab, %d);
new ResizeObserver(() => parent.postMessage(document.documentElement.scrollHeight, "*"))
  .observe(document.body);
</script><style>%s</style></body></html>"""


def live(page: Page, lab: wb.widgets.Lab) -> FrameLocator:
    """The lab in a sandboxed frame of another origin, which grows with it; Python answers."""
    script = static.script().replace("export default", "void")
    html = FOREIGN % (script, HOST, Plain(page).add(lab), static.style())
    page.route("https://outputs.test/", lambda route: route.fulfill(body=html, content_type=HTML))
    page.set_content(
        '<iframe sandbox="allow-scripts" style="width: 100%; height: 150px; border: 0"></iframe>'
    )
    page.locator("iframe").evaluate(
        "(frame) => { window.onmessage = (event) => { frame.style.height = event.data + 'px'; };"
        " frame.src = 'https://outputs.test/'; }"
    )
    return page.frame_locator("iframe")


@pytest.mark.parametrize("height", [None, 500])
def test_in_a_sandboxed_frame_of_another_origin_a_lab_is_live(
    browser: Browser, tmp_path: Path, height: int | None
):
    """As in Colab: by mouse and by keyboard, with its menus whole, and saved as it goes."""
    kept = tmp_path / "kept.json"
    lab = wb.lab(parse(ADD), actions=["split", "bind"], height=height, autosave=kept)
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    frame = live(page, lab)
    root, menu = frame.locator(".wb-lab"), frame.locator(".wb-menu")
    expect(root).to_have_css("height", f"{height or 640}px")
    expect(root).to_have_attribute("data-columns", "2")
    expect(frame.locator(".wb-screen")).to_be_hidden()  # the frame is not allowed it

    frame.locator(".wb-program .wb-mark").get_by_text("i", exact=True).first.click()
    expect(menu.locator("h4")).to_have_text("loop i")
    menu.locator(".wb-verb", has_text="split").click()
    frame.get_by_label("factors", exact=True).fill("[2, 3]")
    menu.locator("button[type=submit]").click()
    expect(menu.locator(".wb-error")).to_contain_text("6 of 8")
    assert frame.locator("html").evaluate(WITHIN, ".wb-menu")
    frame.get_by_label("factors", exact=True).fill("[2, 4]")
    page.keyboard.press("Enter")
    expect(menu).to_be_hidden()
    expect(frame.locator(".wb-link")).to_have_count(2)

    frame.locator(".wb-place", has_text="loop i_1").focus()
    page.keyboard.press("Enter")
    expect(menu.locator(".wb-verb", has_text="split")).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    frame.locator(".wb-all").click()
    expect(frame.locator(".wb-steps")).to_be_visible()
    assert frame.locator("html").evaluate(WITHIN, ".wb-steps")
    page.keyboard.press("Escape")
    expect(frame.locator(".wb-steps")).to_be_hidden()
    frame.locator(".wb-run .wb-go").click()
    expect(frame.locator(".wb-result")).to_be_visible(timeout=30_000)
    expect(root).to_have_css("height", f"{height or 640}px")
    assert "split" in kept.read_text(encoding="utf-8")
    assert len(lab.history) == 2 and not faults
    page.close()


@pytest.mark.parametrize("scheme", some("dark", "light"))
@pytest.mark.parametrize("picture", PICTURES)
def test_on_paper_all_of_it_is_read(browser: Browser, saved: Path, scheme: str, picture: str):
    page = opened(browser, saved, 794, 1123)
    page.emulate_media(color_scheme=scheme, media="screen")  # type: ignore[arg-type]
    page.locator(".wb-lab").evaluate("lab => lab.style.setProperty('--jp-ui-font-color1', '#eee')")
    choose(page, picture)
    steps = page.locator(".wb-link")
    page.emulate_media(media="print")
    expect(page.locator(".wb-fold .wb-unfold").filter(visible=True)).to_have_count(0)
    assert page.evaluate(CUT) == []
    for part in (".wb-listing", ".wb-machine svg", ".wb-caption", ".wb-verdict", ".wb-costs"):
        expect(page.locator(part).filter(visible=True).first).to_be_visible()
    expect(steps.filter(visible=True)).to_have_count(steps.count())
    lines = page.locator(".wb-program .wb-line")
    expect(lines.filter(visible=True)).to_have_count(lines.count())
    expect(page.locator(".wb-listing").first).to_have_css("color", "rgb(0, 0, 0)")
    shoot(page.locator(".wb-lab"), f"paper-{scheme}-{picture.replace(' ', '-')}")
    page.close()


def test_pictures_use_the_room_that_there_is(browser: Browser, saved: Path):
    """They meet their pane on one side, and are larger at 1400 x 900 than at 1280 x 720."""
    widths = {}
    for width, height in ((829, 566), (949, 747)):
        page = opened(browser, saved, width + 16, height + 60)
        page.add_style_tag(content=f".wb-lab {{ height: {height}px !important }}")
        for picture in PICTURES:
            choose(page, picture)
            drawing = page.locator(".wb-strips > svg").filter(visible=True).first
            pane = page.locator(".wb-machine .wb-body")
            box, room = drawing.bounding_box(), pane.bounding_box()
            assert box and room
            assert max(box[side] / room[side] for side in ("width", "height")) > 0.95, picture
            widths[picture, width] = box["width"]
            assert pane.evaluate("el => el.scrollWidth <= el.clientWidth"), picture
            shoot(page, f"room-{width}-{picture.replace(' ', '-')}")
        page.close()
    assert all(widths[picture, 949] > widths[picture, 829] * 1.1 for picture in PICTURES), widths


# How tall the smallest words of a picture's drawings are on the screen, in px.
LETTERS = """() => Math.min(...[...document.querySelectorAll('.wb-strips > svg text')]
  .filter((words) => words.checkVisibility() && !words.matches('.wb-chip ~ *, .wb-room ~ *'))
  .map((words) => parseFloat(getComputedStyle(words).fontSize) * words.getScreenCTM().a))"""


# The names of buffers and blocks that are wider than the box that they stand in.
WIDER = """() => [...document.querySelectorAll('.wb-strips > svg .wb-chip ~ .wb-name')]
  .filter((name) => name.checkVisibility())
  .map((name) => [name, name.parentNode.querySelector('.wb-chip')])
  .filter(([name, box]) => name.getBoundingClientRect().width > box.getBoundingClientRect().width)
  .map(([name]) => name.textContent)"""


def test_words_stay_as_tall_where_a_picture_shrinks(browser: Browser, saved: Path):
    """But for those that have no room for that: they stay in their boxes."""
    page = opened(browser, saved, 829 + 16, 700)
    page.add_style_tag(content=".wb-lab { height: 500px !important }")
    shrunk = 0
    for picture in PICTURES:
        choose(page, picture)
        drawing = page.locator(".wb-strips > svg").filter(visible=True).first
        box, natural = drawing.bounding_box(), drawing.get_attribute("width")
        shrunk += box["width"] < float(natural) - 10
        page.wait_for_function(f"({LETTERS})() > 11.9")
        assert page.evaluate(WIDER) == []
    assert shrunk
    page.close()
