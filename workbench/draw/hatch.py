"""The slanting lines of a hatched rectangle, as a path of their own: a pattern needs an id."""

from __future__ import annotations

from workbench.draw.scene import Path, Rect, Spot

APART = 6.0  # px along an edge from line to line


def hatch(rect: Rect) -> Path:
    """Lines that rise to the right, each from edge to edge of `rect`."""
    lines: list[tuple[Spot, Spot]] = []
    at = APART
    while at < rect.width + rect.height:
        low = (max(at - rect.height, 0.0), min(at, rect.height))
        high = (min(at, rect.width), max(at - rect.width, 0.0))
        lines.append(((rect.x + low[0], rect.y + low[1]), (rect.x + high[0], rect.y + high[1])))
        at += APART
    return Path(tuple(lines), "grid", rect.of)
