"""who: which time step, block and thread computes each cell of a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from workbench.access.cross_thread import reduction_around
from workbench.arith import reads_memory
from workbench.diag import count_text
from workbench.insight.accesses import Access
from workbench.insight.names import point_text, region_text
from workbench.insight.page import Kind, Point, Table
from workbench.insight.resting import Idle, Resting
from workbench.insight.spread import spread
from workbench.insight.stored import Stored, stored
from workbench.insight.wavefronts import WARP
from workbench.insight.who_cells import MOST_CELLS, Cell, who_cells
from workbench.insight.who_groups import Group, who_groups, who_zoom
from workbench.ir import PrimFunc
from workbench.ir.places import places

LABELS = ("time", "block", "thread")


@dataclass(frozen=True, slots=True)
class Who:
    """The who-does-what picture of one buffer.

    `labels` are those of "time", "block", "thread" that tell cells apart. `cells` holds every cell
    of a small buffer (`whole`), else those of the first corner. `groups` cover the whole buffer:
    one a block where blocks are bound, else one a thread, else one a stretch of time; `left_out`
    groups, all before the last one there is, are not listed; none is that has no cell. `zoom` are
    the threads of the first block, where both are bound; `zoom_left_out` of them are not listed.
    `idle` are the threads that compute no cell of a small buffer; `idle_left_out` of them are not
    listed, nor any of a large buffer, where none is counted in more than MOST_LANES threads.
    `in_parts` says that the threads which write a cell share its sum out, `together` that a warp
    writes cells by calls: its 32 threads together, and the first of them stands for it. `stages` is
    how many statements the cells are from.
    """

    buffer: str
    scope: str
    shape: Point
    labels: tuple[str, ...]
    whole: bool
    cells: tuple[Cell, ...]
    groups: tuple[Group, ...]
    left_out: int
    zoom: tuple[Group, ...]
    caption: str
    table: Table
    kind: Kind = "counted"
    zoom_left_out: int = 0
    idle: tuple[Idle, ...] = ()
    idle_left_out: int = 0
    in_parts: bool = False
    together: bool = False
    stages: int = 1

    def sentence(self, cell: Cell) -> str:
        """One sentence on who computes `cell`."""
        return _sentence(self.buffer, cell, self.labels, self.in_parts, self.together)


def who(func: PrimFunc, buffer: str | None = None) -> Who:
    """Who computes each cell of the buffer named `buffer` (default: the last output).

    Of cells that several stores write it is the last of them, of those that write cells which no
    later one does. A time step is one block instance that a thread runs, counted from 0 in the
    order of its loops; what a thread binding covers takes no time of its own, virtual threads
    neither, which are in step, and a call of a warp is one step. Raises ValueError for a name of
    nothing that the program writes.
    """
    stores = stored(func, buffer)
    last = stores[-1].store
    parts = _in_parts(func, last)
    if len(stores) > 1:
        return _who(stores, parts)
    known, key = spread(last).known, ("who", stores[0].likeness(), parts)
    if key not in known:
        known[key] = _who(stores, parts)
    found: Who = known[key]
    return found


def _who(stores: Sequence[Stored], parts: bool) -> Who:
    """Who computes the cells that these store; `parts`: whether threads share its sum out."""
    store = stores[-1].store
    labels = tuple(name for name in LABELS if any(name in one.labels for one in stores))
    cells = who_cells(stores, labels)
    resting = Resting(stores)
    groups, left_out = who_groups(stores, resting)
    zoom, zoom_left_out = who_zoom(stores)
    name, together = store.buffer.name, stores[-1].together
    shown = cells[min(5, len(cells) - 1)] if cells else None
    caption = f"Nothing of {name} is computed."
    if any(map(reads_memory, store.indices)):
        caption = f"Data decide which cells of {name} are computed."
    if shown is not None:
        caption = _sentence(name, shown, labels, parts, together)
    whole = prod(store.buffer.shape) <= MOST_CELLS
    table = _table(name, cells, groups, whole, together)
    idle = resting.listed() if whole else ()
    idle_left_out = resting.count - len(idle)
    return Who(
        name,
        store.buffer.scope,
        store.buffer.shape,
        labels,
        whole,
        cells,
        groups,
        left_out,
        zoom,
        caption,
        table,
        "counted",
        zoom_left_out,
        idle,
        idle_left_out,
        parts,
        together,
        len(stores),
    )


def _in_parts(func: PrimFunc, store: Access) -> bool:
    """Whether threads share out the sum that `store` adds to."""
    if store.block is None:
        return False
    known = places(func)
    reduction = reduction_around(known, known.realize(store.block))
    return reduction is not None and bool(reduction.threads)


def _sentence(
    name: str, cell: Cell, labels: tuple[str, ...], in_parts: bool, together: bool
) -> str:
    at = point_text(name, cell.index)
    if in_parts and cell.writers > 1:
        return f"{at} is put together from the parts of {cell.writers} threads."
    words = [part[0] for part in cell.forms if part[0]]
    by = "by " if len(words) > ("time" in labels) else ""
    if together:
        words.insert(len(words) - ("time" in labels), f"{WARP} lanes together")
    if "time" in labels:
        words[-1] = f"{'at' if cell.time[0] == cell.time[1] else 'in'} {words[-1]}"
    sentence = f"{at} is computed {by}{', '.join(words)}"
    if cell.writers > 1:
        sentence += f", and again by {count_text(cell.writers - 1, f'other {_doer(together)}')}"
    return sentence + "."


def _doer(together: bool) -> str:
    return "warp" if together else "thread"


def _table(
    name: str, cells: tuple[Cell, ...], groups: tuple[Group, ...], whole: bool, together: bool
) -> Table:
    if whole:
        rows = tuple((point_text(name, c.index), c.label, c.writers) for c in cells)
        return Table(("cell", "computed by", f"{_doer(together)}s that write it"), rows)
    listed = tuple((g.label, region_text(name, g.region), g.cells) for g in groups)
    if not any(g.idle for g in groups):
        return Table(("who", "cells", "how many"), listed)
    resting = tuple((*row, g.idle) for row, g in zip(listed, groups, strict=True))
    return Table(("who", "cells", "how many", "threads without a cell"), resting)
