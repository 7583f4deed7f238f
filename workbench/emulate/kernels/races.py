"""Races: each access of a chunk judged against those before it, in words that a learner reads.

The verdicts are those of `shadow`, on evaluated addresses alone: nothing here asks what a program
was proved to touch. Where all blocks do the same in shared memory (`Plan.uniform`), the first block
of a chunk stands for all of them, and its lanes alone are judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from workbench.emulate.expressions import Mask as Running
from workbench.emulate.kernels import report
from workbench.emulate.kernels.launch import Launch
from workbench.emulate.kernels.maps import Map, Storage
from workbench.emulate.kernels.plan import Access, Chunk, Frame, Mask
from workbench.emulate.kernels.shadow import Overlap, Race, Shadow, Watch
from workbench.ir import Barrier, Buffer, BufferStore


@dataclass(frozen=True, slots=True)
class Writes:
    """What the lanes of one store write, one element a lane that runs."""

    store: BufferStore
    storage: Storage
    cells: Any
    addresses: Any
    bits: Any
    owners: Any

    def among(self, lanes: Any) -> Writes:
        """The writes of some of the lanes."""
        parts = (self.cells, self.addresses, self.bits, self.owners)
        return Writes(self.store, self.storage, *(part[lanes] for part in parts))


class Races:
    """Judges what the blocks of one chunk do; `storage` is where their buffers lie.

    An owner is a thread of the chunk, ``place of its block * threads + its number``; where one
    block stands for all it is the number of the thread, and cells are those of one copy.
    """

    def __init__(self, launch: Launch, chunk: Chunk, storage: dict[Buffer, Storage]) -> None:
        self.launch, self.plan, self.chunk, self.storage = launch, launch.plan, chunk, storage
        self.count = len(chunk.numbers)
        self.watches = dict(launch.within)
        for buffer, crossing in launch.crossing.items():
            crossing.start()
            self.watches[buffer].start()
        for buffer in self.plan.kernel.allocs:
            if self.plan.stands_for_all(buffer):
                self.watches[buffer].pass_barrier()  # its memory is new: nobody touched it yet
            elif buffer.scope == "shared":
                cells = storage[buffer].cells * self.count
                owners = self.plan.threads * self.count
                self.watches[buffer] = Watch(Shadow(cells, owners, self.plan.count_sites(buffer)))

    def judge(self, access: Access, at: Map, key: Any, mask: Running) -> list[Overlap]:
        """Judge the access against the others since the last barrier, and those of other blocks.

        `key` tells it from others with other lanes or cells (None: from all). Raises Refusal.
        """
        buffer, site = access.buffer, access.site
        if buffer not in self.watches:
            return []
        if key is None:
            key = self.launch.next_number()
        crossing = self.launch.crossing.get(buffer)
        between = None
        try:
            if crossing is not None:
                between = crossing.judge(key, site, partial(_list_lanes, at, mask, "block"))
        except Race as race:
            who, numbers = self.launch.who, self.launch.numbers
            blocks = (who.block(numbers[owner]) for owner, _ in (race.first, race.second))
            raise report.race_between_blocks(race, *blocks) from None
        try:
            size = at.nbytes + (0 if mask is None else mask.nbytes)
            threads = partial(_list_lanes, at, mask, "thread")
            within = self.watches[buffer].judge(key, site, threads, size)
        except Race as race:
            raise self._tell_race(race, buffer) from None
        return [overlap for overlap in (between, within) if overlap is not None]

    def _tell_race(self, race: Race, buffer: Buffer) -> report.Met:
        if not self.plan.stands_for_all(buffer):
            race.cell //= self.storage[buffer].owners
        (first, one), (second, other) = race.first, race.second
        who, threads = self.launch.who, self.plan.threads
        number = int(self.chunk.numbers[first // threads])
        met = first % threads, second % threads
        refusal = report.race_in_block(race, who.block(number), *map(who.thread, met))
        refusal.meeting = report.Meeting(number, met, (one, other), race.cell)
        return refusal

    # --- several writers of one cell -------------------------------------------------------------

    def refuse_other_bits(self, writes: Writes) -> None:
        """Raise Refusal where memory holds other bits than these lanes write."""
        storage = writes.storage
        differs = np.flatnonzero(storage.bits[writes.addresses] != writes.bits)
        if not len(differs):
            return
        lane = differs[0]
        address, owner = int(writes.addresses[lane]), int(writes.owners[lane])
        same = (writes.addresses == address) & (writes.bits != writes.bits[lane])
        if same.any():
            other = self.name_lane(int(writes.owners[np.argmax(same)]))
        else:
            other = self._name_other(writes, address, owner)
        written = writes.bits[lane : lane + 1].view(storage.flat.dtype)[0]
        raise report.different_values(
            writes.store,
            address // storage.owners,
            (self.name_lane(owner), written),
            (other, storage.flat[address]),
        )

    def refuse_other_bits_before(self, writes: Writes, overlaps: list[Overlap]) -> None:
        """As `refuse_other_bits`, for cells that lanes wrote earlier: before they are written."""
        judged = writes.cells  # what the watches know the cells by
        if not self.plan.stands_for_all(writes.store.buffer):
            judged = writes.addresses
        for overlap in overlaps:
            if overlap.again is not None:
                self.refuse_other_bits(writes.among(overlap.again.among(judged)))

    def count_redundant(self, store: BufferStore, overlaps: list[Overlap]) -> None:
        """Note how many of the writes of `store` changed nothing."""
        each = self.count if self.plan.stands_for_all(store.buffer) else 1
        extra = max(overlap.extra for overlap in overlaps) * each
        self.launch.redundant[store] = self.launch.redundant.get(store, 0) + extra

    def _name_other(self, writes: Writes, address: int, owner: int) -> str:
        """Who else wrote there since the last barrier, or in a block that is over."""
        block, thread = divmod(owner, self.plan.threads)
        buffer = writes.store.buffer  # what memory is called outside of the kernel is another
        watch = self.watches[buffer]
        if self.plan.stands_for_all(buffer):
            other = watch.other_writer(address // writes.storage.owners, thread)
            assert other is not None, "the cell was written by somebody"
            return self.name_lane(block * self.plan.threads + other)
        other = watch.other_writer(address, owner)
        if other is not None:
            return self.name_lane(other)
        shadow = self.launch.crossing[buffer].shadow
        before = shadow.other_writer(address, self.chunk.first + block)
        assert before is not None, "the cell was written by somebody"
        return self.launch.who.block(self.launch.numbers[before])

    def name_lane(self, owner: int) -> str:
        """The thread `owner` of the chunk, as a refusal names it."""
        block, thread = divmod(owner, self.plan.threads)
        return self.launch.who.lane(int(self.chunk.numbers[block]), thread)

    # --- barriers --------------------------------------------------------------------------------

    def pass_barrier(self, barrier: Barrier, mask: Mask | None) -> None:
        """What comes now is ordered after what came before, in the blocks of which lanes come.

        Raises Refusal where only part of a block comes: on a GPU the rest never would.
        """
        if mask is None:
            for watch in self.watches.values():
                watch.pass_barrier()
            return
        shape = Frame(self.plan, self.chunk, barrier, 1, None).shape  # threads, blocks
        comes = np.broadcast_to(mask.array, shape).reshape(self.plan.threads, self.count)
        some, every = comes.any(axis=0), comes.all(axis=0)
        torn = np.flatnonzero(some & ~every)
        if len(torn):
            column, who = comes[:, torn[0]], self.launch.who
            inside, outside = who.thread(int(np.argmax(column))), who.thread(int(np.argmin(column)))
            block = who.block(int(self.chunk.numbers[torn[0]]))
            raise report.torn_barrier(barrier, block, inside, outside)
        for buffer, watch in self.watches.items():
            by_cell = buffer.scope == "shared"
            passed = partial(_has_passed, every, self.count, self.plan.threads, by_cell)
            watch.pass_barrier_of((mask.key, "barrier"), passed)


def owners_in(frame: Frame) -> Any:
    """The thread of the chunk that each lane is."""
    return frame.block * frame.plan.threads + frame.thread


def _first_block(frame: Frame) -> tuple[slice, ...]:
    one = [slice(None)] * frame.plan.rank
    for axis in frame.plan.block_at:
        one[frame.place[axis]] = slice(0, 1)
    return tuple(one)


def _list_active(cells: Any, owners: Any, mask: Running) -> tuple[Any, Any]:
    shape = np.broadcast_shapes(cells.shape, owners.shape, () if mask is None else mask.shape)
    cells, owners = np.broadcast_to(cells, shape), np.broadcast_to(owners, shape)
    if mask is None:
        return cells.reshape(-1), owners.reshape(-1)
    chosen = np.broadcast_to(mask, shape)
    return cells[chosen], owners[chosen]


# A watch keeps these beyond the chunk: they hold nothing of it but what they are given.


def _list_lanes(at: Map, mask: Running, by: str) -> tuple[Any, Any]:
    """(cell, owner) of every running lane; the owner is its thread, or its block's place."""
    frame = at.frame
    if frame.plan.stands_for_all(at.storage.buffer):
        one = _first_block(frame)
        return _list_active(at.cells()[one], frame.thread, None if mask is None else mask[one])
    owners = frame.block + frame.chunk.first if by == "block" else owners_in(frame)
    return _list_active(at.addresses(), owners, mask)


def _has_passed(
    blocks: Any, count: int, threads: int, by_cell: bool, cells: Any, owners: Any
) -> Any:
    """Whether `blocks`, marks of the `count` blocks of a chunk, has the block of each owner.

    In shared memory (`by_cell`) the address alone tells the block.
    """
    return blocks[cells % count] if by_cell else (owners >= 0) & blocks[owners // threads]
