"""Memory of kernels, and index maps: which address each lane touches, by strides or as a list.

Where an index is linear in the lanes' digits, its cells over all lanes are a base and one step a
dimension, and so are their addresses, since the owner of a copy (block, thread) is linear in them
too. Memory seen through these strides is a NumPy view: one load or store of all lanes, without a
list. It is used only where the least and greatest cell, which are those at the corners, lie in the
buffer: no lane, running or not, reaches beside it. All else is listed, one cell a lane.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from workbench.emulate.arrays import Array
from workbench.emulate.expressions import along
from workbench.emulate.kernels.affine import Digit
from workbench.emulate.kernels.plan import Access, Frame
from workbench.emulate.memory import Memo
from workbench.emulate.numbers import numpy_type
from workbench.ir import Buffer, Ramp, Var


class Storage:
    """The cells of `buffer` for every owner: the grid, each block, or each thread.

    All copies lie in one flat array, cell by cell, so that what neighbouring blocks do at once
    lies side by side: the cell `c` of the owner `o` is at ``c * owners + o``. `valid` marks what
    has been written (None: everything), as does a parameter's own array, `flat`.
    """

    def __init__(self, buffer: Buffer, owners: int, flat: Array | None = None) -> None:
        self.buffer = buffer
        self.cells = prod(buffer.shape)
        self.owners = owners
        size = self.cells * owners
        self.valid: Array | None = np.zeros(size, dtype=bool) if flat is None else None
        self.flat: Array = np.zeros(size, numpy_type(buffer.type)) if flat is None else flat
        self.bits = self.flat.view(f"u{self.flat.itemsize}")
        self._grew = False
        self.start()

    def start(self) -> None:
        """Other blocks come: their accesses have the keys of those before, and other cells."""
        self._settled: Memo[None] = Memo()

    def is_whole(self) -> bool:
        """Whether every cell of every owner holds something; looks again only after a write."""
        if self.valid is not None and self._grew:
            self._grew = False
            if self.valid.all():
                self.valid = None
        return self.valid is None

    def is_settled(self, key: Any) -> bool:
        """Whether the access `key` was seen to touch, or made, written cells only."""
        return key in self._settled

    def settle(self, key: Any, *, wrote: bool) -> None:
        """Note that the cells of the access `key` hold something from now on."""
        if key is not None:
            self._settled.keep(key, None)
        self._grew = self._grew or wrote


def count_owners(scope: str, blocks: int, threads: int) -> int:
    """How many copies of a buffer in `scope` the blocks that run together hold."""
    return {"global": 1, "shared": blocks}.get(scope, blocks * threads)


class Map:
    """The cells that one access touches at one moment, over the dimensions of `frame`.

    `base` and `steps` (one a dimension) say it by strides; where a `table` over the frame is to be
    added, `listed` lists the cells. `low` and `high` are the least and greatest cell over all
    lanes, running or not.
    """

    __slots__ = "_view", "base", "frame", "high", "listed", "low", "offset", "steps", "storage"

    def __init__(
        self, access: Access, frame: Frame, storage: Storage, base: int, table: Any
    ) -> None:
        self.frame, self.storage = frame, storage
        self.base = base
        self.steps = _cell_steps(access, frame)
        self.offset = _owner_steps(frame, storage)
        self._view: Array | None = None
        self.listed: Any = None
        if table is None:
            far = [s * (n - 1) for s, n in zip(self.steps, frame.shape, strict=True)]
            self.low = base + sum(reach for reach in far if reach < 0)
            self.high = base + sum(reach for reach in far if reach > 0)
        else:
            self.listed = self._add_steps(np.int64(base), self.steps) + table
            ends = (self.listed.min(), self.listed.max()) if self.listed.size else (0, -1)
            self.low, self.high = map(int, ends)  # of no lanes, all are inside

    @property
    def nbytes(self) -> int:
        """What it takes to keep the map, beside its frame and its storage."""
        return 0 if self.listed is None else int(self.listed.nbytes)

    @property
    def inside(self) -> bool:
        """Whether every lane, running or not, stays inside the buffer."""
        return self.low >= 0 and self.high < self.storage.cells

    @property
    def strided(self) -> bool:
        """Whether memory can be seen through strides."""
        return self.listed is None and self.inside

    def cells(self) -> Any:
        """The cell that each lane touches, as an array that broadcasts over the frame."""
        if self.listed is not None:
            return self.listed
        cells = self._add_steps(np.int64(self.base), self.steps)
        return np.reshape(cells, np.shape(cells) or (1,) * len(self.steps))

    def safe_cells(self) -> Any:
        """As `cells`, with 0 where a lane would leave the buffer: none that runs."""
        cells = self.cells()
        if self.inside:
            return cells
        return np.where((cells >= 0) & (cells < self.storage.cells), cells, 0)

    def addresses(self) -> Any:
        """Where the safe cells lie in the storage, for each lane."""
        return self._add_steps(self.safe_cells() * self.storage.owners, self.offset)

    def view(self, *, every: bool) -> Array:
        """What the storage holds, see `see`; always asked alike, as each access has its maps."""
        if self._view is None:
            self._view = self.see(self.storage.flat, every=every)
        return self._view

    def see(self, flat: Array, *, every: bool) -> Array:
        """The touched elements of `flat`, which is laid out as the storage, as a view.

        One for `every` lane, or else one where neighbouring lanes touch the same.
        """
        owners, size = self.storage.owners, flat.itemsize
        pairs = zip(self.steps, self.offset, strict=True)
        strides = [(step * owners + own) * size for step, own in pairs]
        shape = [n if every or s else 1 for n, s in zip(self.frame.shape, strides, strict=True)]
        return np.ndarray(shape, flat.dtype, flat.data, self.base * owners * size, strides)

    def _add_steps(self, total: Any, steps: tuple[int, ...]) -> Any:
        for k, (step, count) in enumerate(zip(steps, self.frame.shape, strict=True)):
            if step and count > 1:
                total = total + along(k, len(steps), np.arange(count) * step)
        return total


def split_base(access: Access, frame: Frame, serial: Mapping[Var, Any]) -> tuple[int, Any]:
    """The part of the index that is one number, and what blocks out of line add (None: nothing)."""
    base, table = access.form.const, None
    for atom, factor in access.form.terms.items():
        if isinstance(atom, Digit):
            continue
        if atom not in frame.plan.block_vars:
            base += factor * int(serial[atom])
        elif frame.chunk.origin is not None:
            base += factor * frame.chunk.origin[frame.plan.block_vars[atom]]
        else:
            part = factor * frame.env[atom].astype(np.int64)
            table = part if table is None else table + part
    return base, table


def _cell_steps(access: Access, frame: Frame) -> tuple[int, ...]:
    """What one step along each dimension of `frame` adds to the cell, as far as it is linear."""
    steps = [0] * len(frame.shape)
    plan = frame.plan
    for atom, factor in access.form.terms.items():
        if isinstance(atom, Digit):
            steps[frame.place[plan.at[atom]]] += factor
        elif atom in plan.block_vars and frame.chunk.origin is not None:
            steps[frame.place[plan.block_at[plan.block_vars[atom]]]] += factor
    ramp = access.site.indices[0]
    if isinstance(ramp, Ramp):
        steps[frame.place[plan.vector]] += ramp.stride
    return tuple(steps)


def _owner_steps(frame: Frame, storage: Storage) -> tuple[int, ...]:
    """What one step along each dimension adds to the address because the owner changes."""
    steps = [0] * len(frame.shape)
    scope = storage.buffer.scope
    if scope == "global":
        return tuple(steps)
    plan, stride = frame.plan, 1
    for axis, count in zip(plan.block_at[::-1], frame.chunk.counts[::-1], strict=True):
        steps[frame.place[axis]] = stride
        stride *= count
    if scope == "local":
        for digit in plan.thread_digits[::-1]:
            steps[frame.place[plan.at[digit]]] = stride
            stride *= digit.size
    return tuple(steps)
