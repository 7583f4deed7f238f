"""Memory of one buffer for the blocks that run together, and which of its cells were written."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.emulate.memo import Memo
from workbench.emulate.numbers import numpy_type
from workbench.ir import Buffer

Array = np.ndarray[Any, Any]


class Storage:
    """The cells of `buffer` for every owner: the grid, each block, or each thread.

    All copies lie in one flat array, cell by cell, so that what neighbouring blocks do at once
    lies side by side: the cell `c` of the owner `o` is at ``c * owners + o``.
    """

    def __init__(self, buffer: Buffer, owners: int, flat: Array | None = None) -> None:
        self.buffer = buffer
        self.cells = int(np.prod(buffer.shape, dtype=np.int64))
        self.owners = owners
        self.flat: Array = (
            np.zeros(self.cells * owners, numpy_type(buffer.type)) if flat is None else flat
        )
        self.bits = self.flat.view(f"u{self.flat.itemsize}")
        self.valid: Array | None = None  # None: every cell holds something
        self.forget()
        if flat is not None:
            self.valid = None

    def forget(self) -> None:
        """Take every cell for unwritten."""
        self.valid = np.zeros(self.cells * self.owners, dtype=bool)
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
        """Whether the access `key` was found to touch, or made, written cells only."""
        return key in self._settled

    def settle(self, key: Any, *, wrote: bool) -> None:
        """Note that the cells of the access `key` hold something from now on."""
        if key is not None:
            self._settled.keep(key, None)
        self._grew = self._grew or wrote
