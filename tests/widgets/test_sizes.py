"""A lab of a program for any size: its texts are there, pictures and costs ask for a size."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.runtime.test_sizes import ADD, read
from workbench.widgets.page.view import MACHINE_PANES

SIZED = [pane for pane in MACHINE_PANES if pane != "fragments"]  # which are as large for any size


@pytest.mark.parametrize("pane", ["TensorIR", "CUDA", "C", "Code", *SIZED])
def test_every_pane_opens(pane, tmp_path):
    sch = wb.Schedule(read(ADD))
    outer, inner = sch.split("i", factors=[None, 64])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    wb.lab(sch, panes=[pane]).to_html(tmp_path / "lab.html")
    assert "its sizes are not known" in (tmp_path / "lab.html").read_text()
