"""What two iterations have to do with each other: for each condition, where it alone says no."""

from __future__ import annotations

import pytest

from workbench import arith, script
from workbench.access.iterations import (
    Near,
    apart,
    carries,
    carries_own,
    feeds,
    never_meet,
    written_together,
)
from workbench.access.units import Unit, units
from workbench.ir import Buffer, For, PrimFunc, walk

HEAD = """
@T.prim_func
def main(A: T.Buffer((64,)), n: T.Buffer((8,), "int32"), B: T.Buffer((64,)), X: T.Buffer({shape})):
"""


class Asked:
    """The outermost loop of a program, what it runs, and the buffer X."""

    def __init__(self, body: str, shape: str = "(64,)") -> None:
        lines = (f"    {line}" for line in body.strip().splitlines())
        func = script.parse(HEAD.format(shape=shape) + "\n".join(lines))
        assert isinstance(func, PrimFunc)
        self.func = func
        loops = [node for node in walk(func) if isinstance(node, For)]
        self.loop, self.dom = loops[0], arith.loop_bounds(loops)
        self.units: list[Unit] = list(units(self.loop.body))
        self.x: Buffer = func.params[3]
        self.n: Buffer = func.params[1]

    def feeds(self, writer: int, reader: int, chosen: bool = True) -> bool:
        """Whether one of the units, by their numbers, feeds another one."""
        pair = self.units[writer], self.units[reader]
        return feeds(self.loop.body, *pair, self.x, self.dom, chosen)

    def carries(self, one: int, other: int) -> bool:
        """Whether the loop carries a cell from one to the other, or back."""
        return carries(self.loop, self.units[one], self.units[other], self.x, self.dom)

    def together(self, one: int, other: int) -> bool:
        """Whether both write each cell that both write in one iteration."""
        pair = self.units[one], self.units[other]
        return written_together(self.loop, *pair, self.x, self.dom)


# --- near -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "close"),
    [
        ("B[t] = X[27]", True),
        ("B[t] = X[28]", False),
        ("X[t + 27] = A[t]", True),
        ("X[t + 28] = A[t]", False),
    ],
)
def test_boxes_reach_as_far_as_they_are_large(other: str, close: bool) -> None:
    asked = Asked(f"""
for t in range(4):
    with T.block("four"):
        v = T.axis.spatial(4, t)
        T.reads(X[v * 4 + 12 : v * 4 + 16])
        T.writes(X[v * 4 : v * 4 + 4])
        for k in range(4):
            X[v * 4 + k] = X[v * 4 + k + 12]
    {other}
""")
    block, store = asked.units
    near = Near(asked.units, asked.dom)
    assert near.writers(store, asked.x) == ([block] if close else [])


def test_a_row_whose_length_varies_may_reach_the_end_of_what_a_size_tells() -> None:
    func = script.parse("""
@T.prim_func
def main(x: T.handle, B: T.Buffer((4,))):
    n = T.int32()
    X = T.match_buffer(x, (n,))
    for t in range(4):
        with T.block("row"):
            v = T.axis.spatial(4, t)
            T.reads(X[0 : v + 1])
            T.writes(B[v])
            for k in range(v + 1):
                B[v] = X[k]
        X[t + 3] = T.float32(0)
""")
    assert isinstance(func, PrimFunc)
    loop = next(node for node in walk(func) if isinstance(node, For))
    row, store = units(loop.body)
    near = Near([row, store], arith.loop_bounds([loop]))
    assert near.writers(row, func.params[0]) == [store]


# --- feeds ----------------------------------------------------------------------------------------

TWO_THAT_UPDATE = """
for t in range(4):
    for i in range(8):
        with T.block("first"):
            v = T.axis.spatial(8, i)
            X[v] = X[v] + A[v]
    for j in range(8):
        with T.block("second"):
            v = T.axis.spatial(8, j)
            X[v] = X[v] * A[v]
"""


def test_what_comes_later_does_not_feed() -> None:
    asked = Asked(TWO_THAT_UPDATE)
    assert asked.feeds(0, 1)
    assert not asked.feeds(1, 0)


@pytest.mark.parametrize("between, fed", [("A[0] = A[1]", True), ("n[0] = t", False)])
def test_what_tells_the_cells_may_have_been_written_between(between: str, fed: bool) -> None:
    asked = Asked(f"""
for t in range(4):
    for i in range(8):
        X[i + n[0]] = A[i]
    {between}
    for j in range(8):
        B[j] = X[j + n[0]]
""")
    assert asked.feeds(0, 2) is fed


def test_a_choice_keeps_a_reader_from_what_is_not_written() -> None:
    asked = Asked("""
for t in range(4):
    for i in range(4):
        X[i] = A[i]
    for j in range(8):
        B[j] = T.if_then_else(j < 4, X[j], T.float32(0))
""")
    assert asked.feeds(0, 1)
    assert not asked.feeds(0, 1, chosen=False)


# --- carries --------------------------------------------------------------------------------------


@pytest.mark.parametrize("index, carried", [("t", False), ("t + 1", True)])
def test_either_of_two_may_write_what_the_other_reads(index: str, carried: bool) -> None:
    asked = Asked(f"for t in range(8):\n    B[t] = X[{index}]\n    X[t] = A[t]")
    assert asked.carries(0, 1) is carried
    assert asked.carries(1, 0) is carried


def test_what_neither_of_two_reads_may_be_written_by_both() -> None:
    asked = Asked("for t in range(4):\n    X[t] = A[0]\n    X[t + 1] = A[1]")
    assert asked.carries(0, 1)


def test_a_loop_carries_what_any_store_of_a_block_does() -> None:
    asked = Asked("""
for t in range(1, 8):
    with T.block("rows"):
        v = T.axis.spatial(8, t)
        B[v] = A[v]
        X[v] = X[v - 1]
""")
    assert carries_own(asked.loop, asked.units[0], asked.x, asked.dom)


def test_what_is_written_in_each_turn_is_carried() -> None:
    """Though each turn makes all that it reads: an earlier one may have made it, too."""
    asked = Asked("""
for t in range(4):
    for i in range(8):
        X[i] = A[i]
    for j in range(8):
        B[t * 8 + j] = X[j]
""")
    assert asked.carries(0, 1)


def test_what_a_turn_makes_itself_is_not_carried() -> None:
    """The box that the block reads is all of X, but not where the choice lets it."""
    text = """
for t in range(4):
    for i in range(8):
        X[t * 8 + i] = A[i]
    for k in range(32):
        with T.block("B"):
            s, v = T.axis.remap("SS", [t, k])
            T.reads(X[0:32])
            T.writes(B[v])
            B[v] = T.if_then_else(s * 8 <= v and v < s * 8 + {size}, X[v], T.float32(0))
"""
    assert not Asked(text.format(size=8)).carries(0, 1)
    assert Asked(text.format(size=9)).carries(0, 1)


# --- cells that two write -------------------------------------------------------------------------


def test_what_the_second_reads_says_nothing_of_what_it_writes() -> None:
    asked = Asked("for t in range(8):\n    X[t] = A[t]\n    X[t + 1] = X[t] * A[t]")
    assert not asked.together(0, 1)
    assert not asked.together(1, 0)


def test_one_that_writes_all_and_one_that_writes_a_part() -> None:
    """More cells than are looked at: proved by the one that makes what the other writes."""
    part = """
    for k, j in T.grid(7, 16):
        if k * 16 + j < {stop}:
            X[t * 100 + (k * 16 + j)] = A[j]"""
    whole, half = part.format(stop=100), part.format(stop=50)
    for text in (whole + half, half + whole):
        asked = Asked("for t in range(1000):" + text, "(100000,)")
        assert asked.together(0, 1)
        assert asked.together(1, 0)
    over = Asked("for t in range(1000):" + half + part.format(stop=101), "(100000,)")
    assert not over.together(0, 1)


def test_units_in_one_loop_are_in_turns_of_their_own() -> None:
    asked = Asked("for t in range(8):\n    X[t] = A[t]\n    X[t + 1] = A[t]")
    one, other = units(asked.loop)
    assert not never_meet(one, other, asked.x, asked.dom, frozenset())
    far = Asked("for t in range(8):\n    X[t] = A[t]\n    X[t + 8] = A[t]")
    one, other = units(far.loop)
    assert never_meet(one, other, far.x, far.dom, frozenset())


def test_what_changes_may_be_another_cell_for_each() -> None:
    asked = Asked("for t in range(8):\n    X[n[0]] = A[t]\n    X[n[0] + 1] = A[t]")
    one, other = units(asked.loop)
    assert never_meet(one, other, asked.x, asked.dom, frozenset())
    assert not never_meet(one, other, asked.x, asked.dom, {asked.n})


# --- one unit -------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns, alone", [(1, True), (2, False)])
def test_a_condition_may_leave_one_turn(turns: int, alone: bool) -> None:
    asked = Asked(f"for t in range(8):\n    if t < {turns}:\n        X[n[0]] = A[t]")
    (unit,) = asked.units
    assert apart(asked.loop, unit, asked.dom) is alone
