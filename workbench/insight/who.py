"""who: which time step, block and thread computes each cell of a buffer."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import prod
from typing import Any

import numpy as np

from workbench.access.cross_thread import reduction_around
from workbench.access.units import same_cell
from workbench.arith import points, reads_memory
from workbench.check.kernels import extent_of
from workbench.emulate.kernels.affine import Digits
from workbench.insight.accesses import Access, Loop, accesses
from workbench.insight.cells import touched_by
from workbench.insight.names import point_text, region_text, time_forms, unit_forms
from workbench.insight.page import Kind, Point, Region, Table
from workbench.insight.spread import along_axes, holding, spread, value
from workbench.ir import (
    BlockRealize,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    free_vars,
)
from workbench.ir.places import inner, places

MOST_CELLS = 64  # cells that are listed one by one
MOST_GROUPS = 256
MOST_LANES = 1 << 15  # iterations looked at to label the cells of a corner


@dataclass(frozen=True, slots=True)
class Cell:
    """Who computes one cell last: `label` says it in words ("block 1, thread 1").

    `forms` are the parts of the label, each with the shorter ways to say it.
    `time` is the first and last step, counted within one thread, at which that thread writes the
    cell. `block` and `thread` are (x, y, z), None where the program binds no such axis.
    `writers` counts the threads that write the cell; of memory that each block or thread has for
    itself, those of the first one that has the cell.
    """

    index: Point
    label: str
    time: tuple[int, int]
    block: Point | None
    thread: Point | None
    writers: int
    forms: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The cells that one block, one thread or one stretch of time computes.

    `forms` are the label and the shorter ways to say it. `region` holds exactly these cells where
    `exact`, else it is the smallest box around them. `idle` counts the threads of a block that
    compute no cell.
    """

    label: str
    time: tuple[int, int]
    block: Point | None
    thread: Point | None
    region: Region
    exact: bool
    cells: int
    forms: tuple[str, ...]
    idle: int = 0


@dataclass(frozen=True, slots=True)
class Idle:
    """A thread that computes no cell; `label` and `forms` as those of a cell."""

    label: str
    block: Point | None
    thread: Point | None
    forms: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Who:
    """The who-does-what picture of one buffer.

    `labels` are those of "time", "block", "thread" that tell cells apart. `cells` holds every cell
    of a small buffer (`whole`), else those of the first corner. `groups` cover the whole buffer:
    one a block where blocks are bound, else one a thread, else one a stretch of time; `left_out`
    groups, all before the last one there is, are not listed; none is that has no cell. `zoom` are
    the threads of the first block, where both are bound; `zoom_left_out` of them are not listed.
    `idle` are the threads that compute no cell of a small buffer; `idle_left_out` of them are not
    listed, nor any of a large buffer, where none is counted in more than MOST_LANES threads.
    `in_parts` says that the threads which write a cell share its sum out.
    """

    buffer: str
    scope: str
    shape: Point
    labels: tuple[str, ...]
    whole: bool
    cells: tuple[Cell, ...]
    groups: tuple[Group, ...]
    left_out: int
    zoom: tuple[Group, ...]
    caption: str
    table: Table
    kind: Kind = "counted"
    zoom_left_out: int = 0
    idle: tuple[Idle, ...] = ()
    idle_left_out: int = 0
    in_parts: bool = False

    def sentence(self, cell: Cell) -> str:
        """One sentence on who computes `cell`."""
        return _sentence(self.buffer, cell, self.labels, self.in_parts)


def who(func: PrimFunc, buffer: str | None = None) -> Who:
    """Who computes each cell of the buffer named `buffer` (default: the last output).

    A time step is one block instance that a thread runs, counted from 0 in the order of its loops;
    what a thread binding covers takes no time of its own, virtual threads neither, which are in
    step. Raises ValueError for a name of nothing
    that the program writes.
    """
    store = _last_store(func, buffer)
    axes, parts = _Axes(func, store), _in_parts(func, store)
    known, key = spread(store).known, ("who", axes.likeness(), parts)
    if key not in known:
        known[key] = _who(store, axes, parts)
    found: Who = known[key]
    return found


def _who(store: Access, axes: _Axes, parts: bool) -> Who:
    """Who computes the cells that `store` stores; `parts`: whether threads share its sum out."""
    cells = _cells(store, axes)
    resting = _Resting(store, axes)
    groups, left_out = _groups(store, axes, resting)
    zoom, zoom_left_out = _zoom(store, axes)
    name = store.buffer.name
    shown = cells[min(5, len(cells) - 1)] if cells else None
    caption = f"Nothing of {name} is computed."
    if any(map(reads_memory, store.indices)):
        caption = f"Data decide which cells of {name} are computed."
    if shown is not None:
        caption = _sentence(name, shown, axes.labels, parts)
    whole = prod(store.buffer.shape) <= MOST_CELLS
    table = _table(name, cells, groups, whole)
    idle = resting.listed() if whole else ()
    idle_left_out = resting.count - len(idle)
    return Who(
        name,
        store.buffer.scope,
        store.buffer.shape,
        axes.labels,
        whole,
        cells,
        groups,
        left_out,
        zoom,
        caption,
        table,
        "counted",
        zoom_left_out,
        idle,
        idle_left_out,
        parts,
    )


def _last_store(func: PrimFunc, name: str | None) -> Access:
    writes = [a for a in accesses(func) if a.writes]
    if name is None:
        outputs = [a for a in writes if a.buffer in func.params]
        name = (outputs or writes)[-1].buffer.name
    stores = [a for a in writes if a.buffer.name == name]
    if not stores:
        known = ", ".join(dict.fromkeys(a.buffer.name for a in writes))
        raise ValueError(f"the program writes no buffer {name!r}; it writes: {known}")
    last = stores[-1]
    branches = [a for a in stores if a.loops == last.loops and _same_cells(a, last)]
    common = tuple(g for g in last.guards if all(g in a.guards for a in branches))
    return replace(last, guards=common)  # whichever branch stores, it is the same cell


def _same_cells(a: Access, b: Access) -> bool:
    """Whether two stores of one block surely write one cell."""
    x, y = a.node, b.node
    assert isinstance(x, BufferStore) and isinstance(y, BufferStore)
    return a.block is b.block and not a.init and same_cell(x.indices, y.indices)


class _Axes:
    """The loops around the last store to a buffer, by what they say about its cells."""

    def __init__(self, func: PrimFunc, store: Access) -> None:
        self.store = store
        used = store.variables()
        self.loops = [loop for loop in store.loops if loop.var in used]
        self.idle = [loop for loop in store.loops if loop.var not in used]
        self.blocks = [loop for loop in store.loops if loop.role == "block"]
        self.threads = [loop for loop in store.loops if loop.role == "thread"]
        units = (("block", self.blocks), ("thread", self.threads))
        self.bound = {unit: "".join(sorted(loop.name[-1] for loop in of)) for unit, of in units}
        owners = {"shared": self.blocks, "local": [*self.blocks, *self.threads]}
        self.owners = {loop.var for loop in owners.get(store.buffer.scope, [])}
        self.start, self.factors = _time(func, store)
        in_time = self.factors.keys() & store.cell_variables()
        tells = (
            ("time", bool(in_time)),
            ("block", any(loop in self.loops for loop in self.blocks)),
            ("thread", any(loop in self.loops for loop in self.threads)),
        )
        labels = tuple(name for name, does in tells if does)
        self.labels = labels or ("time",)
        self.extents = {loop.var: loop.extent for loop in store.loops}

    def likeness(self) -> Hashable:
        """All that is told here but of indices and conditions: see `spread`."""
        loops = tuple(
            (
                loop.role,
                loop.name if loop.role in ("block", "thread") else "",
                self.factors.get(loop.var),
            )
            for loop in self.store.loops
        )
        return self.store.buffer.name, self.store.buffer.scope, self.start, loops

    def time(self, low: Mapping[Var, int], high: Mapping[Var, int]) -> tuple[int, int]:
        """First and last step, with loops from `low` to `high` and the others from end to end."""
        first = last = self.start
        for var, factor in self.factors.items():
            first += factor * low.get(var, 0)
            last += factor * high.get(var, self.extents[var] - 1)
        return first, last

    def place(self, values: Mapping[Var, int], loops: list[Loop]) -> Point | None:
        """(x, y, z) of a block or thread; 0 along what is not bound; None where nothing is."""
        if not loops:
            return None
        at = {loop.name[-1]: values.get(loop.var, 0) for loop in loops}
        return at.get("x", 0), at.get("y", 0), at.get("z", 0)

    def forms(
        self, time: tuple[int, int], block: Point | None, thread: Point | None
    ) -> tuple[tuple[str, ...], ...]:
        """In words, with only what tells cells apart."""
        parts = []
        if "block" in self.labels and block is not None:
            parts.append(unit_forms("block", block, self.bound["block"]))
        if "thread" in self.labels and thread is not None:
            parts.append(unit_forms("thread", thread, self.bound["thread"]))
        if "time" in self.labels:
            parts.append(time_forms(*time))
        return tuple(parts)


def _time(func: PrimFunc, store: Access) -> tuple[int, dict[Var, int]]:
    """The step of a store within one thread, as a constant and a factor of each serial loop.

    A thread runs one statement after the other: before those in a sequence it has done all the
    earlier ones, and a turn of a loop comes after as many runs of its body.
    """
    assert isinstance(store.node, BufferStore)
    start, factors = 0, {}
    below: Stmt = store.node
    for stmt in places(func).above(below):
        if isinstance(stmt, SeqStmt):
            start += sum(_steps(s) for s in stmt.stmts[: stmt.stmts.index(below)])
        elif isinstance(stmt, For) and stmt.thread is None:
            factors[stmt.loop_var] = _steps(stmt.body)
        below = stmt
    return start, factors


def _steps(stmt: Stmt) -> int:
    """How many block instances one thread runs in `stmt`."""
    match stmt:
        case For():
            return (1 if stmt.thread else extent_of(stmt)) * _steps(stmt.body)
        case SeqStmt():
            return sum(_steps(s) for s in stmt.stmts)
        case IfThenElse():  # a thread runs one of them
            return max(_steps(case) for case in inner(stmt))
        case BlockRealize():
            return _steps(stmt.block.body)
    return 1


def _cells(store: Access, axes: _Axes) -> tuple[Cell, ...]:
    """The cells of a corner, at most MOST_CELLS, each with who writes it last."""
    if any(map(reads_memory, store.indices)):
        return ()
    shape = store.buffer.shape
    corner = _corner(shape)
    extents = _few(axes)
    order = [loop.var for loop in axes.loops]
    wide = [var for var in order if extents[var] > 1]  # an array has at most 64 axes
    full = tuple(extents[v] for v in wide)
    env: dict[Var, Any] = dict.fromkeys(axes.extents, np.int64(0))
    env |= zip(wide, along_axes(full), strict=True)
    keep = holding(_known(store), env, full)
    columns = [np.broadcast_to(np.asarray(value(i, env)), full) for i in store.indices]
    for column, size in zip(columns, corner, strict=True):
        keep = keep & (column >= 0) & (column < size)
    at = [column[keep].tolist() for column in columns]
    lanes = np.zeros((int(keep.sum()), len(order)), dtype=np.int64)
    lanes[:, [k for k, var in enumerate(order) if extents[var] > 1]] = np.argwhere(keep)
    found: dict[Point, list[list[int]]] = {}
    for k, lane in enumerate(lanes.tolist()):
        found.setdefault(tuple([column[k] for column in at]), []).append(lane)
    writers = _Writers(axes, order)
    return tuple(writers.cell(index, found[index]) for index in sorted(found))


def _known(store: Access) -> list[Expr]:
    """Its conditions, but those that data decide: these count as if they held."""
    return [guard for guard in store.guards if not reads_memory(guard)]


class _Resting:
    """The threads, in the order of their numbers, for which the store runs with no loop value."""

    def __init__(self, store: Access, axes: _Axes) -> None:
        self.axes = axes
        self.units = [*axes.blocks, *axes.threads]
        serial = [
            v for v, n in axes.extents.items() if n > 1 and v not in {u.var for u in self.units}
        ]
        guarded = {v for guard in store.guards for v in free_vars(guard)}
        within = [v for v in serial if v in guarded]  # the others run whatever their value is
        sizes = [u.extent for u in self.units] + [axes.extents[v] for v in within]
        self.lanes = np.zeros((), dtype=bool)
        if self.units and guarded and prod(sizes) <= MOST_LANES:
            env: dict[Var, Any] = dict.fromkeys(axes.extents, np.int64(0))
            env |= zip([*(u.var for u in self.units), *within], along_axes(sizes), strict=True)
            runs = holding(_known(store), env, tuple(sizes))
            self.lanes = ~runs.any(axis=tuple(range(len(self.units), len(sizes))))
        self.count = int(self.lanes.sum())

    def listed(self) -> tuple[Idle, ...]:
        """The first MOST_CELLS of them."""
        found = []
        for lane in np.argwhere(self.lanes)[:MOST_CELLS].tolist() if self.count else ():
            at = {unit.var: value for unit, value in zip(self.units, lane, strict=True)}
            block = self.axes.place(at, self.axes.blocks)
            thread = self.axes.place(at, self.axes.threads)
            forms = tuple(
                unit_forms(unit, place, self.axes.bound[unit])
                for unit, place in (("block", block), ("thread", thread))
                if place is not None
            )
            found.append(Idle(", ".join(part[0] for part in forms), block, thread, forms))
        return tuple(found)

    def within(self, values: Mapping[Var, int]) -> int:
        """How many there are in the block of these `values`."""
        if not self.count:
            return 0
        return int(
            self.lanes[tuple(values.get(unit.var, slice(None)) for unit in self.units)].sum()
        )


def _corner(shape: Point) -> Point:
    """The sizes of the part of a buffer whose cells are listed: at most MOST_CELLS of them."""
    if prod(shape) <= MOST_CELLS:
        return shape
    if len(shape) == 1:
        return (MOST_CELLS,)
    sides = [1] * len(shape)
    sides[-2:] = [min(8, shape[-2]), min(8, shape[-1])]
    return tuple(sides)


def _few(axes: _Axes) -> dict[Var, int]:
    """Extents cut down until there is little enough to look at, what reaches furthest first."""
    extents = {loop.var: loop.extent for loop in axes.loops}
    digits = Digits({}, {})
    reach: dict[Var, int] = dict.fromkeys(extents, 0)
    stride = 1
    shape = axes.store.buffer.shape
    for index, size in zip(reversed(axes.store.indices), reversed(shape), strict=True):
        for var, factor in digits.form(index).terms.items():
            if isinstance(var, Var) and var in reach:
                reach[var] += abs(factor) * stride
        stride *= size
    for var in sorted(extents, key=lambda v: -reach[v]):
        over = -(-prod(extents.values()) // MOST_LANES)
        extents[var] = max(1, extents[var] // over)
    return extents


class _Writers:
    """Who writes a cell, of lanes that each have a value for every variable in `order`."""

    def __init__(self, axes: _Axes, order: list[Var]) -> None:
        self.axes, self.order = axes, order
        places = list(enumerate(order))
        self.owned = [k for k, v in places if v in axes.owners]
        units = {loop.var for loop in (*axes.blocks, *axes.threads)}
        self.bound = [k for k, v in places if v in units]
        self.serial = [(k, axes.factors[v]) for k, v in places if v in axes.factors]
        zero = dict.fromkeys(order, 0)
        self.start = axes.time(zero, zero)
        idle = (loop for loop in axes.idle if loop.role in ("block", "thread"))
        self.idle = prod(loop.extent for loop in idle if loop.var not in axes.owners)

    def cell(self, index: Point, lanes: list[list[int]]) -> Cell:
        """`index` with who writes it last; `lanes` are all that write it."""
        axes, owner = self.axes, _at(self.owned, lanes[0])
        if self.owned:  # other owners write a copy of their own
            lanes = [lane for lane in lanes if _at(self.owned, lane) == owner]
        last = dict(zip(self.order, lanes[-1], strict=True))
        block, thread = axes.place(last, axes.blocks), axes.place(last, axes.threads)
        time = self._time(lanes)
        writers = len({_at(self.bound, lane) for lane in lanes}) * self.idle
        forms = axes.forms(time, block, thread)
        label = ", ".join([part[0] for part in forms])
        return Cell(index, label, time, block, thread, writers, forms)

    def _time(self, lanes: list[list[int]]) -> tuple[int, int]:
        """The first and the last step at which the thread of the last of `lanes` writes."""
        thread = _at(self.bound, lanes[-1])
        steps = [
            sum([lane[k] * factor for k, factor in self.serial])
            for lane in lanes
            if _at(self.bound, lane) == thread
        ]
        return self.start[0] + min(steps), self.start[1] + max(steps)


def _at(places: list[int], lane: list[int]) -> Point:
    """What stands at some places of a lane."""
    return tuple([lane[k] for k in places])


def _groups(store: Access, axes: _Axes, resting: _Resting) -> tuple[tuple[Group, ...], int]:
    by = [loop for loop in axes.blocks if loop in axes.loops]
    if not by:
        by = [loop for loop in axes.threads if loop in axes.loops]
    if not by:
        serial = [loop for loop in axes.loops if loop.var in store.cell_variables()]
        by = serial[:1] if len(serial) > 1 and serial[0].extent <= MOST_GROUPS else []
    return _listed(store, axes, by, {}, resting if by == axes.blocks else None)


def _zoom(store: Access, axes: _Axes) -> tuple[tuple[Group, ...], int]:
    by = [loop for loop in axes.threads if loop in axes.loops]
    if not by or not any(loop in axes.loops for loop in axes.blocks):
        return (), 0
    return _listed(store, axes, by, {loop.var: 0 for loop in axes.blocks})


def _listed(
    store: Access,
    axes: _Axes,
    by: list[Loop],
    fixed: dict[Var, int],
    resting: _Resting | None = None,
) -> tuple[tuple[Group, ...], int]:
    """A group for each value of the loops `by`, x fastest, while `fixed` stand still.

    Of too many, the first and the last.
    """
    by = sorted(by, key=lambda loop: loop.name[-1], reverse=True) if len(by) > 1 else by
    left_out = max(0, prod(loop.extent for loop in by) - MOST_GROUPS)
    moves = _Moves(store, by)
    groups = []
    few = {loop.var: range(min(loop.extent, MOST_GROUPS)) for loop in by}
    first = islice(points(few), MOST_GROUPS - (left_out > 0))
    last = [{loop.var: loop.extent - 1 for loop in by}] if left_out else []
    for values in chain(first, last):
        group = _group(store, axes, moves, {**fixed, **values}, by)
        if group is not None:
            idle = resting.within(values) if resting else 0
            groups.append(replace(group, idle=idle) if idle else group)
    return tuple(groups), left_out


class _Moves:
    """How the cells of a store move with the loops `by`, where they only move."""

    def __init__(self, store: Access, by: list[Loop]) -> None:
        variables = {loop.var for loop in by}
        self.rank = len(store.indices)
        self.digits = Digits({loop.var: loop.extent for loop in by}, {})
        self.digits.cut_for(store.indices)
        forms = [self.digits.form(index) for index in store.indices]
        rest = (expr for form in forms for expr, _ in form.rest)
        others = (free_vars(expr) for expr in (*store.guards, *rest))
        self.only_moves = all(variables.isdisjoint(names) for names in others)
        digits = [(loop.var, digit) for loop in by for digit in self.digits.of[loop.var]]
        self.steps = [  # (loop, stride and size of its digit, dimension, how far this moves it)
            (var, digit.stride, digit.size, dim, form.terms[digit])
            for var, digit in digits
            for dim, form in enumerate(forms)
            if digit in form.terms
        ]
        self.start: Any = None

    def offset(self, values: Mapping[Var, int]) -> Point:
        """How far the cells of `values` lie from those of all zeros."""
        result = [0] * self.rank
        for var, stride, size, dim, factor in self.steps:
            result[dim] += factor * (values[var] // stride % size)
        return tuple(result)


def _group(
    store: Access, axes: _Axes, moves: _Moves, values: dict[Var, int], by: list[Loop]
) -> Group | None:
    if moves.only_moves:
        if moves.start is None:
            zero = {**values, **{loop.var: 0 for loop in by}}
            found = touched_by(store, zero)
            moves.start = (*found.region(), found.cells)
        region, exact, cells = moves.start
        offset = moves.offset(values)
        region = tuple((s + o, n, k) for (s, n, k), o in zip(region, offset, strict=True))
    else:
        found = touched_by(store, values)
        (region, exact), cells = found.region(), found.cells
    if not cells:
        return None
    time = axes.time(values, values)
    if store.guards:
        time = _times(store, axes, values) or time
    named = any(loop in by for loop in axes.threads)
    thread = axes.place(values, axes.threads) if named else None
    own = named or any(loop in by for loop in axes.blocks)
    block = axes.place(values, axes.blocks) if own else None  # else each block computes them
    if thread is not None:
        forms = unit_forms("thread", thread, axes.bound["thread"])
    elif block is not None:
        forms = unit_forms("block", block, axes.bound["block"])
    else:
        forms = time_forms(*time)
    return Group(forms[0], time, block, thread, region, exact, cells, forms)


def _times(store: Access, axes: _Axes, values: Mapping[Var, int]) -> tuple[int, int] | None:
    """First and last step at which one of the loop `values` stores, where conditions let it.

    None where these are the first and last there are, or would be too many to look at.
    """
    asked = {var for guard in _known(store) for var in free_vars(guard)}
    free = {v: n for v, n in axes.extents.items() if v in asked and v not in values and n > 1}
    if not asked or prod(free.values()) > MOST_LANES:
        return None
    full = tuple(free.values())
    env: dict[Var, Any] = {var: np.int64(values.get(var, 0)) for var in axes.extents}
    env |= zip(free, along_axes(full), strict=True)
    keep = holding(_known(store), env, full)
    if not keep.any():
        return None
    steps = sum(factor * env[var] for var, factor in axes.factors.items())
    there = np.broadcast_to(np.asarray(steps), full)[keep]
    rest = (
        factor * (axes.extents[var] - 1)
        for var, factor in axes.factors.items()
        if var not in values and var not in free
    )
    return axes.start + int(there.min()), axes.start + int(there.max()) + sum(rest)


def _in_parts(func: PrimFunc, store: Access) -> bool:
    """Whether threads share out the sum that `store` adds to."""
    if store.block is None:
        return False
    known = places(func)
    reduction = reduction_around(known, known.realize(store.block))
    return reduction is not None and bool(reduction.threads)


def _sentence(name: str, cell: Cell, labels: tuple[str, ...], in_parts: bool) -> str:
    at = point_text(name, cell.index)
    if in_parts and cell.writers > 1:
        return f"{at} is put together from the parts of {cell.writers} threads."
    words = [part[0] for part in cell.forms]
    if "time" in labels:
        words[-1] = f"{'at' if cell.time[0] == cell.time[1] else 'in'} {words[-1]}"
    by = "by " if labels != ("time",) else ""
    sentence = f"{at} is computed {by}{', '.join(words)}"
    if cell.writers > 1:
        sentence += f", and again by {cell.writers - 1} other threads"
    return sentence + "."


def _table(name: str, cells: tuple[Cell, ...], groups: tuple[Group, ...], whole: bool) -> Table:
    if whole:
        rows = tuple((point_text(name, c.index), c.label, c.writers) for c in cells)
        return Table(("cell", "computed by", "threads that write it"), rows)
    listed = tuple((g.label, region_text(name, g.region), g.cells) for g in groups)
    if not any(g.idle for g in groups):
        return Table(("who", "cells", "how many"), listed)
    resting = tuple((*row, g.idle) for row, g in zip(listed, groups, strict=True))
    return Table(("who", "cells", "how many", "threads without a cell"), resting)
