"""Two-dimensional buffers as sheets: what nested selections touch, and a product's three linked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm

from workbench.draw.svg import rect, tag, text, width_of
from workbench.insight import Region, Tile, Tiles, Touch

WIDTH, LEFT = 330.0, 6.0  # px of a strip, and where it begins
SIDE = 132.0  # px; the longest side of a sheet
LEAST = 12.0  # px; the shortest side
SEEN = 3.0  # px; nothing is drawn narrower
APART = 3.0  # px; cells closer than that are drawn as one box
MOST_BOXES = 64
GRID = 32  # cells a side up to which each is drawn
TITLE = 16.0

Span = tuple[int, int]  # first cell and how many
Frame = tuple[Span, Span]  # rows and columns that a sheet shows


@dataclass(frozen=True, slots=True)
class Level:
    """One of the nested selections, outermost first: "block (3, 2)", "thread 5", "k_0 = 4"."""

    label: str
    tiles: Tiles

    @property
    def by(self) -> str:
        """Who or when: "by thread 5", "at k_0 = 4"."""
        return f"{'at' if self.label.split()[1] == '=' else 'by'} {self.label}"

    def tile(self, buffer: str) -> Tile | None:
        """What the selection touches of `buffer`."""
        return next((t for t in self.tiles.tiles if t.buffer == buffer), None)


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
    """The factors and the result of a matrix product among the parameters; None without one."""
    if not any(axis.role == "reduce" for axis in tiles.axes):
        return None
    sheets = [t for t in tiles.tiles if len(t.shape) == 2 and t.scope == "global" and t.moved]
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
    """The rows and columns of the smallest box around all that is touched."""
    regions = [touch.region[-2:] for touch in tile.touches]
    if not regions:
        return (0, tile.shape[-2]), (0, tile.shape[-1])
    rows, columns = (_around([region[d] for region in regions]) for d in (0, 1))
    return rows, columns


def _around(spans: Sequence[tuple[int, int, int]]) -> Span:
    low = min(start for start, _, _ in spans)
    high = max(start + (count - 1) * step + 1 for start, count, step in spans)
    return low, high - low


def _join(a: Span, b: Span) -> Span:
    low = min(a[0], b[0])
    return low, max(a[0] + a[1], b[0] + b[1]) - low


def product(
    trio: Trio, levels: Sequence[Level], y: float, around: Tiles | None = None
) -> tuple[str, float]:
    """The three sheets, shared dimensions in line, from `y` on; with where they end.

    `around` cuts them to what it touches.
    """
    m, n, k = _spans(trio, around)
    scale = SIDE / max(m[1], n[1]) if around else SIDE / max(m[1], n[1], k[1])
    high, wide = (max(span[1] * scale, LEAST) for span in (m, n))
    deep = min(max(k[1] * scale, LEAST), SIDE)
    names = [tile.buffer for tile in trio.tiles]
    x1 = LEFT + max(deep, width_of(names[0], "wb-strong")) + 18
    y1 = y + TITLE + deep + 10 + TITLE
    left = Sheet(x1 - 18 - deep, y1, deep, high, (m, k))
    top = Sheet(x1, y + TITLE, wide, deep, (k, n))
    result = Sheet(x1, y1, wide, high, (m, n))
    parts = [_guides(left, top, result, trio, levels[0])]
    for sheet, name in zip((left, top, result), names, strict=True):
        at = x1 - 18 - width_of(name, "wb-strong") if sheet is left and deep < 60 else sheet.x
        title = text(name, max(at, LEFT), sheet.y - 5, "wb-strong", "start")
        shown = [title, sheet.drawn(name, levels)]
        element = told(name, levels[-1], sheet is result)
        if element is not None:
            shown.append(sheet.dot([start for start, _, _ in element.region]))
        parts.append(tag("g", {"data-name": name}, *shown))
    return "".join(parts), y1 + high + 4


def told(buffer: str, level: Level, result: bool) -> Touch | None:
    """The touch that words tell of: writes of the result, reads of what goes into it."""
    tile = level.tile(buffer)
    if tile is None:
        return None
    return tile.write if result else tile.read


def _spans(trio: Trio, around: Tiles | None) -> tuple[Span, Span, Span]:
    """Rows of the result, its columns, and the steps of the sum, as far as they are shown."""
    if around is None:
        (rows, columns), inner = trio.result.shape, trio.left.shape[1]
        return (0, rows), (0, columns), (0, inner)
    found = {tile.buffer: frame_of(tile) for tile in around.tiles}
    left, top, result = (found[tile.buffer] for tile in trio.tiles)
    return _join(left[0], result[0]), _join(top[1], result[1]), _join(left[1], top[0])


def _guides(left: Sheet, top: Sheet, result: Sheet, trio: Trio, outer: Level) -> str:
    """Lines that carry the rows and columns of the outermost selection from sheet to sheet."""
    tile = outer.tile(trio.result.buffer)
    if tile is None or not tile.touches:
        return ""
    rows, columns = frame_of(tile)
    lines = []
    for row in (rows[0], rows[0] + rows[1]):
        y = result.at(0, row)
        lines.append(f"M{left.x + left.width:g} {y:g}H{result.x:g}")
    for column in (columns[0], columns[0] + columns[1]):
        x = result.at(1, column)
        lines.append(f"M{x:g} {top.y + top.height:g}V{result.y:g}")
    return tag("path", {"d": "".join(lines), "class": "wb-arrow wb-guide"})


@dataclass(frozen=True, slots=True)
class Sheet:
    """A rectangle of the drawing that shows the cells of a frame."""

    x: float
    y: float
    width: float
    height: float
    frame: Frame

    def at(self, dim: int, cell: int) -> float:
        """Where the edge before `cell` lies; rows are dimension 0."""
        first, count = self.frame[dim]
        start, size = (self.y, self.height) if dim == 0 else (self.x, self.width)
        return start + min(max((cell - first) / count, 0.0), 1.0) * size

    def drawn(self, buffer: str, levels: Sequence[Level]) -> str:
        """The sheet with what each of the nested selections touches."""
        parts = [rect(self.x, self.y, self.width, self.height, "wb-soft")]
        for outward, level in zip(range(len(levels) - 1, -1, -1), levels, strict=True):
            tile = level.tile(buffer)
            for access, region in regions(tile.touches if tile else ()):
                kind = f"wb-{access}" + (f"-{min(outward, 2)}" if outward else "")
                parts += [rect(*box, kind) for box in self._boxes(region)]
        return "".join([*parts, self._grid()])

    def dot(self, cell: Sequence[int]) -> str:
        """A mark on one cell."""
        x, y = (
            (self.at(dim, cell[dim - 2]) + self.at(dim, cell[dim - 2] + 1)) / 2 for dim in (1, 0)
        )
        return tag("circle", {"cx": x, "cy": y, "r": 1.8, "class": "wb-dot"})

    def _grid(self) -> str:
        (_, rows), (_, columns) = self.frame
        if max(rows, columns) > GRID or min(self.width / columns, self.height / rows) < 4:
            return ""
        lines = [f"M{self.x:g} {self.y + self.height * k / rows:g}h{self.width:g}"
                 for k in range(1, rows)]  # fmt: skip
        lines += [f"M{self.x + self.width * k / columns:g} {self.y:g}v{self.height:g}"
                  for k in range(1, columns)]  # fmt: skip
        return tag("path", {"d": "".join(lines), "class": "wb-grid"})

    def _boxes(self, region: Region) -> list[tuple[float, float, float, float]]:
        """Where the cells of a region lie, those that touch each other as one box."""
        rows, columns = (self._runs(dim, region[dim - 2]) for dim in (0, 1))
        if len(rows) * len(columns) > MOST_BOXES:
            rows, columns = ([(runs[0][0], runs[-1][1])] for runs in (rows, columns))
        return [(x0, y0, x1 - x0, y1 - y0) for y0, y1 in rows for x0, x1 in columns]

    def _runs(self, dim: int, span: tuple[int, int, int]) -> list[tuple[float, float]]:
        start, count, step = span
        size = (self.height if dim == 0 else self.width) / self.frame[dim][1]
        if step == 1 or count > MOST_BOXES or (step - 1) * size < APART:
            ends = [(start, start + (count - 1) * step + 1)]
        else:
            ends = [(start + k * step, start + k * step + 1) for k in range(count)]
        return [self._seen(dim, self.at(dim, low), self.at(dim, high)) for low, high in ends]

    def _seen(self, dim: int, low: float, high: float) -> tuple[float, float]:
        """Not narrower than can be seen, and inside the sheet."""
        start, size = (self.y, self.height) if dim == 0 else (self.x, self.width)
        if high - low < SEEN:
            low = min(max((low + high - SEEN) / 2, start), start + size - SEEN)
            high = low + SEEN
        return low, high


def regions(touches: Sequence[Touch]) -> list[tuple[str, Region]]:
    """What is read, what is written, and over them what is both; each region once."""
    read, written = ({t.region[-2:] for t in touches if t.access == kind}
                     for kind in ("read", "write"))  # fmt: skip
    shared = [tuple(map(_common, a, b)) for a in read for b in written]
    both = {tuple(spans) for spans in shared if all(count for _, count, _ in spans)}
    return [
        *(("read", region) for region in sorted(read - both)),
        *(("write", region) for region in sorted(written - both)),
        *(("both", region) for region in sorted(both)),
    ]


def _common(a: tuple[int, int, int], b: tuple[int, int, int]) -> tuple[int, int, int]:
    """The cells of one dimension that lie in both spans."""
    one, other = (range(start, start + count * step, step) for start, count, step in (a, b))
    step = lcm(one.step, other.step)
    low, high = max(one[0], other[0]), min(one[-1], other[-1])
    low += (one[0] - low) % one.step
    first = next((x for x in range(low, min(high + 1, low + step), one.step) if x in other), None)
    return (0, 0, 1) if first is None else (first, (high - first) // step + 1, step)
