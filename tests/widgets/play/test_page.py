"""play.html as a file: what is in it, what it may do, and what it is not made of."""

from __future__ import annotations

import json
import py_compile
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from workbench import cli
from workbench.diag import Fail
from workbench.widgets.play import archive
from workbench.widgets.play.page import PYODIDE, check_folder


def block(page: str, id: str) -> str:
    found = re.search(f'<script type="[^"]*" id="{id}">(.*?)</script>', page, re.DOTALL)
    assert found
    return found[1]


@pytest.mark.tool
def test_the_command_writes_a_page_that_may_run_its_own_script_alone(tmp_path: Path, capsys):
    path = tmp_path / "site" / "play.html"
    assert cli.main(["play", str(path)]) == 0
    made, links = capsys.readouterr().out.splitlines()
    assert re.fullmatch(rf"made  {re.escape(str(path))} \([\d.]+ MiB\): put it on any web .*", made)
    assert links.startswith('links to it: wb.lab(sch, address="https://…/play.html")')
    page = path.read_text()
    about = json.loads(block(page, "page"))
    assert (about["pyodide"], about["seconds"]) == (PYODIDE, 10)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    own = b64encode(sha256(script.encode()).digest()).decode()
    (rules,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert rules.split("; ") == [
        "default-src 'none'",
        f"script-src 'sha256-{own}' 'wasm-unsafe-eval' {PYODIDE}",
        "worker-src blob:",
        f"connect-src {PYODIDE}",
        "style-src 'unsafe-inline'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert page.count("<script") == 4 and " src=" not in page
    code = script + block(page, "worker")
    assert not re.search(r"\beval\(|new Function|document\.write|pickle", code)
    # the package is in it, without what no lab needs
    names = ZipFile(BytesIO(b64decode(block(page, "archive")))).namelist()
    assert {"workbench/__init__.py", "workbench/widgets/play/played.py"} <= set(names)
    assert not [name for name in names if "/lesson/" in name or "/_lessons/" in name]


@pytest.mark.parametrize("folder", ["pyodide", "javascript:x/", "https://a.b/; script-src *", ""])
def test_what_is_no_folder_to_fetch_python_from_is_refused(folder: str):
    with pytest.raises(Fail) as told:
        check_folder(folder)
    assert str(told.value) == (
        f"Can't fetch Python from {folder!r}: it is no address of a folder.\n"
        f"do:    give one that ends with /, such as {PYODIDE} or pyodide/"
    )


def test_the_command_refuses_it_too(tmp_path: Path, capsys):
    path = tmp_path / "play.html"
    assert cli.main(["play", str(path), "--pyodide", "here"]) == 1
    assert capsys.readouterr().err.startswith("Can't fetch Python from 'here'")
    assert not path.exists()


def test_kept_bytecode_holds_whatever_the_time_of_its_source(tmp_path: Path, monkeypatch):
    source = tmp_path / "kept_once.py"
    source.write_text("TOLD = 1")
    compiled = Path(py_compile.compile(str(source), doraise=True))
    compiled.write_bytes(archive._unchecked(compiled))
    source.write_text("TOLD = 2  # unpacked again, later")
    monkeypatch.syspath_prepend(tmp_path)
    import kept_once

    assert kept_once.TOLD == 1
