"""The memory-hierarchy picture: which buffer lives where, and what crosses between the levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.diag import size_text
from workbench.draw.picture import Picture
from workbench.draw.routes import TRACK, Box, Link, Route, Rows, number_spot, points, routes, tracks
from workbench.draw.svg import fit, longest, picture, rect, tag, text, width_of
from workbench.insight import BufferUse, Flow, Level, Memory

WIDTH = 330.0
CHIPS = 126.0  # px; where the boxes begin, right of what is said of their level
CHIP, CHIP_HEIGHT, APART = 58.0, 34.0, 8.0
PORT = 10.0  # px of a box's edge for each arrow
PAD, GAP = 7.0, 10.0
LINE, LEGEND = 13.0, 17.0
HEAD = 5.0  # px; how long an arrowhead is

NAMES = {
    "global": ("global memory",),
    "shared": ("shared memory",),
    "local": ("registers", "(local memory)"),
}
OWNERS = {
    "grid": "one for all blocks",
    "block": "one for each block",
    "thread": "one for each thread",
}
DIGITS = "①②③④⑤⑥⑦⑧⑨"
NOTHING = "no buffer here"


@dataclass(frozen=True, slots=True)
class _Band:
    """A level with its boxes in rows; `words` stand left of them, with their styles."""

    words: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[Box]]

    def row_height(self) -> float:
        """A lone row is as high as the words beside it."""
        beside = LINE * len(self.words) - 4 if len(self.rows) == 1 else 0.0
        return max(CHIP_HEIGHT, beside)


def memory_picture(memory: Memory) -> Picture:
    """Levels from far to near with their buffers, and a numbered arrow for each flow."""
    known = {use.buffer for level in memory.levels for use in level.buffers}
    flows = [f for f in memory.flows if f.source in known and f.target in known]
    links = [(flow.source, flow.target) for flow in flows]
    bands = [_band(k, level, memory.levels, links) for k, level in enumerate(memory.levels)]
    made = routes([row for band in bands for row in band.rows], links, WIDTH - 4)
    rows, edges, y = _heights(bands, made)
    uses = {use.buffer: use for level in memory.levels for use in level.buffers}
    boxes = [
        _band_drawn(band, *edge) for band, edge in zip(bands, edges, strict=True)
    ] + [
        _box(uses.get(box.name), box, top)
        for row, top in zip((r for band in bands for r in band.rows), rows.tops, strict=True)
        for box in row
    ]  # fmt: skip
    arrows = [_arrow(points(route, rows)) for route in made]
    numbers = [_number(k, *number_spot(route, made, rows)) for k, route in enumerate(made)]
    legend = [_legend(k, flow, y + LEGEND * (k + 0.8)) for k, flow in enumerate(flows)]
    height = y + LEGEND * len(flows) + 6
    drawing = picture(WIDTH, height, *boxes, *arrows, *numbers, *legend)
    return Picture((drawing,), memory.caption, memory.table, memory.kind)


def _band(number: int, level: Level, levels: Sequence[Level], links: Sequence[Link]) -> _Band:
    """The words of a level and its boxes, with room beside them for the arrows that pass."""
    name = NAMES.get(level.scope, (level.scope,))
    of = f" of {size_text(level.capacity)}" if level.capacity else ""
    used = f"{size_text(level.used)}{of}" if level.used else "unused"
    words = [(name[0], "wb-strong"), *((more, "") for more in name[1:])]
    words += [(OWNERS.get(level.owner, level.owner), ""), (used, "wb-muted")]
    if not level.buffers:
        return _Band(words, [[Box("", CHIPS, width_of(NOTHING))]])
    level_of = {use.buffer: k for k, one in enumerate(levels) for use in one.buffers}
    ends = [sorted((level_of[a], level_of[b])) for a, b in links]
    passing = sum(low < number < high for low, high in ends)
    widths = [_chip_width(use, links) for use in level.buffers]
    if sum(widths) + APART * len(widths) > WIDTH - CHIPS:  # in several rows: beside each other too
        passing += sum(number in pair for pair in ends)
    room = max(WIDTH - CHIPS - 6 - PORT * passing, (WIDTH - CHIPS) * 0.63)
    rows: list[list[Box]] = [[]]
    x = CHIPS
    for use, width in zip(level.buffers, widths, strict=True):
        if rows[-1] and x + width > CHIPS + room:
            rows.append([])
            x = CHIPS
        rows[-1].append(Box(use.buffer, x, width))
        x += width + APART
    return _Band(words, rows)


def _chip_width(use: BufferUse, links: Sequence[Link]) -> float:
    ends = sum(link.count(use.buffer) for link in links)
    wanted = max(width_of(use.buffer, "wb-cell-name") + 8, CHIP, PORT * (ends + 1))
    return min(wanted, (WIDTH - CHIPS) * 0.75)


def _heights(
    bands: Sequence[_Band], made: Sequence[Route]
) -> tuple[Rows, list[tuple[float, float]], float]:
    """Where the rows of boxes lie, the edges of the bands, and where the drawing ends."""
    tops, bottoms, lines, edges = [], [], [], []
    y, row = 2.0, 0
    for band in bands:
        top = y
        y += PAD
        for k in range(len(band.rows)):
            last = k == len(band.rows) - 1
            tops.append(y)
            bottoms.append(y + CHIP_HEIGHT)
            y += band.row_height()
            if last:
                y = max(y + PAD, top + LINE * len(band.words) + 6)
                edges.append((top, y))
            lines.append(y + (TRACK / 2 + 1))
            needed = tracks(made, row) * TRACK
            y += max(needed + 8, GAP) if last or needed else APART
            row += 1
    return Rows(tops, bottoms, lines), edges, y


def _band_drawn(band: _Band, top: float, bottom: float) -> str:
    words = [
        text(fit(words, CHIPS - 12, kind), 8, top + LINE * (k + 1), kind, "start")
        for k, (words, kind) in enumerate(band.words)
    ]
    return rect(1, top, WIDTH - 2, bottom - top, "wb-soft", rx=4) + "".join(words)


def _box(use: BufferUse | None, box: Box, y: float) -> str:
    if use is None:
        return text(NOTHING, box.x, y + 20, "wb-muted", "start")
    middle = box.x + box.width / 2
    return tag(
        "g",
        {"data-name": use.buffer},
        rect(box.x, y, box.width, CHIP_HEIGHT, "wb-box wb-chip", rx=3),
        text(fit(use.buffer, box.width - 4, "wb-cell-name"), middle, y + 14, "wb-cell-name"),
        text(size_text(use.bytes), middle, y + 28, "wb-muted"),
    )


def _arrow(corners: list[tuple[float, float]]) -> str:
    """A line with a head of its own: one that is named by an id is lost where the id is hidden."""
    *_, (_, before), (x, y) = corners
    back = -HEAD if y > before else HEAD
    line = "L".join(f"{a:g} {b:g}" for a, b in [*corners[:-1], (x, y + back)])
    head = f"M{x:g} {y:g}L{x - 4:g} {y + back * 1.4:g}L{x + 4:g} {y + back * 1.4:g}z"
    return tag("path", {"d": f"M{line}", "class": "wb-arrow"}) + tag(
        "path", {"d": head, "class": "wb-head"}
    )


def _number(order: int, x: float, y: float) -> str:
    return tag("circle", {"cx": x, "cy": y, "r": 7.5, "class": "wb-box"}) + text(
        str(order + 1), x, y + 4, "wb-strong"
    )


def _legend(order: int, flow: Flow, y: float) -> str:
    number = DIGITS[order] if order < len(DIGITS) else f"({order + 1})"
    ways = [f"{flow.source} → {flow.target}"]
    if flow.source == flow.target:
        ways = [f"{flow.source}, updated in place", f"{flow.source}, in place"]
    forms = [f"{number} {way}: {flow.count:,} elements, {size_text(flow.bytes)}" for way in ways]
    return text(longest(forms, WIDTH - 8) or fit(forms[-1], WIDTH - 8), 6, y, "", "start")
