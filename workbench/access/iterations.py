"""What the iterations of a loop have to do with each other: which cells two of them both touch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import combinations_with_replacement, product
from math import inf
from typing import Any, TypeAlias

from workbench import arith
from workbench.access.accesses import Access, Around, accesses
from workbench.access.cells import of_unit
from workbench.access.cover import made_there
from workbench.access.meet import (
    Lags,
    Never,
    Question,
    decided_by_data,
    lags,
    look,
    meet,
    open_pairs,
)
from workbench.access.units import Unit, buffers_written, limits, opened, units
from workbench.access.updates import reads
from workbench.arith import Bounds
from workbench.arith.interval import Interval
from workbench.ir import Buffer, Expr, For, SeqStmt, Stmt, free_vars, once, remembered
from workbench.ir.places import inner

Reach: TypeAlias = list[tuple[float, float]]


def apart(loop: For, unit: Unit, dom: Bounds) -> bool:
    """Whether different iterations of `loop` are proved to write different cells."""
    for condition in unit.holds:
        dom = arith.narrow(dom, condition)
    sides = [one for buffer in unit.writes for one in of_unit(unit, buffer, "write", {})]
    pairs = open_pairs(combinations_with_replacement(sides, 2), _in_turns(loop, [unit], dom))
    return not pairs or _stores_apart(loop, unit, dom) or isinstance(look(pairs), Never)


def _in_turns(loop: For, of: list[Unit], dom: Bounds) -> Question:
    """In different turns of `loop`, each with loops of its own below."""
    loops = [loop, *(one for unit in of for one in _below(loop, unit))]
    own, changing = {one.loop_var for one in loops}, _written_in(one.body for one in loops)
    return Question(arith.Simplifier(dom), own, ((loop.loop_var,),), changing)


def tells_by_changing(loop: For, unit: Unit) -> bool:
    """Whether memory that is written in turns of `loop`, or of those of `unit`, tells its cells."""
    changing = _written_in(one.body for one in (loop, *_below(loop, unit)))
    indices = (r.min for box in unit.block.writes for r in box.region) if unit.block else ()
    return any(reads(index, changing) for index in indices)


def _written_in(stmts: Iterable[Stmt]) -> Set[Buffer]:
    return {buffer for stmt in stmts for buffer in buffers_written(stmt)}


def _below(loop: For, unit: Unit) -> tuple[For, ...]:
    """The loops of `unit` inside `loop`."""
    return unit.loops[unit.loops.index(loop) + 1 :] if loop in unit.loops else unit.loops


def _stores_apart(loop: For, unit: Unit, dom: Bounds) -> bool:
    """As `apart`, of the stores each for itself: the box that a block declares may hold more."""
    parts = list(opened(unit))
    dom = {**arith.loop_bounds([one for part in parts for one in part.loops], dom), **dom}
    return not any(
        _meets_another(loop, one, other, "write", buffer, dom)
        for one, other in combinations_with_replacement(parts, 2)
        for buffer in one.writes & other.writes & unit.writes
    )


def stored(unit: Unit, loop: For, dom: Bounds) -> tuple[list[Access[For]], Bounds]:
    """The stores of `unit`, each made just where its guards hold, and the bounds of their loops.

    Without those of which data, or what is not in `dom`, tell the cell or whether it is stored.
    """
    around = Around(loops=unit.loops, guards=unit.conditions)
    found = [one for one in accesses(unit.stmt, around) if one.writes and one.buffer in unit.writes]
    dom = {**arith.loop_bounds([each for one in found for each in one.loops], dom), **dom}
    sides = []
    for one in found:
        ends = [end for each in (loop, *one.loops) for end in limits(each)]
        side = replace(one, guards=(*ends, *one.guards))
        known = side.variables() <= dom.keys()
        if known and not any(map(decided_by_data, (*side.indices, *side.guards))):
            sides.append(side)
    return sides, dom


def written_together(loop: For, first: Unit, second: Unit, buffer: Buffer, dom: Bounds) -> bool:
    """Whether each cell that both write is proved to be written by both in one iteration."""
    ways = (first, second), (second, first)
    return not all(_meets_another(loop, *pair, "write", buffer, dom) for pair in ways)


class Near:
    """Which `units` may touch the same cells of a buffer, one writing, as far as bounds tell.

    Swept along one dimension: it takes as long as there are units, and such pairs.
    """

    def __init__(self, units: Sequence[Unit], dom: Bounds) -> None:
        self.units = units
        written = {buffer for unit in units for buffer in unit.writes}
        reaches: dict[Buffer, list[tuple[int, Reach]]] = {}
        for k, unit in enumerate(units):
            for buffer in written & (unit.reads | unit.writes):
                reaches.setdefault(buffer, []).append((k, _reach(unit, buffer, dom)))
        pairs = [(*pair, b) for b, each in reaches.items() for pair in _overlapping(each)]
        pairs.sort(key=lambda pair: (pair[0], pair[1], pair[2].name))  # always the same
        self.pairs = [(units[one], units[other], buffer) for one, other, buffer in pairs]
        self._others: dict[tuple[Stmt, Buffer], list[Unit]] = {}
        for one, other, buffer in self.pairs:
            for user, writer in ((one, other), (other, one)):
                if buffer in writer.writes and writer.stmt is not user.stmt:
                    self._others.setdefault((user.stmt, buffer), []).append(writer)

    def writers(self, user: Unit, buffer: Buffer) -> list[Unit]:
        """The others that may write what `user` touches, in order."""
        return self._others.get((user.stmt, buffer), [])


def _reach(unit: Unit, buffer: Buffer, dom: Bounds) -> Reach:
    """Between which indices `unit` is, in each dimension, and in one where all meet."""
    ends: Reach = [(0, 0)]
    kinds = [
        kind for kind, every in (("read", unit.reads), ("write", unit.writes)) if buffer in every
    ]
    boxes = [box for kind in kinds for box in unit.cells(buffer, kind)]
    for axis, whole in enumerate(buffer.shape):
        each = [
            (_ends(corner[axis], {v: dom[v] for v in free_vars(corner[axis]) if v in dom}), size)
            if (size := sizes[axis]) > 0
            else ((0, 0), inf if isinstance(whole, Expr) else whole)
            for corner, sizes in boxes
        ]
        lows = (-inf if low is None else low for (low, _), _ in each)
        highs = (inf if high is None else high + size - 1 for (_, high), size in each)
        ends.append((min(lows, default=-inf), max(highs, default=inf)))
    return ends


@once
def _ends(index: Expr, dom: Bounds) -> Interval:
    """Between which values `index` lies: each loop around asks it again."""
    return arith.Simplifier(dom).expr_interval(index)


def _overlapping(each: Sequence[tuple[int, Reach]]) -> Iterator[tuple[int, int]]:
    """The pairs that have something in common in every dimension."""
    axis = max(range(len(each[0][1])), key=lambda axis: len({ends[axis] for _, ends in each}))
    begun: list[tuple[int, Reach]] = []
    for k, ends in sorted(each, key=lambda one: one[1][axis][0]):
        begun = [one for one in begun if one[1][axis][1] >= ends[axis][0]]
        for other, reach in begun:
            if all(a[0] <= b[1] and b[0] <= a[1] for a, b in zip(ends, reach, strict=True)):
                yield min(k, other), max(k, other)
        begun.append((k, ends))


def feeds(
    stmt: Stmt, writer: Unit, reader: Unit, buffer: Buffer, dom: Bounds, chosen: bool = True
) -> bool:
    """Whether in `stmt` all that `reader` reads of `buffer` was written just before by `writer`.

    What a choice keeps it from reading counts only where `chosen` is False.
    Looked at in the innermost statement that holds both, for fixed iterations of what is around.
    """
    parts = _branches(stmt, writer, reader)
    if not parts or not _holds(parts[0], writer.stmt):
        return False
    changing = _written_in(parts[1:-1])
    return made_there(parts[0], parts[-1], buffer, dom, chosen=chosen, changing=changing)


def _branches(stmt: Stmt, a: Unit, b: Unit) -> Sequence[Stmt]:
    """Where the ways to two units part: the statement of the first, all between, the other's.

    Nothing where a choice parts them, or where they are one.
    """
    while True:
        parts = [s for s in inner(stmt) if _holds(s, a.stmt) or _holds(s, b.stmt)]
        if len(parts) != 1:
            break
        stmt = parts[0]
    if not parts or not isinstance(stmt, SeqStmt):
        return []
    first, last = map(stmt.stmts.index, parts)
    return stmt.stmts[first : last + 1]


def _holds(stmt: Stmt, target: Stmt) -> bool:
    known: dict[Any, set[Stmt]] = remembered(stmt)
    if "units" not in known:
        known["units"] = {unit.stmt for unit in units(stmt)}
    return target in known["units"]


# --- what a loop carries --------------------------------------------------------------------------


def carries(loop: For, one: Unit, other: Unit, buffer: Buffer, dom: Bounds) -> bool:
    """Whether an iteration of `loop` may touch a cell of `buffer` that another one writes.

    Looked at are the two units, which may be one; False is a proof.
    """
    ways = (one, other), (other, one)
    pairs = [(writer, user) for writer, user in ways if buffer in writer.writes]
    return any(
        _meets_another(loop, writer, user, kind, buffer, dom)
        for writer, user in pairs
        for kind in ("read", "write")
        if buffer in (user.reads if kind == "read" else user.writes)
    )


def carries_own(loop: For, unit: Unit, buffer: Buffer, dom: Bounds) -> bool:
    """As `carries`, of all that `unit` stores and loads, whatever its block declares."""
    parts = list(opened(unit))
    inside = arith.loop_bounds([one for part in parts for one in part.loops], dom)
    pairs = combinations_with_replacement(parts, 2)
    return any(carries(loop, a, b, buffer, {**dom, **inside}) for a, b in pairs)


def _meets_another(
    loop: For, writer: Unit, user: Unit, kind: str, buffer: Buffer, dom: Bounds
) -> bool:
    """Whether `writer` may write, in one iteration, what `user` touches in another."""
    sides = _pairs((writer, "write"), (user, kind), buffer)
    pairs = open_pairs(sides, _in_turns(loop, [writer, user], dom))
    if not pairs:
        return False
    parts = _branches(loop.body, writer, user)
    if parts and apart(loop, writer, dom):  # in each turn at cells of its own, whatever n[0] is
        ends = parts[0], parts[-1]
        maker, use = ends if _holds(parts[0], writer.stmt) else ends[::-1]
        if made_there(maker, use, buffer, dom, kind=kind):
            return False
    return not isinstance(look(pairs), Never)


def in_order(
    loop: For, first: tuple[Unit, str], second: tuple[Unit, str], buffer: Buffer, dom: Bounds
) -> bool:
    """Whether `first` is at no cell in a later turn of `loop` than `second`: a proof.

    With each unit comes what it does, "read" or "write".
    """
    question = _in_turns(loop, [first[0], second[0]], dom)
    turns = lags(_pairs(first, second, buffer), question)
    return isinstance(turns, Lags) and max(turns.lags, default=0) <= 0


def never_meet(
    one: Unit,
    other: Unit,
    buffer: Buffer,
    dom: Bounds,
    changing: Set[Buffer],
    kind: str = "write",
) -> bool:
    """Whether no cell of `buffer` that `other` writes is one that `one` does, whenever they run.

    `kind` is what that does, "read" or "write". Of what is `changing`, each may find something
    else. False also where it is not proved.
    """
    own = {loop.loop_var for unit in (one, other) for loop in unit.loops}
    sides = _pairs((one, kind), (other, "write"), buffer)
    question = Question(arith.Simplifier(dom), own, (), changing)
    return isinstance(meet(sides, question), Never)


def _pairs(
    first: tuple[Unit, str], second: tuple[Unit, str], buffer: Buffer
) -> Iterable[tuple[Access[For], Access[For]]]:
    """What one unit does to `buffer`, with each of what the other does."""
    (one, does), (other, does_too) = first, second
    return product(of_unit(one, buffer, does, {}), of_unit(other, buffer, does_too, {}))
