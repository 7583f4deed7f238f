"""The tiling picture: what a chosen block, thread or loop value touches of each buffer."""

from __future__ import annotations

from math import prod

from workbench.draw.picture import Picture
from workbench.draw.svg import fit, picture, rect, slices, tag, text
from workbench.insight import Tile, Tiles, Touch

WIDTH = 330.0
LEFT, TRACK = 6.0, 318.0
BAR = 20.0
MAP = 132.0  # the longer side of a two-dimensional buffer
MARKS = 64  # more cells that lie apart would run into each other
SEEN = 3.0  # px; nothing is drawn narrower
VERBS = {"read": "reads", "write": "writes"}


def tiles_picture(tiles: Tiles) -> Picture:
    """One strip a buffer: the whole of it, with the cells that the selection reads and writes."""
    return Picture(tuple(map(_tile, tiles.tiles)), tiles.caption, tiles.table, tiles.kind)


def _tile(tile: Tile) -> str:
    title = text(
        f"{tile.buffer} ({tile.scope}), {_shape(tile.shape)}", LEFT, 14, "wb-strong", "start"
    )
    flat = len(tile.shape) < 2
    height = BAR if flat else _map_size(tile.shape)[1]
    body = _track(tile) if flat else _map(tile)
    words = [
        text(
            fit(touch_text(tile.buffer, t), WIDTH - 8, 5.7),
            LEFT,
            24 + height + 16 * (k + 1),
            "",
            "start",
        )
        for k, t in enumerate(tile.touches)
    ]
    if not tile.touches:
        words = [text("not touched by this selection", LEFT, 40 + height, "wb-muted", "start")]
    total = 24 + height + 16 * max(len(tile.touches), 1) + 10
    return picture(WIDTH, total, tag("g", {"data-name": tile.buffer}, title, body, *words))


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) + (" elements" if len(shape) < 2 else "")


def touch_text(buffer: str, touch: Touch) -> str:
    """One touch in words: "reads A[128:258]: 130 cells, 384 times"."""
    within = "" if touch.exact else " (within this box)"
    cells = "1 cell" if touch.cells == 1 else f"{touch.cells:,} cells"
    times = f", {touch.accesses:,} times" if touch.accesses != touch.cells else ", each once"
    where = f"{buffer}[{slices(touch.region)}]{within}"
    return f"{VERBS.get(touch.access, touch.access)} {where}: {cells}{times}"


def _track(tile: Tile) -> str:
    """A one-dimensional buffer as a bar, cell by cell where the cells are few."""
    extent = prod(tile.shape)
    unit = TRACK / max(extent, 1)
    parts = [rect(LEFT, 22, TRACK, BAR, "wb-soft")]
    if extent <= 32:
        parts += [
            tag("path", {"d": f"M{LEFT + unit * k:g} 22v{BAR:g}", "class": "wb-arrow wb-thin"})
            for k in range(1, extent)
        ]
    for touch in tile.touches:
        start, count, step = touch.region[0] if touch.region else (0, 1, 1)
        top, high = (22.0, BAR) if len(tile.touches) == 1 else _lane(touch)
        runs = (
            [(start, count)]
            if step == 1
            else [(start + k * step, 1) for k in range(min(count, 64))]
        )
        parts += [
            rect(LEFT + unit * a, top, max(unit * n, SEEN), high, f"wb-{touch.access}")
            for a, n in runs
        ]
    return "".join(parts)


def _lane(touch: Touch) -> tuple[float, float]:
    """Reads in the upper half of the bar, writes in the lower, so that both are seen."""
    return (22.0, BAR / 2) if touch.access == "read" else (22.0 + BAR / 2, BAR / 2)


def _map_size(shape: tuple[int, ...]) -> tuple[float, float]:
    rows, columns = shape[-2:]
    scale = MAP / max(rows, columns)
    return max(columns * scale, 16.0), max(rows * scale, 16.0)


def _map(tile: Tile) -> str:
    """The last two dimensions of a buffer as a sheet; the others are in the words below."""
    width, height = _map_size(tile.shape)
    rows, columns = tile.shape[-2:]
    parts = [rect(LEFT, 22, width, height, "wb-soft")]
    for touch in tile.touches:
        (r0, rn, rs), (c0, cn, cs) = touch.region[-2:]
        box = (
            LEFT + c0 * width / columns,
            22 + r0 * height / rows,
            max(((cn - 1) * cs + 1) * width / columns, SEEN),
            max(((rn - 1) * rs + 1) * height / rows, SEEN),
        )
        parts.append(rect(*box, f"wb-{touch.access}"))
    return "".join(parts)
