"""split without a predicate: only where the factors make up how often the loop runs."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench import script
from workbench.access import difference, random_data

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((12, 12), "float32"), B: T.Buffer((12,), "float32")):
    for i in range(12):
        for j in range({extent}):
            with T.block("B"):
                v = T.axis.spatial(12, i)
                k = T.axis.reduce(12, j)
                with T.init():
                    B[v] = T.float32(0)
                B[v] = B[v] + A[v, k]
"""


@pytest.mark.parametrize(
    ("extent", "factors"),
    [
        ("12", [3, 4]),
        ("12", [None, 2, 3]),
        ("T.int64(12)", [4, None]),
        ("(i + 3) // 4 * 4", [None, 4]),
        ("i + 1", [None, 1]),
    ],
)
def test_what_fills_the_loop_needs_none(extent: str, factors: list[int | None]):
    func = script.parse(PROGRAM.format(extent=extent))
    sch = wb.Schedule(func)
    sch.split("j", factors, disable_predication=True)
    assert "T.where" not in sch.func.script()
    assert difference(func, sch.func, random_data(func, seed=0)) == ""
    again = wb.Schedule.replay(func, sch.trace)
    assert wb.structural_equal(again.func, sch.func)


@pytest.mark.parametrize(
    ("extent", "factors", "said"),
    [
        ("12", [3, 5], "15 times, not 12"),
        ("12", [None, 5], "15 times, not 12"),
        ("i + 1", [None, 4], "(i // 4 + 1) * 4 times, not i + 1"),
        ("(i + 3) // 4 * 4", [None, 8], "times, not (i + 3) // 4 * 4"),
    ],
)
def test_a_tail_is_refused(extent: str, factors: list[int | None], said: str):
    sch = wb.Schedule(script.parse(PROGRAM.format(extent=extent)))
    with pytest.raises(wb.ScheduleError) as error:
        sch.split("j", factors, disable_predication=True)
    headline = str(error.value).splitlines()[0]
    assert headline.startswith("Can't split `j`: without a predicate it would run ")
    assert said in headline
    assert str(error.value).endswith(
        "do:    leave disable_predication out, or choose factors that divide how often it runs"
    )
    sch.split("j", factors)
    assert "T.where" in sch.func.script()
