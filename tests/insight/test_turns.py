"""In which turns a cell is touched, told from its indices: held against what these turns touch."""

from __future__ import annotations

import random

import pytest

from tests.draw.sliding import PROGRAMS
from tests.support.gpu_programs import parsed
from workbench import insight
from workbench.insight import Region, Turns


def cells(region: Region, cell: tuple[int, ...]) -> bool:
    spans = zip(region, cell, strict=True)
    return all(at in range(start, start + n * step, step) for (start, n, step), at in spans)


def at(turns: Turns, cell: tuple[int, ...]) -> dict[str, int]:
    """The turns of a cell."""
    sides = dict(zip(reversed(insight.SIDES), reversed(cell), strict=False))
    return {
        axis: sum(factor * digit.of(sides) for digit, factor in terms) for axis, terms in turns.axes
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_in_its_turns_a_cell_is_touched(name: str):
    func, rng = PROGRAMS[name](), random.Random(name)
    told = insight.turns(func)
    for buffer in func.params:
        turns = told[buffer.name]
        for _ in range(10):
            cell = tuple(rng.randrange(size) for size in buffer.shape)
            tiles = insight.tiles(func, at(turns, cell))
            (tile,) = (tile for tile in tiles.tiles if tile.buffer == buffer.name)
            found = [t for t in tile.touches if t.stage == turns.stage]
            assert found and any(cells(t.region, cell) for t in found)


def test_an_output_tells_its_block_and_its_thread():
    turns = insight.turns(PROGRAMS["fused"]())["C"]
    assert turns.stage == "C" and turns.loops == ("i_j_fused_0", "i_j_fused_1", "k")
    assert at(turns, (0, 31)) == {"blockIdx.x": 0, "threadIdx.x": 31}
    assert at(turns, (3, 5)) == {"blockIdx.x": 1, "threadIdx.x": 37}


def test_what_many_turns_touch_tells_none():
    """Each element of A is read for three of B: neither its block nor its thread is told."""
    assert insight.turns(PROGRAMS["bound"]())["A"].axes == ()


READS = """
@T.prim_func
def main(A: T.Buffer((16, 9), "float32"), B: T.Buffer((8,), "float32")):
    for b in T.thread_binding(8, thread="blockIdx.x"):
        for j in range(9):
            with T.block("B"):
                v, k = T.axis.remap("SR", [b, j])
                B[v] = {value}
"""


@pytest.mark.parametrize(
    "value, axes",
    [
        ("A[v, k] + A[v * 2, k]", ()),  # row 6 is read in block 6, and in block 3
        ("A[v, k]", ("j",)),  # of rows from 8 on nobody reads anything
        ("A[v * 2 + k % 2, k]", ("j",)),
    ],
)
def test_cells_that_a_turn_does_not_touch_are_not_told_it(value: str, axes: tuple[str, ...]):
    turns = insight.turns(parsed(READS.format(value=value)))["A"]
    assert tuple(name for name, _ in turns.axes) == axes


NEVER = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(15):
        with T.block("B_0"):
            v = T.axis.spatial(16, i)
            B[v] = T.if_then_else(v % 5 >= 1, A[v % 5 - 1], T.float32(1))
    for i in range(15, 16):
        with T.block("B_1"):
            v = T.axis.spatial(16, i)
            B[v] = T.if_then_else(v % 5 >= 1, A[v % 5 - 1], T.float32(1))
"""


def test_a_block_whose_condition_never_holds_touches_no_cell():
    """At 15 nothing is read: what reads A is the first of the two."""
    turns = insight.turns(parsed(NEVER))
    assert (turns["A"].stage, turns["B"].stage) == ("B_0", "B_1")
