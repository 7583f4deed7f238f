"""The browser's part: one module without imports, every file in it, small enough to read."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from workbench.widgets import static

FOLDER = Path(static.__file__).parent


def test_every_file_is_part_of_the_module():
    files = {path.name for path in FOLDER.glob("*.js")}
    assert files == {*static.MODULES, "offline.js"}
    assert {path.name for path in FOLDER.glob("*.css")} == {*static.STYLES, *static.STILL}


def test_the_module_asks_nothing_of_the_network():
    text = static.script() + static.style() + static.still_style() + static.offline_script()
    text = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|\bfetch\(|\bimport\b|XMLHttpRequest|@import|url\(", text)


def test_every_colour_has_a_fallback_where_there_is_no_jupyterlab():
    for used in re.findall(r"var\(--jp-[^)]*", static.style() + static.still_style()):
        assert "," in used, used


def test_the_module_is_javascript(tmp_path: Path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed")
    for name, text in (("lab.mjs", static.script()), ("page.mjs", static.offline_script())):
        (tmp_path / name).write_text(text)
        subprocess.run([node, "--check", tmp_path / name], check=True)
