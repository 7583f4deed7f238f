"""Cells of a line in the loops around them: rows, columns, and the line of time."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

import workbench as wb
from tests.support.gpu_programs import VECTOR_ADD, parsed
from tests.support.pictured.log import ProgramLog
from tests.support.pictured.tally import Tally
from tests.support.pictured.who import check_who
from workbench import draw
from workbench.draw import Picture
from workbench.draw.matrix import WIDE
from workbench.draw.scene import Path, Rect, Words, width_of
from workbench.ir import PrimFunc


def adds(size: int, factors: list[int | None], *axes: str, order: str = "") -> PrimFunc:
    """A sum of `size` cells whose loop is split, its loops in an `order` and bound to `axes`."""
    sch = wb.Schedule(parsed(VECTOR_ADD.replace("1024", str(size))))
    loops = sch.split("i", factors)
    if order:
        sch.reorder(*(loops[int(k)] for k in order))
    for loop, axis in zip(loops, axes, strict=False):
        if axis:
            sch.bind(loop, axis)
    return sch.func


def words(picture: Picture) -> list[str]:
    return [word for strip in picture.strips for word in strip.words]


def rows(picture: Picture) -> list[list[Rect]]:
    """The cells of the first strip, row by row."""
    cells = [s for s in picture.strips[0].shapes if isinstance(s, Rect) and s.of.cells]
    tops = sorted({cell.y for cell in cells})
    return [sorted((c for c in cells if c.y == top), key=lambda c: c.x) for top in tops]


def lines(picture: Picture) -> list[Path]:
    return [s for s in picture.strips[0].shapes if isinstance(s, Path) and s.role == "clock"]


def wrong(func: PrimFunc, picture: Picture) -> list[str]:
    tally = Tally()
    check_who(tally, ProgramLog(func), "C", picture, False)
    return tally.wrong


def test_a_split_is_seen():
    """The turns of the outer loop stand apart, those of the inner one close, each with its turn."""
    sch = wb.Schedule(parsed(VECTOR_ADD.replace("1024", "8")))
    plain = draw.picture_of(sch.func, "who")
    sch.split("i", [2, 4])
    picture = draw.picture_of(sch.func, "who")
    told = ["i_1 =", "0", "1", "2", "3", "i_0 = 0", "i_0 = 1"]
    assert words(picture) == [*(f"C[{k}]" for k in range(8)), *told]
    assert not {*told[1:]} & {*words(plain)} and any("time step" in w for w in words(plain))
    first, second = rows(picture)
    assert [len(first), len(second)] == [4, 4]
    assert 4 <= second[0].y - first[0].y - first[0].height <= 10
    assert all(b.x - a.x - a.width == pytest.approx(2) for a, b in pairwise(first))
    assert len(lines(picture)) == 1, "through all cells"
    assert "A line leads through the cells in time." in picture.caption


@pytest.mark.parametrize(
    "axes, heads, count",
    [
        (("blockIdx.x",), {"block 0", "block 1", "i_1 ="}, 2),
        (("blockIdx.x", "threadIdx.x"), {"block 0", "block 1", "thread"}, 0),
        (("", "threadIdx.x"), {"i_0 = 0", "i_0 = 1", "thread"}, 4),
        (("blockIdx.y", "blockIdx.x"), {"blockIdx.y = 0", "blockIdx.y = 1", "blockIdx.x ="}, 0),
    ],
)
def test_bound_loops_are_told_by_what_they_are_bound_to(
    axes: tuple[str, ...], heads: set[str], count: int
):
    picture = draw.picture_of(adds(8, [2, 4], *axes), "who")
    strong = {s.label for s in picture.strips[0].shapes
              if isinstance(s, Words) and s.role == "strong"}  # fmt: skip
    assert strong == heads
    assert len(lines(picture)) == count, "one for each thread that computes several"


def test_rows_are_turns_of_the_loops_that_are_outside():
    picture = draw.picture_of(adds(8, [2, 4], order="10"), "who")
    assert [[cell.of.cells[0][0] for cell in row] for row in rows(picture)] == [
        [0, 4], [1, 5], [2, 6], [3, 7],
    ]  # fmt: skip


def test_no_words_meet_cells_or_each_other_and_none_is_cut():
    for func in (adds(24, [2, 3, 4], order="102"), adds(10, [None, 4]), adds(32, [8, 4])):
        (scene,) = draw.picture_of(func, "who").strips
        assert scene.width <= WIDE
        boxes = [s for s in scene.shapes if isinstance(s, Rect)]
        for one in (s for s in scene.shapes if isinstance(s, Words)):
            wide = width_of(one.label, one.role)
            left = one.x - {"start": 0.0, "middle": wide / 2, "end": wide}[one.anchor]
            assert "…" not in one.label and left >= 0
            for box in boxes:
                inside = box.x <= left and left + wide <= box.x + box.width
                apart = left + wide <= box.x or left >= box.x + box.width
                beside = one.y <= box.y or one.y - 10 >= box.y + box.height
                assert inside or apart or beside, one.label


@pytest.mark.parametrize("size", [8, 10, 24])
@pytest.mark.parametrize("factors", [[2, None], [None, 4], [2, 2, None]], ids=str)
@pytest.mark.parametrize("order", ["", "10"])
@pytest.mark.parametrize("axes", [(), ("blockIdx.x",), ("", "threadIdx.x"),
                                  ("blockIdx.x", "threadIdx.x")], ids=str)  # fmt: skip
def test_heads_and_lines_are_what_threads_do(
    size: int, factors: list[int | None], order: str, axes: tuple[str, ...]
):
    order += "2" if order and len(factors) == 3 else ""
    func = adds(size, factors, *axes, order=order)
    assert wrong(func, draw.picture_of(func, "who")) == []


def test_a_head_or_a_line_that_is_wrong_is_found():
    func = adds(8, [2, 4])
    picture = draw.picture_of(func, "who")
    (scene,) = picture.strips
    for old, new in (("i_0 = 0", "i_0 = 1"), ("i_0 = 0", "i_1 = 0"), ("2", "3"), ("i_1 =", "i =")):
        other = tuple(
            s._replace(label=new) if isinstance(s, Words) and s.label == old else s
            for s in scene.shapes
        )
        assert wrong(func, replace(picture, strips=(replace(scene, shapes=other),)))
    without = tuple(s for s in scene.shapes if not isinstance(s, Path))
    assert wrong(func, replace(picture, strips=(replace(scene, shapes=without),)))


TWICE = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i_0, i_1 in T.grid(2, 4):
        with T.block("C"):
            vi = T.axis.spatial(8, i_0 * 4 + i_1)
            C[vi] = A[vi]
    for j_0, j_1 in T.grid(2, 4):
        with T.block("D"):
            vj = T.axis.spatial(8, j_0 * 4 + j_1)
            T.where(j_0 * 4 + j_1 < 4)
            C[vj] = A[vj] + T.float32(1)
"""


def test_what_is_no_nest_of_one_statement_is_told_cell_by_cell():
    plain = adds(8, [8])
    wide = adds(64, [8, 8])
    for func in (plain, wide, parsed(TWICE)):
        picture = draw.picture_of(func, "who")
        assert lines(picture) == [] and not any(w.endswith("=") for w in words(picture))
