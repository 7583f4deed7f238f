"""Boxes that loops fill whose turns sizes tell: a loop of no turns fills nothing."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tests.support.cases import seeds
from workbench.access.boxes import inside, whole_box
from workbench.access.counters import count_of
from workbench.arith import Bounds, equal, up_to
from workbench.arith.evaluate import evaluate
from workbench.ir import Expr, Range, SizeVar, Var, as_expr, free_vars

N, M = SizeVar("n"), SizeVar("m")
I, J, T = Var("i"), Var("j"), Var("t")
F, H = Var("f"), Var("h")
TILE = {T: (0, 3)}


@pytest.mark.parametrize(
    ("corner", "own", "extent"),
    [
        (I, {I: up_to(N)}, N),
        (I * 4 + T, {I: up_to(N), **TILE}, N * 4),
        (N - 1 - I, {I: up_to(N)}, N),
        (T, {**TILE, I: up_to(N + 1)}, as_expr(4)),  # a loop beside it, which has a turn
        (I * M + J, {I: up_to(N), J: up_to(M)}, N * M),
        ((I * 4 + T) * M + J, {I: up_to(N), **TILE, J: up_to(M)}, N * M * 4),
        (I + T, {I: up_to(N + 1), **TILE}, None),  # after the slowest one nothing is told
    ],
)
def test_a_box_that_is_filled(corner: Expr, own: Bounds, extent: Expr | None):
    box = whole_box([corner], [1], own, {})
    if extent is None:
        assert box is None
    else:
        assert box is not None and equal(box[0].extent, extent)


@pytest.mark.parametrize(
    ("corner", "own"),
    [
        (T, {**TILE, I: up_to(N)}),  # without a turn of `i` no cell of the four
        (T + I, {**TILE, I: up_to(N)}),  # n + 3 cells, but none for n = 0
        (I * 2, {I: up_to(N)}),
        (I + J, {I: up_to(N), J: up_to(M)}),
        (I * M + J, {I: up_to(N), J: up_to(N)}),
        (I * N + I, {I: up_to(N)}),
        (I * M + J, {I: up_to(N - 5), J: up_to(M)}),  # of less than no rows there are none
    ],
)
def test_a_box_of_which_a_size_leaves_cells_out(corner: Expr, own: Bounds):
    assert whole_box([corner], [1], own, {}) is None


LOOPS = {I: N, J: M, T: as_expr(4), F: N * M, H: (N + 2) // 3}
INDICES = (I, J, T, F // M, F % M, F // N, F % N, F // (M * N), F % 4, I * M + J, J * N + I, H * 3)
WIDTHS = (N, M, N * M, (N + 2) // 3, as_expr(4))


def drawn(rng: random.Random) -> Expr:
    """A random index: rows of a width, and a cell of one."""
    row = rng.choice(INDICES)
    return row if rng.random() < 0.5 else row * rng.choice(WIDTHS) + rng.choice(INDICES)


@pytest.mark.parametrize("seed", seeds(1))
def test_a_filled_box_is_filled_at_every_size(seed: int):
    rng, found = random.Random(seed), 0
    for _ in range(60):
        corner = [drawn(rng) for _ in range(rng.choice((1, 1, 2)))]
        more = {rng.choice([*LOOPS])} if rng.random() < 0.2 else set()
        used = [v for v in LOOPS if v in more or any(v in free_vars(e) for e in corner)]
        box = whole_box(corner, [1] * len(corner), {v: up_to(LOOPS[v]) for v in used}, {})
        if box is None:
            continue
        found += 1
        for n, m in product(range(5), repeat=2):
            at: dict[Var, int] = {N: n, M: m}
            turns = product(*(range(int(evaluate(LOOPS[v], at))) for v in used))
            each = ({**at, **dict(zip(used, turn, strict=True))} for turn in turns)
            cells = {tuple(evaluate(e, point) for e in corner) for point in each}
            ends = [(int(evaluate(r.min, at)), int(evaluate(r.extent, at))) for r in box]
            whole = set(product(*(range(low, low + count) for low, count in ends)))
            assert cells == whole, (corner, box, at)
    assert found


def test_sizes_are_not_taken_for_each_other():
    def box(size: Expr) -> tuple[Range, ...]:
        return (Range(as_expr(0), size),)

    assert inside(box(N), box(N), (N,), {})
    assert inside(box(N), box(N + M), (N + M,), {})
    assert not inside(box(M), box(N), (M,), {})
    assert not inside(box(N), box(N // 4 * 4), (N,), {})


def test_how_far_loops_count():
    own = {I: up_to((N + 3) // 4), **TILE, J: up_to(M)}
    counted = count_of(I * 4 + T, own)
    assert isinstance(counted, Expr) and equal(counted, (N + 3) // 4 * 4)
    rows = count_of((I * 4 + T) * M + J, own)
    assert isinstance(rows, Expr) and equal(rows, (N + 3) // 4 * 4 * M)
    assert count_of(I + T * 4, own) is None
    assert count_of(I * N + J, own) is None
    assert count_of(I * 4 + J, own) is None
