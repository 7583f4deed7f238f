"""What a sum tells of its terms, held against every point."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tests.support.cases import seeds
from workbench import arith
from workbench.arith.evaluate import compiled
from workbench.arith.radix import Fixed
from workbench.ir import Expr, Var


def told(x: Expr, y: Expr, moving: list[Var], dom: dict[Var, tuple[int, int]]) -> list[Expr]:
    """What is the same at two points at which the sum `x` of one is the sum `y` of the other."""
    known = arith.Simplifier(dom)
    same = Fixed(known, moving)
    same.add(known.sum_of(x), known.sum_of(y))
    return same.parts()


@pytest.mark.parametrize("seed", seeds(8))
def test_what_is_told_holds_at_every_two_points(seed: int):
    """Each side has a variable `f` of its own beside `t` and `s`, which both have."""
    rng = random.Random(seed)
    t, s, f, g = (Var(name) for name in "tsfg")
    dom = {v: (low := rng.choice((0, 0, 1)), low + rng.choice((0, 1, 2, 3))) for v in (t, s, f, g)}
    factors = (1, 2, 3, 4, 6, 8, 12, 16, -4, -1)
    a, b = rng.choice(factors), rng.choice(factors)
    own, its = rng.choice(factors), rng.choice(factors)
    own = its if rng.random() < 0.6 else own
    shape = rng.choice((lambda e: e, lambda e: e // 2 + e % 2, lambda e: e % 3))
    x = shape(t) * a + s * b + f * own + rng.choice((0, 0, 1))
    y = shape(t) * a + s * b + g * its
    parts = told(x, y, [t, s, f, g], dom)
    points = [*product(*(range(low, high + 1) for low, high in dom.values()))]
    values = [dict(zip(dom, point, strict=True)) for point in points]
    for name, first, second in ((p, x, y) for p in parts):
        part, one, other = map(compiled, (name, first, second))
        at: dict[int, set[int]] = {}
        for env in values:
            at.setdefault(one(env), set()).add(part(env))
        for env in values:
            assert at.get(other(env), set()) <= {part(env)}, (name, first, second, dom)


def test_a_term_that_each_side_has_for_itself_leaves_room_for_smaller_ones():
    """``f * 32 + t`` and ``g * 32 + t``, as two nests that fetch: the same cell, the same `t`."""
    t, f, g = (Var(name) for name in "tfg")
    dom = {t: (0, 31), f: (0, 1), g: (0, 1)}
    assert told(f * 32 + t, g * 32 + t, [t, f, g], dom) == [t]
    assert told(f * 16 + t, g * 16 + t, [t, f, g], dom) == []
    assert told(f * 32 + t, g * 32 + t + 1, [t, f, g], dom) == []
