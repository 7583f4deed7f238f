"""The picture of a race, on races that are worked out on paper."""

from __future__ import annotations

from typing import Any

import pytest

from workbench import draw
from workbench.draw.orders import orders_picture
from workbench.draw.scene import Rect, Words, width_of
from workbench.emulate.kernels.orders import Act, Orders

TURN = "k_0_outer=1023, k_0_inner=1023, k_1=7"
LONG = "thread (x=31, y=15, z=3)"


@pytest.mark.parametrize(
    ("acts", "values", "ends", "caption"),
    [
        (
            (Act("thread 1", "writes", 10), Act("thread 0", "reads", 14)),
            (7, None),
            ("7", "nothing written"),
            "S[1], block 0: 7 or nothing that was written, as the two threads come.",
        ),
        (
            (Act("thread 0", "writes", 3), Act("thread 1", "writes", 4)),
            (2.5, -1),
            ("2.5", "-1"),
            "S[1], block 0: 2.5 or -1, as the two threads come.",
        ),
        (
            (Act(LONG, "reads", 123), Act("thread 2", "writes", 9)),
            (3, 3),
            ("3", "3"),
            "S[1], block 0: both orders come to 3, by chance of these numbers.",
        ),
    ],
)
def test_both_orders_end_in_one_cell_with_both_values(
    acts: tuple[Act, Act], values: tuple[Any, Any], ends: tuple[str, str], caption: str
):
    orders = Orders("S[1]", "block 0", acts, values)
    picture = orders_picture(orders)
    (scene,) = picture.strips
    assert picture.caption == caption and picture.kind == "emulated"
    assert [row[1:] for row in picture.table.rows] == [*orders.timelines]
    cell = [shape for shape in scene.shapes if isinstance(shape, Rect) and shape.role == "alarm"]
    assert len(cell) == 2 and cell[0].x + cell[0].width == cell[1].x and cell[0].y == cell[1].y
    values_drawn = [s for s in scene.shapes if isinstance(s, Words) and s.role == "on-strong"]
    assert tuple(words.label for words in values_drawn) == ends
    lines = [act.line for act in acts]
    for order, told in (("first", lines), ("then", lines[::-1])):
        labels = [words for words in scene.words if words.startswith(order)]
        assert labels == [f"{order}, line {line}" for line in told]
    edges = {"reads": "read", "writes": "write"}
    drawn = [s.role for s in scene.shapes if isinstance(s, Rect) and s.role in edges.values()]
    assert drawn == [edges[act.does] for act in (*acts, *acts[::-1])]


def test_a_turn_of_loops_has_a_line_of_its_own():
    acts = Act("thread 1", "reads", 10, "k_0=0"), Act("thread 0", "writes", 14, "k_0=1, k_1=7")
    (scene,) = orders_picture(Orders("S[1]", "block 0", acts, (7, 8))).strips
    turns = [words for words in scene.words if "k_0" in words]
    told = ["in turn k_0=0", "in turn k_0=1, k_1=7"]
    assert turns == [*told, *told[::-1]]
    plain = Act("thread 1", "reads", 10), Act("thread 0", "writes", 14)
    (bare,) = orders_picture(Orders("S[1]", "block 0", plain, (7, 8))).strips
    assert scene.height > bare.height


def test_its_words_have_room_and_each_part_says_what_it_stands_for():
    orders = Orders("A_shared[4095]", "block 3", (Act(LONG, "reads", 1234, TURN),) * 2, (1e9, None))
    (scene,) = orders_picture(orders).strips
    for words in scene.shapes:
        if isinstance(words, Words):
            wide = width_of(words.label, words.role) / 2
            assert words.label and words.x - wide >= 0 and words.x + wide <= scene.width, words
    titles = {shape.of.title for shape in scene.shapes if shape.of.title}
    assert f"in the other, then: {LONG} reads A_shared[4095] (line 1234, in turn {TURN})" in titles
    assert f"in one order: {LONG} reads 1e+09" in titles
    assert draw.standalone_svg(orders_picture(orders), "a race").startswith("<svg")
