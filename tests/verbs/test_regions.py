"""Boxes of what a block touches, against running its loops one by one."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.support.cases import seeds
from workbench import arith, script
from workbench.ir import BlockRealize, PrimFunc, walk
from workbench.ir.places import places
from workbench.schedule import Schedule, ScheduleError
from workbench.verbs.domains import bounds_at, domain
from workbench.verbs.regions import Box, covers_domain, exact, touched

Cells = set[tuple[int, ...]]

PLAIN = """
@T.prim_func
def main(A: T.Buffer((12, 15), "float32"), B: T.Buffer((12, 15), "float32")):
    for i, j in T.grid(12, 15):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
"""
STEPPED = PLAIN.replace("B[vi, vj] =", "B[vi, vj // 2 * 2] =")


def reshaped(text: str, rng: random.Random) -> PrimFunc:
    """The program after a few splits, fusions and reorderings."""
    sch = Schedule(script.parse(text))
    for _ in range(rng.randint(0, 4)):
        loops = sch.get_loops("B")
        try:
            match rng.choice(("split", "fuse", "reorder")):
                case "split":
                    sch.split(rng.choice(loops), factors=[None, rng.choice((2, 3, 4, 5, 7))])
                case "fuse":
                    k = rng.randrange(len(loops) - 1)
                    sch.fuse(*loops[k : k + 2])
                case _:
                    sch.reorder(*rng.sample(loops, 2))
        except (ScheduleError, ValueError):
            continue
    return sch.func


def written(realize: BlockRealize, inner: dict, outer: dict) -> Cells:
    """The cells that the block writes as `inner` run and `outer` are fixed, one by one."""
    (region,) = realize.block.writes
    cells = set()
    for point in itertools.product(*(range(low, high + 1) for low, high in inner.values())):
        env = {**outer, **dict(zip(inner, point, strict=True))}
        values = {v: arith.evaluate(e, env) for v, e in realize.bindings.items()}
        ends = domain(realize.block)
        if arith.evaluate(realize.predicate, env):
            assert all(ends[v][0] <= value <= ends[v][1] for v, value in values.items())
            cells.add(tuple(arith.evaluate(r.min, values) for r in region.region))
    return cells


def cells_of(box: Box, outer: dict) -> Cells:
    """The cells of a box for fixed outer loops."""
    sides = []
    for axis in box:
        low, size = arith.evaluate(axis.min, outer), arith.evaluate(axis.extent, outer)
        sides.append(range(low, low + size))
    return set(itertools.product(*sides))


@pytest.mark.parametrize("seed", seeds(2))
def test_boxes_hold_what_is_written_and_exact_ones_no_more(seed: int):
    rng = random.Random(seed)
    func = reshaped(rng.choice((PLAIN, STEPPED)), rng)
    where = places(func)
    realize = next(n for n in walk(func.root.body) if isinstance(n, BlockRealize))
    loops = where.loops_above(realize)
    dom = bounds_at(where, realize)
    cut = rng.randint(0, len(loops))
    inner = {loop.loop_var: dom[loop.loop_var] for loop in loops[cut:]}
    outer = {v: ends for v, ends in dom.items() if v not in inner}
    (region,) = realize.block.writes
    upper, lower = touched(region, realize, inner, dom), exact(realize, region, inner, outer)
    valid = {(i, j) for i in range(12) for j in range(15)}
    for _ in range(8):
        point = {v: rng.randint(*ends) for v, ends in outer.items()}
        truth = written(realize, inner, point)
        assert truth <= cells_of(upper, point)
        if lower is not None and truth:
            assert cells_of(lower, point) & valid <= truth


def test_exact_is_found_through_splits_with_tails_and_fused_loops():
    found = 0
    for seed in seeds(2):
        func = reshaped(PLAIN, random.Random(seed))
        realize = next(n for n in walk(func.root.body) if isinstance(n, BlockRealize))
        loops = bounds_at(places(func), realize)
        box = exact(realize, realize.block.writes[0], loops, {})
        found += box is not None and covers_domain(realize, loops)
    assert found >= len(seeds(2)) * 0.8


def test_a_block_with_holes_has_no_exact_box():
    func = script.parse(STEPPED)
    realize = next(n for n in walk(func.root.body) if isinstance(n, BlockRealize))
    loops = bounds_at(places(func), realize)
    assert exact(realize, realize.block.writes[0], loops, {}) is None


TAILS = """
@T.prim_func
def main(A: T.Buffer((16, 20), "float32"), B: T.Buffer((16, 20), "float32")):
    for i_0, k_0, f_0, f_1, f_2 in T.grid(2, 10, 2, 3, 4):
        with T.block("B"):
            v0 = T.axis.spatial(16, i_0 * 9 + ((f_0 * 3 + f_1) * 4 + f_2) // 2)
            v1 = T.axis.spatial(20, k_0 * 2 + ((f_0 * 3 + f_1) * 4 + f_2) % 2)
            T.where(
                i_0 * 9 + ((f_0 * 3 + f_1) * 4 + f_2) // 2 < 16 and (f_0 * 3 + f_1) * 4 + f_2 < 18
            )
            B[v0, v1] = A[v0, v1]
"""


@pytest.mark.parametrize("unit", ["", " + u * 4"])
def test_a_counter_may_stop_in_one_condition_and_be_used_in_another(unit: str):
    text = TAILS.replace("f_2)", f"f_2{unit})").replace("4 + f_2 <", f"4 + f_2{unit} <")
    text = text.replace("f_2 in", "f_2, u in").replace("2, 3, 4)", "2, 3, 4, 1)")
    func = script.parse(text)
    realize = next(n for n in walk(func.root.body) if isinstance(n, BlockRealize))
    loops = bounds_at(places(func), realize)
    outer = {v: ends for v, ends in loops.items() if v.name in ("i_0", "k_0")}
    inner = {v: ends for v, ends in loops.items() if v not in outer}
    box = exact(realize, realize.block.writes[0], inner, outer)
    assert box is not None
    shown = [(script.expr_text(r.min), script.expr_text(r.extent)) for r in box]
    assert shown == [("i_0 * 9", "9"), ("k_0 * 2", "2")]
