"""tiles: what a chosen block, thread or loop value touches of each buffer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from workbench.arith import points
from workbench.diag import count_text
from workbench.insight.accesses import Access, Loop, accesses, kind_of
from workbench.insight.cells import Touched, cells_of, same_turns, union
from workbench.insight.chosen_values import Selection, chosen_values
from workbench.insight.names import region_text
from workbench.insight.page import Kind, Point, Region, Table
from workbench.insight.spread import Spread, spread, value, within
from workbench.insight.summed import summed
from workbench.ir import Buffer, Expr, PrimFunc, Var, free_vars, remembered

MOST_VALUES = 4096  # of an axis that has a table

MOST_PIECES = 64  # virtual threads whose cells are told apart


@dataclass(frozen=True, slots=True)
class Axis:
    """Something that can be chosen: a slider.

    `key` is what `select` takes: "blockIdx.x", "threadIdx.y", or a loop's printed name (where two
    loops share it with " of " and the name of its block or, in none, of what it stores). `role` is
    "block", "thread", "virtual", "reduce" or "serial". `selected` is None while the whole range is
    shown.
    """

    key: str
    role: str
    extent: int
    selected: int | None


class Digit(NamedTuple):
    """A number that an axis' value has: value // stride % size. Of all of it, stride is 1.

    Where there is a `table` it is what stands there for the value, of which there are `size`.
    """

    axis: str
    stride: int
    size: int
    table: tuple[int, ...] = ()

    def of(self, select: Mapping[str, int]) -> int:
        """The number for the values in `select`."""
        value = select[self.axis]
        return self.table[value] if self.table else value // self.stride % self.size


Moves: TypeAlias = tuple[tuple[tuple[Digit, int], ...], ...]
"""For each dimension, the digits of axes that cells move with, and by how many with each step."""


@dataclass(frozen=True, slots=True)
class Touch:
    """The cells of one buffer that the selection reads, or writes (`access`).

    `region` holds exactly these cells where `exact`, else it is the smallest box around them.
    `accesses` counts the loads or stores, `cells` the distinct cells; `reuse` is their ratio.
    `even` says that each cell is surely touched as often as every other. `stage` names the block,
    or all blocks that the numbers are of. `moves` says, for each dimension, by how many cells the
    region moves with a step of each digit of a chosen axis, all else staying as it is; it is None
    where other values of these axes change more than that. `pieces` are the regions that virtual
    threads touch, which together hold exactly its cells, where the region does not.
    """

    stage: str
    access: str
    region: Region
    exact: bool
    cells: int
    accesses: int
    reuse: float
    even: bool = False
    moves: Moves | None = None
    pieces: tuple[Region, ...] = ()


@dataclass(frozen=True, slots=True)
class Tile:
    """One buffer and what the selection touches of it.

    `touches` are those of each block, `read` and `write` those of all blocks together. `outside`
    pairs "read" or "write" with when it is done, where it is not done in the selected steps.
    `moved` names, for each dimension, the axes that its indices depend on. `copied_to` is a buffer
    of the same shape that a block copies it to, "" without one.
    """

    buffer: str
    scope: str
    shape: Point
    touches: tuple[Touch, ...]
    read: Touch | None = None
    write: Touch | None = None
    outside: tuple[tuple[str, str], ...] = ()
    moved: tuple[tuple[str, ...], ...] = ()
    copied_to: str = ""


@dataclass(frozen=True, slots=True)
class Tiles:
    """The tiling picture for one selection.

    `slides` pairs each chosen axis with values for which all is the same, but that each touch moves
    as its `moves` say; it is None where there is no such form.
    """

    axes: tuple[Axis, ...]
    tiles: tuple[Tile, ...]
    caption: str
    table: Table
    kind: Kind = "counted"
    slides: Values | None = None


Values: TypeAlias = tuple[tuple[str, int, int], ...]
"""For each of some axes, by its key, the first of its values and where they end."""


def axes(func: PrimFunc, select: Selection | None = None) -> tuple[Axis, ...]:
    """What can be chosen of `func`, and what `select` chooses, with no look at any cell.

    Raises ValueError as `tiles` does.
    """
    keys = _parts(func).keys
    return _axes(keys, _chosen(keys, select or {}))


def _axes(keys: Mapping[str, list[Loop]], chosen: Mapping[str, int]) -> tuple[Axis, ...]:
    return tuple(
        Axis(key, loops[0].role, max(loop.extent for loop in loops), chosen.get(key))
        for key, loops in keys.items()
    )


def tiles(func: PrimFunc, select: Selection | None = None) -> Tiles:
    """What the selection touches of each buffer of `func`; what is not selected runs over all.

    What stands outside a loop is no part of a selected step of it. `select` maps an axis' key to
    its value; "block" and "thread" take (x, y, z), or a number: x, or the one axis that is bound.
    Raises ValueError for an axis that the program does not have, or a value outside it.
    """
    parts = _parts(func)
    chosen = _chosen(parts.keys, select or {})
    sliding = parts.sliding.setdefault(frozenset(chosen), [])
    for known in sliding:
        if all(first <= chosen[key] < end for key, first, end in known.slides or ()):
            return _slid(func, parts, known, chosen)
    selected = _of_selection(func, parts, chosen)
    if selected.slides is not None:
        sliding.append(selected)
    return selected


def _of_selection(func: PrimFunc, parts: _Parts, chosen: Mapping[str, int]) -> Tiles:
    """What the values of the axes in `chosen` touch, looked at cell by cell."""
    found, keys = parts.found, parts.keys
    fixed = {
        loop.var: chosen[key] for key, loops in keys.items() if key in chosen for loop in loops
    }
    ends = [(number, parts.ends[key]) for key, number in chosen.items()]
    reached = [access for access in found if all(number < end[access] for number, end in ends)]
    inside, outside = _of_steps(reached, keys, chosen)
    groups: dict[Buffer, list[Access]] = {b: [] for b in func.params}
    for access in reached:
        groups.setdefault(access.buffer, [])
    for access in inside:
        groups[access.buffer].append(access)
    names = {loop.var: key for key in chosen for loop in keys[key]}
    seen = {access: _seen(access, fixed, names) for access in inside}
    result = tuple(
        Tile(
            b.name,
            b.scope,
            b.shape,
            *_touches(of, seen),
            tuple(outside.get(b, {}).items()),
            parts.moved.get(b, ()),
            parts.copies.get(b.name, ""),
        )
        for b, of in groups.items()
    )
    known = all(touch.moves is not None for touch in _all(result))
    slides = _slides(parts, seen, chosen) if known else None
    shown = _axes(keys, chosen)
    caption = _caption(func, shown, result, parts.written)
    return Tiles(shown, result, caption, _table(result), slides=slides)


def _slid(func: PrimFunc, parts: _Parts, known: Tiles, chosen: Mapping[str, int]) -> Tiles:
    """What other values of the axes chosen in `known` touch: the same cells, moved."""
    at = {axis.key: axis.selected for axis in known.axes if axis.selected is not None}
    moved = {id(touch): _moved_touch(touch, at, chosen) for touch in _all(known.tiles)}
    shown = _axes(parts.keys, chosen)
    result = tuple(
        replace(
            tile,
            touches=tuple(moved[id(touch)] for touch in tile.touches),
            read=tile.read and moved[id(tile.read)],
            write=tile.write and moved[id(tile.write)],
        )
        for tile in known.tiles
    )
    caption = _caption(func, shown, result, parts.written)
    return replace(known, axes=shown, tiles=result, caption=caption, table=_table(result))


def _moved_touch(touch: Touch, at: Mapping[str, int], to: Mapping[str, int]) -> Touch:
    """`touch`, whose region is that of the values `at`, where the values `to` have it."""
    assert touch.moves is not None
    if not any(touch.moves):
        return touch
    ahead = [
        sum(step * (digit.of(to) - digit.of(at)) for digit, step in steps) for steps in touch.moves
    ]

    def moved(region: Region) -> Region:
        return tuple((start + by, n, k) for (start, n, k), by in zip(region, ahead, strict=True))

    return replace(touch, region=moved(touch.region), pieces=tuple(map(moved, touch.pieces)))


def _all(found: Iterable[Tile]) -> list[Touch]:
    """Every touch of the tiles, those of all blocks together too."""
    return [t for tile in found for t in (*tile.touches, tile.read, tile.write) if t]


class _Parts(NamedTuple):
    """What does not depend on the selection.

    `ends` says for each axis from which value on an access is not reached. `sliding` are tiles that
    only move with other values of the axes that they choose, by those.
    """

    found: Sequence[Access]
    keys: Mapping[str, list[Loop]]
    moved: Mapping[Buffer, tuple[tuple[str, ...], ...]]
    copies: Mapping[str, str]
    written: Collection[str]  # names of buffers
    ends: Mapping[str, Mapping[Access, int]]
    sliding: dict[frozenset[str], list[Tiles]]


def _parts(func: PrimFunc) -> _Parts:
    """The parts of `func`, worked out once: a slider asks for many selections."""
    known: dict[Any, _Parts] = remembered(func)
    if "tiles" not in known:
        found = summed(func)
        keys = _keys(accesses(func))
        written = {access.buffer.name for access in found if access.writes}
        moved = _moved(found, keys)
        ends = {key: _ends(found, loops) for key, loops in keys.items()}
        known["tiles"] = _Parts(found, keys, moved, _copies(found), written, ends, {})
    return known["tiles"]


def _of_steps(
    reached: Sequence[Access], keys: Mapping[str, list[Loop]], chosen: Mapping[str, int]
) -> tuple[list[Access], dict[Buffer, dict[str, str]]]:
    """What is done in the selected steps of loops; and when the rest is, by buffer and kind."""
    steps = [key for key in keys if key in chosen and keys[key][0].role in ("serial", "reduce")]
    around = [{key for key in steps if set(keys[key]) & set(a.loops)} for a in reached]
    inside: list[Access] = []
    outside: dict[Buffer, dict[str, str]] = {}
    for place, (access, own) in enumerate(zip(reached, around, strict=True)):
        deeper = next((k for k, other in enumerate(around) if own < other), None)
        if deeper is None:
            inside.append(access)
            continue
        loop = next(key for key in steps if key in around[deeper] - own)
        when = f"{'before' if place < deeper else 'after'} the loop over {loop}"
        kinds = outside.setdefault(access.buffer, {})
        before = kinds.get(kind := kind_of(access))
        kinds[kind] = when if before in (None, when) else f"before and {when}"
    done = {(access.buffer, kind_of(access)) for access in inside}
    for buffer, kinds in outside.items():
        for kind in [kind for kind in kinds if (buffer, kind) in done]:
            del kinds[kind]
    return inside, outside


def _copies(found: Sequence[Access]) -> dict[str, str]:
    """Which buffer is copied to which of the same shape, by blocks that do nothing else."""
    stages: dict[str, dict[str, set[Buffer]]] = {}
    for access in found:
        stage = stages.setdefault(access.stage, {"read": set(), "write": set()})
        stage[kind_of(access)].add(access.buffer)
    pairs = [
        (*of["read"], *of["write"])
        for of in stages.values()
        if (len(of["read"]), len(of["write"])) == (1, 1)
    ]
    return {a.name: b.name for a, b in pairs if a is not b and a.shape == b.shape}


def _ends(found: Sequence[Access], loops: Sequence[Loop]) -> dict[Access, int]:
    """For each access, the value of the axis that `loops` are from which on it is not reached.

    A nest that binds no such axis is all number 0.
    """
    first, most = loops[0], max(loop.extent for loop in loops)
    shared = first.role in ("block", "thread")

    def end(access: Access) -> int:
        own = [loop.extent for loop in access.loops if loop in loops]
        if own or not shared:
            return own[0] if own else most
        return next((loop.extent for loop in access.loops if loop.name == first.name), 1)

    return {access: end(access) for access in found}


def _moved(
    found: Sequence[Access], keys: Mapping[str, list[Loop]]
) -> dict[Buffer, tuple[tuple[str, ...], ...]]:
    """For each buffer and dimension, the axes that an index of it depends on."""
    key_of = {loop.var: key for key, loops in keys.items() for loop in loops}
    moved: dict[Buffer, list[dict[str, None]]] = {}
    for access in found:
        dims = moved.setdefault(access.buffer, [{} for _ in access.indices])
        for dim, index in zip(dims, access.indices, strict=True):
            dim.update(dict.fromkeys(key_of[v] for v in free_vars(index) if v in key_of))
    return {buffer: tuple(map(tuple, dims)) for buffer, dims in moved.items()}


def _keys(found: Sequence[Access]) -> dict[str, list[Loop]]:
    """Every axis by its key: blocks, threads, then loops as they stand in the program."""
    loops: dict[Loop, str] = {}
    for access in sorted(found, key=lambda one: not (one.stage or one.writes)):
        for loop in access.loops:  # of a statement in no block, what it stores
            loops.setdefault(loop, access.stage or access.buffer.name)
    names = [loop.name for loop in loops]
    keys: dict[str, list[Loop]] = {}
    for loop, stage in loops.items():
        key = loop.name
        if loop.role not in ("block", "thread") and names.count(key) > 1:
            key = f"{key} of {stage}"
        keys.setdefault(key, []).append(loop)
    ranks = {"block": 0, "thread": 1, "virtual": 2}
    return dict(sorted(keys.items(), key=lambda item: ranks.get(item[1][0].role, 3)))


def _chosen(keys: Mapping[str, list[Loop]], select: Selection) -> dict[str, int]:
    """The axes that are chosen and their values; loops that share an axis count to the longest."""
    return chosen_values(
        {key: max(loop.extent for loop in loops) for key, loops in keys.items()}, select
    )


def _slides(
    parts: _Parts, inside: Mapping[Access, Seen], chosen: Mapping[str, int]
) -> Values | None:
    """For which values the same accesses are reached, those `inside` under the same conditions."""
    around: dict[str, tuple[int, int]] = {}
    for key, number in chosen.items():
        loops = parts.keys[key]
        if len(loops) > 1 and any(len({*access.loops} & {*loops}) > 1 for access in parts.found):
            return None  # two loops of a nest are one axis
        ends = {0, max(loop.extent for loop in loops), *parts.ends[key].values()}
        around[key] = max(e for e in ends if e <= number), min(e for e in ends if e > number)
    for seen in inside.values():
        for key, first, end in seen.values:
            around[key] = max(around[key][0], first), min(around[key][1], end)
    return tuple((key, *ends) for key, ends in around.items())


def _moves(of: Spread, part: Touched, names: Mapping[Var, str]) -> Moves | None:
    """By how much the cells of `part` move with the chosen axes `names`; None: not just that.

    An index that is a sum of a part without these axes, of multiples of their digits and of what a
    table over one of them has moves by these, for all values for which the same turns take part:
    see `same_turns`.
    """
    if not part.exact or any(of.reads_memory):
        return None
    moves = []
    for form in of.forms:
        steps: list[tuple[Digit, int]] = []
        for expr, times in form.rest:
            if any(var in names for var in free_vars(expr)):
                digit = _table_of(expr, names, of)
                if digit is None:
                    return None
                steps.append((digit, times))
        for var, name in names.items():
            digits = [d for d in of.cut.of.get(var, ()) if d.size > 1]
            factors = {form.terms.get(d, 0) / d.stride for d in digits}
            if len(factors) == 1 and (factor := factors.pop()).is_integer():
                steps.append((Digit(name, 1, of.extents[var]), int(factor)))
            else:
                steps += [(Digit(name, d.stride, d.size), form.terms.get(d, 0)) for d in digits]
        moves.append(tuple((digit, step) for digit, step in steps if step))
    return tuple(moves)


def _table_of(expr: Expr, names: Mapping[Var, str], of: Spread) -> Digit | None:
    """What `expr` is for each value of the one axis that it depends on.

    None where it depends on more than that, or where there are too many values.
    """
    var, *others = free_vars(expr)
    size = of.extents[var]
    if others or size > MOST_VALUES:
        return None
    table = np.broadcast_to(value(expr, {var: np.arange(size)}), size)
    return Digit(names[var], 1, size, tuple(map(int, table)))


class Seen(NamedTuple):
    """What an access touches, how that moves, for which values, and what virtual threads touch."""

    part: Touched
    moves: Moves | None
    values: Values
    pieces: tuple[Region, ...]


def _seen(access: Access, fixed: Mapping[Var, int], names: Mapping[Var, str]) -> Seen:
    """What `access` touches: worked out once for all accesses like it."""
    of = spread(access)
    at = within(access, {loop.var: fixed[loop.var] for loop in access.loops if loop.var in fixed})
    axes = within(access, names)
    key = "seen", tuple(at.items()), tuple(axes.items())
    if key not in of.known:
        of.known[key] = _look(of, at, axes)
    seen: Seen = of.known[key]
    return seen


def _look(of: Spread, at: Mapping[Var, int], axes: Mapping[Var, str]) -> Seen:
    """What accesses touch where variables are `at` these values, which the `axes` choose."""
    cells = cells_of(of, at)
    moves = _moves(of, cells, axes) if cells.accesses else None
    same = same_turns(of, at).items()
    values = tuple((axes[var], turns.start, turns.stop) for var, turns in same)
    pieces = () if cells.region()[1] else _pieces(of, at)
    return Seen(cells, moves, values, pieces)


def _touches(
    found: Sequence[Access], known: Mapping[Access, Seen]
) -> tuple[tuple[Touch, ...], Touch | None, Touch | None]:
    """What each block reads and writes, and all reads and all writes."""
    parts: dict[tuple[str, str], list[Seen]] = {}
    for access in found:
        if known[access].part.accesses:
            parts.setdefault((access.stage, kind_of(access)), []).append(known[access])
    made = {(stage, kind): _touch(stage, kind, of) for (stage, kind), of in parts.items()}
    totals = []
    for kind in ("read", "write"):
        stages = [stage for stage, of in parts if of == kind]
        every = [part for stage in stages for part in parts[stage, kind]]
        total = made[stages[0], kind] if len(stages) == 1 else None
        totals.append(total or (_touch(", ".join(stages), kind, every) if every else None))
    return tuple(made.values()), totals[0], totals[1]


def _pieces(of: Spread, fixed: Mapping[Var, int]) -> tuple[Region, ...]:
    """The region that each virtual thread touches; () where these are many, or no regions."""
    virtual = {var: range(of.extents[var]) for var in of.virtual if var not in fixed}
    if not 1 < prod(map(len, virtual.values())) <= MOST_PIECES:
        return ()
    found: dict[Region, None] = {}
    for turn in points(virtual):
        part = cells_of(of, {**fixed, **turn})
        region, exact = part.region()
        if not exact:
            return ()
        if part.accesses:
            found[region] = None
    return tuple(found)


def _touch(stage: str, kind: str, found: Sequence[Seen]) -> Touch:
    """All that `found` touches; it moves if all of it moves alike."""
    parts = [seen.part for seen in found]
    moves = {seen.moves for seen in found}
    number = sum(part.accesses for part in parts)
    region, exact, cells = union(parts)
    # parts that each touch as many cells as all together touch the same ones
    even = cells in (1, number) or all(p.exact and p.visits == p.cells == cells for p in parts)
    pieces = {part.pieces for part in found}  # of all accesses alike, else not told
    return Touch(
        stage,
        kind,
        region,
        exact,
        cells,
        number,
        number / cells,
        even,
        moves.pop() if len(moves) == 1 else None,
        pieces.pop() if not exact and len(pieces) == 1 else (),
    )


def _caption(
    func: PrimFunc, axes: Sequence[Axis], found: Sequence[Tile], written: Collection[str]
) -> str:
    """A line for each buffer: what comes in, what is between, what goes out."""
    at = [f"{axis.key} = {axis.selected}" for axis in axes if axis.selected is not None]
    given = {buffer.name for buffer in func.params}

    def order(tile: Tile) -> int:
        return 1 if tile.buffer not in given else 2 if tile.buffer in written else 0

    lines = [f"{tile.buffer}: {_sentence(tile)}." for tile in sorted(found, key=order)]
    return "\n".join([f"With {', '.join(at)}:" if at else "The whole program:", *lines])


def _sentence(tile: Tile) -> str:
    verbs = ((tile.read, "reads"), (tile.write, "writes"))
    parts = [f"{verb} {_cells(tile, t)}{times_text(t)}" for t, verb in verbs if t is not None]
    parts += [f"{'read' if kind == 'read' else 'written'} {when}" for kind, when in tile.outside]
    return "; ".join(parts) or "not touched"


def _cells(tile: Tile, touch: Touch) -> str:
    """How many cells, and what they form: rows, columns, a box, all."""
    number = count_text(touch.cells, "cell")
    if touch.pieces:
        return f"{number} in {count_text(len(touch.pieces), 'piece')}"
    if not touch.exact or touch.cells == 1:
        return number
    whole = [count == size for (_, count, _), size in zip(touch.region, tile.shape, strict=True)]
    if all(whole):
        return f"all {number}"
    if len(whole) != 2:
        return number
    (_, rows, _), (_, columns, _) = touch.region
    if whole[1]:
        return f"{_some(rows, 'row')} ({number})"
    if whole[0]:
        return f"{_some(columns, 'column')} ({number})"
    return f"{rows:,} × {columns:,} cells"


def _some(number: int, noun: str) -> str:
    return f"one {noun}" if number == 1 else count_text(number, noun)


def times_text(touch: Touch) -> str:
    """How often its cells are touched, after their number: ", 384 times in all", ", each once"."""
    number = touch.accesses // touch.cells
    if not touch.even and touch.accesses != touch.cells:
        return f", {touch.accesses:,} times in all"
    times = "once" if number == 1 else f"{number:,} times"
    return f" {times}" if touch.cells == 1 else f", each {times}"


def _table(found: Sequence[Tile]) -> Table:
    rows = []
    for tile in found:
        rows += [
            (
                tile.buffer,
                tile.scope,
                t.stage,
                t.access,
                region_text(tile.buffer, t.region),
                t.cells,
                t.accesses,
                round(t.reuse, 2),
            )
            for t in (tile.read, tile.write)
            if t is not None
        ]
        rows += [(tile.buffer, tile.scope, "–", kind, when, 0, 0, 0) for kind, when in tile.outside]
    columns = ("buffer", "memory", "block", "access", "cells", "how many", "accesses", "a cell")
    return Table(columns, tuple(rows))


def keys_of(func: PrimFunc) -> Mapping[str, list[Loop]]:
    """The loops that each axis of the tiles is, by its key."""
    return _parts(func).keys
