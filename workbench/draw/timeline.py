"""The picture of a launch in time: a row a multiprocessor, blocks from left to right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, floor, log10
from typing import NamedTuple

from workbench.draw.colours import busy_role
from workbench.draw.picture import Picture
from workbench.draw.scene import Path, Rect, Scene, Shape, Spot, Stands, Words, width_of
from workbench.insight import Residence, Table, Track, time_text
from workbench.insight.residence import MODELLED
from workbench.insight.track import Span, unit_text

WIDE, LEFT, RIGHT = 332.0, 28.0, 8.0  # px of the scene, which fits a phone; of row numbers; beside
LINE, GAP, AXIS = 15.0, 6.0, 24.0  # px of a line of words, below the large row, of the axis
PLACE, ROW = (4.0, 14.0), (1.5, 30.0)  # px of a place of the large row, and of a row: least, most
STRIP, ROWS = 100.0, 200.0  # px that the large row, and all rows, have
ACROSS = WIDE - LEFT - RIGHT
TICKS = 5
NONE = "Where blocks run is not known of this GPU."
LATER = "stored"  # the role of what has not run yet


def timeline_picture(found: Residence | None) -> Picture:
    """The blocks of launches, while the first of them run."""
    if found is None:
        return Picture((), NONE, Table(("kernel",), ()), "modelled")
    first = found.caption.splitlines()[0]
    told = found.track.told(found.track.opens)
    return Picture(
        (track_scene(found.track, found.track.opens),),
        first,
        found.table,
        "modelled",
        full=f"{found.caption}\n{told[:1].upper()}{told[1:]}.",
        track=found.track,
        about=MODELLED,
        amount=first.rpartition(" · ")[2],  # of the warps that there is room for
    )


def covered_timeline() -> Scene:
    """An axis and an empty ground, and "?" for what runs there."""
    shapes = (
        Rect(LEFT, 1, ACROSS, STRIP, "idle"),
        Words("?", WIDE / 2, STRIP / 2 + 4),
        Words("time", WIDE - RIGHT, STRIP + LINE, "muted", "end"),
    )
    return Scene(WIDE, STRIP + LINE + 4, shapes)


def track_scene(track: Track, t: float) -> Scene:
    """A track at a time: what has run is dark, what runs is lit, what will run is faint.

    Where rows are too thin for their places, the first is drawn large above all of them, and of
    these it is seen how many places are in use.
    """
    row = min(max(ROWS / track.rows, ROW[0]), ROW[1])
    large = row >= track.places * PLACE[0] * 2
    place = row / track.places if large else min(max(STRIP / track.places, PLACE[0]), PLACE[1])
    top = LINE if large else 2 * LINE + place * track.places + GAP
    bottom = top + row * track.rows
    spans = track.drawn()
    shapes: list[Shape] = [Rect(LEFT, top, ACROSS, bottom - top, "room")]
    if large:
        placed = [Box(s.start, s.end, s.row * track.places + s.place) for s in spans]
        shapes += _boxes(track, placed, t, top, place)
    else:
        first = [Box(s.start, s.end, s.place) for s in spans if s.row == 0]
        shapes.append(Rect(LEFT, LINE, ACROSS, place * track.places, "idle"))
        shapes += _boxes(track, first, t, LINE, place)
        shapes += _boxes(track, list(_in_use(track, spans)), t, top, row)
    x = _x(track, t)
    now = ((x, LINE), (x, bottom + 4))
    shapes.append(Path((now,), "clock", Stands(title=track.told(t))))
    shapes += _names(track, top, row, bottom, large)
    shapes += _ahead(track, spans, top)
    shapes += time_axis(track.unit, (0.0, track.length), LEFT, bottom)
    return Scene(WIDE, bottom + AXIS, tuple(shapes))


class Box(NamedTuple):
    """A stretch of time in one line of boxes, in which so many of its places are in use."""

    start: float
    end: float
    line: int
    used: int = 0


def _in_use(track: Track, spans: Sequence[Span]) -> Iterator[Box]:
    """How many places of each row are in use, from one change to the next."""
    rows: dict[int, list[Span]] = {}
    for span in spans:
        rows.setdefault(span.row, []).append(span)
    for row, own in rows.items():
        changes = sorted({t for span in own for t in (span.start, span.end)})
        steps = dict.fromkeys(changes, 0)
        for span in own:
            steps[span.start] += 1
            steps[span.end] -= 1
        used = 0
        for start, end in pairwise(changes):
            used += steps[start]
            if used:
                yield Box(start, end, row, used)


def _x(track: Track, t: float) -> float:
    return LEFT + ACROSS * t / track.length


def _boxes(
    track: Track, boxes: Sequence[Box], t: float, top: float, high: float
) -> Iterator[Shape]:
    """The boxes as a path for each look; lines that are alike for a time are one box of it."""
    alike: dict[tuple[float, float, int], list[list[int]]] = {}
    for start, end, line, used in sorted(boxes, key=lambda box: box.line):
        lines = alike.setdefault((start, end, used), [])
        if lines and used and lines[-1][1] == line:
            lines[-1][1] = line + 1
        else:
            lines.append([line, line + 1])
    paths: dict[str, list[tuple[Spot, ...]]] = {}
    for (start, end, used), lines in alike.items():
        gap = 0.0 if used else 1.0
        kind = "busy" if end <= t else "now"
        role = busy_role(kind, used or track.places, track.places)
        for first, last in lines:
            y, low = top + first * high, top + last * high - gap
            if start < t:
                paths.setdefault(role, []).append(
                    _box(_x(track, start), y, _x(track, min(end, t)), low)
                )
            if end > t:
                paths.setdefault(LATER, []).append(
                    _box(_x(track, max(start, t)), y, _x(track, end), low)
                )
    yield from (Path(tuple(lines), role) for role, lines in paths.items())


def _box(x: float, y: float, right: float, low: float) -> tuple[Spot, ...]:
    right -= 1.0 if right - x > 4 else 0.0  # so that one can be told from the next
    return ((x, y), (right, y), (right, low), (x, low), (x, y))


def _names(track: Track, top: float, row: float, bottom: float, large: bool) -> Iterator[Shape]:
    last = track.rows - 1
    if large:
        yield Words(f"{track.row}s", LEFT, LINE - 4, "muted", "start")
        every = ceil(LINE / row)
        for k in range(0, track.rows, every):
            yield Words(str(k), LEFT - 6, top + (k + 0.5) * row + 4, "muted", "end")
        return
    yield Words(f"{track.row} 0: {track.places} places", LEFT, LINE - 4, "muted", "start")
    yield Words(f"all {track.rows} {track.row}s", LEFT, top - 4, "on-muted", "start")
    yield Words("0", LEFT - 6, top + 10, "muted", "end")
    yield Words(str(last), LEFT - 6, bottom, "muted", "end")


def _ahead(track: Track, spans: Sequence[Span], top: float) -> Iterator[Shape]:
    """What goes on ahead of the first span, where there is room for the word."""
    middle = (LEFT + _x(track, min((span.start for span in spans), default=0.0))) / 2
    if 2 * (middle - LEFT) > width_of(track.nothing, "muted"):
        yield Words(track.nothing, middle, top + LINE, "muted")


def time_axis(unit: str, times: tuple[float, float], left: float, bottom: float) -> Iterator[Shape]:
    """Round times of those from the first to the last, with the unit at the last of them."""
    start, stop = times
    rough = (stop - start or 1.0) / TICKS
    power = 10.0 ** floor(log10(rough))
    step = next(n for n in (1, 2, 5, 10) if n * power >= rough) * power
    for k in range(ceil(start / step - 1e-9), floor(stop / step + 1e-9) + 1):
        x = left + (k * step - start) / (stop - start or 1.0) * (WIDE - RIGHT - left)
        label = time_text(k * step)
        label = f"{label} {unit_text(k * step, unit)}" if (k + 1) * step > stop else label
        yield Path((((x, bottom), (x, bottom + 4)),), "clock")
        middle = min(x, WIDE - width_of(label, "muted") / 2)
        yield Words(label, middle, bottom + AXIS - 6, "muted")
