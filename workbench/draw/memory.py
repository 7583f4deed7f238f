"""The memory picture: places inside places, and a straight lane of data for each buffer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import log2
from typing import NamedTuple, TypeAlias

from workbench.diag import size_text
from workbench.draw.colours import heat, times_each
from workbench.draw.picture import Picture
from workbench.draw.scene import (
    Rect,
    Scene,
    Shape,
    Stands,
    Words,
    fit,
    lines_of,
    longest,
    name_lines,
    path,
    standing,
)
from workbench.insight import At, BufferUse, Level, Memory
from workbench.insight.lanes import Band, Lane, lanes_of
from workbench.insight.launched import us_text

PLACES = 107.0  # px; what is said of a place stands left of its lanes
LANE, INSET = 71.0, 4.0  # px of a lane; how far a place lies inside the one around it
MOST = 3  # lanes beside each other: so many fit a phone
CHIP, GAP, L2, LINE = 34.0, 73.0, 16.0, 15.0
SAID = 54.0  # px; the height of what is said of a place
IN_A_GAP = 4  # lines of words
HEAD, WORK = 7.0, 24.0  # px; the heights of an arrowhead and of where data is used
THINNEST, THICKEST = 3.0, 30.0  # px of a band
HAIR = 1.5  # px of one that takes next to no time

PLACE_WORDS = {
    "global": ("device", "global memory"),
    "shared": ("block", "shared memory"),
    "local": ("thread", "registers"),
}
BY_BYTES = "The wider a band, the more bytes it carries. "
BY_TIME = (
    "The wider a band, the longer is what carries it busy, modelled; a time is on it. "
    "Registers take no time of their own. "
)
LEGEND = (
    "× is how often one block (of registers: one thread) loads each cell, on average. "
    "The L2 cache keeps what was used last of global memory, for all blocks."
)


Moved: TypeAlias = "Mapping[tuple[str, bool], float]"
"""The µs of the loads (True) and stores of each buffer, as `Modelled.moved` has them."""


@dataclass(frozen=True, slots=True)
class Times:
    """How wide bands are by their modelled times: `widest` µs are as wide as any gets.

    `before` are those of the step before, None where they are not known.
    """

    now: Moved
    before: Moved | None
    widest: float

    def width(self, us: float) -> float:
        return min(max(THICKEST * us / self.widest, HAIR), THICKEST)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where each level lies: the top of its place, and its buffers from `top` to `bottom`.

    `cache` is the top of the L2 cache, which lies below the buffers of the device. Of `names` a
    buffer has at most so many lines, and of what is done at `work` there are so many `stages`.
    """

    places: tuple[float, ...]
    tops: tuple[float, ...]
    bottoms: tuple[float, ...]
    cache: float
    work: float
    names: int
    stages: int

    @property
    def end(self) -> float:
        return self.work + self.high + INSET * (len(self.places) + 1)

    @property
    def high(self) -> float:
        """How high is what is said of the work."""
        return WORK + LINE * (self.stages - 1)

    def beside_cache(self, top: float, bottom: float) -> tuple[tuple[float, float], ...]:
        """From `top` to `bottom` in one piece, or, of what goes through the cache, in two."""
        if not top < self.cache < bottom:
            return ((top, bottom),)
        return (top, self.cache), (self.cache + L2, bottom)


def memory_picture(
    memory: Memory, before: Memory | None = None, times: Times | None = None
) -> Picture:
    """The places of a device inside each other, and what each buffer's data does between them.

    A buffer and its copies share a lane. A band is as wide as the logarithm of its bytes or, where
    there are `times`, as its time; it is filled by how often each cell is loaded, and that of the
    step `before` is hatched.
    """
    lanes = lanes_of(memory, before)
    sides = _side_by_side(lanes)
    room = LANE * max(MOST, *(sum(map(_columns, beside)) for beside in sides))
    stages = len(_stage_lines(memory, LANE * MOST if len(sides) > 1 else room))
    rows = _rows(memory.levels, GAP + LINE * _more_lines(lanes, times), _name_lines(lanes), stages)
    # halves of a pane are too low for the words of several: they scroll
    several = len(sides) > 1
    strips = tuple(_strip(memory, beside, rows, times, scrolls=several) for beside in sides)
    legend = (BY_TIME if times else BY_BYTES) + LEGEND
    caption = "\n".join((memory.caption, legend, *_legend(lanes, times)))
    return Picture(strips, caption, memory.table, "modelled" if times else memory.kind)


def covered_places(memory: Memory) -> tuple[Scene, ...]:
    """The places with their buffers, and "?" for all that would be counted."""
    uses = tuple(flow for flow in memory.flows if not flow.copies)
    bare = replace(memory, flows=uses, levels=_untouched(memory.levels))
    strips = memory_picture(bare).strips
    return tuple(replace(strip, shapes=tuple(map(_covered, strip.shapes))) for strip in strips)


def _untouched(levels: Sequence[Level]) -> tuple[Level, ...]:
    return tuple(
        replace(
            level, buffers=tuple(replace(use, load_bytes=0, store_bytes=0) for use in level.buffers)
        )
        for level in levels
    )


def _covered(shape: Shape) -> Shape:
    if isinstance(shape, Words) and shape.role == "muted" and shape.label[0].isdigit():
        return shape._replace(label="?")  # how many bytes
    return shape


def _legend(lanes: Sequence[Lane], times: Times | None) -> Iterator[str]:
    """What is to be said of what only some pictures have."""
    bands = [band for lane in lanes for band in lane.bands]
    drawn = any(_weight(lane, b, times).was is not None for lane in lanes for b in lane.bands)
    if drawn or any(band.before is not None for band in bands):
        yield "Hatched bands, and numbers in brackets, are those of the step before."
    places = dict.fromkeys(band.at for band in bands if band.at)
    if places:
        yield "; ".join(f"“{_at_words(at)}”: done {_done(at)}" for at in places) + "."


def _at_words(at: At) -> str:
    """Where a copy is made, on its band: a name that has no room there is told by its line."""
    return longest((f"at {at.loop}", f"at line {at.line}"), LANE - 8) or f"line {at.line}"


def _done(at: At) -> str:
    return f"in each turn of {at.loop}" if at.doer == "turn" else f"by each {at.doer} of {at.loop}"


def _column(lane: Lane, band: Band) -> int:
    """Which part of the lane a band runs in: past copies that it does not go through, beside them.

    What starts nearest to the thread runs nearest to the copies, so that no band meets a
    buffer but those that it joins.
    """
    if band.near == band.far + 1:
        return 0
    passing = {b.far for b in lane.bands if b.near != b.far + 1}
    return 1 + sorted(passing, reverse=True).index(band.far)


def _columns(lane: Lane) -> int:
    return 1 + max((_column(lane, band) for band in lane.bands), default=0)


def _side_by_side(lanes: Iterable[Lane]) -> list[list[Lane]]:
    """As many lanes in a strip as a phone shows."""
    strips: list[list[Lane]] = [[]]
    for lane in lanes:
        if strips[-1] and sum(map(_columns, strips[-1])) + _columns(lane) > MOST:
            strips.append([])
        strips[-1].append(lane)
    return strips


def _stage_lines(memory: Memory, room: float) -> list[str]:
    """The blocks that use data, in lines that have room."""
    *some, last = _work(memory) or ("",)
    return lines_of([*(f"{name}, " for name in some), last], room - 8, "code")


def _chips(lane: Lane) -> list[float]:
    """How wide each buffer of a lane is drawn."""
    return [
        LANE * (1 + max((_column(lane, b) for b in lane.bands if b.far == k), default=0)) - 6
        for k in range(len(lane.uses))
    ]


def _name_lines(lanes: Sequence[Lane]) -> int:
    """How many lines the longest name of a buffer has."""
    each = (
        len(name_lines(use.buffer, wide - 4))
        for lane in lanes
        for use, wide in zip(lane.uses, _chips(lane), strict=True)
    )
    return max(each, default=1)


def _rows(levels: Sequence[Level], gap: float, names: int, stages: int) -> _Rows:
    """Room for what is said of each place, for its buffers, and for the bands between them."""
    chip = CHIP + LINE * (names - 1)
    places, tops, bottoms = [1.0], [8.0], [8.0 + chip]
    cache = bottoms[0] + HEAD + 3
    ends = [cache + L2]  # below which the next level can begin
    for level in levels[1:]:
        places.append(max(ends[-1] + 4, places[-1] + SAID))
        tops.append(max(ends[-1] + gap, places[-1] + 8))
        bottoms.append(tops[-1] + chip if level.buffers else ends[-1])
        ends.append(bottoms[-1])
    work = max(ends[-1] + gap, places[-1] + SAID)
    return _Rows(tuple(places), tuple(tops), tuple(bottoms), cache, work, names, stages)


def _more_lines(lanes: Sequence[Lane], times: Times | None) -> int:
    """How many lines the words between two places need beyond those that a gap has room for.

    A time is one; of bands beside each other the words stand below each other.
    """
    timed: Counter[tuple[str, int, int]] = Counter()
    told: Counter[tuple[str, int, int]] = Counter()
    for lane in lanes:
        for band in lane.bands:
            route = (band.buffer, *_route(band))
            timed[route] += times is not None and (band.buffer, band.load) in times.now
            told[route] += 1 + band.load + (band.at is not None) + (band.before is not None)
    return max((max(timed[one], timed[one] + told[one] - IN_A_GAP) for one in told), default=0)


def _strip(
    memory: Memory, lanes: Sequence[Lane], rows: _Rows, times: Times | None, scrolls: bool
) -> Scene:
    room = max(sum(map(_columns, lanes)), MOST) * LANE
    wide = PLACES + room + INSET * len(rows.places)
    shapes = _places(memory, rows, wide)
    middle = PLACES + room / 2
    shapes += [
        Words("work", 14, rows.work + 16, "strong", "start"),
        *standing(
            Stands(statement=", ".join(_work(memory)), key="work"),
            [
                Rect(PLACES, rows.work, room, rows.high, "box", round=3),
                *(
                    Words(line.strip(), middle, rows.work + 16 + LINE * k, "code")
                    for k, line in enumerate(_stage_lines(memory, room))
                ),
            ],
        ),
    ]
    x = PLACES
    for lane in lanes:
        shapes += _lane(lane, x, rows, times)
        x += LANE * _columns(lane)
    return Scene(wide, rows.end + 1, tuple(shapes), scrolls=scrolls, free=True)


def _work(memory: Memory) -> dict[str, None]:
    """The blocks that use data: all but those that only copy, if there are others."""
    using = dict.fromkeys(flow.stage for flow in memory.flows if not flow.copies)
    return using or dict.fromkeys(flow.stage for flow in memory.flows)


def _places(memory: Memory, rows: _Rows, wide: float) -> list[Shape]:
    """Each place inside the one around it, with its words; the cache lies in the device."""
    shapes: list[Shape] = []
    for k, (level, top) in enumerate(zip(memory.levels, rows.places, strict=True)):
        x, bottom = 1 + INSET * k, rows.end - INSET * (k + 1)
        place = Stands(key=f"place {level.scope}")
        shapes.append(Rect(x, top, wide - 2 * x, bottom - top, "room", place, 5))
        owner, name = PLACE_WORDS.get(level.scope, (level.owner, level.scope))
        of = f" of {size_text(level.capacity)}" if level.capacity else ""
        used = f"{size_text(level.used)}{of}" if level.used else "unused"
        said = ((owner, "strong"), (name, "words"), (used, "muted"))
        left, room = x + 4, PLACES - x - 4
        shapes += [
            Words(fit(words, room, role), left, top + LINE * (j + 1), role, "start")
            for j, (words, role) in enumerate(said)
        ]
    shapes += [
        Rect(5, rows.cache, wide - 10, L2, "soft", round=3),
        Words("L2 cache", 10, rows.cache + 12, "muted", "start"),
    ]
    return shapes


def _lane(lane: Lane, x: float, rows: _Rows, times: Times | None) -> list[Shape]:
    """Its bands, what is said of them over these, and its buffers."""
    shapes: list[Shape] = []
    said: list[Shape] = []
    for key, ways in groupby(sorted(lane.bands, key=_route), key=_route):
        far, near = key
        low = rows.bottoms[lane.levels[far]]
        high = rows.tops[lane.levels[near]] if near < len(lane.uses) else rows.work
        both = list(ways)
        middle = x + LANE * (_column(lane, both[0]) + 0.5)
        y = rows.beside_cache(low, high)[-1][0] + (HEAD + 3 if len(both) > 1 else 5)
        for band in both:
            aside = LANE / 4 * (-1 if band.load else 1) if len(both) > 1 else 0.0
            weight = _weight(lane, band, times)
            shapes += standing(
                _band_of(band, weight, lane), _band(band, weight, middle + aside, low, high, rows)
            )
            top = y + (0 if band.load or len(both) > 1 else HEAD)
            label = _label(band, weight, middle, top)
            said += label
            y += LINE * sum(isinstance(shape, Words) for shape in label)
    for use, level, wide in zip(lane.uses, lane.levels, _chips(lane), strict=True):
        said += standing(
            Stands(use.buffer, key=_key(lane, use.buffer)),
            _chip(use, x + 3, wide, rows.tops[level], rows.names),
        )
    return shapes + said


def _route(band: Band) -> tuple[int, int]:
    return band.far, band.near


def thickness(size: int) -> float:
    """How many px wide a band of so many bytes is, the same in all pictures."""
    return min(max(log2(size) - 4, THINNEST), THICKEST) if size > 0 else THINNEST


class _Weight(NamedTuple):
    """How wide a band is in px, and was, None where that is the same; and its time in words."""

    wide: float
    was: float | None
    time: str


def _weight(lane: Lane, band: Band, times: Times | None) -> _Weight:
    """By its bytes or its time, which bands of one buffer and way share by their bytes."""
    if times is None:
        was = None if band.before is None else thickness(band.before)
        return _Weight(thickness(band.bytes), was, "")
    key = band.buffer, band.load
    alike = sum(other.bytes for other in lane.bands if (other.buffer, other.load) == key)
    share = band.bytes / alike if alike else 1.0
    us = times.now.get(key, 0.0) * share
    wide = times.width(us)
    was = times.width(times.before.get(key, 0.0) * share) if times.before is not None else wide
    return _Weight(wide, was if abs(was - wide) >= 1 else None, us_text(us) if us else "")


def _band(
    band: Band, weight: _Weight, middle: float, low: float, high: float, rows: _Rows
) -> list[Shape]:
    """From `low` to `high`, up to the cache and on from it, its head where the data arrives."""
    wide = weight.wide
    point, back = (high, high - HEAD) if band.load else (low, low + HEAD)
    head = path(
        "head", ((middle, point), (middle - wide / 2 - 4, back), (middle + wide / 2 + 4, back))
    )
    pieces = rows.beside_cache(low, back) if band.load else rows.beside_cache(back, high)
    drawn = [
        (wide, heat(band.reuse) if band.load else "stored"),
        (wide, "read" if band.load else "write"),
    ]
    if weight.was is not None:
        drawn.append((weight.was, "ghost"))
    shapes: list[Shape] = [head]
    shapes += [
        Rect(middle - across / 2, top, across, bottom - top, role)
        for across, role in drawn
        for top, bottom in pieces
    ]
    return shapes


def _band_of(band: Band, weight: _Weight, lane: Lane) -> Stands:
    """What a band stands for; those of copies come of the band of what they are copied from."""
    way = f"{band.buffer}: {band.bytes:,} bytes {'loaded' if band.load else 'stored'}"
    way += f" in {weight.time}, modelled" if weight.time else ""
    way += f", {_done(band.at)}" if band.at else ""
    first, *copy = _key(lane, band.buffer).split(">")
    key = ">".join((f"{'load' if band.load else 'store'} {first}", *copy))
    return Stands(band.buffer, statement=band.stages, title=way, key=key)


def _key(lane: Lane, buffer: str) -> str:
    """The first buffer of its lane and, of a copy, in which place this is."""
    first = lane.uses[0].buffer
    return first if buffer == first else f"{first}>{buffer}"


def _label(band: Band, weight: _Weight, x: float, y: float) -> list[Shape]:
    """Its bytes on it, its time, how often each cell is loaded, what it was."""
    lines = [(f"{'↓' if band.load else '↑'} {size_text(band.bytes)}", "on")]
    if weight.time:
        lines.append((weight.time, "on-strong"))
    if band.load:
        lines.append((times_each(band.reuse), "on-strong"))
    if band.at:
        lines.append((_at_words(band.at), "on"))
    if band.before is not None:
        lines.append((f"({size_text(band.before)})", "on-muted"))
    shapes = [
        Words(words, x, y + LINE * (k + 1) - 4, role) for k, (words, role) in enumerate(lines)
    ]
    return standing(Stands(band.buffer, statement=band.stages), shapes)


def _chip(use: BufferUse, x: float, wide: float, y: float, names: int) -> list[Shape]:
    """A buffer: its name, for which there is room in so many lines, and its bytes."""
    middle, below = x + wide / 2, y + LINE * (names - 1)
    return [
        Rect(x, y, wide, CHIP + LINE * (names - 1), "chip", round=3),
        *(
            Words(line, middle, y + 15 + LINE * k, "name")
            for k, line in enumerate(name_lines(use.buffer, wide - 4))
        ),
        Words(size_text(use.bytes), middle, below + 29, "muted"),
    ]
