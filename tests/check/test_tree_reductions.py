"""Sums by halves in shared memory: no two threads meet within a step, and all wait between two."""

from __future__ import annotations

import itertools
import random
from textwrap import indent

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from tests.support.gpu_programs import parsed
from tests.support.together import Together
from workbench import arith, emulate
from workbench.access import difference, random_data
from workbench.check import refuse_conflict
from workbench.diag import Refusal
from workbench.ir import Barrier, BufferLoad, BufferStore, For, IfThenElse, PrimFunc, walk

TREE = """
@T.prim_func
def main(A: T.Buffer((3, {n}), "float32"), B: T.Buffer((3,), "float32")):
    S = T.alloc_buffer((3, {n}), scope="shared")
    for b in range(3):
        for t_in in range({n}):
            S[b, t_in] = A[b, t_in]
{steps}
        for t_out in range({n}):
            if t_out == 0:
                B[b] = S[b, 0]
"""
BARE = """
for t_{half} in range({n}):
    if t_{half} < {half}:
        S[b, t_{half}] = S[b, t_{half}] + S[b, t_{half} + {half}]
"""
BLOCK = """
for t_{half} in range({n}):
    with T.block("half_{half}"):
        vb, vt = T.axis.remap("SS", [b, t_{half}])
        T.where(t_{half} < {half})
        S[vb, vt] = S[vb, vt] + S[vb, vt + {half}]
"""
IN_A_LOOP = """
for s in range(4):
    for t in range({n}):
        if t < {n} // 2 // (s + 1):
            S[b, t] = S[b, t] + S[b, t + {n} // 2 // (s + 1)]
"""
IN_EQUAL_STEPS = """
for s in range(4):
    for t in range({n}):
        if t < {n} // 2 - s * ({n} // 8):
            S[b, t] = S[b, t] + S[b, t + ({n} // 2 - s * ({n} // 8))]
"""


def tree(form: str, n: int) -> PrimFunc:
    halves = [n >> step for step in range(1, n.bit_length()) if "half" in form]
    steps = "".join(form.format(n=n, half=half) for half in halves or [0])
    return parsed(TREE.format(n=n, steps=indent(steps, " " * 8)))


def threads(func: PrimFunc) -> list[For]:
    return [n for n in walk(func.body) if isinstance(n, For) and n.loop_var.name[0] == "t"]


@pytest.mark.parametrize("n", [8, 64, 1024])
@pytest.mark.parametrize("form", [BARE, BLOCK, IN_A_LOOP, IN_EQUAL_STEPS])
def test_a_tree_is_taken_by_threads(form: str, n: int, as_cpp: Together):
    func = tree(form, n)
    sch = wb.Schedule(func)
    sch.bind("b", "blockIdx.x")
    for loop in threads(func):
        sch.bind(loop.loop_var.name, "threadIdx.x")
    built = wb.build(sch)
    inside = [n for kernel in built.kernels for n in walk(kernel) if isinstance(n, IfThenElse)]
    assert not any(isinstance(n, Barrier) for choice in inside for n in walk(choice))
    count = sum(isinstance(n, Barrier) for kernel in built.kernels for n in walk(kernel))
    assert count == (n.bit_length() - 1 if "half" in form else 1)
    a = np.random.default_rng(0).integers(-4, 5, (3, n)).astype("float32")
    wanted, emulated = (np.zeros(3, "float32") for _ in range(2))
    emulate.evaluate(func, [a, wanted])
    emulate.run(built.kernels, [a, emulated])
    assert "half" not in form or (wanted == a.sum(axis=1)).all()
    np.testing.assert_array_equal(emulated, wanted)
    as_cpp.expect(built.lowered, [a, np.zeros_like(wanted)], [a, wanted])


@pytest.mark.parametrize("form", [BARE, BLOCK, IN_A_LOOP, IN_EQUAL_STEPS])
def test_a_tree_means_the_same_on_threads(form: str):
    func = tree(form, 8)
    sch = wb.Schedule(func)
    for loop in threads(func):
        sch.bind(loop.loop_var.name, "threadIdx.x")
    for seed in range(3):
        assert not difference(func, sch.func, random_data(func, seed))


# --- every verdict against trying all threads -----------------------------------------------------

STEP = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), S: T.Buffer((64,), "float32")):
    for s in range({s}):
        for t in range({t}):
            if {test}:
                S[{cell}] = S[{cell}] + S[{other}] * A[t]
"""
STRIDES = ("2", "4", "s + 1", "6 - s", "4 // (s + 1)", "8 - s * 2", "s * 2 + 2")
TESTS = ("t < {n}", "t <= {n}", "t >= {n}", "t * 2 < {n}", "t < {n} and t > 0", "not t < {n}",
         "{n} > t", "t % 2 == 0", "t == 3")  # fmt: skip
CELLS = ("t", "t + {n}", "t + {n} - 1", "t + {n} + 1", "t * 2", "t * 2 + 1", "{n} - 1 - t + 8",
         "t + 16")  # fmt: skip


def meet(func: PrimFunc) -> bool:
    """Whether in one step two threads touch one cell, one of them writing."""
    s, t = (n for n in walk(func.body) if isinstance(n, For))
    (choice,) = (n for n in walk(func.body) if isinstance(n, IfThenElse))
    uses = [n for n in walk(func.body) if isinstance(n, (BufferLoad, BufferStore))]
    reached: dict[object, set[tuple[int, bool]]] = {}
    steps, count = s.extent.value, t.extent.value  # type: ignore[attr-defined]
    for step, thread in itertools.product(range(steps), range(count)):
        env = {s.loop_var: step, t.loop_var: thread}
        for use in uses if arith.evaluate(choice.condition, env) else ():
            cell = (step, use.buffer.name, arith.evaluate(use.indices[0], env))
            reached.setdefault(cell, set()).add((thread, isinstance(use, BufferStore)))
    return any(
        len({thread for thread, _ in seen}) > 1 and any(writes for _, writes in seen)
        for cell, seen in reached.items()
        if cell[1] == "S"  # type: ignore[index]
    )


@pytest.mark.parametrize("part", range(4))
def test_threads_that_a_condition_keeps_apart(part: int):
    rng = random.Random(part)
    verdicts = {True: 0, False: 0}
    for _ in seeds(3):
        n = rng.choice(STRIDES)
        test, cell, other = (rng.choice(f).format(n=n) for f in (TESTS, CELLS, CELLS))
        sizes = {"s": rng.choice((1, 2, 3)), "t": rng.choice((4, 8))}
        func = parsed(STEP.format(test=test, cell=cell, other=other, **sizes))
        loop = next(n for n in walk(func.body) if isinstance(n, For) and n.loop_var.name == "t")
        try:
            refuse_conflict(func, loop, "Can't", "threads")
        except Refusal as refusal:
            assert meet(func), f"{refusal.headline}\n{func}"
            verdicts[False] += 1
        else:
            assert not meet(func), str(func)
            verdicts[True] += 1
    assert min(verdicts.values()) > CASES // 4


@pytest.mark.parametrize("n", [16, 4096])
@pytest.mark.parametrize(
    ("stride", "is_right"),
    [
        ("{n} // 2 // (s + 1)", True),
        ("{n} // 2 - s * 2", True),
        ("{n} // 2 // (s + 1) - 1", False),
    ],
)
def test_a_step_is_proved_at_any_size(n: int, stride: str, is_right: bool):
    stride = stride.format(n=n)
    text = IN_A_LOOP.replace("+ {n} // 2 // (s + 1)", f"+ ({stride})")
    text = text.replace("{n} // 2 // (s + 1)", stride.replace(") - 1", ")"))
    func = tree(text, n)
    loop = next(one for one in threads(func) if one.loop_var.name == "t")
    if is_right:
        refuse_conflict(func, loop, "Can't", "threads")
    else:
        with pytest.raises(Refusal, match="which another of the threads may write"):
            refuse_conflict(func, loop, "Can't", "threads")


@pytest.mark.parametrize(("count", "is_right"), [(1, True), (2, False)])
@pytest.mark.parametrize("where", ["block", "bare"])
def test_an_update_that_a_condition_leaves_to_one_thread(where: str, count: int, is_right: bool):
    test = f"t < {count}"
    func = parsed(f"""
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), C: T.Buffer((1,), "float32")):
        for t in range(8):
            if {test if where == "bare" else "True"}:
                with T.block("C"):
                    vi = T.axis.spatial(1, 0)
                    T.where({test if where == "block" else "True"})
                    C[vi] = C[vi] + A[vi]
    """)
    loop = next(n for n in walk(func.body) if isinstance(n, For))
    for doers in ("threads", "blocks", "lanes", "iterations"):
        if is_right:
            refuse_conflict(func, loop, "Can't", doers)  # type: ignore[arg-type]
        else:
            with pytest.raises(Refusal, match="would both update C"):
                refuse_conflict(func, loop, "Can't", doers)  # type: ignore[arg-type]
