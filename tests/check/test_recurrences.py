"""Blocks and statements that read what they write: rows at once, what follows in a row in turn."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from tests.support.gpu_programs import parsed
from tests.support.together import Together
from workbench import arith, emulate, ir
from workbench.access import difference, random_data, shuffled
from workbench.check import refuse_conflict
from workbench.diag import Refusal
from workbench.ir import BufferLoad, BufferStore, For, PrimFunc, walk

# --- every verdict against trying all iterations -------------------------------------------------

HEAD = """
@T.prim_func
def main(A: T.Buffer((6, 6), "float32"), O: T.Buffer((6, 6), "float32")):
    for t, i, j in T.grid({t}, {i}, {j}):
"""
BARE = """
        O[{write}] = O[{first}] + O[{second}] * A[i, j] + T.cast(t, "float32")
"""
BLOCK = """
        with T.block("O"):
            vt, vi, vj = T.axis.remap("SSS", [t, i, j])
            O[{write}] = O[{first}] + O[{second}] * A[vi, vj] + T.cast(vt, "float32")
"""
TESTED = """
        if O[{first}] > T.float32(0):
            O[{write}] = O[{second}] + A[i, j] + T.cast(t, "float32")
"""
FORMS = ("i, j", "i, j + 1", "i + 1, j", "i + 2, j", "i, j + 2", "j, i", "j + 1, i", "i, 0",
         "i // 2, j", "i + t, j", "t + 1, i", "t, i", "j, t", "i + j, t", "i, 5 - j")  # fmt: skip


def sample(rng: random.Random) -> PrimFunc:
    """One statement, bare, in a block, or under a test, that reads the buffer it writes."""
    form = rng.choice((BARE, BLOCK, TESTED))
    cells = {key: rng.choice(FORMS) for key in ("write", "first", "second")}
    if form is BLOCK:
        cells = {k: "".join(f"v{c}" if c in "tij" else c for c in v) for k, v in cells.items()}
    sizes = {name: rng.choice((1, 2, 3)) for name in "tij"}
    return parsed((HEAD + form.lstrip("\n")).format(**sizes, **cells))


def touches(func: PrimFunc) -> Iterator[tuple[dict[str, int], str, tuple[int, ...]]]:
    """Each iteration, and a cell of O that it reads or writes."""
    loops = [n for n in walk(func.body) if isinstance(n, For)]
    blocks = [n for n in walk(func.body) if isinstance(n, ir.BlockRealize)]
    extents = [loop.extent.value for loop in loops]  # type: ignore[attr-defined]
    for point in itertools.product(*map(range, extents)):
        env = {loop.loop_var: value for loop, value in zip(loops, point, strict=True)}
        names = {var.name: value for var, value in env.items()}
        for realize in blocks:
            pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
            env |= {it.var: arith.evaluate(value, env) for it, value in pairs}
        for node in walk(func.body):
            if isinstance(node, (BufferLoad, BufferStore)) and node.buffer.name == "O":
                kind = "write" if isinstance(node, BufferStore) else "read"
                yield names, kind, tuple(arith.evaluate(i, env) for i in node.indices)


def meet(func: PrimFunc, name: str, doers: str) -> bool:
    """Whether two iterations of a loop touch one cell, one of them writing."""
    around = () if doers == "blocks" else tuple("tij"[: "tij".index(name)])
    reached: dict[object, set[tuple[int, str]]] = {}
    for at, kind, cell in touches(func):
        reached.setdefault((*(at[n] for n in around), cell), set()).add((at[name], kind))
    return any(
        a != b and "write" in (k, m)
        for seen in reached.values()
        for (a, k), (b, m) in itertools.combinations(seen, 2)
    )


@pytest.mark.parametrize("part", range(4))
def test_a_loop_is_done_at_once_where_no_two_iterations_meet(part: int):
    rng = random.Random(part)
    verdicts = {True: 0, False: 0}
    for _ in seeds(3):
        func = sample(rng)
        loop = rng.choice([n for n in walk(func.body) if isinstance(n, For)])
        doers = rng.choice(("threads", "blocks", "lanes", "iterations"))
        try:
            refuse_conflict(func, loop, "Can't", doers)  # type: ignore[arg-type]
        except Refusal as refusal:
            told = f"{doers} {refusal.headline}\n{func}"
            assert meet(func, loop.loop_var.name, doers), told
            verdicts[False] += 1
        else:
            assert not meet(func, loop.loop_var.name, doers), f"{doers} {loop.loop_var}\n{func}"
            verdicts[True] += 1
    assert min(verdicts.values()) > CASES // 4


# --- what people write ---------------------------------------------------------------------------

ROWS = {
    "a row, from left to right": """
    for i, j in T.grid({n}, {m}):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj + 1] = O[vi, vj] + A[vi, vj]
""",
    "bare": """
    for i, j in T.grid({n}, {m}):
        O[i, j + 1] = O[i, j] + A[i, j]
""",
    "with a start": """
    for i in range({n}):
        with T.block("start"):
            vi = T.axis.spatial({n}, i)
            O[vi, 0] = T.float32(1)
        for j in range({m}):
            with T.block("O"):
                vi, vj = T.axis.remap("SS", [i, j])
                O[vi, vj + 1] = O[vi, vj] * T.float32(0.5) + A[vi, vj]
""",
    "the first is another case": """
    for i, j in T.grid({n}, {m}):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = T.if_then_else(vj == 0, T.float32(0), O[vi, vj - 1]) + A[vi, vj]
""",
    "a column, row after row": """
    for j, i in T.grid({m}, {n}):
        with T.block("O"):
            vj, vi = T.axis.remap("SS", [j, i])
            O[vi, vj + 1] = O[vi, vj] + A[vi, vj]
""",
    "a stencil in place": """
    for i, j in T.grid({n}, {m} - 1):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj + 1] = O[vi, vj] + A[vi, vj] - O[vi, vj + 2]
""",
    "the largest and where": """
    for i in range({n}):
        O[i, 0] = A[i, 0]
        O[i, 1] = T.float32(0)
        for j in range({m}):
            if A[i, j] > O[i, 0]:
                O[i, 0] = A[i, j]
                O[i, 1] = T.cast(j, "float32")
""",
    "mean and variance": """
    for i in range({n}):
        O[i, 0] = T.float32(0)
        O[i, 1] = T.float32(0)
        for j in range({m}):
            O[i, 1] = O[i, 1] + (A[i, j] - O[i, 0]) * (A[i, j] - O[i, 0])
            O[i, 0] = O[i, 0] + (A[i, j] - O[i, 0]) * T.float32(0.5)
""",
    "how often each": """
    for i in range({n}):
        for b in range({m} + 1):
            O[i, b] = T.float32(0)
        for j in range({m}):
            O[i, T.cast(A[i, j] * A[i, j], "int32") % {m}] = (
                O[i, T.cast(A[i, j] * A[i, j], "int32") % {m}] + T.float32(1)
            )
""",
    "a state that others read": """
    for i, j in T.grid({n}, {m}):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj + 1] = A[vi, vj] - O[vi, 0]
        with T.block("state"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, 0] = O[vi, 0] + A[vi, vj]
""",
}


def rows(name: str, n: int, m: int) -> PrimFunc:
    head = (
        f'@T.prim_func\ndef main(A: T.Buffer(({n}, {m}), "float32"), '
        f'O: T.Buffer(({n}, {m + 1}), "float32")):'
    )
    return parsed(head + ROWS[name].format(n=n, m=m))


def loop_named(func: PrimFunc, name: str) -> For:
    return next(n for n in walk(func.body) if isinstance(n, For) and n.loop_var.name == name)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize(("n", "m"), [(4, 5), (1024, 600)])
def test_rows_are_done_at_once_at_any_size(name: str, n: int, m: int):
    func = rows(name, n, m)
    for doers in ("threads", "blocks", "lanes", "iterations"):
        refuse_conflict(func, loop_named(func, "i"), "Can't", doers)  # type: ignore[arg-type]
        with pytest.raises(Refusal):
            refuse_conflict(func, loop_named(func, "j"), "Can't", doers)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("axis", ["threadIdx.x", "blockIdx.x"])
def test_the_kernel_of_rows_computes_the_same(name: str, axis: str, as_cpp: Together):
    func = rows(name, 6, 5)
    sch = wb.Schedule(func)
    sch.bind("i", axis)
    for seed in range(3):
        told = difference(func, sch.func, random_data(func, seed), shuffled(seed))
        assert not told, told
    rng = np.random.default_rng(0)
    inputs = [rng.integers(-4, 5, b.shape).astype(b.dtype) for b in func.params]
    wanted, emulated = ([a.copy() for a in inputs] for _ in range(2))
    built = wb.build(sch)
    emulate.evaluate(func, wanted)
    emulate.run(built.kernels, emulated)
    for a, b in zip(wanted, emulated, strict=True):
        np.testing.assert_array_equal(b, a)
    as_cpp.expect(built.lowered, inputs, wanted)


# --- odd neighbours ------------------------------------------------------------------------------

ROWS_MEET = {
    "the row before": """
    for i, j in T.grid(8, 8):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi + 1, vj] = O[vi, vj] + A[vi, vj]
""",
    "a row that is not declared": """
    for i, j in T.grid(8, 8):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj], O[vi, vj])
            T.writes(O[vi, vj])
            O[vi, vj] = O[vi, vj] + O[vi + 1, vj] + A[vi, vj]
""",
    "a test of the next row": """
    for i, j in T.grid(8, 8):
        O[i, j] = A[i, j]
        if O[i + 1, j] > T.float32(0):
            A[i, j] = T.float32(1)
""",
    "as often as the next row says": """
    for i in range(8):
        O[i, 0] = A[i, 0]
        for j in range(T.cast(O[i + 1, 0], "int32")):
            A[i, 1] = A[i, 1] + T.float32(1)
""",
    "where the next row says": """
    for i in range(8):
        with T.block("O"):
            vi = T.axis.spatial(8, i)
            O[vi, 0] = A[vi, 0]
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            T.where(O[i + 1, 0] > T.float32(0))
            A[vi, 1] = T.float32(1)
""",
    "bins of all rows": """
    for i, j in T.grid(8, 8):
        O[0, T.cast(A[i, j], "int32") % 8] = O[0, T.cast(A[i, j], "int32") % 8] + T.float32(1)
""",
    "a row that data tells": """
    for i, j in T.grid(8, 8):
        O[i, j + 1] = O[T.cast(A[i, j], "int32") % 8, j] + T.float32(1)
""",
    "a state of all rows": """
    for i, j in T.grid(8, 8):
        O[i, j + 1] = A[i, j] - O[0, 0]
        O[0, 0] = O[0, 0] + A[i, j]
""",
}


@pytest.mark.parametrize("name", ROWS_MEET)
@pytest.mark.parametrize("doers", ["threads", "blocks", "lanes", "iterations"])
def test_rows_that_meet_are_not_done_at_once(name: str, doers: str):
    head = '@T.prim_func\ndef main(A: T.Buffer((9, 9), "float32"), O: T.Buffer((9, 9), "float32")):'
    func = parsed(head + ROWS_MEET[name])
    with pytest.raises(Refusal):
        refuse_conflict(func, loop_named(func, "i"), "Can't", doers)  # type: ignore[arg-type]


def test_a_test_that_reads_what_another_thread_writes_is_shown():
    text = ROWS_MEET["a test of the next row"]
    head = '@T.prim_func\ndef main(A: T.Buffer((9, 9), "float32"), O: T.Buffer((9, 9), "float32")):'
    with pytest.raises(wb.ScheduleError) as refused:
        wb.Schedule(parsed(head + text)).bind("i", "threadIdx.x")
    assert (
        str(refused.value)
        == """\
Can't bind `i` to threadIdx.x: `A` reads parts of O that another thread writes in `O`.
asked: sch.bind("i", "threadIdx.x")
where:
   2 | def main(A: T.Buffer((9, 9), "float32"), O: T.Buffer((9, 9), "float32")):
   3 |     # with T.block("root"):
   4 |     for i, j in T.grid(8, 8):
     |         ^
   5 |         O[i, j] = A[i, j]
     |         ^^^^^^^^^^^^^^^^^
   6 |         if O[i + 1, j] > T.float32(0):
     |            ^^^^^^^^^^^
   7 |             A[i, j] = T.float32(1)
found: O is in global memory, where no threads wait for others
do:    give each block its own loop nest, so that one ends before the next begins"""
    )


def test_blocks_along_two_axes_that_write_one_cell():
    func = parsed("""
    @T.prim_func
    def main(A: T.Buffer((8, 8), "float32"), O: T.Buffer((15,), "float32")):
        for i in T.thread_binding(8, thread="blockIdx.y"):
            for j in T.thread_binding(8, thread="blockIdx.x"):
                with T.block("O"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    O[vi + vj] = A[vi, vj]
    """)
    with pytest.raises(wb.ScheduleError) as refused:
        wb.build(func)
    assert (
        str(refused.value)
        == """\
Can't build this: `i` can't be blockIdx.y: blocks i=0 and i=1 would both write O[1].
asked: wb.build(main, target='cuda')
where:
   2 | def main(A: T.Buffer((8, 8), "float32"), O: T.Buffer((15,), "float32")):
   3 |     # with T.block("root"):
   4 |     for i in T.thread_binding(8, thread="blockIdx.y"):
     |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   5 |         for j in T.thread_binding(8, thread="blockIdx.x"):
   6 |             with T.block("O"):
     |             ^^^^^^^^^^^^^^^^^^
   7 |                 vi, vj = T.axis.remap("SS", [i, j])
   8 |                 T.reads(A[vi, vj])
found: O[1] is reached in both iterations of `i`
do:    keep `i` serial"""
    )


GUARDED = """
@T.prim_func
def main(X: T.Buffer(({n},), "float32"), B: T.Buffer(({n}, {n}), "float32")):
    V = T.alloc_buffer(({n},))
    for i in range({n}):
        for j in range({n}):
            with T.block("V"):
                vj = T.axis.spatial({n}, j)
                T.where({made})
                V[vj] = X[vj]
        for j in range({n}):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.where({used})
                B[vi, vj] = V[vj]
"""


@pytest.mark.parametrize("n", [4, 50, 1024])
@pytest.mark.parametrize(
    ("made", "used", "is_right"),
    [
        ("j < {n}", "j >= 0", True),
        ("j < {n} - 1", "j < {n} - 1", True),
        ("j < {n} - 2", "j * 2 < {n} - 4", True),
        ("i < 3", "i < 3", True),
        ("i < 3", "j >= 0", False),
        ("j < {n} - 2", "j < {n} - 1", False),
        ("X[0] > T.float32(0)", "j >= 0", False),
    ],
)
def test_what_a_condition_leaves_out_is_another_iterations(
    made: str, used: str, is_right: bool, n: int
):
    func = parsed(GUARDED.format(n=n, made=made.format(n=n), used=used.format(n=n)))
    if is_right:
        refuse_conflict(func, loop_named(func, "i"), "Can't", "blocks")
    else:
        verb = "may read" if "X" in made else "reads"  # what data decide is not known
        with pytest.raises(Refusal, match=f"`B` {verb} parts of V that another block writes in"):
            refuse_conflict(func, loop_named(func, "i"), "Can't", "blocks")
