"""The scenes of calls that go by lanes: in each box the lane of a warp that holds these cells.

Cells side by side, or below each other, that one lane holds are one box. A head says in which
registers the boxes below it are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise

from workbench.draw.scene import (
    NOTHING,
    Scene,
    Shape,
    Spot,
    Stands,
    Words,
    fit,
    longest,
    path,
    slices,
    standing,
)
from workbench.insight import WARP, LaneCall, LaneTile

# A pane may show it at 0.8 of its size, with words as large as they are.
BOX, HIGH = 20.0, 15.0  # px of a box at least, which has two digits
HEAD, GAP, APART = 15.0, 4.0, 8.0  # px of a line of words; between registers; between tiles
SIDE = 20.0  # px of the numbers of rows
ROOM = 284.0  # px of the boxes of a row of memory
LEAST = 0.8
Cells = tuple[range, range]


@dataclass(frozen=True)
class Boxes:
    """The boxes of a tile: the lane, the rows and the columns of each."""

    tile: LaneTile

    @cached_property
    def every(self) -> list[tuple[int, Cells]]:
        """All of them, row by row."""
        rows, columns = self.tile.shape
        lanes = [[self.tile.held[r, c][0] for c in range(columns)] for r in range(rows)]
        found = list[tuple[int, Cells]]()
        spans = [_runs(row) for row in lanes]
        for first, count in _alike(spans):
            found += [(lane, (range(first, first + count), span)) for lane, span in spans[first]]
        return found

    @cached_property
    def registers(self) -> Mapping[Spot, tuple[int, ...]]:
        """Of each cell those of its box."""
        return {
            (row, column): self.tile.registers([(r, c) for r in rows for c in columns])
            for _, (rows, columns) in self.every
            for row in rows
            for column in columns
        }

    @cached_property
    def blocks(self) -> list[list[range]]:
        """The rows, and the columns, between which boxes are in other registers."""
        sizes = self.tile.shape
        return [_parts(sizes[dim], self._lines(dim)) for dim in (0, 1)]

    def _lines(self, dim: int) -> list[list[tuple[int, ...]]]:
        """The registers along each row (0) or column (1)."""
        rows, columns = self.tile.shape
        if dim:
            return [[self.registers[r, c] for r in range(rows)] for c in range(columns)]
        return [[self.registers[r, c] for c in range(columns)] for r in range(rows)]


def _runs(lanes: Sequence[int]) -> tuple[tuple[int, range], ...]:
    """Neighbours in a row that one lane holds."""
    found, start = list[tuple[int, range]](), 0
    for lane, those in groupby(lanes):
        found.append((lane, range(start, start := start + len([*those]))))
    return tuple(found)


def _alike(rows: Sequence[object]) -> Iterator[tuple[int, int]]:
    """Where rows that are alike begin, and how many they are."""
    start = 0
    for _, those in groupby(rows):
        count = len([*those])
        yield start, count
        start += count


def _parts(size: int, lines: Sequence[object]) -> list[range]:
    borders = [0, *(k + 1 for k, (a, b) in enumerate(pairwise(lines)) if a != b), size]
    return [range(*ends) for ends in pairwise(borders)]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A tile, or some columns of it, in a scene: where it begins, and how large a cell is.

    `gives` are px to the left of each block of columns. `chosen` is a lane.
    """

    call: LaneCall
    boxes: Boxes
    columns: Sequence[range]
    x: float
    y: float
    cell: tuple[float, float]
    chosen: int | None
    gives: float = 0.0

    @property
    def rows(self) -> Sequence[range]:
        return self.boxes.blocks[0]

    def at(self, row: int, column: int) -> Spot:
        """The upper left corner of a cell."""
        across = next(k for k, part in enumerate(self.columns) if column in part)
        down = next(k for k, part in enumerate(self.rows) if row in part)
        wide, high = self.cell
        x = self.x + (column - self.columns[0].start) * wide + across * GAP
        return x + (across + 1) * self.gives, self.y + row * high + (down + 1) * HEAD

    @property
    def right(self) -> float:
        return self.at(0, self.columns[-1].stop - 1)[0] + self.cell[0]

    @property
    def bottom(self) -> float:
        return self.at(self.rows[-1].stop - 1, self.columns[0].start)[1] + self.cell[1]

    def heads(self) -> Iterator[Words]:
        """Over each block its registers, and of ``ldmatrix`` its number, which is the same."""
        for rows in self.rows:
            for columns in self.columns:
                numbers = self.boxes.registers[rows.start, columns.start]
                x, y = self.at(rows.start, columns.start)
                word = f"register{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"
                forms = (
                    f"matrix {numbers[0]}, " * bool(self.gives) + word,
                    word,
                    word.replace("ister", ""),
                )
                label = longest(forms, LEAST * (len(columns) * self.cell[0] + self.gives))
                yield Words(label, x - self.gives, y - 3, "muted", "start")

    def lanes(self) -> Iterator[Shape]:
        """The boxes of each lane, which are one thing."""
        there = range(self.columns[0].start, self.columns[-1].stop)
        for lane in sorted(range(WARP), key=lambda lane: lane == self.chosen):  # above all others
            own = [cells for who, cells in self.boxes.every if who == lane and cells[1][0] in there]
            if own:
                role = "chosen" if lane == self.chosen else "soft"
                lines = [self._edges(*cells) for cells in own]
                words = [self._word(lane, line) for line in lines]
                yield from standing(
                    _stands(self.call, self.boxes.tile, lane), [path(role, *lines), *words]
                )

    def _edges(self, rows: range, columns: range) -> tuple[Spot, ...]:
        left, top = self.at(rows.start, columns.start)
        x, y = self.at(rows.stop - 1, columns.stop - 1)
        right, bottom = x + self.cell[0], y + self.cell[1]
        return (left, top), (right, top), (right, bottom), (left, bottom), (left, top)

    def _word(self, lane: int, edges: tuple[Spot, ...]) -> Words:
        (left, top), _, (right, bottom), *_ = edges
        return Words(str(lane), (left + right) / 2, (top + bottom) / 2 + 4)


def _stands(call: LaneCall, tile: LaneTile, lane: int) -> Stands:
    """What the boxes of a lane stand for."""
    return Stands(
        tile.buffer,
        thread=(lane, 0, 0),
        statement=call.statement,
        title=f"lane {lane}{f' of {tile.part}' if tile.part else ''}: {held_text(tile, lane)}",
        lanes=(lane,),
    )


def held_text(tile: LaneTile, lane: int) -> str:
    """The cells of a lane by their registers: "register 0 [1, 2:4], 1 [9, 2:4]"."""
    own = [cells for who, cells in Boxes(tile).every if who == lane]
    told = sorted((tile.registers([(r, c) for r in x for c in y]), x, y) for x, y in own)
    many = any(len(numbers) > 1 for numbers, *_ in told)
    said = (
        f"{' '.join(map(str, numbers))} [{slices(((x.start, len(x), 1), (y.start, len(y), 1)))}]"
        for numbers, x, y in told
    )
    return f"register{'s' * many} {', '.join(said)}"


def product_scenes(call: LaneCall, chosen: int | None) -> tuple[Scene, ...]:
    """A product as one of matrices, A on the left, B above, what they are added to between.

    Each instruction has columns of B and C of its own, and a scene of them: A is in the first.
    """
    a, b, c = map(Boxes, call.tiles)
    packed = a.tile.packed
    across = len(c.blocks[1])
    down = _height(b, HIGH / packed)
    top, scenes = HEAD + down + APART, list[Scene]()
    for number in range(across):
        shapes: list[Shape] = []
        left = SIDE if number == 0 else 0.0
        if number == 0:
            of_a = _Drawn(call, a, a.blocks[1], left, top, (BOX / packed, HIGH), chosen)
            shapes += [*of_a.heads(), *of_a.lanes(), *_row_numbers(of_a), *_terms(of_a, packed)]
            shapes += _names(call, LEAST * (of_a.right - BOX))
            left = of_a.right + APART
        of_b = _Drawn(call, b, b.blocks[1][number:][:1], left, HEAD, (BOX, HIGH / packed), chosen)
        of_c = _Drawn(call, c, c.blocks[1][number:][:1], left, top, (BOX, HIGH), chosen)
        shapes += [*of_b.heads(), *of_b.lanes(), *of_c.heads(), *of_c.lanes()]
        shapes += _column_numbers(of_b)
        if number == 0:
            shapes += _row_numbers(of_b, packed)
        size = of_c.right + 4, of_c.bottom + HEAD + 2
        scenes.append(Scene(*size, tuple(shapes), scrolls=True, joint=True))
    return tuple(scenes)


def memory_scene(call: LaneCall, chosen: int | None) -> Scene:
    """A tile in memory: who gets what of it, and for ``ldmatrix`` who gives which row of it."""
    (tile,) = call.tiles
    boxes = Boxes(tile)
    _, (rows, columns) = boxes.every[0]
    wide = ROOM / len(boxes.every) * tile.shape[0] / len(rows)
    gives = SIDE + 2 if call.gives else 0.0
    cell = wide / len(columns), HIGH if gives else HIGH / len(rows)
    drawn = _Drawn(call, boxes, boxes.blocks[1], 0.0, HEAD + GAP, cell, chosen, gives)
    shapes: list[Shape] = [*_way(call, drawn.right), *drawn.heads(), *drawn.lanes()]
    for lane, (row, column) in enumerate(call.gives):
        x, y = drawn.at(row, column)
        shapes += _giver(call, lane, (row, column), (x, y + cell[1] / 2 + 4), lane == chosen)
    return Scene(drawn.right + 1, drawn.bottom + 2, tuple(shapes), scrolls=True)


def _way(call: LaneCall, wide: float) -> Iterator[Words]:
    """From where to where cells go."""
    (tile,) = call.tiles
    names = (call.memory, tile.buffer) if call.gives else (tile.buffer, call.memory)
    yield Words(fit(" → ".join(names), LEAST * wide, "name"), 0, HEAD - 3, "name", "start")


def _giver(call: LaneCall, lane: int, cell: Spot, at: Spot, chosen: bool) -> list[Shape]:
    """The lane that gives the row which begins at a cell."""
    title = f"lane {lane} gives the row at [{', '.join(map(str, cell))}] of {call.memory}"
    of = Stands(call.memory, thread=(lane, 0, 0), title=title, lanes=(lane,))
    words = Words(str(lane), at[0] - 4, at[1], "strong" if chosen else "muted", "end")
    return standing(of, [words])


def _height(boxes: Boxes, high: float) -> float:
    rows = boxes.blocks[0]
    return rows[-1].stop * high + len(rows) * HEAD


def _row_numbers(drawn: _Drawn, step: int = 1) -> Iterator[Words]:
    """Beside the first of each `step` rows its number."""
    for rows in drawn.rows:
        for row in rows[::step]:
            _, y = drawn.at(row, drawn.columns[0].start)
            middle = y + drawn.cell[1] * step / 2 + 4
            yield Words(str(row), drawn.x - 3, middle, "muted", "end")


def _column_numbers(drawn: _Drawn) -> Iterator[Words]:
    for columns in drawn.columns:
        for column in columns[::2]:
            x, _ = drawn.at(0, column)
            yield Words(str(column), x + drawn.cell[0] / 2, HEAD - 3, "muted")


def _terms(drawn: _Drawn, step: int) -> Iterator[Words]:
    """Below A the first term of each second box."""
    for columns in drawn.columns:
        for column in columns[:: 2 * step]:
            x, _ = drawn.at(0, column)
            middle = x + drawn.cell[0] * step / 2
            yield Words(str(column), middle, drawn.bottom + HEAD - 2, "muted")


def _names(call: LaneCall, wide: float) -> Iterator[Words]:
    """In the corner that is free, which instruction it is and which tile is which."""
    lines = [("strong", "mma.sync"), ("strong", call.shape)]
    lines += [("name", f"{tile.part}: {tile.buffer}") for tile in call.tiles]
    stand = [NOTHING, NOTHING, *(Stands(tile.buffer, title=tile.buffer) for tile in call.tiles)]
    for number, ((role, said), of) in enumerate(zip(lines, stand, strict=True), 1):
        yield Words(fit(said, wide, role), 0, number * (HEAD + GAP), role, "start", of)
