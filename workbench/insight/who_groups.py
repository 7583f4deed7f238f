"""who_groups: what each block, thread or stretch of time computes of a buffer."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import prod
from typing import Any, NamedTuple

import numpy as np

from workbench.arith import points, prove
from workbench.emulate.kernels.affine import Digits
from workbench.insight.accesses import Access, Loop
from workbench.insight.cells import touched_by, union
from workbench.insight.names import time_forms
from workbench.insight.page import Point, Region
from workbench.insight.resting import Resting
from workbench.insight.spread import along_axes, holding
from workbench.insight.stored import MOST_LANES, Stored
from workbench.ir import Var, free_vars

MOST_GROUPS = 256


@dataclass(frozen=True, slots=True)
class Group:
    """The cells that one block, one thread or one stretch of time computes.

    `forms` are the label and the shorter ways to say it. `region` holds exactly these cells where
    `exact`, else it is the smallest box around them. `idle` counts the threads of a block that
    compute no cell.
    """

    label: str
    time: tuple[int, int]
    block: Point | None
    thread: Point | None
    region: Region
    exact: bool
    cells: int
    forms: tuple[str, ...]
    idle: int = 0


class _Part(NamedTuple):
    """Stores that go `by` the same blocks or threads, or one that goes by a loop of its own."""

    stores: Sequence[Stored]
    by: list[Loop]


def who_groups(stores: Sequence[Stored], resting: Resting) -> tuple[tuple[Group, ...], int]:
    """A group a block where blocks tell cells apart, else a thread, else a stretch of time.

    And how many groups, all before the last one, are not listed.
    """
    parts: list[_Part] = []
    for own in _launches(stores):
        if by := _telling(own, own[0].blocks) or _telling(own, own[0].threads):
            parts.append(_Part(own, by))
        else:
            parts += [_Part([store], _first_serial(store)) for store in own]
    return _listed(parts, resting)


def who_zoom(stores: Sequence[Stored]) -> tuple[tuple[Group, ...], int]:
    """A group for each thread of the first block, where both tell cells apart."""
    pairs = [(own, _telling(own, own[0].threads)) for own in _launches(stores)]
    parts = [_Part(own, by) for own, by in pairs if by and _telling(own, own[0].blocks)]
    return _listed(parts, None)


def _launches(stores: Sequence[Stored]) -> list[list[Stored]]:
    """The stores that the same blocks and threads run, together."""
    found: dict[tuple[Loop, ...], list[Stored]] = {}
    for store in stores:
        found.setdefault(tuple(store.units), []).append(store)
    return [*found.values()]


def _telling(stores: Sequence[Stored], units: Sequence[Loop]) -> list[Loop]:
    """Those of the axes that tell cells of the stores apart."""
    return [unit for unit in units if any(unit in store.loops for store in stores)]


def _first_serial(store: Stored) -> list[Loop]:
    serial = [loop for loop in store.loops if loop.var in store.store.cell_variables()]
    if store.together:  # what is inside of the call is one step
        serial = [loop for loop in serial if loop.var in store.factors]
    return serial[:1] if len(serial) > 1 and serial[0].extent <= MOST_GROUPS else []


def _listed(parts: Sequence[_Part], resting: Resting | None) -> tuple[tuple[Group, ...], int]:
    """A group for each value of the loops that parts go by, x fastest, of threads in block 0.

    Of too many, the first and the last. Blocks of several launches that have one number are one.
    """
    left_out = 0
    found: dict[Hashable, list[_Piece]] = {}
    for number, (stores, by) in enumerate(parts):
        by = sorted(by, key=lambda loop: loop.name[-1], reverse=True) if len(by) > 1 else by
        beyond = max(0, prod(loop.extent for loop in by) - MOST_GROUPS)
        left_out = max(left_out, beyond)
        moves = [_Moves(store.store, by) for store in stores]
        zero = {block.var: 0 for block in stores[0].blocks if block not in by}
        bound = any(loop in stores[0].units for loop in by)
        for values in _values(by, beyond):
            at = {**zero, **values} if bound else values
            key = stores[0].place(at) if bound else (number, *values.values())
            pieces = zip(stores, moves, strict=True)
            found.setdefault(key, []).extend(_Piece(s, m, at, by) for s, m in pieces)
    groups = (_group(pieces, resting) for pieces in found.values())
    return tuple(group for group in groups if group is not None), left_out


def _values(by: Sequence[Loop], left_out: int) -> Iterator[dict[Var, int]]:
    """The first values of loops, and of too many the last."""
    few = {loop.var: range(min(loop.extent, MOST_GROUPS)) for loop in by}
    first = islice(points(few), MOST_GROUPS - (left_out > 0))
    return chain(first, [{loop.var: loop.extent - 1 for loop in by}] if left_out else [])


class _Moves:
    """How the cells of a store move with the loops `by`, where they only move.

    Where conditions ask for these loops they only move among values for which all surely hold: the
    last of many blocks alone may be cut off, and only that is looked at again.
    """

    def __init__(self, store: Access, by: list[Loop]) -> None:
        variables = {loop.var for loop in by}
        self.rank = len(store.indices)
        self.digits = Digits({loop.var: loop.extent for loop in by}, {})
        self.digits.cut_for(store.indices)
        forms = [self.digits.form(index) for index in store.indices]
        rest = (expr for form in forms for expr, _ in form.rest)
        self.only_moves = all(variables.isdisjoint(free_vars(expr)) for expr in rest)
        self.asked = [g for g in store.guards if not variables.isdisjoint(free_vars(g))]
        self.ends = {loop.var: (0, loop.extent - 1) for loop in store.loops}
        digits = [(loop.var, digit) for loop in by for digit in self.digits.of[loop.var]]
        self.steps = [  # (loop, stride and size of its digit, dimension, how far this moves it)
            (var, digit.stride, digit.size, dim, form.terms[digit])
            for var, digit in digits
            for dim, form in enumerate(forms)
            if digit in form.terms
        ]
        self.start: tuple[Point, Region, bool, int] | None = None  # with the offset that it has

    def surely(self, values: Mapping[Var, int]) -> bool:
        """Whether the cells of `values` are those of others, moved."""
        ends = {**self.ends, **{var: (value, value) for var, value in values.items()}}
        return self.only_moves and all(prove(guard, ends) for guard in self.asked)

    def offset(self, values: Mapping[Var, int]) -> Point:
        """How far the cells of `values` lie from those of all zeros."""
        result = [0] * self.rank
        for var, stride, size, dim, factor in self.steps:
            result[dim] += factor * (values[var] // stride % size)
        return tuple(result)


class _Piece(NamedTuple):
    """What a store does of a group: of these `values` of the loops that it goes `by`."""

    stored: Stored
    moves: _Moves
    values: Mapping[Var, int]
    by: Sequence[Loop]

    def touched(self) -> tuple[Region, bool, int]:
        """Its cells, whether these are all of the region, and how many they are."""
        moves, moved = self.moves, self.moves.surely(self.values)
        if moves.start is None or not moved:
            found = touched_by(self.stored.store, self.values)
            region, exact = found.region()
            if moved:
                moves.start = moves.offset(self.values), region, exact, found.cells
            return region, exact, found.cells
        at, region, exact, cells = moves.start
        offset = moves.offset(self.values)
        spans = zip(region, offset, at, strict=True)
        return tuple((s + to - of, n, k) for (s, n, k), to, of in spans), exact, cells

    def time(self) -> tuple[int, int]:
        """The first and the last step at which it stores."""
        usual = self.stored.time(self.values, self.values)
        return (_times(self.stored, self.values) or usual) if self.stored.store.guards else usual


def _group(pieces: Sequence[_Piece], resting: Resting | None) -> Group | None:
    """What some stores do together; None where they store no cell."""
    there = [(piece, told) for piece in pieces if (told := piece.touched())[2]]
    if not there:
        return None
    if len(there) == 1:
        region, exact, cells = there[0][1]
    else:
        each = (touched_by(piece.stored.store, piece.values) for piece, _ in there)
        region, exact, cells = union(each)
    times = [piece.time() for piece, _ in there]
    time = min(first for first, _ in times), max(last for _, last in times)
    stored, _, values, by = there[0][0]
    block, thread = stored.place(values)
    if any(loop in by for loop in stored.threads):
        assert thread is not None
        forms = stored.unit_forms("thread", thread)
    elif any(loop in by for loop in stored.blocks):
        assert block is not None
        forms, thread = stored.unit_forms("block", block), None
    else:  # every block computes them
        forms, block, thread = time_forms(*time), None, None
    idle = resting.within(values) if resting and {*by} == {*stored.blocks} else 0
    return Group(forms[0], time, block, thread, region, exact, cells, forms, idle)


def _times(stored: Stored, values: Mapping[Var, int]) -> tuple[int, int] | None:
    """First and last step at which one of the loop `values` stores, where conditions let it.

    None where these are the first and last there are, or would be too many to look at.
    """
    asked = {var for guard in stored.held for var in free_vars(guard)}
    free = {v: n for v, n in stored.extents.items() if v in asked and v not in values and n > 1}
    if not asked or prod(free.values()) > MOST_LANES:
        return None
    full = tuple(free.values())
    env: dict[Var, Any] = {var: np.int64(values.get(var, 0)) for var in stored.extents}
    env |= zip(free, along_axes(full), strict=True)
    keep = holding(stored.held, env, full)
    if not keep.any():
        return None
    steps = sum(factor * env[var] for var, factor in stored.factors.items())
    there = np.broadcast_to(np.asarray(steps), full)[keep]
    rest = (
        factor * (stored.extents[var] - 1)
        for var, factor in stored.factors.items()
        if var not in values and var not in free
    )
    return stored.start + int(there.min()), stored.start + int(there.max()) + sum(rest)
