"""is_injective: whether different iterations reach different places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.arith.canonical import Bounds, Digit, Sum
from workbench.arith.evaluate import Env, compiled
from workbench.arith.points import POINTS, count_points, points, ranges_of
from workbench.arith.prove import reads_memory
from workbench.arith.simplify import Simplifier
from workbench.ir import TRUE, Expr, Var, free_vars


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Two iterations that differ and reach the same place. It counts as false."""

    first: dict[Var, int]
    second: dict[Var, int]
    place: tuple[int, ...]

    def __bool__(self) -> bool:
        return False


def is_injective(
    indices: Sequence[Expr], dom: Bounds, predicate: Expr = TRUE
) -> bool | Counterexample:
    """Whether no two assignments of `dom` give the same values of `indices`.

    True is a proof. A Counterexample holds two assignments, both satisfying `predicate`, that
    conflict. False means that neither a proof nor a conflict was found. Variables that are not in
    `dom` have one value, which is not known, and so have loads: then there is a proof or nothing.

    >>> i, j = Var("i"), Var("j")
    >>> is_injective([i * 4 + j], {i: (0, 7), j: (0, 3)})
    True
    >>> is_injective([i + j], {i: (0, 7), j: (0, 3)}).place
    (1,)
    """
    ranges = ranges_of(dom, dom)
    if any(not values for values in ranges.values()) or _proved(indices, dom):
        return True
    if any(reads_memory(e) or not dom.keys() >= set(free_vars(e)) for e in (*indices, predicate)):
        return False
    whole = count_points(ranges) <= POINTS
    if not whole:
        ranges = _shortened(ranges)
    conflict = _conflict(indices, ranges, predicate)
    return whole if conflict is None else conflict


def _conflict(
    indices: Sequence[Expr], ranges: dict[Var, range], predicate: Expr
) -> Counterexample | None:
    """The first two assignments, in loop order, that reach one place."""
    places = [compiled(index) for index in indices]
    holds = compiled(predicate)
    seen: dict[tuple[int, ...], Env] = {}
    for env in points(ranges):
        if not holds(env):
            continue
        place = tuple(at(env) for at in places)
        before = seen.setdefault(place, env)
        if before is not env:
            return Counterexample(dict(before), dict(env), place)
    return None


def _shortened(ranges: dict[Var, range]) -> dict[Var, range]:
    """The same ranges cut, the longest first, until all their points can be looked at."""
    shorter = dict(ranges)
    while count_points(shorter) > POINTS:
        longest = max(shorter, key=lambda var: len(shorter[var]))
        shorter[longest] = shorter[longest][: (len(shorter[longest]) + 1) // 2]
    return shorter


def _proved(indices: Sequence[Expr], dom: Bounds) -> bool:
    """Whether the indices, read as mixed-radix numbers, give back every digit of every variable.

    A variable that is given back is known in the other indices: of ``i`` and ``i * 4 + j`` the
    first tells `i`, so that the second tells `j`, however far it goes.
    """
    known = Simplifier(dom)
    sums = [known.sum_of(index) for index in indices]
    unknown = {var for var, (low, high) in dom.items() if low != high}
    found: dict[Var, list[tuple[int, int | None]]] = {}
    while unknown:
        for total in sums:
            moving = {
                digit: factor
                for digit, factor in total.digits.items()
                if not unknown.isdisjoint(free_vars(known.part(digit)))
            }
            if _is_mixed_radix(moving, known):
                for digit in moving:
                    base = known.base(digit)
                    if isinstance(base, Var):
                        found.setdefault(base, []).append((digit.lower, digit.upper))
        told = {var for var in unknown if _covers(found.get(var, []), *dom[var])}
        if not told:
            return False
        unknown -= told
    return True


def _is_mixed_radix(digits: dict[Digit, int], known: Simplifier) -> bool:
    """Whether each factor is larger than all that the digits of smaller factors add up to."""
    reach = 0
    for digit, factor in sorted(digits.items(), key=lambda item: abs(item[1])):
        low, high = known.interval(Sum({digit: 1}))
        if abs(factor) <= reach or low is None or high is None:
            return False
        reach += abs(factor) * (high - low)
    return True


def _covers(digits: list[tuple[int, int | None]], low: int, high: int) -> bool:
    """Whether the digits of a variable between `low` and `high` give its value."""
    reached = 1
    for lower, upper in sorted(digits, key=lambda d: d[0]):
        if reached % lower:
            continue
        if upper is None:
            return True
        if upper % reached == 0:
            reached = upper
    return low // reached == high // reached
