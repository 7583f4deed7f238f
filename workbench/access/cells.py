"""Cells one by one, where nothing shorter tells which two statements both touch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from workbench import arith
from workbench.access.accesses import Access, Around, accesses
from workbench.access.facts import positive
from workbench.access.units import Unit, limits
from workbench.arith import Bounds, SizedEnds
from workbench.arith.evaluate import Env
from workbench.arith.normal import MOST
from workbench.ir import (
    Buffer,
    Expr,
    For,
    Size,
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
        whole = tuple(
            n if n > 0 else most(size) for n, size in zip(sizes, buffer.shape, strict=True)
        )
        yield Access(unit.stmt, buffer, kind == "write", corner, whole, at.guards, unit.loops)


def most(size: Size) -> int:
    """How long a dimension is, at most where sizes tell it."""
    ends = arith.bounds(size, {}) if isinstance(size, Expr) else (size, size)
    return ends[1] if ends is not None else MOST


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
    if any(isinstance(dom.get(v), SizedEnds) for one in (*needed, *made) for v in one.variables()):
        return None  # in most sizes the last ones do not run
    if any(isinstance(n, Expr) for n in shape):
        return None
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


def _around(sides: Collection[Access[For]], dom: Bounds) -> dict[Var, range] | None:
    """The values of the variables around; None where there are too many cells of all `sides`."""
    around = {v for side in sides for v in side.variables() - _own(side)}
    ranges = arith.ranges_of(around, dom)
    cells = sum(
        arith.count_points(arith.ranges_of(_own(side), dom)) * prod(side.sizes) for side in sides
    )
    return ranges if arith.count_points(ranges) * cells <= arith.POINTS else None


def _own(side: Access[For]) -> set[Var]:
    return side.variables() & {loop.loop_var for loop in side.loops}


def _cells(side: Access[For], dom: Bounds) -> Callable[[Env], Iterator[tuple[int, ...]]]:
    """The cells of `side` for given values of the variables around."""
    table = arith.Table(side.indices, side.guards)
    own = arith.ranges_of(_own(side), dom)

    def cells(around: Env) -> Iterator[tuple[int, ...]]:
        for _, corner in table.rows(own, around):
            yield from product(*(range(c, c + n) for c, n in zip(corner, side.sizes, strict=True)))

    return cells
