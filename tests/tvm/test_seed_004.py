"""TVM's tutorial on auto-scheduling, its code cell by cell with nothing changed but the imports.

Where there is no GPU, its layer has fewer channels, and fewer trials are made.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.support.seeds import cells_of_gallery, run_cell, seed, with_our_imports
from workbench import tuning

pytestmark = [
    pytest.mark.lesson,
    pytest.mark.filterwarnings("ignore::workbench.ScheduleWarning"),  # of few trials the best
]


def cells() -> list[str]:
    found = [with_our_imports(cell) for cell in cells_of_gallery(seed("004"))]
    assert len(found) == 9
    if not wb.device().is_gpu:
        found[2], count = re.subn("7, 7, 512, 512, 3, 3", "7, 7, 32, 16, 3, 3", found[2])
        assert count == 1
        found = [re.sub(r"trials=(10|5)\b", "trials=2", cell) for cell in found]
    return found


def test_the_tutorial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {"__name__": "__main__"}
    printed = [run_cell(cell, f"<004, cell {k}>", scope) for k, cell in enumerate(cells())]
    graph = re.search(r"( *)Computational DAG:\n.*?\n\n", seed("004"), re.S)
    assert graph is not None
    wanted = "\n".join(line.strip() for line in graph[0].strip().split("\n"))
    if not wb.device().is_gpu:
        wanted = wanted.replace("[1, 512, 7, 7]", "[1, 16, 7, 7]")
        wanted = wanted.replace("[512, 512, 3, 3]", "[32, 16, 3, 3]")
        wanted = wanted.replace("[1, 512, 1, 1]", "[1, 32, 1, 1]")
    assert printed[2].strip() == wanted
    assert "threadIdx.x" in printed[5]
    np.testing.assert_allclose(scope["out_np"], scope["out_tvm"].numpy(), rtol=1e-3)
    assert re.search(r"^Execution time of this operator: [\d.]+ ms$", printed[6], re.M)
    form = r"^s\[conv2d_nchw\]\.compute_at\(s\[compute\], |^# It has no form in stages: split\(rc, "
    assert re.search(form, printed[7], re.M)
    assert "__launch_bounds__" in printed[7]
    of = 2 if not wb.device().is_gpu else 10
    assert f"{of + (2 if of == 2 else 5)} trials, " in printed[8]
    assert len(tuning.read(scope["log_file"]).ended) == of + (2 if of == 2 else 5)
