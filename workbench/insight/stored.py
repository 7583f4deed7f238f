"""stored: the stores that the cells of a buffer are from, and the loops around each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

from workbench.access.units import same_cell
from workbench.arith import reads_memory
from workbench.check.kernels import extent_of
from workbench.insight.accesses import Access, Loop, accesses, by_warps, together
from workbench.insight.cells import touched_by, union
from workbench.insight.names import time_forms, unit_forms
from workbench.insight.page import Point
from workbench.ir import (
    BlockRealize,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    Node,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
)
from workbench.ir.places import inner, places

MOST_LANES = 1 << 15  # iterations that are looked at one by one

Place: TypeAlias = tuple[Point | None, Point | None]
"""A block and a thread."""


def stored(func: PrimFunc, name: str | None) -> tuple[Stored, ...]:
    """The stores in order that cells of the buffer `name` (default: the last output) are from.

    Each stores cells that no later one does. Raises ValueError for a name of nothing that the
    program writes.
    """
    writes = [a for a in accesses(func) if a.writes]
    if name is None:
        outputs = [a for a in writes if a.buffer in func.params]
        name = (outputs or writes)[-1].buffer.name
    left = [a for a in writes if a.buffer.name == name]
    if not left:
        known = ", ".join(dict.fromkeys(a.buffer.name for a in writes))
        raise ValueError(f"the program writes no buffer {name!r}; it writes: {known}")
    found: list[Access] = []
    while left:
        last = left[-1]
        branches = [a for a in left if a.loops == last.loops and _same_cells(a, last)]
        common = tuple(g for g in last.guards if all(g in a.guards for a in branches))
        store = replace(last, guards=common)  # whichever branch stores, it is the same cell
        left = [a for a in left if a is not last and a not in branches]
        if not found or _has_others(store, found):
            found.append(store)
    return tuple(Stored(func, store) for store in reversed(found))


def _same_cells(a: Access, b: Access) -> bool:
    """Whether two stores of one block surely write one cell."""
    x, y = a.node, b.node
    assert isinstance(x, BufferStore) and isinstance(y, BufferStore)
    return a.block is b.block and not a.init and same_cell(x.indices, y.indices)


def _has_others(store: Access, later: Sequence[Access]) -> bool:
    """Whether it stores cells that none of the `later` ones does, as far as loops tell."""
    if any(reads_memory(index) for one in (store, *later) for index in one.indices):
        return False
    known = [touched_by(one, {}) for one in later]
    return union([*known, touched_by(store, {})])[2] > union(known)[2]


class Stored:
    """A store to a buffer, and the loops around it by what they say about its cells."""

    def __init__(self, func: PrimFunc, store: Access) -> None:
        of_warp = together(func, store)
        self.together = of_warp is not None  # the threads of a warp do it in one call
        self.store = store = of_warp or store
        used = store.variables()
        self.loops = [loop for loop in store.loops if loop.var in used]
        self.idle = [loop for loop in store.loops if loop.var not in used]
        self.blocks = [loop for loop in store.loops if loop.role == "block"]
        self.threads = [loop for loop in store.loops if loop.role == "thread"]
        apart = [loop for loop in self.threads if loop.name != "threadIdx.x"]
        self.doers = apart if self.together else self.threads  # the loops over who does it
        units = (("block", self.blocks), ("thread", self.threads))
        self.bound = {unit: "".join(sorted(loop.name[-1] for loop in of)) for unit, of in units}
        owners = {"shared": self.blocks, "local": [*self.blocks, *self.doers]}
        self.owners = {loop.var for loop in owners.get(store.buffer.scope, [])}
        self.units = [*self.blocks, *self.threads]
        self.start, self.factors = _time(func, store)
        in_time = self.factors.keys() & store.cell_variables()
        tells = (
            ("time", bool(in_time)),
            ("block", any(loop in self.loops for loop in self.blocks)),
            ("thread", self.together or any(loop in self.loops for loop in self.threads)),
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
        of = self.store.buffer
        return of.name, of.scope, self.start, self.together, loops

    def time(self, low: Mapping[Var, int], high: Mapping[Var, int]) -> tuple[int, int]:
        """First and last step, with loops from `low` to `high` and the others from end to end."""
        first = last = self.start
        for var, factor in self.factors.items():
            first += factor * low.get(var, 0)
            last += factor * high.get(var, self.extents[var] - 1)
        return first, last

    def place(self, values: Mapping[Var, int]) -> Place:
        """Its block and thread as (x, y, z), 0 along what is not bound; None where nothing is."""
        return _point(values, self.blocks), _point(values, self.threads)

    def forms(
        self, labels: Sequence[str], time: tuple[int, int], place: Place
    ) -> tuple[tuple[str, ...], ...]:
        """In words, with only what the `labels` have; "" of a unit that it is in none of."""
        parts = [
            self.unit_forms(unit, point) if point is not None else ("",)
            for unit, point in zip(("block", "thread"), place, strict=True)
            if unit in labels
        ]
        return (*parts, time_forms(*time)) if "time" in labels else tuple(parts)

    def unit_forms(self, unit: str, point: Point) -> tuple[str, ...]:
        """A block, or the thread or warp that does it, in words and shorter."""
        if unit == "thread" and self.together:
            return unit_forms("warp", point, self.bound[unit].replace("x", ""))
        return unit_forms(unit, point, self.bound[unit])

    @cached_property
    def held(self) -> list[Expr]:
        """Its conditions, but those that data decide: these count as if they held."""
        return [guard for guard in self.store.guards if not reads_memory(guard)]


def _point(values: Mapping[Var, int], loops: Sequence[Loop]) -> Point | None:
    if not loops:
        return None
    at = {loop.name[-1]: values.get(loop.var, 0) for loop in loops}
    return at.get("x", 0), at.get("y", 0), at.get("z", 0)


def _time(func: PrimFunc, store: Access) -> tuple[int, dict[Var, int]]:
    """The step of a store within one thread, as a constant and a factor of each serial loop.

    A thread runs one statement after the other: before those in a sequence it has done all the
    earlier ones, and a turn of a loop comes after as many runs of its body. What a call of a warp
    does is one step.
    """
    assert isinstance(store.node, BufferStore)
    start, factors, calls = 0, {}, by_warps(func)
    below: Stmt = store.node
    for stmt in places(func).above(below):
        if isinstance(stmt, SeqStmt):
            start += sum(_steps(s, calls) for s in stmt.stmts[: stmt.stmts.index(below)])
        elif isinstance(stmt, For) and stmt.thread is None:
            factors[stmt.loop_var] = _steps(stmt.body, calls)
        elif isinstance(stmt, BlockRealize) and stmt.block in calls:
            start, factors = 0, {}
        below = stmt
    return start, factors


def _steps(stmt: Stmt, calls: Set[Node]) -> int:
    """How many block instances one thread runs in `stmt`; those in `calls` of a warp are one."""
    match stmt:
        case For():
            return (1 if stmt.thread else extent_of(stmt)) * _steps(stmt.body, calls)
        case SeqStmt():
            return sum(_steps(s, calls) for s in stmt.stmts)
        case IfThenElse():  # a thread runs one of them
            return max(_steps(case, calls) for case in inner(stmt))
        case BlockRealize():
            return 1 if stmt.block in calls else _steps(stmt.block.body, calls)
    return 1
