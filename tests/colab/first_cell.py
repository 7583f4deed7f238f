"""The lessons' first cell in a fresh kernel: it installs ours over nothing and over others.

Run by tests/colab/run.py, in an environment that it may install into.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "lessons").glob("[0-9]*.ipynb"))
OURS = "mlc-workbench"
SAID = "import workbench as w; print(w.__version__, w.Schedule.__name__, w.__file__, sep='|')"


def pip(*arguments: str) -> str:
    call = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout


def others() -> list[str]:
    """Every installed package and version, without ours and the one of the same name."""
    return [x for x in pip("list", "--format=freeze").splitlines() if "workbench" not in x]


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


def run_first_cells(lesson: Path, wheel: Path, folder: Path) -> list[str]:
    """Run the cell that installs and the one after it in one kernel: what Python then holds."""
    cells = [c for c in nbformat.read(lesson, as_version=4).cells if c.cell_type == "code"][:2]
    url = next(x for x in cells[0].source.split('"') if x.startswith("https://"))
    assert url.endswith(wheel.name)
    cells[0].source = cells[0].source.replace(url, wheel.as_uri())
    cells.append(nbformat.v4.new_code_cell(SAID))
    notebook = nbformat.v4.new_notebook(cells=cells)
    where = {"metadata": {"path": str(folder)}}

    async def work() -> None:
        front = NotebookClient(notebook, timeout=120, resources=where, record_timing=False)
        async with front.async_setup_kernel():
            for index, cell in enumerate(front.nb.cells):
                await front.async_execute_cell(cell, index)

    asyncio.run(work())
    return notebook.cells[-1].outputs[0].text.strip().split("|")


@pytest.mark.parametrize("before", ["nothing", "other", "broken", "older", "other over ours"])
def test_ours_is_there_after_the_first_cell(before: str, tmp_path: Path):
    """No restart, and no other package is changed."""
    wheel = Path(os.environ["WORKBENCH_WHEEL"])
    pip("uninstall", "--yes", OURS, "workbench")
    if before == "other over ours":
        pip("install", str(wheel))
    if before in ("other", "other over ours"):
        pip("install", wheel_of(tmp_path, "workbench", "9.9", "__version__ = '0.1.0'\nlab = 1\n"))
    if before == "broken":
        pip("install", wheel_of(tmp_path, "workbench", "9.9", "1 / 0\n"))
    if before == "older":
        pip("install", wheel_of(tmp_path, OURS, "0.0.1", "__version__ = '0.0.1'\n"))
    was = others()
    version, schedule, place = run_first_cells(LESSONS[0], wheel, tmp_path)
    assert (version, schedule) == ("0.1.0", "Schedule")
    assert Path(place).is_relative_to(sys.prefix)
    assert others() == was
    assert "No broken requirements" in pip("check")


def test_every_lesson_begins_with_the_same_cell():
    cells = [
        next(c for c in nbformat.read(x, as_version=4).cells if c.id == "setup") for x in LESSONS
    ]
    assert len({cell.source for cell in cells}) == 1
