"""Memory as lanes see it: every access checked, judged for races, and made."""

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
from workbench.emulate.numbers import Value, numpy_type
from workbench.emulate.plan import Access, Blocks, Frame
from workbench.emulate.storage import Storage
from workbench.emulate.watch import Overlap, Race, Watch
from workbench.ir import (
    BinOp,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    Ramp,
    Stmt,
    Var,
    dtypes,
)

_FAST = {"+": np.add, "-": np.subtract, "*": np.multiply}


class LaneMemory(Expressions):
    """The memory of `blocks` of a kernel while they run together."""

    def __init__(self, launch: Launch, blocks: Blocks, number: int) -> None:
        self.launch, self.plan, self.blocks, self.number = launch, launch.plan, blocks, number
        self.count = len(blocks.numbers)
        self.serial: dict[Var, Any] = {}
        self.storage = dict(launch.memory)
        for buffer in self.plan.kernel.allocs:
            owners = owners_of(buffer.scope, self.count, self.plan.threads)
            self.storage[buffer] = Storage(buffer, owners)
        self.watches = self._watches()
        self.frames: dict[Stmt, Frame] = {}
        self.maps: dict[tuple[Frame, Any], dict[tuple[Any, ...], Map]] = {}
        self.scratch: dict[Expr, Any] = {}
        self.frame: Frame
        self.stmt: Stmt
        self.mask: Mask | None = None
        self.running: Running = None

    def _watches(self) -> dict[Buffer, Watch]:
        watches = dict(self.launch.shared)
        for watch in watches.values():  # these blocks' shared memory is new: nobody touched it yet
            watch.barrier()
        if not self.plan.uniform:
            watches = {b: Watch(self.storage[b].cells * self.count) for b in watches}
        for buffer in self.launch.crossing:
            watches[buffer] = Watch(self.storage[buffer].cells)
        return watches

    def _enter(self, stmt: Stmt, mask: Mask | None) -> Frame:
        self.stmt, self.mask, self.frame = stmt, mask, self.frames[stmt]
        self.running = None if mask is None else mask.seen(self.frame)
        return self.frame

    def _next(self) -> int:
        """A number that tells what depends on data from all else."""
        return next(self.launch.fresh)

    # --- values ----------------------------------------------------------------------------------

    def value(self, expr: Expr, env: Env, mask: Running) -> Value:
        """The value of `expr` over the dimensions of the statement's frame."""
        if isinstance(expr, Var):
            found = env.get(expr)
            return self.serial[expr] if found is None else found
        if isinstance(expr, BinOp) and expr.op in _FAST and dtypes.is_float(expr.a.dtype):
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
            return _FAST[expr.op](a, b, out=kept)
        result = _FAST[expr.op](a, b)
        if np.ndim(result):
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

    # --- memory ----------------------------------------------------------------------------------

    def _map(self, access: Access) -> tuple[Map, tuple[Any, ...] | None]:
        """Where `access` goes now, and what its verdicts depend on (None: on memory)."""
        serial = tuple([int(self.serial[v]) for v in access.serial])
        if access.moves:
            return self._new_map(access), None
        maps = self.maps.get((self.frame, access))
        if maps is None:
            maps = self.maps[self.frame, access] = {}
        found = maps.get(serial)
        if found is None:
            found = maps[serial] = self._new_map(access)
        return found, serial

    def _new_map(self, access: Access) -> Map:
        base, table = base_of(access, self.frame, self.serial)
        for expr, factor in access.form.rest:
            part = np.asarray(self.value(expr, self.frame.env, self.running)).astype(np.int64)
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

    def load(self, load: BufferLoad, env: Env, mask: Running) -> Value:
        """What each lane of `mask` reads."""
        if mask is not None and np.ndim(mask) == 0:  # all lanes agree
            if not mask:
                return numpy_type(load.buffer.type).type(0)
            mask = self.running
        access = self.plan.access[load]
        at, serial = self._map(access)
        key = self._key(access, serial, mask)
        self._check(access, at, key, mask)
        storage = at.storage
        if not storage.is_whole() and not storage.is_settled(key):
            self._check_written(access, at, mask)
            storage.settle(key, wrote=False)
        if load.buffer in self.watches:
            self._meet(access, at, key, mask)
        if at.listed is not None or not at.inside:
            return storage.flat[at.addresses(self._safe_cells(at, mask))]
        if at.view is None:
            at.view = at.compact(storage.flat)
        # a copy in this frame's order is quick to broadcast, and small beside what it meets
        lanes = int(np.prod(self.frame.shape))
        return np.ascontiguousarray(at.view) if at.view.size * 4 <= lanes else at.view

    def _safe_cells(self, at: Map, mask: Running) -> Any:
        cells = at.cells()
        if at.inside:
            return cells
        inside = (cells >= 0) & (cells < at.storage.cells)
        return np.where(inside, cells, 0)

    def _check(self, access: Access, at: Map, key: Any, mask: Running) -> None:
        """Raise where a lane leaves the buffer, or a vector starts where it must not."""
        if key is not None and key in at.checked:
            return
        if not at.inside:
            cells = at.cells()
            bad = self._among((cells < 0) | (cells >= at.storage.cells), mask)
            if np.any(bad):
                lane, block, thread = report.lane_of(self.frame, bad)
                cell = int(np.broadcast_to(cells, self.frame.shape)[lane])
                raise report.out_of_bounds(
                    self.launch.who, access.node, cell, at.storage.cells, block, thread
                )
        index = access.node.indices[0]
        if isinstance(index, Ramp) and index.stride == 1:  # others are taken cell by cell
            self._check_aligned(access, at, mask)
        at.checked.add(key)

    def _check_aligned(self, access: Access, at: Map, mask: Running) -> None:
        first = [slice(None)] * self.plan.rank
        first[self.frame.place[self.plan.vector]] = slice(0, 1)
        cells = at.cells()[tuple(first)]
        bad = self._among(cells % access.width != 0, mask)
        if np.any(bad):
            lane, block, thread = report.lane_of(self.frame, bad)
            cell = int(np.broadcast_to(cells, self.frame.shape)[lane])
            raise report.misaligned(self.launch.who, access.node, cell, access.width, block, thread)

    def _among(self, bad: Any, mask: Running) -> Any:
        return bad if mask is None else np.logical_and(bad, mask)

    def _check_written(self, access: Access, at: Map, mask: Running) -> None:
        valid = at.storage.valid
        if at.inside and at.listed is None:
            empty = np.logical_not(at.compact(valid))
        else:
            empty = np.logical_not(valid[at.addresses(self._safe_cells(at, mask))])
        bad = self._among(empty, mask)
        if np.any(bad):
            lane, block, thread = report.lane_of(self.frame, bad)
            cell = int(np.broadcast_to(at.cells(), self.frame.shape)[lane])
            assert isinstance(access.node, BufferLoad)
            raise report.unwritten(self.launch.who, access.node, cell, block, thread)

    def store(self, store: BufferStore, mask: Mask | None) -> None:
        """Run `store` in the lanes of `mask`."""
        access = self.plan.access[store]
        if store not in self.frames:
            self.frames[store] = self._frame_for(store, access)
        frame = self._enter(store, mask)
        running = self.running
        value = store.value
        fused = isinstance(value, BinOp) and value.op in _FAST and value.dtype != "bfloat16"
        if fused:
            a, b = self.value(value.a, frame.env, running), self.value(value.b, frame.env, running)
            fused = dtypes.is_float(value.a.dtype) or value.op in "+-*"
        else:
            a, b = self.value(value, frame.env, running), None
        at, serial = self._map(access)
        key = self._key(access, serial, running)
        self._check(access, at, key, running)
        overlaps = self._meet(access, at, key, running) if store.buffer in self.watches else ()
        plain = at.listed is None and at.inside and not overlaps
        if plain:
            if at.view is None:
                at.view = at.through(at.storage.flat)
            if not fused:
                np.copyto(at.view, a, where=True if running is None else running)
            elif running is None:
                _FAST[value.op](a, b, out=at.view)
            else:
                np.copyto(at.view, _FAST[value.op](a, b), where=running)
        else:
            self._scatter(store, at, _FAST[value.op](a, b) if fused else a, overlaps)
        self._mark_written(at, key, running)

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

    def _scatter(self, store: BufferStore, at: Map, value: Any, overlaps: list[Overlap]) -> None:
        """Write one lane after the other, as far as one can tell lanes apart afterwards."""
        storage, shape, running = at.storage, self.frame.shape, self.running
        cells = np.broadcast_to(self._safe_cells(at, running), shape)
        where = np.broadcast_to(at.addresses(cells), shape)
        values = np.broadcast_to(np.asarray(value, dtype=storage.flat.dtype), shape)
        if running is not None:
            chosen = np.broadcast_to(running, shape)
            cells, where, values = cells[chosen], where[chosen], values[chosen]
        where, values = where.reshape(-1), np.ascontiguousarray(values).reshape(-1)
        bits = values.view(storage.bits.dtype)
        for overlap in overlaps:
            if overlap.again is not None:
                of_block = len(overlap.again) == storage.cells
                table = overlap.again[cells.reshape(-1) if of_block else where]
                self._check_same(store, at, where[table], bits[table])
        storage.flat[where] = values
        if overlaps:
            self._check_same(store, at, where, bits)
            extra = max(overlap.extra for overlap in overlaps)
            each = self.count if self.plan.uniform and store.buffer.scope == "shared" else 1
            redundant = self.launch.redundant
            redundant[store] = redundant.get(store, 0) + extra * each

    def _check_same(self, store: BufferStore, at: Map, where: Any, bits: Any) -> None:
        """Raise where memory holds other bits than these lanes write."""
        storage = at.storage
        differs = np.flatnonzero(storage.bits[where] != bits)
        if len(differs):
            address = int(where[differs[0]])
            found = storage.flat[address]
            written = bits[differs[:1]].view(storage.flat.dtype)[0]
            cell, owner = divmod(address, storage.owners)
            inside = f" in {self._block_name(owner)}" if store.buffer.scope == "shared" else ""
            raise report.different_values(
                self.launch.who, store, cell, f"{written} and {found}", inside
            )

    def _block_name(self, local: int) -> str:
        return self.launch.who.block(int(self.blocks.numbers[local]))

    def _mark_written(self, at: Map, key: Any, running: Running) -> None:
        storage = at.storage
        if storage.valid is None or storage.is_settled(key):
            return
        if at.inside and at.listed is None:
            np.copyto(at.through(storage.valid), True, where=True if running is None else running)
        else:
            where = np.broadcast_to(at.addresses(self._safe_cells(at, running)), self.frame.shape)
            storage.valid[
                where if running is None else where[np.broadcast_to(running, where.shape)]
            ] = True
        storage.settle(key, wrote=True)

    # --- races -----------------------------------------------------------------------------------

    def _meet(self, access: Access, at: Map, key: Any, mask: Running) -> list[Overlap]:
        """Judge the access against the others since the last barrier, and those of other blocks."""
        buffer, node = access.buffer, access.node
        if key is None:
            key = self._next()
        found = []
        crossing = self.launch.crossing.get(buffer)
        try:
            if crossing is not None:
                overlap = crossing.meet(
                    (key, self.number), node, lambda: self._lanes(at, mask, by="block")
                )
                if overlap is not None:
                    found.append(overlap)
            overlap = self.watches[buffer].meet(
                key, node, lambda: self._lanes(at, mask, by="thread")
            )
            if overlap is not None:
                found.append(overlap)
        except Race as race:
            raise self._race(race, buffer, at) from None
        return found

    def _lanes(self, at: Map, mask: Running, by: str) -> tuple[Any, Any]:
        """(cell, who) of every running lane; who is the block's number, or the thread's place."""
        frame = at.frame
        cells = at.cells()
        if at.storage.buffer.scope == "shared":
            if self.plan.uniform:  # every block does the same: look at the first
                one = self._first_block(frame)
                narrow = None if mask is None else mask[one]
                return _active(cells[one], frame.thread, narrow)
            cells = at.addresses(cells)
        owners = frame.block * self.plan.threads + frame.thread
        if by == "block":
            owners = np.asarray(self.blocks.numbers)[frame.block]
        return _active(cells, owners, mask)

    def _first_block(self, frame: Frame) -> tuple[slice, ...]:
        one = [slice(None)] * self.plan.rank
        for axis in self.plan.block_at:
            one[frame.place[axis]] = slice(0, 1)
        return tuple(one)

    def _race(self, race: Race, buffer: Buffer, at: Map) -> Refusal:
        if buffer.scope == "shared":
            if not self.plan.uniform:
                race.cell //= at.storage.owners
            first, second = race.first[0], race.second[0]
            block = 0 if self.plan.uniform else first // self.plan.threads
        elif race.watch is self.launch.crossing.get(buffer):
            return report.race_between_blocks(self.launch.who, race)
        else:
            first, second = race.first[0], race.second[0]
            block = first // self.plan.threads
        threads = self.plan.threads
        number = int(self.blocks.numbers[block])
        return report.race(self.launch.who, race, number, first % threads, second % threads)


def _active(cells: Any, owners: Any, mask: Running) -> tuple[Any, Any]:
    shape = np.broadcast_shapes(cells.shape, owners.shape, () if mask is None else mask.shape)
    cells, owners = np.broadcast_to(cells, shape), np.broadcast_to(owners, shape)
    if mask is None:
        return cells.reshape(-1), owners.reshape(-1)
    chosen = np.broadcast_to(mask, shape)
    return cells[chosen], owners[chosen]
