"""Numbers of a program at other values on a saved page: what is tried, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from workbench.diag import Fail
from workbench.widgets import Lab
from workbench.widgets.still.tries import held, tries


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    sch = blocking_with_shared(wb.Schedule(matmul(64)), 4, 4, 4, 4, 4)
    made = wb.lab(sch, panes=["TensorIR", "tiles"])
    yield made
    made.close()


def test_a_page_has_what_a_drag_would_show(lab: Lab):
    """In every pane, as a lab answers a drag; with costs; nothing of it in the history."""
    session = lab.session
    known = json.dumps([session.state, len(lab.history)], default=str)
    made, pictures = tries(session, held(session, {"i_2": [8, 4]}))
    assert json.dumps([session.state, len(lab.history)], default=str) == known
    ((key, grip),) = made["grips"].items()
    assert (grip["value"], grip["values"], grip["step"]) == (4, [4, 8], 2)
    (tried,) = made["made"][key].values()
    asked = {"place": key, "value": 8}
    for pane in ("tensorir", "cuda"):
        for machine in ("tiles", "timeline"):
            lab.set_state({"view": {**lab.view, "program": pane, "machine": machine}})
            live = session.trying.page(
                session.cursor, session.history[session.at], session.view, asked
            )
            assert tried["told"] == live["told"]
            assert tried["texts"][pane] == {"text": live["text"], "lines": live["lines"]}
            assert pictures[tried["pictures"][machine]] == live["picture"]
    assert tried["bar"] and tried["costs"]["rows"] is not None


@pytest.mark.parametrize("values", [np.array([8, 4]), [np.int64(8)], iter([8]), range(8, 9)])
def test_numbers_may_be_of_numpy_or_counted_out(lab: Lab, values: Any):
    ((_, tried),) = held(lab.session, {"i_2": values}).values()
    assert tried == [8] and type(tried[0]) is int


def test_a_value_that_is_refused_says_why(lab: Lab):
    numbers = held(lab.session, {"A_shared.ax0_ax1_fused_1": [16, 8], "k_0": [64]})
    made = tries(lab.session, numbers)[0]["made"]
    told = [one["refusal"]["headline"] for values in made.values() for one in values.values()]
    assert told == [
        "Can't let `ax0_ax1_fused_1` be 8: `i_1_j_1_fused`, on threadIdx.x too, runs 16 times "
        "(step 16, bind).",
        "Can't let `k_0` be 64: loop `ax1` is not there then (step 13, fuse).",
    ]


REFUSED: list[tuple[Any, str]] = [
    ({"q": [2]}, "Can't vary `q`: main has no loop of that name"),
    ({"ax0_ax1_fused_1": [2]}, "Can't vary `ax0_ax1_fused_1`: 2 loops have that name"),
    ({"i_2": [5]}, "Can't vary `i_2`: it cannot run 5 times"),
    ({"ax1": [2]}, "Can't vary `ax1`: no split made it, with numbers"),
    ({"i_2": 8}, "Can't vary `i_2`: 8 is no list of numbers"),
    ({"i_2": "8"}, "Can't vary `i_2`: '8' is no list of numbers"),
    ({"i_2": [8.0]}, "Can't vary `i_2`: a loop runs a whole number of times, not 8.0"),
    ({"i_2": [True]}, "Can't vary `i_2`: a loop runs a whole number of times, not True"),
    ([("i_2", 8)], "Can't vary that: it takes the values of a loop by its name"),
    (
        {"i_2": [1, 2, 8, 16], "j_2": [1, 2, 8, 16], "k_0": [1, 2, 4, 8, 32, 64], "k_1": [1, 2, 8]},
        "Can't try 17 programs for a page: it has room for 16",
    ),
]


@pytest.mark.parametrize(("vary", "said"), REFUSED)
def test_what_cannot_be_varied_is_refused_ahead_of_writing(
    lab: Lab, vary: Any, said: str, tmp_path: Path
):
    file = tmp_path / "page.html"
    file.write_text("as it was")
    with pytest.raises(Fail) as refused:
        lab.to_html(file, vary=vary)
    assert refused.value.headline == f"{said}." and refused.value.hint
    assert file.read_text() == "as it was"
