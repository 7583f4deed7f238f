"""insert_barriers: where the threads of a block have to wait for each other.

A barrier is needed between two accesses of one cell by different threads, one of them a write,
where nothing else orders them. Which these are `access.meet` says; here is where to put barriers.
A statement is told by what it does before its first and after its last barrier: what is between
two of its own has been seen to. In a sequence, a barrier stands before the first statement whose
beginning may meet what was done since the last one: as late as can be, so that it serves the most
(the greedy choice for points that stab intervals).

A loop is a sequence with itself behind it: what is still under way at the end of a turn may meet
the beginning of the next. So its body is planned a second time, with that in front as `carried`.
It may take another round: a barrier that comes earlier than before can do the work of a later one,
which is left out then, and with it more is under way at the end of a turn. That is `carried`, too,
from then on. It ends, since `carried` only grows, and has no more than what the body does; and
when it ends, nothing that is carried meets the beginning, as the plan was made with all of it.

Where each turn waits somewhere, no thread is more than one turn ahead of another: to come to its
second barrier from there, all must have come to the first. So turns that meet are neighbours, and
what has n copies in turn (``i % n``, see `inject_software_pipeline`) needs no barrier for the sake
of other turns.

An asynchronous copy begins where it stands, and may write until its thread has waited for it: it
counts as a write at both. No more is asked of the wait than what comes after it, for what is in
flight nobody else touches (see `access/async_copies.py`); and that any copy of the kernel, of any
turn, may arrive at any wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench.access.accesses import Access, Around, accesses, in_later_turn
from workbench.access.units import buffers_written
from workbench.arith import bounds
from workbench.diag import Refusal
from workbench.ir import (
    Barrier,
    BufferLoad,
    Expr,
    For,
    IfThenElse,
    Kernel,
    Node,
    Not,
    SeqStmt,
    Stmt,
    WaitGroup,
    copy_fresh,
    free_vars,
    seq,
    stmts_of,
    stores,
    walk,
)
from workbench.lower.conflicts import Conflicts
from workbench.target import Target


def insert_barriers(kernel: Kernel, target: Target) -> Kernel:
    """Let threads wait for each other where two of them could race for a cell, and only there."""
    planner = _Planner(kernel)
    body = planner.plan(kernel.body, Around()).stmt if planner.watched else kernel.body
    return kernel if body is kernel.body else replace(kernel, body=body)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A statement with barriers, and what it does before its first and after its last one.

    `waits` says that every run of it comes to a barrier; else `first` and `last` hold what it does
    if it comes to none, too.
    """

    stmt: Stmt
    first: tuple[Access[For], ...]
    last: tuple[Access[For], ...]
    waits: bool = False


class _Planner:
    def __init__(self, kernel: Kernel) -> None:
        self.conflicts = Conflicts(kernel)
        self.threads = {var for axis, var in kernel.axes if axis.startswith("threadIdx")}
        self.views = dict(kernel.views)
        self.written = buffers_written(kernel.body)
        met = self.written if self.conflicts.threads else ()
        self.watched = {b for b in met if b.scope != "local"}  # through these threads can meet
        self.arrivals = self._arrivals(kernel)
        self._planned: dict[tuple[Node, ...], _Planned] = {}

    def _arrivals(self, kernel: Kernel) -> tuple[Access[For], ...]:
        """What asynchronous copies read and write, told in turns of their own."""
        copies = [store for store in stores(kernel.body) if store.is_async]
        if not copies:
            return ()
        other, _ = copy_fresh(kernel.body)
        self.conflicts = Conflicts(replace(kernel, body=seq(kernel.body, other)))
        return tuple(a for a in self._accesses(other, Around()) if a.store and a.store.is_async)

    def plan(self, stmt: Stmt, around: Around) -> _Planned:
        """`stmt` with the barriers that it needs within.

        Worked out once: the body of a loop is planned twice, and so it would be at each depth.
        """
        key = stmt, *around.loops, *around.guards
        if key not in self._planned:
            self._planned[key] = self._plan(stmt, around)
        return self._planned[key]

    def _plan(self, stmt: Stmt, around: Around) -> _Planned:
        match stmt:
            case SeqStmt(stmts):
                planned = self._sequence(stmts, around)
                same = isinstance(planned.stmt, SeqStmt) and planned.stmt.stmts == stmts
                return replace(planned, stmt=stmt) if same else planned
            case For():
                return self._loop(stmt, around)
            case IfThenElse():
                return self._choice(stmt, around)
            case WaitGroup():
                return _Planned(stmt, (), self.arrivals)
        found = self._accesses(stmt, around)
        return _Planned(stmt, found, found)

    def _accesses(self, node: Stmt | Expr, around: Around) -> tuple[Access[For], ...]:
        return tuple(a for a in accesses(node, around) if a.buffer in self.watched)

    def _sequence(
        self,
        stmts: Sequence[Stmt],
        around: Around,
        carried: tuple[Access[For], ...] = (),
        waits: bool = False,
    ) -> _Planned:
        """`stmts` one after the other, after what is `carried` from other turns, as `_carries`."""
        done: list[Stmt] = []
        first: tuple[Access[For], ...] = ()
        last: tuple[Access[For], ...] = ()
        waited = False
        for stmt in stmts:
            planned = self.plan(stmt, around)
            if self.conflicts.any(last, planned.first, len(around.loops)) or (
                carried and self._carries(carried, planned.first, around, waits)
            ):
                done.append(Barrier())
                last, carried, waited = (), (), True
            done.append(planned.stmt)
            first = first if waited else first + planned.first
            if planned.waits:
                last, carried, waited = (), (), True
            last += planned.last
        return _Planned(seq(*done), first, last, waited)

    def _loop(self, loop: For, around: Around) -> _Planned:
        inside = around.inside(loop)
        body = self.plan(loop.body, inside)
        stmts = stmts_of(loop.body)
        extent = bounds(loop.extent, self.conflicts.known)
        carried = () if extent is not None and extent[1] <= 1 else body.last  # no other turn
        while self._carries(carried, body.first, inside, body.waits):
            body = self._sequence(stmts, inside, carried, body.waits)
            known = {*map(self._place, carried)}
            more = [a for a in body.last if self._place(a) not in known]
            if not more:
                break
            carried += tuple(more)  # a barrier that came earlier made another one unnecessary
        if body.stmt is not loop.body:
            self._needs_whole_block(loop.extent, body)
            self._needs_whole_block(loop.min, body)
        ends = self._accesses(loop.min, around) + self._accesses(loop.extent, around)
        waits = body.waits and extent is not None and extent[0] > 0
        stmt = loop if body.stmt is loop.body else replace(loop, body=body.stmt)
        return _Planned(stmt, ends + body.first, ends + body.last, waits)

    def _place(self, access: Access[For]) -> object:
        """What tells accesses apart: programs share nodes, so that one may stand at two places."""
        number = self.conflicts.simplifier.number
        return id(access.node), access.loops, tuple(map(number, access.guards))

    def _carries(
        self,
        carried: Sequence[Access[For]],
        first: Sequence[Access[For]],
        around: Around,
        waits: bool,
    ) -> bool:
        """Whether what is under way at the end of a turn may meet what is `first` in another one.

        In the next one where each turn `waits`: no thread is further ahead.
        """
        loop, count = around.loops[-1], len(around.loops)
        if not waits:
            return self.conflicts.any(carried, first, count - 1, loop.loop_var)
        return self.conflicts.any(carried, [in_later_turn(loop, access) for access in first], count)

    def _choice(self, choice: IfThenElse, around: Around) -> _Planned:
        then = self.plan(choice.then_case, around.where(choice.condition))
        cases = [then]
        if choice.else_case is not None:
            cases.append(self.plan(choice.else_case, around.where(Not(choice.condition))))
        test = self._accesses(choice.condition, around)
        first = test + tuple(a for case in cases for a in case.first)
        last = test + tuple(a for case in cases for a in case.last)
        otherwise = cases[1].stmt if len(cases) == 2 else None
        if then.stmt is choice.then_case and otherwise is choice.else_case:
            return _Planned(choice, first, last)
        self._needs_whole_block(choice.condition, *cases)
        stmt = IfThenElse(choice.condition, then.stmt, otherwise)
        return _Planned(stmt, first, last, len(cases) == 2 and all(c.waits for c in cases))

    def _needs_whole_block(self, control: Expr, *inside: _Planned) -> None:
        """Refuse barriers inside of what `control` lets only some threads of the block run."""
        loaded = {node.buffer for node in walk(control) if isinstance(node, BufferLoad)}
        if loaded.isdisjoint(self.written) and self.threads.isdisjoint(free_vars(control)):
            return
        met = [a.buffer for planned in inside for a in (*planned.first, *planned.last)]
        arrays = list(dict.fromkeys(self.views[buffer] for buffer in met))
        raise Refusal(
            f"Can't run this on a GPU: threads would wait at {arrays[0].name} for others that "
            "never come",
            *arrays,
            hint="make the condition around it the same for the whole block, or take the condition "
            "only around the store",
            detail="In it, threads read what other threads wrote, so that all of a block have to "
            "meet at a barrier; but the condition lets only some of them get there.",
        )
