"""A lab of a program for any size: its texts are there, pictures and costs ask for a size."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.runtime.test_sizes import ADD, read
from tests.widgets.programs import send
from workbench.diag import Fail
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


def test_costs_say_how_to_give_a_size():
    sch = wb.Schedule(read(ADD))
    outer, inner = sch.split("i", factors=[None, 64])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    lab = wb.lab(sch)
    send(lab, do="count")
    assert lab.session.page["costs"]["text"] == (
        "No costs yet: Can't count or draw main_kernel: its sizes are not known: `n`. "
        'Give it a size: func.specialize({"n": 1024}).'
    )


def test_arrays_are_of_a_program_with_numbers():
    with pytest.raises(Fail) as told:
        wb.lab(wb.Schedule(read(ADD)), inputs={"A": np.zeros(1000, "float32")})
    assert str(told.value) == (
        "Can't use the input `A`: the lab's program is for any size (n,), which no lab runs.\n"
        "do:    open one with numbers for its sizes: func.specialize({…})"
    )
