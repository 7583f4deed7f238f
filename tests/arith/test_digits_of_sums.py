"""Digits of a loop that was fused, and split at another place: which of them tell the turn."""

from __future__ import annotations

import random
from math import prod

import pytest

from tests.support.cases import seeds
from workbench.arith import Simplifier, evaluate, is_injective
from workbench.ir import Expr, Var

SIZES = (2, 3, 4, 5, 7, 14)
OUTER, INNER = Var("a"), Var("b")


def drawn(rng: random.Random) -> tuple[list[Expr], dict[Var, tuple[int, int]]]:
    """Indices made of tiles of a fused loop, now and then without one, and its two parts' ends.

    They are those that `split`, `reorder` and `fuse` of two or three axes make, then `split` again.
    """
    axes = [[rng.choice(SIZES) for _ in range(2)] for _ in range(rng.choice((2, 2, 3)))]
    order = [(axis, part) for part in range(2) for axis in range(len(axes))]
    order = [order[0], *rng.sample(order[1:], len(order) - 1)] if rng.random() < 0.3 else order
    size = rng.choice((3, 4, 6, 8, 16, 24, 32, 128))
    fused = OUTER * size + INNER
    total, below = prod(n for axis in axes for n in axis), 1
    gone = None if rng.random() < 0.7 else rng.choice(order)
    indices: list[Expr] = [OUTER * 0 for _ in axes]
    for axis, part in reversed(order):
        count = axes[axis][part]
        digit = fused // below % count if below * count < total else fused // below
        stride = 1 if part else axes[axis][1]
        if (axis, part) != gone:
            indices[axis] = indices[axis] + digit * stride
        below *= count
    return indices, {OUTER: (0, -(-total // size) - 1), INNER: (0, size - 1)}


@pytest.mark.parametrize(("t", "u", "n"), [(2, 1, 196), (7, 2, 14), (7, 2, 98), (4, 2, 7)])
@pytest.mark.parametrize("size", [128, 256, 192, 64])
def test_tiles_that_are_fused_and_split_by_a_power_of_two(t: int, u: int, n: int, size: int):
    """As those of Winograd's transform: 64 and 196 in tiles of 2 and 1, fused, 128 threads."""
    f = OUTER * size + INNER
    first = f // (n * t * u) * t + f % (t * u) // u
    second = f % (n * t * u) // (t * u) * u + f % u
    dom = {OUTER: (0, 10**6), INNER: (0, size - 1)}  # more turns than are looked at
    assert is_injective([first, second], dom) is True
    assert is_injective([first, second // 2], dom) is not True


@pytest.mark.parametrize(("rows", "width", "row"), [(72, 4, 9), (96, 2, 3), (24, 4, 3), (40, 4, 5)])
@pytest.mark.parametrize("size", [56, 98, 128])
def test_vectors_that_are_cut_across_the_rows_of_a_tile_join_again(rows, width, row, size: int):
    """A tile of so many cells a row, and rows in it, is fetched `width` at a time, as a split says.

    Its rows are no multiple of the width, so that a vector may lie across two.
    """
    lane = Var("v")
    dom = {OUTER: (0, 10**6), INNER: (0, size - 1), lane: (0, width - 1)}
    n = OUTER * size + INNER
    cell = n % (rows // width) * width + lane
    first, second, third = n // (rows // width), cell // row, (n * width + lane) % row
    known = Simplifier(dom)
    whole = known.simplify(first * rows + second * row + third)
    assert len(known.sum_of(whole).digits) == 3 and known.sum_of(whole) == known.sum_of(
        n * width + lane
    )
    assert is_injective([first, second, third], dom) is True
    assert is_injective([first, second // 2, third], dom) is not True


@pytest.mark.fuzz
def test_no_two_turns_of_what_is_proved_are_at_one_place():
    proved = 0
    for seed in seeds(4):
        rng = random.Random(seed)
        indices, dom = drawn(rng)
        if rng.random() < 0.5:  # some of it is not told any more
            k = rng.randrange(len(indices))
            indices[k] = rng.choice((indices[k] // 2, indices[k] % 3, indices[k] * 2 + 1))
        if is_injective(indices, {**dom, OUTER: (0, 10**6)}) is not True:
            continue
        proved += 1
        (low, high), (_, last) = dom[OUTER], dom[INNER]
        ends = range(low, min(high, 4000 // (last + 1)) + 1)
        places = {
            tuple(evaluate(e, {OUTER: a, INNER: b}) for e in indices)
            for a in ends
            for b in range(last + 1)
        }
        assert len(places) == len(ends) * (last + 1), (seed, indices)
    assert proved
