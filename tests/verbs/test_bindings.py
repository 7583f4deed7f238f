"""Bindings after split and fuse, as TVM 0.27 prints them, and equal in value to what was before.

`bindings.txt` holds steps (`split` a loop by its place in the nest, `fuse` the loops from one place
to another) and the loops, bindings and predicate that TVM makes of them.
"""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

import workbench as wb
from tests.support.cases import seeds
from workbench import arith, ir, script
from workbench.ir.places import places
from workbench.verbs.bindings import conjuncts, simplify_bindings

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((128,), "float32"), C: T.Buffer((128, 128), "float32")):
    for i, j in T.grid(128, 128):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi] + A[vj]
"""
CASES = (Path(__file__).parent / "bindings.txt").read_text(encoding="utf-8").split("\n\n")


def take(sch: wb.Schedule, step: str) -> None:
    verb, place, *rest = step.split()
    loops = sch.get_loops("D")
    if verb == "fuse":
        sch.fuse(*loops[int(place) : int(rest[0])])
    else:
        sch.split(loops[int(place)], [None if f == "None" else int(f) for f in rest])


@pytest.mark.parametrize("case", CASES)
def test_as_tvm(case: str) -> None:
    steps, _, expected = case.partition("\n---\n")
    sch = wb.Schedule(script.parse(PROGRAM))
    for step in steps.splitlines():
        take(sch, step)
    words = ("for ", "T.axis.", "T.where(")
    lines = [line.strip() for line in script.show(sch.func).splitlines()]
    assert [line for line in lines if any(w in line for w in words)] == expected.strip().split("\n")


def simple(seed: int) -> wb.Schedule:
    """A small program after a few random splits, fuses and reorders of its two loops."""
    rng = random.Random(seed)
    small = PROGRAM.replace("128", str(rng.choice([4, 6, 7])))
    sch = wb.Schedule(script.parse(small))
    for _ in range(rng.randint(1, 5)):
        loops = sch.get_loops("D")
        at = rng.randrange(len(loops))
        if rng.random() < 0.5 or len(loops) == 1:
            sch.split(
                loops[at], [None, rng.choice([1, 2, 3])], preserve_unit_iters=rng.random() < 0.7
            )
        else:
            sch.fuse(*loops[at : at + rng.choice([2, 3])])
    return sch


@pytest.mark.parametrize("seed", seeds(3))
def test_every_instance_runs_once(seed: int) -> None:
    """Whatever is done to the loops, the block runs once for each point of its domain."""
    sch = simple(seed)
    known = places(sch.func)
    realize = next(r for r in known.blocks.values() if r.block.name == "D")
    loops = known.loops_above(realize)
    extent = realize.block.iter_vars[0].dom.extent.value  # type: ignore[attr-defined]
    ranges = [range(loop.extent.value) for loop in loops]  # type: ignore[attr-defined]
    done = []
    for point in itertools.product(*ranges):
        env = dict(zip((loop.loop_var for loop in loops), point, strict=True))
        if arith.evaluate(realize.predicate, env):
            done.append(tuple(arith.evaluate(value, env) for value in realize.iter_values))
    assert done == list(itertools.product(range(extent), repeat=2)), script.show(sch.func)


@pytest.mark.parametrize("seed", seeds(2))
def test_a_binding_keeps_its_value(seed: int) -> None:
    """Sums of parts of one number: those that belong together are joined, no others."""
    rng = random.Random(seed)
    x, y = ir.Var("x"), ir.Var("y")

    def part() -> ir.Expr:
        low, size, times = (rng.choice([1, 2, 3, 4, 6, 8]) for _ in range(3))
        number = x if rng.random() < 0.8 else x * 2 + y
        digit = number // low % size if rng.random() < 0.5 else number % (low * size) // low
        return (digit if rng.random() < 0.7 else number // low) * times

    value = part() + part() - part() if seed % 3 else part() + part()
    (short,) = simplify_bindings([value])
    for a, b in itertools.product(range(50), range(3)):
        assert arith.evaluate(short, {x: a, y: b}) == arith.evaluate(value, {x: a, y: b})


def test_no_predicate_is_no_condition() -> None:
    x = ir.Var("x")
    assert conjuncts(ir.TRUE) == []
    assert simplify_bindings([x // 4 * 4 + x % 4]) == (x,)
