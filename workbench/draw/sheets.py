"""Buffers as sheets of cells: what nested selections touch, and a product's three linked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from typing import NamedTuple

from workbench.draw.colours import heat
from workbench.draw.scene import (
    Form,
    Rect,
    Shape,
    Stands,
    Words,
    path,
    sliding,
    width_of,
)
from workbench.insight import Digit, Region, Tile, Tiles, Touch

SEEN = 6.0  # px; nothing is drawn smaller, and what is smaller at a deeper level not at all
APART = 3.0  # px; cells closer than that are drawn as one box
MOST_BOXES = 16
GRID = 32  # cells a side up to which each is drawn
CHOSEN = {"write": "chosen", "both": "chosen-both"}  # what a chosen block writes is its own
ARROWS = {"read": "↗", "write": "↘", "both": "↗"}

Steps = tuple[tuple[Digit, int], ...]


class Span(NamedTuple):
    """Cells of a dimension: the first, how many, and by how many these move with each axis."""

    first: int
    cells: int
    moves: Steps = ()


Frame = tuple[Span, Span]  # rows and columns that a sheet shows
Regions = list[tuple[str, Touch, Region]]  # how each is touched, and by what


@dataclass(frozen=True, slots=True)
class Level:
    """One of the nested selections, outermost first: of a "block", a "thread", a "step"."""

    name: str
    tiles: Tiles

    def tile(self, buffer: str) -> Tile | None:
        """What the selection touches of `buffer`."""
        return next((t for t in self.tiles.tiles if t.buffer == buffer), None)

    @property
    def is_whose(self) -> bool:
        """Whether a block or a thread is chosen, and not turns of loops alone."""
        chosen = (axis.role for axis in self.tiles.axes if axis.selected is not None)
        return any(role in ("block", "thread") for role in chosen)

    @property
    def select(self) -> dict[str, int]:
        """The axes that are chosen."""
        return {a.key: a.selected for a in self.tiles.axes if a.selected is not None}


@dataclass(frozen=True, slots=True)
class Trio:
    """The sheets of C = A B: `left` shares its rows with `result`, `top` its columns."""

    left: Tile
    top: Tile
    result: Tile

    @property
    def tiles(self) -> tuple[Tile, Tile, Tile]:
        return self.left, self.top, self.result


def trio_of(tiles: Tiles) -> Trio | None:
    """The factors and the result of a matrix product in global memory; None without one.

    While nothing is bound, they may be copies: these are as large as what they are copied from.
    """
    if not any(axis.role == "reduce" for axis in tiles.axes):
        return None
    sheets = [
        t
        for t in tiles.tiles
        if len(t.shape) == 2 and t.moved and (t.scope == "global" or not is_bound(tiles))
    ]
    for result in sheets:
        for left in sheets:
            for top in sheets:
                if len({result.buffer, left.buffer, top.buffer}) == 3 and (
                    _together(left, 0, result, 0)
                    and _together(top, 1, result, 1)
                    and _together(left, 1, top, 0)
                ):
                    return Trio(left, top, result)
    return None


def is_bound(tiles: Tiles) -> bool:
    """Whether blocks or threads run the program: else all of it is what one of them does."""
    return any(axis.role in ("block", "thread") for axis in tiles.axes)


def _together(a: Tile, dim_a: int, b: Tile, dim_b: int) -> bool:
    """Whether an axis moves along the dimension of `a` and of `b` alike, and no other of `b`."""
    shared = set(a.moved[dim_a]) & set(b.moved[dim_b])
    same_size = a.shape[dim_a] == b.shape[dim_b]
    return same_size and bool(shared - set(b.moved[1 - dim_b]) or shared == set(a.moved[dim_a]))


def copies(trio: Trio, tiles: Tiles) -> Trio:
    """The same three where the products are taken: in shared memory or registers, if they are."""
    moves = {tile.buffer: tile.copied_to for tile in tiles.tiles if tile.copied_to}
    known = {tile.buffer: tile for tile in tiles.tiles}
    back = {target: source for source, target in moves.items()}
    return Trio(
        known[_follow(trio.left.buffer, moves)],
        known[_follow(trio.top.buffer, moves)],
        known[_follow(trio.result.buffer, back)],
    )


def _follow(buffer: str, moves: Mapping[str, str]) -> str:
    seen = {buffer}
    while (following := moves.get(buffer)) is not None and following not in seen:
        buffer = following
        seen.add(buffer)
    return buffer


def frame_of(tile: Tile) -> Frame:
    """The rows and columns of the smallest box around all that is touched, else of all."""
    if not tile.touches:
        return whole(tile)
    rows, columns = (_around([_span(touch, dim) for touch in tile.touches]) for dim in (-2, -1))
    return rows, columns


def whole(tile: Tile) -> Frame:
    """All rows and columns of a buffer; one row where it has one dimension."""
    rows, columns = (1, 1, *tile.shape)[-2:]
    return Span(0, rows), Span(0, columns)


def _span(touch: Touch, dim: int) -> Span:
    start, count, step = region_of(touch)[dim]
    return Span(start, (count - 1) * step + 1, moves_of(touch)[dim])


def region_of(touch: Touch) -> Region:
    """The cells in the last two dimensions; what has fewer lies in row 0."""
    return _last_two(touch.region)


def _last_two(region: Region) -> Region:
    return ((0, 1, 1), (0, 1, 1), *region)[-2:]


def _regions_of(touch: Touch) -> list[Region]:
    """The regions that hold exactly its cells, where such are known, else the one around them."""
    return [_last_two(region) for region in touch.pieces or (touch.region,)]


def moves_of(touch: Touch) -> tuple[Steps, Steps]:
    """How they move; as if they did not, where no such form is known: see `Tiles.slides`."""
    rows, columns = ((), (), *(touch.moves or ((),) * len(touch.region)))[-2:]
    return rows, columns


def _around(spans: Sequence[Span]) -> Span:
    low = min(span.first for span in spans)
    high = max(span.first + span.cells for span in spans)
    return Span(low, high - low, spans[0].moves)


def steady(tiles: Sequence[Tile]) -> bool:
    """Whether all that is touched of each buffer moves alike: then a frame around it does, too."""
    return all(len({moves_of(touch) for touch in tile.touches}) < 2 for tile in tiles)


class Sheet(NamedTuple):
    """A rectangle of the drawing that shows the cells of a frame, drawn for the selection `at`."""

    x: float
    y: float
    width: float
    height: float
    frame: Frame
    at: Mapping[str, int]

    def unit(self, dim: int) -> tuple[float, float]:
        """Where the first row or column begins, and how many px each takes."""
        start, size = (self.y, self.height) if dim == 0 else (self.x, self.width)
        return start, size / self.frame[dim].cells

    def edge(self, dim: int, cell: int, moves: Steps) -> Form:
        """Where the edge before `cell` lies, which moves with the axes; rows are dimension 0."""
        first, cells, along = self.frame[dim]
        start, unit = self.unit(dim)
        terms, base = _slid(moves, along, unit), start + (cell - first) * unit
        if terms:
            base -= sum([factor * digit.of(self.at) for digit, factor in terms])
        return Form(base, terms, start, start + unit * cells)

    def ground(self, buffer: str, touch: Touch | None = None) -> Rect:
        """All of it: of a selection that is enlarged, filled by how often it touches a cell."""
        role = "soft" if touch is None else heat(touch.accesses / touch.cells)
        return Rect(self.x, self.y, self.width, self.height, role, Stands(buffer))

    def grid(self) -> list[Shape]:
        """Lines between cells, where they are large enough to be seen."""
        rows, columns = (span.cells for span in self.frame)
        if max(rows, columns) > GRID or min(self.width / columns, self.height / rows) < 4:
            return []
        x, y, wide, high = self.x, self.y, self.width, self.height
        lines = [
            ((x, y + high * k / rows), (x + wide, y + high * k / rows)) for k in range(1, rows)
        ]
        lines += [
            ((x + wide * k / columns, y), (x + wide * k / columns, y + high))
            for k in range(1, columns)
        ]
        return [path("grid", *lines)] if lines else []

    def seen(self, touch: Touch) -> bool:
        """Whether its box is large enough to be drawn as it is."""
        spans = [_span(touch, dim) for dim in (0, 1)]
        units = self.unit(0)[1], self.unit(1)[1]
        return all(
            s.cells * unit >= min(SEEN, unit * f.cells)
            for s, unit, f in zip(spans, units, self.frame, strict=True)
        )

    def touched(
        self,
        buffer: str,
        found: Regions,
        role: str = "",
        loops: tuple[str, ...] = (),
        key: str = "",
        chosen: bool = False,
    ) -> list[Rect]:
        """What is touched: a fill by how often, and an outline by how; or all in one `role`.

        What a block or thread that is `chosen` writes is drawn as chosen. It stands for the
        `loops` of which it is a turn, and has a `key` among all pictures.
        """
        shapes = []
        for kind, touch, region in found:
            of = stands_for(buffer, touch, region, self.at, loops)._replace(key=key)
            own = role or (CHOSEN.get(kind) if chosen else None)
            roles = (own,) if own else (heat(touch.accesses / touch.cells), kind)
            for edges in self._boxes(region, moves_of(touch)):
                first = sliding(edges, self.at, roles[0], of)
                shapes += [first, *(first._replace(role=one) for one in roles[1:])]
        return shapes

    def label(
        self, words: str, found: Regions, aside: bool = False, short: str = ""
    ) -> list[Shape]:
        """`words` on the first box of what is touched, or `aside`, beside it, if there is room.

        What is `short` stands there instead where they are too long for the sheet.
        """
        wide, high = width_of(words, "on-strong") + 4, 15.0
        if wide > self.width and short:
            return self.label(short, found, aside)
        if not found or wide > self.width or self.height < high:
            return []
        _, touch, region = found[-1]
        left, top, right, bottom = self._boxes(region, moves_of(touch))[0]
        room = right.base - left.base >= wide and bottom.base - top.base >= high + 4
        on = room and not aside
        beside = (left.base + right.base - wide) / 2
        below = (top.base + bottom.base - high) / 2
        if not on and self.height < 3 * high:
            beside = right.base + 3
        elif not on:
            below = bottom.base + 3
        x = _clipped(left, beside, self.x, self.x + self.width - wide)
        down = _clipped(top, below, self.y, self.y + self.height - high)
        slide = (_plus(x, wide / 2), _plus(down, 12)) if x.terms or down.terms else None
        at = x.at(self.at) + wide / 2, down.at(self.at) + 12
        return [Words(words, *at, "on-strong", slide=slide, short=short)]

    def _boxes(
        self, region: Region, moves: tuple[Steps, Steps]
    ) -> list[tuple[Form, Form, Form, Form]]:
        """The edges of the cells of a region, of those that touch each other as one box."""
        rows, columns = (self._runs(dim, region[dim], moves[dim]) for dim in (0, 1))
        if len(rows) * len(columns) > MOST_BOXES:
            rows, columns = ([(runs[0][0], runs[-1][1])] for runs in (rows, columns))
        return [(x0, y0, x1, y1) for y0, y1 in rows for x0, x1 in columns]

    def _runs(self, dim: int, span: tuple[int, int, int], moves: Steps) -> list[tuple[Form, Form]]:
        start, count, step = span
        size = self.unit(dim)[1]
        if step == 1 or count > MOST_BOXES or (step - 1) * size < APART:
            ends = [(start, start + (count - 1) * step + 1)]
        else:
            ends = [(start + k * step, start + k * step + 1) for k in range(count)]
        return [self._wide(dim, *(self.edge(dim, cell, moves) for cell in pair)) for pair in ends]

    def _wide(self, dim: int, low: Form, high: Form) -> tuple[Form, Form]:
        """Not narrower than can be seen, and inside the sheet."""
        start, size = (self.y, self.height) if dim == 0 else (self.x, self.width)
        least = min(SEEN, size)
        if high.base - low.base >= least:
            return low, high
        base = (low.base + high.base - least) / 2
        return (
            Form(base, low.terms, start, start + size - least),
            Form(base + least, low.terms, start + least, start + size),
        )


def _slid(moves: Steps, along: Steps, unit: float) -> tuple[tuple[Digit, float], ...]:
    """By how many px what moves is elsewhere on a sheet whose frame moves `along`."""
    if moves == along:
        return ()
    steps = dict(moves)
    for digit, step in along:
        steps[digit] = steps.get(digit, 0) - step
    return tuple((digit, step * unit) for digit, step in steps.items() if step)


def stands_for(
    buffer: str,
    touch: Touch,
    region: Region,
    at: Mapping[str, int],
    loops: tuple[str, ...] = (),
) -> Stands:
    """The cells of a region, drawn for `at`, which the last two dimensions of the touch hold."""
    cells = (*touch.region[:-2], *region[-len(touch.region) :]) if touch.region else ()
    moves = touch.moves or ((),) * len(cells)
    if not any(moves):
        return Stands(buffer, cells, loops=loops, statement=touch.stage)
    starts = tuple(
        Form(start - sum(step * digit.of(at) for digit, step in steps), steps)
        for (start, _, _), steps in zip(cells, moves, strict=True)
    )
    return Stands(buffer, cells, starts, loops=loops, statement=touch.stage)


def _clipped(form: Form, base: float, low: float, high: float) -> Form:
    return Form(base, form.terms, low, high)


def _plus(form: Form, more: float) -> Form:
    return Form(form.base + more, form.terms, form.low + more, form.high + more)


def regions(tile: Tile) -> Regions:
    """What is read, what is written, and over them what is both; each region once.

    Of what moves apart with other selections, these have other cells in common, or none: it is
    drawn over each other.
    """
    reads: dict[Region, Touch] = {}
    writes: dict[Region, Touch] = {}
    for touch in tile.touches:
        found, total = (reads, tile.read) if touch.access == "read" else (writes, tile.write)
        same = total is not None and region_of(total) == region_of(touch)
        for region in _regions_of(touch):
            found.setdefault(region, total if same and total else touch)
    both: dict[Region, Touch] = {}
    for a, touch in reads.items():
        for b in writes:
            if moves_of(touch) != moves_of(writes[b]):
                continue
            shared = a if a == b else tuple(map(_common, a, b))
            if all(count for _, count, _ in shared):
                both[shared] = touch
    return [
        *(("read", reads[region], region) for region in sorted(reads.keys() - both.keys())),
        *(("write", writes[region], region) for region in sorted(writes.keys() - both.keys())),
        *(("both", both[region], region) for region in sorted(both)),
    ]


def _common(a: tuple[int, int, int], b: tuple[int, int, int]) -> tuple[int, int, int]:
    """The cells of one dimension that lie in both spans."""
    one, other = (range(start, start + count * step, step) for start, count, step in (a, b))
    step = lcm(one.step, other.step)
    low, high = max(one[0], other[0]), min(one[-1], other[-1])
    low += (one[0] - low) % one.step
    first = next((x for x in range(low, min(high + 1, low + step), one.step) if x in other), None)
    return (0, 0, 1) if first is None else (first, (high - first) // step + 1, step)
