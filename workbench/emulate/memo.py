"""What the emulator remembers so as not to work it out again, and no more than is worth it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

T = TypeVar("T")

MOST = 1 << 25  # bytes that one memory may hold: a long serial loop brings new keys for ever
ENTRY = 1 << 10  # bytes that a small value and its key cost, roughly


class Memo(dict[Hashable, T]):
    """A dictionary that forgets everything before it holds more than MOST bytes."""

    _size = 0

    def keep(self, key: Hashable, value: T, size: int = 0) -> None:
        """Remember `value`, which takes `size` bytes beside its entry."""
        self._size += ENTRY + size
        if self._size > MOST:
            self.clear()
            self._size = ENTRY + size
        self[key] = value
