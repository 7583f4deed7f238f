"""Values as lanes see them: expressions over arrays, and where each access goes."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.diag import Refusal
from workbench.emulate import numbers, report
from workbench.emulate.expressions import Env, Expressions
from workbench.emulate.expressions import Mask as Running
from workbench.emulate.lanes import lanes_of
from workbench.emulate.launch import Launch, Mask
from workbench.emulate.maps import Map, base_of, owners_of
from workbench.emulate.memo import Memo
from workbench.emulate.numbers import Value, numpy_type
from workbench.emulate.plan import Access, Blocks, Frame
from workbench.emulate.shadow import Shadow
from workbench.emulate.storage import Storage
from workbench.emulate.watch import Watch
from workbench.ir import BinOp, Buffer, BufferStore, Expr, Ramp, Stmt, Var, dtypes

SCRATCH = 1 << 25  # bytes of results whose memory is used again
FAST = {"+": np.add, "-": np.subtract, "*": np.multiply}  # what needs no care at all


class LaneValues(Expressions):
    """Some blocks of a kernel that run together: their memory, frames and index maps."""

    def __init__(self, launch: Launch, blocks: Blocks, number: int) -> None:
        self.launch, self.plan, self.blocks, self.number = launch, launch.plan, blocks, number
        self.count = len(blocks.numbers)
        self.serial: dict[Var, Any] = {}
        self.storage = dict(launch.memory)
        for storage in self.storage.values():
            storage.start()
        for buffer in self.plan.kernel.allocs:
            owners = owners_of(buffer.scope, self.count, self.plan.threads)
            self.storage[buffer] = Storage(buffer, owners)
        self.watches = self._watches()
        self.frames: dict[Stmt, Frame] = {}
        self.maps: Memo[Map] = Memo()
        self.checked: Memo[None] = Memo()  # executions found to stay inside
        self.scratch: dict[Expr, Any] = {}
        self.scratch_size = 0
        self.frame: Frame
        self.stmt: Stmt
        self.mask: Mask | None = None
        self.running: Running = None

    def _watches(self) -> dict[Buffer, Watch]:
        watches = dict(self.launch.within)
        for buffer, crossing in self.launch.crossing.items():
            crossing.start()
            watches[buffer].start()
        for buffer in self.plan.kernel.allocs:
            if buffer.scope == "shared" and self.plan.uniform:
                watches[buffer].barrier()  # its memory is new: nobody touched it yet
            elif buffer.scope == "shared":
                cells = self.storage[buffer].cells * self.count
                owners = self.plan.threads * self.count
                watches[buffer] = Watch(Shadow(cells, owners, self.plan.accesses(buffer)))
        return watches

    def _enter(self, stmt: Stmt, mask: Mask | None) -> Frame:
        self.stmt, self.mask, self.frame = stmt, mask, self.frames[stmt]
        self.running = None if mask is None else mask.seen(self.frame)
        return self.frame

    def _next(self) -> int:
        """A number that tells what depends on data from all else."""
        return next(self.launch.fresh)

    def value(self, expr: Expr, env: Env, mask: Running) -> Value:
        """The value of `expr` over the dimensions of the statement's frame."""
        if isinstance(expr, Var):
            found = env.get(expr)
            return self.serial[expr] if found is None else found
        if isinstance(expr, BinOp) and expr.op in FAST and dtypes.is_float(expr.a.dtype):
            return self._arithmetic(expr, env, mask)
        if isinstance(expr, Ramp):
            return self._ramp(expr, env, mask)
        return super().value(expr, env, mask)

    def _arithmetic(self, expr: BinOp, env: Env, mask: Running) -> Value:
        """Float arithmetic, in memory that is kept from one execution to the next."""
        a, b = self.value(expr.a, env, mask), self.value(expr.b, env, mask)
        if expr.a.dtype == "bfloat16":
            return numbers.binary(expr.op, a, b, "bfloat16")
        kept = self.scratch.get(expr)
        if kept is not None:
            return FAST[expr.op](a, b, out=kept)
        result = FAST[expr.op](a, b)
        if np.ndim(result) and self.scratch_size + result.nbytes <= SCRATCH:
            self.scratch_size += result.nbytes
            self.scratch[expr] = result
        return result

    def _ramp(self, expr: Ramp, env: Env, mask: Running) -> Value:
        base = self.value(expr.base, env, mask)
        steps = self.frame.along(self.plan.vector, np.arange(expr.lanes) * expr.stride)
        return base + steps.astype(numpy_type(expr.dtype))

    def divided_by_zero(self, at: BinOp, bad: Any) -> Refusal:
        """The refusal of an integer division by zero in the lanes `bad`."""
        _, block, thread = report.lane_of(self.frame, bad)
        return report.divided_by_zero(self.launch.who, at, block, thread)

    def _map(self, access: Access, mask: Running) -> tuple[Map, tuple[Any, ...] | None]:
        """Where `access` goes now, and what its verdicts depend on (None: on memory)."""
        serial = tuple([int(self.serial[v]) for v in access.serial])
        if access.moves:
            return self._new_map(access, mask), None
        found = self.maps.get((self.frame, access, serial))
        if found is None:
            found = self._new_map(access, mask)
            self.maps.keep((self.frame, access, serial), found, found.nbytes)
        return found, serial

    def _new_map(self, access: Access, mask: Running) -> Map:
        base, table = base_of(access, self.frame, self.serial)
        for expr, factor in access.form.rest:
            part = np.asarray(self.value(expr, self.frame.env, mask)).astype(np.int64)
            if part.ndim == 0:
                base += factor * int(part)
            else:
                table = factor * part if table is None else table + factor * part
        if table is not None:
            table = table + base
        return Map(
            access, self.frame, self.storage[access.buffer], base if table is None else 0, table
        )

    def _key(self, access: Access, serial: tuple[Any, ...] | None, mask: Running) -> Any:
        """What tells this execution of `access` from others with other lanes or other cells."""
        if serial is None or mask is not self.running:
            return None
        return (self.stmt, access.node, serial, self.mask.key if self.mask else None)

    def _frame_for(self, store: BufferStore, access: Access) -> Frame:
        """The frame of `store`: its dimensions as far-reaching steps of the target come first."""
        width = lanes_of(store)
        frame = Frame(self.plan, self.blocks, store, width, None)
        self.frames[store] = frame
        self._enter(store, None)
        if access.moves or access.form.rest or self.blocks.origin is None:
            return frame
        at = Map(access, frame, self.storage[store.buffer], 0, None)
        reach = [abs(s) * at.storage.owners + o for s, o in zip(at.steps, at.offset, strict=True)]
        far = sorted(range(self.plan.rank), key=lambda axis: (reach[axis] > 0, -reach[axis]))
        return Frame(self.plan, self.blocks, store, width, tuple(far))
