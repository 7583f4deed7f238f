"""The picture of the roofline: the programs of a history under the roofs of a GPU, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log2
from typing import TypeAlias

from workbench.draw.banks import runs_text
from workbench.draw.picture import Picture
from workbench.draw.scene import (
    Rect,
    Scene,
    Shape,
    Spot,
    Stands,
    Words,
    dot,
    path,
    standing,
    width_of,
)
from workbench.insight import Roofline, Table
from workbench.target import get

WIDE, HIGH = 332.0, 236.0  # px of the scene, which fits a phone
LEFT, RIGHT, TOP, BOTTOM = 46.0, 312.0, 20.0, 196.0  # px of the field between the axes
COVERED = 100.0  # px: where the field ends of which a question keeps all back
X = (-4, 12)  # operations a byte from 2^-4 to 2^12, the same for all programs
DEEP = 12  # doublings from the roof down to the lowest line
RADIUS = 4.0  # px of a program
LEGEND = (
    "The slanting line is the most that memory allows, the level one the most that the GPU "
    "computes; the dashed line is where a program stands that moves each byte once. Programs stand "
    "where the roofs have them if caches keep nothing, joined in the order of their steps: one "
    "that asks for bytes again may be faster than that, and each may be slower for other reasons."
)
ONCE = "each byte once"


def roofline_picture(known: Sequence[tuple[int, Roofline]]) -> Picture:
    """Where programs stand, each with the number of its step, the one that is looked at last."""
    now = known[-1][1]
    once = _once(now)
    shapes = [*_axes(now), once, *_programs(known, once)]
    rows = tuple(
        (number, one.work, one.bytes, round(one.intensity, 4), one.bound) for number, one in known
    )
    columns = ("step", "operations", "bytes", "operations a byte", "limit")
    return Picture(
        (Scene(WIDE, HIGH, tuple(shapes), free=True),),
        _caption(known),
        Table(columns, rows),
        "modelled",
        full=f"{_caption(known)}\n{now.caption}\n{LEGEND}",
    )


def covered_roofline() -> Scene:
    """The axes alone, and "?" for where programs stand: low, so that what to do stays in sight."""
    box = Rect(LEFT, TOP, RIGHT - LEFT, COVERED - TOP, "idle")
    mark = Words("?", (LEFT + RIGHT) / 2, (TOP + COVERED) / 2 + 4)
    return Scene(WIDE, COVERED + 24, (box, mark, *_names(COVERED + 19)), free=True)


def _caption(known: Sequence[tuple[int, Roofline]]) -> str:
    first, now = known[0][1], known[-1][1]
    moved = f", {first.intensity:.3g} at first" if first.intensity != now.intensity else ""
    return f"{now.intensity:.3g} operations a byte{moved}: {_limit(now)}."


def _limit(one: Roofline) -> str:
    """What stands in the way: memory for sure only where each byte that is moved once is too much.

    All that a program asks for is counted, so what caches keep lifts it above where it stands.
    """
    sure = one.bound == "compute" or one.ideal < one.ridge
    return f"{one.bound} is the limit" + ("" if sure else " without caches")


def _x(intensity: float) -> float:
    at = log2(intensity) if intensity > 0 else X[0]
    return LEFT + (min(max(at, X[0]), X[1]) - X[0]) * (RIGHT - LEFT) / (X[1] - X[0])


def _y(rate: float, peak: float) -> float:
    below = log2(peak / rate) if rate > 0 else DEEP
    return TOP + min(below, DEEP) * (BOTTOM - TOP) / DEEP


def _names(foot: float) -> Iterator[Words]:
    yield Words("operations a byte that is asked for", RIGHT, foot, "muted", "end")
    yield Words("operations a second", 1, TOP - 9, "muted", "start")


def _axes(of: Roofline) -> Iterator[Shape]:
    """The lines of the field, what they stand for, and the two roofs."""
    grid: list[tuple[Spot, Spot]] = []
    for power in range(X[0], X[1] + 1, 4):
        x = _x(2.0**power)
        grid.append(((x, TOP), (x, BOTTOM)))
        said = f"{2**power:,}" if power >= 0 else f"1/{2**-power}"
        yield Words(said, x, BOTTOM + 17, "muted")
    for down in range(0, DEEP + 1, 4):
        y = _y(of.peak / 2**down, of.peak)
        grid.append(((LEFT, y), (RIGHT, y)))
        yield Words(_rate(of.peak / 2**down), LEFT - 4, min(y + 4, BOTTOM - 1), "muted", "end")
    yield path("grid", *grid)
    low = max(of.peak / 2**DEEP / of.bandwidth, 2.0 ** X[0])
    start = (_x(low), _y(low * of.bandwidth, of.peak))
    yield path("write", (start, (_x(of.ridge), TOP), (RIGHT, TOP)))
    ideal = _x(of.ideal)
    top = _y(min(of.peak, of.ideal * of.bandwidth), of.peak)
    yield path("asked", ((ideal, top), (ideal, BOTTOM)))
    yield from _names(HIGH - 5)
    yield Words(get(of.target).title, RIGHT, TOP - 9, "muted", "end")


def _once(of: Roofline) -> Words:
    """What the dashed line says, at its foot, where there is room beside it."""
    x = _x(of.ideal)
    left = x + 4 + width_of(ONCE) > RIGHT
    return Words(ONCE, x - 4 if left else x + 4, BOTTOM - 6, "muted", "end" if left else "start")


def _rate(rate: float) -> str:
    """Operations a second in few letters: 67 T, 16 G."""
    unit, size = next((u, s) for u, s in (("T", 1e12), ("G", 1e9), ("M", 1e6)) if rate >= s)
    count = rate / size
    return f"{count:.0f} {unit}" if count >= 10 else f"{count:.2g} {unit}"


Room: TypeAlias = tuple[float, float, float]
"""Where words are: their left end, their right end, and their foot."""


def _programs(known: Sequence[tuple[int, Roofline]], once: Words) -> Iterator[Shape]:
    """A line from program to program, and each; those that stand in one spot are one."""
    spots: dict[Spot, list[int]] = {}
    way: list[Spot] = []
    for number, one in known:
        spot = (_x(one.intensity), _y(one.roof, one.peak))
        spots.setdefault(spot, []).append(number)
        way += [spot] if way[-1:] != [spot] else []
    if len(way) > 1:
        yield path("joined", way)
    names: Mapping[int, Roofline] = dict(known)
    taken, drawn = [_room(once)], []
    for spot, numbers in sorted(spots.items(), key=lambda pair: known[-1][0] not in pair[1]):
        last = known[-1][0] in numbers
        alike: dict[str, list[int]] = {}  # at an end of the axes stands what is beyond them, too
        for number in numbers:
            one = names[number]
            where = f"{one.intensity:.3g} operations a byte, {_limit(one)}"
            alike.setdefault(where, []).append(number)
        said = runs_text(numbers)
        title = "\n".join(f"step {runs_text(own)}: {where}" for where, own in alike.items())
        if last:
            said = f"step{'s' * (len(numbers) > 1)} {said}"
        words = _label(said, spot, taken, "on-strong" if last else "on")
        taken.append(_room(words))
        mark = dot(*spot, RADIUS, "chosen" if last else "served")
        drawn.append(standing(Stands(title=title), (mark, words)))
    for shapes in reversed(drawn):  # the program that is looked at lies above the others
        yield from shapes


def _label(said: str, spot: Spot, taken: Sequence[Room], role: str) -> Words:
    """A spot's words: under the roof, else above it, else further down, where none are yet."""
    x, y = spot
    below = [(x + RADIUS + 3, y + 16 + 13 * row, "start") for row in range(len(taken) + 1)]
    above = (x - RADIUS - 1, y - RADIUS - 1, "end")
    for left, bottom, anchor in (below[0], above, *below[1:]):
        words = Words(said, left, bottom, role, anchor)
        room = _room(words)
        inside = room[0] >= LEFT and room[1] <= WIDE
        if inside and not any(_meet(room, other) for other in taken):
            return words
    return Words(said, below[0][0], below[0][1], role, "start")


def _room(words: Words) -> Room:
    wide = width_of(words.label, words.role)
    left = words.x - (wide if words.anchor == "end" else 0)
    return left, left + wide, words.y


def _meet(one: Room, other: Room) -> bool:
    return abs(one[2] - other[2]) < 13 and one[0] < other[1] and other[0] < one[1]
