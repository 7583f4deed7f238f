"""The tiling picture: what a chosen block, thread or loop value touches of each buffer."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from workbench.draw.picture import Picture
from workbench.draw.sheets import (
    LEFT,
    SEEN,
    SIDE,
    WIDTH,
    Level,
    Sheet,
    Trio,
    copies,
    frame_of,
    product,
    regions,
    told,
    trio_of,
)
from workbench.draw.svg import fit, picture, rect, slices, tag, text, width_of
from workbench.insight import Axis, Tile, Tiles, Touch, times_text

TRACK = 318.0
BAR = 20.0
LINE = 16.0
MARKS = 64  # more cells that lie apart would run into each other
ZOOM = 4  # a block's part of a sheet that is smaller than one in so many is also drawn large
VERBS = {"read": "reads", "write": "writes"}
DONE = {"read": "is read", "write": "is written"}


def tiles_picture(
    tiles: Tiles, outer: Sequence[Tiles] = (), around: Tiles | None = None
) -> Picture:
    """What a selection reads and writes of each buffer, inside what wider selections do.

    `outer` are the selections around it, the widest first, such as the block of a thread. The
    three matrices of a product stand together, and again, enlarged to what `around` (default: the
    widest) touches, where the products are taken from copies or a block's part is small.
    """
    levels = _levels([*outer, tiles])
    legend, y = _legend(levels)
    trio = trio_of(tiles)
    if trio is None:
        return Picture(
            (picture(WIDTH, y, legend), *(_tile(tile, levels) for tile in tiles.tiles)),
            tiles.caption, tiles.table, tiles.kind,
        )  # fmt: skip
    sheets, y = product(trio, levels, y)
    told, y = _words(trio.tiles, trio, levels, y)
    strips = [picture(WIDTH, y, legend, sheets, told)]
    inner, near = copies(trio, tiles), around or levels[0].tiles
    if _worth_a_closer_look(trio, inner, near):
        note = text(
            fit(f"enlarged: {_selected(_chosen(near))}", WIDTH - 8), LEFT, 13, "wb-muted", "start"
        )
        sheets, y = product(inner, levels, 18, near)
        new = [tile for tile in inner.tiles if tile not in trio.tiles]
        told, y = _words(new, inner, levels, y)
        strips.append(picture(WIDTH, y, note, sheets, told))
    drawn = {tile.buffer for tile in (*trio.tiles, *inner.tiles)}
    strips += [_tile(tile, levels) for tile in tiles.tiles if tile.buffer not in drawn]
    return Picture(tuple(strips), tiles.caption, tiles.table, tiles.kind)


def _worth_a_closer_look(trio: Trio, inner: Trio, near: Tiles) -> bool:
    found = {tile.buffer: tile for tile in near.tiles}
    if not all(found[tile.buffer].touches for tile in inner.tiles):
        return False
    if not any(axis.role == "block" for axis in _chosen(near)):
        return False
    (_, rows), (_, columns) = frame_of(found[inner.result.buffer])
    whole = trio.result.shape
    return inner != trio or rows * ZOOM < whole[0] or columns * ZOOM < whole[1]


def _levels(selections: Sequence[Tiles]) -> list[Level]:
    levels: list[Level] = []
    known: set[str] = set()
    for tiles in selections:
        new = [a for a in _chosen(tiles) if a.key not in known]
        known |= {axis.key for axis in new}
        levels.append(Level(_selected(new) or "the whole program", tiles))
    return levels


def _chosen(tiles: Tiles) -> list[Axis]:
    return [axis for axis in tiles.axes if axis.selected is not None]


def _selected(axes: Sequence[Axis]) -> str:
    """The selection in words: "block (3, 2)", "thread 5", "k_0 = 4"."""
    parts = []
    for role in ("block", "thread"):
        chosen = {axis.key[-1]: axis.selected for axis in axes if axis.role == role}
        if chosen:
            values = ", ".join(str(chosen.get(x, "all")) for x in "xyz" if x in chosen)
            parts.append(f"{role} ({values})" if len(chosen) > 1 else f"{role} {values}")
    parts += [f"{a.key} = {a.selected}" for a in axes if a.role not in ("block", "thread")]
    return ", ".join(parts)


def _legend(levels: Sequence[Level]) -> tuple[str, float]:
    """Which shade is which selection, which colour reads and writes; and where that ends."""
    entries = [
        (f"-{min(outward, 2)}" * bool(outward), level.label)
        for outward, level in zip(range(len(levels) - 1, -1, -1), levels, strict=True)
    ]
    parts, x, y = [], LEFT, 2.0
    both = [("both", "reads and writes")] if _any_both(levels) else []
    for shade, label in [*entries, ("read", "reads"), ("write", "writes"), *both]:
        label = fit(label, WIDTH - 50)
        wide = 26 + 12 + width_of(label)
        if x + wide > WIDTH:
            x, y = LEFT, y + 18
        if shade in ("read", "write", "both"):
            parts.append(rect(x, y + 1, 20, 10, f"wb-{shade}"))
        else:
            parts += [rect(x + 10 * k, y + 1, 10, 10, f"wb-{access}{shade}")
                      for k, access in enumerate(VERBS)]  # fmt: skip
        parts.append(text(label, x + 26, y + 10, "", "start"))
        x += wide
    return "".join(parts), y + 18


def _any_both(levels: Sequence[Level]) -> bool:
    return any(
        kind == "both"
        for level in levels
        for tile in level.tiles.tiles
        if len(tile.shape) > 1
        for kind, _ in regions(tile.touches)
    )


def _words(
    told_of: Sequence[Tile], trio: Trio, levels: Sequence[Level], y: float
) -> tuple[str, float]:
    """How often one element of each sheet is read or written by each of the selections."""
    lines = [line for tile in told_of for line in _reuse(tile, levels, tile is trio.result)]
    drawn = [
        text(words, LEFT + indent, y + 12 + LINE * k, kind, "start")
        for k, (words, indent, kind) in enumerate(lines)
    ]
    return "".join(drawn), y + LINE * len(lines) + 8


def _reuse(tile: Tile, levels: Sequence[Level], result: bool) -> list[tuple[str, float, str]]:
    counts = [(touch, level.by) for level in levels if (touch := told(tile.buffer, level, result))]
    if not counts:
        return [(f"{tile.buffer} is not touched by this selection", 0.0, "wb-muted")]
    touch = counts[-1][0]
    cell = f"{tile.buffer}[{', '.join(str(start) for start, _, _ in touch.region)}]"
    if not all(t.even for t, _ in counts):
        cell = f"A cell of {tile.buffer}"
    told_by = [
        f"{_times(t)} {by}"
        for k, (t, by) in enumerate(counts)
        if k == 0 or _times(t) != _times(counts[k - 1][0])
    ]
    inner = levels[-1].tile(tile.buffer)
    told_by += [when for kind, when in (inner.outside if inner else ()) if kind == touch.access]
    lines = [(f"{cell} ({tile.scope}) {DONE[touch.access]}", 0.0, "wb-strong")]
    row, *rest = told_by
    for count in rest:
        if width_of(f"{row}, {count}") > WIDTH - 20:
            lines.append((row + ",", 12.0, ""))
            row = count
        else:
            row += f", {count}"
    return [*lines, (fit(row, WIDTH - 20), 12.0, "")]


def _times(touch: Touch) -> str:
    if touch.even:
        number = touch.accesses // touch.cells
        return "once" if number == 1 else f"{number:,} times"
    return f"{touch.reuse:.3g} times on average"


def _tile(tile: Tile, levels: Sequence[Level]) -> str:
    title = text(
        f"{tile.buffer} ({tile.scope}), {_shape(tile.shape)}", LEFT, 14, "wb-strong", "start"
    )
    flat = len(tile.shape) < 2
    height = BAR if flat else _map_size(tile.shape)[1]
    body = _track(tile, levels) if flat else _map(tile, levels)
    told_of = [touch_text(tile.buffer, t) for t in (tile.read, tile.write) if t is not None]
    told_of += [f"{'read' if kind == 'read' else 'written'} {when}" for kind, when in tile.outside]
    words = [
        text(fit(line, WIDTH - 8), LEFT, 24 + height + LINE * (k + 1), "", "start")
        for k, line in enumerate(told_of)
    ]
    if not told_of:
        words = [text("not touched by this selection", LEFT, 40 + height, "wb-muted", "start")]
    total = 24 + height + LINE * len(words) + 10
    return picture(WIDTH, total, tag("g", {"data-name": tile.buffer}, title, body, *words))


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) + (" elements" if len(shape) < 2 else "")


def touch_text(buffer: str, touch: Touch) -> str:
    """One touch in words: "reads A[128:258]: 130 cells, 384 times in all"."""
    within = "" if touch.exact else " (within this box)"
    cells = "1 cell" if touch.cells == 1 else f"{touch.cells:,} cells"
    where = f"{buffer}[{slices(touch.region)}]{within}"
    return f"{VERBS.get(touch.access, touch.access)} {where}: {cells}{times_text(touch)}"


def _track(tile: Tile, levels: Sequence[Level]) -> str:
    """A one-dimensional buffer as a bar, cell by cell where the cells are few."""
    extent = prod(tile.shape)
    unit = TRACK / max(extent, 1)
    parts = [rect(LEFT, 22, TRACK, BAR, "wb-soft")]
    if extent <= 32:
        lines = "".join(f"M{LEFT + unit * k:g} 22v{BAR:g}" for k in range(1, extent))
        parts.append(tag("path", {"d": lines, "class": "wb-grid"}))
    for outward, level in zip(range(len(levels) - 1, -1, -1), levels, strict=True):
        found = level.tile(tile.buffer)
        touches = [t for t in (found.read, found.write) if t] if found else []
        for touch in touches:
            start, count, step = touch.region[0] if touch.region else (0, 1, 1)
            top, high = (22.0, BAR) if len(touches) == 1 else _lane(touch)
            runs = (
                [(start, count)]
                if step == 1
                else [(start + k * step, 1) for k in range(min(count, MARKS))]
            )
            kind = f"wb-{touch.access}" + (f"-{min(outward, 2)}" if outward else "")
            parts += [rect(LEFT + unit * a, top, max(unit * n, SEEN), high, kind) for a, n in runs]
    return "".join(parts)


def _lane(touch: Touch) -> tuple[float, float]:
    """Reads in the upper half of the bar, writes in the lower, so that both are seen."""
    return (22.0, BAR / 2) if touch.access == "read" else (22.0 + BAR / 2, BAR / 2)


def _map_size(shape: tuple[int, ...]) -> tuple[float, float]:
    rows, columns = shape[-2:]
    scale = SIDE / max(rows, columns)
    return max(columns * scale, 16.0), max(rows * scale, 16.0)


def _map(tile: Tile, levels: Sequence[Level]) -> str:
    """The last two dimensions of a buffer as a sheet; the others are in the words below."""
    width, height = _map_size(tile.shape)
    rows, columns = tile.shape[-2:]
    sheet = Sheet(LEFT, 22, width, height, ((0, rows), (0, columns)))
    return sheet.drawn(tile.buffer, levels)
