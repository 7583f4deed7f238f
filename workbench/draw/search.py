"""The pictures of a search: its trials by their times, and what was predicted beside it.

A view in a notebook draws the points itself, since they come one after the other: it has the rows
of `point_rows`, and the ground of a `Ground` with the scales that say where each of them stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log, log10
from typing import Any

from workbench.diag import count_text
from workbench.draw.picture import Picture
from workbench.draw.scene import Path, Scene, Shape, Spot, Words, fit, path, width_of
from workbench.draw.svg import svg
from workbench.insight import Table
from workbench.runtime.timing import in_digits
from workbench.tuning.decided import Choice, named
from workbench.tuning.record import Lines
from workbench.tuning.trial import STATUSES, Ended, best_of

SEARCH_VIEWS = ("trials", "predicted")

WIDE = 740.0  # px; the notebook's own width is 829
LEFT, RIGHT, TOP, BOTTOM = 86.0, 728.0, 30.0, 288.0  # px of the field between the axes
LANE = 18.0  # px of a rail
DOT, CROSS = 3.0, 3.0  # px from the middle of a mark to its edge
BEST = 20  # rows of the table
REASONS = 12  # rows of the other
# Round numbers where a logarithmic axis may end, and those that are written at it, of an axis that
# goes over so many times its least: the fewest that name at least three.
ENDS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0)
TICKS = ((8, ENDS[:-1]), (1001, (1.0, 2.0, 5.0)), (float("inf"), (1.0,)))
FAILED = tuple(status for status in STATUSES if status != "correct")
BY_ITSELF = (
    "Nothing was run: the model that ranks candidates tells their times, too. None is tried twice, "
    "so that later ones are what was left."
)
UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


@dataclass(frozen=True, slots=True)
class Vendor:
    """What the vendor's library takes for the job: its name, seconds, and how these are known."""

    name: str
    seconds: float
    how: str


@dataclass(frozen=True, slots=True)
class Scale:
    """From a number to px: base + factor · number, of its logarithm where it is `log`."""

    base: float
    factor: float
    log: bool

    def at(self, number: float) -> float:
        """Where a number stands."""
        return self.base + self.factor * (log(number) if self.log else number)


@dataclass(frozen=True, slots=True)
class Ground:
    """What points are drawn on: the axes with all that stands on them, and the scales.

    `x` goes by the number of a trial in the view "trials", by its predicted seconds in the view
    "predicted"; `y` by its seconds. A trial that failed stands in the lane of its status.
    """

    view: str
    scene: Scene
    x: Scale
    y: Scale
    lanes: Mapping[str, float]

    def spot(self, ended: Ended) -> Spot | None:
        """Where a trial stands; None where nothing tells."""
        status = ended.outcome.status
        if self.view == "predicted":
            predicted = ended.trial.predicted
            if status != "correct" or predicted is None:
                return None
            return self.x.at(predicted), self.y.at(ended.seconds)
        y = self.y.at(ended.seconds) if status == "correct" else self.lanes[status]
        return self.x.at(ended.trial.number), y

    def plain(self) -> dict[str, Any]:
        """the ground as a browser reads it."""
        return {
            "svg": svg(self.scene),
            "x": [self.x.base, self.x.factor],
            "y": [self.y.base, self.y.factor],
            "lanes": dict(self.lanes),
            "box": [LEFT, TOP, RIGHT, BOTTOM],
        }


def search_ground(
    ended: Sequence[Ended], of: int, view: str = "trials", vendor: Vendor | None = None
) -> Ground:
    """The ground for trials that `ended`, of `of` that there will be, or already are.

    It stays the same while further trials stand within it, so that what was drawn stays.
    """
    of = max(of, _count(ended), 1)
    known = [one.seconds for one in ended if one.outcome.status == "correct"]
    if view == "predicted":
        known += [p for one in ended if known and (p := one.trial.predicted) is not None]
    elif vendor:
        known.append(vendor.seconds)
    ends = _ends(known)
    y = _scale(ends, BOTTOM, TOP)
    failed = {one.outcome.status for one in ended}
    lanes: dict[str, float] = {
        status: BOTTOM + 38 + LANE * k
        for k, status in enumerate(s for s in FAILED if s in failed and view == "trials")
    }
    how = ended[0].outcome.how if ended else ""
    shapes = _times(y, ends, f"time of one run{f', {how}' if how else ''}")
    if view == "predicted":
        x = _scale(ends, LEFT, RIGHT)
        shapes += _predictions(x, y, ends)
    else:
        x = Scale(LEFT + (RIGHT - LEFT) * 0.5 / of, (RIGHT - LEFT) / of, log=False)
        shapes += [*_numbers(x, of), *_rails(lanes, ended)]
        shapes += _vendor(vendor, y) if vendor else []
    high = BOTTOM + (42 if view == "predicted" else 28 + LANE * len(lanes))
    return Ground(view, Scene(WIDE, high, tuple(shapes)), x, y, lanes)


def curve_ground(ends: tuple[float, float], of: int, title: str) -> Ground:
    """The ground for what `of` trials came to, in times from end to end, round numbers."""
    x = Scale(LEFT + (RIGHT - LEFT) * 0.5 / of, (RIGHT - LEFT) / of, log=False)
    y = _scale(ends, BOTTOM, TOP)
    shapes = (*_times(y, ends, title), *_numbers(x, of))
    return Ground("trials", Scene(WIDE, BOTTOM + 24, shapes), x, y, {})


def search_picture(
    lines: Lines,
    view: str = "trials",
    *,
    of: int = 0,
    vendor: Vendor | None = None,
    choices: Sequence[Choice] = (),
) -> Picture:
    """The trials of a record as a picture: each a point, in the view `view`.

    In "trials" the line goes through the best so far, what failed stands on rails below the axis by
    how it failed, and the `vendor`'s library is a dashed line. In "predicted" each correct trial
    stands at the time that it was chosen by, on the diagonal where that came true. `of` is how many
    trials there will be, where there will be more; `choices` names what was decided.
    """
    ended = lines.ended
    ground = search_ground(ended, of, view, vendor)
    how = ended[0].outcome.how if ended else "modelled"
    said = search_caption(ended)
    more = {
        "trials": "The line goes through the best so far; what failed stands below the axis, ✕.",
        "predicted": "On the dashed line a trial took what was predicted; above it, longer.",
    }[view]
    if vendor and view == "trials":
        more += f" {vendor.name} takes {time_text(vendor.seconds)} ({vendor.how})."
    return Picture(
        (_with_points(ground, ended),),
        said,
        best_table(ended, choices),
        how,
        full=f"{said}\n{more}",
    )


def search_caption(ended: Sequence[Ended]) -> str:
    """How many trials there were, and which was the best."""
    if not ended:
        return "No trial has ended yet."
    said = f"{count_text(len(ended), 'trial')}: {best_text(ended)}."
    return f"{said} {BY_ITSELF}" if ended[0].outcome.how == "modelled" else said


def best_text(ended: Sequence[Ended]) -> str:
    """Which trial is the best, and how many failed."""
    best = best_of(ended)
    if best is None:
        return "none of them is correct" if ended else "none has ended yet"
    wrong = sum(one.outcome.status != "correct" for one in ended)
    failed = f"; {wrong} failed" if wrong else ""
    time = f"{time_text(best.seconds)} ({best.outcome.how})"
    return f"the best takes {time}, trial {best.trial.number}{failed}"


def best_table(ended: Sequence[Ended], choices: Sequence[Choice] = ()) -> Table:
    """The best trials, with what was decided in each."""
    correct = [one for one in ended if one.outcome.status == "correct"]
    best = sorted(correct, key=lambda one: (one.seconds, one.trial.number))[:BEST]
    most = max((one.trial.decisions for one in best), key=len, default=())
    names = [choice.name for choice in named(choices, most)]
    rows: list[tuple[str | int | float, ...]] = []
    for one in best:
        said = decided(one, choices)
        rows.append((one.trial.number, *_times_of(one), *said, *[""] * (len(names) - len(said))))
    return Table(("trial", "time", "predicted", "from trials", *names), tuple(rows))


def _times_of(one: Ended) -> tuple[str, str, str]:
    predicted = one.trial.predicted
    parents = ", ".join(map(str, one.trial.parents))
    return time_text(one.seconds), "" if predicted is None else time_text(predicted), parents


def decided(one: Ended, choices: Sequence[Choice]) -> tuple[str, ...]:
    """The decisions of a trial in words, one a choice."""
    decisions = one.trial.decisions
    pairs = zip(named(choices, decisions), decisions, strict=True)
    return tuple(choice.said(decision) for choice, decision in pairs)


def reasons_table(lines: Lines) -> Table:
    """How trials ended and what was refused before, with shares, the most common reasons first."""
    ended = lines.ended
    count: Counter[tuple[str, str]] = Counter(
        (one.outcome.status, one.outcome.reason) for one in ended
    )
    count.update(("refused before", one.reason) for one in lines.refused.values())
    every = len(ended) + len(lines.refused)
    order = sorted(count.items(), key=lambda item: -item[1])
    rows = [(how, n, _share(n, every), why) for (how, why), n in order[:REASONS]]
    left = sum(n for _, n in order[REASONS:])
    if left:
        rows.append(("other reasons", left, _share(left, every), ""))
    return Table(("how it ended", "candidates", "share", "why"), tuple(rows))


def _share(count: int, every: int) -> str:
    return f"{count / every:.0%}" if count * 100 >= every else "under 1%"


def point_rows(ended: Sequence[Ended], choices: Sequence[Choice]) -> list[list[Any]]:
    """Trials as rows for a browser, short, since a notebook keeps a thousand of them.

    Number, status, seconds, predicted seconds, parents, the decisions in words with "|" between
    them, and the reason.
    """
    rows = []
    for one in ended:
        seconds = one.seconds if one.outcome.status == "correct" else None
        said = "|".join(decided(one, choices)).replace(" × ", "×")
        row = [one.trial.number, one.outcome.status, _short(seconds), _short(one.trial.predicted)]
        rows.append([*row, list(one.trial.parents), said, one.outcome.reason])
    return rows


def _short(seconds: float | None) -> float | None:
    """As exact as any screen shows it."""
    return None if seconds is None else float(f"{seconds:.5g}")


def time_text(seconds: float) -> str:
    """Seconds in the unit that one reads them in: 5.04 µs."""
    name, unit = next(((n, u) for n, u in UNITS if seconds >= u), UNITS[-1])
    return f"{in_digits(seconds / unit, 3)} {name}"


# --- the ground -------------------------------------------------------------------------------


def _count(ended: Sequence[Ended]) -> int:
    return max((one.trial.number for one in ended), default=-1) + 1


def _ends(known: Sequence[float]) -> tuple[float, float]:
    """The round numbers around all that is `known`, the higher at least half as much again."""
    if not known:
        return 1e-6, 1e-3
    low, high = _round(min(known), up=False), _round(max(known), up=True)
    return low, high if high >= 1.5 * low else _round(low * 1.5, up=True)


def _round(number: float, *, up: bool) -> float:
    """The next round number that is not less than `number`, or not more."""
    power = 10.0 ** floor(log10(number))
    if up:
        return next(s * power for s in ENDS if s * power >= number * (1 - 1e-9))
    return next(s * power for s in reversed(ENDS) if s * power <= number * (1 + 1e-9))


def _scale(ends: tuple[float, float], start: float, stop: float) -> Scale:
    factor = (stop - start) / log(ends[1] / ends[0])
    return Scale(start - factor * log(ends[0]), factor, log=True)


def _ticks(ends: tuple[float, float]) -> list[float]:
    """Round numbers from end to end, fewer of them where the axis goes further."""
    low, high = ends
    steps = next(steps for most, steps in TICKS if high / low <= most)
    powers = range(floor(log10(low)) - 1, ceil(log10(high)) + 1)
    every = [step * 10.0**power for power in powers for step in steps]
    return [tick for tick in every if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]


def _tick_text(seconds: float) -> str:
    name, unit = next(((n, u) for n, u in UNITS if seconds >= u * (1 - 1e-9)), UNITS[-1])
    return f"{seconds / unit:.3g} {name}"


def _times(y: Scale, ends: tuple[float, float], title: str) -> list[Shape]:
    ticks = _ticks(ends)
    shapes: list[Shape] = [path("grid", *(((LEFT, y.at(t)), (RIGHT, y.at(t))) for t in ticks))]
    shapes += [Words(_tick_text(t), LEFT - 6, y.at(t) + 4, "muted", "end") for t in ticks]
    return [*shapes, Words(title, 2, 14, "muted", "start")]


def _numbers(x: Scale, of: int) -> list[Shape]:
    """The axis of trials, with a number at round steps."""
    step = next(s for s in (1, 2, 5, 10, 20, 50, *(10**k for k in range(2, 18))) if of <= 10 * s)
    shapes: list[Shape] = [path("clock", ((LEFT, BOTTOM), (RIGHT, BOTTOM)))]
    shapes += [Words(str(n), x.at(n), BOTTOM + 19, "muted") for n in range(0, of, step)]
    return [*shapes, Words("trial", LEFT - 6, BOTTOM + 19, "muted", "end")]


def _rails(lanes: Mapping[str, float], ended: Sequence[Ended]) -> list[Shape]:
    """A rail for each way to fail."""
    shapes: list[Shape] = []
    for status, y in lanes.items():
        shapes.append(path("grid", ((LEFT, y), (RIGHT, y))))
        shapes.append(Words(fit(status, LEFT - 8), LEFT - 6, y + 4, "muted", "end"))
    return shapes


def _predictions(x: Scale, y: Scale, ends: tuple[float, float]) -> list[Shape]:
    """The axis of predicted times, and the line where these came true."""
    ticks = _ticks(ends)
    shapes: list[Shape] = [path("grid", *(((x.at(t), TOP), (x.at(t), BOTTOM)) for t in ticks))]
    shapes.append(path("asked", ((LEFT, BOTTOM), (RIGHT, TOP))))
    right = 0.0
    for tick in ticks:
        said = _tick_text(tick)
        half = width_of(said, "muted") / 2
        at = min(x.at(tick), WIDE - half)
        if at - half > right + 6:
            shapes.append(Words(said, at, BOTTOM + 19, "muted"))
            right = at + half
    return [*shapes, Words("predicted time", RIGHT, BOTTOM + 36, "muted", "end")]


def _vendor(vendor: Vendor, y: Scale) -> list[Shape]:
    """Its line, named above the field, where no point lies over the words."""
    at = y.at(vendor.seconds)
    said = f"{vendor.name} {time_text(vendor.seconds)}, {vendor.how}"
    left = RIGHT - 1.33 * width_of(said, "muted")  # the drawing shrinks, and words do not
    return [
        path("asked", ((LEFT, at), (RIGHT, at)), ((left - 36, 10), (left - 6, 10))),
        Words(said, left, 14, "muted", "start"),
    ]


# --- the points -------------------------------------------------------------------------------


def _with_points(ground: Ground, ended: Sequence[Ended]) -> Scene:
    """The ground with its points: one path a kind, the best so far above all."""
    spots = [(one, spot) for one in ended if (spot := ground.spot(one))]
    good = [spot for one, spot in spots if one.outcome.status == "correct"]
    bad = [spot for one, spot in spots if one.outcome.status != "correct"]
    shapes = [*ground.scene.shapes]
    if good:
        shapes.append(Path(tuple(_diamond(*spot) for spot in good), "used"))
    if bad:
        shapes.append(Path(tuple(line for spot in bad for line in _cross(*spot)), "failed"))
    if ground.view == "trials":
        shapes += _best_so_far(ground, ended)
    return Scene(ground.scene.width, ground.scene.height, tuple(shapes))


def _best_so_far(ground: Ground, ended: Sequence[Ended]) -> list[Shape]:
    """The stairs through each trial that was faster than all before, to the last."""
    least, stairs, marks = float("inf"), list[Spot](), list[tuple[Spot, ...]]()
    for one in ended:
        if one.seconds < least:
            least, spot = one.seconds, ground.spot(one)
            assert spot is not None
            stairs += [(spot[0], stairs[-1][1])] if stairs else []
            stairs.append(spot)
            marks.append(_diamond(*spot))
    if not stairs:
        return []
    last = ground.x.at(ended[-1].trial.number)
    return [path("write", [*stairs, (last, stairs[-1][1])]), Path(tuple(marks), "head")]


def _diamond(x: float, y: float) -> tuple[Spot, ...]:
    """Around a spot, to a tenth of a px: a notebook keeps a thousand of them."""
    left, top, right, bottom = _around(x, y, DOT)
    x, y = round(x, 1), round(y, 1)
    return (left, y), (x, top), (right, y), (x, bottom), (left, y)


def _cross(x: float, y: float) -> tuple[tuple[Spot, ...], ...]:
    left, top, right, bottom = _around(x, y, CROSS)
    return ((left, top), (right, bottom)), ((left, bottom), (right, top))


def _around(x: float, y: float, far: float) -> tuple[float, float, float, float]:
    return round(x - far, 1), round(y - far, 1), round(x + far, 1), round(y + far, 1)
