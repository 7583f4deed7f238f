"""The lane machine: some blocks of one kernel, all their threads at once as array axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.emulate import report
from workbench.emulate.lane_memory import LaneMemory
from workbench.emulate.launch import Mask
from workbench.emulate.numbers import numpy_type
from workbench.emulate.plan import Frame
from workbench.ir import (
    Barrier,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    SeqStmt,
    Stmt,
    walk,
)


class Stopped(Exception):
    """The caller asked the run to stop."""


class Machine(LaneMemory):
    """Runs blocks of a kernel in lockstep, every statement for all its lanes at once."""

    def run(self, stmt: Stmt, mask: Mask | None = None) -> None:
        """Run `stmt` in the lanes of `mask`; None means all."""
        match stmt:
            case BufferStore():
                self.store(stmt, mask)
            case SeqStmt():
                for part in stmt.stmts:
                    self.run(part, mask)
            case For():
                self._loop(stmt, mask)
            case IfThenElse():
                self._if(stmt, mask)
            case Barrier():
                self._barrier(stmt, mask)
            case _:
                raise TypeError(f"a {type(stmt).__name__} cannot stand in a kernel")

    def _loop(self, loop: For, mask: Mask | None) -> None:
        if loop in self.plan.loops:
            self.run(loop.body, mask)
            return
        start, count = self._uniform(loop, loop.min, mask), self._uniform(loop, loop.extent, mask)
        if start is None or count is None:
            self._ragged_loop(loop, mask)
            return
        kind = numpy_type(loop.loop_var.type).type
        stop = self.launch.stop
        for k in range(start, start + count):
            if stop is not None and stop.is_set():
                raise Stopped
            self.serial[loop.loop_var] = kind(k)
            self.run(loop.body, mask)
        self.serial.pop(loop.loop_var, None)

    def _uniform(self, loop: For, bound: Expr, mask: Mask | None) -> int | None:
        """A bound that all lanes agree on; None where they do not."""
        value = np.asarray(self._look(loop, bound, mask))
        return int(value.flat[0]) if value.size == 1 or (value == value.flat[0]).all() else None

    def _ragged_loop(self, loop: For, mask: Mask | None) -> None:
        """A loop whose bounds differ between lanes: each runs while it has iterations left."""
        start = np.asarray(self._look(loop, loop.min, mask))
        end = start + np.asarray(self._look(loop, loop.extent, mask))
        kind = numpy_type(loop.loop_var.type).type
        for k in range(int(start.min()), int(end.max())):
            self.serial[loop.loop_var] = kind(k)
            narrowed = self._narrow(loop, (start <= k) & (k < end), mask, (self._next(), k))
            if narrowed is not False:
                self.run(loop.body, narrowed)  # type: ignore[arg-type]
        self.serial.pop(loop.loop_var, None)

    def _if(self, stmt: IfThenElse, mask: Mask | None) -> None:
        condition = np.asarray(self._look(stmt, stmt.condition, mask))
        key: tuple[Any, ...] = (id(stmt), tuple((id(v), int(x)) for v, x in self.serial.items()))
        if any(isinstance(n, BufferLoad) for n in walk(stmt.condition)):
            key = (id(stmt), self._next())
        yes = self._narrow(stmt, condition, mask, (*key, True))
        if yes is not False:
            self.run(stmt.then_case, yes)  # type: ignore[arg-type]
        if stmt.else_case is not None:
            no = self._narrow(stmt, np.logical_not(condition), mask, (*key, False))
            if no is not False:
                self.run(stmt.else_case, no)  # type: ignore[arg-type]

    def _narrow(
        self, stmt: Stmt, condition: Any, mask: Mask | None, key: tuple[Any, ...]
    ) -> Mask | bool | None:
        """The lanes of `mask` in which `condition` holds; `mask` itself for all, False for none."""
        if condition.all():
            return mask
        condition = condition.reshape((1,) * (self.plan.rank - condition.ndim) + condition.shape)
        if mask is not None:
            key, condition = (*mask.key, *key), np.logical_and(mask.array, condition)
        return Mask(key, condition) if condition.any() else False

    def _look(self, stmt: Stmt, expr: Expr, mask: Mask | None) -> Any:
        """The value of an expression that decides what runs, over the plan's axes."""
        if stmt not in self.frames:
            self.frames[stmt] = Frame(self.plan, self.blocks, stmt, 1, None)
        self._enter(stmt, mask)
        return self.value(expr, self.frame.env, self.running)

    def _barrier(self, barrier: Barrier, mask: Mask | None) -> None:
        if mask is None:
            for watch in self.watches.values():
                watch.barrier()
            return
        sizes = [1] * self.plan.rank
        for digit in self.plan.thread_digits:
            sizes[self.plan.at[digit]] = digit.size
        for axis, count in zip(self.plan.block_at, self.blocks.counts, strict=True):
            sizes[axis] = count
        comes = np.broadcast_to(mask.array, sizes).reshape(self.plan.threads, self.count)
        some, every = comes.any(axis=0), comes.all(axis=0)
        torn = np.flatnonzero(some & ~every)
        if len(torn):
            column = comes[:, torn[0]]
            inside, outside = int(np.argmax(column)), int(np.argmin(column))
            block = int(self.blocks.numbers[torn[0]])
            raise report.torn_barrier(self.launch.who, barrier, block, inside, outside)
        for buffer, watch in self.watches.items():
            watch.barrier_of((mask.key, "barrier"), self._passed(buffer, every))

    def _passed(self, buffer: Buffer, blocks: Any) -> Callable[[Any, Any], Any]:
        if buffer.scope == "shared":
            return lambda cells, owners: blocks[cells % self.count]
        return lambda cells, owners: (owners >= 0) & blocks[owners // self.plan.threads]
