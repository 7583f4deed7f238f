"""radix: what the value of a sum tells of its terms.

Two points of iteration are given, and sums that have the same value at both; asked is what else
must be the same there. Wanted are proofs for any size, so that no point is looked at.

By size: written ``high + low``, where all of `high` is a multiple of `step` and `low` differs by
less than `step` from one point to the other, `high` is the same at both, since two multiples of
`step` that differ do so by `step` at least; then `low` is, too. So it is with the digits of a
mixed-radix number, each factor larger than all that smaller ones add up to. By remainder: where
the other terms are multiples of `step`, so is ``factor * difference`` of the one; a difference that
is a multiple of ``step / gcd(step, factor)``, and smaller, is 0.

Elsewhere these are Banerjee's bounds and the GCD test of dependence analysis (U. Banerjee,
Dependence Analysis for Supercomputing, 1988; R. Allen and K. Kennedy, Optimizing Compilers for
Modern Architectures, 2001, chapter 3), taken one digit at a time (delinearization: V. Maslov, PLDI
1992). It costs a few steps for each pair of terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd, inf
from typing import TypeVar

from workbench.arith.canonical import Digit, Sum, by_sizes
from workbench.arith.interval import Interval
from workbench.arith.simplify import Simplifier
from workbench.ir import BinOp, Expr, Var

T = TypeVar("T")
Terms = Mapping[T, tuple[int, float]]  # its factor, and by how much what it multiplies may differ


def fixed_terms(terms: Terms[T], spread: float = 0) -> list[list[T]]:
    """Groups of `terms` that each come to the same wherever the sum of all terms does.

    A term is a factor and by how much what it multiplies may differ. Something else in the sum may
    differ by `spread`.

    >>> fixed_terms({"i": (8, 3), "j": (1, 7)}), fixed_terms({"i": (3, 4), "j": (5, 99)})
    ([['i'], ['j']], [['i'], ['j']])
    """
    return [one for group in fixed_by_size(terms, spread) for one in _by_remainder(terms, group)]


def fixed_by_size(terms: Terms[T], spread: float = 0) -> list[list[T]]:
    """As `fixed_terms`, without looking at remainders; those of larger factors come first.

    Where each term is a group of its own, and no factor is negative, the sum grows as the terms do
    in lexicographic order, the first group before all others.
    """
    order = sorted(terms, key=lambda term: abs(terms[term][0]))
    reaches = [spread]  # by how much the terms before may make the sum differ
    for term in order:
        factor, width = terms[term]
        reaches.append(reaches[-1] + abs(factor) * width)
    groups, group, step = list[list[T]](), list[T](), 0
    for term, reach in zip(reversed(order), reversed(reaches[:-1]), strict=True):
        group.append(term)
        step = gcd(step, terms[term][0])
        if step > reach:
            groups.append(group)
            group, step = [], 0
    return groups


def _by_remainder(terms: Terms[T], group: list[T]) -> list[list[T]]:
    """A group of `terms` that is fixed, cut into those that are so each alone and the rest."""
    for term in group if len(group) > 1 else ():
        factor, width = terms[term]
        others = {other: terms[other] for other in group if other != term}
        step = gcd(*(factor for factor, _ in others.values()))
        if width < step // gcd(step, factor):
            return [[term], *fixed_terms(others)]
    return [group]


class Fixed:
    """What is the same at two points, found from sums that are.

    `moving` are the variables that may differ between the points; loads without them do not.
    """

    def __init__(self, known: Simplifier, moving: Iterable[Var]) -> None:
        self.known = known
        self.moving = {*moving}  # those that are not found to be the same
        self._digits: dict[int, set[Digit]] = {}  # found to be the same, by their base
        self._sums: list[Sum] = []  # of digits that are the same only together
        self._equal: list[tuple[Sum, Sum, int, int]] = []

    def add(self, x: Sum, y: Sum, m: int = 1, n: int = 1) -> None:
        """Let one of the `m` numbers from `x` on, at one point, be one of `n` from `y`, at another.

        What follows is worked out with all that was added before.
        """
        self._equal.append((x, y, m, n))
        news = True
        while news:
            news = True in [self._learn(*one) for one in list(self._equal)]
            news = True in [self._fills(base) for base in list(self._digits)] or news

    def _learn(self, x: Sum, y: Sum, m: int, n: int) -> bool:
        """Whether this tells something that was not known before."""
        both = {d: f for d, f in x.digits.items() if y.digits.get(d) == f}
        moving = {d: f for d, f in both.items() if self.moves(d)}
        if not moving:
            return False
        one, other = (side.plus(Sum(both), -1) for side in (x, y))
        terms: dict[Digit | int, tuple[int, float]] = {
            d: (f, _width(self.known.interval(Sum({d: 1})))) for d, f in moving.items()
        }
        ends, its = map(self.known.interval, (one, other))
        groups = fixed_terms(terms, _spread(ends, its, m, n))
        if one.digits or other.digits:  # what has one factor is a term, in which the sides differ
            for factor in {*one.digits.values(), *other.digits.values()}:
                terms[factor] = factor, self._apart(one, other, factor)
            consts = (one.const, one.const), (other.const, other.const)
            groups += fixed_terms(terms, _spread(*consts, m, n))
        found = [{d: both[d] for d in group if isinstance(d, Digit)} for group in groups]
        whole = [some for some, group in zip(found, groups, strict=True) if len(some) == len(group)]
        news = [self._is_new(some) for some in whole]
        return True in [*news, *(self._is_row(digit, x, y, m, n) for digit in moving)]

    def _is_row(self, digit: Digit, x: Sum, y: Sum, m: int, n: int) -> bool:
        """Whether `digit` is the ``a * width`` of a row that sizes tell, which was not known.

        By size, as above, where the rest of either sum is within 0 … ``width - 1``: so there is a
        cell in a row, no row is of width 0, and `a` is the same, too.
        """
        row, factor = self.known.row_of(digit), x.digits[digit]
        if row is None:
            return False
        a, width = row
        step = self.known.sum_of(width).times(abs(factor))
        one, other = (side.plus(Sum({digit: factor}), -1) for side in (x, y))
        if not (self._is_within(one, step, m) and self._is_within(other, step, n)):
            return False
        self._equal += [(one, other, m, n), (a, a, 1, 1)]
        return self._is_new({digit: 1})

    def _is_within(self, rest: Sum, step: Sum, count: int) -> bool:
        """Whether `count` numbers from `rest` on are proved to lie in 0 … ``step - 1``."""
        low, room = self.known.interval(rest)[0], self.known.interval(step.plus(rest, -1))[0]
        return low is not None and low >= 0 and room is not None and room >= count

    def _apart(self, x: Sum, y: Sum, factor: int) -> float:
        """By how much the digits of `x` times `factor` may differ from those of `y`, together."""
        (low, high), (least, most) = (
            self.known.interval(Sum({d: 1 for d, f in side.digits.items() if f == factor}))
            for side in (x, y)
        )
        if low is None or high is None or least is None or most is None:
            return inf
        return max(high - least, most - low)

    def _fills(self, base: int) -> bool:
        """Whether the terms of a sum tell its last digits, as ``b`` those of ``a * 128 + b``.

        What is found of its other digits starts there: ``(a * 128 + b) % 2`` is ``b % 2``.
        """
        inner, digits = self.known.inner_sum(base), self._digits[base]
        if inner is None:
            return False
        dtype = self.known.base(Digit(base, 1, None)).dtype
        for low in sorted({digit.lower for digit in digits} - {1}):
            last = Digit(base, 1, low)
            if last not in digits:
                told = self.known.mod(inner, low, dtype)
                if not any(map(self.moves, told.digits)):
                    return self._is_new({last: 1})
        return False

    def moves(self, digit: Digit) -> bool:
        """Whether it may differ."""
        found = self._digits.get(digit.base, ())
        if digit in found:
            return False
        reached = _reached(found, digit.lower)
        if reached is None or (digit.upper is not None and reached % digit.upper == 0):
            return False
        return not self.moving.isdisjoint(self.known.variables(digit.base))

    def _is_new(self, group: dict[Digit, int]) -> bool:
        """Whether it was not known that `group` is the same; now it is."""
        if len(group) > 1:
            new = Sum(group) not in self._sums
            self._sums += [Sum(group)] if new else []
            return new
        (digit,) = group
        digits = self._digits.setdefault(digit.base, set())
        digits.add(digit)
        self._open(digit.base, digits)
        whole = Digit(digit.base, 1, None)
        if covers(digits, self.known.interval(Sum({whole: 1}))):
            digits.add(whole)
            self.moving -= {self.known.base(whole)}
            inner = self.known.inner_sum(digit.base)
            if inner is not None:
                self._equal.append((inner, inner, 1, 1))
            self._join(self.known.base(whole))
        return True

    def _open(self, base: int, digits: set[Digit]) -> None:
        """Of the last digits of a sum, what its terms are: ``n % 18 * 4 + v`` of the last 72."""
        inner, reached = self.known.inner_sum(base), _reached(digits, 1)
        if inner is None or reached is None or reached == 1:
            return
        told = self.known.mod(inner, reached, self.known.base(Digit(base, 1, None)).dtype)
        if Digit(base, 1, reached) not in told.digits:
            self._equal.append((told, told, 1, 1))

    def _join(self, part: Expr) -> None:
        """Of ``a // n`` and ``a % n`` that are the same at both points, with one `n`, `a` is, too.

        For a number `n` that is what digits are for; here sizes tell it.
        """
        match part:
            case BinOp("//" | "%" as op, a, b) if by_sizes(b):
                other = BinOp("%" if op == "//" else "//", a, b)
                number = self.known.number(other)
                if Digit(number, 1, None) in self._digits.get(number, ()):
                    whole = self.known.sum_of(a)
                    self._equal.append((whole, whole, 1, 1))

    def parts(self) -> list[Expr]:
        """What moves and is the same at both points all the same."""
        digits = [digit for found in self._digits.values() for digit in found]
        together = [self.known.expr_of(one, "int32") for one in self._sums]
        return [*map(self.known.part, digits), *together]


def covers(digits: Iterable[Digit], ends: Interval) -> bool:
    """Whether these digits of a number between `ends` give the number."""
    reached, (low, high) = _reached(digits, 1), ends
    if reached is None:
        return True
    return low is not None and high is not None and low // reached == high // reached


def _reached(digits: Iterable[Digit], start: int) -> int | None:
    """Up to where these digits of `x` give ``x % … // start``; None where they give all of it."""
    reached = start
    for digit in sorted(digits, key=lambda digit: digit.lower):
        if reached % digit.lower:
            continue
        if digit.upper is None:
            return None
        if digit.upper % reached == 0:
            reached = digit.upper
    return reached


def _width(ends: Interval) -> float:
    return inf if ends[0] is None or ends[1] is None else ends[1] - ends[0]


def _spread(x: Interval, y: Interval, m: int, n: int) -> float:
    """How far apart one of the `m` numbers from `x` on and one of `n` from `y` on may be."""
    if x[0] is None or x[1] is None or y[0] is None or y[1] is None:
        return inf
    return max(x[1] + m, y[1] + n) - 1 - min(x[0], y[0])
