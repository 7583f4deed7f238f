"""Whether two accesses meet, and at which lag: odd cases, and random ones against all points."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from itertools import product

import pytest

from workbench import arith, script
from workbench.access.accesses import Access, accesses
from workbench.access.iterations import apart
from workbench.access.meet import (
    Answer,
    Lags,
    Meets,
    Never,
    Pair,
    Question,
    Unknown,
    first_meeting,
    lags,
    meet,
    open_pairs,
)
from workbench.access.units import units, writes_apart
from workbench.ir import Expr, For, PrimFunc, Var, walk

Side = Access[For]
HEAD = """
@T.prim_func
def main(A: T.Buffer((999,), "float32"), N: T.Buffer((16,), "int32"), S: T.Buffer((9, 9), "int32")):
"""


def program(body: str) -> PrimFunc:
    """`body` on three buffers."""
    func = script.parse(HEAD + "\n".join(f"    {line}" for line in body.strip().splitlines()))
    assert isinstance(func, PrimFunc)
    return func


class Asked:
    """The stores of a program, and its loops by name."""

    def __init__(self, body: str) -> None:
        func = program(body)
        self.loops = {n.loop_var.name: n for n in walk(func) if isinstance(n, For)}
        self.vars = {name: loop.loop_var for name, loop in self.loops.items()}
        self.stores = [one for one in accesses(func.body) if one.writes]
        self.dom = arith.loop_bounds(self.loops.values())

    def pair(self) -> tuple[Side, Side]:
        """The first store and the last."""
        return self.stores[0], self.stores[-1]

    def question(self, own: str, *differ: str | Expr) -> Question:
        """Own variables by their letters; in each of `differ`, one must not be the same."""
        groups = [tuple(self.vars[v] for v in d.split()) if isinstance(d, str) else (d,)
                  for d in differ]  # fmt: skip
        return Question(arith.Simplifier(self.dom), {self.vars[v] for v in own}, tuple(groups))

    def meet(self, own: str, *differ: str | Expr) -> Answer:
        """Whether the first store and the last meet."""
        return meet([self.pair()], self.question(own, *differ))

    def proved(self, own: str, *differ: str | Expr) -> bool:
        """Whether that they never do is proved, no point looked at."""
        return not open_pairs([self.pair()], self.question(own, *differ))

    def lags(self, var: str, own: str = "") -> Lags | Unknown:
        """At which lags they meet."""
        return lags([self.pair()], self.question(own + var, self.vars[var]))


# --- loops and guards -----------------------------------------------------------------------------


def test_copies_that_are_used_in_turn_are_told_apart_before_a_cell_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one turn of k, whoever is where in a copy; not where each side has a turn of its own."""
    body = """
for k in range(8):
    for t in range(8):
        S[k % 2, t * t % 9] = 1
        S[(k + 1) % 2, t] = 2
"""
    assert isinstance(Asked(body).meet("kt", "k", "t"), Meets)
    monkeypatch.setattr(Pair, "look", lambda *_: pytest.fail("it is looked at"))
    assert Asked(body).meet("t", "t") == Never()


def test_a_loop_whose_turns_write_their_own_cells() -> None:
    one = Asked("for i in range(8):\n    for j in range(4):\n        A[i * 4 + j] = T.float32(0)")
    assert one.meet("ij", "i") == Never() and one.proved("ij", "i")
    assert isinstance(one.meet("ij"), Meets)  # a turn with itself
    assert isinstance(one.meet("ij", "i j"), Never)


def test_a_meeting_is_two_real_iterations() -> None:
    one = Asked("for i in range(8):\n    for j in range(5):\n        A[i * 4 + j] = T.float32(0)")
    found = one.meet("ij", "i")
    assert isinstance(found, Meets)
    i, j = one.vars["i"], one.vars["j"]
    a, b = found.first.env, found.second.env
    assert a[i] != b[i] and a[i] * 4 + a[j] == b[i] * 4 + b[j] == found.first.cell[0]
    assert found.first.text == f"A[{found.first.cell[0]}]"


TWO = """
for i in range(8):
    for j in range(8):
        {guard}A[{one}] = T.float32(0)
        A[{other}] = T.float32(1)
"""


@pytest.mark.parametrize(
    ("guard", "never"), [("", False), ("if j < 4: ", True), ("if i < 4: ", False)]
)
def test_a_guard_of_one_side_bounds_that_side_only(guard: str, never: bool) -> None:
    text = TWO.format(guard=guard.replace(": ", ":\n            "), one="j", other="j // 2 + 4")
    one = Asked(text)
    assert one.proved("ij", "i") is never
    assert isinstance(one.meet("ij", "i"), Never if never else Meets)


def test_a_guard_of_one_side_says_nothing_of_the_other() -> None:
    text = "for i in range(8):\n    if i < 4:\n        A[i] = T.float32(0)\n    A[i] = T.float32(1)"
    one = Asked(text)
    assert one.meet("i", "i") == Never()
    shifted = Asked(text.replace("A[i] = T.float32(1)", "A[i + 2] = T.float32(1)"))
    assert shifted.lags("i") == Lags({2})
    assert isinstance(shifted.meet("i", "i"), Meets)


def test_a_guard_may_stop_a_sum_of_loops() -> None:
    loops = "for i in range({}):\n    for k in range(7):\n        for j in range(16):\n"
    text = (
        loops + "            if k * 16 + j < {}:\n                A[i * 100 + (k * 16 + j)] = 0.0"
    )
    text = text.replace("0.0", "T.float32(0)")
    assert Asked(text.format(1000, 100)).proved("ijk", "i")
    assert isinstance(Asked(text.format(1000, 101)).meet("ijk", "i"), Unknown)
    assert isinstance(Asked(text.format(20, 101)).meet("ijk", "i"), Meets)


def test_a_loop_need_not_begin_at_0() -> None:
    body = "for i in range({low}, 12):\n    A[i * 2] = T.float32(0)\n    A[i + 4] = T.float32(1)"
    late = Asked(body.format(low=9))
    assert late.meet("i") == Never() and late.proved("i")
    early = Asked(body.format(low=5))
    assert early.lags("i") == Lags({-1, -2, -3})  # 10 is 6 + 4, 12 is 8 + 4, 14 is 10 + 4
    assert isinstance(early.meet("i", "i"), Meets)


def test_the_lags_of_several_pairs_are_those_of_each() -> None:
    one = Asked("for i in range(8):\n    A[i] = T.float32(0)\n    A[i + 2] = T.float32(1)")
    first, second = one.pair()
    asked = one.question("i", one.vars["i"])
    assert lags([(first, second), (second, first)], asked) == Lags({2, -2})


def test_a_loop_of_no_turns_touches_nothing() -> None:
    one = Asked("for i in range(8):\n    for j in range(4):\n        A[0] = T.float32(0)")
    one.dom[one.vars["j"]] = 4, 3  # as of ``range(4, 4 - i)``
    assert one.meet("ij", "i") == Never() and one.proved("ij", "i")
    assert one.lags("i", "j") == Lags(set())


def test_a_loop_of_one_turn_differs_from_nothing() -> None:
    one = Asked("for i in range(3, 4):\n    A[0] = T.float32(0)")
    assert one.proved("i", "i")


def test_a_loop_without_bounds_still_tells_its_cells() -> None:
    one = Asked("for i in range(N[0]):\n    A[i] = T.float32(0)\n    A[i] = T.float32(1)")
    assert one.proved("i", "i")
    two = Asked("for i in range(N[0]):\n    A[i % 8] = T.float32(0)")
    assert two.meet("i", "i") == Unknown("`i` has no bounds")


def test_a_loop_whose_length_varies_is_looked_at_in_its_turns() -> None:
    body = "for i in range(6):\n    for j in range(i + 1):\n        A[{}] = T.float32(0)"
    assert isinstance(Asked(body.format("i * (i + 1) // 2 + j")).meet("ij", "i"), Meets)  # no guard
    func = program(body.format("i * 6 + j"))
    loop = next(n for n in walk(func) if isinstance(n, For))
    (unit,) = units(loop.body)
    assert apart(loop, unit, arith.loop_bounds([loop, *unit.loops]))


def test_two_boxes_of_one_block_may_meet_where_neither_meets_itself() -> None:
    func = program("""
for i in range(8):
    with T.block("two"):
        v = T.axis.spatial(8, i)
        T.reads()
        T.writes(A[v], A[v + 4])
        A[v] = T.float32(1)
        A[v + 4] = T.float32(2)""")
    loop = next(n for n in walk(func) if isinstance(n, For))
    (unit,) = units(loop.body)
    assert not apart(loop, unit, arith.loop_bounds([loop]))


def test_instances_of_other_terms_may_write_one_cell() -> None:
    func = program("""
for i, k in T.grid(4, 4):
    with T.block("sum"):
        v, w = T.axis.remap("SR", [i, k])
        A[v + w] = T.float32(1)""")
    (unit,) = units(func.body.block.body)
    assert unit.block and writes_apart(unit.block) is not True


# --- sizes, buffers, data -------------------------------------------------------------------------


def boxes(one: int, other: int, step: int) -> tuple[Side, Side, Question]:
    """Two boxes of `one` and `other` cells at multiples of `step`, the second half a step on."""
    asked = Asked(f"for i in range(8):\n    A[i * {step}] = T.float32(0)")
    (a,) = asked.stores
    i = asked.vars["i"]
    wide = Access(a.node, a.buffer, True, a.indices, (one,), (), a.loops)
    next_to = Access(a.node, a.buffer, True, (i * step + step // 2,), (other,), (), a.loops)
    return wide, next_to, asked.question("i")


@pytest.mark.parametrize("step", [4, 6, 400])
def test_boxes_of_other_sizes_meet_where_one_reaches_the_other(step: int) -> None:
    half = step // 2
    for one, other in product((1, half, half + 1), (1, half, half + 1)):
        a, b, question = boxes(one, other, step)
        never = one <= half and other <= step - half
        assert isinstance(meet([(a, b)], question), Never) is never, (one, other)
        assert (not open_pairs([(a, b)], question)) is never


def test_accesses_of_two_buffers_never_meet() -> None:
    one = Asked("for i in range(8):\n    A[i] = T.float32(0)\n    S[0, i] = 1")
    assert one.meet("i") == Never()


def test_what_is_in_memory_may_be_anything() -> None:
    one = Asked("for i in range(8):\n    A[N[i]] = T.float32(0)")
    assert one.meet("i", "i") == Unknown("what is in memory says which cell it is")
    assert one.lags("i") == Unknown("what is in memory says which cell it is")


def test_a_guard_by_data_counts_as_holding() -> None:
    apart_anyway = Asked("for i in range(8):\n    if N[i] > 0:\n        A[i] = T.float32(0)")
    assert apart_anyway.meet("i", "i") == Never()
    only_by_data = Asked("for i in range(8):\n    if N[i] > 0:\n        A[i // 2] = T.float32(0)")
    assert only_by_data.meet("i", "i") == Unknown("data may keep the two apart")


@pytest.mark.parametrize("index", ["i % 3 + 7 // n", "i % 3 + 7 % n", "i % 3 + (n + 7) // n"])
def test_what_is_divided_by_is_never_0(index: str) -> None:
    """Though it cancels, and the loop of it begins there."""
    one = Asked(
        "for n in range(6):\n    for i in range(6):\n        if n > 0:\n            "
        f"A[{index}] = A[0]"
    )
    assert isinstance(one.meet("i", "i"), Meets)
    assert one.lags("i") == Lags({-3, 0, 3})


def test_too_many_cells_are_not_looked_at() -> None:
    one = Asked("for i in range(30000):\n    A[i // 2] = T.float32(0)")
    assert isinstance(one.meet("i", "i"), Meets)  # seen at a glance
    two = Asked("for i in range(30000):\n    A[i * (i + 1) % 4099] = T.float32(0)")
    assert two.lags("i") == Unknown("30,000 cells are too many to look at")


def test_very_many_turns_at_one_cell_are_at_all_lags() -> None:
    one = Asked("for i in range(200):\n    A[i // 200] = T.float32(0)")
    assert one.lags("i") == Lags({*range(-199, 200)})  # 40,000 pairs, of which none is looked at


# --- threads, warps, copies -----------------------------------------------------------------------

THREADS = """
for t in range(64):
    for k in range(6):
        A[{one}] = T.float32(0)
        A[{other}] = T.float32(1)
"""


@pytest.mark.parametrize(
    ("one", "other", "threads", "carried"),
    [
        ("t", "t", Never, Never),
        ("t", "63 - t", Meets, Meets),
        ("k * 64 + t", "k * 64 + 63 - t", Meets, Never),
        ("k % 2 * 64 + t", "k % 2 * 64 + 63 - t", Meets, Meets),
        ("k * 64 + t", "k * 64 + 64 + t", Never, Never),
        ("(t * 5 + 3) % 64", "(t * 5 + 3) % 64", Never, Never),
    ],
)
def test_threads_in_one_turn_and_in_another(
    one: str, other: str, threads: type, carried: type
) -> None:
    asked = Asked(THREADS.format(one=one, other=other))
    assert isinstance(asked.meet("t", "t"), threads)
    assert isinstance(asked.meet("tk", "t", "k"), carried)


@pytest.mark.parametrize("copies", [2, 3])
@pytest.mark.parametrize("held", [2, 3])
def test_turns_that_are_not_at_one_of_so_many_copies(copies: int, held: int) -> None:
    """With as many copies as are held, turns at others of them never meet; their lags say it."""
    text = THREADS.format(one=f"k % {held} * 64 + t", other=f"k % {held} * 64 + 63 - t")
    asked = Asked(text)
    k = asked.vars["k"]
    assert asked.proved("tk", "t", k % copies) is (copies == held)
    assert isinstance(asked.meet("tk", "t", k % copies), Never) is (copies == held)
    assert asked.lags("k", "t") == Lags({lag for lag in range(-5, 6) if lag % held == 0})


def test_warps_are_groups_of_threads() -> None:
    asked = Asked(THREADS.format(one="t // 32 * 32 + (t + 1) % 32", other="t"))
    t = asked.vars["t"]
    assert isinstance(asked.meet("t", "t"), Meets)
    assert asked.meet("t", t // 32) == Never()
    far = Asked(THREADS.format(one="(t + 1) % 64", other="t"))
    assert isinstance(far.meet("t", far.vars["t"] // 32), Meets)


def test_what_one_side_does_not_use_may_be_any_of_its_values() -> None:
    asked = Asked(THREADS.format(one="k", other="t"))
    assert isinstance(asked.meet("t", "t"), Meets)  # any thread writes A[k], thread k too
    assert asked.lags("k", "t") == Lags({*range(-5, 6)})


# --- nothing is remembered of another question ----------------------------------------------------


def test_one_statement_in_two_programs_has_two_answers() -> None:
    """Statements are shared between the programs of a history; what is around them is not."""
    one = Asked("for i in range(8):\n    A[i % 4] = T.float32(0)")
    (side,) = one.stores
    i = one.vars["i"]
    for high, never in ((7, False), (3, True), (7, False)):
        question = Question(arith.Simplifier({i: (0, high)}), {i}, ((i,),))
        assert isinstance(meet([(side, side)], question), Never) is never
    narrowed = Question(arith.Simplifier({i: (4, 7)}), {i}, ((i,),))
    assert meet([(side, side)], narrowed) == Never()


def test_an_example_is_the_first_in_the_order_of_the_program() -> None:
    one = Asked(
        "for i in range(8):\n    A[(i + 5) % 8] = T.float32(0)\n    A[i // 4] = T.float32(1)"
    )
    found = first_meeting(one.loops["i"], one.stores, one.dom)
    assert found is not None
    turns = [touch.env[one.vars["i"]] for touch in (found.first, found.second)]
    assert turns == [0, 1] and found.first.text == "A[0]"


# --- against trying all ---------------------------------------------------------------------------

INDEX = [
    "i",
    "j",
    "i * {a} + j",
    "j * {a} + i",
    "i // {b}",
    "i % {b}",
    "(i * {a} + j) // {b}",
    "i + j",
]
INDEX += [
    "(i * {a} + j) % {b}",
    "k * {a} + i",
    "k + j",
    "{a} - i",
    "i * 2 + j * 3",
    "{a} * i + {b} * j",
]
GUARDS = ["", "", "i < {b}", "j > 0", "i + j < {a}", "k < i", "i * {a} + j < 7"]


def drawn(rng: random.Random) -> Asked:
    """Two stores of two dimensions in three loops, each under a guard of its own."""
    lows = {v: rng.choice([0, 0, 1, -2]) for v in "kij"}
    loops = [f"for {v} in range({low}, {low + rng.randint(1, 4)}):" for v, low in lows.items()]
    lines = [" " * 4 * depth + line for depth, line in enumerate(loops)]
    for value in range(2):
        sizes = {"a": rng.randint(1, 5), "b": rng.randint(1, 4)}
        first, second, guard = (rng.choice(some).format(**sizes) for some in (INDEX, INDEX, GUARDS))
        lines += [" " * 12 + f"if {guard}:"] if guard else []
        lines += [" " * (16 if guard else 12) + f"S[{first}, {second}] = {value}"]
    asked = Asked("\n".join(lines))
    if not rng.randrange(8):
        asked.dom[asked.vars["j"]] = 1, 0
    return asked


def _differ(asked: Asked, groups: tuple[str, ...], a: dict[Var, int], b: dict[Var, int]) -> bool:
    """Whether in each group one loop at least is not in the same turn."""
    moved = {name for name, var in asked.vars.items() if a[var] != b[var]}
    return all(not moved.isdisjoint(group.split()) for group in groups)


def touched(asked: Asked, side: Side) -> Iterator[tuple[tuple[int, ...], dict[Var, int]]]:
    """All cells of `side`, with the iteration."""
    names = list(asked.vars.values())
    ranges = arith.ranges_of(names, asked.dom)
    for values in product(*ranges.values()):
        env = dict(zip(names, values, strict=True))
        if all(arith.evaluate(guard, env) for guard in side.guards):
            yield tuple(arith.evaluate(index, env) for index in side.indices), env


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(4))
def test_random_questions_are_answered_as_all_points_say(part: int) -> None:
    rng, answers, by_proof = random.Random(part), set[type](), 0
    for _ in range(60):
        asked = drawn(rng)
        own = rng.choice(["i", "ij", "j", "kij"])
        groups = rng.choice([(), ("i",), ("j",), ("i j",), ("i", "j")])
        groups = tuple(g for g in groups if set(g.split()) <= set(own))
        same = [var for name, var in asked.vars.items() if name not in own]
        sides = [list(touched(asked, side)) for side in asked.pair()]

        different = partial(_differ, asked, groups)
        together = [
            (a, b) for (cell, a), (other, b) in product(*sides)
            if cell == other and all(a[v] == b[v] for v in same)
        ]  # fmt: skip
        found = asked.meet(own, *groups)
        assert isinstance(found, Meets) is any(different(a, b) for a, b in together)
        if isinstance(found, Meets):
            one, two = (
                next(env for cell, env in side
                     if cell == touch.cell and touch.env.items() <= env.items())
                for side, touch in zip(sides, (found.first, found.second), strict=True)
            )  # fmt: skip
            assert found.first.cell == found.second.cell and different(one, two)
            assert all(one[v] == two[v] for v in same)
        answers.add(type(found))
        by_proof += asked.proved(own, *groups)
        var = own[0]
        between = asked.lags(var, own)
        v = asked.vars[var]
        assert between == Lags({a[v] - b[v] for a, b in together})
    assert answers == {Never, Meets} and by_proof > 10
