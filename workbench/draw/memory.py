"""The memory picture: places inside places, and a straight lane of data for each buffer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from typing import NamedTuple

from workbench.diag import size_text
from workbench.draw.bands import WING, Times, Weight, at_words, done, thickness, weight_of
from workbench.draw.colours import times_each
from workbench.draw.picture import Picture
from workbench.draw.scene import (
    Forms,
    Rect,
    Scene,
    Shape,
    Stands,
    Words,
    fit,
    lines_of,
    longest,
    name_lines,
    name_parts,
    path,
    standing,
    width_of,
)
from workbench.insight import BufferUse, Level, Memory
from workbench.insight.lanes import Band, Lane, lanes_of

ROOM, INSET = 192.0, 4.0  # px of all lanes, at least; how far a place lies inside that around it
L2, LINE = 16.0, 15.0
HEAD, WORK = 7.0, 24.0  # px; the heights of an arrowhead and of where data is used
ASIDE = 4.0  # px from a band to its words
AIR, PART = 2.0, 98.0  # px on both sides of the name of a buffer; of a part of it, at most


@dataclass(frozen=True, slots=True)
class _Form:
    """How much is said: all there is, or a name a buffer and, with `numbers`, one a band.

    `chip` are the px of a buffer, `lines` those of words that a gap has room for at least. What is
    said of a place stands in `left` px beside its lanes, which have `least` px each, `most` of them
    beside each other. A name has up to `name` px in a line, more where it has no part so short;
    buffers are `apart` px from each other.
    """

    full: bool
    numbers: bool
    chip: float
    lines: int
    left: float
    least: float
    most: int
    name: float
    apart: float

    def place_words(self, level: Level, left: float) -> list[tuple[str, str]]:
        """What is said of a place in the room from `left` on; each line with its role."""
        owner, name = PLACE_WORDS.get(level.scope, (level.owner, level.scope))
        used = size_text(level.used)
        forms = [f"{used} of {size_text(level.capacity)}"] if level.capacity else []
        room = self.left - left
        said = [(owner, "strong")]
        if self.full:
            said += [(name, "words")]
        if level.used and self.numbers:
            said += [(longest((*forms, used), room, "muted"), "muted")]
        elif self.full:
            said += [("unused", "muted")]
        return [(fit(words, room, role), role) for words, role in said]

    def said(self, level: Level) -> float:
        """The height of what is said of a place."""
        return LINE * len(self.place_words(level, 0)) + 9


FULL = _Form(True, True, 34.0, 4, 107.0, 64.0, 3, 70.0, 6.0)  # so many lanes fit a phone
LOW = _Form(False, True, 18.0, 1, 68.0, 52.0, 4, 70.0, 6.0)
BARE = _Form(False, False, 18.0, 1, 60.0, 32.0, 8, 0.0, 3.0)

PLACE_WORDS = {
    "global": ("device", "global memory"),
    "shared": ("block", "shared memory"),
    "local": ("thread", "registers"),
}
BY_BYTES = (
    "The wider a band, the more bytes it carries, by their logarithm: one of 1 GiB is "
    f"{thickness(2**30) / thickness(2**20):.1f} times as wide as one of 1 MiB. "
)
BY_TIME = (
    "The wider a band, the longer is what carries it busy, modelled; a time is on it. "
    "Registers take no time of their own. "
)
LEGEND = (
    "× is how often one block (of registers: one thread) loads each cell, on average. "
    "The L2 cache keeps what was used last of global memory, for all blocks."
)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where each level lies: the top of its place, and its buffers from `top` to `bottom`.

    `cache` is the top of the L2 cache, which lies below the buffers of the device. Names of buffers
    have at most so many lines as `names` has for each level, what is done at `work` so many
    `stages`.
    """

    places: tuple[float, ...]
    tops: tuple[float, ...]
    bottoms: tuple[float, ...]
    cache: float
    work: float
    names: tuple[int, ...]
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
    there are `times`, as its time, and is filled by that, else by how often each cell is loaded;
    that of the step `before` is hatched. What is said of a band stands beside it.
    """
    lanes = lanes_of(memory, before)
    strips, *low = (tuple(_strips(memory, lanes, times, form)) for form in (FULL, LOW, BARE))
    legend = (BY_TIME if times else BY_BYTES) + LEGEND
    caption = "\n".join((memory.caption, legend, *_legend(lanes, times)))
    kind = "modelled" if times else memory.kind
    return Picture(strips, caption, memory.table, kind, low=tuple(low))


def covered_places(memory: Memory) -> Forms:
    """The places with their buffers, and "?" for all that would be counted."""
    uses = tuple(flow for flow in memory.flows if not flow.copies)
    bare = replace(memory, flows=uses, levels=_untouched(memory.levels))
    return [
        [replace(strip, shapes=tuple(map(_covered, strip.shapes))) for strip in strips]
        for strips in memory_picture(bare).forms
    ]


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
    drawn = any(weight_of(lane, b, times).was is not None for lane in lanes for b in lane.bands)
    if drawn or any(band.before is not None for band in bands):
        yield "Hatched bands, and numbers in brackets, are those of the step before."
    places = dict.fromkeys(band.at for band in bands if band.at)
    if places:
        yield "; ".join(f"“{at_words(at)}”: done {done(at)}" for at in places) + "."


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


def _side_by_side(lanes: Iterable[Lane], most: int) -> list[list[Lane]]:
    """The lanes in strips, a column of each for what runs beside it."""
    strips: list[list[Lane]] = [[]]
    for lane in lanes:
        if strips[-1] and sum(map(_columns, strips[-1])) + _columns(lane) > most:
            strips.append([])
        strips[-1].append(lane)
    return strips


def _rows(
    levels: Sequence[Level], form: _Form, lines: int, names: Sequence[int], stages: int
) -> _Rows:
    """Room for what is said of each place, for its buffers, and for the bands between them."""
    gap, chips = HEAD + 6 + LINE * lines, [form.chip + LINE * (count - 1) for count in names]
    places, tops, bottoms = [1.0], [8.0], [8.0 + chips[0]]
    cache = bottoms[0] + HEAD + 3
    ends = [cache + L2]  # below which the next level can begin
    for before, level, chip in zip(levels, levels[1:], chips[1:], strict=False):
        places.append(max(ends[-1] + 4, places[-1] + form.said(before)))
        tops.append(max(ends[-1] + gap, places[-1] + 8))
        bottoms.append(tops[-1] + chip if level.buffers else ends[-1])
        ends.append(bottoms[-1])
    work = max(ends[-1] + gap, places[-1] + form.said(levels[-1]))
    return _Rows(tuple(places), tuple(tops), tuple(bottoms), cache, work, tuple(names), stages)


def _lines(lanes: Sequence[_Drawn], form: _Form) -> int:
    """How many lines the words between two places have at most, or as many as there is room for.

    Of bands beside each other they stand below each other.
    """
    told: Counter[tuple[str, int, int]] = Counter()
    for drawn in lanes:
        for band, _, lines in drawn.bands:
            told[band.buffer, *_route(band)] += len(lines)
    return max(form.lines, *told.values(), 0)


def _strips(
    memory: Memory, lanes: Sequence[Lane], times: Times | None, form: _Form
) -> Iterator[Scene]:
    """The strips, whose places lie beside each other."""
    sides = _side_by_side(lanes, form.most)
    drawn = [[_Drawn.of(lane, times, form) for lane in beside] for beside in sides]
    every = [lane for beside in drawn for lane in beside]
    names = [1] * len(memory.levels)
    for one in every:
        for level, lines in zip(one.lane.levels, one.names(), strict=True):
            names[level] = max(names[level], len(lines))
    stages = max(len(_stage_lines(memory, beside)) for beside in drawn)
    rows = _rows(memory.levels, form, _lines(every, form), names, stages)
    for beside in drawn:
        # halves of a pane are too low for the words of several: they scroll
        yield _strip(memory, beside, rows, form, scrolls=len(sides) > 1)


def _room(drawn: Sequence[_Drawn]) -> float:
    """How wide the lanes of a strip are together."""
    return max(sum(lane.wide for lane in drawn), ROOM)


def _stage_lines(memory: Memory, drawn: Sequence[_Drawn]) -> list[str]:
    """The blocks that use data, in lines that have room."""
    *some, last = _work(memory) or ("",)
    return lines_of([*(f"{name}, " for name in some), last], _room(drawn) - 8, "code")


def _strip(
    memory: Memory, drawn: Sequence[_Drawn], rows: _Rows, form: _Form, scrolls: bool
) -> Scene:
    room = _room(drawn)
    left = form.left
    wide = left + room + INSET * len(rows.places)
    shapes = _places(memory, rows, wide, form)
    shapes += [
        Words("work", 14, rows.work + 16, "strong", "start", Stands(key="place work")),
        *standing(
            Stands(statement=", ".join(_work(memory)), key="work"),
            [
                Rect(left, rows.work, room, rows.high, "box", round=3),
                *(
                    Words(line.strip(), left + room / 2, rows.work + 16 + LINE * k, "code")
                    for k, line in enumerate(_stage_lines(memory, drawn))
                ),
            ],
        ),
    ]
    x = left
    for lane in drawn:
        shapes += _lane(lane, x, rows, form)
        x += lane.wide
    return Scene(wide, rows.end + 1, tuple(shapes), scrolls=scrolls, free=True)


def _work(memory: Memory) -> dict[str, None]:
    """The blocks that use data: all but those that only copy, if there are others."""
    using = dict.fromkeys(flow.stage for flow in memory.flows if not flow.copies)
    return using or dict.fromkeys(flow.stage for flow in memory.flows)


def _places(memory: Memory, rows: _Rows, wide: float, form: _Form) -> list[Shape]:
    """Each place inside the one around it, with its words; the cache lies in the device."""
    shapes: list[Shape] = []
    for k, (level, top) in enumerate(zip(memory.levels, rows.places, strict=True)):
        x, bottom = 1 + INSET * k, rows.end - INSET * (k + 1)
        drawn: list[Shape] = [Rect(x, top, wide - 2 * x, bottom - top, "room", round=5)]
        drawn += [
            Words(words, x + 4, top + LINE * (j + 1), role, "start")
            for j, (words, role) in enumerate(form.place_words(level, x + 4))
        ]
        shapes += standing(Stands(key=f"place {level.scope}"), drawn)
    cache: list[Shape] = [
        Rect(5, rows.cache, wide - 10, L2, "soft", round=3),
        Words("L2 cache", 10, rows.cache + 12, "muted", "start"),
    ]
    return shapes + standing(Stands(key="place L2"), cache)


class _Column(NamedTuple):
    """A part of a lane: how wide, and how far in it the middles of its bands are.

    Where a route has a load and a store, the second is at `store`, and their words between them.
    """

    wide: float
    middle: float
    store: float


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A lane with the weights of its bands, what is said of each, and where its columns are."""

    lane: Lane
    bands: tuple[tuple[Band, Weight, list[tuple[str, str]]], ...]
    columns: tuple[_Column, ...]
    form: _Form

    @property
    def wide(self) -> float:
        return sum(column.wide for column in self.columns)

    def chips(self) -> list[float]:
        """How wide each buffer is drawn."""
        ends = list(accumulate(column.wide for column in self.columns))
        joined = (
            max((_column(self.lane, b) for b in self.lane.bands if b.far == k), default=0)
            for k in range(len(self.lane.uses))
        )
        return [ends[number] - self.form.apart for number in joined]

    def names(self) -> list[list[str]]:
        """The name of each buffer, in lines that have room in it."""
        each = zip(self.lane.uses, self.chips(), strict=True)
        return [name_lines(use.buffer, wide - 2 * AIR) for use, wide in each]

    @staticmethod
    def of(lane: Lane, times: Times | None, form: _Form) -> _Drawn:
        weights = [(band, weight_of(lane, band, times)) for band in lane.bands]
        ways = Counter(map(_route, lane.bands))
        bands = tuple(
            (band, weight, _said(band, weight, form, ways[_route(band)] > 1))
            for band, weight in weights
        )
        return _Drawn(lane, bands, tuple(_Drawn._columns(lane, bands, form)), form)

    @staticmethod
    def _columns(
        lane: Lane, bands: Sequence[tuple[Band, Weight, list[tuple[str, str]]]], form: _Form
    ) -> Iterator[_Column]:
        """Wide enough for what is said beside each band, and for the names of buffers."""
        names = max(_name_room(use.buffer, form.name) for use in lane.uses)
        names += 2 * AIR + form.apart
        for number in range(_columns(lane)):
            mine = [one for one in bands if _column(lane, one[0]) == number]
            pairs = {route for route, n in Counter(_route(b) for b, _, _ in mine).items() if n > 1}
            half = max((weight.half for _, weight, _ in mine), default=0.0)
            stores = [w.half for b, w, _ in mine if _route(b) in pairs and not b.load]
            words = [
                weight.reach + ASIDE + max((width_of(*line) for line in said), default=0.0)
                for _, weight, said in mine
            ]
            middle = 3 + half
            wide = middle + max(words, default=0.0) + 4
            store = wide + max(stores, default=0.0)
            wide = max(wide, 2 * middle, store + max(stores) + 3 if stores else 0.0)
            if number == 0:
                wide = max(wide, form.least, names)
            yield _Column(wide, middle, store)


def _name_room(name: str, most: float) -> float:
    """The px of a line of a name: up to `most`, but for what is not broken."""
    part = max(width_of(part, "name") for part in name_parts(name))
    return max(min(width_of(name, "name"), most), min(part, PART))


def _lane(drawn: _Drawn, x: float, rows: _Rows, form: _Form) -> list[Shape]:
    """Its bands, what is said of them beside these, and its buffers."""
    shapes: list[Shape] = []
    said: list[Shape] = []
    lane = drawn.lane
    starts = [x, *(x + wide for wide in accumulate(column.wide for column in drawn.columns))]
    for key, ways in groupby(sorted(drawn.bands, key=_way), key=_way):
        far, near = key
        low = rows.bottoms[lane.levels[far]]
        high = rows.tops[lane.levels[near]] if near < len(lane.uses) else rows.work
        both = list(ways)
        number = _column(lane, both[0][0])
        left, column = starts[number], drawn.columns[number]
        y = rows.beside_cache(low, high)[-1][0] + 3
        y += HEAD if any(not band.load for band, _, _ in both) else 0
        beside = left + column.middle + max(weight.reach for _, weight, _ in both[:1]) + ASIDE
        for band, weight, lines in both:
            middle = left + (column.store if len(both) > 1 and not band.load else column.middle)
            shapes += standing(
                _band_of(band, weight, lane), _band(band, weight, middle, low, high, rows)
            )
            said += standing(
                Stands(band.buffer, statement=band.stages, key=_band_key(band, lane)),
                [
                    Words(words, beside, y + LINE * (k + 1) - 4, role, "start")
                    for k, (words, role) in enumerate(lines)
                ],
            )
            y += LINE * len(lines)
    chips = zip(lane.uses, lane.levels, drawn.chips(), drawn.names(), strict=True)
    for use, level, wide, name in chips:
        said += standing(
            Stands(use.buffer, key=_key(lane, use.buffer)),
            _chip(use, name, x + form.apart / 2, wide, rows, level, form),
        )
    return shapes + said


def _way(drawn: tuple[Band, Weight, list[tuple[str, str]]]) -> tuple[int, int]:
    return _route(drawn[0])


def _route(band: Band) -> tuple[int, int]:
    return band.far, band.near


def _band(
    band: Band, weight: Weight, middle: float, low: float, high: float, rows: _Rows
) -> list[Shape]:
    """From `low` to `high`, up to the cache and on from it, its head where the data arrives."""
    wide = weight.wide
    point, back = (high, high - HEAD) if band.load else (low, low + HEAD)
    head = path(
        "head",
        ((middle, point), (middle - wide / 2 - WING, back), (middle + wide / 2 + WING, back)),
    )
    pieces = rows.beside_cache(low, back) if band.load else rows.beside_cache(back, high)
    drawn = [(wide, weight.fill), (wide, "read" if band.load else "write")]
    if weight.was is not None:
        drawn.append((weight.was, "ghost"))
    shapes: list[Shape] = [head]
    shapes += [
        Rect(middle - across / 2, top, across, bottom - top, role)
        for across, role in drawn
        for top, bottom in pieces
    ]
    return shapes


def _band_of(band: Band, weight: Weight, lane: Lane) -> Stands:
    """What a band stands for; those of copies come of the band of what they are copied from."""
    way = f"{band.buffer}: {band.bytes:,} bytes {'loaded' if band.load else 'stored'}"
    way += f" in {weight.time}, modelled" if weight.time else ""
    way += f", {done(band.at)}" if band.at else ""
    return Stands(band.buffer, statement=band.stages, title=way, key=_band_key(band, lane))


def _band_key(band: Band, lane: Lane) -> str:
    """The key of a band and of its words, which move with it."""
    first, *copy = _key(lane, band.buffer).split(">")
    return ">".join((f"{'load' if band.load else 'store'} {first}", *copy))


def _key(lane: Lane, buffer: str) -> str:
    """The first buffer of its lane and, of a copy, in which place this is."""
    first = lane.uses[0].buffer
    return first if buffer == first else f"{first}>{buffer}"


def _said(band: Band, weight: Weight, form: _Form, paired: bool) -> list[tuple[str, str]]:
    """Its bytes, its time, how often each cell is loaded, where, what it was; or one of these.

    Which way it goes its head tells, and where it is `paired` with another, an arrow, too.
    """
    if not form.numbers:
        return []
    arrow = f"{'↓' if band.load else '↑'} " if form.full or paired else ""
    size = arrow + size_text(band.bytes)
    if not form.full:
        number = size if weight.time is None else weight.time and arrow + weight.time
        return [(number, "words")] if number else []
    lines = [(size, "words")]
    if weight.time:
        lines.append((weight.time, "strong"))
    if band.load:
        lines.append((times_each(band.reuse), "words"))
    if band.at:
        lines.append((at_words(band.at), "words"))
    if band.before is not None:
        lines.append((f"({size_text(band.before)})", "muted"))
    return lines


def _chip(
    use: BufferUse,
    name: Sequence[str],
    x: float,
    wide: float,
    rows: _Rows,
    level: int,
    form: _Form,
) -> list[Shape]:
    """A buffer: its name, for which there is room in so many lines, and its bytes."""
    middle, y, high = x + wide / 2, rows.tops[level], rows.bottoms[level] - rows.tops[level]
    shapes: list[Shape] = [Rect(x, y, wide, high, "chip", round=3)]
    first = y + (14 if form.full else 13)
    shapes += [Words(line, middle, first + LINE * k, "name") for k, line in enumerate(name)]
    if form.full:
        shapes.append(Words(size_text(use.bytes), middle, y + high - 5, "muted"))
    return shapes
