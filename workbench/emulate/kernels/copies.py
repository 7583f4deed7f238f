"""Asynchronous copies between their begin and the wait of their threads: what is under way.

A copy reads its source and writes its cells at times that nobody knows, from where it begins to
where its thread waits for it. Here it is made at the wait, with what its source held at the begin;
in between nobody may touch its cells, nor write its source, which `Lanes` asks of every access.
Then either time gives the same. Others may touch the cells once a barrier comes behind the wait,
and it may begin once one has come behind them: so races judge it as a write at both ends.

A copy counts the groups that its thread has committed since, its own among them: it is there where
more are than the wait leaves. Where lanes part ways, each counts its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from workbench.emulate.expressions import Mask as Running
from workbench.emulate.kernels.maps import Map
from workbench.emulate.kernels.plan import Mask
from workbench.ir import BufferStore, WaitGroup


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """A copy of `values` to where `at` says, in the lanes of `mask`.

    `key` names the execution (None: it is like no other), `source` where it reads what the kernel
    writes, and in which lanes. It began in `turn` of the serial loops, and is of the thread's
    `group`; `committed` counts groups since then, one number or one for each lane.
    """

    store: BufferStore
    at: Map
    key: Any
    mask: Mask | None
    values: Any
    turn: str
    group: int
    source: tuple[Map, Running] | None = None
    committed: Any = 0

    @property
    def running(self) -> Running:
        """The lanes that copy, over the dimensions of its frame."""
        return None if self.mask is None else self.mask.seen_by(self.at.frame)


@dataclass(slots=True)
class UnderWay:
    """The copies that have begun and not arrived, in the order in which they began."""

    copies: list[Copy] = field(default_factory=list)
    groups: int = 0  # that some thread has committed
    left: int | None = None  # how many the last wait left

    def commit(self, mask: Mask | None) -> None:
        """The lanes of `mask` commit a group."""
        more = 1 if mask is None else mask.array
        self.copies = [replace(copy, committed=copy.committed + more) for copy in self.copies]
        self.groups += 1

    def wait(self, wait: WaitGroup, mask: Mask | None, number: Callable[[], int]) -> Iterator[Copy]:
        """What has arrived where the lanes of `mask` wait, with the lanes for which it has."""
        copies, self.copies, self.left = self.copies, [], wait.count
        for copy in copies:
            lanes = True if copy.mask is None else copy.mask.array
            waits = True if mask is None else mask.array
            there = np.logical_and(lanes, np.logical_and(copy.committed > wait.count, waits))
            left = np.logical_and(lanes, np.logical_not(there))
            if not np.any(left):
                yield copy
            elif not np.any(there):
                self.copies.append(copy)
            else:
                yield replace(copy, mask=Mask(("copy", number()), there), key=None)
                rest = Mask(("copy", number()), left)
                self.copies.append(replace(copy, mask=rest, key=None))

    def touching(self, at: Map, *, source: bool) -> Iterator[tuple[Copy, Map, Running]]:
        """The copies whose cells, or sources, may be among those of `at`: where, in which lanes."""
        for copy in self.copies:
            place = copy.at if not source else copy.source and copy.source[0]
            if place is None or place.storage is not at.storage:
                continue
            if place.low <= at.high and at.low <= place.high:
                yield copy, place, copy.source[1] if source and copy.source else copy.running
