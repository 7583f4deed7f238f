"""A lab of a program for any size: its texts are there, pictures and costs ask for a size, or for
inputs that tell it."""

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
        'Give it a size: func.specialize({"n": 1024}), or open the lab with inputs=.'
    )


def lab_of(count: int = 1000, **options: object) -> wb.widgets.Lab:
    """Blocks of 64 threads; arrays of so many cells tell the size."""
    sch = wb.Schedule(read(ADD))
    outer, inner = sch.split("i", factors=[None, 64])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    cells = np.arange(count, dtype="float32")
    return wb.widgets.Lab(sch, inputs={"A": cells}, **options)


def test_arrays_tell_the_size_at_which_costs_are_counted_and_pictures_drawn(tmp_path):
    """1,000 cells are 16 blocks of 64 threads; its kernel keeps the guard of any size."""
    lab = lab_of(panes=["sectors"])
    send(lab, do="count")
    rows = {row["name"]: (row["before"], row["after"]) for row in lab.session.page["costs"]["rows"]}
    assert rows["blocks"][1] == "16" and rows["threads in each"][1] == "64"
    send(lab, do="model")
    send(lab, do="why")
    page = lab.session.page
    assert page["costs"]["text"].startswith(
        "Counts are exact, from the kernels. At n = 1,000, as the inputs tell."
    )
    assert page["bar"]["about"].startswith("on NVIDIA H200 SXM, n = 1,000")
    assert page["bar"]["us"] and page["bar"]["rows"] and "most is the launch" in page["why"]["text"]
    assert "of 32 reads of A: 4 sectors" in page["pictures"][page["shown"]["sectors"]]["caption"]
    lab.to_html(tmp_path / "lab.html")


def test_every_picture_of_a_program_with_inputs_is_drawn():
    lab = lab_of()
    for pane in SIZED:
        lab.view = {**lab.view, "machine": pane}
        made = lab.session.page["pictures"][lab.session.page["shown"][pane]]
        assert "refusal" not in made, pane


def test_it_runs_on_these_arrays():
    lab = lab_of()
    lab.run()
    assert lab.session.page["run"]["ok"] is True


def test_what_has_no_turn_at_the_size_of_inputs_is_as_any_size():
    """Half of one cell is none: who computes what cannot be told of it."""
    sch = wb.Schedule(
        read(ADD.replace("range(n)", "range(n // 2)").replace("(n, i)", "(n // 2, i)"))
    )
    lab = wb.widgets.Lab(sch, inputs={"A": np.zeros(1, "float32")})
    for pane in SIZED:
        lab.view = {**lab.view, "machine": pane}
    send(lab, do="count")
    assert "its sizes are not known" in str(lab.session.page["pictures"])


@pytest.mark.parametrize(
    "inputs, told",
    [
        (
            {"A": np.zeros(10, "float32"), "B": np.zeros(11, "float32")},
            "Can't open a lab of main with these inputs: `n` is 10 by A.shape[0], and 11 by "
            "B.shape[0].\ndo:    pass arrays whose sizes agree",
        ),
        (
            {"A": np.zeros((2, 5), "float32")},
            "Can't open a lab of main with these inputs: no array tells the size `n`.\n"
            'do:    give a number: func.specialize({"n": 1024})',
        ),
        (
            {"A": np.zeros(0, "float32")},
            "Can't open a lab of main with these inputs: `A` would have no cell.\n"
            "do:    give arrays with cells",
        ),
    ],
)
def test_arrays_that_tell_no_size_or_two_are_refused(inputs, told):
    with pytest.raises(Fail) as refused:
        wb.lab(wb.Schedule(read(ADD)), inputs=inputs)
    assert str(refused.value) == told
