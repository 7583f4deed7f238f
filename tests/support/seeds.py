"""The tutorials that the namespace of TVM carries: their code, cell by cell, from their text.

The texts are not in this repository; where they are absent, the tests that run them are skipped.
"""

from __future__ import annotations

import contextlib
import html
import io
import linecache
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2].parent / "shared" / "seeds"


def seed(number: str) -> str:
    """The text of a tutorial; skips the test where it is not there."""
    found = sorted(FOLDER.glob(f"{number}_*.txt"))
    if not found:
        pytest.skip(f"the text of tutorial {number} is not in {FOLDER}")
    return found[0].read_text(encoding="utf-8")


def cells_of_rst(text: str) -> Iterator[str]:
    """The code under each ``.. code:: python``."""
    yield from _under("code:: python", text)


def cells_of_gallery(text: str) -> Iterator[str]:
    """The code under each ``.. code-block:: default``, which is how a gallery's pages have it."""
    yield from _under("code-block:: default", text)


def _under(words: str, text: str) -> Iterator[str]:
    lines = text.split("\n")
    for k, line in enumerate(lines):
        marked = re.match(rf"( *)\.\. {words}", line)
        if marked:
            body = lines[k + 1 :]
            inside = f"{marked[1]}   "
            outside = (
                n for n, one in enumerate(body) if one.strip() and one[: len(inside)] != inside
            )
            end = next(outside, None)
            yield textwrap.dedent("\n".join(body[:end])).strip("\n")


def cells_of_html(text: str) -> Iterator[str]:
    """The code in each ``<pre>`` that is not something printed."""
    for inside in re.findall(r"highlight-default [^>]*><div[^>]*><pre>(.*?)</pre>", text, re.S):
        yield html.unescape(re.sub("<[^>]+>", "", inside))


def with_our_imports(code: str) -> str:
    """`code` with its imports of tvm changed to ours, and nothing else."""
    code = re.sub(r"^import tvm$", "import workbench.tvm as tvm", code, flags=re.M)
    return re.sub(r"^from tvm\b", "from workbench.tvm", code, flags=re.M)


def run_cell(code: str, name: str, scope: dict[str, Any]) -> str:
    """What a cell prints; its text is known to linecache, as a notebook's is."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, name, "exec"), scope)
    return out.getvalue()
