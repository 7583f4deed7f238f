"""is_injective: whether different iterations reach different places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.arith.canonical import Bounds
from workbench.arith.evaluate import Env
from workbench.arith.points import POINTS, Table, count_points, ranges_of
from workbench.arith.prove import reads_memory
from workbench.arith.radix import Fixed
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
    seen: dict[tuple[int, ...], Env] = {}
    for env, place in Table(indices, [predicate]).rows(ranges):
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
    """Whether two assignments that give the same indices are proved to be the same."""
    known = Simplifier(dom)
    same = Fixed(known, (var for var, (low, high) in dom.items() if low != high))
    for index in indices:
        total = known.sum_of(index)
        same.add(total, total)
    return not same.moving
