"""The cells of a small matrix in few words: what goes for neighbours is told once for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile

from workbench.draw.matrix import (
    EDGE,
    LINE,
    Matrix,
    cell_role,
    cell_spots,
    heads_of,
    stands_for,
)
from workbench.draw.scene import Rect, Scene, Shape, Stands, Words, path, slices, width_of
from workbench.insight import Cell, Point, Region

POINT, WING = 5.0, 3.0  # px; the length of an arrow's point, and half of its height
AIR = 3.0  # px between words and an arrow


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbours, from the `first` to the `last`, that are computed alike.

    Or, in a `run`, one after the other along a row.
    """

    first: Cell
    last: Cell
    run: bool

    @property
    def region(self) -> Region:
        ends = zip(self.first.index, self.last.index, strict=True)
        return tuple((start, end - start + 1, 1) for start, end in ends)

    @property
    def time(self) -> tuple[int, int]:
        return self.first.time[0], self.last.time[1]

    def __contains__(self, index: Point) -> bool:
        return all(a <= k < a + n for k, (a, n, _) in zip(index, self.region, strict=True))


def stretches_of(matrix: Matrix) -> list[Stretch]:
    """All cells, each in one stretch, by what is said in them; none goes over a gap."""
    at = {cell.index: cell for cell in matrix.who.cells}
    found: list[Stretch] = []
    free = dict.fromkeys(sorted(at))
    while free:
        found.append(_stretch(matrix, at, free))
        free = {index: None for index in free if index not in found[-1]}
    return found


def _stretch(matrix: Matrix, at: Mapping[Point, Cell], free: Mapping[Point, None]) -> Stretch:
    """What begins at the first cell that is `free`."""
    row, column = first = next(iter(free))
    gaps = takewhile(lambda c: c not in matrix.columns, range(column + 1, matrix.shape[1]))
    ends = [column, *takewhile(lambda c: (row, c) in free, gaps)]
    chain = takewhile(lambda c: _follows(matrix, at[row, c - 1], at[row, c]), ends[1:])
    following = 1 + len([*chain])
    if following > 1:
        return Stretch(at[first], at[row, ends[following - 1]], run=True)
    alike = [*takewhile(lambda c: _alike(matrix, at[first], at[row, c]), ends)]

    def goes_on(below: int) -> bool:
        cells = [(below, c) for c in alike]
        return all(c in free and _alike(matrix, at[first], at[c]) for c in cells)

    under = takewhile(lambda r: r not in matrix.rows, range(row + 1, matrix.shape[0]))
    bottom = [row, *takewhile(goes_on, under)][-1]
    return Stretch(at[first], at[bottom, alike[-1]], run=False)


def _alike(matrix: Matrix, a: Cell, b: Cell) -> bool:
    return matrix.whole(a) == matrix.whole(b)


def _follows(matrix: Matrix, a: Cell, b: Cell) -> bool:
    """Whether the time of a cell begins where that of another ends, and all else is alike."""
    if "time" not in _said(matrix) or b.time[0] != a.time[1] + 1:
        return False
    both = zip(_said(matrix), matrix.whole(a), matrix.whole(b), strict=True)
    return all(x == y for part, x, y in both if part != "time")


def _said(matrix: Matrix) -> list[str]:
    """What the parts are of that are said in cells."""
    return [matrix.parts[k] for k in matrix.said]


def stretched_scenes(matrix: Matrix, changed: set[Point], asked: Point | None) -> tuple[Scene, ...]:
    """The cells, each stretch in one frame with its words; of runs their time, then its start."""
    stretches = stretches_of(matrix)
    starts = (False, True) if any(one.run for one in stretches) else (False,)
    return tuple(_scene(matrix, stretches, changed, asked, start) for start in starts)


def _scene(
    matrix: Matrix,
    stretches: list[Stretch],
    changed: set[Point],
    asked: Point | None,
    start: bool,
) -> Scene:
    xs, ys = cell_spots(matrix)
    shapes: list[Shape] = [*heads_of(matrix, xs, ys)]
    for cell in matrix.who.cells:
        row, column = cell.index
        one = next(one for one in stretches if cell.index in one)
        role = cell_role(matrix.roles[cell.index], cell.index in changed, cell.index == asked)
        left, top = column == one.first.index[1], row == one.first.index[0]  # px that stay free
        right, low = column == one.last.index[1], row == one.last.index[0]
        wide, high = matrix.width - left - right, matrix.height - top - low
        name = f"{matrix.who.buffer}[{', '.join(map(str, cell.index))}]"
        of = stands_for(matrix.who, cell, matrix.turns, f"{name}: {cell.label}")
        shapes.append(Rect(xs[column] + left, ys[row] + top, wide, high, role, of))
    words = _lines(matrix, stretches, start)
    for one, lines in zip(stretches, words, strict=True):
        (row, column), (bottom, end) = one.first.index, one.last.index
        frame = xs[column], ys[row], xs[end] + matrix.width, ys[bottom] + matrix.height
        shapes += _told(matrix, one, lines, frame, start)
    return Scene(xs[-1] + matrix.width + 1, matrix.bottom, tuple(shapes))


def _lines(matrix: Matrix, stretches: list[Stretch], start: bool) -> list[list[str]]:
    """What is said of each stretch, in no longer words than of a cell, which fit all of them."""
    for level in range(matrix.level, 2 + max(len(form) for of in matrix.forms for form in of)):
        told = [_words(replace(matrix, level=level), one, start) for one in stretches]
        if all(_fits(matrix, one, lines) for one, lines in zip(stretches, told, strict=True)):
            break
    return told


def _words(matrix: Matrix, one: Stretch, start: bool) -> list[str]:
    lines: list[str] = []
    for part, words in zip(_said(matrix), matrix.words(one.first), strict=True):
        first, last = one.time
        timed = str(first) if start else f"{first}–{last}"  # which it is the clock at the head says
        lines += [timed] if one.run and part == "time" else words.split("\n")
    return lines


def _fits(matrix: Matrix, one: Stretch, lines: list[str]) -> bool:
    (_, rows, _), (_, columns, _) = one.region
    room = columns * matrix.width - EDGE
    return max(map(width_of, lines)) <= room and len(lines) * LINE <= rows * matrix.height


def _told(
    matrix: Matrix,
    one: Stretch,
    lines: list[str],
    frame: tuple[float, float, float, float],
    start: bool,
) -> Iterator[Shape]:
    """The words in the middle of a stretch; of a run on an arrow, which `start` has them ahead."""
    left, top, right, bottom = frame
    of = _stands(matrix, one)
    middle, wide = (top + bottom) / 2, max(map(width_of, lines))
    begin, end = left + EDGE / 2, right - EDGE / 2
    x = begin + wide / 2 if start and one.run else (left + right) / 2
    if one.run:
        pieces = [] if start else [((begin, middle), (x - wide / 2 - AIR, middle))]
        pieces.append(((x + wide / 2 + AIR, middle), (end - POINT, middle)))
        yield path("clock", *pieces)._replace(of=of)
        point = ((end, middle), (end - POINT, middle - WING), (end - POINT, middle + WING))
        yield path("head", point)._replace(of=of)
    first = middle + 4 - LINE * (len(lines) - 1) / 2
    for k, line in enumerate(lines):
        yield Words(line, x, first + LINE * k, "on", of=of)


def _stands(matrix: Matrix, one: Stretch) -> Stands:
    """The cells of a stretch, with all that is said in them, in full."""
    parts = zip(_said(matrix), matrix.whole(one.first), strict=True)
    first, last = one.time
    full = [f"time steps {first} to {last}" if one.run and p == "time" else w for p, w in parts]
    title = f"{matrix.who.buffer}[{slices(one.region)}]: {', '.join(full)}"
    alone = stands_for(matrix.who, one.first, matrix.turns, title)
    thread = one.first.thread if "thread" in _said(matrix) else None
    return alone._replace(cells=one.region, thread=thread)
