"""Which cells an access touches while some of its loops stand still, counted exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from workbench.emulate.kernels.affine import Digit
from workbench.insight.accesses import Access
from workbench.insight.page import Region
from workbench.insight.spread import Group, Spread, along_axes, holding, spread, within
from workbench.ir import Var, free_vars

MOST = 1 << 22  # combinations of loop values that are still looked at one by one
MOST_KEPT = 1 << 12  # cells of a part that are kept while there are such accesses
MOST_TURNS = 1 << 18  # of them, where no more depends on it than how far a picture slides


@dataclass(frozen=True, slots=True)
class Touched:
    """The cells that an access touches, as a product of parts that depend on different loops.

    There are `rank` dimensions. `parts` pairs the dimensions of a part with its cells (one array a
    dimension, no cell twice). `accesses` counts loads or stores of elements. `exact` is False where
    there was too much to look at: then the parts hold the ends only. `visits` counts the loop
    values on which the cells depend: where it equals `cells`, no two of them meet.
    """

    rank: int
    parts: tuple[tuple[tuple[int, ...], tuple[Any, ...]], ...]
    accesses: int
    visits: int
    exact: bool

    @property
    def cells(self) -> int:
        """How many distinct cells; of the box around them where not exact."""
        if not self.exact:
            return prod(count for _, count, _ in self.region()[0])
        return prod((len(values[0]) for _, values in self.parts), start=1) if self.accesses else 0

    def region(self) -> tuple[Region, bool]:
        """The cells as (start, count, step) a dimension, and whether these are exactly they."""
        spans: list[tuple[int, int, int]] = [(0, 0, 1)] * self.rank
        if not self.accesses:
            return tuple(spans), True
        exact = self.exact
        for dims, values in self.parts:
            regular = 1
            for dim, column in zip(dims, values, strict=True):
                if not self.exact:  # the ends, or some of the values
                    low, high = int(column.min()), int(column.max())
                    spans[dim] = (low, high - low + 1, 1)
                    continue
                alone = len(dims) == 1  # then its values are distinct and in order
                spans[dim], straight = _span(column if alone else each_once(column))
                exact = exact and straight
                regular *= spans[dim][1]
            exact = exact and regular == len(values[0])
        return tuple(spans), exact

    def mark(self, table: Any) -> None:
        """Set the cells in `table`, an array of the buffer's shape; the box where not exact."""
        if not self.accesses:
            return
        if not self.exact:
            box = self.region()[0]
            table[tuple(slice(s, s + n * step, step) for s, n, step in box)] = True
            return
        index: list[Any] = [None] * table.ndim
        for k, (dims, values) in enumerate(self.parts):
            shape = [1] * len(self.parts)
            shape[k] = -1
            for dim, column in zip(dims, values, strict=True):
                index[dim] = column.reshape(shape)
        table[tuple(index)] = True


def _span(values: Any) -> tuple[tuple[int, int, int], bool]:
    """Sorted distinct values as (start, count, step), and whether that is exactly they."""
    first, count = int(values[0]), len(values)
    if count == 1:
        return (first, 1, 1), True
    last = int(values[-1])
    if last - first == count - 1:
        return (first, count, 1), True
    step = int(values[1]) - first
    if (values[1:] - values[:-1] == step).all():
        return (first, count, step), True
    return (first, last - first + 1, 1), False


def touched_by(access: Access, fixed: Mapping[Var, int]) -> Touched:
    """What `access` touches while the variables in `fixed` keep their values."""
    return cells_of(spread(access), within(access, fixed))


def cells_of(of: Spread, fixed: Mapping[Var, int]) -> Touched:
    """What accesses of the spread `of` touch; `fixed` is told in its variables."""
    key = "cells", frozenset(fixed.items())
    cells = of.known.get(key)
    if cells is None:
        cells = _cells_of(of, fixed)
        if sum(len(values[0]) for _, values in cells.parts) <= MOST_KEPT:
            of.known[key] = cells
    return cells


def _cells_of(of: Spread, fixed: Mapping[Var, int]) -> Touched:
    parts = []
    accesses, visits, exact = of.width, of.width, True
    groups = of.groups(fixed)
    for group in groups:
        number, columns, seen = _enumerate(of, fixed, group)
        accesses *= number
        exact = exact and seen
        if group.dims:
            visits *= number
            parts.append((group.dims, columns))
    accesses *= rest(of, fixed, groups)
    return Touched(len(of.shape), tuple(parts) if accesses else (), accesses, visits, exact)


def executions(access: Access, fixed: Mapping[Var, int] | None = None) -> int:
    """How many times `access` runs, an element of a vector at a time."""
    of, at = spread(access), within(access, fixed or {})
    key = "executions", frozenset(at.items())
    if key not in of.known:
        groups = of.groups(at, only_guards=True)
        number = prod(_enumerate(of, at, group)[0] for group in groups)
        of.known[key] = of.width * number * rest(of, at, groups)
    runs: int = of.known[key]
    return runs


def rest(of: Spread, fixed: Mapping[Var, int], groups: Iterable[Group]) -> int:
    """How many values the running digits take that no group depends on."""
    inside = {digit for group in groups for digit in group.digits}
    return prod(digit.size for digit in of.free(fixed) if digit not in inside)


def _enumerate(
    of: Spread, fixed: Mapping[Var, int], group: Group
) -> tuple[int, tuple[Any, ...], bool]:
    """(how many loop values pass the guards, distinct cells of the group, whether all was seen)."""
    ordered = [digit for digit in of.free(fixed) if digit in group.digits]
    shape = tuple(digit.size for digit in ordered)
    if prod(shape) > MOST or any(of.reads_memory[d] for d in group.dims):
        ends = (_ends(of, fixed, d) for d in group.dims)
        return prod(shape), tuple(map(np.unique, ends)), False
    dense = _dense(of, fixed, group)
    if dense is not None:
        return prod(shape), (dense,), True
    values = of.values(ordered, fixed)
    number, keep = prod(shape), None
    if group.guards:
        keep = holding(group.guards, of.variables(values), shape)
        number = int(keep.sum())
    columns = [of.index(d, values) for d in group.dims]
    if group.dims and of.ramp is not None:
        lanes = np.arange(of.ramp.lanes)
        columns = [column[..., None] + of.ramp.stride * lanes for column in columns]
        shape = (*shape, of.ramp.lanes)
        keep = None if keep is None else keep[..., None]
    chosen = [_chosen(column, keep, shape, len(columns) == 1) for column in columns]
    return number, _distinct([of.shape[d] for d in group.dims], chosen), True


def _ends(of: Spread, fixed: Mapping[Var, int], dim: int) -> tuple[int, int]:
    """The first and last cell along a dimension, of those that there are: conditions left aside."""
    last, form = of.shape[dim] - 1, of.forms[dim]
    if form.rest or of.ramp is not None:
        return 0, last
    low = high = form.const
    running = {*of.free(fixed)}
    for digit, factor in form.terms.items():
        assert isinstance(digit, Digit)
        if digit in running:
            low, high = (
                low + min(factor * (digit.size - 1), 0),
                high + max(factor * (digit.size - 1), 0),
            )
        else:
            at = factor * (fixed.get(digit.var, 0) // digit.stride % digit.size)
            low, high = low + at, high + at
    return min(max(low, 0), last), max(min(high, last), 0)


def same_turns(of: Spread, at: Mapping[Var, int]) -> dict[Var, range]:
    """The values of variables around those that they have `at`, for which the same turns run.

    Conditions tell which turns of the loops that are not among these variables do. What they say
    is looked at for all values together: of each variable, for which of its values it is the same
    whatever those after it are. Where there is too much to look at, each keeps the one it is at.
    """
    same: dict[Var, range] = {}
    for group in of.groups(at, only_guards=True) if of.asked & at.keys() else ():
        inside = {var for guard in group.guards for var in free_vars(guard)}
        asked = [var for var in at if var in inside]
        if not asked:
            continue
        turns = [digit for digit in of.free(at) if digit in group.digits]
        shape = (*(of.extents[v] for v in asked), *(digit.size for digit in turns))
        if prod(shape) > MOST_TURNS:
            same |= {v: range(at[v], at[v] + 1) for v in asked}
            continue
        own = along_axes(shape)
        values = of.values(turns, at) | dict(zip(turns, own[len(asked) :], strict=True))
        for var, axis in zip(asked, own, strict=False):
            values |= {d: axis // d.stride % d.size for d in of.cut.of[var]}
        keep = holding(group.guards, of.variables(values), shape)
        for var in asked:
            alike = (keep == keep[at[var]]).all(axis=tuple(range(1, keep.ndim)))
            first, end = _run(alike, at[var])
            known = same.get(var, range(end))
            same[var] = range(max(known.start, first), min(known.stop, end))
            keep = keep[at[var]]
    return same


def _run(true: Any, at: int) -> tuple[int, int]:
    """The first and the end of the numbers around `at` that are all true."""
    no = np.flatnonzero(~true)
    after = int(np.searchsorted(no, at))
    first = int(no[after - 1]) + 1 if after else 0
    return first, int(no[after]) if after < len(no) else len(true)


def _dense(of: Spread, fixed: Mapping[Var, int], group: Group) -> Any:
    """The cells of one dimension where its digits count through a range; None where they do not.

    Sorted by how far a step goes, each digit has to go on where those before it end.
    """
    if len(group.dims) != 1 or group.guards or of.ramp is not None:
        return None
    form = of.forms[group.dims[0]]
    if form.rest:
        return None
    start, steps = form.const, []
    for digit, factor in form.terms.items():
        assert isinstance(digit, Digit)
        if digit in group.digits:
            steps.append((factor, digit.size))
        else:
            start += factor * (fixed.get(digit.var, 0) // digit.stride % digit.size)
    steps.sort()
    step = steps[0][0] if steps else 1
    end = step
    for factor, size in steps:
        if factor != end or factor <= 0:
            return None
        end *= size
    return np.arange(start, start + end, step)


def _chosen(column: Any, keep: Any, shape: tuple[int, ...], alone: bool) -> Any:
    """The values of one dimension where the guards hold, flat; repeats may be left out if alone."""
    if keep is None:
        return (column if alone else np.broadcast_to(column, shape)).reshape(-1)
    return np.broadcast_to(column, shape)[np.broadcast_to(keep, shape)]


def _distinct(sizes: list[int], columns: list[Any]) -> tuple[Any, ...]:
    """The cells of dimensions of these `sizes`, each once and in order."""
    if not sizes:
        return ()
    flat: Any = columns[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        flat = flat * size + column
    low, end = (int(flat.min()), int(flat.max()) + 1) if len(flat) else (0, 0)
    if end - low > MOST:
        flat = each_once(flat)
    else:  # where it is outside it is still shown where it would be
        seen = np.zeros(end - low, dtype=bool)
        seen[flat - low] = True
        flat = np.flatnonzero(seen) + low
    result = []
    for size in reversed(sizes[1:]):
        result.append(flat % size)
        flat = flat // size
    return (flat, *reversed(result))


def each_once(values: Any) -> Any:
    """Its values in order, each once: np.unique hashes them, and takes thirty times as long."""
    ordered = np.sort(values, axis=None)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def union(parts: Iterable[Touched]) -> tuple[Region, bool, int]:
    """The cells of several accesses to one buffer: (region, whether exactly they, how many)."""
    reached = [p for p in parts if p.accesses]
    if not reached:
        return (), True, 0
    if len(reached) == 1:
        region, exact = reached[0].region()
        return region, exact, reached[0].cells
    boxes = [p.region() for p in reached]
    if all(box == boxes[0] for box in boxes) and boxes[0][1]:
        return boxes[0][0], True, reached[0].cells
    around = box_around(box for box, _ in boxes)
    size = prod(count for _, count, _ in around)
    if size > MOST or not all(p.exact for p in reached):
        return around, False, size
    table = np.zeros([count for _, count, _ in around], dtype=bool)
    low = [start for start, _, _ in around]
    for part in reached:
        _shifted(part, low).mark(table)
    cells = int(table.sum())
    spans, exact = [], True
    for dim in range(table.ndim):
        others = tuple(d for d in range(table.ndim) if d != dim)
        span, straight = _span(np.flatnonzero(table.any(axis=others)))
        spans.append((span[0] + low[dim], span[1], span[2]))
        exact = exact and straight
    return tuple(spans), exact and prod(n for _, n, _ in spans) == cells, cells


def box_around(regions: Iterable[Region]) -> Region:
    """The smallest box around all of `regions`."""
    box = []
    for spans in zip(*regions, strict=True):
        low = min(start for start, _, _ in spans)
        end = max(start + (count - 1) * step for start, count, step in spans) + 1
        box.append((low, end - low, 1))
    return tuple(box)


def _shifted(part: Touched, low: list[int]) -> Touched:
    moved = tuple(
        (dims, tuple(c - low[d] for d, c in zip(dims, columns, strict=True)))
        for dims, columns in part.parts
    )
    return Touched(part.rank, moved, part.accesses, part.visits, part.exact)
