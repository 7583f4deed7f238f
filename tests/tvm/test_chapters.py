"""The chapters that docs/tvm-lessons.md counts: which of their cells run, imports alone changed.

Their texts are not in this repository; where they are absent, only the table is held to its data.
The longer chapters run where more cases are asked for (``WORKBENCH_CASES=21``).
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from tests.support.cases import CASES
from tests.support.seeds import run_cell, with_our_imports

DOCS = Path(__file__).parents[2] / "docs"
DATA = json.loads((DOCS / "tvm-lessons.json").read_text(encoding="utf-8"))
CELLS = Path(__file__).parents[2].parent / "shared" / "courses" / "cells.json"
QUICK = (
    "mlc-en/gpu_part1",
    "mlc-notebooks/8_gpu_part2",
    "tvm-0.19/scan",
    "tvm-0.19/tuple_inputs",
    "tvm-today/tir_creation",
    "tvm-today/tir_transformation",
)


def table() -> str:
    """A row for each chapter: its cells, those that run, and why the others do not."""
    rows = ["| chapter | cells | run | not run |", "|---|---|---|---|"]
    for chapter, of in DATA["chapters"].items():
        left = {why: len(cells) for why, cells in of["left"].items()}
        words = ", ".join(f"{count} {why}" for why, count in left.items())
        rows.append(f"| {chapter} | {of['cells']} | {of['cells'] - sum(left.values())} | {words} |")
    reasons = "\n".join(f"- *{why}*: {text}" for why, text in DATA["reasons"].items())
    return "\n".join(rows) + "\n\n" + reasons + "\n"


def test_the_table_is_that_of_the_data():
    assert table() in (DOCS / "tvm-lessons.md").read_text(encoding="utf-8")
    used = {why for of in DATA["chapters"].values() for why in of["left"]}
    assert used == DATA["reasons"].keys()


def ours(code: str) -> str:
    """A cell with our imports, and without a notebook's commands."""
    code = with_our_imports(code)
    code = re.sub(r"^import tvm_ffi$", "import workbench.tvm_ffi as tvm_ffi", code, flags=re.M)
    code = re.sub(r"^import tvm\.(\S+) as", r"import workbench.tvm.\1 as", code, flags=re.M)
    code = re.sub(r"^import tvm\.(\S+)$", r"import workbench.tvm.\1", code, flags=re.M)
    future = "from __future__ import annotations"
    if future in code:  # a notebook takes it anywhere
        code = future + "\n" + code.replace(future, "")
    try:
        ast.parse(code)
    except SyntaxError:
        code = re.sub(r"^([ \t]*)[!%].*$", r"\1pass", code, flags=re.M)
    return code


@pytest.mark.lesson
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("chapter", DATA["chapters"])
def test_a_chapter_runs_but_for_the_cells_that_are_listed(
    chapter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if not CELLS.is_file():
        pytest.skip(f"there is no {CELLS}")
    if CASES <= 20 and chapter not in QUICK:
        pytest.skip("a longer chapter runs where more cases are asked for")
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    cells = json.loads(CELLS.read_text(encoding="utf-8"))[chapter]
    scope: dict[str, Any] = {"__name__": "__main__"}
    failed = {}
    for number, code in enumerate(cells):
        if not code.strip():
            continue
        try:
            run_cell(ours(code), f"<{chapter}, cell {number}>", scope)
        except Exception as error:
            failed[number] = f"{type(error).__name__}: {error}"
    of = DATA["chapters"][chapter]
    assert sum(bool(code.strip()) for code in cells) == of["cells"]
    listed = sorted(number for numbers in of["left"].values() for number in numbers)
    assert sorted(failed) == listed, failed
