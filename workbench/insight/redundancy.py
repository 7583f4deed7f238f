"""redundancy: how often one block loads each element of a buffer."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from workbench.access.accesses import by_buffer
from workbench.arith import reads_memory
from workbench.diag import count_text
from workbench.insight.accesses import Access, at_first
from workbench.insight.cells import MOST, rest, touched_by
from workbench.insight.names import point_text
from workbench.insight.page import Kind, Point, Table
from workbench.insight.spread import holding, spread, within
from workbench.insight.summed import summed
from workbench.ir import Buffer, PrimFunc


@dataclass(frozen=True, slots=True)
class Reuse:
    """How the first block loads one buffer: `loads` over `cells` distinct cells.

    `histogram` pairs a number of loads with how many cells are loaded that often. `most` is the
    cell that is loaded most often, `times` how often.
    """

    buffer: str
    scope: str
    loads: int
    cells: int
    average: float
    histogram: tuple[tuple[int, int], ...]
    most: Point
    times: int


@dataclass(frozen=True, slots=True)
class Redundancy:
    """Which data the first block loads again and again."""

    buffers: tuple[Reuse, ...]
    caption: str
    table: Table
    kind: Kind = "counted"


def redundancy(func: PrimFunc) -> Redundancy:
    """How often the first block loads each element of each buffer that it shares or reads.

    Where no block is bound the whole program counts as one. Accesses with too many iterations to
    look at one by one (more than 4 million), or an index read from memory, are left out.
    """
    loads = by_buffer(a for a in summed(func) if not a.writes and a.buffer.scope != "local")
    buffers = tuple(r for b, found in loads.items() if (r := _reuse(b, found)) is not None)
    return Redundancy(buffers, _caption(buffers), _table(buffers))


def _reuse(buffer: Buffer, found: list[Access]) -> Reuse | None:
    if len(found) == 1 and not found[0].guards:
        even = _even(found[0])
        if even is not None:
            return even
    times = np.zeros(prod(buffer.shape), dtype=np.int64)
    for access in found:
        loads = _loads(access)
        if loads is None:
            return None
        cells, factor = loads
        times += np.bincount(cells, minlength=len(times))[: len(times)] * factor
    loaded = times[times > 0]
    if not len(loaded):
        return None
    numbers, cells = np.unique(loaded, return_counts=True)
    most = int(np.argmax(times))
    return Reuse(
        buffer.name,
        buffer.scope,
        int(loaded.sum()),
        len(loaded),
        float(loaded.mean()),
        tuple((int(n), int(c)) for n, c in zip(numbers, cells, strict=True)),
        tuple(int(i) for i in np.unravel_index(most, buffer.shape)),
        int(times[most]),
    )


def _even(access: Access) -> Reuse | None:
    """The answer where different iterations load different cells, without counting; else None."""
    of_block = touched_by(access, at_first(access, "block"))
    if not of_block.exact or of_block.cells != of_block.visits:
        return None
    times = of_block.accesses // of_block.cells
    first = tuple(start for start, _, _ in of_block.region()[0])
    histogram = ((times, of_block.cells),)
    name, scope = access.buffer.name, access.buffer.scope
    return Reuse(
        name, scope, of_block.accesses, of_block.cells, float(times), histogram, first, times
    )


def _loads(access: Access) -> tuple[Any, int] | None:
    """The cells that the first block loads, with repeats, and how often all that happens."""
    if any(reads_memory(e) for e in (*access.indices, *access.guards)):
        return None
    of, fixed = spread(access), within(access, at_first(access, "block"))
    groups = of.groups(fixed)
    digits = {digit for group in groups for digit in group.digits}
    ordered = [digit for digit in of.free(fixed) if digit in digits]
    shape = tuple(digit.size for digit in ordered)
    if prod(shape) > MOST:
        return None
    values = of.values(ordered, fixed)
    flat: Any = np.int64(0)
    for dim, size in enumerate(access.buffer.shape):
        flat = flat * size + of.index(dim, values)
    keep = holding(access.guards, of.variables(values), shape)
    cells = np.broadcast_to(flat, shape)[keep]
    inside = (cells >= 0) & (cells < prod(access.buffer.shape))
    return cells[inside], rest(of, fixed, groups)


def _caption(buffers: tuple[Reuse, ...]) -> str:
    if not buffers:
        return "Nothing is loaded from global or shared memory."
    top = max(buffers, key=lambda r: r.average)
    cell = point_text(top.buffer, top.most)
    if top.times == 1:
        return "No element is loaded more than once by the first block."
    return f"{cell} is loaded {count_text(top.times, 'time')} by the first block."


def _table(buffers: tuple[Reuse, ...]) -> Table:
    rows = tuple(
        (r.buffer, r.scope, r.loads, r.cells, round(r.average, 2), r.times) for r in buffers
    )
    columns = ("buffer", "memory", "loads", "elements", "loads an element", "most for one")
    return Table(columns, rows)
