"""Whether what is read was written: proofs, held against each cell looked at."""

from __future__ import annotations

import itertools
import random
from collections.abc import Set
from dataclasses import dataclass

import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from workbench import arith, te
from workbench.access import difference, random_data
from workbench.access.accesses import accesses
from workbench.access.boxes import merged
from workbench.access.cover import Made, covers, made_there, missed, starts_all, writes_all
from workbench.ir import Block, Buffer, For, PrimFunc, Range, const, walk
from workbench.ir.places import inner
from workbench.script import parse

PROGRAM = """
@T.prim_func
def main(A: T.Buffer(({s0}, {s1})), n: T.Buffer(({ni},), "int32"), B: T.Buffer(({no}, {ni}, {nj}))):
    X = T.alloc_buffer(({s0}, {s1}))
    for o in range({no}):
        for a, b in T.grid({na}, {nb}):
            with T.block("X"):
                v0 = T.axis.spatial({s0}, {row})
                v1 = T.axis.spatial({s1}, {column})
                T.where({where})
                T.reads(A[v0, v1])
                T.writes(X[v0, v1])
                X[v0, v1] = A[v0, v1]
        for i, j in T.grid({ni}, {nj}):
            with T.block("B"):
                o_, i_, j_ = T.axis.remap("SSS", [o, i, j])
                T.reads(X[{reads}], n[0:{ni}])
                T.writes(B[o_, i_, j_])
                B[o_, i_, j_] = {value}
"""


@dataclass
class Case:
    """A part of a buffer written, then one read under a condition, again in each turn of `o`.

    All conditions and indices are Python's, too: `holds` says what is true of a program.
    """

    no: int
    ni: int
    nj: int
    na: int
    nb: int
    s0: int
    s1: int
    row: str  # of o, a, b
    column: str
    where: str
    at: tuple[str, str]  # of o_, i_, j_
    condition: str
    data: str  # how data have a say in the condition
    form: str

    @classmethod
    def random(cls, rng: random.Random) -> Case:
        """Mostly what padding and tiling make of it, then with a mistake here and there."""
        stride, dilation, pad = rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2)), rng.randrange(3)
        no, ni, nj = rng.randint(1, 4), rng.randint(1, 4), rng.randint(1, 4)
        reach = (ni - 1) * dilation + 1
        s0 = max(1, (no - 1) * stride + reach - 2 * pad + rng.choice((0, 0, 0, 1, -1)))
        s1, late = nj + rng.randrange(2), rng.choice((0, 0, 0, 1))
        row = f"o * {stride} + a - {pad - late}"
        at = f"o_ * {stride} + i_ * {dilation} - {pad}", f"j_ + {s1 - nj}"
        first, last = rng.choice((0, 0, 0, 1)), s0 - rng.choice((0, 0, 0, 1))
        where = f"{first} <= {row} and {row} < {last}"
        if rng.random() < 0.2:
            where += " and " + rng.choice((f"a + b < {reach}", "b <= a", "(a < 2 or b < 2)"))
        inside = f"{first} <= {at[0]} and {at[0]} < {last}"
        condition = rng.choice(
            (inside, inside, f"0 <= {at[0]} and {at[0]} < {s0}", at[0] + " >= 0")
        )
        if rng.random() < 0.4:
            more = (
                "j_ <= i_",
                "i_ + j_ < 3",
                "(i_ + j_) % 2 == 0",
                "(i_ < 2 or j_ < 2)",
                "i_ == 1",
            )
            condition += " and " + rng.choice(more)
        data = rng.choice(("", "", "", "and", "or"))
        form = rng.choice(("choice", "choice", "choice", "turned", "nested", "twice", "select"))
        na, nb = reach + rng.choice((0, 0, 0, 1, -1)), s1
        return cls(no, ni, nj, max(na, 1), nb, s0, s1, row, "b", where, at, condition, data, form)

    @property
    def text(self) -> str:
        """The program."""
        load, (row, column) = f"X[{', '.join(self.at)}]", self.at
        condition = f"({self.condition})"
        if self.data:
            condition = f"({condition} {self.data} n[i_] > 0)"
        value = {
            "choice": f"T.if_then_else({condition}, {load}, T.float32(0))",
            "turned": f"T.if_then_else(not {condition}, T.float32(0), {load})",
            "nested": f"T.if_then_else(i_ < 3, T.if_then_else({condition}, {load}, T.float32(1)), "
            "T.float32(0))",
            "twice": f"T.if_then_else({condition}, {load}, T.float32(0)) "
            f"+ T.if_then_else(j_ < 1 and {condition}, {load}, T.float32(2))",
            "select": f"T.Select({condition}, {load}, T.float32(0))",
        }[self.form]
        return PROGRAM.format(**vars(self), reads=f"{row}, {column}", value=value)

    def holds(self) -> bool:
        """Whether in each turn of `o` all cells read were written, whatever the data."""
        return all(self._read(o) <= self._written(o) for o in range(self.no))

    def _written(self, o: int) -> set[tuple[int, int]]:
        turns = ({"o": o, "a": a, "b": b} for a in range(self.na) for b in range(self.nb))
        return {
            (eval(self.row, turn), eval(self.column, turn))
            for turn in turns
            if eval(self.where, turn)
        }

    def _read(self, o: int) -> set[tuple[int, int]]:
        found = set()
        for i, j in itertools.product(range(self.ni), range(self.nj)):
            turn = {"o_": o, "i_": i, "j_": j}
            taken = self.data == "or" or eval(self.condition, turn)
            if self.form == "select" or (taken and (i < 3 or self.form != "nested")):
                found.add((eval(self.at[0], turn), eval(self.at[1], turn)))
        shape = self.s0, self.s1
        return {c for c in found if all(0 <= x < n for x, n in zip(c, shape, strict=True))}


def asked(case: Case) -> bool:
    """What `made_there` says of the two nests in the loop over `o`."""
    func = parse(case.text)
    loops = [node for node in walk(func) if isinstance(node, For)]
    body = loops[0].body
    maker, user = inner(body)
    (buffer,) = func.body.block.alloc_buffers
    return made_there(maker, user, buffer, arith.loop_bounds(loops))


@pytest.mark.fuzz
def test_a_proof_says_what_each_cell_says(monkeypatch):
    proved = looked = 0
    for seed in seeds(5):
        case = Case.random(random.Random(seed))
        true = case.holds()
        with monkeypatch.context() as change:
            change.setattr(arith, "POINTS", 0)  # no cell is looked at
            by_proof = asked(case)
        assert not by_proof or true, case.text
        by_cells = asked(case)
        assert by_cells == true, case.text
        proved += by_proof
        looked += by_cells
    assert looked > CASES and proved > looked * 0.6


# --- odd cases ----------------------------------------------------------------------------------

ODD = """
@T.prim_func
def main(A: T.Buffer((32,)), n: T.Buffer((32,), "int32"), B: T.Buffer((4, 32))):
    X = T.alloc_buffer((32,))
    for o in range(4):
        for a{made}
        for j{used}
"""


def pair(made: str, used: str) -> PrimFunc:
    """A nest that stores to X, and one that reads it, in each turn of `o`; indices as given."""
    return parse(ODD.format(made=made, used=used))


def covered(func: PrimFunc, dom: dict | None = None, changing: Set[Buffer] = frozenset()) -> bool:
    """What `made_there` says of the two nests."""
    loops = [node for node in walk(func) if isinstance(node, For)]
    maker, user = inner(loops[0].body)
    (buffer,) = func.body.block.alloc_buffers
    dom = arith.loop_bounds(loops) if dom is None else dom
    return made_there(maker, user, buffer, dom, changing=changing)


def block(turns: int, body: str) -> str:
    """A nest that uses X in a block, of `v` in so many turns and `w` for that of `o`."""
    return (
        f" in range({turns}):\n            with T.block('B'):\n"
        "                w, v = T.axis.remap('SS', [o, j])\n"
        f"                B[w, v] = {body}"
    )


BY_PROOF = {
    "all of it": (" in range(8): X[a] = A[a]", " in range(8): B[o, j] = X[j]"),
    "loops that begin elsewhere": (
        " in range(3, 8): X[a] = A[a]",
        " in range(5): B[o, j] = X[j + 3]",
    ),
    "what one guard says, the other says too": (
        " in range(8):\n            if a < 5:\n                X[a] = A[a]",
        " in range(8): B[o, j] = T.if_then_else(j < 5, X[j], 0.0)",
    ),
    "turn by turn, cells with gaps": (
        " in range(8): X[a * 3] = A[a]",
        " in range(8): B[o, j] = X[j * 3]",
    ),
    "tiles that overlap": (
        ", b in T.grid(4, 3): X[a * 2 + b] = A[a]",
        " in range(9): B[o, j] = X[j]",
    ),
    "two that join": (
        " in range(4):\n            X[a] = A[a]\n            X[a + 4] = A[a]",
        " in range(8): B[o, j] = X[j]",
    ),
    "both cases of a choice by data": (
        " in range(8):\n            if n[a] > 0:\n                X[a] = A[a]\n"
        "            else:\n                X[a] = A[0]",
        " in range(8): B[o, j] = X[j]",
    ),
    "a window that moves": (
        " in range(4): X[a + o] = A[a]",
        " in range(4): B[o, j] = X[o + 3 - j]",
    ),
    "data say which, and all are made": (
        " in range(32): X[a] = A[a]",
        " in range(8): B[o, j] = X[n[j]]",
    ),
    "no turn reads where none makes": (
        " in range(3 - o): X[a] = A[a]",
        " in range(3 - o): B[o, j] = X[j]",
    ),
    "pairs of cells with gaps between": (
        " in range(8):\n            with T.block('X'):\n"
        "                v = T.axis.spatial(8, a)\n"
        "                X[v * 3] = A[v]\n                X[v * 3 + 1] = A[v]",
        block(8, "X[v * 3] + X[v * 3 + 1]"),
    ),
    "again and again, cells with gaps": (
        ", b in T.grid(8, 3): X[a * 3] = A[a]",
        " in range(8): B[o, j] = X[j * 3]",
    ),
    "a guard leaves out what no pair reads": (
        " in range(8):\n            if 7 > a:\n                X[a] = A[a]",
        block(3, "X[v * 2] + X[v * 2 + 1]"),
    ),
    "a guard that holds in the first turn of a loop that moves no cell": (
        ", b in T.grid(8, 3):\n            if 1 > b:\n                X[a] = A[a]",
        " in range(8): B[o, j] = X[j]",
    ),
    "as before, and the cells in another order": (
        ", b in T.grid(8, 3):\n            if 1 > b:\n                X[a] = A[a]",
        " in range(8): B[o, j] = X[7 - j]",
    ),
    "what is left of a division, on both sides": (
        " in range(8):\n            if a % 4 >= 1:\n                X[a] = A[a]",
        " in range(8): B[o, j] = T.if_then_else(j % 4 >= 1, X[j], 0.0)",
    ),
    "what is left of the division of a sum, on both sides": (
        ", b in T.grid(4, 4):\n            if (a * 4 + b) % 3 >= 1:\n"
        "                X[a * 4 + b] = A[a]",
        " in range(16): B[o, j] = T.if_then_else(j % 3 >= 1, X[j], 0.0)",
    ),
    "a guard of the first of two digits": (
        ", b in T.grid(4, 2):\n            if a >= 1:\n                X[a * 2 + b] = A[a]",
        " in range(8): B[o, j] = T.if_then_else(j >= 2, X[j], 0.0)",
    ),
    "a guard that stops the first of two digits": (
        ", b in T.grid(4, 2):\n            if 3 > a:\n                X[a * 2 + b] = A[a]",
        " in range(8): B[o, j] = T.if_then_else(j < 6, X[j], 0.0)",
    ),
    "what is outside of the buffer is no cell": (
        " in range(40):\n            if 32 > a:\n                X[a] = A[a]",
        " in range(40): B[o, j % 32] = T.Select(j < 32, X[j], 0.0)",
    ),
}
BY_CELLS = {
    "a swap of two digits": (
        " in range(6): X[a % 2 * 3 + a // 2] = A[a]",
        " in range(6): B[o, j] = X[j]",
    ),
}
NOT = {
    "at last no turn makes": (" in range(3 - o): X[a] = A[a]", " in range(1): B[o, j] = X[j]"),
    "a guard of the maker alone": (
        " in range(8):\n            if a < 5:\n                X[a] = A[a]",
        " in range(8): B[o, j] = X[j]",
    ),
    "a guard of the user that says less": (
        " in range(8):\n            if a < 5:\n                X[a] = A[a]",
        " in range(8): B[o, j] = T.if_then_else(j < 6, X[j], 0.0)",
    ),
    "loops that begin elsewhere": (
        " in range(3, 8): X[a] = A[a]",
        " in range(5): B[o, j] = X[j]",
    ),
    "gaps": (" in range(4): X[a * 2] = A[a]", " in range(7): B[o, j] = X[j]"),
    "gaps between tiles": (
        ", b in T.grid(4, 3): X[a * 4 + b] = A[a]",
        " in range(15): B[o, j] = X[j]",
    ),
    "two with a gap between": (
        " in range(4):\n            X[a] = A[a]\n            X[a + 5] = A[a]",
        " in range(8): B[o, j] = X[j]",
    ),
    "data keep a store away": (
        " in range(8):\n            if n[a] > 0:\n                X[a] = A[a]",
        " in range(8): B[o, j] = X[j]",
    ),
    "the two cases store elsewhere": (
        " in range(8):\n            if n[a] > 0:\n                X[a] = A[a]\n"
        "            else:\n                X[7 - a] = A[0]",
        " in range(8): B[o, j] = X[j]",
    ),
    "one case twice": (
        " in range(8):\n            if n[a] > 0:\n                X[a] = A[a]\n"
        "                X[a] = A[0]",
        " in range(8): B[o, j] = X[j]",
    ),
    "a block keeps a store of its own away": (
        " in range(8):\n            with T.block('X'):\n"
        "                v = T.axis.spatial(8, a)\n"
        "                if n[v] > 0:\n                    X[v] = A[v]",
        " in range(8): B[o, j] = X[j]",
    ),
    "one of two that are read": (
        " in range(8): X[a] = A[a]",
        " in range(8): B[o, j] = X[j] + X[j + 1]",
    ),
    "two choices, not the two cases of one": (
        " in range(8):\n            if n[a] > 0:\n                X[a] = A[a]\n"
        "            if not n[a] > 1:\n                X[a] = A[0]",
        " in range(8): B[o, j] = X[j]",
    ),
    "both cases of a choice that not every turn comes to": (
        " in range(8):\n            if o >= 1:\n                if n[a] > 0:\n"
        "                    X[a] = A[a]\n                else:\n                    X[a] = A[0]",
        " in range(8): B[o, j] = X[j]",
    ),
    "one case stores in a loop that may have no turn": (
        " in range(8):\n            if n[a] > 0:\n                for b in range(o):\n"
        "                    X[a] = A[a]\n            else:\n"
        "                for c in range(1):\n                    X[a] = A[0]",
        " in range(8): B[o, j] = X[j]",
    ),
    "data say how often": (" in range(n[o]): X[a] = A[a]", " in range(8): B[o, j] = X[j]"),
    "a window of the turn before": (
        " in range(4): X[a + o] = A[a]",
        " in range(5): B[o, j] = X[o + j]",
    ),
    "a turn reads more than is made in that of its number": (
        " in range(8): X[a * 3] = A[a]",
        block(8, "X[v * 3] + X[v * 3 + 1]"),
    ),
    "fewer turns make than read, with gaps": (
        " in range(3 - o): X[a * 3] = A[a]",
        " in range(3): B[o, j] = X[j * 3]",
    ),
    "a guard leaves out the first pair": (
        " in range(8):\n            with T.block('X'):\n"
        "                v = T.axis.spatial(8, a)\n                T.where(a * 2 >= 1)\n"
        "                X[v * 2] = A[v]\n                X[v * 2 + 1] = A[v]",
        " in range(16): B[o, j] = T.if_then_else(j >= 1, X[j], 0.0)",
    ),
    "a guard leaves out the second cell of a pair": (
        " in range(8):\n            if 7 > a:\n                X[a] = A[a]",
        block(4, "X[v * 2] + X[v * 2 + 1]"),
    ),
    "a guard holds in the first turn alone": (
        " in range(8):\n            if 1 > a:\n                X[a] = A[a]",
        " in range(8): B[o, j] = X[j]",
    ),
    "a guard of the first of two digits, one cell too many": (
        ", b in T.grid(4, 2):\n            if a >= 1:\n                X[a * 2 + b] = A[a]",
        " in range(8): B[o, j] = T.if_then_else(j >= 1, X[j], 0.0)",
    ),
}


@pytest.mark.parametrize("name", BY_PROOF)
def test_it_is_proved_for_any_size(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arith, "POINTS", 0)  # no cell is looked at
    assert covered(pair(*BY_PROOF[name]))


@pytest.mark.parametrize("name", BY_CELLS)
def test_cells_are_looked_at(name: str) -> None:
    assert covered(pair(*BY_CELLS[name]))


@pytest.mark.parametrize("name", NOT)
def test_it_is_not_proved(name: str) -> None:
    assert not covered(pair(*NOT[name]))


def test_an_answer_is_for_what_is_around_and_kept_for_that_alone() -> None:
    func = pair(" in range(4): X[a + o] = A[a]", " in range(4): B[o, j] = X[j]")
    o, *below = (node for node in walk(func) if isinstance(node, For))
    first, every = ({o.loop_var: ends, **arith.loop_bounds(below)} for ends in ((0, 0), (0, 3)))
    assert covered(func, first)
    assert not covered(func, every)
    assert covered(func, first)


def test_a_diagonal_is_no_box() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((4, 4)), B: T.Buffer((4, 4))):
    X = T.alloc_buffer((4, 4))
    for o in range(1):
        for a in range(4):
            X[a, a] = A[a, a]
        for i, j in T.grid(4, 4):
            B[i, j] = X[i, j]
""")
    assert not covered(func)


PLANE = """
@T.prim_func
def main(A: T.Buffer((8, 4)), B: T.Buffer((8, 4))):
    X = T.alloc_buffer((8, 4))
    for o in range(1):
        for a in range(32):
            if 18 > a:
                X[a // 4, a % 4] = A[a // 4, a % 4]
        for i, j in T.grid(8, 4):
            B[i, j] = T.if_then_else(i * 4 + j < {stop}, X[i, j], T.float32(0))
"""


@pytest.mark.parametrize("stop, made", [(18, True), (19, False)])
def test_a_guard_of_a_sum_is_told_by_its_two_digits(stop, made, monkeypatch):
    monkeypatch.setattr(arith, "POINTS", 0)
    assert covered(parse(PLANE.format(stop=stop))) is made


@pytest.mark.parametrize(
    "condition, cell, made",
    [
        ("t >= 1", "14 - t * 2 + b", False),
        ("t < 7", "t * 2 + 2 + b", True),
        ("t < 7", "t * 2 + b", False),
    ],
)
def test_two_accesses_in_one_loop_are_in_turns_of_their_own(condition, cell, made, monkeypatch):
    """As two threads are, where one may read what another one stores."""
    monkeypatch.setattr(arith, "POINTS", 0)
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((16,)), B: T.Buffer((16,))):
    X = T.alloc_buffer((16,))
    for t, b in T.grid(8, 2):
        if t >= 1:
            X[t * 2 + b] = A[t * 2 + b]
        B[t * 2 + b] = T.if_then_else({condition}, X[{cell}], T.float32(0))
""")
    loops = [node for node in walk(func) if isinstance(node, For)]
    (buffer,) = func.body.block.alloc_buffers
    assert made_there(loops[0], loops[0], buffer, arith.loop_bounds(loops)) is made


def test_equal_conditions_on_memory_need_not_hold_alike() -> None:
    """The memory may be written between: who asks `covers` has not said that it is not."""
    func = parse("""
@T.prim_func
def main(A: T.Buffer((8,)), B: T.Buffer((8,))):
    X = T.alloc_buffer((24,))
    n = T.alloc_buffer((8,), "int32")
    for a in range(8):
        if n[a] > 0:
            X[a * 3] = A[a]
    for q in range(8):
        n[q] = 1
    for j in range(8):
        if n[j] > 0:
            B[j] = X[j * 3]
""")
    every = [one for one in accesses(func.body) if one.buffer.name == "X"]
    store, load = every
    dom = arith.loop_bounds([*store.loops, *load.loops])
    assert not covers([Made(store, dom)], [load], store.buffer.shape, dom)


def test_what_memory_told_is_elsewhere_once_that_was_written() -> None:
    func = pair(" in range(8): X[a + n[0]] = A[a]", " in range(8): B[o, j] = X[j + n[0]]")
    assert covered(func)
    assert not covered(func, changing={func.params[1]})


def test_boxes_side_by_side_are_one_in_whichever_order_they_come() -> None:
    tiles = [(0, 0, 2, 2), (0, 2, 2, 1), (2, 0, 1, 1), (2, 1, 1, 2), (3, 0, 1, 3)]
    boxes = [
        (Range(const(y, "int32"), const(h, "int32")), Range(const(x, "int32"), const(w, "int32")))
        for y, x, h, w in tiles
    ]
    for order in itertools.permutations(boxes):
        (one,) = merged(order)
        assert [(r.min.value, r.extent.value) for r in one] == [(0, 4), (0, 3)]
    assert len(merged(boxes[1:])) == 2


# --- what a block surely writes, and what its init starts -----------------------------------------


def whole(body: str) -> tuple[Block, Buffer]:
    """A block of `v` and the reduce iterator `k`, and the buffer C that it writes."""
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((8, 8)), n: T.Buffer((8,), "int32"), C: T.Buffer((16,))):
    for i, j in T.grid(8, 8):
        with T.block("C"):
            v, k = T.axis.remap("SR", [i, j])
            {body}
""")
    (block,) = (node for node in walk(func) if isinstance(node, Block) and node.name == "C")
    return block, func.params[2]


@pytest.mark.parametrize(
    "body, every",
    [
        ("C[v] = A[v, k]", True),
        ("if n[v] > 0:\n                C[v] = A[v, k]", False),
        (
            "if n[v] > 0:\n                C[v] = A[v, k]\n            else:\n"
            "                C[v] = A[v, 0]",
            True,
        ),
        ("T.writes(C[v:v + 2])\n            C[v] = A[v, k]", False),
        (
            "T.writes(C[0:v + 1])\n            for x in range(v + 1):\n                C[x] = 0.0",
            False,
        ),
    ],
)
def test_a_block_stores_all_that_it_declares(body, every):
    assert writes_all(*whole(body)) is every


@pytest.mark.parametrize(
    "init, body, every",
    [
        ("C[v] = 0.0", "C[v] = C[v] + A[v, k]", True),
        ("C[v + k] = 0.0", "C[v] = C[v] + A[v, k]", True),  # it runs where k is 0
        ("C[v + k] = 0.0", "C[v + k] = C[v + k] + A[v, k]", False),
        ("C[v] = C[v] + 1.0", "C[v] = C[v] + A[v, k]", False),
        ("C[v] = C[v] + 1.0", "C[v] = A[v, k]", False),
        ("C[v] = 0.0", "C[v] = A[v, k]", True),
    ],
)
def test_a_sum_starts_all_that_it_reads(init, body, every):
    text = f"with T.init():\n                {init}\n            {body}"
    assert starts_all(*whole(text)) is every


def test_what_has_no_init_starts_nothing() -> None:
    assert not starts_all(*whole("C[v] = C[v] + A[v, k]"))
    assert starts_all(*whole("C[v] = A[v, k]"))


# --- what is surely not made ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "made, used, sure",
    [
        (" in range(4): X[a] = A[a]", " in range(4): B[o, j] = X[j]", False),
        (" in range(4): X[a] = A[a]", " in range(5): B[o, j] = X[j]", True),
        (  # if data let every store happen, one is missing still
            " in range(4):\n            if n[a] > 0:\n                X[a] = A[a]",
            " in range(5): B[o, j] = X[j]",
            True,
        ),
        (" in range(4): X[a] = A[a]", " in range(5): B[o, j] = X[n[j]]", False),
        (" in range(4 - o): X[a] = A[a]", " in range(4 - o): B[o, j] = X[j]", False),
        (" in range(2): X[a] = A[a]", " in range(4 - o): B[o, j] = X[j]", False),  # not looked at
    ],
)
def test_what_is_surely_missed(made, used, sure):
    func = pair(made, used)
    loops = [node for node in walk(func) if isinstance(node, For)]
    (buffer,) = func.body.block.alloc_buffers
    assert missed(loops[0], accesses(loops[0].body), buffer, arith.loop_bounds(loops)) is sure


# --- padding that is inlined before what it pads is cached ---------------------------------------


def convolution(
    size: int, channels: int, batch: int, kernel: int, pad: int, stride: int, dilation: int
) -> wb.Schedule:
    """B = A convolved, HWCN as in TVM's tutorial, its padding a stage."""
    a = te.placeholder((size, size, channels, batch), name="A")
    w = te.placeholder((kernel, kernel, channels, channels), name="W")
    out = (size + 2 * pad - (kernel - 1) * dilation - 1) // stride + 1

    def padded(y, x, c, n):
        inside = te.all(y >= pad, y - pad < size, x >= pad, x - pad < size)
        return te.if_then_else(inside, a[y - pad, x - pad, c, n], 0.0)

    p = te.compute((size + 2 * pad, size + 2 * pad, channels, batch), padded, name="P")
    rc = te.reduce_axis((0, channels), name="rc")
    ry, rx = (te.reduce_axis((0, kernel), name=name) for name in ("ry", "rx"))

    def summed(y, x, f, n):
        cell = p[y * stride + ry * dilation, x * stride + rx * dilation, rc, n]
        return te.sum(cell * w[ry, rx, rc, f], axis=[ry, rx, rc])

    b = te.compute((out, out, channels, batch), summed, name="B")
    return wb.Schedule(te.create_prim_func([a, w, b]))


def cached(sch: wb.Schedule, at: str) -> None:
    """The padding inlined; the input in shared memory at `at`, and in registers at `rc_1`."""
    sch.compute_inline("P")
    sch.cache_read("B", "A", "shared")
    sch.split("rc", factors=[None, 2])
    sch.reorder("rc_0", "ry", "rx", "rc_1")
    sch.compute_at("A_shared", at)
    sch.cache_read("B", "A_shared", "local")
    sch.compute_at("A_shared_local", "rc_1")
    sch.cache_write("B", 0, "local")


@pytest.mark.fuzz
@pytest.mark.parametrize("at", ["x", "rx"])
@pytest.mark.parametrize(
    "kernel, pad, stride, dilation",
    [(3, 1, 1, 1), (3, 1, 2, 1), (3, 2, 1, 2), (5, 3, 3, 1), (2, 0, 1, 1), (1, 2, 2, 1)],
)
def test_padding_may_be_inlined_before_its_input_is_cached(at, kernel, pad, stride, dilation):
    cached(convolution(14, 256, 256, kernel, pad, stride, dilation), at)  # more than is looked at
    small = convolution(4, 2, 2, kernel, pad, stride, dilation)
    start = small.func
    cached(small, at)
    assert difference(start, small.func, random_data(start, 0)) == ""


def test_a_condition_may_divide_by_a_loop_that_begins_at_0():
    """The loop moves no cell, and its first turn has no value to hold the condition against."""
    sch = wb.Schedule(
        parse("""
@T.prim_func
def main(A: T.Buffer((8,)), B: T.Buffer((4, 8))):
    X = T.alloc_buffer((4, 8))
    for t in range(4):
        for n in range(6):
            for i in range(8):
                with T.block("X"):
                    vt, v = T.axis.remap("SS", [t, i])
                    T.where(n > 0 and 7 // n >= 1)
                    X[vt, v] = A[v]
        for j in range(8):
            with T.block("B"):
                vt, v = T.axis.remap("SS", [t, j])
                B[vt, v] = X[vt, v]
""")
    )
    start = sch.func
    sch.parallel("t")
    assert difference(start, sch.func, random_data(start, 0)) == ""
