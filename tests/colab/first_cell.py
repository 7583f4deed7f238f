"""The lessons' first cell in a fresh kernel: it installs ours over nothing and over others.

Run by tests/colab/run.py, in an environment that it may install into.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "lessons").glob("[0-9]*.ipynb"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OURS, VERSION, HOME = PROJECT["name"], PROJECT["version"], PROJECT["urls"]["Source"]
SITE = Path(sysconfig.get_path("purelib"))
SAID = "import workbench as w; print(w.__version__, w.Schedule.__name__, w.__file__, sep='|')"


def setup_of(lesson: Path) -> str:
    """The text of the cell that installs."""
    cells = nbformat.read(lesson, as_version=4).cells
    return str(next(cell.source for cell in cells if cell.id == "setup"))


CELL = setup_of(LESSONS[0])


def release_in(home: Path) -> Path:
    """The folder in which `home`, a copy of what the project's address leads to, has the wheel."""
    folder = home / "releases" / "download" / f"v{VERSION}"
    folder.mkdir(parents=True)
    return folder


def remove() -> None:
    """Remove every workbench; as pip does it, but in no time."""
    for path in (SITE / "workbench", *SITE.glob("*workbench-*.dist-info")):
        shutil.rmtree(path, ignore_errors=True)


def install(wheel: Path | str) -> None:
    """Install a wheel; as pip does it, but in no time."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(SITE)


def requirements() -> str:
    """What pip finds when it looks whether every package has what it requires."""
    call = [sys.executable, "-m", "pip", "--disable-pip-version-check", "check"]
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout


def others() -> list[tuple[str, str]]:
    """Every installed package and version, without ours and the one of the same name."""
    found = sorted((x.metadata["Name"], x.version) for x in metadata.distributions())
    return [(name, version) for name, version in found if "workbench" not in name]


def wheel_of(folder: Path, name: str, version: str, init: str) -> str:
    """A wheel of a distribution whose package is called `workbench`, as ours is."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    path = folder / f"{stem}-py3-none-any.whl"
    files = {
        "workbench/__init__.py": init,
        "workbench/app.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{file},,\n" for file in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(file, text)
    return str(path)


def run_first_cells(home: Path) -> list[nbformat.NotebookNode]:
    """Run the cell that installs, the one after it, and one that says what Python then holds."""
    cells = [c for c in nbformat.read(LESSONS[0], as_version=4).cells if c.cell_type == "code"][:2]
    assert cells[0].source == CELL
    cells[0].source = CELL.replace(HOME, home.as_uri())
    cells.append(nbformat.v4.new_code_cell(SAID))
    notebook = nbformat.v4.new_notebook(cells=cells)
    where = {"metadata": {"path": str(home)}}

    async def work() -> None:
        front = NotebookClient(
            notebook, timeout=120, resources=where, record_timing=False, allow_errors=True
        )
        async with front.async_setup_kernel():
            for index, cell in enumerate(front.nb.cells):
                await front.async_execute_cell(cell, index)

    asyncio.run(work())
    return [cell.outputs for cell in notebook.cells]


def test_where_nothing_can_be_installed_a_sentence_stands_in_place_of_tracebacks(tmp_path: Path):
    remove()
    *cells, _ = run_first_cells(tmp_path)
    for (output,) in cells:
        (sentence,) = output.traceback
        assert sentence.startswith("This lesson cannot begin: its workbench is not here and")
        assert "\n" not in sentence


@pytest.mark.parametrize("before", ["nothing", "other", "broken", "older", "other over ours"])
def test_ours_is_there_after_the_first_cell(before: str, tmp_path: Path, monkeypatch):
    """No restart, and no other package is changed."""
    monkeypatch.setenv("PIP_NO_COMPILE", "0")  # so it is written: 1 would mean to compile
    wheel = Path(os.environ["WORKBENCH_WHEEL"])
    remove()
    if before == "other over ours":
        install(wheel)
    if before in ("other", "other over ours"):
        install(wheel_of(tmp_path, "workbench", "9.9", "__version__ = '0.1.0'\nlab = 1\n"))
    if before == "broken":
        install(wheel_of(tmp_path, "workbench", "9.9", "1 / 0\n"))
    if before == "older":
        install(wheel_of(tmp_path, OURS, "0.0.1", "__version__ = '0.0.1'\n"))
    was = others()
    shutil.copy(wheel, release_in(tmp_path))
    outputs = run_first_cells(tmp_path)
    version, schedule, place = outputs[-1][0].text.strip().split("|")
    assert (version, schedule) == (VERSION, "Schedule")
    assert Path(place).is_relative_to(sys.prefix)
    assert others() == was
    if before == "nothing":  # the packages are the same ones in all cases
        assert "No broken requirements" in requirements()
