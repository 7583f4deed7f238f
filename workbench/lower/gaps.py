"""gaps: the cells that are never touched between those of an array that are, left out.

What a thread copies lies in groups, ``512 * a + b`` with b below 4 say, far apart where all threads
copy together. Groups of `width` cells, `pitch` cells from one to the next, go side by side:
``4 * a + b``. That is exact where each index is a multiple of the pitch and a rest from 0 to below
the width, which bounds prove of the terms that are no such multiples. Smaller pitches come first,
so that a larger one finds the groups inside closed already; each makes the array smaller, so that
it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import gcd
from typing import NamedTuple

from workbench.arith import Simplifier
from workbench.arith.canonical import Sum
from workbench.ir import Expr, Size


class Fold(NamedTuple):
    """Groups of `width` cells, `pitch` cells from one to the next, side by side."""

    pitch: int
    width: int

    def place(self, index: Sum) -> Sum:
        """Where the cell `index` is now."""
        groups, rest = _parts(index, self.pitch)
        return groups.over(self.pitch).times(self.width).plus(rest)

    def cells(self, size: int) -> int:
        """How many are left of `size` cells, the last of which is touched."""
        groups, rest = divmod(size - 1, self.pitch)
        return groups * self.width + min(rest, self.width - 1) + 1


def behind(start: Expr, index: Expr, known: Simplifier) -> Sum:
    """How many cells `index` is behind `start`."""
    return known.tidy(known.sum_of(index).plus(known.sum_of(start), -1))


def place(index: Sum, gaps: Sequence[Fold]) -> Sum:
    """Where the cell `index` is once `gaps` are closed, one after the other."""
    return reduce(lambda at, fold: fold.place(at), gaps, index)


def cells_left(size: Size, gaps: Sequence[Fold]) -> Size:
    """How many of `size` cells are left then."""
    return reduce(lambda left, fold: fold.cells(left), gaps, size)


def folds(runs: Sequence[tuple[Sum, int]], known: Simplifier) -> tuple[Fold, ...]:
    """What closes the gaps between `runs`, each so many cells from an index of 0 or more on."""
    found: list[Fold] = []
    while (fold := _first(runs, known)) is not None:
        found.append(fold)
        runs = [(fold.place(index), count) for index, count in runs]
    return tuple(found)


def _first(runs: Sequence[tuple[Sum, int]], known: Simplifier) -> Fold | None:
    """The one of the least pitch."""
    numbers = {abs(n) for index, _ in runs for n in (*index.digits.values(), index.const)}
    for pitch in sorted({*numbers, gcd(*numbers)} - {0, 1}):
        width = _width(runs, pitch, known)
        if width is not None and width < pitch:
            return Fold(pitch, width)
    return None


def _width(runs: Sequence[tuple[Sum, int]], pitch: int, known: Simplifier) -> int | None:
    """How many cells behind a multiple of `pitch` are touched; None where that is not known."""
    ends = []
    for index, count in runs:
        low, high = known.interval(_parts(index, pitch)[1])
        if low is None or high is None or low < 0:
            return None
        ends.append(high + count)
    return max(ends)


def _parts(index: Sum, pitch: int) -> tuple[Sum, Sum]:
    """The terms of `index` that are multiples of `pitch`, and the rest."""
    rows = {digit: factor for digit, factor in index.digits.items() if factor % pitch == 0}
    rest = {digit: factor for digit, factor in index.digits.items() if factor % pitch}
    return Sum(rows, index.const - index.const % pitch), Sum(rest, index.const % pitch)
