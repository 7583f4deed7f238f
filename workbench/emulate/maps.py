"""Index maps: which address each lane touches, as strides over the lanes or as a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.emulate.affine import Digit
from workbench.emulate.plan import Access, Frame
from workbench.emulate.storage import Array, Storage
from workbench.ir import Ramp, Var


class Map:
    """The cells that one access touches at one moment, over the dimensions of `frame`.

    `base` and `steps` (one a dimension) say it by strides, unless `listed` lists the cells. `low`
    and `high` are the least and greatest cell over all lanes, running or not.
    """

    __slots__ = (
        "base",
        "frame",
        "high",
        "listed",
        "low",
        "offset",
        "steps",
        "storage",
        "view",
    )

    def __init__(
        self, access: Access, frame: Frame, storage: Storage, base: int, table: Any
    ) -> None:
        self.frame, self.storage = frame, storage
        self.base = base
        self.steps = _steps(access, frame, base_only=table is not None)
        self.offset = _owner_steps(frame, storage)
        self.view: Array | None = None
        self.listed: Any = None
        if table is None:
            below = sum(s * (n - 1) for s, n in zip(self.steps, frame.shape, strict=True) if s < 0)
            above = sum(s * (n - 1) for s, n in zip(self.steps, frame.shape, strict=True) if s > 0)
            self.low, self.high = base + below, base + above
        else:
            self.listed = self._affine_cells() + table
            self.low, self.high = int(self.listed.min()), int(self.listed.max())

    @property
    def nbytes(self) -> int:
        """What it takes to keep the map, beside its frame and its storage."""
        return 0 if self.listed is None else int(self.listed.nbytes)

    @property
    def inside(self) -> bool:
        """Whether every lane, running or not, stays inside the buffer."""
        return self.low >= 0 and self.high < self.storage.cells

    def cells(self) -> Any:
        """The cell that each lane touches, as an array that broadcasts over the frame."""
        return self._affine_cells() if self.listed is None else self.listed

    def _affine_cells(self) -> Any:
        cells: Any = np.int64(self.base)
        for axis, step in enumerate(self.steps):
            if step and self.frame.shape[axis] > 1:
                shape = [1] * len(self.steps)
                shape[axis] = -1
                cells = cells + (np.arange(self.frame.shape[axis]) * step).reshape(shape)
        return np.asarray(cells).reshape(np.shape(cells) or (1,) * len(self.steps))

    def through(self, flat: Array) -> Array:
        """The touched elements of `flat`, which is laid out as the storage, as a view."""
        owners, size = self.storage.owners, flat.itemsize
        strides = tuple(
            (step * owners + own) * size if count > 1 else 0
            for step, own, count in zip(self.steps, self.offset, self.frame.shape, strict=True)
        )
        return np.ndarray(
            self.frame.shape, flat.dtype, flat.data, self.base * owners * size, strides
        )

    def compact(self, flat: Array) -> Array:
        """As `through`, with one element where neighbouring lanes touch the same."""
        owners, size = self.storage.owners, flat.itemsize
        strides = [
            (step * owners + own) * size for step, own in zip(self.steps, self.offset, strict=True)
        ]
        shape = [n if s else 1 for n, s in zip(self.frame.shape, strides, strict=True)]
        return np.ndarray(shape, flat.dtype, flat.data, self.base * owners * size, strides)

    def addresses(self, cells: Any) -> Any:
        """Where `cells` lie in the storage, for each lane."""
        where = cells * self.storage.owners
        for axis, step in enumerate(self.offset):
            if step and self.frame.shape[axis] > 1:
                shape = [1] * len(self.offset)
                shape[axis] = -1
                where = where + (np.arange(self.frame.shape[axis]) * step).reshape(shape)
        return where


def _steps(access: Access, frame: Frame, *, base_only: bool) -> tuple[int, ...]:
    """What one step along each dimension of `frame` adds to the cell, as far as it is linear."""
    steps = [0] * len(frame.shape)
    plan = frame.plan
    for atom, factor in access.form.terms.items():
        if isinstance(atom, Digit):
            steps[frame.place[plan.at[atom]]] += factor
        elif frame.blocks.origin is not None:
            for axis, var in plan.block_vars.items():
                if var is atom:
                    steps[frame.place[plan.block_at["zyx".index(axis[-1])]]] += factor
    ramp = access.node.indices[0]
    if isinstance(ramp, Ramp):
        steps[frame.place[plan.vector]] += ramp.stride
    return tuple(steps)


def base_of(access: Access, frame: Frame, serial: Mapping[Var, Any]) -> tuple[int, Any]:
    """The part of the index that is one number, and what blocks out of line add (None: nothing)."""
    base, table = access.form.const, None
    blocks = {var: axis for axis, var in frame.plan.block_vars.items()}
    for atom, factor in access.form.terms.items():
        if isinstance(atom, Digit):
            continue
        if atom not in blocks:
            base += factor * int(serial[atom])
        elif frame.blocks.origin is not None:
            base += factor * frame.blocks.origin["zyx".index(blocks[atom][-1])]
        else:
            part = factor * frame.env[atom].astype(np.int64)
            table = part if table is None else table + part
    return base, table


def _owner_steps(frame: Frame, storage: Storage) -> tuple[int, ...]:
    """What one step along each dimension adds to the address because the owner changes."""
    steps = [0] * len(frame.shape)
    scope = storage.buffer.scope
    if scope == "global":
        return tuple(steps)
    plan, stride = frame.plan, 1
    for axis, count in zip(plan.block_at[::-1], frame.blocks.counts[::-1], strict=True):
        steps[frame.place[axis]] = stride
        stride *= count
    if scope == "local":
        for digit in plan.thread_digits[::-1]:
            steps[frame.place[plan.at[digit]]] = stride
            stride *= digit.size
    return tuple(steps)


def owners_of(scope: str, blocks: int, threads: int) -> int:
    """How many copies of a buffer in `scope` the blocks that run together hold."""
    return {"global": 1, "shared": blocks}.get(scope, blocks * threads)
