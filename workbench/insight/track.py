"""A track: what runs in which row, from when to when, as digits of a number and not one by one.

Spans that are alike are one `Spans`: how many, where the first stands, and dimensions by which the
others stand elsewhere. The number of a span within it is written in mixed radix, the first
dimension fastest, and each digit moves the span by so many rows, places, and so much time. Blocks
of a launch that take equally long are one `Spans`, whatever their number; so is a statement of a
loop nest, whatever its trip counts. Within a `Spans` a later number never starts earlier, so that
what has started at a time is found by halving.

`widgets/static/track.js` evaluates the same, by the same arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass
from itertools import takewhile
from math import floor, prod
from typing import Any, NamedTuple, TypeAlias

MANY = 12_000  # spans that are drawn one by one
Moment: TypeAlias = float
"""A time on a track, in its unit, from 0 on."""


class Dim(NamedTuple):
    """A digit of a span's number: below `extent`, and each step moves the span by the rest.

    Words may have it by its `name`, such as that of a loop, counted from `least` on.
    """

    extent: int
    row: int = 0
    place: int = 0
    start: float = 0.0
    name: str = ""
    least: int = 0


@dataclass(frozen=True, slots=True)
class Spans:
    """So many spans, numbered from `first` on, each `length` long; the first stands as is said.

    Others stand elsewhere by the dimensions of a `shape` of the track. They are of one of its
    `sorts`.
    """

    first: int
    count: int
    row: int
    place: int
    start: float
    length: float
    sort: int = 0
    shape: int = 0


class Sort(NamedTuple):
    """What spans of a sort are: roles of pictures, and words for those that run.

    The roles alternate, by a span's number; `now` is that of those that run, "" where it is the
    same. Of rows that are too thin for their places, it is only seen how many are in use. In the
    words stand numbers by their names, in braces: `running`, `done`, `waiting` and `all` of
    the sort, each digit that has a name, of the first that runs, and of all `marks` the `mark` that
    comes next. `statement` names a block of
    the program, and `loops` its loops, which light up. A `label` stands in a span that has
    room, its `number` in braces.
    """

    roles: tuple[str, ...]
    says: str
    statement: str = ""
    loops: tuple[str, ...] = ()
    label: str = "{number}"
    now: str = ""


class Span(NamedTuple):
    """One span. It ends before `end`; `digits` are those that have a name.

    One that stands for several, end to end, has no `number`.
    """

    number: int | None
    row: int
    place: int
    start: float
    end: float
    sort: int
    digits: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Track:
    """Rows with so many `places` in each, and what stands there from 0 to `length`, in `unit`.

    A row is called `row`, with its number, or has one of the `names`; a span is a `thing`. At
    `marks` something ends for all rows, called `mark`: a wave, a barrier. `window` is how much is
    seen at once, all of it where that is 0, for so many `seconds` while it plays; `opens` is the
    time that is shown first. `nearer` is the level that a click on a span leads to, "" where there
    is none. `source` says where its times are from, and `nothing` what goes on while nothing runs;
    `empty` is the role of a place where nothing does. The axis has multiples of a `tick`, where
    that is not 0, else of a round time.
    """

    row: str
    thing: str
    rows: int
    places: int
    length: float
    unit: str
    shapes: tuple[tuple[Dim, ...], ...]
    spans: tuple[Spans, ...]
    sorts: tuple[Sort, ...]
    mark: str = ""
    marks: tuple[Spans, ...] = ()
    window: float = 0.0
    seconds: float = 5.0
    opens: Moment = 0.0
    nearer: str = ""
    source: str = "modelled"
    names: tuple[str, ...] = ()
    empty: str = "idle"
    nothing: str = "nothing runs"
    tick: Moment = 0.0

    def plain(self) -> dict[str, Any]:
        """It as JSON has it, for `track.js`."""
        return {
            "row": self.row,
            "thing": self.thing,
            "rows": self.rows,
            "places": self.places,
            "length": self.length,
            "unit": self.unit,
            "shapes": [list(map(list, shape)) for shape in self.shapes],
            "spans": [list(astuple(spans)) for spans in self.spans],
            "sorts": [
                sort._asdict() | {"roles": list(sort.roles), "loops": list(sort.loops)}
                for sort in self.sorts
            ],
            "mark": self.mark,
            "marks": [list(astuple(spans)) for spans in self.marks],
            "window": self.window or self.length,
            "seconds": self.seconds,
            "opens": self.opens,
            "nearer": self.nearer,
            "source": self.source,
            "names": list(self.names),
            "empty": self.empty,
            "nothing": self.nothing,
            "tick": self.tick,
        }

    def span(self, spans: Spans, k: int) -> Span:
        """Span number `k` of `spans`, from 0 on."""
        row, place, start, rest = spans.row, spans.place, spans.start, k
        digits = {}
        for dim in self.shapes[spans.shape]:
            digit, rest = rest % dim.extent, rest // dim.extent
            row += digit * dim.row
            place += digit * dim.place
            start += digit * dim.start
            if dim.name:
                digits[dim.name] = dim.least + digit
        end = start + spans.length
        return Span(spans.first + k, row, place, start, end, spans.sort, digits)

    def started(self, spans: Spans, t: Moment) -> int:
        """How many of `spans` start at `t` or before."""
        return _first(spans.count, lambda k: self.span(spans, k).start > t)

    def ended(self, spans: Spans, t: Moment) -> int:
        """How many of `spans` end at `t` or before."""
        return _first(spans.count, lambda k: self.span(spans, k).end > t)

    def running(self, t: Moment) -> Iterator[Span]:
        """What runs at `t`, `Spans` by `Spans`."""
        for spans in self.spans:
            for k in range(self.ended(spans, t), self.started(spans, t)):
                yield self.span(spans, k)

    def drawn(self) -> list[Span]:
        """All spans in drawing order; of `Spans` with too many, a bar for each of their places."""
        return [span for spans in self.spans for span in self._drawn(spans)]

    def _drawn(self, spans: Spans) -> Iterator[Span]:
        beside = prod(dim.extent for dim in takewhile(_stays, self.shapes[spans.shape]))
        if spans.count <= MANY:
            yield from (self.span(spans, k) for k in range(spans.count))
            return
        for k in range(min(beside, spans.count)):
            last = self.span(spans, spans.count - 1 - (spans.count - 1 - k) % beside)
            yield self.span(spans, k)._replace(number=None, end=last.end)

    def later(self, t: Moment) -> Moment:
        """When the next span starts or ends after `t`; the end where none does."""
        return min(self._events(self.spans, t), default=self.length)

    def earlier(self, t: Moment) -> Moment:
        """When the last span before `t` starts or ends; 0 where none does."""
        return max(self._events(self.spans, t, before=True), default=0.0)

    def next_mark(self, t: Moment) -> Moment:
        """The next mark after `t`, else the end."""
        return min(self._events(self.marks, t), default=self.length)

    def last_mark(self, t: Moment) -> Moment:
        """The last mark before `t`, else 0."""
        return max(self._events(self.marks, t, before=True), default=0.0)

    def _events(self, among: tuple[Spans, ...], t: Moment, before: bool = False) -> list[Moment]:
        """Of each of `among` the first start and end after `t`, or the last `before` it."""
        found = [self._event(spans, end, t, before) for spans in among for end in (False, True)]
        return [moment for moment in found if moment is not None]

    def _event(self, spans: Spans, end: bool, t: Moment, before: bool) -> Moment | None:
        def at(k: int) -> Moment:
            span = self.span(spans, k)
            return span.end if end else span.start

        if before:
            k = _first(spans.count, lambda k: at(k) >= t) - 1
        else:
            k = _first(spans.count, lambda k: at(k) > t)
        return at(k) if 0 <= k < spans.count else None

    def told(self, t: Moment) -> str:
        """What goes on at `t`: "modelled 61 µs: 256 of 256 blocks run"."""
        said = [
            worded(sort.says, self._numbers(number, t))
            for number, sort in enumerate(self.sorts)
            if self._numbers(number, t)["running"]
        ]
        time = f"{time_text(t)} {unit_text(t, self.unit)}"
        nothing = self.nothing if t < self.length else "all is done"
        return f"{self.source} {time}: {', '.join(said) or nothing}"

    def _numbers(self, sort: int, t: Moment) -> dict[str, int]:
        """What the words of a sort may name at `t`."""
        own = [spans for spans in self.spans if spans.sort == sort]
        every = sum(spans.count for spans in own)
        done = sum(self.ended(spans, t) for spans in own)
        running = sum(self.started(spans, t) for spans in own) - done
        first = next((span.digits for span in self.running(t) if span.sort == sort), {})
        counts = {"running": running, "done": done, "waiting": every - done - running}
        ended = sum(self.ended(spans, t) for spans in self.marks)
        marks = {"mark": ended + 1, "marks": sum(spans.count for spans in self.marks)}
        return {**first, **counts, **marks, "all": every}


def _stays(dim: Dim) -> bool:
    """Whether its digits are of one time."""
    return dim.start <= 0


def _first(count: int, past: Callable[[int], bool]) -> int:
    """The first number below `count` that is `past`, of numbers in order; `count` if none is."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if past(middle):
            high = middle
        else:
            low = middle + 1
    return low


def time_text(t: Moment) -> str:
    """A time in three digits or so: 6.25, 61.3, 1,034.

    >>> [time_text(t) for t in (6.254, 61.25, 8.0, 1034.2)]
    ['6.25', '61.3', '8', '1,034']
    """
    scale = 100 if t < 10 else 10 if t < 100 else 1
    number = floor(t * scale + 0.5)
    return f"{number:,}" if scale == 1 else f"{number / scale:g}"


def unit_text(t: Moment, unit: str) -> str:
    """The unit behind a time: "clock" behind 1, else "clocks"; what is no word stays as it is."""
    return unit[:-1] if time_text(t) == "1" and len(unit) > 2 else unit


def worded(says: str, numbers: Mapping[str, int]) -> str:
    """Words with the numbers that they name in braces.

    >>> worded("{running} of {all} blocks run", {"running": 4, "all": 1320})
    '4 of 1,320 blocks run'
    """
    for name, number in numbers.items():
        says = says.replace(f"{{{name}}}", f"{number:,}")
    return says
