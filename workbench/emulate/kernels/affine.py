"""Index expressions as sums of whole multiples of digits: what can be a strided view of memory.

An index that is a constant plus whole multiples of lane axes names its cells by one stride an axis,
so that a load or store of all lanes is one NumPy view with no list of addresses. Divisions stand in
the way: ``t // 8 * 64 + t % 8`` is linear in no `t`. So a lane variable is cut into *digits* of a
mixed base, ``t = 8 * high + low``, each an axis of its own; in them both divisions are linear. A
division of a form by `d` is exact where the terms whose factor `d` divides go one way and all the
rest stays between 0 and ``d - 1``: then the quotient is the one part divided, the remainder the
other, for floor division as for a whole number of `d`. Whatever is not such a sum stays an
expression (`rest`) and is computed in each lane.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from workbench.ir import BinOp, Cast, Const, Expr, Ramp, Var, dtypes


@dataclass(frozen=True, slots=True, eq=False)
class Digit:
    """One digit of a variable that runs as lanes: ``var // stride % size``."""

    var: Var
    stride: int
    size: int


Atom: TypeAlias = "Digit | Var"


@dataclass(frozen=True, slots=True)
class Form:
    """``const + sum(coefficient * atom) + sum(factor * expression)``; `rest` is not linear."""

    const: int = 0
    terms: Mapping[Atom, int] = field(default_factory=dict)
    rest: tuple[tuple[Expr, int], ...] = ()

    def scaled(self, by: int) -> Form:
        """`by` times the form."""
        if by == 0:
            return Form()
        terms = {atom: c * by for atom, c in self.terms.items()}
        return Form(self.const * by, terms, tuple((e, c * by) for e, c in self.rest))

    def plus(self, other: Form) -> Form:
        """The sum of two forms."""
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            terms[atom] = terms.get(atom, 0) + c
        terms = {atom: c for atom, c in terms.items() if c}
        return Form(self.const + other.const, terms, self.rest + other.rest)


class Digits:
    """How the variables that run as lanes are cut into digits, and forms over these digits.

    A lane variable `t` with ``t // 8`` and ``t % 8`` in some index becomes two digits, so that both
    are linear and memory is seen through strides instead of lists of addresses.
    """

    def __init__(self, lanes: Mapping[Var, int], ranges: Mapping[Var, tuple[int, int]]) -> None:
        self._cuts: dict[Var, list[int]] = {var: [1] for var in lanes}
        self._extents = dict(lanes)
        self._ranges = dict(ranges)
        self.of: dict[Var, tuple[Digit, ...]] = {}
        for var in lanes:
            self._renew(var)

    def cut_for(self, indices: Iterable[Expr]) -> None:
        """Cut the lane variables where that makes more of `indices` linear."""
        indices = list(indices)
        changed = True
        while changed:
            cuts = {var: list(points) for var, points in self._cuts.items()}
            for index in indices:
                self.form(index, cutting=True)
            changed = cuts != self._cuts

    def form(self, expr: Expr, *, cutting: bool = False) -> Form:
        """`expr` as a form; with `cutting`, a division that stays whole may add a digit."""
        match expr:
            case Const(value=value):
                return Form(int(value))
            case Var():
                if expr in self.of:
                    return Form(0, {d: d.stride for d in self.of[expr]})
                return Form(0, {expr: 1})
            case Cast(type=target, value=value) if _widens(value.dtype, target):
                return self.form(value, cutting=cutting)
            case Ramp(base=base):  # the vector's own axis is added by whoever meets it
                return self.form(base, cutting=cutting)
            case BinOp(op="+", a=a, b=b):
                return self.form(a, cutting=cutting).plus(self.form(b, cutting=cutting))
            case BinOp(op="-", a=a, b=b):
                right = self.form(b, cutting=cutting).scaled(-1)
                return self.form(a, cutting=cutting).plus(right)
            case (
                BinOp(op="*", a=a, b=Const(value=factor))
                | BinOp(op="*", a=Const(value=factor), b=a)
            ):
                return self.form(a, cutting=cutting).scaled(int(factor))
            case BinOp(op="//" | "%" as op, a=a, b=Const(value=divisor)) if divisor > 0:
                divided = self._divide(op, self.form(a, cutting=cutting), int(divisor), cutting)
                if divided is not None:
                    return divided
        return Form(0, {}, ((expr, 1),))

    def _divide(self, op: str, form: Form, divisor: int, cutting: bool) -> Form | None:
        if form.rest:
            return None
        whole = {atom: c for atom, c in form.terms.items() if c % divisor == 0}
        part = {atom: c for atom, c in form.terms.items() if c % divisor}
        quotient, remainder = divmod(form.const, divisor)
        lowest, highest = self.span(Form(remainder, part))
        if lowest >= 0 and highest < divisor:
            if op == "%":
                return Form(remainder, part)
            return Form(quotient, {atom: c // divisor for atom, c in whole.items()})
        if cutting:
            for atom, c in part.items():
                if isinstance(atom, Digit) and c > 0 and divisor % c == 0:
                    self._cut(atom.var, atom.stride * (divisor // c))
        return None

    def span(self, form: Form) -> tuple[float, float]:
        """The smallest and largest value of the linear part of `form`."""
        lowest = highest = float(form.const)
        for atom, c in form.terms.items():
            if isinstance(atom, Digit):
                low, high = 0.0, float(atom.size - 1)
            else:
                low, high = self._ranges.get(atom, (float("-inf"), float("inf")))
            lowest += min(c * low, c * high)
            highest += max(c * low, c * high)
        return lowest, highest

    def _cut(self, var: Var, at: int) -> None:
        points = self._cuts[var]
        if at in points or at >= self._extents[var] or self._extents[var] % at:
            return
        if all(max(at, p) % min(at, p) == 0 for p in points):
            points.append(at)
            points.sort()
            self._renew(var)

    def _renew(self, var: Var) -> None:
        points = [*self._cuts[var], self._extents[var]]
        pairs = itertools.pairwise(points)
        self.of[var] = tuple(Digit(var, low, high // low) for low, high in pairs)[::-1]


def _widens(source: str, target: str) -> bool:
    """Whether a cast keeps every value: index casts from int32 to int64 do."""
    signed = source.startswith("int") and target.startswith("int")
    return signed and dtypes.BITS[target] >= dtypes.BITS[source]


def never_meets(terms: Mapping[Atom, int]) -> bool:
    """Whether each step of a digit reaches further than all smaller digits together.

    Then different values of the digits always give different sums.
    """
    reach = 0
    for atom, factor in sorted(terms.items(), key=lambda term: abs(term[1])):
        if not isinstance(atom, Digit) or abs(factor) <= reach:
            return False
        reach += abs(factor) * (atom.size - 1)
    return True
