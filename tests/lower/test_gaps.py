"""Gaps of an array are closed so that each cell that is touched has a place of its own."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tests.support.cases import seeds
from workbench.arith import Simplifier
from workbench.arith.evaluate import evaluate
from workbench.ir import Expr, Var, const
from workbench.lower.gaps import cells_left, folds, place


@pytest.mark.fuzz
def test_random_runs_lie_apart_and_in_order():
    closed = sum(map(closes, seeds(6)))
    assert closed > 8


def closes(seed: int) -> bool:
    """Whether there are gaps between random runs; each of their cells is looked at."""
    rng = random.Random(seed)
    known = {Var(name): (0, rng.randint(0, 3)) for name in "abc"}
    simplifier = Simplifier(known)
    runs = [(index(rng, list(known)), rng.choice([1, 1, 2, 4])) for _ in range(rng.randint(1, 3))]
    found = folds([(simplifier.sum_of(e), count) for e, count in runs], simplifier)
    places: dict[int, int] = {}
    for e, count in runs:
        moved = simplifier.expr_of(place(simplifier.sum_of(e), found), "int32")
        for values in product(*(range(high + 1) for _, high in known.values())):
            env = dict(zip(known, values, strict=True))
            first, then = (int(evaluate(one, env)) for one in (e, moved))
            for k in range(count):
                assert places.setdefault(first + k, then + k) == then + k
    cells, now = sorted(places), [places[cell] for cell in sorted(places)]
    assert now == sorted(set(now))
    assert now[-1] + 1 == cells_left(cells[-1] + 1, found) <= cells[-1] + 1
    return bool(found)


def index(rng: random.Random, variables: list[Var]) -> Expr:
    """A sum of some variables, their parts among them, from a number on."""
    total: Expr = const(rng.choice([0, 0, 4, 32, 33]), "int32")
    for var in variables:
        part = rng.choice([var, var, var // 2, var % 2])
        total = total + part * rng.choice([0, 1, 4, 6, 32, 96])
    return total
