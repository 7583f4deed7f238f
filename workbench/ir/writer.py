"""Who writes programs as text, and reads them: `script`, a room above this one.

A program prints itself, so it has to know who writes it; that room says so here when it is loaded,
as it is by all that makes programs from text or from expressions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes a node as text, shows it in colour, as HTML; and reads a symbolic function anew."""

    show: Callable[..., str]
    print_highlighted: Callable[..., None]
    repr_html: Callable[..., str | None]
    specialize: Callable[..., Any]


_writers: list[Writer] = []


def write_with(writer: Writer) -> None:
    """Let programs be written by `writer` from now on."""
    _writers[:] = [writer]


def writer() -> Writer:
    """Who writes programs. Raises RuntimeError where the room of texts is not loaded yet."""
    if not _writers:
        raise RuntimeError("nothing that writes programs is loaded yet: import workbench.script")
    return _writers[0]
