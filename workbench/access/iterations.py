"""What the iterations of a loop have to do with each other: which cells two of them both touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, islice, product

from workbench import arith
from workbench.access.accesses import Access, Around, accesses
from workbench.access.cells import at_most, disjoint, lags, of_unit
from workbench.access.counters import one_to_one
from workbench.access.made import made_there
from workbench.access.units import (
    Bounds,
    Unit,
    keeps_apart,
    limits,
    opened,
    separate,
    units,
    writes_apart,
)
from workbench.arith.evaluate import compiled
from workbench.ir import (
    Buffer,
    Const,
    For,
    SeqStmt,
    Stmt,
    free_vars,
)
from workbench.ir.places import inner


def apart(loop: For, unit: Unit, dom: Bounds) -> bool:
    """Whether different iterations of `loop` are proved to write different cells."""
    for condition in unit.holds:
        dom = arith.narrow(dom, condition)
    first, last = dom.get(loop.loop_var, (0, 1))
    return (
        first >= last
        or all(
            keeps_apart(cell, sizes, unit, loop, dom)
            for buffer in unit.writes
            for cell, sizes in unit.cells(buffer, "write")
        )
        or _instances_apart(loop, unit, dom)
        or _stores_apart(loop, unit, dom)
        or _never_clash(loop, unit, dom)
    )


def _stores_apart(loop: For, unit: Unit, dom: Bounds) -> bool:
    """As `apart`, of the stores each for itself: the box that a block declares may hold more."""
    parts = list(opened(unit))
    dom = {**arith.loop_bounds([one for part in parts for one in part.loops], dom), **dom}
    return not any(
        _meets_another(loop, one, other, "write", buffer, dom)
        for one, other in combinations_with_replacement(parts, 2)
        for buffer in one.writes & other.writes & unit.writes
        if one is not other or not _tells_turn(loop, one, dom)
    )


def _tells_turn(loop: For, unit: Unit, dom: Bounds) -> bool:
    """Whether the cell of a bare store is proved to tell the turns of all loops that move it."""
    ((cell, _),) = (box for buffer in unit.writes for box in unit.cells(buffer, "write"))
    used = {v for index in cell for v in free_vars(index)}
    if loop.loop_var not in used or not used <= dom.keys():
        return False
    return one_to_one(cell, {v: dom[v] for v in used}, {}, arith.joined(unit.holds))


def _instances_apart(loop: For, unit: Unit, dom: Bounds) -> bool:
    """Whether no two iterations, of all loops that the spatial iterators use, are one instance.

    Then different iterations of `loop` are different instances, which write different cells.
    """
    if unit.block is None or writes_apart(unit.block) is not True:
        return False
    if unit.uses_itself((loop, *unit.loops)):
        return False  # one instance may write other cells in another turn
    spatial = unit.bound("spatial")
    used = {v for e in spatial for v in free_vars(e)}
    if any(v in used for e in unit.bound("reduce") for v in free_vars(e)):
        return False
    loops = {v: dom[v] for v in used if v in dom}
    if loop.loop_var not in loops or len(loops) < len(used):
        return False
    return one_to_one(spatial, loops, {}, unit.predicate)


@dataclass(frozen=True, slots=True)
class Clash:
    """Two iterations of a loop, all loops around it fixed, that write one cell."""

    first: int
    second: int
    cell: str


def _never_clash(loop: For, unit: Unit, dom: Bounds) -> bool:
    """Whether no two iterations of `loop` write one cell of the boxes of `unit`, all of them tried.

    Not where data decide, or where the size of a box varies: which cells it has is not tried.
    """
    sides = [one for buffer in unit.writes for one in of_unit(unit, buffer, "write", {})]
    sizes = [n for buffer in unit.writes for _, box in unit.cells(buffer, "write") for n in box]
    if any(decided_by_data(side) for side in sides) or any(size < 0 for size in sizes):
        return False
    used = [side.variables() | {loop.loop_var} for side in sides]
    if any(not variables <= dom.keys() for variables in used):
        return False
    few = sum(arith.count_points(arith.ranges_of(one, dom)) for one in used) <= arith.POINTS
    return few and first_clash(loop, sides, dom) is None


def stored(unit: Unit, loop: For, dom: Bounds) -> tuple[list[Access[For]], Bounds]:
    """The stores of `unit`, each made just where its guards hold, and the bounds of their loops.

    Without those of which data, or what is not in `dom`, tell the cell or whether it is stored.
    """
    around = Around(loops=unit.loops, guards=unit.conditions)
    found = [one for one in accesses(unit.stmt, around) if one.writes and one.buffer in unit.writes]
    dom = {**arith.loop_bounds([each for one in found for each in one.loops], dom), **dom}
    sides = [
        replace(one, guards=(*(end for each in (loop, *one.loops) for end in limits(each)),
                             *one.guards))
        for one in found
    ]  # fmt: skip
    return [one for one in sides if one.variables() <= dom.keys() and not decided_by_data(one)], dom


def decided_by_data(side: Access[For]) -> bool:
    """Whether what is in memory says which cells are touched, or when."""
    return any(map(arith.reads_memory, (*side.indices, *side.guards)))


def first_clash(loop: For, sides: Sequence[Access[For]], dom: Bounds) -> Clash | None:
    """The first two of the first iterations of `loop` in which `sides` are at one cell.

    Iterations of `loop` are compared in one turn of the loops around it only. Without a clash, none
    of the iterations that were looked at touches what another one does: all there are, where they
    are at most `arith.POINTS` for all sides together.
    """
    most = arith.POINTS  # cut: product keeps all of each range in memory
    used = {v: range(dom[v][0], min(dom[v][1] + 1, dom[v][0] + most)) for v in dom
            if v is loop.loop_var or any(v in side.variables() for side in sides)}  # fmt: skip
    inside = {each.loop_var for side in sides for each in side.loops}
    around = {v: used[v] for v in used if v not in inside and v is not loop.loop_var}
    ways = [
        (side, {v: used[v] for v in used if v in inside and v in side.variables()},
         [compiled(e) for e in side.guards], [compiled(e) for e in side.indices])
        for side in sides
    ]  # fmt: skip
    left = most
    for turn in arith.points(around):
        seen: dict[tuple[object, ...], int] = {}
        for time in used[loop.loop_var]:
            for side, own, guards, indices in ways:
                for one in islice(arith.points(own), left):
                    left -= 1
                    env = {**turn, loop.loop_var: time, **one}
                    if not all(holds(env) for holds in guards):
                        continue
                    corner = [index(env) for index in indices]
                    for step in product(*map(range, side.sizes)):
                        place = tuple(c + d for c, d in zip(corner, step, strict=True))
                        before = seen.setdefault((side.buffer, place), time)
                        if before != time:
                            cell = ", ".join(map(str, place))
                            return Clash(before, time, f"{side.buffer.name}[{cell}]")
            if left <= 0:
                return None
    return None


def written_together(loop: For, first: Unit, second: Unit, buffer: Buffer, dom: Bounds) -> bool:
    """Whether each cell that both write is proved to be written by both in one iteration."""
    parts = _branches(loop.body, first, second)
    for unit, one, other in zip((first, second), parts, parts[::-1], strict=False):
        if made_there(one, other, buffer, dom, kind="write") and apart(loop, unit, dom):
            return True
    between = lags(loop.loop_var, (first, "write"), (second, "write"), buffer, dom)
    return between is not None and between <= {0}


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
    return made_there(parts[0], parts[1], buffer, dom, chosen=chosen)


def _branches(stmt: Stmt, a: Unit, b: Unit) -> list[Stmt]:
    """Where the ways to two units part: the statement with the one that runs first, and the other.

    Nothing where a choice parts them, or where they are one.
    """
    while True:
        parts = [s for s in inner(stmt) if _holds(s, a.stmt) or _holds(s, b.stmt)]
        if len(parts) != 1:
            return parts if isinstance(stmt, SeqStmt) else []
        stmt = parts[0]


def _holds(stmt: Stmt, target: Stmt) -> bool:
    return any(unit.stmt is target for unit in units(stmt))


# --- what a loop carries --------------------------------------------------------------------------


def carries(loop: For, one: Unit, other: Unit, buffer: Buffer, dom: Bounds) -> bool:
    """Whether an iteration of `loop` may touch a cell of `buffer` that another one writes.

    Looked at are the two units, which may be one; False is a proof.
    """
    pairs = [(writer, user) for writer, user in ((one, other), (other, one))
             if buffer in writer.writes]  # fmt: skip
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
    ways = (
        [replace(side, loops=(*side.loops, loop)) for side in at_most(unit, buffer, what)]
        for unit, what in ((writer, "write"), (user, kind))
    )
    if all(
        _told_apart(one, writer, other, user, loop, dom) or disjoint(one, other, dom)
        for one, other in product(*ways)
    ):
        return False
    parts = _branches(loop.body, writer, user)
    if parts and apart(loop, writer, dom):
        maker, use = parts if _holds(parts[0], writer.stmt) else parts[::-1]
        if made_there(maker, use, buffer, dom, kind=kind):
            return False
    between = lags(loop.loop_var, (writer, "write"), (user, kind), buffer, dom)
    return between is None or not between <= {0}


def _told_apart(
    here: Access[For], unit: Unit, there: Access[For], user: Unit, loop: For, dom: Bounds
) -> bool:
    """Whether some index of two boxes is proved to tell the iteration, in the same way."""
    if loop.loop_var not in dom:
        return False
    sides = zip(here.indices, here.sizes, there.indices, there.sizes, strict=True)
    for index, size, mine, less in sides:
        one = separate(index, size, unit, loop, dom)
        other = separate(mine, less, user, loop, dom)
        if one is None or other is None:
            continue
        shift = arith.simplify(one.moving - other.moving, dom)
        if not isinstance(shift, Const):
            continue
        dom_of = {loop.loop_var: dom[loop.loop_var]}
        ahead = int(shift.value)
        reach = max(one.last + ahead, other.last) - min(one.first + ahead, other.first)
        step = one.step if one.step == other.step else 1
        if reach < step and arith.is_injective([one.moving], dom_of) is True:
            return True
    return False
