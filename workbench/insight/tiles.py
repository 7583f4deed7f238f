"""tiles: what a chosen block, thread or loop value touches of each buffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.insight.accesses import Access, Loop, accesses
from workbench.insight.cells import touched, union
from workbench.insight.names import count_text, region_text
from workbench.insight.page import Kind, Point, Region, Table
from workbench.ir import Buffer, PrimFunc, free_vars


@dataclass(frozen=True, slots=True)
class Axis:
    """Something that can be chosen: a slider.

    `key` is what `select` takes: "blockIdx.x", "threadIdx.y", or a loop's printed name (with
    " of " and its block's name where two loops share it). `role` is "block", "thread", "reduce" or
    "serial". `selected` is None while the whole range is shown.
    """

    key: str
    role: str
    extent: int
    selected: int | None


@dataclass(frozen=True, slots=True)
class Touch:
    """The cells of one buffer that the selection reads, or writes (`access`).

    `region` holds exactly these cells where `exact`, else it is the smallest box around them.
    `accesses` counts the loads or stores, `cells` the distinct cells; `reuse` is their ratio.
    `even` says that each cell is surely touched as often as every other.
    """

    stage: str
    access: str
    region: Region
    exact: bool
    cells: int
    accesses: int
    reuse: float
    even: bool = False


@dataclass(frozen=True, slots=True)
class Tile:
    """One buffer and what the selection touches of it.

    `moved` names, for each dimension, the axes that its indices depend on.
    """

    buffer: str
    scope: str
    shape: Point
    touches: tuple[Touch, ...]
    moved: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Tiles:
    """The tiling picture for one selection."""

    axes: tuple[Axis, ...]
    tiles: tuple[Tile, ...]
    caption: str
    table: Table
    kind: Kind = "emulated"


def tiles(func: PrimFunc, select: Mapping[str, int | Sequence[int]] | None = None) -> Tiles:
    """What the selection touches of each buffer of `func`; what is not selected runs over all.

    `select` maps an axis' key to its value; "block" and "thread" take (x, y, z). Raises ValueError
    for an axis that the program does not have, or a value outside it.
    """
    found = accesses(func)
    keys = _keys(found)
    chosen = _chosen(keys, select or {})
    axes = tuple(
        Axis(key, loops[0].role, max(loop.extent for loop in loops), chosen.get(key))
        for key, loops in keys.items()
    )
    fixed = {
        loop.var: chosen[key] for key, loops in keys.items() if key in chosen for loop in loops
    }
    groups: dict[Buffer, dict[tuple[str, str], list[Access]]] = {b: {} for b in func.params}
    for access in found:
        kind = "write" if access.writes else "read"
        if not _takes_part(access, keys, chosen):
            continue
        groups.setdefault(access.buffer, {}).setdefault((access.stage, kind), []).append(access)
    moved = _moved(found, keys)
    result = tuple(
        Tile(b.name, b.scope, b.shape, tuple(_touches(of, fixed)), moved.get(b, ()))
        for b, of in groups.items()
    )
    return Tiles(axes, result, _caption(axes, result), _table(result))


def _takes_part(access: Access, keys: Mapping[str, list[Loop]], chosen: Mapping[str, int]) -> bool:
    """Whether the selection reaches `access`: a nest that binds no such axis is all number 0."""
    for key, number in chosen.items():
        own = [loop for loop in access.loops if loop in keys[key]]
        if own and number >= own[0].extent:
            return False
        if not own and keys[key][0].role in ("block", "thread"):
            same = [loop for loop in access.loops if loop.name == key]
            if number >= (same[0].extent if same else 1):
                return False
    return True


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
    for access in found:
        for loop in access.loops:
            loops.setdefault(loop, access.stage)
    names = [loop.name for loop in loops]
    keys: dict[str, list[Loop]] = {}
    for loop, stage in loops.items():
        key = loop.name
        if loop.role in ("serial", "reduce") and names.count(key) > 1:
            key = f"{key} of {stage}"
        keys.setdefault(key, []).append(loop)
    ranks = {"block": 0, "thread": 1}
    return dict(sorted(keys.items(), key=lambda item: ranks.get(item[1][0].role, 2)))


def _chosen(
    keys: Mapping[str, list[Loop]], select: Mapping[str, int | Sequence[int]]
) -> dict[str, int]:
    wanted: dict[str, int] = {}
    for name, value in select.items():
        if name in ("block", "thread") and not isinstance(value, int):
            axes = [f"{name}Idx.{axis}" for axis in "xyz"]
            wanted.update({a: v for a, v in zip(axes, value, strict=False) if a in keys})
        else:
            assert isinstance(value, int)
            wanted[name] = value
    for key, number in wanted.items():
        if key not in keys:
            raise ValueError(f"the program has no axis {key!r}; it has: {', '.join(keys)}")
        extent = max(loop.extent for loop in keys[key])
        if not 0 <= number < extent:
            raise ValueError(f"{key} runs from 0 to {extent - 1}, not to {number}")
    return wanted


def _touches(groups: Mapping[tuple[str, str], list[Access]], fixed: Mapping) -> list[Touch]:
    result = []
    for (stage, kind), found in groups.items():
        parts = [touched(a, dict(fixed.items())) for a in found]
        number = sum(p.accesses for p in parts)
        if number:
            region, exact, cells = union(parts)
            even = len(parts) == 1 and exact and parts[0].visits == cells
            result.append(Touch(stage, kind, region, exact, cells, number, number / cells, even))
    return result


def _caption(axes: Sequence[Axis], found: Sequence[Tile]) -> str:
    """One sentence on the buffer whose cells the selection reads most often, and what it writes."""
    at = [f"{axis.key} = {axis.selected}" for axis in axes if axis.selected is not None]
    who = ("With " + ", ".join(at) + ", the program") if at else "The whole program"
    touches = [(tile, touch) for tile in found for touch in tile.touches]
    reads = [(tile, t) for tile, t in touches if t.access == "read" and tile.scope == "global"]
    writes = [(tile, t) for tile, t in touches if t.access == "write"]
    parts = []
    if reads:
        tile, touch = max(reads, key=lambda pair: pair[1].reuse)
        parts.append(f"reads {count_text(touch.cells, 'cell')} of {tile.buffer}{_times(touch)}")
    if writes:
        tile, touch = writes[-1]
        parts.append(f"writes {count_text(touch.cells, 'cell')} of {tile.buffer}{_times(touch)}")
    return f"{who} " + (" and ".join(parts) or "touches nothing") + "."


def _times(touch: Touch) -> str:
    if touch.accesses == touch.cells:
        return " once each"
    if touch.accesses % touch.cells == 0:
        return f" {touch.accesses // touch.cells} times each"
    return f" {touch.accesses:,} times in all"


def _table(found: Sequence[Tile]) -> Table:
    rows = tuple(
        (tile.buffer, tile.scope, t.stage, t.access, region_text(tile.buffer, t.region),
         t.cells, t.accesses, round(t.reuse, 2))
        for tile in found
        for t in tile.touches
    )  # fmt: skip
    columns = ("buffer", "memory", "block", "access", "cells", "how many", "accesses", "a cell")
    return Table(columns, rows)
