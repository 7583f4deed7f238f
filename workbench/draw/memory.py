"""The memory-hierarchy picture: which buffer lives where, and what crosses between the levels."""

from __future__ import annotations

from workbench.draw.picture import Picture
from workbench.draw.svg import fit, picture, rect, tag, text
from workbench.insight import BufferUse, Flow, Level, Memory

WIDTH = 330.0  # fits a phone without shrinking
CHIP, CHIP_HEIGHT, ACROSS = 98.0, 34.0, 3
GAP = 30.0  # between two levels, where the arrows are
LEGEND = 17.0

NAMES = {"global": "global memory", "shared": "shared memory", "local": "registers"}
OWNERS = {
    "grid": "one for all blocks",
    "block": "one for each block",
    "thread": "one for each thread",
}
DIGITS = "①②③④⑤⑥⑦⑧⑨"


def memory_picture(memory: Memory) -> Picture:
    """Levels from far to near with their buffers, and a numbered arrow for each flow."""
    parts: list[str] = []
    places: dict[str, tuple[float, float]] = {}  # the middle of each buffer's chip
    y = 2.0
    for level in memory.levels:
        height = _level_height(level)
        first = not parts  # its title stands above, the others' below: no arrow crosses one
        parts.append(_band(level, y, height, 16 if first else height - 8))
        for k, use in enumerate(level.buffers):
            x = 12 + k % ACROSS * (CHIP + 6)
            top = y + (24 if first else 6) + k // ACROSS * (CHIP_HEIGHT + 6)
            parts.append(_chip(use, x, top))
            places[use.buffer] = (x + CHIP / 2, top + CHIP_HEIGHT / 2)
        y += height + GAP
    flows = [f for f in memory.flows if f.source in places and f.target in places]
    arrows = [_arrow(k, places[f.source], places[f.target]) for k, f in enumerate(flows)]
    y -= GAP - 8
    legend = [_legend(k, flow, y + LEGEND * (k + 0.8)) for k, flow in enumerate(flows)]
    drawing = picture(WIDTH, y + LEGEND * len(flows) + 6, _marker(), *parts, *arrows, *legend)
    return Picture((drawing,), memory.caption, memory.table, memory.kind)


def _level_height(level: Level) -> float:
    rows = max(-(-len(level.buffers) // ACROSS), 1)
    return 30 + rows * (CHIP_HEIGHT + 6)


def _band(level: Level, y: float, height: float, title: float) -> str:
    name = NAMES.get(level.scope, level.scope)
    of = f" of {size_text(level.capacity)}" if level.capacity else ""
    used = f"{size_text(level.used)}{of}" if level.used else "unused"
    words = [
        rect(1, y, WIDTH - 2, height, "wb-soft", rx=4),
        text(
            f"{name}: {OWNERS.get(level.owner, level.owner)}", 10, y + title, "wb-strong", "start"
        ),
        text(used, WIDTH - 10, y + title, "wb-muted", "end"),
    ]
    if not level.buffers:
        words.append(text("no buffer of the program lives here", 12, y + 30, "wb-muted", "start"))
    return "".join(words)


def _chip(use: BufferUse, x: float, y: float) -> str:
    return tag(
        "g",
        {"data-name": use.buffer},
        rect(x, y, CHIP, CHIP_HEIGHT, "wb-box wb-chip", rx=3),
        text(fit(use.buffer, CHIP - 8, 7), x + CHIP / 2, y + 14, "wb-cell-name"),
        text(f"{size_text(use.bytes)}", x + CHIP / 2, y + 28, "wb-muted"),
    )


def _arrow(order: int, start: tuple[float, float], end: tuple[float, float]) -> str:
    """From the edge of one chip to the edge of the other, bent apart from the arrows beside it."""
    (x0, y0), (x1, y1) = start, end
    if abs(y1 - y0) < CHIP_HEIGHT:  # both in one row: below it, through the gap
        y0, y1 = y0 + CHIP_HEIGHT / 2, y1 + CHIP_HEIGHT / 2 + 2
        bend_y, bend_x = y0 + 42, (x0 + x1) / 2
    else:
        down = 1 if y1 > y0 else -1
        y0, y1 = y0 + down * CHIP_HEIGHT / 2, y1 - down * (CHIP_HEIGHT / 2 + 4)
        bend_x, bend_y = (x0 + x1) / 2 + (order % 3 - 1) * 18, (y0 + y1) / 2
    path = f"M{x0:g} {y0:g} Q{bend_x:g} {bend_y:g} {x1:g} {y1:g}"
    x, y = (x0 + 2 * bend_x + x1) / 4, (y0 + 2 * bend_y + y1) / 4
    return (
        tag("path", {"d": path, "class": "wb-arrow", "marker-end": "url(#wb-tip)"})
        + tag("circle", {"cx": x, "cy": y, "r": 8, "class": "wb-box"})
        + text(str(order + 1), x, y + 4, "wb-strong")
    )


def _marker() -> str:
    tip = tag("path", {"d": "M0 0 L8 4 L0 8 z", "class": "wb-head"})
    return tag(
        "marker",
        {
            "id": "wb-tip",
            "markerWidth": 8,
            "markerHeight": 8,
            "refX": 7,
            "refY": 4,
            "orient": "auto",
        },
        tip,
    )


def _legend(order: int, flow: Flow, y: float) -> str:
    number = DIGITS[order] if order < len(DIGITS) else f"({order + 1})"
    words = (
        f"{number} {flow.source} → {flow.target}: {flow.count:,} elements, {size_text(flow.bytes)}"
    )
    return text(fit(words, WIDTH - 8, 5.9), 6, y, "", "start")


def size_text(count: int) -> str:
    """Bytes as one says them: 520 B, 4 KiB, 48 KiB."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            amount = count / size
            return f"{amount:.0f} {unit}" if amount == int(amount) else f"{amount:.1f} {unit}"
    return f"{count} B"
