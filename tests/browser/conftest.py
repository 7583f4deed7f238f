"""One JupyterLab and one browser for a file of tests; a page each.

Not for the whole run: Playwright keeps an event loop of its own running in the thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, sync_playwright

from tests.browser.jupyter import CHROMIUM_ARGS, CLOSE, ROOT, Server, jupyterlab, open_lab


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """JupyterLab over the lessons."""
    lessons = sorted((ROOT / "lessons").glob("*.ipynb"))
    with jupyterlab(tmp_path_factory.mktemp("jupyter"), lessons) as running:
        yield running


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Headless Chromium."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium, headless=True, args=CHROMIUM_ARGS
        )
        yield started
        started.close()


@pytest.fixture
def lab_page(browser: Browser, server: Server) -> Iterator[Page]:
    """JupyterLab in a page of 1400 px; fails on any fault in it and any request elsewhere."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, reduced_motion="reduce")
    context.set_default_timeout(10_000)
    page = context.new_page()
    faults: list[str] = []
    elsewhere: list[str] = []
    page.on("pageerror", lambda error: faults.extend(_ours(error)))
    own = (server.base, server.base.replace("http", "ws"), "data:", "blob:")
    page.on("request", lambda r: None if r.url.startswith(own) else elsewhere.append(r.url))
    open_lab(page, server)
    yield page
    page.evaluate(CLOSE)
    context.close()
    for saved in Path(server.root).glob("my-work/*.json"):
        saved.unlink()  # the next test is not to be offered what this one did
    assert not faults, faults
    assert not elsewhere, elsewhere


def _ours(error: Error) -> list[str]:
    """The fault, unless no line of it is the lab's: its module has an address that starts so."""
    stack = error.stack or str(error)
    return [stack] if "blob:" in stack or "/static/lab/" not in stack else []
