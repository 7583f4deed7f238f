"""Cells one by one: whether what is read was written, where boxes alone do not tell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from math import prod
from weakref import WeakKeyDictionary

from workbench import arith
from workbench.access.facts import conjuncts, fact, facts, follows, skips
from workbench.access.units import Bounds, Box, Unit, inside, same_cell, touched, units
from workbench.arith.evaluate import Env, compiled
from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    Expr,
    For,
    IfThenElse,
    Stmt,
    Var,
    binary,
    const,
    free_vars,
    substitute,
    walk,
)
from workbench.ir.places import inner

POINTS = 20_000  # cells of both sides that are looked at: some tens of milliseconds


@dataclass(frozen=True, slots=True)
class Access:
    """The boxes of a buffer that something touches: from `corner` on, while `predicate` holds.

    `own` are the variables that run; any others stand still.
    """

    corner: Sequence[Expr]
    sizes: Sequence[int]
    predicate: Expr
    own: Collection[Var]

    @property
    def variables(self) -> set[Var]:
        """The variables that say which cells they are."""
        return {v for e in (*self.corner, self.predicate) for v in free_vars(e)}


def made_there(
    maker: Stmt,
    user: Stmt,
    buffer: Buffer,
    dom: Bounds,
    same: dict[Var, Expr] | None = None,
    kind: str = "read",
) -> bool:
    """Whether `maker` is proved to write every cell of `buffer` that `user` reads, or writes.

    Both for fixed values of the variables around; `same` maps some of the user's to the maker's.
    """
    made, needed = touched(maker, buffer, "write"), touched(user, buffer, kind)
    if made is None or needed is None:
        return False
    if same:
        needed = tuple(substitute(r, same) for r in needed)
    boxes = inside(needed, made, buffer.shape, dom)
    writes = list(_accesses(maker, buffer, "write", {}))
    if boxes and all(write.predicate is TRUE for write in writes):
        return True
    uses = list(_accesses(user, buffer, kind, same or {}))
    found = all_made(uses, writes, buffer.shape, dom)
    if found is None and boxes:
        return all(runs_for(w, use, buffer.shape, dom) for w in writes for use in uses)
    return found is True


def runs_for(made: Access, use: Access, shape: tuple[int, ...], dom: Bounds) -> bool:
    """Whether no condition keeps `made` from any cell of `use` in `shape` that it would write."""
    if not {*made.sizes, *use.sizes} <= {1}:
        return False
    known = facts([use.predicate])
    known += [size - 1 - at for at, size in zip(use.corner, shape, strict=True)]
    for condition in conjuncts(made.predicate):
        goal = fact(condition)
        told = () if goal is None else _told_by_cell(goal, made, use, dom)
        if not any(follows(one, known, dom) for one in told):
            return False
    return True


def _told_by_cell(goal: Expr, made: Access, use: Access, dom: Bounds) -> Iterator[Expr]:
    """`goal`, a number of an iteration of `made`, as one of the cell that `use` shares with it.

    At that cell their indices are equal: what they differ in may be added in any multiple, and each
    index be solved for a variable that it has once. A variable that no index has is taken to be at
    its start: one iteration is enough. Where no own variable of `made` is left, all that write the
    cell agree.
    """
    told = {var for index in made.corner for var in free_vars(index)}
    solved: dict[Var, Expr] = {
        var: const(dom[var][0], var.type) for var in made.own if var in dom and var not in told
    }
    for index, at in zip(made.corner, use.corner, strict=True):
        factors = arith.linear(index, made.own)
        for var, factor in factors[0].items() if factors else ():
            if abs(factor) == 1 and var not in solved:
                solved[var] = var + (at - index) * factor
                break
    sizes = {
        int(node.b.value)
        for index in made.corner
        for node in walk(index)
        if isinstance(node, BinOp) and node.op in ("//", "%") and isinstance(node.b, Const)
    }
    for multiples in product((0, 1, *sizes), repeat=len(made.corner)):
        more = goal
        for multiple, index, at in zip(multiples, made.corner, use.corner, strict=True):
            more = more + (index - at) * multiple
        more = arith.simplify(substitute(more, solved), dom)
        if set(made.own).isdisjoint(free_vars(more)):
            yield more


def _accesses(stmt: Stmt, buffer: Buffer, kind: str, same: dict[Var, Expr]) -> Iterator[Access]:
    """What the units of `stmt` touch of `buffer`; a size that varies is the whole dimension."""
    for unit in units(stmt):
        if buffer in (unit.reads if kind == "read" else unit.writes):
            yield from of_unit(unit, buffer, kind, same)


def of_unit(unit: Unit, buffer: Buffer, kind: str, same: dict[Var, Expr]) -> Iterator[Access]:
    predicate = all_of(unit.holds)
    own = [loop.loop_var for loop in unit.loops]
    for cell, sizes in unit.cells(buffer, kind):
        corner = [
            substitute(e, same) if size > 0 else const(0, e.dtype)
            for e, size in zip(cell, sizes, strict=True)
        ]
        whole = [size if size > 0 else most for size, most in zip(sizes, buffer.shape, strict=True)]
        yield Access(corner, whole, substitute(predicate, same), own)


def touching(indices: Sequence[Expr], conditions: Sequence[Expr], own: Collection[Var]) -> Access:
    """One cell at `indices`, touched where `conditions` hold."""
    return Access(indices, [1] * len(indices), all_of(conditions), own)


def all_of(conditions: Sequence[Expr]) -> Expr:
    return reduce(lambda a, b: binary("and", a, b), conditions) if conditions else TRUE


def at_most(unit: Unit, buffer: Buffer, kind: str) -> list[Access]:
    """What `unit` touches, and maybe more: data that keeps it from running are not known."""
    known = [c for c in unit.holds if not any(isinstance(n, BufferLoad) for n in walk(c))]
    return [replace(side, predicate=all_of(known)) for side in of_unit(unit, buffer, kind, {})]


def all_made(
    needed: Sequence[Access], made: Sequence[Access], shape: tuple[int, ...], dom: Bounds
) -> bool | None:
    """Whether each cell of `needed` that is in `shape` is one of `made`, all of them looked at.

    None where there are too many, or where a cell is told by what is in memory.
    """
    sides = [*needed, *made]
    around = {v for side in sides for v in side.variables if v not in side.own}
    try:
        turns = _points(around, dom)
        cells = sum(_points(_inner(side), dom) * prod(side.sizes) for side in sides)
        if turns * cells > POINTS:
            return None
        readers, writers = [_cells(n, dom) for n in needed], [_cells(m, dom) for m in made]
    except (KeyError, ValueError):  # a variable without bounds; a load in an index
        return None
    for env in _turns(around, dom):
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
    too many cells, or where one is told by what is in memory.
    """
    sides = [at_most(unit, buffer, kind) for unit, kind in (first, second)]
    every = [*sides[0], *sides[1]]
    around = {v for side in every for v in side.variables if v not in side.own} - {var}
    try:
        cells = sum(_points({*_inner(side), var}, dom) * prod(side.sizes) for side in every)
        if _points(around, dom) * cells > POINTS:
            return None
        before, after = [[_cells(side, dom) for side in one] for one in sides]
    except (KeyError, ValueError):  # as in all_made
        return None
    found: set[int] = set()
    for env in _turns(around, dom):
        when: dict[tuple[int, ...], set[int]] = {}
        for turn in _turns([var], dom):
            for cell in (cell for one in before for cell in one({**env, **turn})):
                when.setdefault(cell, set()).add(turn[var])
        for turn in _turns([var], dom):
            for cell in (cell for one in after for cell in one({**env, **turn})):
                found |= {other - turn[var] for other in when.get(cell, ())}
    return found


def disjoint(one: Access, other: Access, dom: Bounds) -> bool:
    """Whether no cell is proved to be in boxes of both, whatever the own variables of each are."""
    fresh = {var: Var(var.name, var.type) for var in other.own}
    dom = {**dom, **{new: dom[var] for var, new in fresh.items() if var in dom}}
    corner = [substitute(index, dict(fresh)) for index in other.corner]
    known = facts([one.predicate, substitute(other.predicate, dict(fresh))])
    return any(
        follows(b - a - m, known, dom) or follows(a - b - n, known, dom) or skips(a - b, m, n, dom)
        for a, m, b, n in zip(one.corner, one.sizes, corner, other.sizes, strict=True)
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


def _inner(side: Access) -> set[Var]:
    return {v for v in side.variables if v in side.own}


def _points(variables: Collection[Var], dom: Bounds) -> int:
    return prod(dom[v][1] - dom[v][0] + 1 for v in variables)


def _turns(variables: Collection[Var], dom: Bounds) -> Iterator[dict[Var, int]]:
    names = list(variables)
    for point in product(*(range(dom[v][0], dom[v][1] + 1) for v in names)):
        yield dict(zip(names, point, strict=True))


def _cells(side: Access, dom: Bounds) -> Callable[[Env], Iterator[tuple[int, ...]]]:
    """The cells of `side` for given values of the variables around."""
    holds = compiled(side.predicate)
    indices = [compiled(e) for e in side.corner]
    inner = _inner(side)

    def cells(around: Env) -> Iterator[tuple[int, ...]]:
        for own in _turns(inner, dom):
            env = {**around, **own}
            if holds(env):
                corner = [index(env) for index in indices]
                yield from product(
                    *(range(c, c + n) for c, n in zip(corner, side.sizes, strict=True))
                )

    return cells


# --- what a block surely writes -------------------------------------------------------------------

_sure: WeakKeyDictionary[Block, dict[Buffer, bool]] = WeakKeyDictionary()


def writes_all(block: Block, buffer: Buffer) -> bool:
    """Whether each instance of `block` is proved to store every cell of `buffer` that it declares.

    A store under an `if` may leave its cell as it was.
    """
    known = _sure.setdefault(block, {})
    if buffer not in known:
        known[buffer] = _writes_all(block, buffer)
    return known[buffer]


def _writes_all(block: Block, buffer: Buffer) -> bool:
    region = next((r.region for r in block.writes if r.buffer is buffer), None)
    if region is None or not all(isinstance(r.extent, Const) for r in region):
        return False
    sizes = [int(r.extent.value) for r in region if isinstance(r.extent, Const)]
    made: list[Access] = []
    dom: Bounds = {}
    for unit in sure_units(block.body):
        if buffer not in unit.writes or (unit.block and not writes_all(unit.block, buffer)):
            continue
        dom |= arith.loop_bounds(unit.loops)
        made += [_relative(one, region, dom) for one in of_unit(unit, buffer, "write", {})]
    whole = Access([const(0, r.min.dtype) for r in region], sizes, TRUE, ())
    return all_made([whole], made, tuple(sizes), dom) is True


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


def _relative(access: Access, region: Box, dom: Bounds) -> Access:
    """`access` told from the first cell of `region` on, so that what both move with is gone."""
    pairs = zip(access.corner, region, strict=True)
    corner = [arith.simplify(index - r.min, dom) for index, r in pairs]
    return Access(corner, access.sizes, access.predicate, access.own)
