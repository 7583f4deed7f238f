"""write_page: play.html, which opens links with a browser's own Python, and no server of ours."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from workbench.diag import Fail
from workbench.history.write_whole import write_whole
from workbench.widgets import static
from workbench.widgets.play.archive import sources

PYODIDE = "https://cdn.jsdelivr.net/pyodide/v314.0.7/full/"
"""Where a page fetches Python from that is told nothing else: Pyodide 314.0.7, with NumPy."""

SECONDS = 10  # that Python, once it is there, may take to read a link and take its steps

# A folder, whole or beside the page. It stands in the page's rules of what may be fetched, so that
# nothing in it may end a rule or begin another.
_FOLDER = re.compile(r"(?:https?://[\w.-]+(?::\d+)?/)?(?:[\w.~-]+/)*", re.ASCII)


def write_page(path: str | Path, pyodide: str = PYODIDE) -> None:
    """Write to `path` a page that opens links, with Python fetched from the folder `pyodide`.

    It holds the package, so that any web server can hand it out as it is. Raises Fail for a
    `pyodide` that is no address of a folder, NotWritten, an OSError, where it cannot be written.
    """
    check_folder(pyodide)
    write_whole(path, page(pyodide))


def check_folder(pyodide: str) -> None:
    """Raise Fail for what is no address of a folder that a page may fetch from."""
    if not _FOLDER.fullmatch(pyodide) or not pyodide:
        raise Fail(
            f"Can't fetch Python from {pyodide[:60]!r}: it is no address of a folder",
            hint=f"give one that ends with /, such as {PYODIDE} or pyodide/",
        )


def page(pyodide: str) -> str:
    """The page, which may run its own script and what lies in the folder `pyodide`, no more."""
    archive, script = sources(), f"\n{static.playing_script()}\n"
    key = sha256(archive + pyodide.encode()).hexdigest()
    about = {"pyodide": pyodide, "key": key, "seconds": SECONDS}
    allowed = pyodide if "://" in pyodide else "'self'"
    own = b64encode(sha256(script.encode()).digest()).decode()
    rules = (
        "default-src 'none'",
        f"script-src 'sha256-{own}' 'wasm-unsafe-eval' {allowed}",
        "worker-src blob:",
        f"connect-src {allowed}",
        "style-src 'unsafe-inline'",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">
<title>Workbench</title>
<style>{static.playing_style()}</style></head>
<body><main><h1>Workbench</h1>
<div id="lab" class="wb-theme">This page needs JavaScript.</div></main>
<script type="application/json" id="page">{json.dumps(about)}</script>
<script type="text/plain" id="worker">{static.python_script()}</script>
<script type="text/plain" id="archive">{b64encode(archive).decode()}</script>
<script type="module">{script}</script></body></html>
"""
