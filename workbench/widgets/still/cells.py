"""Which cell of a notebook shows a lab: a page that is loaded again puts it back there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Protocol
from weakref import WeakSet


class Shown(Protocol):
    """What a cell shows, and the id of that cell."""

    cell: str


_shown: dict[str, tuple[str, WeakSet[Shown]]] = {}
"""Of a cell, by its id: its last run, by the id of the message, and what that shows."""


def show(lab: Shown) -> None:
    """Note in `lab.cell` which cell runs now, "" where the notebook does not tell.

    What earlier runs of that cell showed has no cell any more.
    """
    cell, run = _running()
    if not cell:
        return
    last, shown = _shown.get(cell, ("", WeakSet[Shown]()))
    if last != run:
        for old in shown:
            old.cell = ""
        shown = WeakSet()
    shown.add(lab)
    _shown[cell] = run, shown
    lab.cell = cell


def _running() -> tuple[str, str]:
    """The id of the cell that runs, and that of the message that asked for it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    parent: Mapping[str, Mapping[str, object]]
    parent = getattr(getattr(shell, "kernel", None), "get_parent", dict)()
    cell = parent.get("metadata", {}).get("cellId", "")
    return str(cell), str(parent.get("header", {}).get("msg_id", ""))
