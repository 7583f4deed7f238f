"""What the iterations of a loop have to do with each other: which cells two of them both touch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, islice, product

from workbench import arith
from workbench.access.accesses import Access
from workbench.access.cells import at_most, disjoint, lags
from workbench.access.counters import one_to_one
from workbench.access.made import made_there
from workbench.access.units import (
    Bounds,
    Unit,
    keeps_apart,
    opened,
    separate,
    units,
    writes_apart,
)
from workbench.arith.evaluate import compiled
from workbench.ir import (
    Buffer,
    Expr,
    For,
    SeqStmt,
    Stmt,
    Var,
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
        or _never_clash(loop, unit, dom)
    )


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
    """Whether no two iterations of `loop` write one cell, all of them tried."""
    used = used_by(unit) | {loop.loop_var}
    if any(var not in dom for var in used) or decided_by_data(unit):
        return False
    if any(n < 0 for b in unit.writes for _, sizes in unit.cells(b, "write") for n in sizes):
        return False  # a box whose size varies: which cells it has is not tried
    few = arith.count_points(arith.ranges_of(used, dom)) <= arith.POINTS
    return few and first_clash(loop, unit, dom) is None


def used_by(unit: Unit) -> set[Var]:
    """The variables that say which cells a unit writes, and when it runs."""
    return {var for index in _tells(unit) for var in free_vars(index)}


def decided_by_data(unit: Unit) -> bool:
    """Whether what is in memory says which cells a unit writes, or when it runs."""
    return any(map(arith.reads_memory, _tells(unit)))


def _tells(unit: Unit) -> list[Expr]:
    cells = [i for b in unit.writes for cell, _ in unit.cells(b, "write") for i in cell]
    return [*cells, *unit.holds]


def first_clash(loop: For, unit: Unit, dom: Bounds) -> Clash | None:
    """The first two of the first iterations of `loop` that write one cell, of boxes of known size.

    What was written is remembered with the turn of the loops around it, so that two iterations of
    `loop` are compared in one turn of these only. Without a clash, none of the iterations that were
    looked at writes what another one does: all there are, where they are at most `arith.POINTS`.
    """
    inside = {other.loop_var for other in unit.loops}
    used = [v for v in dom if v in used_by(unit) and v is not loop.loop_var]
    around = [v for v in used if v not in inside]
    names = [*around, loop.loop_var, *(v for v in used if v in inside)]
    holds = [compiled(condition) for condition in unit.holds]
    cells = [
        (buffer, [compiled(i) for i in cell], sizes)
        for buffer in unit.writes
        for cell, sizes in unit.cells(buffer, "write")
    ]
    seen: dict[tuple[object, ...], int] = {}
    most = arith.POINTS  # cut: product keeps all of each range in memory
    ranges = {v: values[:most] for v, values in arith.ranges_of(names, dom).items()}
    for env in islice(arith.points(ranges), most):
        time = env[loop.loop_var]
        if not all(test(env) for test in holds):
            continue
        turn = tuple(env[v] for v in around)
        for buffer, indices, sizes in cells:
            corner = [index(env) for index in indices]
            for step in product(*(range(size) for size in sizes)):
                place = tuple(c + d for c, d in zip(corner, step, strict=True))
                before = seen.setdefault((turn, buffer, place), time)
                if before != time:
                    cell = ", ".join(map(str, place))
                    return Clash(before, time, f"{buffer.name}[{cell}]")
    return None


def written_together(loop: For, first: Unit, second: Unit, buffer: Buffer, dom: Bounds) -> bool:
    """Whether each cell that both write is proved to be written by both in one iteration."""
    parts = _branches(loop.body, first, second)
    for unit, one, other in zip((first, second), parts, parts[::-1], strict=False):
        if made_there(one, other, buffer, dom, kind="write") and apart(loop, unit, dom):
            return True
    between = lags(loop.loop_var, (first, "write"), (second, "write"), buffer, dom)
    return between is not None and between <= {0}


def feeds(stmt: Stmt, writer: Unit, reader: Unit, buffer: Buffer, dom: Bounds) -> bool:
    """Whether in `stmt` all that `reader` reads of `buffer` was written just before by `writer`.

    Looked at in the innermost statement that holds both, for fixed iterations of what is around.
    """
    parts = _branches(stmt, writer, reader)
    if not parts or not _holds(parts[0], writer.stmt):
        return False
    return made_there(parts[0], parts[1], buffer, dom)


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
        if one is None or other is None or not arith.equal(one.moving, other.moving, dom):
            continue
        dom_of = {loop.loop_var: dom[loop.loop_var]}
        reach = max(one.last, other.last) - min(one.first, other.first)
        step = one.step if one.step == other.step else 1
        if reach < step and arith.is_injective([one.moving], dom_of) is True:
            return True
    return False
