"""What conditions say: numbers that are 0 or more wherever they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import gcd

from workbench import arith
from workbench.arith import Simplifier
from workbench.arith.canonical import Sum
from workbench.ir import BinOp, Const, Expr, Not, Var, dtypes

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def positive(condition: Expr) -> Iterator[Expr]:
    """The conditions that together are `condition`, of comparisons without a `not`."""
    for one in arith.conjuncts(condition):
        match one:
            case Not(Not(a)):
                yield from positive(a)
            case Not(BinOp("or", a, b)):
                yield from positive(Not(a))
                yield from positive(Not(b))
            case Not(BinOp(op, a, b)) if op in _OPPOSITE:
                yield BinOp(_OPPOSITE[op], a, b)
            case _:
                yield one


def facts(conditions: Iterable[Expr]) -> list[Expr]:
    """Numbers that are at least 0 where `conditions` hold, as ``n - 1 - i`` is where ``i < n``.

    What is in memory may change, so that a condition on it tells nothing here.
    """
    every = (fact(one) for condition in conditions for one in positive(condition))
    return [one for one in every if one is not None]


def fact(condition: Expr) -> Expr | None:
    """The number that is at least 0 where `condition`, of integers, holds, and only there."""
    if not isinstance(condition, BinOp) or not dtypes.is_int(condition.a.dtype):
        return None
    if arith.reads_memory(condition):
        return None
    a, b = condition.a, condition.b
    match condition.op:
        case "<":
            return b - a - 1
        case "<=":
            return b - a
        case ">":
            return a - b - 1
        case ">=":
            return a - b
    return None


def follows(goal: Expr, held: Sequence[Expr], known: Simplifier) -> bool:
    """Whether `goal` is proved to be at least 0 where all of `held` are.

    As an integer it is so where ``goal * scale > -scale``.
    """
    return arith.proved(goal >= 0, known) or any(
        arith.proved(goal * scale + (scale - 1) - one * times >= 0, known)
        for one in held
        for scale, times in scales(goal, one, known)
    )


def scales(goal: Expr, one: Expr, known: Simplifier) -> set[tuple[int, int]]:
    """By what to multiply `goal` and `one` so that both have a term equally often."""
    mine, its = (known.sum_of(e).digits for e in (goal, one))
    pairs = [(mine[digit], its[digit]) for digit in mine if digit in its]
    found = {(b // a, 1) for a, b in pairs if b % a == 0} | {
        (1, a // b) for a, b in pairs if a % b == 0
    }
    return {pair for pair in found if min(pair) > 0}


def skips(gap: Expr, m: int, n: int, known: Simplifier) -> bool:
    """Whether `m` indices and `n` that begin `gap` before them are proved to have none in common.

    By remainders: the terms that are multiples of a step make multiples of it, and among what the
    others add up to there is none. Of two terms with one modulo, that is a step.
    """
    total = known.sum_of(_without_modulo(gap))
    factors = {abs(factor) for factor in total.digits.values()}
    for step in sorted({gcd(*factors), *factors} - {0}, reverse=True):
        others = {digit: factor for digit, factor in total.digits.items() if factor % step}
        low, high = known.interval(Sum(others, total.const))
        if low is not None and high is not None and (high + m - 1) // step * step <= low - n:
            return True
    return False


def _without_modulo(gap: Expr) -> Expr:
    """The difference of ``a % c`` and ``b % c`` as ``a - b`` and a multiple of c."""
    match gap:
        case BinOp("-", BinOp("%", a, Const(value=c)), BinOp("%", b, Const(value=d))) if c == d:
            return a - b + Var("times", gap.dtype) * int(c)
    return gap
