"""Two blocks that write one buffer: iterations done at once leave each cell to one of them."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import seeds
from workbench import arith, ir, script
from workbench.check import refuse_conflict
from workbench.diag import Refusal
from workbench.ir.places import places

PAIR = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    C = T.alloc_buffer((64,), scope="{scope}")
    for k, i in T.grid({k}, {i}):
        for j in range({j}):
            with T.block("P"):
                v = T.axis.spatial(64, {first})
                T.where({where})
                C[v] = A[v]
        for j in range({j}):
            with T.block("Q"):
                v = T.axis.spatial(64, {second})
                C[v] = T.float32(1)
    for i in range(64):
        with T.block("B"):
            v = T.axis.spatial(64, i)
            B[v] = C[v]
"""
FORMS = (
    "i",
    "i * {j} + j",
    "7 - i",
    "j",
    "i + j",
    "i * 2",
    "i // 2",
    "i + 8",
    "i + k",
    "k * {i} + i",
)
Reached = list[tuple[tuple[int, ...], int]]


def reached(func: ir.PrimFunc, name: str, at: ir.For, with_around: bool) -> Reached:
    """The cells that a block writes, with the iteration of `at`, and of what is around if asked."""
    known = places(func)
    realize = next(r for r in known.blocks.values() if r.block.name == name)
    loops = known.loops_above(realize)
    found: Reached = []
    ranges = [range(loop.extent.value) for loop in loops]  # type: ignore[attr-defined]
    for point in itertools.product(*ranges):
        env = {loop.loop_var: value for loop, value in zip(loops, point, strict=True)}
        if arith.evaluate(realize.predicate, env):
            cell = arith.evaluate(realize.iter_values[0], env)
            around = point[: loops.index(at)] if with_around else ()
            found.append(((*around, cell), env[at.loop_var]))
    return found


def clash(doers: str, scope: str, first: Reached, second: Reached) -> bool:
    """Whether a cell may be left to another block than the loop, done in order, leaves it to.

    Not looked at: one block that does the same in several iterations, writing equal values.
    """
    waits = scope == "shared" and doers == "threads"
    lags = {t - u for a, t in first for b, u in second if a == b}
    return max(lags, default=0) > 0 if waits else bool(lags - {0})


@pytest.mark.parametrize("seed", seeds(6))
def test_pairs_of_writers(seed: int) -> None:
    rng = random.Random(seed)
    sizes = {"k": rng.choice((1, 2)), "i": rng.choice((2, 4)), "j": rng.choice((1, 2, 3))}
    first, second = (rng.choice(FORMS).format(**sizes) for _ in range(2))
    scope, where = rng.choice(("global", "shared")), rng.choice(("True", "i < 1"))
    text = PAIR.format(**sizes, first=first, second=second, scope=scope, where=where)
    func = script.parse(text.replace("                T.where(True)\n", ""))
    assert isinstance(func, ir.PrimFunc)
    at = next(n for n in ir.walk(func.body) if isinstance(n, ir.For) and n.loop_var.name == "i")
    doers = rng.choice(("threads", "blocks", "lanes", "iterations"))
    p, q = (reached(func, name, at, doers != "blocks") for name in "PQ")
    try:
        refuse_conflict(func, at, "Can't", doers)  # type: ignore[arg-type]
    except Refusal as refusal:
        assert clash(doers, scope, p, q), f"{doers}: {refusal.headline}\n{script.show(func)}"
    else:
        alike = all(
            len({frozenset(c for c, t in side if t == u) for _, u in side}) < 2 for side in (p, q)
        )
        assert alike or not clash(doers, scope, p, q), f"{doers}\n{script.show(func)}"


APART = """
@T.prim_func
def main(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
    for b in range(1):
        for i in T.thread_binding(32, thread="blockIdx.x"):
            with T.block("P"):
                v = T.axis.spatial(32, i)
                C[v] = T.float32(1)
        for j in T.thread_binding(32, thread="blockIdx.x"):
            with T.block("Q"):
                v = T.axis.spatial(32, j)
                C[v] = A[v]
"""


def test_loops_of_one_kernel_that_spread_a_buffer_alike():
    assert wb.build(wb.Schedule(script.parse(APART)), target="cuda").source


SLIDING = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), D: T.Buffer((11,), "float32")):
    for k, i in T.grid(4, 8):
        with T.block("D"):
            vk, vi = T.axis.remap("SS", [k, i])
            D[vi + vk] = A[vk, vi]
"""


def test_a_block_may_be_in_a_later_turn_of_the_loops_around():
    sch = wb.Schedule(script.parse(SLIDING))
    sch.bind("i", "threadIdx.x")  # threads of one block wait for each other in each turn
    kernel = wb.build(sch, target="cuda")
    assert kernel.source.count("__syncthreads();") == 1
    a, d = np.arange(32, dtype="float32").reshape(4, 8), np.zeros(11, "float32")
    kernel.emulate(a, d)
    assert d.tolist() == [0, 8, 16, *range(24, 32)]


def test_boxes_whose_sizes_vary_are_not_taken_to_be_apart() -> None:
    """Each iteration writes one cell more than the one before it, and all of that one's."""
    func = script.parse(
        """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            T.writes(B[0:v + 1])
            for k in range(v + 1):
                B[k] = A[v]
"""
    )
    loop = places(func).order[1]
    assert isinstance(loop, ir.For)
    with pytest.raises(Refusal, match="two threads may write the same cell of B"):
        refuse_conflict(func, loop, "Can't bind `i`", "threads")


def test_what_a_predicate_reads_is_read() -> None:
    """Whether an iteration writes is told by the cell that the one before it filled."""
    func = script.parse(
        """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), S: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("S"):
            v = T.axis.spatial(8, i)
            S[v] = A[v]
        with T.block("B"):
            v = T.axis.spatial(8, i)
            T.where(i > 0 and S[i - 1] > 0)
            B[v] = 1
"""
    )
    loop = places(func).order[1]
    assert isinstance(loop, ir.For)
    with pytest.raises(Refusal, match="`B` reads parts of S that another iteration writes in `S`"):
        refuse_conflict(func, loop, "Can't run `i` in parallel", "iterations")
