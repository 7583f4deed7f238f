"""The lane machine: some blocks of one kernel, all their threads at once as array axes.

Every statement runs for all its lanes before the next one does: that is one of the interleavings
that a GPU may take, and the one in which threads wait for each other most. Where lanes part ways,
both sides run one after the other, each in the lanes that go there, as a mask: on a GPU too nothing
orders the two sides. A loop runs for as many turns as its longest lane needs, and lanes that are
through are masked out. A barrier is passed by all lanes of a block or refused, so no lane can be
ahead of it. What lockstep makes look right and another interleaving would not is left to `races`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.emulate.kernels import report
from workbench.emulate.kernels.lanes import Lanes
from workbench.emulate.kernels.launch import Launch
from workbench.emulate.kernels.plan import Chunk, Mask
from workbench.emulate.numbers import numpy_type
from workbench.ir import (
    Barrier,
    BufferLoad,
    BufferStore,
    CommitGroup,
    For,
    IfThenElse,
    SeqStmt,
    Stmt,
    WaitGroup,
    is_warp_call,
    walk,
)


class Stopped(Exception):
    """The caller asked the run to stop."""


class Machine:
    """Runs the chunk of blocks that comes as `number` in a launch, in lockstep."""

    def __init__(
        self, launch: Launch, chunk: Chunk, number: int, lanes: type[Lanes] = Lanes
    ) -> None:
        self.launch, self.plan = launch, launch.plan
        self.lanes = lanes(launch, chunk, number)

    def run(self, stmt: Stmt, mask: Mask | None = None) -> None:
        """Run `stmt` in the lanes of `mask`; None means all."""
        match stmt:
            case BufferStore():
                self.lanes.store(stmt, mask)
            case SeqStmt():
                for part in stmt.stmts:
                    self.run(part, mask)
            case For():
                self._loop(stmt, mask)
            case IfThenElse():
                self._if(stmt, mask)
            case Barrier():
                self.lanes.races.pass_barrier(stmt, mask)
            case CommitGroup():
                self.lanes.under_way.commit(mask)
            case WaitGroup():
                self.lanes.wait(stmt, mask)
            case _:
                raise TypeError(f"a {type(stmt).__name__} cannot stand in a kernel")

    def _loop(self, loop: For, mask: Mask | None) -> None:
        if is_warp_call(loop) and mask is not None:
            mask = self._of_warps(loop, mask)
        if loop in self.plan.loops:
            self.run(loop.body, mask)
            return
        start = self.lanes.look(loop, loop.min, mask)
        count = self.lanes.look(loop, loop.extent, mask)
        kind = numpy_type(loop.loop_var.type).type
        uniform = _is_uniform(start) and _is_uniform(count)
        if uniform:
            start, count = int(start.flat[0]), int(count.flat[0])
        end = start + count
        for k in range(int(np.min(start)), int(np.max(end))):
            if self.launch.stop is not None and self.launch.stop.is_set():
                raise Stopped
            self.lanes.serial[loop.loop_var] = kind(k)
            if uniform:
                self.run(loop.body, mask)
            else:
                runs = (start <= k) & (k < end)
                self._run_where(loop.body, runs, mask, (self.launch.next_number(), k))
        self.lanes.serial.pop(loop.loop_var, None)

    def _of_warps(self, loop: For, mask: Mask) -> Mask:
        """The warps that make a call, where the threads of `mask` come to it.

        Raises Refusal where only a part of a warp comes: on a GPU nobody knows what it gets.
        """
        first: list[slice] = [slice(None)] * self.plan.rank
        for digit in self.plan.along_x:
            first[self.plan.at[digit]] = slice(0, 1)
        warps = mask.array[tuple(first)]
        if (mask.array != warps).any():
            raise report.warp_apart(loop)
        return Mask((*mask.key, "warps"), warps)

    def _if(self, stmt: IfThenElse, mask: Mask | None) -> None:
        condition = self.lanes.look(stmt, stmt.condition, mask)
        turns = tuple((id(v), int(x)) for v, x in self.lanes.serial.items())
        key: tuple[Any, ...] = (id(stmt), turns)
        if any(isinstance(n, BufferLoad) for n in walk(stmt.condition)):
            key = (id(stmt), self.launch.next_number())
        self._run_where(stmt.then_case, condition, mask, (*key, True))
        if stmt.else_case is not None:
            self._run_where(stmt.else_case, np.logical_not(condition), mask, (*key, False))

    def _run_where(
        self, stmt: Stmt, condition: Any, mask: Mask | None, key: tuple[Any, ...]
    ) -> None:
        """Run `stmt` in the lanes of `mask` in which `condition`, which `key` names, holds."""
        if condition.all():
            self.run(stmt, mask)
            return
        condition = condition.reshape((1,) * (self.plan.rank - condition.ndim) + condition.shape)
        if mask is not None:
            key, condition = (*mask.key, *key), np.logical_and(mask.array, condition)
        if condition.any():
            self.run(stmt, Mask(key, condition))


def _is_uniform(value: Any) -> bool:
    """Whether all lanes agree on a value."""
    return value.size == 1 or bool((value == value.flat[0]).all())
