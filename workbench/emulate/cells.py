"""The cells of one buffer, with the step of the serial order at which each was last written."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.emulate.numbers import numpy_type
from workbench.ir import Buffer

NEVER = np.iinfo(np.int64).max


class OutOfOrder(Exception):
    """Lanes would show a statement another value than it sees in serial order."""


class Cells:
    """Flat memory of `buffer`; `changed` and `touched` hold a step a cell (-1: before the run).

    `changed` is when the value last became what it is (NEVER: unwritten), `touched` when it was
    last written, perhaps with the same bits; both are None for a buffer that is only read.
    A parameter's `data` is there before the run; an intermediate's, given as None, is not.
    """

    changed: Any
    touched: Any

    def __init__(self, buffer: Buffer, data: Any = None, *, only_read: bool = False) -> None:
        size = int(np.prod(buffer.shape, dtype=np.int64))
        self.buffer = buffer
        self.data = np.zeros(size, numpy_type(buffer.type)) if data is None else data
        self._bits = self.data.view(f"u{self.data.itemsize}")
        self.changed = self.touched = None
        if not only_read:
            self.changed = np.full(size, NEVER if data is None else -1, dtype=np.int64)
            self.touched = np.full(size, -1, dtype=np.int64)

    def before(self, where: Any) -> tuple[Any, ...]:
        """What `restore` needs to undo a write of the cells `where`."""
        return where, self._bits[where], self.changed[where], self.touched[where]

    def restore(self, before: tuple[Any, ...]) -> None:
        """Undo a write."""
        where, self._bits[where], self.changed[where], self.touched[where] = before

    def check_order(self, index: Any, step: Any, mask: Any) -> None:
        """Raise OutOfOrder where a cell was already written at a later step than `step`."""
        late = self.touched[index] > step
        if (late if mask is None else np.logical_and(late, mask)).any():
            raise OutOfOrder

    def write(self, where: Any, values: Any, step: Any) -> None:
        """Write `values` to the cells `where`, one a lane in serial order, at steps `step`."""
        values = np.ascontiguousarray(values, dtype=self.data.dtype)
        bits = values.view(self._bits.dtype)
        new = (self._bits[where] != bits) | (self.changed[where] == NEVER)
        if (self.touched[where][new] > step[new]).any():
            raise OutOfOrder
        self._bits[where] = bits
        if np.array_equal(
            self._bits[where], bits
        ):  # copies of one value: it is there from the first on
            self.changed[where[new][::-1]] = step[new][::-1]
        else:
            self.changed[where] = step
        self.touched[where] = np.maximum(self.touched[where], step)

    def name_of(self, cell: int) -> str:
        """The cell as a learner writes it: ``C[1, 2]``."""
        index = np.unravel_index(cell, self.buffer.shape)
        return f"{self.buffer.name}[{', '.join(str(int(i)) for i in index)}]"
