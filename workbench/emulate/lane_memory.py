"""Memory as lanes see it: every access checked, judged for races, and made."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from workbench.diag import Refusal
from workbench.emulate import report
from workbench.emulate.expressions import Env
from workbench.emulate.expressions import Mask as Running
from workbench.emulate.lane_values import FAST, LaneValues
from workbench.emulate.launch import Mask
from workbench.emulate.maps import Map
from workbench.emulate.numbers import Value, numpy_type
from workbench.emulate.plan import Access, Frame
from workbench.emulate.shadow import Overlap, Race
from workbench.ir import (
    BinOp,
    Buffer,
    BufferLoad,
    BufferStore,
    Ramp,
)


class LaneMemory(LaneValues):
    """Loads and stores of some blocks of a kernel that run together."""

    def _log(self, access: Access, at: Map, key: Any, mask: Running) -> None:
        if self.launch.log is not None:
            known = self._next() if key is None else key
            self.launch.log.note(access, at, (self.number, known), mask)

    def load(self, load: BufferLoad, env: Env, mask: Running) -> Value:
        """What each lane of `mask` reads."""
        if mask is not None and np.ndim(mask) == 0:  # all lanes agree
            if not mask:
                return numpy_type(load.buffer.type).type(0)
            mask = self.running
        access = self.plan.access[load]
        at, serial = self._map(access, mask)
        key = self._key(access, serial, mask)
        self._check(access, at, key, mask)
        self._log(access, at, key, mask)
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
        if key is not None and key in self.checked:
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
        self.checked.keep(key, None)

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
        assert valid is not None
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
        fused: np.ufunc | None = None
        b: Any = None
        if isinstance(value, BinOp) and value.op in FAST and value.dtype != "bfloat16":
            fused = FAST[value.op]  # straight into the target, without an array between
            a, b = self.value(value.a, frame.env, running), self.value(value.b, frame.env, running)
        else:
            a = self.value(value, frame.env, running)
        at, serial = self._map(access, running)
        key = self._key(access, serial, running)
        self._check(access, at, key, running)
        self._log(access, at, key, running)
        overlaps = self._meet(access, at, key, running) if store.buffer in self.watches else []
        plain = at.listed is None and at.inside and not overlaps
        if plain:
            if at.view is None:
                at.view = at.through(at.storage.flat)
            if fused is None:
                np.copyto(at.view, a, where=True if running is None else running)
            elif running is None:
                fused(a, b, out=at.view)
            else:
                np.copyto(at.view, fused(a, b), where=running)
        else:
            self._scatter(store, at, a if fused is None else fused(a, b), overlaps)
        self._mark_written(at, key, running)

    def _scatter(self, store: BufferStore, at: Map, value: Any, overlaps: list[Overlap]) -> None:
        """Write one lane after the other, as far as one can tell lanes apart afterwards."""
        storage, shape, running = at.storage, self.frame.shape, self.running
        cells = np.broadcast_to(self._safe_cells(at, running), shape)
        places = (cells, at.addresses(cells), np.asarray(value, dtype=storage.flat.dtype))
        owners = self.frame.block * self.plan.threads + self.frame.thread
        columns = [np.broadcast_to(column, shape) for column in (*places, owners)]
        chosen = ... if running is None else np.broadcast_to(running, shape)
        cells, where, values, owners = (
            np.ascontiguousarray(column[chosen]).reshape(-1) for column in columns
        )
        bits = values.view(storage.bits.dtype)
        of_block = self.plan.uniform or store.buffer.scope == "global"
        judged = cells if of_block else where  # what the watches know the cells by
        for overlap in overlaps:
            if overlap.again is not None:
                again = overlap.again.among(judged)
                self._check_same(store, at, where[again], bits[again], owners[again])
        storage.flat[where] = values
        if overlaps:
            self._check_same(store, at, where, bits, owners)
            extra = max(overlap.extra for overlap in overlaps)
            each = self.count if self.plan.uniform and store.buffer.scope == "shared" else 1
            redundant = self.launch.redundant
            redundant[store] = redundant.get(store, 0) + extra * each

    def _check_same(self, store: BufferStore, at: Map, where: Any, bits: Any, owners: Any) -> None:
        """Raise where memory holds other bits than these lanes write."""
        storage = at.storage
        differs = np.flatnonzero(storage.bits[where] != bits)
        if not len(differs):
            return
        address, mine = int(where[differs[0]]), int(owners[differs[0]])
        same = np.flatnonzero((where == address) & (bits != bits[differs[0]]))
        if len(same):
            other = self._lane_name(int(owners[same[0]]))
        else:
            other = self._other_name(store.buffer, address, mine)
        written = bits[differs[:1]].view(storage.flat.dtype)[0]
        raise report.different_values(
            store,
            address // storage.owners,
            (self._lane_name(mine), written),
            (other, storage.flat[address]),
        )

    def _other_name(self, buffer: Buffer, address: int, mine: int) -> str:
        """Who else wrote there since the last barrier, or in a block that is over."""
        block, thread = divmod(mine, self.plan.threads)
        watch = self.watches[buffer]
        if buffer.scope == "shared" and self.plan.uniform:
            other = watch.other_writer(address // self.storage[buffer].owners, thread)
            assert other is not None, "the cell was written by somebody"
            return self._lane_name(block * self.plan.threads + other)
        other = watch.other_writer(address, mine)
        if other is not None:
            return self._lane_name(other)
        crossing = self.launch.crossing[buffer]
        before = crossing.shadow.other_writer(address, self.blocks.first + block)
        assert before is not None, "the cell was written by somebody"
        return self.launch.who.block(self.launch.numbers[before])

    def _lane_name(self, owner: int) -> str:
        block, thread = divmod(owner, self.plan.threads)
        number = int(self.blocks.numbers[block])
        return f"{self.launch.who.block(number)}, {self.launch.who.thread(thread)}"

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
        between = crossing is not None
        try:
            if crossing is not None:
                found.append(crossing.meet(key, node, partial(_lanes, at, mask, "block")))
            between = False
            size = at.nbytes + (0 if mask is None else mask.nbytes)
            threads = partial(_lanes, at, mask, "thread")
            found.append(self.watches[buffer].meet(key, node, threads, size))
        except Race as race:
            raise self._race(race, buffer, at, between=between) from None
        return [overlap for overlap in found if overlap is not None]

    def _race(self, race: Race, buffer: Buffer, at: Map, *, between: bool) -> Refusal:
        if buffer.scope == "shared":
            if not self.plan.uniform:
                race.cell //= at.storage.owners
            first, second = race.first[0], race.second[0]
            block = 0 if self.plan.uniform else first // self.plan.threads
        elif between:
            blocks = (self.launch.numbers[race.first[0]], self.launch.numbers[race.second[0]])
            return report.race_between_blocks(self.launch.who, race, *blocks)
        else:
            first, second = race.first[0], race.second[0]
            block = first // self.plan.threads
        threads = self.plan.threads
        number = int(self.blocks.numbers[block])
        return report.race(self.launch.who, race, number, first % threads, second % threads)


def _lanes(at: Map, mask: Running, by: str) -> tuple[Any, Any]:
    """(cell, who) of every running lane; who is the place of the block, or of the thread."""
    frame = at.frame
    plan, cells = frame.plan, at.cells()
    if at.storage.buffer.scope == "shared":
        if plan.uniform:  # every block does the same: look at the first
            one = _first_block(frame)
            narrow = None if mask is None else mask[one]
            return _active(cells[one], frame.thread, narrow)
        cells = at.addresses(cells)
    if by == "block":
        owners = frame.block + frame.blocks.first
    else:
        owners = frame.block * plan.threads + frame.thread
    return _active(cells, owners, mask)


def _first_block(frame: Frame) -> tuple[slice, ...]:
    one = [slice(None)] * frame.plan.rank
    for axis in frame.plan.block_at:
        one[frame.place[axis]] = slice(0, 1)
    return tuple(one)


def _active(cells: Any, owners: Any, mask: Running) -> tuple[Any, Any]:
    shape = np.broadcast_shapes(cells.shape, owners.shape, () if mask is None else mask.shape)
    cells, owners = np.broadcast_to(cells, shape), np.broadcast_to(owners, shape)
    if mask is None:
        return cells.reshape(-1), owners.reshape(-1)
    chosen = np.broadcast_to(mask, shape)
    return cells[chosen], owners[chosen]
