"""The picture of the roofline: the programs of a history under the roofs of a GPU, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log2

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

WIDE, HIGH = 332.0, 236.0  # px of the scene, which fits a phone
LEFT, RIGHT, TOP, BOTTOM = 46.0, 312.0, 20.0, 196.0  # px of the field between the axes
X = (-4, 12)  # operations a byte from 2^-4 to 2^12, the same for all programs
DEEP = 12  # doublings from the roof down to the lowest line
RADIUS = 4.0  # px of a program
LEGEND = (
    "The slanting line is the most that memory allows, the level one the most that the GPU "
    "computes; the dashed line is where a program stands that moves each byte once. Programs stand "
    "where the roofs have them, joined in the order of their steps; a GPU may take longer."
)


def roofline_picture(known: Sequence[tuple[int, Roofline]]) -> Picture:
    """Where programs stand, each with the number of its step, the one that is looked at last."""
    now = known[-1][1]
    shapes = [*_axes(now), *_programs(known)]
    rows = tuple(
        (number, one.work, one.bytes, round(one.intensity, 4), one.bound) for number, one in known
    )
    columns = ("step", "operations", "bytes", "operations a byte", "limit")
    return Picture(
        (Scene(WIDE, HIGH, tuple(shapes)),),
        _caption(known),
        Table(columns, rows),
        "modelled",
        full=f"{_caption(known)}\n{now.caption}\n{LEGEND}",
    )


def covered_roofline() -> Scene:
    """The axes alone, and "?" for where programs stand."""
    box = Rect(LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP, "idle")
    mark = Words("?", (LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2)
    return Scene(WIDE, HIGH, (box, mark, *_names()))


def _caption(known: Sequence[tuple[int, Roofline]]) -> str:
    first, now = known[0][1], known[-1][1]
    moved = f", {first.intensity:.3g} at first" if first.intensity != now.intensity else ""
    return f"{now.intensity:.3g} operations a byte{moved}: {now.bound} is the limit."


def _x(intensity: float) -> float:
    at = log2(intensity) if intensity > 0 else X[0]
    return LEFT + (min(max(at, X[0]), X[1]) - X[0]) * (RIGHT - LEFT) / (X[1] - X[0])


def _y(rate: float, peak: float) -> float:
    below = log2(peak / rate) if rate > 0 else DEEP
    return TOP + min(below, DEEP) * (BOTTOM - TOP) / DEEP


def _names() -> Iterator[Words]:
    yield Words("operations a byte", RIGHT, HIGH - 8, "muted", "end")
    yield Words("operations a second", 1, TOP - 9, "muted", "start")


def _axes(of: Roofline) -> Iterator[Shape]:
    """The lines of the field, what they stand for, and the two roofs."""
    grid: list[tuple[Spot, Spot]] = []
    for power in range(X[0], X[1] + 1, 4):
        x = _x(2.0**power)
        grid.append(((x, TOP), (x, BOTTOM)))
        said = f"{2**power:,}" if power >= 0 else f"1/{2**-power}"
        yield Words(said, x, BOTTOM + 14, "muted")
    for down in range(0, DEEP + 1, 4):
        y = _y(of.peak / 2**down, of.peak)
        grid.append(((LEFT, y), (RIGHT, y)))
        yield Words(_rate(of.peak / 2**down), LEFT - 4, y + 4, "muted", "end")
    yield path("grid", *grid)
    low = max(of.peak / 2**DEEP / of.bandwidth, 2.0 ** X[0])
    start = (_x(low), _y(low * of.bandwidth, of.peak))
    yield path("write", (start, (_x(of.ridge), TOP), (RIGHT, TOP)))
    ideal = _x(of.ideal)
    top = _y(min(of.peak, of.ideal * of.bandwidth), of.peak)
    yield path("asked", ((ideal, top), (ideal, BOTTOM)))
    yield from _names()


def _rate(rate: float) -> str:
    """Operations a second in few letters: 67 T, 16 G."""
    unit, size = next((u, s) for u, s in (("T", 1e12), ("G", 1e9), ("M", 1e6)) if rate >= s)
    count = rate / size
    return f"{count:.0f} {unit}" if count >= 10 else f"{count:.2g} {unit}"


def _programs(known: Sequence[tuple[int, Roofline]]) -> Iterator[Shape]:
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
    taken: list[tuple[float, float, float]] = []
    for spot, numbers in spots.items():
        last = known[-1][0] in numbers
        one = names[numbers[-1]]
        said = runs_text(numbers)
        title = f"step {said}: {one.intensity:.3g} operations a byte, {one.bound} is the limit"
        x, y = spot[0] + RADIUS + 3, spot[1] + 16
        end = x + width_of(said)
        while any(abs(y - b) < 13 and x < right and a < end for a, right, b in taken):
            y += 13
        taken.append((x, end, y))
        mark = dot(*spot, RADIUS, "chosen" if last else "served")
        words = Words(said, x, y, "on-strong" if last else "on", "start")
        yield from standing(Stands(title=title), (mark, words))
