"""A sum that a condition cuts short sums the same terms wherever it is moved, or stays."""

from __future__ import annotations

import random
from contextlib import suppress

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import seeds
from tests.support.cpp import run_cpp
from tests.support.steps import SameTerms, refusal
from workbench.access import difference, random_data
from workbench.lower import lower
from workbench.script import parse
from workbench.target import get

EACH_STARTS = ("True", "k < 3", "k * 2 < i + 1", "k % 3 < 2", "k // 2 < 2", "k * 3 + i < 17")
SOME_DO_NOT = (
    "k >= 1",
    "k < i",
    "i + k < 5",
    "i * 7 + k < 30",
    "k < 2 and i < 5",
    "k % 3 > 0",
    "k < 0",
)
SUMS = """\
@T.prim_func
def main(A: T.Buffer((6, 7), "float32"), C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((6,))
    for i, k in T.grid(6, 7):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where({0})
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = B[vi]
"""
SOFTMAX = """\
@T.prim_func
def main(A: T.Buffer((4, 37), "float32"), C: T.Buffer((4, 37), "float32")):
    M = T.alloc_buffer((4,))
    E = T.alloc_buffer((4, 37))
    S = T.alloc_buffer((4,))
    for i, k in T.grid(4, 37):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.float32("-inf")
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, k in T.grid(4, 37):
        with T.block("E"):
            vi, vk = T.axis.remap("SS", [i, k])
            E[vi, vk] = T.exp(A[vi, vk] - M[vi])
    for i, k in T.grid(4, 37):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, k in T.grid(4, 37):
        with T.block("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi, vk] = E[vi, vk] / S[vi]
"""


def to_its_reader(sch: wb.Schedule) -> None:
    sch.compute_at("B", sch.get_loops("C")[0])


# --- one kernel of the softmax of rows that no split divides --------------------------------------


def softmax_kernel(factors: list[int | None], threads: int) -> wb.Schedule:
    """The softmax in one kernel, a row a block; part `threads` of each loop is the threads'."""
    sch = wb.Schedule(parse(SOFTMAX))
    for name in ("M", "S"):
        parts = sch.split(sch.get_loops(name)[1], factors=factors)
        sch.rfactor(parts[threads], factor_axis=0)
    row = sch.get_loops("C")[0]
    sch.bind(row, "blockIdx.x")
    memory = {"S": "local", "S_rf": "shared", "E": "shared", "M": "local", "M_rf": "shared"}
    for name, scope in memory.items():
        sch.set_scope(name, 0, scope)
        sch.compute_at(name, row)
    for name in ("E", "C"):
        sch.bind(sch.split(sch.get_loops(name)[1], factors=factors)[threads], "threadIdx.x")
    for name in ("M_rf", "S_rf"):
        parts, summed = sch.get_loops(name)[1:]
        sch.bind(parts, "threadIdx.x")
        sch.decompose_reduction(name, summed)
    for name in ("M", "S"):
        sch.decompose_reduction(name, sch.get_loops(name)[1])
    return sch


@pytest.mark.parametrize(
    ("factors", "threads"), [([None, 32], 1), ([2, 32], 1), ([2, 32], 0), ([8, None], 0)]
)
def test_softmax_of_37_columns_is_one_kernel(factors, threads):
    sch = softmax_kernel(factors, threads)
    func = parse(SOFTMAX)
    assert difference(func, sch.func, random_data(func, seed=0)) == ""
    rows = np.random.default_rng(0).normal(size=(4, 37)).astype("float32")
    wanted = np.exp(rows - rows.max(1, keepdims=True))
    wanted /= wanted.sum(1, keepdims=True)
    emulated, ran = np.zeros_like(rows), np.zeros_like(rows)
    kernels = lower(sch.func, get("cuda"))
    assert len(kernels.kernels) == 1
    wb.build(sch, target="cuda").emulate(rows, emulated)
    run_cpp(kernels, [rows, ran])
    for made in (emulated, ran):
        np.testing.assert_allclose(made, wanted, rtol=1e-5)


def test_a_moved_sum_keeps_its_condition():
    sch = wb.Schedule(parse(SUMS.format("True")))
    parts = sch.split("k", factors=[None, 4])
    sch.rfactor(parts[1], factor_axis=0)
    sch.compute_at("B", sch.get_loops("C")[0])
    sch.compute_at("B_rf", sch.get_loops("B")[1])
    func = parse(SUMS.format("True"))
    assert "T.where(ax0_1 * 4 + ax0 < 7)" in sch.func.script()
    assert difference(func, sch.func, random_data(func, seed=0)) == ""


# --- which conditions move with the block, and which keep it where it is --------------------------


@pytest.mark.parametrize("condition", EACH_STARTS[1:])
def test_a_condition_that_leaves_each_sum_its_first_term(condition):
    func = parse(SUMS.format(condition))
    sch = wb.Schedule(func)
    to_its_reader(sch)
    assert "T.where" in sch.func.script()
    assert difference(func, sch.func, random_data(func, seed=0)) == ""


@pytest.mark.parametrize("condition", [*SOME_DO_NOT, "A[i, k] < T.float32(1)"])
def test_a_condition_that_leaves_a_sum_without_its_first_term(condition):
    text = refusal(SUMS.format(condition), to_its_reader)
    assert "Can't compute_at `B` at `i`: " in text


def test_terms_that_only_the_condition_leaves_out():
    assert (
        refusal(SUMS.format("k >= 1"), to_its_reader)
        == """\
Can't compute_at `B` at `i`: without its T.where it may sum terms that it left out.
asked: sch.compute_at("B", i)
where:
   4 |     B = T.alloc_buffer((6,))
   5 |     for i, k in T.grid(6, 7):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vk = T.axis.remap("SR", [i, k])
   8 |             T.where(k >= 1)
found: its T.where says which terms are summed, not its iterators (T.axis)
do:    give T.axis.reduce the extent for which the block is meant to run"""
    )


REPEATED = """\
@T.prim_func
def main(A: T.Buffer((4, 3), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4, 3))
    D = T.alloc_buffer((4,))
    for i, k in T.grid(4, 3):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = A[vi, vk]
    for {0} in T.grid({1}):
        with T.block("D"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                D[vi] = T.float32(0)
            D[vi] = D[vi] + B[vi, vk]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = D[vi]
"""
MOVES = {"compute_at": "C", "reverse_compute_at": "B"}


@pytest.mark.parametrize("verb", MOVES)
@pytest.mark.parametrize(("loops", "turns"), [("i, k, r", "4, 3, 2"), ("k, r, i", "3, 2, 4")])
def test_a_sum_whose_terms_are_added_twice(verb, loops, turns):
    text = refusal(
        REPEATED.format(loops, turns),
        lambda sch: getattr(sch, verb)("D", sch.get_loops(MOVES[verb])[0]),
    )
    assert text.startswith(f"Can't {verb} `D` at `i`: a term may be added twice.\n")
    assert text.endswith(
        "do:    every loop of more than one turn in a sum must move a cell or a term"
    )


@pytest.mark.parametrize("verb", MOVES)
def test_a_sum_that_starts_anew_each_time(verb):
    func = parse(REPEATED.format("i, r, k", "4, 2, 3"))
    sch = wb.Schedule(func)
    getattr(sch, verb)("D", sch.get_loops(MOVES[verb])[0])
    assert difference(func, sch.func, random_data(func, seed=0)) == ""


# --- random ones ----------------------------------------------------------------------------------

FACTORS: list[list[int | None]] = [[None, 2], [None, 3], [2, None], [3, 4], [None, 5], [4, None]]


def a_step(sch: wb.Schedule, rng: random.Random) -> None:
    """Try a step that moves sums or loops of sums about. Raises ScheduleError."""
    block, other = (rng.choice(sch.get_blocks()) for _ in range(2))
    loops, there = sch.get_loops(block), sch.get_loops(other)
    if not loops or not there:
        return
    loop, at = rng.choice(loops), rng.choice(there)
    match rng.choice(
        ["split", "split", "rfactor", "fuse", "reorder", "start", "copy", "tile", "at", "at"]
    ):
        case "split":
            sch.split(loop, factors=rng.choice(FACTORS))
        case "rfactor":
            sch.rfactor(loop, factor_axis=rng.choice([0, -1]))
        case "fuse" if len(loops) > 1:
            sch.fuse(*loops[-2:])
        case "reorder" if len(loops) > 1:
            sch.reorder(*rng.sample(loops, 2))
        case "start":
            sch.decompose_reduction(block, loop)
        case "copy":
            sch.cache_write(block, 0, "local")
        case "tile":
            sch.blockize(loop)
        case "at":
            sch.compute_at(block, at)


@pytest.mark.fuzz
@pytest.mark.parametrize("condition", [*EACH_STARTS, *SOME_DO_NOT])
def test_random_steps_on_sums_cut_short(condition):
    func = parse(SUMS.format(condition))
    kept = SUMS.format(condition).replace("    B = T.alloc_buffer((6,))\n", "")
    argument = parse(kept.replace("def main(", 'def main(B: T.Buffer((6,), "float32"), '))
    for seed in seeds()[
        ::2
    ]:  # a sum that does not start adds to what is there: of an argument, that
        start = func if seed % 3 and condition in EACH_STARTS else argument
        rng, terms = random.Random(f"{condition} {seed}"), SameTerms(start, seed)
        sch = wb.Schedule(start)
        for _ in range(8):
            before = sch.func
            with suppress(wb.ScheduleError):
                a_step(sch, rng)
            if sch.func is not before:
                terms.check(sch.func)
