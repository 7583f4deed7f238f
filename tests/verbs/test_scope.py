"""In which order a nest runs a sum: where it starts, and whether it counts up."""

from __future__ import annotations

import pytest

from workbench import script
from workbench.ir import BlockRealize, For, PrimFunc, walk
from workbench.verbs.order import counts_up
from workbench.verbs.scope import counted_from, starts_first

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((64, 64)), n: T.Buffer((4,), "int32"), C: T.Buffer((64,))):
    for {loops}:
        with T.block("C"):
            v = T.axis.spatial({cells}, {cell})
            r = T.axis.reduce({turns}, {turn})
            with T.init():
                C[v] = T.float32(0)
            C[v] = C[v] + A[v, r]
"""
NESTED = "i in range(4):\n        for k in range(i, 8)"


def realized(loops: str, cells: int, cell: str, turns: int, turn: str) -> tuple[BlockRealize, list]:
    """The block of a sum, and the loops around it."""
    text = PROGRAM.format(loops=loops, cells=cells, cell=cell, turns=turns, turn=turn)
    if "\n" in loops:
        head, body = text.split("        with", 1)
        text = head + "            with" + body.replace("\n", "\n    ")
    func = script.parse(text)
    assert isinstance(func, PrimFunc)
    below = walk(func.body.block.body)
    found = [node for node in below if isinstance(node, For | BlockRealize)]
    (realize,) = (node for node in found if isinstance(node, BlockRealize))
    return realize, [node for node in found if isinstance(node, For)]


@pytest.mark.parametrize(
    "loops, cells, cell, turns, turn, in_order, any_order",
    [
        ("i, k in T.grid(4, 8)", 4, "i", 8, "k", True, True),
        ("k, i in T.grid(8, 4)", 4, "i", 8, "k", True, True),
        ("i, k in T.grid(4, 8)", 4, "i", 8, "7 - k", False, False),
        ("i, k in T.grid(4, 4)", 4, "i", 8, "i + k", False, False),  # it goes by the cell
        ("a, b in T.grid(3, 4)", 2, "(a * 4 + b) // 6", 6, "(a * 4 + b) % 6", True, False),
        (NESTED, 4, "i", 8, "k", False, False),  # only the first of them has a turn with k at 0
    ],
)
def test_where_a_sum_starts(loops, cells, cell, turns, turn, in_order, any_order):
    realize, around = realized(loops, cells, cell, turns, turn)
    known = counted_from(around)
    assert starts_first(realize, known) is in_order
    assert starts_first(realize, known, any_order=True) is any_order


@pytest.mark.parametrize(
    "loops, first, second, up",
    [
        ("i, j in T.grid(4, 8)", "i", "j", True),
        ("i, j in T.grid(4, 8)", "i", "7 - j", False),
        ("i, j in T.grid(4, 8)", "3 - i", "j", False),
        ("j, i in T.grid(8, 4)", "i", "j", False),
        ("i, j in T.grid(4, 4)", "i", "i + j", True),
        ("i in range(32)", "i // 8", "i % 8", True),
        ("i, j in T.grid(4, 8)", "i", "(j + n[0]) % 8", False),
        ("i, j in T.grid(1, 8)", "n[0]", "j", False),  # it may be another one in each turn
    ],
)
def test_iterators_that_count_up(loops, first, second, up):
    realize, around = realized(loops, 4, first, 8, second)
    assert counts_up(realize, around, [*realize.block.iter_vars]) is up


def test_what_does_not_count_does_not_count_down() -> None:
    realize, around = realized("i, k in T.grid(4, 8)", 4, "3 - i", 8, "k")
    assert counts_up(realize, around, [])
    assert counts_up(realize, around, [realize.block.iter_vars[1]])


def test_iterators_of_two_types_have_no_sum() -> None:
    realize, around = realized("i, k in T.grid(4, T.int64(8))", 4, "3 - i", 8, "T.int64(7) - k")
    counting = [*realize.block.iter_vars]
    assert [it.var.dtype for it in counting] == ["int32", "int64"]
    assert not counts_up(realize, around, counting)
