"""who_cells: who computes each cell of a corner of a buffer, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Any, TypeAlias

import numpy as np

from workbench.arith import points, reads_memory
from workbench.emulate.kernels.affine import Digits
from workbench.insight.page import Point
from workbench.insight.spread import along_axes, holding, value
from workbench.insight.stored import MOST_LANES, Place, Stored
from workbench.ir import Var

MOST_CELLS = 64  # that are listed one by one

Lanes: TypeAlias = list[list[int]]
"""Iterations that write a cell, each with a value for every variable that tells."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Who computes one cell last: `label` says it in words ("block 1, thread 1").

    `forms` are the parts of the label, each with the shorter ways to say it.
    `time` is the first and last step, counted within one thread, at which that thread writes the
    cell. `block` and `thread` are (x, y, z), None where the program binds no such axis.
    `writers` counts the threads that write the cell, or the warps that do it together; of memory
    that each block or thread has for itself, those of the first one that has the cell.
    """

    index: Point
    label: str
    time: tuple[int, int]
    block: Point | None
    thread: Point | None
    writers: int
    forms: tuple[tuple[str, ...], ...]


def who_cells(stores: Sequence[Stored], labels: Sequence[str]) -> tuple[Cell, ...]:
    """The cells of a corner, at most MOST_CELLS, each with who writes it last; `labels` tell it."""
    found: dict[Point, list[tuple[_Writers, Lanes]]] = {}
    for store in stores:
        if any(map(reads_memory, store.store.indices)):
            return ()
        writers = _Writers(store)
        for index, lanes in writers.lanes():
            found.setdefault(index, []).append((writers, lanes))
    return tuple(_cell(index, found[index], labels) for index in sorted(found))


def _cell(index: Point, found: list[tuple[_Writers, Lanes]], labels: Sequence[str]) -> Cell:
    """`index` with who writes it last, and all that write it: other owners write their own copy."""
    owner = min(writers.owner(lanes[0]) for writers, lanes in found)
    found = [
        (writers, own)
        for writers, lanes in found
        if (own := [lane for lane in lanes if writers.owner(lane) == owner])
    ]
    writers, lanes = found[-1]
    place = writers.place(lanes[-1])
    if len(found) == 1:
        time, count = writers.time(lanes, lanes[-1]), writers.count(lanes)
    else:
        places = [told.places(own) for told, own in found]
        times = [at[place] for at in places if place in at]
        time = min(first for first, _ in times), max(last for _, last in times)
        count = len({*chain.from_iterable(places)})
    forms = writers.store.forms(labels, time, place)
    label = ", ".join(part[0] for part in forms if part[0])
    return Cell(index, label, time, *place, count, forms)


def _corner(shape: Point) -> Point:
    """The sizes of the part of a buffer whose cells are listed: at most MOST_CELLS of them."""
    if prod(shape) <= MOST_CELLS:
        return shape
    if len(shape) == 1:
        return (MOST_CELLS,)
    sides = [1] * len(shape)
    sides[-2:] = [min(8, shape[-2]), min(8, shape[-1])]
    return tuple(sides)


def _few(store: Stored) -> dict[Var, int]:
    """Extents cut down until there is little enough to look at, what reaches furthest first."""
    extents = {loop.var: loop.extent for loop in store.loops}
    digits = Digits({}, {})
    reach: dict[Var, int] = dict.fromkeys(extents, 0)
    stride = 1
    shape = store.store.buffer.shape
    for index, size in zip(reversed(store.store.indices), reversed(shape), strict=True):
        for var, factor in digits.form(index).terms.items():
            if isinstance(var, Var) and var in reach:
                reach[var] += abs(factor) * stride
        stride *= size
    for var in sorted(extents, key=lambda v: -reach[v]):
        over = -(-prod(extents.values()) // MOST_LANES)
        extents[var] = max(1, extents[var] // over)
    return extents


class _Writers:
    """Who writes a cell by one store, of lanes that each have a value for every variable."""

    def __init__(self, store: Stored) -> None:
        self.store, self.order = store, [loop.var for loop in store.loops]
        places = list(enumerate(self.order))
        at = {v: k for k, v in places}
        self.owners = [at.get(u.var) for u in store.units if u.var in store.owners]
        units = {loop.var for loop in store.units}
        self.bound = [k for k, v in places if v in units]
        self.serial = [(k, store.factors[v]) for k, v in places if v in store.factors]
        zero = dict.fromkeys(self.order, 0)
        self.start = store.time(zero, zero)
        idle = (loop for loop in store.idle if loop in (*store.blocks, *store.doers))
        self.idle = {loop.var: range(loop.extent) for loop in idle if loop.var not in store.owners}

    def lanes(self) -> Iterator[tuple[Point, Lanes]]:
        """The lanes that write each cell of the corner."""
        store, order = self.store, self.order
        extents = _few(store)
        wide = [var for var in order if extents[var] > 1]  # an array has at most 64 axes
        full = tuple(extents[v] for v in wide)
        env: dict[Var, Any] = dict.fromkeys(store.extents, np.int64(0))
        env |= zip(wide, along_axes(full), strict=True)
        keep = holding(store.held, env, full)
        indices = store.store.indices
        columns = [np.broadcast_to(np.asarray(value(i, env)), full) for i in indices]
        for column, size in zip(columns, _corner(store.store.buffer.shape), strict=True):
            keep = keep & (column >= 0) & (column < size)
        at = [column[keep].tolist() for column in columns]
        lanes = np.zeros((int(keep.sum()), len(order)), dtype=np.int64)
        lanes[:, [k for k, var in enumerate(order) if extents[var] > 1]] = np.argwhere(keep)
        found: dict[Point, Lanes] = {}
        for k, lane in enumerate(lanes.tolist()):
            found.setdefault(tuple([column[k] for column in at]), []).append(lane)
        yield from found.items()

    def owner(self, lane: list[int]) -> Point:
        """Of memory that each block or thread has for itself, whose a lane writes to."""
        return tuple([0 if k is None else lane[k] for k in self.owners])

    def place(self, lane: list[int]) -> Place:
        """The block and the thread of a lane."""
        return self.store.place(dict(zip(self.order, lane, strict=True)))

    def count(self, lanes: Lanes) -> int:
        """How many threads write it."""
        return len({_at(self.bound, lane) for lane in lanes}) * prod(map(len, self.idle.values()))

    def time(self, lanes: Lanes, of: list[int]) -> tuple[int, int]:
        """The first and the last step at which the thread of the lane `of` writes."""
        thread = _at(self.bound, of)
        steps = [
            sum([lane[k] * factor for k, factor in self.serial])
            for lane in lanes
            if _at(self.bound, lane) == thread
        ]
        return self.start[0] + min(steps), self.start[1] + max(steps)

    def places(self, lanes: Lanes) -> dict[Place, tuple[int, int]]:
        """Each block and thread that writes it, and when."""
        found: dict[Place, tuple[int, int]] = {}
        for lane in {_at(self.bound, lane): lane for lane in lanes}.values():
            time, values = self.time(lanes, lane), dict(zip(self.order, lane, strict=True))
            for turn in points(self.idle, MOST_LANES):
                found[self.store.place({**values, **turn})] = time
        return found


def _at(places: list[int], lane: list[int]) -> Point:
    """What stands at some places of a lane."""
    return tuple([lane[k] for k in places])
