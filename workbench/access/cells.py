"""Cells one by one, where nothing shorter tells which two statements both touch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from workbench import arith
from workbench.access.accesses import Access, Around, accesses
from workbench.access.facts import facts, follows, positive, skips
from workbench.access.units import Bounds, Unit, limits
from workbench.arith.evaluate import Env, compiled
from workbench.ir import (
    Buffer,
    Expr,
    For,
    Var,
    const,
    substitute,
)


def of_unit(unit: Unit, buffer: Buffer, kind: str, same: dict[Var, Expr]) -> Iterator[Access[For]]:
    """What `unit` touches of `buffer`; a size that varies is the whole dimension."""
    at = _around_unit(unit, same, unit.holds)
    for cell, sizes in unit.cells(buffer, kind):
        corner = tuple(
            substitute(e, same) if size > 0 else const(0, e.dtype)
            for e, size in zip(cell, sizes, strict=True)
        )
        whole = tuple(n if n > 0 else most for n, most in zip(sizes, buffer.shape, strict=True))
        yield Access(unit.stmt, buffer, kind == "write", corner, whole, at.guards, unit.loops)


def loads_of(unit: Unit, buffer: Buffer, same: dict[Var, Expr]) -> list[Access[For]]:
    """The loads of `buffer` in `unit`, each under the conditions on which it is made.

    Without those that data decide: such a load counts as made. None at all where some are not in
    sight: where it says for what a block runs, or how often, a load stands in no statement.
    """
    at = replace(_around_unit(unit, same, unit.conditions), loops=unit.loops)
    found = [one for one in accesses(unit.stmt, at) if one.buffer is buffer and not one.writes]
    if len(found) != sum(load.buffer is buffer for load in unit.loads):
        return []
    return [replace(one, guards=tuple(map(_without_data, one.guards))) for one in found]


def _without_data(condition: Expr) -> Expr:
    """What `condition` says that no data decide."""
    return arith.joined(c for c in positive(condition) if not arith.reads_memory(c))


def _around_unit(unit: Unit, same: dict[Var, Expr], conditions: Sequence[Expr]) -> Around:
    at = Around(values=same)
    for condition in (*(one for loop in unit.loops for one in limits(loop)), *conditions):
        at = at.where(condition)
    return at


def at_most(unit: Unit, buffer: Buffer, kind: str) -> list[Access[For]]:
    """What `unit` touches, and maybe more: data that keeps it from running are not known."""
    return [
        replace(side, guards=tuple(c for c in side.guards if not arith.reads_memory(c)))
        for side in of_unit(unit, buffer, kind, {})
    ]


def all_made(
    needed: Sequence[Access[For]],
    made: Sequence[Access[For]],
    shape: tuple[int, ...],
    dom: Bounds,
) -> bool | None:
    """Whether each cell of `needed` that is in `shape` is one of `made`, all of them looked at.

    For each value of what stands around both sides, their own loops run to the end: that is all
    that they ever touch in that turn, so the answer is exact, and holds for every turn.
    None where there are too many, or where a cell is told by what is in memory.
    """
    try:
        around = _around([*needed, *made], dom)
        if around is None:
            return None
        readers, writers = [_cells(n, dom) for n in needed], [_cells(m, dom) for m in made]
    except (KeyError, ValueError):  # a variable without bounds; a load in an index
        return None
    for env in arith.points(around):
        written = {cell for writer in writers for cell in writer(env)}
        for cell in (cell for reader in readers for cell in reader(env)):
            there = all(0 <= at < size for at, size in zip(cell, shape, strict=True))
            if there and cell not in written:
                return False
    return True


def lags(
    var: Var, first: tuple[Unit, str], second: tuple[Unit, str], buffer: Buffer, dom: Bounds
) -> set[int] | None:
    """How many iterations lie between two units that touch one cell, all cells looked at.

    Each unit comes with "read" or "write". A number is the iteration, of the loop of `var`, of the
    first unit less that of the second, in one iteration of the loops around. None where there are
    too many cells, or where one is told by what is in memory. Each cell of the first side is noted
    with every iteration that touches it, then each of the second is held against these notes: no
    pair is left out.
    """
    sides = [at_most(unit, buffer, kind) for unit, kind in (first, second)]
    try:
        around = _around([*sides[0], *sides[1]], dom, {var})
        if around is None:
            return None
        turns = [turn[var] for turn in arith.points(arith.ranges_of([var], dom))]
        before, after = [[_cells(side, dom) for side in one] for one in sides]
    except (KeyError, ValueError):  # as in all_made
        return None
    found: set[int] = set()
    for env in arith.points(around):
        when: dict[tuple[int, ...], set[int]] = {}
        for turn in turns:
            for cell in (cell for one in before for cell in one({**env, var: turn})):
                when.setdefault(cell, set()).add(turn)
        for turn in turns:
            for cell in (cell for one in after for cell in one({**env, var: turn})):
                found |= {other - turn for other in when.get(cell, ())}
    return found


def disjoint(one: Access[For], other: Access[For], dom: Bounds) -> bool:
    """Whether no cell is proved to be in boxes of both, in whichever turns of their own loops."""
    fresh: dict[Var, Expr] = {}
    for var in (loop.loop_var for loop in other.loops):
        new = fresh[var] = Var(var.name, var.type)
        if var in dom:
            dom = {**dom, new: dom[var]}
    indices = [substitute(index, fresh) for index in other.indices]
    known = facts([*one.guards, *(substitute(guard, fresh) for guard in other.guards)])
    return any(
        follows(b - a - m, known, dom) or follows(a - b - n, known, dom) or skips(a - b, m, n, dom)
        for a, m, b, n in zip(one.indices, one.sizes, indices, other.sizes, strict=True)
    )


def never_meet(one: Unit, other: Unit, buffer: Buffer, dom: Bounds) -> bool:
    """Whether no cell of `buffer` is proved to be written by both units, whenever they run."""
    if all(
        any(_far(a, m, b, n, dom) for a, m, b, n in zip(*x, *y, strict=True))
        for x in one.cells(buffer, "write")
        for y in other.cells(buffer, "write")
    ):
        return True
    always = Var("always")
    return lags(always, (one, "write"), (other, "write"), buffer, {**dom, always: (0, 0)}) == set()


def _far(a: Expr, m: int, b: Expr, n: int, dom: Bounds) -> bool:
    """Whether `m` indices from `a` on and `n` from `b` on have none in common."""
    here, there = arith.bounds(a, dom), arith.bounds(b, dom)
    if here is None or there is None or m < 0 or n < 0:
        return False
    return here[1] + m <= there[0] or there[1] + n <= here[0]


def _around(
    sides: Collection[Access[For]], dom: Bounds, also: Collection[Var] = ()
) -> dict[Var, range] | None:
    """The values of the variables around; None where there are too many cells of all `sides`.

    Each has its cells for every value of its own loops and of `also`, which is not around then.
    """
    around = {v for side in sides for v in side.variables() - _own(side) if v not in also}
    ranges = arith.ranges_of(around, dom)
    cells = sum(
        arith.count_points(arith.ranges_of({*_own(side), *also}, dom)) * prod(side.sizes)
        for side in sides
    )
    return ranges if arith.count_points(ranges) * cells <= arith.POINTS else None


def _own(side: Access[For]) -> set[Var]:
    return side.variables() & {loop.loop_var for loop in side.loops}


def _cells(side: Access[For], dom: Bounds) -> Callable[[Env], Iterator[tuple[int, ...]]]:
    """The cells of `side` for given values of the variables around."""
    guards = [compiled(e) for e in side.guards]
    indices = [compiled(e) for e in side.indices]
    own = arith.ranges_of(_own(side), dom)

    def cells(around: Env) -> Iterator[tuple[int, ...]]:
        for turn in arith.points(own):
            env = {**around, **turn}
            if all(holds(env) for holds in guards):
                corner = [index(env) for index in indices]
                yield from product(
                    *(range(c, c + n) for c, n in zip(corner, side.sizes, strict=True))
                )

    return cells
