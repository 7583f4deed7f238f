"""The scene of a track whose rows have names: as much of it as is seen at once, at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor

from workbench.draw.scene import (
    Path,
    Rect,
    Scene,
    Shape,
    Stands,
    Words,
    longest,
    path,
    standing,
    width_of,
)
from workbench.draw.timeline import AXIS, LINE, RIGHT, WIDE, time_axis
from workbench.insight import Track
from workbench.insight.track import Span

HIGH = (13.0, 44.0)  # px of a row: with many, with few
ROWS = 150.0  # px that all rows have, if they are not too many for it
MOST = 400  # spans of a row that are drawn one by one
MARK = 12.0  # px between two marks, at least on average


@dataclass(frozen=True, slots=True)
class _Place:
    """Where rows and times lie: from time `start` to `stop`, at px `left` to WIDE - RIGHT."""

    track: Track
    start: float
    stop: float
    left: float
    row: float

    def x(self, t: float) -> float:
        """The px of a time; of one that is not seen, those of the end that is nearer."""
        share = (min(max(t, self.start), self.stop) - self.start) / (self.stop - self.start or 1)
        return self.left + share * (WIDE - RIGHT - self.left)

    @property
    def bottom(self) -> float:
        return LINE + self.row * self.track.rows


def rows_scene(track: Track, t: float) -> Scene:
    """The window of a track that has the time `t`: what has run is dark, what will run faint."""
    window = track.window or track.length
    start = min(floor(t / window) * window if window else 0.0, max(track.length - window, 0.0))
    names = track.names or tuple(f"{track.row} {k}" for k in range(track.rows))
    left = max(map(width_of, names)) + 10
    row = min(max(ROWS / track.rows, HIGH[0]), HIGH[1])
    place = _Place(track, start, start + window, left, row)
    shapes: list[Shape] = [Rect(left, LINE, WIDE - RIGHT - left, place.bottom - LINE, "room")]
    for spans in track.spans:
        for k in range(track.ended(spans, start), track.started(spans, start + window))[:MOST]:
            shapes += _span(place, track.span(spans, k), t)
    for k, name in enumerate(names):
        shapes.append(Words(name, left - 6, LINE + (k + 0.5) * row + 4, "muted", "end"))
    shapes += _marks(place)
    x = place.x(t)
    shapes.append(Path((((x, LINE - 3), (x, place.bottom + 4)),), "clock"))
    shapes += time_axis(track.unit, (start, start + window), left, place.bottom)
    return Scene(WIDE, place.bottom + AXIS, tuple(shapes))


def _span(place: _Place, span: Span, t: float) -> Iterator[Shape]:
    """A box with its name, or a part of it, where it has room."""
    sort = place.track.sorts[span.sort]
    role = sort.roles[(span.number or 0) % len(sort.roles)]
    if span.start <= t < span.end:
        role = sort.now or role
    left, right, y = place.x(span.start), place.x(span.end), LINE + span.row * place.row
    wide = right - left - (1.0 if right - left > 4 else 0.0)
    drawn: list[Shape] = [Rect(left, y + 1, wide, place.row - 2, role)]
    label = longest([sort.label], wide - 4)
    if label and place.row >= HIGH[0]:
        middle = (left + right) / 2
        drawn.append(Words(label, middle, y + place.row / 2 + 4))
    title = f"{sort.label or sort.statement or 'waits'}, from {span.start:,.0f} to {span.end:,.0f}"
    yield from standing(Stands(statement=sort.statement, loops=sort.loops, title=title), drawn)


def _marks(place: _Place) -> Iterator[Shape]:
    """Where something ends for all rows, with its number where that has room."""
    track, found = place.track, list[float]()
    for marks in track.marks:
        first, end = track.ended(marks, place.start), track.started(marks, place.stop)
        found += [track.span(marks, k).start for k in range(first, end)[:MOST]]
    if len(found) * MARK > WIDE - RIGHT - place.left:
        return  # they would be a ground, not lines
    number = sum(track.ended(marks, place.start) for marks in track.marks)
    free = 0.0
    for k, t in enumerate(sorted(found), number + 1):
        x, said = place.x(t), f"{k:,}" if free else f"{track.mark} {k:,}"
        yield path("clock", ((x, LINE - 2), (x, place.bottom)))
        if x >= free and x + width_of(said) <= WIDE:
            yield Words(said, x - 2, LINE - 4, "muted", "start")
            free = x + width_of(said) + 8
