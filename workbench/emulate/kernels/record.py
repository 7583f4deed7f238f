"""The record of a run: every access as an index map, enumerated when somebody asks."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.emulate.expressions import Site
from workbench.emulate.kernels.maps import Map
from workbench.emulate.kernels.plan import Access
from workbench.ir import BufferStore, Kernel


@dataclass(slots=True)
class Record:
    """One load or store of a kernel under one index map and one mask, run `times` times.

    `cells`, `blocks` and `threads` broadcast to `shape`, as does `mask` (None: every lane runs).
    """

    kernel: Kernel
    node: Site
    shape: tuple[int, ...]
    cells: Any
    blocks: Any
    threads: Any
    mask: Any
    times: int = 1

    @property
    def writes(self) -> bool:
        """Whether it is a store."""
        return isinstance(self.node, BufferStore)

    @property
    def lanes(self) -> int:
        """How many elements one execution touches: a vector counts each of its own."""
        if self.mask is None:
            return int(np.prod(self.shape))
        return int(np.broadcast_to(self.mask, self.shape).sum())

    def each(self) -> Iterator[tuple[int, int, int]]:
        """(block, thread, cell) of every lane; blocks and threads count x first, then y, then z."""
        chosen = True if self.mask is None else self.mask
        arrays = np.broadcast_arrays(self.blocks, self.threads, self.cells, chosen)
        blocks, threads, cells, runs = (np.broadcast_to(a, self.shape) for a in arrays)
        columns = (blocks[runs], threads[runs], cells[runs])
        yield from zip(*(column.tolist() for column in columns), strict=True)


@dataclass(slots=True)
class Log:
    """All that a run touched, in the order in which it came up first."""

    records: dict[Hashable, Record] = field(default_factory=dict)

    def note(self, access: Access, at: Map, key: Hashable, mask: Any) -> None:
        """Note one execution of `access`; equal keys mean equal maps and masks."""
        before = self.records.get(key)
        if before is not None:
            before.times += 1
            return
        frame = at.frame
        numbers = np.asarray(frame.chunk.numbers)[frame.block]
        shape = list(frame.shape)
        if access.width == 1:  # a vector statement may load one number for all its elements
            shape[frame.place[frame.plan.vector]] = 1
        kernel = frame.plan.kernel
        self.records[key] = Record(
            kernel, access.site, tuple(shape), at.cells(), numbers, frame.thread, mask
        )
