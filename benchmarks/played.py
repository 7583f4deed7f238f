"""play.html in a browser: ``python -m benchmarks.played``.

Says how long it takes from the address to the lab, for who comes first, and for who comes again;
then what a browser's own Python, and the reader of steps as text, make of 10,000 damaged links.
Needs Chromium and npm's pyodide, as ``python3 run.py test`` brings them. Ends with 1 where a link
raised anything else than a refusal in words, or took the processor more than 2 seconds.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.histories import histories
from benchmarks.links import DAMAGED, changed, ends
from tests.browser.jupyter import CHROMIUM_ARGS
from tests.browser.served import served
from tests.support import tools
from workbench.history.link import link
from workbench.widgets import static
from workbench.widgets.play.archive import sources
from workbench.widgets.play.page import page as play_page

LIMIT = 2000  # ms
WAIT = 300_000  # ms
BATCH = 250

# Opens links one after the other, in one Python: a page has one worker a link.
OPENS = """async (links) => {
  if (!window.begin) {
    const { loadPyodide } = await import('/pyodide/pyodide.mjs');
    const python = await loadPyodide({ indexURL: '/pyodide/' });
    const archive = await (await fetch('/workbench.zip')).arrayBuffer();
    python.unpackArchive(archive, 'zip', { extractDir: '/home/pyodide' });
    if (!python.loadedPackages.numpy)
      python.pyimport('workbench.widgets.play.without_numpy').stand_in();
    window.begin = python.pyimport('workbench.widgets.play.played').begin;
    window.stepsOf = (await import('/fragment.js')).stepsOf;
  }
  const found = [];
  for (const link of links) {
    const start = performance.now();
    let came = 'nothing told';
    try {
      const played = window.begin(link, 'https://example.org/play.html', (text) => {
        const { told, refused } = JSON.parse(text);
        came = told ? 'opened' : refused.headline && refused.hint ? 'refused' : text;
      });
      played?.destroy();
      await window.stepsOf(link.slice(link.lastIndexOf('#'))); // which shows none of a damaged one
    } catch (error) {
      came = String(error).slice(-300);
    }
    found.push([came, performance.now() - start]);
  }
  return found;
}"""


KEPT = "async () => (await (await caches.open('workbench-compiled')).keys()).length"


def visits(browser: Browser, url: str, number: int) -> Iterator[tuple[float, float]]:
    """Seconds from the address to the lab: of a first visit, and of one that comes again."""
    for _ in range(number):
        context = browser.new_context()
        page = context.new_page()
        cold = arrives(page, url)
        while not page.evaluate(KEPT):  # what Python compiled
            page.wait_for_timeout(200)
        yield cold, arrives(page, url)
        context.close()


def arrives(page: Page, url: str) -> float:
    """Seconds until the lab of `url` is drawn."""
    page.goto("about:blank")
    start = perf_counter()
    page.goto(url)
    page.locator(".wb-lab .wb-listing").first.wait_for(timeout=WAIT)
    return perf_counter() - start


def damaged(urls: list[str], number: int) -> Iterator[list[str]]:
    """Batches of damaged links."""
    every = [changed(seed, random.Random(seed).choice(urls)) for seed in range(number)]
    yield from (every[k : k + BATCH] for k in range(0, number, BATCH))


def main() -> int:
    """Measure, print, and say by the exit status whether all promises hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--damaged", type=int, default=DAMAGED)
    parser.add_argument("--visits", type=int, default=3)
    options = parser.parse_args()
    made = [max((link(node) for node in ends(sch)), key=len) for _, sch in histories()]
    counts: Counter[str] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as site:
        files: dict[str, Any] = {
            "play.html": play_page("pyodide/").encode(),
            "workbench.zip": sources(),
            "fragment.js": Path(static.__file__).with_name("fragment.js").read_bytes(),
            "blank.html": b"<!doctype html>",
        }
        for name, raw in files.items():
            (Path(folder) / name).write_bytes(raw)
        (Path(folder) / "pyodide").symlink_to(tools.need_pyodide())
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=tools.need("chromium"), args=CHROMIUM_ARGS
            )
            url = f"{site}/play.html#{made[0].partition('#')[2]}"
            for cold, again in visits(browser, url, options.visits):
                print(f"to the lab: {cold:.1f} s, again {again:.1f} s", flush=True)
            page = browser.new_page()
            page.goto(f"{site}/blank.html")
            for batch in damaged(made, options.damaged):
                for told, ms in page.evaluate(OPENS, batch):
                    counts[told] += 1
                    slowest = max(slowest, ms)
            browser.close()
    print(f"{options.damaged:,} damaged links: {dict(counts.most_common(12))}")
    print(f"slowest: {slowest:.0f} ms")
    return 1 if counts.keys() - {"opened", "refused"} or slowest > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
