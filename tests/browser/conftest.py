"""One browser, and one JupyterLab in one page of it, for the tests of this folder.

Not for the whole run: Playwright keeps an event loop of its own running in the thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, Request, expect, sync_playwright

from tests.browser.jupyter import (
    CHROMIUM_ARGS,
    ROOT,
    Server,
    dark,
    jupyterlab,
    leave,
    open_lab,
)
from tests.browser.plain import SIZE, Plain, plain_page

expect.set_options(timeout=20_000)  # ms: what comes late on a busy machine comes

LESSONS = sorted((ROOT / "lessons").glob("*.ipynb"))


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """JupyterLab over the lessons."""
    with jupyterlab(tmp_path_factory.mktemp("jupyter"), LESSONS) as running:
        yield running


@pytest.fixture(scope="package")
def browser(chromium: str) -> Iterator[Browser]:
    """Headless Chromium."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium, headless=True, args=CHROMIUM_ARGS
        )
        yield started
        started.close()


@pytest.fixture(scope="package")
def jupyter_page(browser: Browser, server: Server) -> Iterator[Page]:
    """JupyterLab, loaded once: that costs more than most tests do in it."""
    context = browser.new_context(viewport=SIZE, reduced_motion="reduce")
    context.set_default_timeout(10_000)
    page = context.new_page()
    open_lab(page, server)
    yield page
    context.close()


@pytest.fixture
def lab_page(jupyter_page: Page, server: Server) -> Iterator[Page]:
    """JupyterLab in a page of 1400 px; fails on any fault in it and any request elsewhere."""
    page = jupyter_page
    faults: list[str] = []
    elsewhere: list[str] = []
    own = (server.base, server.base.replace("http", "ws"), "data:", "blob:")

    def hear_fault(error: Error) -> None:
        faults.extend(_ours(error))

    def hear_request(request: Request) -> None:
        elsewhere.extend([] if request.url.startswith(own) else [request.url])

    page.on("pageerror", hear_fault)
    page.on("request", hear_request)
    yield page
    leave(page, server)
    page.set_viewport_size(SIZE)
    dark(page, False)
    page.remove_listener("pageerror", hear_fault)
    page.remove_listener("request", hear_request)
    for saved in Path(server.root).glob("my-work/*.json"):
        saved.unlink()  # the next test is not to be offered what this one did
    assert not faults, faults
    assert not elsewhere, elsewhere


@pytest.fixture(scope="package")
def plain_tab(browser: Browser) -> Iterator[Plain]:
    """A plain page for labs, opened once."""
    with plain_page(browser) as opened:
        yield opened


@pytest.fixture
def plain(plain_tab: Plain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plain]:
    """A plain page for labs, with Python behind it: most of a lab needs no JupyterLab.

    Its labs keep their steps in a folder of the test's own; fails on any fault in the page.
    """
    monkeypatch.chdir(tmp_path)
    yield plain_tab
    faults = [*plain_tab.faults]
    plain_tab.clear()
    assert not faults, faults


def _ours(error: Error) -> list[str]:
    """The fault, unless no line of it is the lab's: its module has an address that starts so.

    Nor is it a fault that anywidget, which gives a model 2 s to begin, had too little on a busy
    machine: what a test expects of that lab, it waits for.
    """
    stack = error.stack or str(error)
    if "[anywidget] Failed to initialize model" in stack:
        return []
    return [stack] if "blob:" in stack or "/static/lab/" not in stack else []
