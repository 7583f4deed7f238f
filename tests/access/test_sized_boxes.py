"""Boxes that loops fill whose turns sizes tell: a loop of no turns fills nothing."""

from __future__ import annotations

import pytest

from workbench.access.boxes import inside, whole_box
from workbench.access.counters import count_of
from workbench.arith import Bounds, equal, up_to
from workbench.ir import Expr, Range, SizeVar, Var, as_expr

N, M = SizeVar("n"), SizeVar("m")
I, J, T = Var("i"), Var("j"), Var("t")
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
