"""How long the view of a search takes for a message: ``python -m benchmarks.search_view [trials]``.

A record of so many trials comes row by row, as many a message as a search of 40 trials a second has
in a quarter of one. Times are of Python, which makes a message, and of a browser: its script, with
styles and layout, and the whole to the end of the frame that shows it, which waits for the screen.
"""

from __future__ import annotations

import json
import shutil
import sys
from statistics import median
from time import perf_counter

from playwright.sync_api import sync_playwright

from tests.browser.jupyter import CHROMIUM_ARGS
from tests.browser.plain import Plain, plain_page
from tests.tuning.synthetic import lines_of
from workbench import tuning
from workbench.tuning import Lines
from workbench.widgets.search import Watching

ROWS = 10  # a message
PROMISED = 50.0  # ms for one
MESSAGES = 100  # that are looked at

# The style and layout of what a message changed is asked for, so that its time is told, too.
TIMED = """(news) => new Promise((done) => requestAnimationFrame(() => {
  const start = performance.now();
  window.hear(news);
  document.querySelector('.wb-search').getBoundingClientRect();
  const handled = performance.now() - start;
  requestAnimationFrame(() => setTimeout(() => done([handled, performance.now() - start])));
}))"""


def main(trials: int) -> int:
    """Print the times of the last messages of a search; 1 where one takes longer than promised."""
    whole = lines_of(trials)
    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGS)
        with plain_page(browser) as plain:
            python, seen, size = _followed(plain, whole)
        browser.close()
    page, drawn = zip(*seen, strict=True)
    for name, times in (("Python", python), ("script", page), ("to the frame drawn", drawn)):
        print(f"{name}: median {median(times):.1f} ms, most {max(times):.1f} ms a message")
    print(f"{trials:,} trials: the largest message has {max(size) / 1024:.0f} KB")
    return int(max(page) > PROMISED)


def _followed(plain: Plain, whole: Lines) -> tuple[list[float], list[list[float]], list[int]]:
    """Milliseconds of Python and of the browser, and bytes, of the last messages."""
    every, lines = whole.ended, Lines(whole.header)
    tried = tuning.show(lines)
    watching = Watching(tried, len(every))
    plain.show(watching.view)
    first = max(len(every) - MESSAGES * ROWS, 0)
    python, seen, size = [], [], []
    for start in (0, *range(first, len(every), ROWS)):
        for one in every[start : start + ROWS] if start else every[:first]:
            lines.add(one.trial)
            lines.add(one)
        begun = perf_counter()
        watching._tell()
        python.append(1e3 * (perf_counter() - begun))
        news = plain._taken()
        size.append(len(json.dumps(news)))
        seen.append(plain.page.evaluate(TIMED, news))
    return python[1:], seen[1:], size[1:]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
