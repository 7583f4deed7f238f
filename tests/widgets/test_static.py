"""The browser's part: modules that import one another, and one without imports made of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.draw.colours import ROLES, WORDS
from workbench.widgets import static

FOLDER = Path(static.__file__).parent
MODULES = sorted(path.name for path in FOLDER.glob("*.js"))
DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)
EXPORTED = re.compile(r"^export (?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)
IMPORTS = re.compile(r'^import \{ ([^}]*) \} from "\./([\w.]+)";$', re.MULTILINE)


def text(name: str) -> str:
    return (FOLDER / name).read_text()


def test_every_file_is_part_of_a_module():
    assert {path.name for path in FOLDER.glob("*.css")} == {*static.PLAYING, *static.STILL}
    needed = {other for name in MODULES for other in static.imported(name)}
    assert set(MODULES) - needed == {"widget.js", "offline.js", "playing.js", "python.js"}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_what_it_uses_and_nothing_else(name: str):
    code = re.sub(r"^\s*(//|/?\*).*$", "", text(name), flags=re.MULTILINE)
    given = {n for names, _ in IMPORTS.findall(code) for n in names.split(", ")}
    assert len(re.findall(r"^import\b", code, re.MULTILINE)) == len(IMPORTS.findall(code))
    for names, other in IMPORTS.findall(code):
        assert set(names.split(", ")) <= set(EXPORTED.findall(text(other))), other
    rest = IMPORTS.sub("", code)
    there = {n: other for other in MODULES if other != name for n in EXPORTED.findall(text(other))}
    own = set(re.findall(r"\b(?:function|const|let|class) (\w+)", rest))
    used = {n for n in there if re.search(rf"(?<!\w)(?:(?<=\.\.\.)|(?<!\.)){n}\b(?!:)", rest)} - own
    assert used == given


def test_one_scope_holds_all_of_them():
    """They are joined as they stand: what two of them call alike would be one."""
    names = [n for name in MODULES for n in DECLARED.findall(text(name))]
    assert len(names) == len(set(names))


def test_the_module_asks_nothing_of_the_network():
    text = static.script() + static.style() + static.still_style() + static.offline_script()
    assert not re.search(r"https?://|\bfetch\(|\bimport\b|XMLHttpRequest|@import|url\(", text)


def test_every_colour_has_a_fallback_where_there_is_no_jupyterlab():
    for used in re.findall(r"var\(--jp-[^)]*", static.style() + static.still_style()):
        assert "," in used, used


def styled(sheet: str) -> Iterator[str]:
    """The classes of what the rules of a style sheet are about: the last part of each selector."""
    text_ = re.sub(r"/\*.*?\*/", "", text(sheet), flags=re.DOTALL)
    for _ in range(2):  # what is around or not there, one inside the other
        text_ = re.sub(r":(?:has|not|where)\([^()]*\)", "", text_)
    for selectors in re.findall(r"([^{};]+)\{", text_):
        for selector in re.split(r",(?![^(]*\))", selectors):
            about = re.split(r"[\s>+~]+(?![^(]*\))", selector.strip())[-1]
            yield from re.findall(r"\.([\w-]+)", about)


def test_a_class_is_styled_in_one_file():
    sheets: dict[str, set[str]] = {}
    for sheet in sorted({*static.STYLES, *static.STILL} - {"print.css"}):  # the same, on paper
        for name in styled(sheet):
            sheets.setdefault(name, set()).add(sheet)
    assert {"wb-lab", "wb-lit", "wb-step", "wb-chip"} <= set(sheets)
    assert {name: found for name, found in sheets.items() if len(found) > 1} == {}


def test_a_class_that_is_styled_is_used():
    folders = (FOLDER.parent, FOLDER.parents[1] / "draw")
    code = "".join(path.read_text() for folder in folders for path in folder.rglob("*.[jp][sy]"))
    names = {name for sheet in (*static.STYLES, *static.STILL) for name in styled(sheet)}
    kinds = {"wb-come", "wb-edit", "wb-gone", "wb-was", "wb-keyword", "wb-comment"}  # put together
    kinds |= {f"wb-{role}" for role in (*ROLES, *WORDS)}
    assert {name for name in names - kinds if not re.search(rf"\b{name}\b", code)} <= {
        "jp-OutputArea-child"
    }


def test_the_module_is_javascript(tmp_path: Path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed")
    for name, text in (("lab.mjs", static.script()), ("page.mjs", static.offline_script())):
        (tmp_path / name).write_text(text)
        subprocess.run([node, "--check", tmp_path / name], check=True)
