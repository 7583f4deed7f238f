"""Blocks with more than one store: each is looked at by itself, whatever box holds them all."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import dataclass

import pytest

import workbench as wb
from tests.support.cases import seeds
from tests.support.gpu_programs import parsed
from workbench.check import refuse_conflict
from workbench.diag import Refusal
from workbench.ir import For, walk

HEAD = """
@T.prim_func
def main(A: T.Buffer(({n},), "float32"), O: T.Buffer((16 * {n},), "float32")):
"""
ONE_LOOP = """\
    for t in range({n}):
        with T.block("B"):
            v = T.axis.spatial({n}, t)
            {first} = A[v]
            {second} = A[v] * T.float32(2)
"""
TWO_LOOPS = """\
    for a, b in T.grid({n}, 4):
        with T.block("B"):
            va, vb = T.axis.remap("SS", [a, b])
            {first} = A[va]
            {second} = A[va] * T.float32(2)
"""
# the loops, the two stores, and the loops whose iterations may be done at once
STORES = {
    "halves": (ONE_LOOP, "O[v]", "O[v + {n}]", "t"),
    "the second from its end": (ONE_LOOP, "O[v]", "O[2 * {n} - 1 - v]", "t"),
    "even and odd": (ONE_LOOP, "O[v * 2]", "O[v * 2 + 1]", "t"),
    "tiles": (ONE_LOOP, "O[v // 4 * 8 + v % 4]", "O[v // 4 * 8 + v % 4 + 4]", "t"),
    "the next one": (ONE_LOOP, "O[v]", "O[v + 1]", ""),
    "next but one": (ONE_LOOP, "O[v * 2]", "O[v * 2 + 2]", ""),
    "the same from its end": (ONE_LOOP, "O[v]", "O[{n} - 1 - v]", ""),
    "one for two": (ONE_LOOP, "O[v // 2]", "O[v + {n}]", ""),
    "rows of two halves": (TWO_LOOPS, "O[va * 8 + vb]", "O[va * 8 + vb + 4]", "ab"),
    "rows that meet": (TWO_LOOPS, "O[va * 4 + vb]", "O[va * 4 + vb + 4]", "b"),
}


@pytest.mark.parametrize("n", [4, 50, 1024, pytest.param(100_000, marks=pytest.mark.fuzz)])
@pytest.mark.parametrize("name", STORES)
def test_stores_are_told_apart_at_every_size(name: str, n: int):
    loops, first, second, wanted = STORES[name]
    text = HEAD + loops.format(n=n, first=first.format(n=n), second=second.format(n=n))
    func = parsed(text.format(n=n))
    for doers in ("threads", "lanes", "iterations"):
        found = ""
        for loop in (one for one in walk(func.body) if isinstance(one, For)):
            try:
                refuse_conflict(func, loop, "Can't", doers)  # type: ignore[arg-type]
                found += loop.loop_var.name
            except Refusal:
                pass
        assert found == wanted, doers


@pytest.mark.parametrize("n", [32, 1024])
def test_a_condition_may_keep_stores_apart(n: int):
    text = (
        HEAD
        + """\
    for t in T.thread_binding({n}, thread="threadIdx.x"):
        with T.block("B"):
            v = T.axis.spatial({n}, t)
            T.where(t >= {half})
            O[v] = A[v]
            O[v - {half}] = A[v]
"""
    )
    wb.build(wb.Schedule(parsed(text.format(n=n, half=n // 2))))
    with pytest.raises(wb.ScheduleError, match="would both write O"):
        wb.build(wb.Schedule(parsed(text.format(n=n, half=n // 2 - 1))))


def test_the_cell_that_two_threads_write_is_one_that_both_write():
    text = (HEAD + ONE_LOOP).format(n=8, first="O[v]", second="O[v + 4]")
    with pytest.raises(wb.ScheduleError) as refused:
        wb.Schedule(parsed(text)).bind("t", "threadIdx.x")
    assert (
        str(refused.value)
        == """\
Can't bind `t` to threadIdx.x: threads t=0 and t=4 would both write O[4].
asked: sch.bind("t", "threadIdx.x")
where:
   2 | def main(A: T.Buffer((8,), "float32"), O: T.Buffer((128,), "float32")):
   3 |     # with T.block("root"):
   4 |     for t in range(8):
     |     ^^^^^^^^^^^^^^^^^^
   5 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             v = T.axis.spatial(8, t)
   7 |             T.reads(A[v])
found: O[4] is reached in both iterations of `t`
do:    keep `t` serial"""
    )


def test_stores_that_data_decide_are_no_example():
    text = (
        HEAD
        + """\
    for t in range({n}):
        with T.block("B"):
            v = T.axis.spatial({n}, t)
            if A[v] > T.float32(0):
                O[v // 2] = A[v]
"""
    )
    with pytest.raises(wb.ScheduleError, match="two threads may write the same cell of O"):
        wb.Schedule(parsed(text.format(n=8))).bind("t", "threadIdx.x")


def test_what_is_not_proved_to_be_another_threads_is_said_so():
    text = """
@T.prim_func
def main(X: T.Buffer((8,), "float32"), B: T.Buffer((8, 8), "float32")):
    V = T.alloc_buffer((8,))
    for i in range(8):
        for j in range(8):
            with T.block("V"):
                vj = T.axis.spatial(8, j)
                T.where(X[0] > T.float32(0))
                V[vj] = X[vj]
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = V[vj]
"""
    with pytest.raises(wb.ScheduleError) as refused:
        wb.Schedule(parsed(text)).bind("i", "blockIdx.x")
    headline, *_, found, do = str(refused.value).splitlines()
    assert headline == (
        "Can't bind `i` to blockIdx.x: `B` may read parts of V that another block writes in `V`."
    )
    assert found == "found: not proved: that each block writes all that it reads there"
    assert do == "do:    give each block its own loop nest, so that one ends before the next begins"


INDICES = (
    "va * {a} + vb * {b} + {c}",
    "vb * {b} + {c}",
    "va // 2 * {a} + va % 2 + vb * 4 + {c}",
    "{c} - va * {a} + vb",
    "(va * 4 + vb) // 2 * 4 + (va * 4 + vb) % 2 + {c}",
)


@dataclass(frozen=True)
class Stores:
    """A block with stores under conditions, as text and as the cells that an iteration writes."""

    indices: list[str]
    conditions: list[str]

    @staticmethod
    def drawn(rng: random.Random) -> Stores:
        """One to three stores."""
        count = rng.choice((1, 2, 2, 3))
        numbers = [
            {"a": rng.choice((1, 2, 4, -1)), "b": rng.choice((0, 1, 2)), "c": rng.randrange(12)}
            for _ in range(count)
        ]
        tests = ("0 <= va", f"va < {rng.randrange(7)}", f"va * 4 + vb < {rng.randrange(24)}")
        return Stores(
            [rng.choice(INDICES).format(**number) for number in numbers],
            [rng.choice(tests) for _ in range(count)],
        )

    def text(self) -> str:
        """The program, of 6 by 4 iterations."""
        body = "".join(
            f"            if {condition}:\n                O[{index} + 30] = A[va]\n"
            for index, condition in zip(self.indices, self.conditions, strict=True)
        )
        head = HEAD.format(n=6) + "    for a, b in T.grid(6, 4):\n        with T.block('B'):\n"
        return head + "            va, vb = T.axis.remap('SS', [a, b])\n" + body

    def cells(self, turn: dict[str, int]) -> set[int]:
        """What an iteration writes."""
        pairs = zip(self.indices, self.conditions, strict=True)
        return {eval(i, turn) + 30 for i, c in pairs if eval(c, turn)}

    def clashes(self, name: str) -> set[tuple[int, int, int]]:
        """Two iterations of a loop and a cell that both write, in one turn of what is around it."""
        turns = [{"a": a, "b": b, "va": a, "vb": b} for a in range(6) for b in range(4)]
        pairs = [
            (x, y) for x, y in itertools.combinations(turns, 2)
            if x[name] != y[name] and (name == "a" or x["a"] == y["a"])
        ]  # fmt: skip
        return {(x[name], y[name], i) for x, y in pairs for i in self.cells(x) & self.cells(y)}


@pytest.mark.fuzz
def test_random_stores_are_judged_as_their_cells_say():
    for seed in seeds():
        stores = Stores.drawn(random.Random(seed))
        func = parsed(stores.text())
        for loop in (one for one in walk(func.body) if isinstance(one, For)):
            name = loop.loop_var.name
            wrong = stores.clashes(name)
            try:
                refuse_conflict(func, loop, "Can't", "lanes")
            except Refusal as refusal:
                told = re.search(r"=(\d+) and .=(\d+) .* O\[(\d+)\]", refusal.headline)
                assert told, refusal.headline
                assert tuple(map(int, told.groups())) in wrong, f"{seed}: {refusal.headline}"
            else:
                assert not wrong, f"{seed}: `{name}` of {stores}"


def test_sums_that_reach_over_to_the_next_iteration_s_cells():
    sch = wb.Schedule(
        parsed("""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((20,), "float32")):
    for i, k in T.grid(5, 4):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            B[vi * 2 + vk] = B[vi * 2 + vk] + A[vi]
""")
    )
    with pytest.raises(wb.ScheduleError, match=r"blocks i=0 and i=1 would both update B\[2\]"):
        sch.bind("i", "blockIdx.x")
