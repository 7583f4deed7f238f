"""Whether iterations that run at once get in each other's way, which no order of them shows.

Terms run threads, lanes and parallel iterations one after another, whole. Here each is a *lane*,
and a cell that one lane uses and another one changes is a conflict; so is a cell of memory that
belongs to a thread or a block, read under another one. Threads that share memory wait.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from workbench.access import Data, Terms
from workbench.access.terms import Cell, Term, _Run, in_order
from workbench.ir import Buffer, BufferLoad, BufferStore, Expr, For, Node, PrimFunc, Var

# the iteration of each loop around whose iterations run at once: by thread axis, or by loop
Lane = dict[object, int]
Touch = tuple[Lane, bool, Term]  # by whom, whether it writes, and what is in the cell then


class Conflict(Exception):
    """Two lanes that one cell stands between."""


def conflict(func: PrimFunc, data: Data, numbers: frozenset[int]) -> str:
    """The first cell that two lanes of `func` fight over; "" if there is none."""
    terms = Terms()
    run = _Lanes(terms, in_order)
    for k, (buffer, cells) in enumerate(zip(func.params, data, strict=True)):
        run.memory[buffer] = {
            cell: terms.number(value) if k in numbers else terms.make("held", (k, cell), value)
            for cell, value in cells.items()
        }
    for buffer in func.root.alloc_buffers:
        run.memory[buffer] = {}
    try:
        run.statement(func.root.body, {})
    except Conflict as found:
        return str(found)
    return ""


class _Lanes(_Run):
    """A run that remembers which lane touched which cell since the outermost of their loops."""

    lane: Lane
    touched: defaultdict[tuple[Buffer, Cell], list[Touch]]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.lane = {}
        self.touched = defaultdict(list)

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
        super().store(stmt, env)
        cell = self.cell(stmt.buffer, stmt.indices, env)
        self.touch(stmt.buffer, cell, True, self.memory[stmt.buffer][cell])

    def value(self, e: Expr, env: dict[Var, Term]) -> Term:
        term = super().value(e, env)
        if isinstance(e, BufferLoad):
            self.touch(e.buffer, self.cell(e.buffer, e.indices, env), False, term)
        return term

    def touch(self, buffer: Buffer, cell: Cell, writes: bool, term: Term) -> None:
        """Note that the lane touches a cell. Raises Conflict."""
        if not self.lane:
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
                raise Conflict(f"{buffer.name}{list(cell)} by {lane} and {self.lane}")
        if lost and not mine and not writes:
            raise Conflict(f"{buffer.name}{list(cell)} is lost under {self.lane}")
        self.touched[buffer, cell].append((dict(self.lane), writes, term))

    def _waits(self, buffer: Buffer, lane: Lane) -> bool:
        """Whether the two lanes are threads of a block, which wait for what they share."""
        apart = [a for a in self.lane if lane.get(a, self.lane[a]) != self.lane[a]]
        return buffer.scope == "shared" and all(_is_thread(axis) for axis in apart)


def _is_thread(axis: object) -> bool:
    return isinstance(axis, str) and axis.startswith("thread")


def _owns(axis: object, scope: str) -> bool:
    """Whether each iteration of a loop has its own memory of `scope`."""
    if scope == "global" or not isinstance(axis, str):
        return False
    return scope != "shared" or axis.startswith("block")
