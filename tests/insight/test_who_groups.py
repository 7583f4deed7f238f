"""Groups of who does what: those like others are not looked at again, however large they are."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.support.gpu_programs import parsed
from workbench import insight
from workbench.insight import who_groups
from workbench.insight.cells import Touched, touched_by
from workbench.insight.who import Who

ADD = """
@T.prim_func
def add(A: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = T.float32(1)
"""


def split(cells: int, *inside: int) -> Who:
    """Who stores so many cells, split three ways: over blocks, threads and turns."""
    sch = wb.Schedule(parsed(ADD.replace("8", str(cells))))
    i_0, i_1, _ = sch.split("i", [None, *inside])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    return insight.who(sch.func)


def test_only_a_block_that_a_condition_may_cut_off_is_looked_at(monkeypatch: pytest.MonkeyPatch):
    """Blocks of 1024 cells, 300 of them whole, and 37 cells in one more: it and one of the others.

    Of the 32 threads of a block one stands for all.
    """
    looked: list[object] = []

    def noted(*args: object) -> Touched:
        looked.append(args)
        return touched_by(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(who_groups, "touched_by", noted)
    whose = split(300 * 1024 + 37, 32, 32)
    assert len(looked) == 3
    assert [(group.region[0], group.cells, group.exact) for group in whose.groups] == [
        *(((1024 * k, 1024, 1), 1024, True) for k in range(255)),
        ((300 * 1024, 37, 1), 37, True),
    ]
    assert [group.region[0] for group in whose.zoom] == [(32 * k, 32, 1) for k in range(32)]


@pytest.mark.parametrize("beyond", [0, 1])
def test_of_too_many_cells_to_look_at_the_ends_are_told(beyond: int):
    """A block has 2²³ of them."""
    whose = split(2**26 + beyond, 1024, 2**13)
    boxes = [group.region[0] for group in whose.groups]
    assert boxes[:8] == [(2**23 * k, 2**23, 1) for k in range(8)]
    assert boxes[8:] == [(2**26, 1, 1)] * beyond
    assert not any(group.exact for group in whose.groups)
