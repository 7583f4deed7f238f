"""Whether what is read was written: boxes that are written whole, or each cell of few."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

from workbench import arith
from workbench.access.accesses import Access, accesses
from workbench.access.cells import all_made, loads_of, of_unit
from workbench.access.counters import one_to_one, stopped, untangled, variables
from workbench.access.facts import fact, facts, follows, positive, scales
from workbench.access.units import (
    Bounds,
    Box,
    Unit,
    buffers_read,
    inside,
    same_cell,
    touched,
    units,
)
from workbench.ir import (
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferStore,
    Const,
    Expr,
    For,
    IfThenElse,
    Range,
    Stmt,
    Var,
    binary,
    const,
    remembered,
    structural_equal,
    substitute,
    walk,
)
from workbench.ir.places import inner


def made_there(
    maker: Stmt,
    user: Stmt,
    buffer: Buffer,
    dom: Bounds,
    same: dict[Var, Expr] | None = None,
    kind: str = "read",
    chosen: bool = True,
) -> bool:
    """Whether `maker` is proved to write every cell of `buffer` that `user` reads, or writes.

    Both for fixed values of the variables around; `same` maps some of the user's to the maker's.
    A load from which a choice keeps it counts as none; as one, where `chosen` is False.
    First by boxes, whatever their sizes, of all that is used and of each use alone, and turn by
    turn; then by every cell, where there are few.
    """
    if same:
        return _made_there(maker, user, buffer, dom, same, kind, chosen)
    known: dict[Any, bool] = remembered(maker)  # each loop around asks it again
    key = "made", user, buffer, kind, chosen, frozenset(dom.items())
    if key not in known:
        known[key] = _made_there(maker, user, buffer, dom, {}, kind, chosen)
    return known[key]


def _made_there(
    maker: Stmt,
    user: Stmt,
    buffer: Buffer,
    dom: Bounds,
    same: dict[Var, Expr],
    kind: str,
    chosen: bool,
) -> bool:
    needed = touched(user, buffer, kind)
    if needed is None:
        return False
    needed = tuple(substitute(r, same) for r in needed)
    writers = [unit for unit in units(maker) if buffer in unit.writes]
    whole = [one for unit in writers for one in filled(unit, buffer, dom)]
    sure = [unit for unit in writers if not unit.block or writes_all(unit.block, buffer)]
    made = [one for unit in sure for one in of_unit(unit, buffer, "write", {})]
    return any(
        _used_are_made(needed, uses, whole, made, buffer, dom)
        for uses in _ways(user, buffer, kind, same, chosen and kind == "read")
    )


def _used_are_made(
    needed: Box,
    uses: Sequence[Access[For]],
    whole: Sequence[Filled],
    made: Sequence[Access[For]],
    buffer: Buffer,
    dom: Bounds,
) -> bool:
    """Whether all of `uses`, which are in the box `needed`, is in `whole` boxes or `made`."""
    dom = {**arith.loop_bounds([loop for use in uses for loop in use.loops], dom), **dom}
    for one in whole:
        if inside(needed, one.box, buffer.shape, dom) and all(
            runs_for(one.access, use, one.own, buffer.shape, {**dom, **one.own}) for use in uses
        ):
            return True
    parts = joined([one.box for one in whole if not one.access.guards])
    if any(inside(needed, box, buffer.shape, dom) for box in parts):
        return True
    each = [_used(use, dom) for use in uses]
    if all(box and any(inside(box, one, buffer.shape, dom) for one in parts) for box in each):
        return True
    if all(any(alongside(one, use, dom) for one in made) for use in uses):
        return True
    return all_made(uses, made, buffer.shape, dom) is True


def missed(turn: For, user: Iterable[Access[For]], buffer: Buffer, dom: Bounds) -> bool:
    """Whether `user` is found to read a cell of `buffer` that an iteration of `turn` leaves out.

    What varies around both has the same values in both; the first and the last ones of all are
    looked at, and of the reads those that neither data nor a loop whose ends vary decide.
    """
    made = [
        replace(one, guards=tuple(c for c in one.guards if not arith.reads_memory(c)))
        for one in accesses(turn.body)
        if one.writes and one.buffer is buffer
    ]
    reads = [one for one in user if not one.writes and one.buffer is buffer]
    loops = dict.fromkeys(loop for one in (*made, *reads) for loop in one.loops)
    varying = {loop for loop in loops if not _runs_fixed(loop)}
    needed = [
        one
        for one in reads
        if varying.isdisjoint(one.loops)
        and not any(map(arith.reads_memory, (*one.indices, *one.guards)))
    ]
    first = {v: (low, min(high, low + 2)) for v, (low, high) in dom.items()}
    last = {v: (max(low, high - 2), high) for v, (low, high) in dom.items()}
    own = arith.loop_bounds(loops, dom)
    return any(
        all_made(needed, made, buffer.shape, {**few, **own}) is False for few in (first, last)
    )


def _runs_fixed(loop: For) -> bool:
    return isinstance(loop.min, Const) and isinstance(loop.extent, Const)


def alongside(made: Access[For], use: Access[For], dom: Bounds) -> bool:
    """Whether the loops of both count alike, and each turn of `use` is at the cell of `made` there.

    So they may go through cells that are no box. A loop of `made` that moves no index is taken to
    be at its start: one iteration is enough.
    """
    same: dict[Var, Expr] = {}
    theirs, moving = [loop.loop_var for loop in use.loops], made.cell_variables()
    for loop in made.loops:
        var, ends = loop.loop_var, dom.get(loop.loop_var)
        if ends is None or not _runs_fixed(loop):
            return False
        if ends[0] == ends[1] or var not in moving:
            same[var] = const(ends[0], var.type)
        elif theirs and dom.get(theirs[0]) == (0, ends[1] - ends[0]):
            same[var] = theirs.pop(0) + ends[0]
        else:
            return False
    known = [arith.simplify(one, dom) for guard in use.guards for one in arith.conjuncts(guard)]
    asked = [substitute(one, same) for guard in made.guards for one in arith.conjuncts(guard)]
    for index, at in zip(made.indices, use.indices, strict=True):
        asked.append(binary("==", substitute(index, same), at))
    return {*made.sizes, *use.sizes} <= {1} and all(
        not arith.reads_memory(one)
        and (arith.prove(one, dom) or any(structural_equal(one, k) for k in known))
        for one in (arith.simplify(goal, dom) for goal in asked)
    )


def _ways(
    stmt: Stmt, buffer: Buffer, kind: str, same: dict[Var, Expr], chosen: bool
) -> Iterator[list[Access[For]]]:
    """What `stmt` touches of `buffer`, told in ways of which none leaves anything out.

    First by the boxes that its units declare, a size that varies as the whole dimension. With
    `chosen`, and where a choice such as T.if_then_else is around a load, by loads where made, too.
    """
    ways: list[list[Access[For]]] = [[], []]
    choice = False
    for unit in units(stmt):
        if buffer in (unit.reads if kind == "read" else unit.writes):
            boxes = list(of_unit(unit, buffer, kind, same))
            loads = loads_of(unit, buffer, same) if chosen else []
            always = max((len(box.guards) for box in boxes), default=0)
            choice = choice or any(len(load.guards) > always for load in loads)
            ways[0] += boxes
            ways[1] += loads or boxes
    yield from ways if choice else ways[:1]


def _used(use: Access[For], dom: Bounds) -> Box | None:
    """A box around what `use` touches as its loops run; None where no ends of it are known.

    A counter that a guard stops goes no further: ``c // 32`` with ``c < 320`` ends at 9, however
    far the loops that `c` counts run.
    """
    own = {loop.loop_var: dom[loop.loop_var] for loop in use.loops if loop.loop_var in dom}
    if len(own) < len(use.loops) or any(map(arith.reads_memory, use.indices)):
        return None
    conditions = [one for guard in use.guards for one in positive(guard)]
    mins, own, _, _ = stopped(use.indices, conditions, own)
    pairs = zip(mins, use.sizes, strict=True)
    try:
        return arith.relax(tuple(Range(m, const(n, m.dtype)) for m, n in pairs), own, None, dom)
    except ValueError:  # no ends are known
        return None


@dataclass(frozen=True, slots=True)
class Filled:
    """A box of which `access` leaves no cell out, but for what its guards keep it from.

    `own` are the bounds of what moves in it: loops, and sums of loops that a guard stopped.
    """

    box: Box
    access: Access[For]
    own: Bounds


def filled(unit: Unit, buffer: Buffer, dom: Bounds) -> list[Filled]:
    """The boxes of `buffer` of which `unit` writes every cell, while its own loops run.

    A block that may not store all that it declares has none.
    """
    if unit.block and not writes_all(unit.block, buffer):
        return []
    known: dict[Any, list[Filled]] = remembered(unit.stmt)
    key = "filled", unit.loops, unit.conditions, buffer, frozenset(dom.items())
    if key not in known:
        found = [_whole(one, dom) for one in of_unit(unit, buffer, "write", {})]
        known[key] = [one for one in found if one is not None]
    return known[key]


def _whole(access: Access[For], dom: Bounds) -> Filled | None:
    if not all(map(_runs_fixed, access.loops)) or any(map(arith.reads_memory, access.indices)):
        return None  # how often it runs varies, or where it writes
    own = {loop.loop_var: dom[loop.loop_var] for loop in access.loops if loop.loop_var in dom}
    if len(own) < len(access.loops):
        return None
    conditions = [one for guard in access.guards for one in positive(guard)]
    mins, own, left, _ = stopped(access.indices, conditions, own)
    box = whole_box(mins, access.sizes, own, dom)
    if box is None:
        return None
    return Filled(box, replace(access, indices=tuple(mins), guards=tuple(left)), own)


def whole_box(corner: Sequence[Expr], sizes: Sequence[int], own: Bounds, dom: Bounds) -> Box | None:
    """The box around the boxes of `sizes` at `corner` as `own` run, if they leave no cell out.

    `dom` bounds the other variables, which stay as they are. Why no cell is left out: what moves in
    the indices are counters 0, 1, 2, …, loops or sums of loops that a condition stops; no two of
    their turns are at one cell; and there are as many turns as the box has cells.
    """
    mins, digits = untangled(corner, own)
    one = tuple(Range(low, const(n, low.dtype)) for low, n in zip(mins, sizes, strict=True))
    try:
        box = arith.relax(one, digits, None, dom)
    except ValueError:  # no ends are known
        return None
    used = {v for low in mins for v in variables(low)}
    moving = {v: ends for v, ends in digits.items() if v in used and ends[0] < ends[1]}
    turns = prod(high - low + 1 for low, high in moving.values())
    extents = [int(r.extent.value) for r in box if isinstance(r.extent, Const)]
    if len(extents) < len(box) or prod(extents) != turns * prod(sizes):
        return None
    if not all(_in_steps(*pair, moving) for pair in zip(mins, sizes, strict=True)):
        return None
    return box if one_to_one(mins, moving, dom) else None


def _in_steps(low: Expr, size: int, moving: Bounds) -> bool:
    """Whether `low` moves in whole steps of `size`."""
    if size == 1:
        return True
    found = arith.linear(low, moving)
    return found is not None and all(factor % size == 0 for factor in found[0].values())


def joined(boxes: Sequence[Box]) -> list[Box]:
    """`boxes`, those that lie side by side as one."""
    left = list(boxes)
    found: list[Box] = []
    while left:
        box = left.pop()
        k = 0
        while k < len(left):
            both = _side_by_side(box, left[k]) or _side_by_side(left[k], box)
            if both:
                box = both
                del left[k]
                k = 0
            else:
                k += 1
        found.append(box)
    return found


def _side_by_side(a: Box, b: Box) -> Box | None:
    """The two as one box where `b` begins where `a` ends, in one dimension."""
    sides = list(zip(a, b, strict=True))
    differs = [
        k for k, (x, y) in enumerate(sides)
        if not (arith.equal(x.min, y.min) and arith.equal(x.extent, y.extent))
    ]  # fmt: skip
    if len(differs) != 1:
        return None
    (k,) = differs
    if not arith.equal(a[k].min + a[k].extent, b[k].min):
        return None
    return (*a[:k], Range(a[k].min, a[k].extent + b[k].extent), *a[k + 1 :])


def runs_for(
    made: Access[For],
    use: Access[For],
    own: Collection[Var],
    shape: tuple[int, ...],
    dom: Bounds,
) -> bool:
    """Whether no condition keeps `made` from any cell of `use` in `shape` that it would write.

    `own` are the variables of `made` that run; any others stand still.
    """
    if any(size != 1 for size in made.sizes) or not use.variables().isdisjoint(own):
        return False
    use, within = _any_cell(use)
    dom = {**dom, **within}
    known = facts(use.guards)
    known += [*use.indices, *(n - 1 - at for at, n in zip(use.indices, shape, strict=True))]
    for condition in (one for guard in made.guards for one in positive(guard)):
        goal = fact(condition)
        told = () if goal is None else _told_by_cell(goal, made, use, own, dom)
        if not any(follows(one, known, dom) for one in told):
            return False
    return True


def _any_cell(use: Access[For]) -> tuple[Access[For], Bounds]:
    """`use` at one cell of its box: a variable says which in each dimension; and their bounds."""
    within = {
        Var("d", index.dtype): (0, size - 1)
        for index, size in zip(use.indices, use.sizes, strict=True)
    }
    indices = tuple(index + d for index, d in zip(use.indices, within, strict=True))
    return replace(use, indices=indices, sizes=(1,) * len(indices)), within


def _told_by_cell(
    goal: Expr, made: Access[For], use: Access[For], own: Collection[Var], dom: Bounds
) -> Iterator[Expr]:
    """`goal`, a number of an iteration of `made`, as some of the cell that `use` shares with it.

    At that cell their indices are equal: what they differ in may be added in any multiple, and each
    index be solved for a variable that it has once. A variable that no index has is taken to be at
    its start: one iteration is enough. What is left of `own` may have any value: all that write the
    cell agree. As an integer, `goal` is 0 or more where ``goal * scale > -scale``.
    """
    told = made.cell_variables()
    start = {v: const(dom[v][0], v.type) for v in own if v in dom and v not in told}
    solved: dict[Var, Expr] = {}
    gaps = [at - index for index, at in zip(made.indices, use.indices, strict=True)]
    for index, gap in zip(made.indices, gaps, strict=True):
        factors = arith.linear(index, own)
        for var, factor in factors[0].items() if factors else ():
            if abs(factor) == 1 and var not in solved and var not in start:
                solved[var] = var + gap * factor
                break
    sizes = {
        int(node.b.value)
        for index in made.indices
        for node in walk(index)
        if isinstance(node, BinOp) and node.op in ("//", "%") and isinstance(node.b, Const)
    }
    goal = substitute(goal, start)
    for multiples in product((0, 1, *sizes), repeat=len(gaps)):
        if sum(map(bool, multiples)) > 2:  # of more none was ever needed, and they are many
            continue
        more = goal
        for multiple, gap in zip(multiples, gaps, strict=True):
            more = more - gap * multiple
        yield arith.simplify(substitute(more, solved), dom)
    for gap in gaps:
        for scale, times in scales(goal, gap, dom):
            yield arith.simplify(goal * scale + (scale - 1) - gap * times, dom)


# --- what a block surely writes -------------------------------------------------------------------


def writes_all(block: Block, buffer: Buffer) -> bool:
    """Whether each instance of `block` is proved to store every cell of `buffer` that it declares.

    A store under an `if` may leave its cell as it was.
    """
    known: dict[Any, bool] = remembered(block)
    key = "writes all", buffer
    if key not in known:
        known[key] = _writes_all(block, buffer)
    return known[key]


def _writes_all(block: Block, buffer: Buffer) -> bool:
    region = next((r.region for r in block.writes if r.buffer is buffer), None)
    if region is None or not all(isinstance(r.extent, Const) for r in region):
        return False
    sizes = tuple(int(r.extent.value) for r in region if isinstance(r.extent, Const))
    sure = [
        unit
        for unit in sure_units(block.body)
        if buffer in unit.writes and not (unit.block and not writes_all(unit.block, buffer))
    ]
    dom: Bounds = dict(arith.loop_bounds([loop for unit in sure for loop in unit.loops]))
    whole_boxes = [one for unit in sure for one in filled(unit, buffer, dom)]
    boxes = joined([one.box for one in whole_boxes if not one.access.guards])
    if any(inside(region, box, buffer.shape, dom) for box in boxes):
        return True
    every = [one for unit in sure for one in of_unit(unit, buffer, "write", {})]
    made = [_relative(one, region, dom) for one in every]
    corner = tuple(const(0, r.min.dtype) for r in region)
    whole: Access[For] = Access(block, buffer, True, corner, sizes, (), ())
    return all_made([whole], made, sizes, dom) is True


def starts_all(block: Block, buffer: Buffer) -> bool:
    """Whether the init of `block` is proved to store to each cell of `buffer` that its body reads.

    And to read none of them itself: then nothing counts that was in `buffer` before.
    """
    if buffer not in buffers_read(block.body):
        return block.init is None or buffer not in buffers_read(block.init)
    if block.init is None or buffer in buffers_read(block.init):
        return False
    every = [unit for part in (block.init, block.body) for unit in units(part)]
    dom = arith.loop_bounds(loop for unit in every for loop in unit.loops)
    return made_there(block.init, block.body, buffer, dom)


def sure_units(stmt: Stmt, loops: tuple[For, ...] = ()) -> Iterator[Unit]:
    """The outermost blocks and bare stores in `stmt` that no condition keeps from running.

    Of a choice, those to which the other case has a store to the same cell.
    """
    if isinstance(stmt, (BlockRealize, BufferStore)):
        yield Unit(stmt, loops)
    elif isinstance(stmt, IfThenElse):
        if stmt.else_case is not None:
            others = list(sure_units(stmt.else_case, loops))
            for unit in sure_units(stmt.then_case, loops):
                if any(_stores_there_too(unit, other) for other in others):
                    yield unit
    else:
        below = (*loops, stmt) if isinstance(stmt, For) else loops
        for child in inner(stmt):
            yield from sure_units(child, below)


def _stores_there_too(a: Unit, b: Unit) -> bool:
    """Whether two bare stores in the same loops are proved to store to one cell."""
    x, y = a.stmt, b.stmt
    if not isinstance(x, BufferStore) or not isinstance(y, BufferStore) or a.loops != b.loops:
        return False
    return x.buffer is y.buffer and same_cell(x.indices, y.indices)


def _relative(access: Access[For], region: Box, dom: Bounds) -> Access[For]:
    """`access` told from the first cell of `region` on, so that what both move with is gone."""
    pairs = zip(access.indices, region, strict=True)
    return replace(access, indices=tuple(arith.simplify(i - r.min, dom) for i, r in pairs))
