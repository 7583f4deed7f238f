"""How many registers a thread of a kernel has, as the compiler of this session said."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

_KNOWN: dict[tuple[str, str], int] = {}
"""By a hash of the text that was compiled, and the kernel in it."""


def note(source: str, registers: Iterable[tuple[str, int]]) -> None:
    """Keep what the compiler of `source` said of kernels, each by its name."""
    _KNOWN.update({(_key(source), kernel): number for kernel, number in registers})


def known(source: str, kernel: str) -> int | None:
    """The registers of a thread; None where `source` was not compiled yet."""
    return _KNOWN.get((_key(source), kernel))


def _key(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()
