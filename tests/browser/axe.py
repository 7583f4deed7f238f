"""What axe-core finds wrong in a part of a page."""

from __future__ import annotations

from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from playwright.sync_api import Page

# One-minute switches of the check that do not concern a part of a page.
OPTIONS = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    "resultTypes": ["violations"],
}


def accessible(page: Page, within: str = ".wb-lab") -> None:
    """Nothing that axe-core finds wrong in what the selector `within` names.

    What contrast each word has takes a second a lab: what opens in one that was looked at is looked
    at alone.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    run = "([within, options]) => axe.run(within, options)"
    found = AxeResults(page.evaluate(run, [within, OPTIONS]))
    assert found.violations_count == 0, found.generate_report()
