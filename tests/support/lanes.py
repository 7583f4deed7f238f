"""What is wrong in a run although every observable cell ends with the right term.

Terms run threads, lanes and parallel iterations one after another, whole. Here each is a *lane*,
and where one lane uses a cell that another one changes, they *meet*; so it is with memory that
belongs to a thread or a block, read under another one. Threads that share memory wait. A read of a
cell that nobody wrote, or of a sum that goes on later, is a fault too, whatever becomes of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from workbench.access import Data, Terms
from workbench.access.terms import Cell, Order, Term, _Run, in_order
from workbench.check.exchange import shared_out
from workbench.check.kernels import nests
from workbench.ir import (
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    Node,
    PrimFunc,
    Stmt,
    Var,
    stores,
)

# the iteration of each loop around whose iterations run at once: by thread axis, or by loop
Lane = dict[object, int]
Touch = tuple[Lane, bool, Term]  # by whom, whether it writes, and what is in the cell then


def faults(func: PrimFunc, data: Data, numbers: frozenset[int]) -> set[str]:
    """Which of "lanes meet", "reads nothing", "reads part of a sum" happen in `func`."""
    terms = Terms()
    run = _Lanes(terms, in_order, func)
    for k, (buffer, cells) in enumerate(zip(func.params, data, strict=True)):
        run.memory[buffer] = {
            cell: terms.number(value) if k in numbers else terms.make("held", (k, cell), value)
            for cell, value in cells.items()
        }
    for buffer in func.root.alloc_buffers:
        run.memory[buffer] = {}
    run.statement(func.root.body, {})
    return run.faults


class _Lanes(_Run):
    """A run that remembers which lane touched which cell since the outermost of their loops."""

    def __init__(self, terms: Terms, order: Order, func: PrimFunc) -> None:
        super().__init__(terms, order, func)
        self.together = frozenset(_stores_together(func))
        self.faults: set[str] = set()
        self.lane: Lane = {}
        self.touched: defaultdict[tuple[Buffer, Cell], list[Touch]] = defaultdict(list)
        self.storing: tuple[Buffer, Cell] | None = None
        self.alone = True  # else threads update a sum that they share out: all of them get it
        self.seen: set[tuple[Buffer, Cell]] = set()  # read since they were written

    def statement(self, stmt: Node, env: dict[Var, Term]) -> None:
        if not isinstance(stmt, For) or stmt.kind in ("serial", "unrolled"):
            super().statement(stmt, env)
            return
        around = self.lane
        if not around:
            self.touched.clear()
        start = self.whole(stmt.min, env)
        for value in range(start, start + self.whole(stmt.extent, env)):
            self.lane = {**around, stmt.thread or stmt.loop_var: value}
            super().statement(stmt.body, {**env, stmt.loop_var: self.terms.number(value)})
        self.lane = around

    def store(self, stmt: BufferStore, env: dict[Var, Term]) -> None:
        cell = self.cell(stmt.buffer, stmt.indices, env)
        place = self.storing = (stmt.buffer, cell)
        self.alone = stmt not in self.together
        super().store(stmt, env)
        self.storing = None
        term = self.memory[stmt.buffer][cell]
        if term.kind.startswith("reduce") and place in self.seen:
            self.faults.add("reads part of a sum")
        self.seen.discard(place)
        self.touch(stmt.buffer, cell, True, term)
        self.alone = True

    def value(self, e: Expr, env: dict[Var, Term]) -> Term:
        term = super().value(e, env)
        if isinstance(e, BufferLoad):
            cell = self.cell(e.buffer, e.indices, env)
            if term.kind == "nothing":
                self.faults.add("reads nothing")
            if (e.buffer, cell) != self.storing:
                self.seen.add((e.buffer, cell))
            self.touch(e.buffer, cell, False, term)
        return term

    def touch(self, buffer: Buffer, cell: Cell, writes: bool, term: Term) -> None:
        """Note that the lane touches a cell."""
        if not self.lane or (not self.alone and writes) or (buffer, cell) == self._shared():
            return
        owned = [axis for axis in self.lane if _owns(axis, buffer.scope)]
        mine, lost = False, False
        for lane, wrote, what in self.touched[buffer, cell]:
            same = [lane.get(axis, value) == value for axis, value in self.lane.items()]
            other_owner = any(lane.get(a, self.lane[a]) != self.lane[a] for a in owned)
            if other_owner:
                lost |= wrote
            elif all(same) or self._waits(buffer, lane):
                mine |= wrote
            elif (wrote or writes) and what is not term:
                self.faults.add("lanes meet")
        if lost and not mine and not writes:
            self.faults.add("lanes meet")
        self.touched[buffer, cell].append((dict(self.lane), writes, term))

    def _shared(self) -> tuple[Buffer, Cell] | None:
        """The cell that threads update together now, if they do."""
        return None if self.alone else self.storing

    def _waits(self, buffer: Buffer, lane: Lane) -> bool:
        """Whether the two lanes are threads of a block, which wait for what they share."""
        apart = [a for a in self.lane if lane.get(a, self.lane[a]) != self.lane[a]]
        return buffer.scope == "shared" and all(_is_thread(axis) for axis in apart)


def _stores_together(func: PrimFunc) -> Iterator[Stmt]:
    """The stores of sums that threads share out."""
    for nest in nests(func):
        for found in shared_out(nest):
            yield from stores(found.block)


def _is_thread(axis: object) -> bool:
    return isinstance(axis, str) and axis.startswith("thread")


def _owns(axis: object, scope: str) -> bool:
    """Whether each iteration of a loop has its own memory of `scope`."""
    if scope == "global" or not isinstance(axis, str):
        return False
    return scope != "shared" or axis.startswith("block")
