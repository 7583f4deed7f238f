"""Arrows between boxes in rows: through the free space, with right angles, over no box or text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

TRACK = 18.0  # px from one horizontal piece to the next: a number fits on each
NEAR = 9.0  # px; ends that are nearer to each other than this are moved apart
CLEAR = 10.0  # px from the middle of a number to the next line

Link = tuple[str, str]  # the boxes that an arrow leaves and enters
Spot = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """Something in a row that no arrow may cross; `name` where arrows may end."""

    name: str
    x: float
    width: float


@dataclass(slots=True)
class Stop:
    """A vertical piece of an arrow, at its end or past a row; free to lie between two bounds."""

    x: float
    low: float
    high: float
    channels: tuple[int, ...]


@dataclass(slots=True)
class Leg:
    """The piece of an arrow in one channel, the space below the row of that number."""

    channel: int
    start: Stop
    end: Stop
    track: int = 0

    @property
    def ends(self) -> tuple[float, float]:
        """Its left and its right end."""
        return min(self.start.x, self.end.x), max(self.start.x, self.end.x)


@dataclass(slots=True)
class Route:
    """An arrow from one of the `rows` to the other; `legs` in the order in which it is followed."""

    rows: tuple[int, int]
    legs: list[Leg]

    @property
    def back(self) -> bool:
        """Whether it returns to the row that it leaves."""
        return self.rows[0] == self.rows[1]

    @property
    def stops(self) -> list[Stop]:
        """Its vertical pieces."""
        return [self.legs[0].start, *(leg.end for leg in self.legs)]


def routes(rows: Sequence[Sequence[Box]], links: Sequence[Link], right: float) -> list[Route]:
    """A way for each link; `right` is where the space beside the last box of a row ends."""
    where = {box.name: (r, box) for r, row in enumerate(rows) for box in row if box.name}
    made = [_route(rows, where[source], where[target], right) for source, target in links]
    _spread(made, links, where)
    _part(made)
    for channel in range(len(rows)):
        _tracks(made, channel)
    return made


def _route(
    rows: Sequence[Sequence[Box]], source: tuple[int, Box], target: tuple[int, Box], right: float
) -> Route:
    (a, s), (b, t) = source, target
    ways = [a] if a == b else list(range(a, b)) if a < b else list(range(a - 1, b - 1, -1))
    stops = [_end(s, ways[0])]
    for way, following in pairwise(ways):
        low, high = _gap(rows[max(way, following)], stops[-1].x, right)
        stops.append(Stop(min(max(stops[-1].x, low), high), low, high, (way, following)))
    stops.append(_end(t, ways[-1]))
    return Route((a, b), [Leg(c, *pair) for c, pair in zip(ways, pairwise(stops), strict=True)])


def _end(box: Box, channel: int) -> Stop:
    return Stop(box.x + box.width / 2, box.x + 5, box.x + box.width - 5, (channel,))


def _gap(row: Sequence[Box], near: float, right: float) -> tuple[float, float]:
    """The free space in a row that lies nearest; a narrow one only if none is wide."""
    edges = [(box.x, box.x + box.width) for box in row]
    gaps = [(end + 4, start - 4) for (_, end), (start, _) in pairwise(edges)]
    gaps.append((edges[-1][1] + 6, right))
    wide = [gap for gap in gaps if gap[1] - gap[0] >= 2 * NEAR] or gaps
    return min(wide, key=lambda gap: max(gap[0] - near, near - gap[1], 0))


def _spread(made: list[Route], links: Sequence[Link], where: dict[str, tuple[int, Box]]) -> None:
    """Arrows that end at one side of a box stand in the order of their other ends: fewer cross."""
    ends: dict[tuple[str, bool], list[tuple[tuple[int, float], Stop]]] = {}
    for route, (source, target) in zip(made, links, strict=True):
        first, last = route.legs[0], route.legs[-1]
        a, b = route.rows
        for name, stop, far, below in (
            (source, first.start, first.end, a <= b), (target, last.end, last.start, a >= b),
        ):  # fmt: skip
            if not route.back:
                key = (1, far.x)
            elif source == target:
                key = (2, float(stop is last.end))
            else:  # the nearest stays inside the others
                key = (0 if far.x < stop.x else 3, -far.x)
            ends.setdefault((name, below), []).append((key, stop))
    for (name, _), found in ends.items():
        box = where[name][1]
        for k, (_, stop) in enumerate(sorted(found, key=lambda one: one[0]), start=1):
            stop.x = box.x + box.width * k / (len(found) + 1)


def _part(made: list[Route]) -> None:
    """Moves apart the vertical pieces of different arrows that would lie on each other."""
    placed: list[tuple[int, Stop]] = []
    ordered = [(k, stop) for k, route in enumerate(made) for stop in route.stops]
    for k, stop in sorted(ordered, key=lambda one: len(one[1].channels)):  # the ends at boxes first
        others = [
            other.x for of, other in placed
            if of != k and set(other.channels) & set(stop.channels)
        ]  # fmt: skip
        own = [other.x for of, other in placed if of == k and not made[k].back]
        tries = [x for x in own if abs(x - stop.x) < NEAR]  # no step where it can go straight
        tries += [stop.x + sign * NEAR / 2 * n for n in range(60) for sign in (1, -1)]
        tries = [x for x in tries if stop.low <= x <= stop.high] or [stop.x]
        room = [min((abs(x - other) for other in others), default=NEAR) for x in tries]
        stop.x = next((x for x, r in zip(tries, room, strict=True) if r >= NEAR),
                      tries[room.index(max(room))])  # fmt: skip
        placed.append((k, stop))


def _legs(made: list[Route], channel: int) -> list[tuple[Route, Leg]]:
    return [(route, leg) for route in made for leg in route.legs if leg.channel == channel]


def _tracks(made: list[Route], channel: int) -> None:
    """Which of the lines of a channel each leg runs along: no two of one line meet."""

    def order(item: tuple[Route, Leg]) -> tuple[int, float]:
        route, leg = item
        if route.back:
            return 0, leg.ends[1] - leg.ends[0]
        upper, lower = leg.start.x, leg.end.x
        if route.rows[0] > route.rows[1]:
            upper, lower = lower, upper
        return 1, -upper if lower > upper else upper

    taken: list[list[tuple[float, float]]] = []
    for _, leg in sorted(_legs(made, channel), key=order):
        low, high = leg.ends[0] - CLEAR, leg.ends[1] + CLEAR
        free = (k for k, line in enumerate(taken) if all(high < a or low > b for a, b in line))
        leg.track = next(free, len(taken))
        if leg.track == len(taken):
            taken.append([])
        taken[leg.track].append((low, high))


def tracks(made: Sequence[Route], channel: int) -> int:
    """How many lines the channel below a row needs."""
    return max((leg.track + 1 for r in made for leg in r.legs if leg.channel == channel), default=0)


@dataclass(frozen=True, slots=True)
class Rows:
    """Where rows lie: the upper and lower edges of their boxes, and the first line below each."""

    tops: Sequence[float]
    bottoms: Sequence[float]
    lines: Sequence[float]

    def line(self, leg: Leg) -> float:
        """The height of a leg's horizontal piece."""
        return self.lines[leg.channel] + TRACK * leg.track


def points(route: Route, rows: Rows) -> list[Spot]:
    """The corners of an arrow, from the edge of one box to just before the other's."""
    a, b = route.rows
    first = rows.bottoms[a] if a <= b else rows.tops[a]
    last = rows.tops[b] if a < b else rows.bottoms[b]
    made = [(route.legs[0].start.x, first)]
    for leg in route.legs:
        y = rows.line(leg)
        made += [(leg.start.x, y), (leg.end.x, y)]
    made.append((route.legs[-1].end.x, last))
    return [p for k, p in enumerate(made) if k in (0, len(made) - 1) or p not in made[:k]]


def number_spot(route: Route, made: Sequence[Route], rows: Rows) -> Spot:
    """Where the number of an arrow stands: on its longest leg that the others' lines leave room."""
    lines = [
        piece for other in made if other is not route for piece in pairwise(points(other, rows))
    ]
    upright = [(x, *sorted((y0, y1))) for (x, y0), (x1, y1) in lines if x == x1]
    spots = []
    for leg in sorted(route.legs, key=lambda one: one.ends[0] - one.ends[1]):
        y = rows.line(leg)
        crossing = [x for x, low, high in upright if low - CLEAR < y < high + CLEAR]
        spots += [
            (min((abs(x - other) for other in crossing), default=CLEAR), (x, y))
            for x in _from_middle(*leg.ends)
        ]
    clear = (spot for room, spot in spots if room >= CLEAR)
    return next(clear, max(spots, key=lambda one: one[0])[1])


def _from_middle(low: float, high: float) -> Iterator[float]:
    middle = (low + high) / 2
    yield middle
    for k in range(1, int((high - low) / 8)):
        yield middle + 4.0 * k
        yield middle - 4.0 * k
