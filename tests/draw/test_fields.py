"""Cells that can be pointed at: what is at a spot, and what is marked for it."""

from __future__ import annotations

import random

import pytest

from tests.draw.sliding import PROGRAMS, drawn, other, sliders
from workbench import draw
from workbench.draw.scene import Field, worded


def pointed(field: Field, select: dict[str, int], spot: tuple[float, float]) -> dict[str, int]:
    """The selection with the spot, and the row and column that are there."""
    at = {**select, "x": int(spot[0]), "y": int(spot[1])}
    return {**at, "row": int(field.row.at(at)), "column": int(field.column.at(at))}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_cell_at_a_spot_is_marked_around_it(name: str):
    rng = random.Random(name)
    for select in sliders(PROGRAMS[name](), rng, 6):
        for picture in drawn(PROGRAMS[name](), select):
            at = other(picture, rng) if picture.slides else select
            for field in picture.strips[0].fields:
                left, top, right, bottom = field.edges
                spot = rng.uniform(left, right - 1), rng.uniform(top, bottom - 1)
                now = pointed(field, at, spot)
                own = [[edge.at(now) for edge in edges] for edges in field.marks]
                assert any(
                    a - 3 <= spot[0] <= c + 3 and b - 3 <= spot[1] <= d + 3 for a, b, c, d in own
                )


def test_a_cell_of_a_product_marks_its_row_and_its_column():
    picture = drawn(PROGRAMS["blocked"](), {"blockIdx.x": 1, "blockIdx.y": 2, "threadIdx.x": 5})[0]
    a, b, c = picture.strips[0].fields
    assert [len(field.marks) for field in (a, b, c)] == [3, 3, 3]
    select = {"blockIdx.x": 1, "blockIdx.y": 2, "threadIdx.x": 5}
    now = {**select, "x": 0, "y": 0, "row": 70, "column": 9}
    row, column, _ = ([edge.at(now) for edge in edges] for edges in c.marks)
    assert (row[0], row[2]) == (a.edges[0], a.edges[2]), "all of a row of A"
    assert (column[1], column[3]) == (b.edges[1], b.edges[3]), "all of a column of B"
    assert worded(c.words, now) == "C[70, 9] · block (0, 2) · thread 10"
    assert {name: form.at(now) for name, form in c.axes}["threadIdx.x"] == 10
    assert (c.of.statement, c.of.loops[:2]) == ("C_local", ("i_0", "j_0"))


def test_a_caption_and_a_table_follow_as_if_made_anew():
    rng = random.Random(1)
    for name in ("blocked", "fused", "bound"):
        for select in sliders(PROGRAMS[name](), rng, 8):
            picture = drawn(PROGRAMS[name](), select)[0]
            if not picture.slides:
                continue
            there = other(picture, rng)
            anew = drawn(PROGRAMS[name](), there)[0]
            assert worded(picture.follow, there) == anew.caption.splitlines()[0]
            assert picture.caption.splitlines()[1:] == anew.caption.splitlines()[1:]
            rows = [list(row) for row in picture.table.rows]
            for row, column, parts in picture.cells:
                rows[row][column] = worded(parts, there)
            assert [tuple(row) for row in rows] == list(anew.table.rows)


def test_what_stays_where_it_is_says_so():
    """A thread's part of shared memory does not move as a whole: that level is for Python."""
    picture = draw.picture_of(PROGRAMS["blocked"](), "tiles", select={"block": (1, 2), "thread": 5})
    assert picture.levels == ("whole", "block", "thread", "registers")
    assert [strip.still for strip in picture.strips] == [False, False, True, False]
    told = draw.plain(picture)
    assert [moving is None for moving in told["slides"]["strips"]] == [False, False, True, False]
    assert len(told["fields"]["strips"]) == 4
