"""The normal form of integer expressions: sums of digits of opaque parts.

A digit of `base` is ``base % upper // lower`` with `lower` dividing `upper` (TVM's ``SplitExpr``):
what splitting and fusing make of a loop variable. Digits of one base that fit together join again,
which is how ``x // 8 * 8 + x % 8`` becomes ``x``. Integers are unbounded here; only int32 and
int64 are reasoned about, since narrower and unsigned ones wrap around.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import pairwise
from math import gcd
from typing import NamedTuple

from workbench.arith.content import content
from workbench.ir import BufferLoad, Expr, Node, SizeVar, Var, free_vars, walk

Bounds = Mapping[Var, tuple[int, int]]
"""The inclusive lowest and highest value of each variable; `SizedEnds` where sizes tell it."""


class SizedEnds(tuple[int, int]):
    """The lowest and highest value of a variable that goes on up to `last`, told by sizes.

    As numbers they hold for all sizes, so that in most the highest is not reached. Different ends
    are equal only where the same sizes tell them alike.
    """

    last: Expr
    _key: Hashable

    def __new__(cls, low: int, high: int, last: Expr) -> SizedEnds:
        made = super().__new__(cls, (low, high))
        made.last, made._key = last, (low, high, _content(last))
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SizedEnds) and self._key == other._key

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key)


def _content(e: Node) -> Hashable:
    return content(e, _content)


def by_sizes(e: Expr) -> bool:
    """Whether sizes, and they alone, tell the value of `e`."""
    told = free_vars(e)
    if not told or not all(isinstance(v, SizeVar) for v in told):
        return False
    return not any(isinstance(node, BufferLoad) for node in walk(e))


REASONED = frozenset({"int32", "int64"})


class Digit(NamedTuple):
    """``base % upper // lower``; without `upper`, ``base // lower``. `base` numbers a part."""

    base: int
    lower: int
    upper: int | None


class Sum(NamedTuple):
    """``const`` and each digit times its factor; digits keep the order in which they came."""

    digits: dict[Digit, int]
    const: int = 0

    def plus(self, other: Sum, times: int = 1) -> Sum:
        """This sum and `times` the `other`; digits that cancel are gone, none are joined."""
        digits = self.digits
        if other.digits:
            digits = digits.copy()
            for digit, factor in other.digits.items():
                total = digits.get(digit, 0) + factor * times
                if total:
                    digits[digit] = total
                else:
                    digits.pop(digit, None)
        return Sum(digits, self.const + other.const * times)

    def times(self, factor: int) -> Sum:
        """This sum multiplied by a number."""
        if not factor:
            return Sum({})
        return Sum({d: f * factor for d, f in self.digits.items()}, self.const * factor)

    def shifted(self, by: int) -> Sum:
        """This sum and a number."""
        return Sum(self.digits, self.const + by)

    def factor(self) -> int:
        """The largest number that divides all of it; 0 for the sum 0."""
        return gcd(self.const, *self.digits.values())

    def over(self, factor: int) -> Sum:
        """This sum divided by a number that divides all of it."""
        return Sum({d: f // factor for d, f in self.digits.items()}, self.const // factor)

    def alone(self) -> Digit | None:
        """The digit that is all there is of it."""
        if len(self.digits) == 1 and not self.const:
            ((digit, factor),) = self.digits.items()
            return digit if factor == 1 else None
        return None


def join_digits(digits: dict[Digit, int]) -> dict[Digit, int]:
    """Digits of one base written as few as possible, each at the place of the base's first."""
    if len(digits) < 2 or len({digit.base for digit in digits}) == len(digits):
        return digits
    groups: dict[int, dict[Digit, int]] = {}
    for digit, factor in digits.items():
        groups.setdefault(digit.base, {})[digit] = factor
    joined: dict[Digit, int] = {}
    for group in groups.values():
        joined.update(_join_group(group) if len(group) > 1 else group)
    return joined


def _join_group(group: dict[Digit, int]) -> dict[Digit, int]:
    """The digits of one base, regrouped where that makes them fewer."""
    base = next(iter(group)).base
    points = sorted({d.lower for d in group} | {d.upper for d in group if d.upper is not None})
    if any(high % low for low, high in pairwise(points)):
        return group  # no common mixed-radix system, as for x // 4 and x // 6
    if any(d.upper is None for d in group):
        ends: list[int | None] = [*points[1:], None]
    else:
        points, ends = points[:-1], [*points[1:]]
    factors = [
        sum(
            factor * (low // digit.lower)
            for digit, factor in group.items()
            if digit.lower <= low and (digit.upper is None or low < digit.upper)
        )
        for low in points
    ]
    runs: list[tuple[Digit, int]] = []
    for low, end, factor in zip(points, ends, factors, strict=True):
        if not factor:
            continue
        if runs:
            last, weight = runs[-1]
            if last.upper == low and factor == weight * (low // last.lower):
                runs[-1] = Digit(base, last.lower, end), weight
                continue
        runs.append((Digit(base, low, end), factor))
    return dict(runs) if len(runs) < len(group) else group


def divisor_candidates(factors: Iterable[int], divisor: int) -> list[int]:
    """The common divisors worth trying to pull out of ``sum // divisor``, largest first."""
    return sorted({gcd(factor, divisor) for factor in factors} - {1}, reverse=True)
