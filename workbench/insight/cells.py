"""Which cells an access touches while some of its loops stand still, counted exactly."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from workbench.emulate.expressions import Expressions
from workbench.insight.accesses import Access
from workbench.insight.page import Region
from workbench.ir import Buffer, BufferLoad, Expr, Var, free_vars, walk

MOST = 1 << 22  # combinations of loop values that are still looked at one by one

_EVALUATE = Expressions()


@dataclass(frozen=True, slots=True)
class Touched:
    """The cells that an access touches, as a product of parts that depend on different loops.

    `parts` pairs the dimensions of a part with its cells (one array a dimension, no cell twice).
    `accesses` counts loads or stores of elements. `exact` is False where there was too much to
    look at: then the parts hold the ends only.
    """

    buffer: Buffer
    parts: tuple[tuple[tuple[int, ...], tuple[Any, ...]], ...]
    accesses: int
    exact: bool

    @property
    def cells(self) -> int:
        """How many distinct cells; of the box around them where not exact."""
        if not self.exact:
            return prod(count for _, count, _ in self.region()[0])
        return prod((len(values[0]) for _, values in self.parts), start=1) if self.accesses else 0

    def region(self) -> tuple[Region, bool]:
        """The cells as (start, count, step) a dimension, and whether these are exactly they."""
        spans: list[tuple[int, int, int]] = [(0, 0, 1)] * len(self.buffer.shape)
        if not self.accesses:
            return tuple(spans), True
        exact = self.exact
        for dims, values in self.parts:
            regular = 1
            for dim, column in zip(dims, values, strict=True):
                spans[dim], straight = _span(np.unique(column))
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
        if len(self.parts) == 1 and len(self.parts[0][0]) == table.ndim:
            table[_in_order(self.parts[0])] = True
            return
        if all(len(dims) == 1 for dims, _ in self.parts):
            columns = {dims[0]: values[0] for dims, values in self.parts}
            table[np.ix_(*(columns[d] for d in range(table.ndim)))] = True
            return
        index: list[Any] = [None] * table.ndim
        for k, (dims, values) in enumerate(self.parts):
            shape = [1] * len(self.parts)
            shape[k] = -1
            for dim, column in zip(dims, values, strict=True):
                index[dim] = column.reshape(shape)
        table[tuple(index)] = True


def _in_order(part: tuple[tuple[int, ...], tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(column for _, column in sorted(zip(*part, strict=True), key=lambda p: p[0]))


def _span(values: Any) -> tuple[tuple[int, int, int], bool]:
    """Sorted distinct values as (start, count, step), and whether that is exactly they."""
    first, count = int(values[0]), len(values)
    if count == 1:
        return (first, 1, 1), True
    step = int(values[1]) - first
    if (np.diff(values) == step).all():
        return (first, count, step), True
    return (first, int(values[-1]) - first + 1, 1), False


def touched(access: Access, fixed: Mapping[Var, int]) -> Touched:
    """What `access` touches while the variables in `fixed` keep their values."""
    extents = {loop.var: loop.extent for loop in access.loops if loop.var not in fixed}
    groups = _groups(access, extents)
    parts = []
    accesses, exact = access.width, True
    for variables, dims, guards in groups:
        found = _enumerate(access, fixed, extents, variables, dims, guards)
        accesses *= found[0]
        exact = exact and found[2]
        if dims:
            parts.append((tuple(dims), found[1]))
    inside = {v for variables, _, _ in groups for v in variables}
    accesses *= prod(n for v, n in extents.items() if v not in inside)
    if accesses == 0:
        parts = []
    return Touched(access.buffer, tuple(parts), accesses, exact)


def _groups(
    access: Access, extents: Mapping[Var, int]
) -> list[tuple[set[Var], list[int], list[Expr]]]:
    """Dimensions and conditions that share a variable, together."""
    groups: list[tuple[set[Var], list[int], list[Expr]]] = []
    items: list[tuple[Expr, int | None]] = [(e, d) for d, e in enumerate(access.indices)]
    items += [(guard, None) for guard in access.guards if not _reads(guard)]
    for expr, dim in items:
        own = {v for v in free_vars(expr) if v in extents}
        dims, guards = ([dim], []) if dim is not None else ([], [expr])
        merged: tuple[set[Var], list[int], list[Expr]] = (own, dims, guards)
        rest = []
        for group in groups:
            if group[0] & own:
                merged = (merged[0] | group[0], group[1] + merged[1], group[2] + merged[2])
            else:
                rest.append(group)
        groups = [*rest, merged]
    return groups


def _reads(expr: Expr) -> bool:
    return any(isinstance(node, BufferLoad) for node in walk(expr))


def lanes(
    variables: Iterable[Var], extents: Mapping[Var, int], fixed: Mapping[Var, int]
) -> dict[Var, Any]:
    """The variables as arrays, one axis each, beside the fixed ones as numbers."""
    ordered = list(variables)
    env: dict[Var, Any] = {v: np.int64(n) for v, n in fixed.items()}
    for axis, var in enumerate(ordered):
        shape = [1] * len(ordered)
        shape[axis] = -1
        env[var] = np.arange(extents[var], dtype=np.int64).reshape(shape)
    return env


def value(expr: Expr, env: Mapping[Var, Any]) -> Any:
    """`expr` over the arrays in `env`; it must not read memory."""
    with np.errstate(all="ignore"):
        return _EVALUATE.value(expr, env, None)


def _enumerate(
    access: Access,
    fixed: Mapping[Var, int],
    extents: Mapping[Var, int],
    variables: Collection[Var],
    dims: list[int],
    guards: list[Expr],
) -> tuple[int, tuple[Any, ...], bool]:
    """(how many loop values pass the guards, distinct cells of `dims`, whether all was seen)."""
    ordered = [v for v in extents if v in variables]
    count = prod(extents[v] for v in ordered)
    if count > MOST or any(_reads(access.indices[d]) for d in dims):
        columns = tuple(_ends(access, d) for d in dims)
        return count, columns, False
    env = lanes(ordered, extents, fixed)
    shape = tuple(extents[v] for v in ordered)
    keep = None
    for guard in guards:
        passed = np.broadcast_to(np.asarray(value(guard, env), dtype=bool), shape)
        keep = passed if keep is None else keep & passed
    number = count if keep is None else int(keep.sum())
    wide = access.width if dims and access.width > 1 else 0
    found = [np.asarray(_index(access, d, env, wide)) for d in dims]
    if wide:
        shape = (*shape, wide)
        keep = None if keep is None else keep[..., None]
    chosen = [_chosen(column, keep, shape, len(dims) == 1) for column in found]
    return number, _distinct(access.buffer, dims, chosen), True


def _index(access: Access, dim: int, env: Mapping[Var, Any], width: int) -> Any:
    """The index in dimension `dim`; of a vector, with its elements along a last axis."""
    index = access.indices[dim]
    if not width:
        return value(index, env)
    ramp = index
    base = np.asarray(value(ramp.base, env))  # type: ignore[attr-defined]
    return base[..., None] + ramp.stride * np.arange(width)  # type: ignore[attr-defined]


def _chosen(column: Any, keep: Any, shape: tuple[int, ...], alone: bool) -> Any:
    """The values of one dimension where the guards hold, flat; repeats may be left out if alone."""
    if keep is None:
        return (column if alone else np.broadcast_to(column, shape)).reshape(-1)
    full = np.broadcast_shapes(shape, keep.shape)
    return np.broadcast_to(column, full)[np.broadcast_to(keep, full)]


def _ends(access: Access, dim: int) -> Any:
    return np.array([0, access.buffer.shape[dim] - 1])


def _distinct(buffer: Buffer, dims: list[int], columns: list[Any]) -> tuple[Any, ...]:
    if not dims:
        return ()
    sizes = [buffer.shape[d] for d in dims]
    flat: Any = columns[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        flat = flat * size + column
    total = prod(sizes)
    if len(flat) and (int(flat.min()) < 0 or int(flat.max()) >= total):
        flat = np.unique(flat)  # outside the buffer: still shown where it would be
    else:
        seen = np.zeros(total, dtype=bool)
        seen[flat] = True
        flat = np.flatnonzero(seen)
    result = []
    for size in reversed(sizes[1:]):
        result.append(flat % size)
        flat = flat // size
    return (flat, *reversed(result))


def union(parts: Iterable[Touched]) -> tuple[Region, bool, int]:
    """The cells of several accesses to one buffer: (region, whether exactly they, how many)."""
    found = [p for p in parts if p.accesses]
    if not found:
        return (), True, 0
    if len(found) == 1:
        region, exact = found[0].region()
        return region, exact, found[0].cells
    boxes = [p.region() for p in found]
    if all(box == boxes[0] for box in boxes) and boxes[0][1]:
        return boxes[0][0], True, found[0].cells
    low = [min(b[0][d][0] for b in boxes) for d in range(len(boxes[0][0]))]
    high = [max(_last(b[0][d]) for b in boxes) for d in range(len(boxes[0][0]))]
    size = prod(end - start + 1 for start, end in zip(low, high, strict=True))
    if size > MOST or not all(p.exact for p in found):
        return (
            tuple((start, end - start + 1, 1) for start, end in zip(low, high, strict=True)),
            False,
            size,
        )
    table = np.zeros([end - start + 1 for start, end in zip(low, high, strict=True)], dtype=bool)
    for part in found:
        _shifted(part, low).mark(table)
    cells = int(table.sum())
    spans, exact = [], True
    for dim in range(table.ndim):
        others = tuple(d for d in range(table.ndim) if d != dim)
        span, straight = _span(np.flatnonzero(table.any(axis=others)))
        spans.append((span[0] + low[dim], span[1], span[2]))
        exact = exact and straight
    return tuple(spans), exact and prod(n for _, n, _ in spans) == cells, cells


def _last(span: tuple[int, int, int]) -> int:
    return span[0] + (span[1] - 1) * span[2]


def _shifted(part: Touched, low: list[int]) -> Touched:
    moved = tuple(
        (dims, tuple(c - low[d] for d, c in zip(dims, columns, strict=True)))
        for dims, columns in part.parts
    )
    return Touched(part.buffer, moved, part.accesses, part.exact)


def executions(access: Access, fixed: Mapping[Var, int] | None = None) -> int:
    """How many times `access` runs, an element of a vector at a time."""
    known = fixed or {}
    extents = {loop.var: loop.extent for loop in access.loops if loop.var not in known}
    only_guards = Access(
        access.node, (), access.guards, access.loops, access.stage, access.nest,
        access.time, access.width, access.store, access.init,
    )  # fmt: skip
    number = access.width
    inside: set[Var] = set()
    for variables, dims, guards in _groups(only_guards, extents):
        number *= _enumerate(only_guards, known, extents, variables, dims, guards)[0]
        inside |= variables
    return number * prod(n for v, n in extents.items() if v not in inside)
