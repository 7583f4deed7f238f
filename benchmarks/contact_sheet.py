"""Ten states of labs in both themes and three sizes on one page: ``benchmarks.contact_sheet FILE``.

``python -m benchmarks.contact_sheet sheet.png`` writes a picture for people to look at: a row a
state, light and dark beside each other for each size of `benchmarks.panes`. Names of states after
the file leave the others out.
"""

from __future__ import annotations

import argparse
import base64
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from html import escape
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Locator, expect, sync_playwright

from benchmarks.panes import SIZES
from tests.browser.jupyter import CHROMIUM_ARGS, ROOT
from tests.browser.plain import Plain, labs_of, plain_page
from tests.support import tools

WIDE = 560  # px of a shot on the sheet
SETTLED = "() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))"


def _as_opened(lab: Locator) -> None:
    pass


def _compared(lab: Locator) -> None:
    button = lab.get_by_role("button", name="compare with the step before")
    if button.is_visible():  # the lab itself keeps what it is compared with
        button.click()
    expect(lab.locator(".wb-compare")).to_be_visible()


def _answered(lab: Locator) -> None:
    given = lab.locator(".wb-given")
    if not given.count():  # the lab itself keeps what was answered
        lab.locator(".wb-answer input").first.check()
    expect(given).not_to_have_count(0)


def _menu(lab: Locator) -> None:
    lab.locator(".wb-place").first.click()
    expect(lab.locator(".wb-menu")).to_be_visible()


def _costs(lab: Locator) -> None:
    lab.locator(".wb-bar-of-time").click()
    expect(lab.locator(".wb-opened")).to_be_visible()


class State(NamedTuple):
    """A lab of a lesson by its number, the picture that is open, and what is done then."""

    lesson: str
    lab: int
    pane: str
    act: Callable[[Locator], None] = _as_opened


STATES = {
    "a question on who computes a cell": State("01", 0, "who"),
    "a block's tiles": State("03", 8, "tiles"),
    "memory by bytes": State("04", 5, "memory"),
    "memory by time": State("04", 4, "memory"),
    "a comparison": State("04", 4, "tiles", _compared),
    "a menu": State("03", 3, "tiles", _menu),
    "the opened cost bar": State("04", 4, "tiles", _costs),
    "banks": State("08", 6, "banks", _answered),
    "a pipeline": State("09", 2, "pipeline", _answered),
    "fragments": State("11", 0, "fragments", _answered),
}


def shots(plain: Plain, state: State) -> Iterator[bytes]:
    """A state in light and dark for each size."""
    with redirect_stdout(StringIO()):
        labs = labs_of(next((ROOT / "lessons").glob(f"{state.lesson}_*.ipynb")), 10_000)
    lab = labs[state.lab]
    for size, room in SIZES.items():
        for dark in (False, True):
            plain.clear()
            plain.page.set_viewport_size(room)
            plain.dark(dark)
            root = plain.open([lab]).locator(".wb-lab")
            expect(root.locator(".wb-listing").first).to_be_attached()
            if size == "full":
                root.locator(".wb-screen").click()
            tab = root.locator(".wb-machine").get_by_role(
                "tab", name=lab.setup["labels"][state.pane]
            )
            if tab.is_visible():
                tab.click()
            state.act(root)
            plain.page.evaluate(SETTLED)
            yield plain.page.screenshot()


def options(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The file, and the states that are on the sheet."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="the picture that is written, such as sheet.png")
    parser.add_argument("states", nargs="*", help=f"leaves the others out: {', '.join(STATES)}")
    found = parser.parse_args(given)
    if unknown := [name for name in found.states if name not in STATES]:
        parser.error(f"there is no state {unknown[0]!r}; there are: {', '.join(STATES)}")
    return found


def main() -> int:
    """Write the sheet to the file that is named."""
    asked = options()
    file = asked.file.resolve()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        chromium = tools.need("chromium")
        started = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        os.chdir(folder)  # where labs keep their steps
        rows = []
        with plain_page(started) as plain:
            for name, state in STATES.items():
                if asked.states and name not in asked.states:
                    continue
                print(name, flush=True)
                rows.append((name, list(shots(plain, state))))
        sheet = started.new_page(viewport={"width": 6 * WIDE + 40, "height": 800})
        sheet.set_content(
            "<style>h2 { font: 20px sans-serif } .row { display: flex; align-items: start }</style>"
            + "".join(_row(name, made) for name, made in rows)
        )
        sheet.screenshot(path=file, full_page=True)
        started.close()
    return 0


def _row(name: str, made: list[bytes]) -> str:
    shown = "".join(
        f'<img width="{WIDE}" src="data:image/png;base64,{base64.b64encode(one).decode()}">'
        for one in made
    )
    return f'<h2>{escape(name)}</h2><p class="row">{shown}</p>'


if __name__ == "__main__":
    sys.exit(main())
