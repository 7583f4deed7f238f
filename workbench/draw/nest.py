"""Who computes the cells of a line, in the loops around them: a row a turn of the outer ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from workbench.draw.matrix import WIDE, cell_role, stands_for
from workbench.draw.scene import Path, Rect, Scene, Shape, Spot, Stands, Words, path, width_of
from workbench.insight import Cell, Point, Turns, Who

MOST = 8  # rows, and columns
NAMED = 46.0, 12.0  # px of a cell at least; beside its name
HEAD, HIGH = 16.0, 42.0  # px of the heads of columns; of a cell
GAP, CLOSE = 8.0, 3.0  # px between turns of the outermost loop, or blocks; of those between
AIR = 8.0  # px beside the head of a row
INSIDE, LOW = 6.0, 12.0  # px that the line of time keeps from sides, and from lower edges
POINT, WING = 5.0, 3.0  # px of its head


class Axis(NamedTuple):
    """A loop around the cells: its name, or of what it is bound to, and the loops it is of."""

    name: str
    bound: bool
    loops: tuple[str, ...]

    def head(self, value: int) -> str:
        return f"{self.ahead} {value}"

    @property
    def ahead(self) -> str:
        return self.name if self.bound else f"{self.name} ="


Places: TypeAlias = Mapping[Point, tuple[int, ...]]
"""Of each cell the turn of each axis in which it is computed."""


@dataclass(frozen=True, slots=True)
class Nest:
    """The cells of a line by turns of the loops around them, outermost first: the last are columns.

    `rows` are the turns of the others that have cells, in their order.
    """

    who: Who
    axes: tuple[Axis, ...]
    places: Places
    rows: tuple[tuple[int, ...], ...]
    names: Mapping[Point, str]
    turns: Turns

    @property
    def columns(self) -> int:
        return 1 + max(turn[-1] for turn in self.places.values())

    def words(self, cell: Cell) -> list[str]:
        """Nothing beside its name: the heads tell the rest."""
        return []

    whole = words

    @property
    def legend(self) -> str:
        """What its line is, in a sentence."""
        one = "" if "time" not in self.who.labels else "A line leads through the cells"
        return f" {one}{' of a thread' * self.is_bound} in time." if one else ""

    @property
    def is_bound(self) -> bool:
        return any(axis.bound for axis in self.axes)

    @property
    def heads(self) -> list[float]:
        """How wide the heads of rows are, for each axis of these; the last has that of columns."""
        wide = [
            max(width_of(axis.head(row[k]), "strong") for row in self.rows)
            for k, axis in enumerate(self.axes[:-1])
        ]
        wide[-1] = max(wide[-1], width_of(self.axes[-1].ahead, "strong"))
        return [one + AIR for one in wide]

    @property
    def width(self) -> float:
        """Of a cell."""
        least, beside = NAMED
        return max(least, *(width_of(name, "name") + beside for name in self.names.values()))


def nest_of(who: Who, turns: Turns | None, loops: Mapping[str, Sequence[str]]) -> Nest | None:
    """The nest of loops that computes each cell in one turn; None where there are not two of them.

    Neither is there where a cell is computed again, or heads and cells would have no room.
    """
    if turns is None or len(who.shape) != 1 or who.stages != 1:
        return None
    if any(cell.writers != 1 for cell in who.cells):
        return None
    told = {cell.index: _turn(cell, turns) for cell in who.cells}
    moving = [k for k in range(len(turns.axes)) if any(turn[k] for turn in told.values())]
    known = {k: axis for k in moving if (axis := _axis(turns.axes[k][0], turns, loops))}
    used = sorted(known, key=lambda k: turns.loops.index(known[k].loops[0]))  # outermost first
    axes = tuple(known[k] for k in used)
    places = {index: tuple(turn[k] for k in used) for index, turn in told.items()}
    if len(axes) < max(len(moving), 2) or not _is_order(who, places):
        return None
    rows = tuple(sorted({turn[:-1] for turn in places.values()}))
    for name in (who.buffer, ""):
        names = {cell.index: f"{name}[{cell.index[0]}]" for cell in who.cells}
        nest = Nest(who, axes, places, rows, names, turns)
        if max(len(rows), nest.columns) <= MOST and _right(nest) <= WIDE:
            return nest
    return None


def _turn(cell: Cell, turns: Turns) -> tuple[int, ...]:
    at = {"row": 0, "column": cell.index[-1]}
    return tuple(sum(digit.of(at) * factor for digit, factor in parts) for _, parts in turns.axes)


def _axis(key: str, turns: Turns, loops: Mapping[str, Sequence[str]]) -> Axis | None:
    """How an axis is told; None where several loops of the nest are it."""
    names = tuple(name for name in loops.get(key, ()) if name in turns.loops)
    if len(names) != 1:
        return None
    unit, _, along = key.partition("Idx.")
    alike = [one for one, _ in turns.axes if one.startswith(f"{unit}Idx.")]
    name = unit if along and len(alike) == 1 else key if along else names[0]
    return Axis(name, bool(along) and name == unit, names)


def _is_order(who: Who, places: Places) -> bool:
    """Whether each thread computes its cells one after the other in the order of the turns."""
    if len({*places.values()}) != len(places):
        return False
    return all(
        a.time[1] < b.time[0] for own in _threads(who, places).values() for a, b in pairwise(own)
    )


def _threads(who: Who, places: Places) -> Mapping[tuple[Point | None, Point | None], list[Cell]]:
    """The cells of each thread in the order of their turns."""
    found = defaultdict[tuple[Point | None, Point | None], list[Cell]](list)
    for cell in sorted(who.cells, key=lambda cell: places[cell.index]):
        found[cell.block, cell.thread].append(cell)
    return found


def nest_scene(
    nest: Nest, roles: Mapping[Point, str], changed: set[Point], asked: Point | None
) -> Scene:
    """The cells of each turn in a row, apart from those of another of the outermost loop.

    A line leads through those of a thread in the order of time.
    """
    xs, ys = _spots(nest)
    shapes: list[Shape] = []
    for cell in nest.who.cells:
        *_, column = turn = nest.places[cell.index]
        role = cell_role(roles[cell.index], cell.index in changed, cell.index == asked)
        shapes += _cell(nest, cell, xs[column], ys[turn[:-1]], role)
    shapes += _heads(nest, xs, ys)
    for own in _threads(nest.who, nest.places).values():
        shapes += _line(nest, own, xs, ys)
    return Scene(_right(nest), max(ys.values()) + HIGH, tuple(shapes), free=True)


def _spots(nest: Nest) -> tuple[list[float], dict[tuple[int, ...], float]]:
    """Where columns begin, and the row of each turn."""
    apart = GAP if any(a.block != b.block for a, b in _beside(nest)) else 0.0
    left = sum(nest.heads)
    xs = [left + column * (nest.width + apart) for column in range(nest.columns)]
    ys, y = {nest.rows[0]: HEAD}, HEAD
    for before, row in pairwise(nest.rows):
        y += HIGH + (GAP if before[0] != row[0] else CLOSE)
        ys[row] = y
    return xs, ys


def _beside(nest: Nest) -> Iterator[tuple[Cell, Cell]]:
    """Cells of a row that stand beside each other."""
    cells = sorted(nest.who.cells, key=lambda cell: nest.places[cell.index])
    for a, b in pairwise(cells):
        if nest.places[a.index][:-1] == nest.places[b.index][:-1]:
            yield a, b


def _right(nest: Nest) -> float:
    return _spots(nest)[0][-1] + nest.width


def _cell(nest: Nest, cell: Cell, x: float, y: float, role: str) -> Iterator[Shape]:
    name = f"{nest.who.buffer}[{cell.index[0]}]"
    of = stands_for(nest.who, cell, nest.turns, f"{name}: {cell.label}")
    yield Rect(x + 1, y + 1, nest.width - 2, HIGH - 2, role, of)
    yield Words(nest.names[cell.index], x + nest.width / 2, y + 18, "name", of=of)


def _heads(nest: Nest, xs: Sequence[float], ys: Mapping[tuple[int, ...], float]) -> Iterator[Words]:
    """Which turn each column is of, and each row, where that differs from the row before."""
    *outer, inner = nest.axes
    of = Stands(loops=inner.loops, key=f"head {inner.name}")
    yield Words(inner.ahead, xs[0] - AIR / 2, HEAD - 4, "strong", "end", of)
    for column, x in enumerate(xs):
        yield Words(str(column), x + nest.width / 2, HEAD - 4, "muted", of=of)
    starts = [sum(nest.heads[: k + 1]) - AIR / 2 for k in range(len(outer))]
    before: tuple[int, ...] = ()
    for row, y in ys.items():
        for k, axis in enumerate(outer):
            if before[: k + 1] != row[: k + 1]:
                of = Stands(loops=axis.loops, key=f"head {axis.name}")
                yield Words(axis.head(row[k]), starts[k], y + 18, "strong", "end", of)
        before = row


def _line(
    nest: Nest, cells: Sequence[Cell], xs: Sequence[float], ys: Mapping[tuple[int, ...], float]
) -> Iterator[Path]:
    """Through the cells of a thread, below their names; between rows it goes around these."""
    if len(cells) < 2:
        return
    spots: list[Spot] = []
    for cell in cells:
        *_, column = turn = nest.places[cell.index]
        x, top = xs[column], ys[turn[:-1]]
        y = top + HIGH - LOW
        begin, end = x + INSIDE, x + nest.width - INSIDE
        if spots and spots[-1][1] != y:
            between = max(spots[-1][1], y) - HIGH + LOW - CLOSE / 2
            spots += [(spots[-1][0], between), (begin, between)]
        spots += [(begin, y), (end, y)]
    (x, y), of = spots[-1], Stands(key="line of time")
    spots[-1] = (x - POINT, y)
    yield path("clock", spots)._replace(of=of)
    head = ((x, y), (x - POINT, y - WING), (x - POINT, y + WING))
    yield path("head", head)._replace(of=of)
