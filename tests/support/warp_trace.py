"""The requests of every warp of a kernel, one thread after the other, in plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from tests.support.kernel_machine import Kernels, Thread
from workbench.ir import (
    SHUFFLE,
    THREAD_AXES,
    Barrier,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    IfThenElse,
    Kernel,
    Ramp,
    Select,
    SeqStmt,
    Stmt,
    Var,
    dtypes,
)

WARP = 32

Request = dict[int, int]
"""The byte address of each lane that is awake."""


Place = tuple[BufferStore | None, BufferLoad | BufferStore]
"""A load or store and the statement it is in, None for a condition around statements."""

BARRIER: Any = Barrier()

Noted = tuple[Place, tuple[tuple[int, ...], int], int]
"""A load or store, or BARRIER; the turns around and the element of a vector; the byte address."""


def warp_trace(kernel: Kernel) -> dict[Place, list[Request]]:
    """All requests of each load and store of `kernel`, in which no data say what is touched."""
    found: dict[Any, dict[Any, Request]] = defaultdict(lambda: defaultdict(dict))
    for block, number, noted in thread_traces(kernel):
        warp, lane = divmod(number, WARP)
        for place, when, address in noted:
            if place is not BARRIER:
                found[place][block, warp, when][lane] = address
    return {place: list(requests.values()) for place, requests in found.items()}


def thread_traces(kernel: Kernel) -> Iterator[tuple[tuple[int, ...], int, list[Noted]]]:
    """Each block and thread by its number, with all that it does, in order."""
    run = Kernels(kernel, {})
    x, y, z = kernel.block
    for block in product(*map(range, kernel.grid)):
        for number, (tz, ty, tx) in enumerate(product(range(z), range(y), range(x))):
            values = dict(zip(THREAD_AXES, (*block, tx, ty, tz), strict=True))
            thread = _Thread(run, {var: np.int64(values[axis]) for axis, var in kernel.axes})
            thread.go(kernel.body, ())
            yield block, number, thread.noted


class _Thread(Thread):
    """A thread that notes what it touches; every value that it loads is 0."""

    def __init__(self, run: Kernels, env: dict[Var, Any]) -> None:
        super().__init__(run, (0, 0), env)
        self.noted: list[Noted] = []
        self.turns: tuple[int, ...] = ()
        self.statement: BufferStore | None = None

    def go(self, stmt: Stmt, turns: tuple[int, ...]) -> None:
        """Run `stmt` in these turns of the loops around."""
        self.turns, self.statement = turns, stmt if isinstance(stmt, BufferStore) else None
        match stmt:
            case SeqStmt():
                for part in stmt.stmts:
                    self.go(part, turns)
            case For():
                first, count = int(self.value(stmt.min)), int(self.value(stmt.extent))
                for k in range(first, first + count):
                    self.env[stmt.loop_var] = np.int64(k)
                    self.go(stmt.body, (*turns, k - first))
            case IfThenElse():
                case = stmt.then_case if self.value(stmt.condition) else stmt.else_case
                if case is not None:
                    self.go(case, turns)
            case Barrier():
                self.noted.append((BARRIER, (turns, 0), 0))
            case BufferStore():
                index = stmt.indices[0]
                for k in range(index.lanes if isinstance(index, Ramp) else 1):
                    self.value(stmt.value, k)
                self.note(stmt)

    def note(self, node: BufferLoad | BufferStore) -> None:
        """A vector of neighbours is one request, of others one for each element."""
        index, size = node.indices[0], dtypes.itemsize(node.buffer.type)
        base = index.base if isinstance(index, Ramp) else index
        apart = isinstance(index, Ramp) and index.stride != 1
        for k in range(index.lanes if apart else 1):
            cell = int(self.value(base)) + (k * index.stride if apart else 0)
            self.noted.append(((self.statement, node), (self.turns, k), cell * size))

    def value(self, e: Expr, lane: int = 0) -> Any:
        """As ever, but for what is loaded, or got from another thread."""
        if isinstance(e, BufferLoad):
            self.note(e)
            return np.dtype(e.buffer.type).type(0)
        if isinstance(e, Call) and e.op == SHUFFLE:
            self.value(e.args[0], lane)
            return np.float32(0)
        if isinstance(e, Select):
            self.value(e.condition, lane)  # first, as they stand
        return super().value(e, lane)
