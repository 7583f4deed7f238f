"""What is proved of sizes holds at each of them: all turns of the loops that they tell count."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest

from tests.support.cases import seeds
from workbench.arith import (
    Bounds,
    Simplifier,
    SizedEnds,
    Table,
    is_injective,
    prove,
    relax,
    simplify,
    up_to,
)
from workbench.arith.evaluate import compiled, evaluate
from workbench.arith.radix import Fixed
from workbench.ir import Expr, Range, SizeVar, Var, as_expr, binary, free_vars

N, M = SizeVar("n"), SizeVar("m")
I, J, K, T, F = Var("i"), Var("j"), Var("k"), Var("t"), Var("f")
LIMITS = {I: N, J: M, K: (N + 3) // 4, T: as_expr(4)}
DOM: Bounds = {var: up_to(limit) for var, limit in LIMITS.items() if var is not T} | {T: (0, 3)}
LEAVES = (I, J, K, T, N, M)


def points(most: int = 5) -> Iterator[dict[Var, int]]:
    """Every turn at every small size; a loop of no turns has none."""
    for n, m in product(range(most + 1), repeat=2):
        sizes: dict[Var, int] = {N: n, M: m}
        each = [range(int(evaluate(limit, sizes))) for limit in LIMITS.values()]
        for turn in product(*each):
            yield {**sizes, **dict(zip(LIMITS, turn, strict=True))}


POINTS = list(points())


def holds_in_rows(condition: Expr) -> bool:
    """Whether it does at small sizes, wherever it divides by no 0; `F` counts cells of rows."""
    table, used = Table([condition]), {*free_vars(condition)}
    for n, m in product(range(4), repeat=2):
        sizes: dict[Var, int] = {N: n, M: m}
        limits = {**LIMITS, F: N * M}
        turns = {v: range(int(evaluate(limits[v], sizes))) for v in limits if v in used}
        if not all(holds for _, (holds,) in table.rows(turns, sizes)):
            return False
    return True


def drawn_rows(rng: random.Random) -> Expr:
    """A random row or cell of rows whose width sizes tell."""
    width = rng.choice((N, M, M, M * 2, N + 1, N - 2))
    inside = rng.choice((F, F, I * M + J, J * N + I, I * width + J, F + drawn(rng, 0)))
    row = (inside // width, inside % width, inside // width * width + inside % width)
    return rng.choice(row) + rng.choice((0, 0, drawn(rng, 1)))


def drawn(rng: random.Random, depth: int = 2) -> Expr:
    """A random sum, product by a number, quotient or remainder."""
    if not depth or rng.random() < 0.3:
        return rng.choice(LEAVES) if rng.random() < 0.8 else as_expr(rng.randint(-3, 5))
    a, b = drawn(rng, depth - 1), drawn(rng, depth - 1)
    number = rng.choice((2, 3, 4))
    return rng.choice((a + b, a - b, a * number, a // number, a % number, a * b))


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(1))
def test_what_is_proved_holds_at_every_size(seed):
    rng = random.Random(seed)
    for _ in range(60):
        a, b = drawn(rng), drawn(rng)
        for condition in (a < b, a <= b, a >= b - 1):
            if prove(condition, DOM):
                assert all(map(compiled(condition), POINTS)), condition
        short = simplify(a, DOM)
        assert [*map(compiled(short), POINTS)] == [*map(compiled(a), POINTS)], (a, short)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(1))
def test_what_is_proved_of_rows_and_cells_holds_at_every_size(seed):
    rng, dom = random.Random(seed), {**DOM, F: up_to(N * M)}
    for _ in range(6):
        a, b = drawn_rows(rng), rng.choice((N, M, N * M, as_expr(0), drawn_rows(rng)))
        for condition in (a < b, a <= b, a >= b, a <= b - 1):
            assert not prove(condition, dom) or holds_in_rows(condition), condition
        assert holds_in_rows(binary("==", simplify(a, dom), a)), a


@pytest.mark.parametrize(
    "holds",
    [
        F // M < N,
        F % M < M,
        binary("==", F // M * M + F % M, F),
        binary("==", (I * M + J) // M, I),
        binary("==", (I * M + J) % M, J),
        (I * M + J + 1) // M <= I + (J + 1) // M,
        (I * 4 + T) * M + J < N * 4 * M,
        F // M // 4 <= (N - 1) // 4,
        F % M // 2 <= (M - 1) // 2,
    ],
)
def test_rows_and_cells_of_a_width_that_sizes_tell(holds):
    dom = {**DOM, F: up_to(N * M)}
    assert prove(holds, dom)
    assert holds_in_rows(holds)


@pytest.mark.parametrize("open_", [F // M < N - 1, F // N < N, F % M < N, (F + 1) // M < N])
def test_rows_that_there_may_be_are_not_proved_away(open_):
    assert not prove(open_, {**DOM, F: up_to(N * M)})


@pytest.mark.parametrize(
    "holds",
    [
        I < N,
        N - 1 - I >= 0,
        I + J < N + M,
        K * 4 < N,
        K * 4 + T < N + 3,
        (N + 3) // 4 * 4 >= N,
        N // 4 * 4 <= N,
        I // 4 < (N + 3) // 4,
    ],
)
def test_ends_told_by_sizes_cancel(holds):
    assert prove(holds, DOM)
    assert all(map(compiled(holds), POINTS))


@pytest.mark.parametrize("open_", [K * 4 + T < N, I < M, N > 0, N // 4 * 4 >= N, I >= 1])
def test_what_does_not_hold_at_every_size_is_not_proved(open_):
    assert not prove(open_, DOM)


def test_a_quotient_and_a_remainder_by_a_size_tell_the_number():
    fused = Var("f")
    dom = {fused: up_to(N * M)}
    assert is_injective([fused // N, fused % N], dom) is True
    assert is_injective([fused // N, fused % M], dom) is not True
    assert is_injective([fused // N], dom) is not True


@pytest.mark.parametrize("seed", seeds(1))
def test_what_tells_turns_apart_does_so_at_every_size(seed):
    rng = random.Random(seed)
    proved = 0
    for _ in range(40):
        width = rng.choice((N, M, N + M, M * 4, M * N, as_expr(4)))
        row = rng.choice((I, J, T, I * M + J, I * 4 + T))
        index = row * width + rng.choice((I, J, T, J * 4 + T, drawn(rng, 1)))
        used = [v for v in (I, J, T) if v in free_vars(index)]
        if used and is_injective([index], {v: DOM[v] for v in used}) is True:
            proved += 1
            turns = {tuple(point[v] for v in (N, M, K, *used)): point for point in POINTS}
            cell = compiled(index)
            cells = {(*turn[:3], cell(point)) for turn, point in turns.items()}
            assert len(cells) == len(turns), index
    assert proved


def test_a_row_whose_width_sizes_tell():
    row = I * M + J
    assert is_injective([row], {I: DOM[I], J: DOM[J]}) is True
    assert is_injective([row * 4 + T], {I: DOM[I], J: DOM[J], T: DOM[T]}) is True
    assert is_injective([row * N + K], {I: DOM[I], J: DOM[J], K: up_to(N)}) is True
    assert is_injective([row], {I: DOM[I], J: up_to(M + 1)}) is not True
    assert is_injective([row], {I: DOM[I], J: up_to(N)}) is not True
    assert is_injective([I * (M - 2) + J], {I: DOM[I], J: DOM[J]}) is not True
    assert prove(row < N * M, DOM)
    assert not prove(row < N * M - 1, DOM)


def test_a_row_is_told_only_where_both_cells_are_in_it():
    known = Simplifier({I: DOM[I], J: DOM[J]})
    cell, next_cell, next_row = map(known.sum_of, (I * M + J, I * M + J + 1, (I + 1) * M + J))
    for x, y, told in (
        (cell, cell, True),
        (cell, next_cell, False),  # the next one of the last cell is in the next row
        (next_cell, cell, False),
        (cell, next_row, False),
    ):
        same = Fixed(known, (I, J))
        same.add(x, y)
        assert told is not any(map(same.moves, known.sum_of(I).digits))


def test_a_box_ends_where_sizes_say():
    (box,) = relax((Range(I + 1, as_expr(2)),), {I: DOM[I]}, (N + 2,))
    assert evaluate(box.min, {}) == 1
    assert isinstance(DOM[I], SizedEnds)
    for n in range(1, 6):
        assert evaluate(box.extent, {N: n}) == n + 1
