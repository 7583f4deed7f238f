"""The labs of the lessons, as they are laid out: all is in view, numbers whole, code code."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import workbench as wb
from tests.browser.jupyter import ROOT
from tests.browser.plain import Plain, labs_of
from tests.browser.test_frame import clean, comes, each_step_is_seen, seen_together, until
from tests.browser.test_lab import answer, shoot
from tests.support.every import EVERY
from workbench.widgets.ask.session import SHOWN
from workbench.widgets.page.view import MACHINE_PANES
from workbench.widgets.still import static_form

LESSONS = sorted((ROOT / "lessons").glob("[01]*.ipynb"))[1:]
WIDTHS = (949, 829, 360)  # the widest first, where all tabs stand

FAULTS = r"""() => {
  const faults = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = texts.nextNode()); ) {
    const el = node.parentElement;
    if (el.closest('pre, code, style, script')) continue;
    if (node.data.includes('`')) faults.push('a backtick: ' + node.data);
    const number = /\d(?:[\d.,\/]*\d)?(?:[ \u00a0](?:[KMGT]?i?B|bytes?|[nµm]?s|[MG]Hz)\b)?/g;
    for (let found; (found = number.exec(node.data)); ) {
      const range = document.createRange();
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      const lines = [...range.getClientRects()].filter((r) => r.width).map((r) => r.top);
      if (Math.max(...lines) - Math.min(...lines) > 4) faults.push(`${found[0]} of ${node.data}`);
    }
  }
  return faults;
}"""

# Takes all labs but one off the panel: axe-core takes as long as the page is large.
ALONE = "(panel, lab) => panel.replaceChildren([...panel.children].find((c) => c.contains(lab)))"


@pytest.fixture(scope="module", params=LESSONS, ids=lambda path: path.stem[:2])
def labs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[wb.widgets.Lab]:
    """The labs that the cells of a lesson open."""
    with pytest.MonkeyPatch.context() as change:
        change.chdir(tmp_path_factory.mktemp("lesson"))
        opened = labs_of(request.param, 99)
    assert opened
    return opened


def test_what_belongs_together_is_in_view(plain: Plain, labs: list[wb.widgets.Lab]):
    """In a panel as JupyterLab has it on a small screen: of each lab, as it comes; of the longest,
    at its first and its last step. Numbers are whole there, too, and code is marked.
    """
    plain.page.set_viewport_size({"width": WIDTHS[0], "height": 599})
    plain.open(labs)
    pages = plain.page.locator(".wb-lab").all()
    for k, page in enumerate(pages):
        until(lambda page=page: comes(page), f"lab {k} comes into view")
        seen_together(page, f"lab {k} as it comes")
    assert plain.page.evaluate(FAULTS) == []
    longest = max(pages, key=lambda page: page.locator(".wb-link").count())
    until(lambda: comes(longest), "the longest comes into view")
    if longest.locator(".wb-answer input:enabled").count():
        answer(longest)
    each_step_is_seen(longest, "the longest")
    plain.page.locator("#panel").evaluate(ALONE, longest.element_handle())
    clean(plain.page.locator(".wb-lab"))


@pytest.mark.parametrize(
    "labs", LESSONS if EVERY else LESSONS[1:2], ids=lambda path: path.stem[:2], indirect=True
)
def test_numbers_stay_whole_and_code_is_marked(
    browser: Browser, labs: list[wb.widgets.Lab], tmp_path: Path, request: pytest.FixtureRequest
):
    """Each tab at every width; looked at shortly, of one lesson, and each at one of them."""
    page = browser.new_page(offline=True)
    for k, lab in enumerate(labs):
        file = tmp_path / f"{k}.html"
        file.write_text(static_form.offline_page("lab", shown(lab), ""))
        page.goto(file.as_uri())
        expect(page.locator(".wb-pane").filter(visible=True).first).to_be_visible()
        if page.locator(".wb-compare").filter(visible=True).count():
            for width in WIDTHS:  # a saved comparison has its one picture, and no tabs
                set_width(page, width)
                assert page.evaluate(FAULTS) == [], (k, width)
            continue
        for turn, name in enumerate(("who does what", *MACHINE_PANES[1:]), k):
            set_width(page, WIDTHS[0])
            tab = page.get_by_role("tab", name=name, exact=True)
            if not tab.count():
                page.locator(".wb-machine > .wb-more").click()
            tab.click()
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
            for width in WIDTHS if EVERY else (WIDTHS[turn % 3],):
                set_width(page, width)
                assert page.evaluate(FAULTS) == [], (k, name, width)
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
                shoot(page, f"text-{request.node.callspec.id}-{k}-{name}-{width}")
    page.close()


def set_width(page: Page, width: int) -> None:
    """Make the page so wide, and wait until its lab is laid out for that."""
    page.set_viewport_size({"width": width, "height": 1000})
    columns = "1" if width < 760 else "2"
    expect(page.locator(".wb-lab")).to_have_attribute("data-columns", columns)


def shown(lab: wb.widgets.Lab) -> dict[str, object]:
    """The traits of a saved page of where the lab is: run, compared, with every picture."""
    lab.run()
    lab.against = 0 if lab.at else -1
    for machine in MACHINE_PANES:
        lab.view = {**lab.view, "machine": machine}
    state = lab.get_state()
    kept = {name for name in state if name in SHOWN or name.startswith(("page_", "compare_"))}
    return {name: state[name] for name in kept} | {"setup": {**lab.setup, "offline": True}}
