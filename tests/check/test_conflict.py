"""Whether the iterations of a loop get in each other's way, against trying all of them."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from tests.support.walk import arrays
from workbench import arith, emulate, ir, script
from workbench.access import Invalid, Terms, difference, meaning, random_data, shuffled
from workbench.check import refuse_conflict, shares_sums
from workbench.diag import Refusal
from workbench.ir.places import places

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid({i}, {j}, {k}):
        with T.block("B"):
            v0 = T.axis.spatial(64, {first})
            v1 = T.axis.spatial(64, {second})
            v2 = T.axis.{kind}(64, {third})
            T.where({where})
            T.reads(A[v2])
            T.writes(B[v0, v1])
            with T.init():
                B[v0, v1] = T.float32(0)
            B[v0, v1] = B[v0, v1] - A[v2]
"""
FORMS = [
    "i",
    "j",
    "k",
    "i * {j} + j",
    "i // 2",
    "i % 2",
    "i * 2 + j",
    "i + j",
    "(i * {j} + j) // 3",
]
FORMS += ["(i * {j} + j) % 3", "j * {i} + i", "0", "i * {j} + (j * {k} + k)", "7 - i", "i * 4 + k"]


def sample(seed: int, op: str = "-") -> ir.PrimFunc:
    """A reduction by `op` whose iterators are bound to random expressions of three loops."""
    rng = random.Random(seed)
    sizes = {name: rng.choice([1, 2, 3, 4]) for name in "ijk"}
    first, second, third = (rng.choice(FORMS).format(**sizes) for _ in range(3))
    where = rng.choice(["True", "i < 2", "i * {j} + j < 5"]).format(**sizes)
    text = PROGRAM.format(
        **sizes, first=first, second=second, third=third, where=where, kind="reduce"
    )
    text = text.replace("= B[v0, v1] - A", f"= B[v0, v1] {op} A")
    func = script.parse(text.replace("            T.where(True)\n", ""))
    assert isinstance(func, ir.PrimFunc)
    return func


def clashes(loops: list[ir.For], at: ir.For, realize: ir.BlockRealize) -> bool:
    """Whether two iterations of `at`, all loops around it fixed, update one cell."""
    names = [loop.loop_var for loop in loops]
    ranges = [range(loop.extent.value) for loop in loops]  # type: ignore[attr-defined]
    place = loops.index(at)
    reached: dict[tuple[int, ...], int] = {}
    for point in itertools.product(*ranges):
        env = dict(zip(names, point, strict=True))
        if not arith.evaluate(realize.predicate, env):
            continue
        cell = tuple(arith.evaluate(value, env) for value in realize.iter_values[:2])
        before = reached.setdefault((*point[:place], *cell), point[place])
        if before != point[place]:
            return True
    return False


def repeats(at: ir.For, realize: ir.BlockRealize, dom: arith.Bounds) -> bool:
    """Whether the iterations of `at` all do the very same, as far as can be told."""
    values = [arith.simplify(value, dom) for value in realize.iter_values]
    return all(at.loop_var not in ir.free_vars(value) for value in values)


@pytest.mark.parametrize("part", range(4))
def test_two_updates_of_one_cell_are_found(part: int) -> None:
    refused = allowed = 0
    for seed in seeds(2, part * 100):
        func = sample(seed)
        known = places(func)
        realize = next(r for r in known.blocks.values() if r.block.name == "B")
        loops = known.loops_above(realize)
        dom = arith.loop_bounds(loops)
        for at in loops:
            clash = clashes(loops, at, realize)
            try:
                refuse_conflict(func, at, "Can't", "threads")
            except Refusal as refusal:
                refused += 1
                text = script.show(func)
                assert clash, f"seed {seed}, {at.loop_var.name}: {refusal.headline}\n{text}"
            else:
                allowed += 1
                same = repeats(at, realize, dom)
                assert same or not clash, f"seed {seed}, {at.loop_var.name}:\n{script.show(func)}"
    assert refused > CASES // 2 and allowed > CASES


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore::workbench.ScheduleWarning")
def test_threads_share_out_what_any_order_sums() -> None:
    """Of random sums with one loop on threads: none means another thing, and none computes it."""
    shared = 0
    for seed in seeds(2):
        func = sample(seed, "+")
        for name in "ijk":
            sch = wb.Schedule(func)
            try:
                sch.bind(name, "threadIdx.x")
            except wb.ScheduleError:
                continue
            if not shares_sums(sch.func):
                continue
            data = random_data(func, seed)
            try:
                meaning(func, data, Terms())
            except Invalid:
                continue  # no iteration starts the sum
            try:
                built = wb.build(sch, target="cuda")
            except wb.ScheduleError:
                continue  # threads that all do the same updates
            assert not difference(func, sch.func, data, shuffled(seed)), script.show(sch.func)
            got, meant = arrays(func, data), arrays(func, data)
            built.emulate(*got)
            emulate.evaluate(func, meant)
            assert all(map(np.array_equal, got, meant)), script.show(sch.func)
            shared += 1
    assert shared > CASES // 20


TWO_FEED = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32", scope="local")
    C = T.alloc_buffer((8,), "float32", scope="local")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = A[v]
        with T.block("D"):
            v = T.axis.spatial(8, i)
            D[v] = C[7 - v] + B[7 - v]
"""


@pytest.mark.parametrize("sign", [1, -1])
def test_of_two_refusals_the_first_of_the_program_is_given(
    sign: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A buffer's hash is its address: a set of buffers has another order in each process."""
    monkeypatch.setattr(ir.Buffer, "__hash__", lambda self: sign * ord(self.name))
    with pytest.raises(wb.ScheduleError) as refused:
        wb.Schedule(script.parse(TWO_FEED)).bind("i", "threadIdx.x")
    assert refused.value.headline == (
        "Can't bind `i` to threadIdx.x: `D` reads parts of C that another thread writes in `C`."
    )


def test_what_a_loop_of_no_turns_would_divide_by_is_no_error():
    func = script.parse("""
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for n in range(4):
        for j in range(1, 1 - n):
            C[n + 8 // j] = A[n // j]
        C[n + 32] = A[n]
""")
    sch = wb.Schedule(func)
    sch.parallel("n")
    assert difference(func, sch.func, random_data(func, 0)) == ""


@pytest.mark.parametrize("width, apart", [(4, True), (3, False)])
def test_at_most_so_many_turns_as_data_tell_stay_within_a_row(width: int, apart: bool) -> None:
    text = f"""
@T.prim_func
def main(N: T.Buffer((8,), "int32"), A: T.Buffer((8,)), B: T.Buffer((32,))):
    for t in range(8):
        for k in range(T.min(N[t], 4)):
            B[t * {width} + k] = A[k]
"""
    sch = wb.Schedule(script.parse(text))
    if apart:
        sch.bind("t", "threadIdx.x")
        return
    with pytest.raises(wb.ScheduleError, match="may write the same cell of B"):
        sch.bind("t", "threadIdx.x")


def test_turns_that_no_iterator_tells_update_the_same_cells() -> None:
    func = script.parse("""
@T.prim_func
def main(A: T.Buffer((8,)), C: T.Buffer((8,))):
    for x, y in T.grid(4, 8):
        with T.block("C"):
            vy = T.axis.spatial(8, y)
            C[vy] = C[vy] + A[vy]
""")
    with pytest.raises(wb.ScheduleError, match="x=0 and x=1 would both update"):
        wb.Schedule(func).parallel("x")


@pytest.mark.parametrize(
    ("scope", "body", "verb", "why"),
    [
        (
            "local",
            "with T.block('S'):\n    S[0, 0] = S[0, 0] * 2.0 + 1.0\nB[o, x] = S[0, 0]",
            ("bind", "threadIdx.x"),
            "`B` may read parts of S that another thread writes in `S`",
        ),
        (
            "global",
            "B[o, x] = S[o, 7 - x]\nS[o + 1, x] = A[o, x]",  # of the turn of `o` before
            ("bind", "threadIdx.x"),
            "`B` reads parts of S that another thread writes in `S`",
        ),
        (
            "local",
            "S[o, x] = A[o, x]\nS[o, 7 - x] = 1.0",
            ("parallel",),
            "`S` and `S` may write the same cells of S in different iterations",
        ),
    ],
)
def test_small_programs_whose_turns_need_their_order(
    scope: str, body: str, verb: tuple[str, ...], why: str
) -> None:
    lines = "".join(f"\n            {line}" for line in body.splitlines())
    func = script.parse(f"""
@T.prim_func
def main(A: T.Buffer((4, 8)), B: T.Buffer((4, 8))):
    S = T.alloc_buffer((12, 12), scope="{scope}")
    for o in range(4):
        for x in range(8):{lines}
""")
    with pytest.raises(wb.ScheduleError, match=why):
        getattr(wb.Schedule(func), verb[0])("x", *verb[1:])
