"""Whether every cell that is used was made before: asked by verbs, lowering and the build alike.

Why an answer is right. A *use* is a box of cells that an access touches in the turns of its own
loops in which its guards hold; what is *made* is the same of stores. Both are told for fixed values
of all that stands around, and a proof is for all of these values: so it holds in every turn of what
is around, whatever an earlier turn left. A use counts for more than it may touch (conditions that
data decide are left out, data may point anywhere), what is made for less than it may store (data
keep a store from its cell, and a block stores what `writes_all` proves, not what it declares). Then
each use is looked at in turn, and is covered where one of these is proved:

1. *By boxes.* The box around the use lies in a box that stores fill without a gap (`boxes`), and no
   guard keeps the store from a cell of the use (`runs_for`). For any sizes.
2. *Turn by turn.* Both sides count alike, and each turn of the use is at the cell that the store
   had in the turn of the same number (`alongside`): so they may go through what is no box.
3. *Cell by cell.* For each value of what is around, all cells of both sides are looked at, where
   they are few (`cells.all_made`). That is exact, both ways.

No is no proof of the opposite; that is what `missed` finds, cell by cell.

Elsewhere a use that is not covered is called an upwards exposed read, and a store that surely
happens a must-definition (Aho, Lam, Sethi, Ullman: Compilers, chapter 9). With arrays for variables
it is array dataflow analysis (exact for affine loops: Feautrier, "Dataflow analysis of array and
scalar references", 1991), and the question that array privatization asks (Tu and Padua, "Automatic
array privatization", 1993): an array of which each turn makes all that it uses can be each turn's
own, as `shrink_buffers` keeps only one turn of it. A polyhedral compiler asks whether a union of
polyhedra holds another one (Pugh's omega test, 1992; isl): integer programming, of which steps 1
and 2 are the part that needs no search.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

from workbench import arith
from workbench.access.accesses import Access, accesses
from workbench.access.boxes import Filled, box_around, filled, inside, merged
from workbench.access.cells import all_made, loads_of, most, of_unit
from workbench.access.facts import fact, facts, follows, positive, scales
from workbench.access.units import (
    Unit,
    buffers_read,
    buffers_written,
    iterator_bounds,
    runs_fixed,
    summed_sizes,
    units,
)
from workbench.access.updates import reads
from workbench.arith import Bounds, Box, Simplifier
from workbench.ir import (
    BinOp,
    Block,
    Buffer,
    BufferStore,
    Const,
    Expr,
    For,
    Not,
    Size,
    Stmt,
    Var,
    binary,
    const,
    once,
    remembered,
    substitute,
    walk,
)


def made_there(
    maker: Stmt,
    user: Stmt,
    buffer: Buffer,
    dom: Bounds,
    same: dict[Var, Expr] | None = None,
    kind: str = "read",
    chosen: bool = True,
    changing: Set[Buffer] = frozenset(),
) -> bool:
    """Whether `maker` is proved to write every cell of `buffer` that `user` reads, or writes.

    Both for fixed values of the variables around; `same` maps some of the user's to the maker's.
    A load from which a choice keeps it counts as none; as one, where `chosen` is False. Besides
    what both write, what is `changing` is no longer what it was.
    """
    makers, users = units(maker), list(units(user))
    changing = {*changing, *buffers_written(maker), *buffers_written(user)}
    if same:
        return made_by(makers, users, buffer, dom, same, kind, chosen, changing)
    known: dict[Any, bool] = remembered(maker)  # each loop around asks it again
    key = "made", user, buffer, kind, chosen, frozenset(changing), frozenset(dom.items())
    if key not in known:
        known[key] = made_by(makers, users, buffer, dom, {}, kind, chosen, changing)
    return known[key]


def made_by(
    makers: Iterable[Unit],
    users: Sequence[Unit],
    buffer: Buffer,
    dom: Bounds,
    same: dict[Var, Expr],
    kind: str = "read",
    chosen: bool = True,
    changing: Set[Buffer] = frozenset(),
) -> bool:
    """As `made_there`, of units that are known already, and of all that is `changing`."""
    made = [
        one
        for unit in either_way(makers)
        for one in surely_stored(unit, buffer, dom)
        if not any(reads(index, changing) for index in one.access.indices)
    ]
    ways = _ways(users, buffer, kind, same, chosen and kind == "read")
    return any(uses and covers(made, uses, buffer.shape, dom) for uses in ways)


@dataclass(frozen=True)
class Made:
    """What is surely stored as the loops of `access` run, in the turns in which its guards hold."""

    access: Access[For]
    dom: Bounds

    @cached_property
    def filled(self) -> Filled | None:
        """The box that it fills, if one is found."""
        return filled(self.access, self.dom)


def surely_stored(unit: Unit, buffer: Buffer, dom: Bounds) -> list[Made]:
    """What `unit` stores of `buffer`; nothing where data, or its block, may leave any of it out."""
    if buffer not in unit.writes or any(map(arith.reads_memory, unit.holds)):
        return []
    if unit.block and _is_sized(unit.block, buffer):
        body = substitute(unit.block.body, unit.values)
        parts = either_way(units(body, unit.loops, unit.holds))
        dom = {**arith.loop_bounds([loop for one in parts for loop in one.loops], dom), **dom}
        dom |= summed_sizes(unit.block)
        return [made for one in parts for made in surely_stored(one, buffer, dom)]
    if unit.block and not writes_all(unit.block, buffer):
        return []
    known: dict[Any, list[Made]] = remembered(unit.stmt)
    key = "stored", unit.loops, unit.conditions, buffer, frozenset(dom.items())
    if key not in known:
        dom = {**dom, **summed_sizes(unit.block)} if unit.block else dom
        known[key] = [Made(one, dom) for one in of_unit(unit, buffer, "write", {})]
    return known[key]


def _is_sized(block: Block, buffer: Buffer) -> bool:
    """Whether sizes tell how far a box goes that `block` declares to write of `buffer`."""
    regions = (r.region for r in block.writes if r.buffer is buffer)
    return any(arith.by_sizes(r.extent) for region in regions for r in region)


def either_way(every: Iterable[Unit]) -> list[Unit]:
    """All of `every`, and under no condition the stores to one cell in both cases of a choice."""
    found = list(every)
    known = arith.Simplifier({})
    seen = set[object]()
    for unit in found:  # what comes of two may stand in one case of another choice
        if not unit.conditions or not isinstance(unit.stmt, BufferStore):
            continue
        *around, condition = unit.conditions
        holds = True
        while isinstance(condition, Not):
            condition, holds = condition.a, not holds
        cell = tuple(map(known.number, unit.stmt.indices))
        choice = unit.stmt.buffer, cell, unit.loops, tuple(around), condition
        if (choice, not holds) in seen:
            found.append(replace(unit, conditions=tuple(around)))
        seen.add((choice, holds))
    return found


def covers(
    made: Sequence[Made], uses: Sequence[Access[For]], shape: tuple[int, ...], dom: Bounds
) -> bool:
    """Whether each cell of `shape` that one of `uses` touches is proved to be among those `made`.

    What is told by no loop of an access stands still: it is the same on both sides.
    """
    dom = {**arith.loop_bounds([loop for use in uses for loop in use.loops], dom), **dom}
    whole = [one.filled for one in made if one.filled]
    boxes = merged(one.box for one in whole if not one.access.guards)
    guarded = [one for one in whole if one.access.guards]
    left = [
        use
        for use in uses
        if not _in_a_box(use, boxes, guarded, shape, dom)
        and not any(alongside(one.access, use, dom) for one in made)
    ]
    return not left or all_made(left, [one.access for one in made], shape, dom) is True


def _in_a_box(
    use: Access[For],
    boxes: Sequence[Box],
    guarded: Sequence[Filled],
    shape: tuple[int, ...],
    dom: Bounds,
) -> bool:
    needed = box_around(use, dom)
    return any(inside(needed, box, shape, dom) for box in boxes) or any(
        inside(needed, one.box, shape, dom)
        and runs_for(one.access, use, one.own, shape, {**dom, **one.own})
        for one in guarded
    )


def _ways(
    users: Iterable[Unit], buffer: Buffer, kind: str, same: dict[Var, Expr], chosen: bool
) -> Iterator[list[Access[For]]]:
    """What `users` touch of `buffer`, told in ways of which none leaves anything out.

    First by the boxes that they declare, a size that varies as the whole dimension. With
    `chosen`, and where a choice such as T.if_then_else is around a load, by loads where made, too.
    """
    ways: list[list[Access[For]]] = [[], []]
    choice = False
    for unit in users:
        if buffer in (unit.reads if kind == "read" else unit.writes):
            boxes = list(of_unit(unit, buffer, kind, same))
            loads = loads_of(unit, buffer, same) if chosen else []
            always = max((len(box.guards) for box in boxes), default=0)
            choice = choice or any(len(load.guards) > always for load in loads)
            ways[0] += boxes
            ways[1] += loads or boxes
    yield from ways if choice else ways[:1]


def alongside(made: Access[For], use: Access[For], dom: Bounds) -> bool:
    """Whether the loops of both count alike, and each turn of `use` is at the cell of `made` there.

    So they may go through cells that are no box. A loop of `made` that moves no index is taken to
    be at its start: one iteration is enough. How often a loop runs whose ends vary, guards say.
    """
    same: dict[Var, Expr] = {}
    theirs, moving = [loop.loop_var for loop in use.loops], made.cell_variables()
    for loop in made.loops:
        var, ends = loop.loop_var, dom.get(loop.loop_var)
        if ends is None:
            return False
        if ends[0] == ends[1] or var not in moving:
            same[var] = const(ends[0], var.type)
        elif theirs and dom.get(theirs[0]) == (0, ends[1] - ends[0]):
            same[var] = theirs.pop(0) + ends[0]
        else:
            return False
    known = Simplifier(dom)
    simple = known.simplify
    held = {known.number(simple(one)) for guard in use.guards for one in arith.conjuncts(guard)}
    try:
        asked = [substitute(one, same) for guard in made.guards for one in arith.conjuncts(guard)]
        for index, at in zip(made.indices, use.indices, strict=True):
            asked.append(binary("==", substitute(index, same), at))
    except ZeroDivisionError:  # a loop that something is divided by is not at 0
        return False
    smaller = all(n <= m for m, n in zip(made.sizes, use.sizes, strict=True))
    return smaller and all(
        not arith.reads_memory(one) and (arith.proved(one, known) or known.number(one) in held)
        for one in map(simple, asked)
    )


# --- what conditions keep from being made ---------------------------------------------------------


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
    if any(size != 1 for size in made.sizes):
        return False
    use, within = _any_cell(use, own, dom)
    dom = {**dom, **within}
    held, known = facts(use.guards), Simplifier(dom)
    for at, size in zip(use.indices, shape, strict=False):  # a shape of () tells nothing
        held += [at, size - 1 - at]
    try:
        for condition in (one for guard in made.guards for one in positive(guard)):
            goal = fact(condition)
            told = () if goal is None else _told_by_cell(goal, made, use, own, known)
            if not any(follows(one, held, known) for one in told):
                return False
    except ZeroDivisionError:  # a variable that something is divided by is not at 0
        return False
    return True


def misses_none(
    made: Access[For],
    own: Collection[Var],
    ends: Sequence[tuple[int, int] | None],
    dom: Bounds,
) -> bool:
    """Whether no condition keeps `made` from a cell between `ends`, in each dimension.

    Ends that are not known are None; `own` is as in `runs_for`.
    """
    cell = {
        Var("cell", index.dtype): between for index, between in zip(made.indices, ends, strict=True)
    }
    bounded = {var: between for var, between in cell.items() if between is not None}
    any_cell = replace(made, indices=tuple(cell), guards=())
    return runs_for(made, any_cell, own, (), {**dom, **bounded})


def _any_cell(use: Access[For], own: Collection[Var], dom: Bounds) -> tuple[Access[For], Bounds]:
    """`use` at one cell of its box, in a turn that has nothing to do with one of `own`.

    A variable says which cell in each dimension. With the bounds of new variables.
    """
    fresh = {v: Var(v.name, v.type) for v in use.variables() if v in own}
    known = {new: dom[old] for old, new in fresh.items() if old in dom}
    indices = []
    for index, size in zip(use.indices, use.sizes, strict=True):
        within = Var("d", index.dtype)
        known[within] = 0, size - 1
        indices.append(substitute(index, fresh) + within)
    guards = tuple(substitute(guard, fresh) for guard in use.guards)
    one = replace(use, indices=tuple(indices), sizes=(1,) * len(indices), guards=guards)
    return one, known


def _told_by_cell(
    goal: Expr, made: Access[For], use: Access[For], own: Collection[Var], known: Simplifier
) -> Iterator[Expr]:
    """`goal`, a number of an iteration of `made`, as some of the cell that `use` shares with it.

    At that cell their indices are equal: what they differ in may be added in any multiple, and each
    index be solved for a variable that it has once. A variable that no index has is taken to be at
    its start: one iteration is enough. What is left of `own` may have any value: all that write the
    cell agree. As an integer, `goal` is 0 or more where ``goal * scale > -scale``.
    """
    told, dom = made.cell_variables(), known.dom
    start = {v: const(dom[v][0], v.type) for v in own if v in dom and v not in told}
    solved: dict[Var, Expr] = {}
    gaps = [at - index for index, at in zip(made.indices, use.indices, strict=True)]
    for index, gap in zip(made.indices, gaps, strict=True):
        factors = arith.linear(index, own)
        for var, factor in factors[0].items() if factors else ():
            if abs(factor) == 1:
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
        yield known.simplify(substitute(more, solved))
    for gap in (*gaps, *(0 - gap for gap in gaps)):
        for scale, times in scales(goal, gap, known):
            yield known.simplify(goal * scale + (scale - 1) - gap * times)


# --- what a block surely writes -------------------------------------------------------------------


@once
def writes_all(block: Block, buffer: Buffer) -> bool:
    """Whether each instance of `block` is proved to store every cell of `buffer` that it declares.

    A store under an `if` may leave its cell as it was.
    """
    region = next((r.region for r in block.writes if r.buffer is buffer), None)
    if region is None:
        return False
    if not all(isinstance(r.extent, Const) or arith.by_sizes(r.extent) for r in region):
        return False
    shape: tuple[Size, ...] = tuple(
        r.extent.value if isinstance(r.extent, Const) else r.extent for r in region
    )
    sizes = tuple(map(most, shape))
    sure = [unit for unit in either_way(units(block.body)) if buffer in unit.writes]
    dom: Bounds = dict(arith.loop_bounds([loop for unit in sure for loop in unit.loops]))
    stored = [one.access for unit in sure for one in surely_stored(unit, buffer, dom)]
    made = [Made(_relative(one, region, dom), dom) for one in stored]
    corner = tuple(const(0, r.min.dtype) for r in region)
    whole: Access[For] = Access(block, buffer, True, corner, sizes, (), ())
    return covers(made, [whole], shape, dom)


def _relative(access: Access[For], region: Box, dom: Bounds) -> Access[For]:
    """`access` told from the first cell of `region` on, so that what both move with is gone."""
    pairs, known = zip(access.indices, region, strict=True), Simplifier(dom)
    return replace(access, indices=tuple(known.simplify(i - r.min) for i, r in pairs))


def starts_all(block: Block, buffer: Buffer) -> bool:
    """Whether the init of `block` is proved to store to each cell of `buffer` that its body reads.

    And to read none of them itself: then nothing counts that was in `buffer` before. It runs where
    the reduce iterators are at their least.
    """
    if buffer not in buffers_read(block.body):
        return block.init is None or buffer not in buffers_read(block.init)
    if block.init is None or buffer in buffers_read(block.init):
        return False
    every = [unit for part in (block.init, block.body) for unit in units(part)]
    known = iterator_bounds(block)
    dom = {**known, **arith.loop_bounds((one for unit in every for one in unit.loops), known)}
    first: dict[Var, Expr] = {it.var: it.dom.min for it in block.iter_vars if it.kind == "reduce"}
    return made_there(substitute(block.init, first), block.body, buffer, dom)


# --- what is surely not made ---------------------------------------------------------------------


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
    loads = [one for one in user if not one.writes and one.buffer is buffer]
    loops = dict.fromkeys(loop for one in (*made, *loads) for loop in one.loops)
    varying = {loop for loop in loops if not runs_fixed(loop)}
    needed = [
        one
        for one in loads
        if varying.isdisjoint(one.loops)
        and not any(map(arith.reads_memory, (*one.indices, *one.guards)))
    ]
    first = {v: (low, min(high, low + 2)) for v, (low, high) in dom.items()}
    last = {v: (max(low, high - 2), high) for v, (low, high) in dom.items()}
    own = arith.loop_bounds(loops, dom)
    return any(
        all_made(needed, made, buffer.shape, {**few, **own}) is False for few in (first, last)
    )
