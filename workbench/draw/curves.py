"""The picture of curves beside each other: the best so far of several who tried, and a guess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from workbench.draw.picture import Picture
from workbench.draw.scene import Scene, Shape, Spot, Words, path, width_of
from workbench.draw.search import LEFT, Ground, curve_ground, time_text
from workbench.insight import Table

ENDS = (2e-5, 5e-3)  # s of the axis: the same before and after, so that it gives nothing away
ROLES = ("asked", "chosen-joined", "new")  # dashed; the learner's hue, which is lighter; ink
SAMPLE, APART = 36.0, 24.0  # px of a line in the legend, and between its entries

Curve = Sequence[tuple[int, float]]
"""The number of a trial, from 0, and seconds."""


def curves_picture(
    expected: Curve, tried: Mapping[str, Sequence[float]], of: int, how: str
) -> Picture:
    """What was `expected` of `of` trials, dashed, and the best so far of those who `tried`.

    Each of these has the seconds of its trials in their order, infinity where one failed; two of
    them at most. `how` says what the times are.
    """
    ground = curve_ground(ENDS, of, f"best so far, {how}")
    best = {name: list(accumulate(seconds, min)) for name, seconds in tried.items()}
    lines = {"expected": [_spot(ground, *one) for one in expected]}
    lines |= {name: _stairs(ground, curve) for name, curve in best.items()}
    shapes: list[Shape] = [*ground.scene.shapes]
    at = LEFT + 150
    for (name, line), role in zip(lines.items(), ROLES, strict=False):
        if not line:
            continue
        shapes.append(path(role, line, ((at, 10), (at + SAMPLE, 10))))
        shapes.append(Words(name, at + SAMPLE + 6, 14, "words", "start"))
        at += SAMPLE + 6 + width_of(name) + APART
    table = _table(dict(expected), best, of)
    scene = Scene(ground.scene.width, ground.scene.height, tuple(shapes))
    return Picture((scene,), _caption(dict(expected), best), table, how)


def _spot(ground: Ground, number: int, seconds: float) -> Spot:
    return ground.x.at(number), ground.y.at(min(max(seconds, ENDS[0]), ENDS[1]))


def _stairs(ground: Ground, best: Sequence[float]) -> list[Spot]:
    """Down at each trial that was faster than all before; each is as wide as its place."""
    stairs: list[Spot] = []
    half = ground.x.factor / 2
    for number, seconds in enumerate(best):
        if seconds < float("inf"):
            x, y = _spot(ground, number, seconds)
            stairs += [(x - half, y), (x + half, y)]
    return stairs


def _caption(expected: Mapping[int, float], best: Mapping[str, Sequence[float]]) -> str:
    ends = [f"{name} {time_text(curve[-1])}" for name, curve in best.items() if curve]
    if expected:
        ends.insert(0, f"expected {time_text(expected[max(expected)])}")
    return f"In the end: {', '.join(ends)}." if ends else "Nothing was tried yet."


def _table(expected: Mapping[int, float], best: Mapping[str, Sequence[float]], of: int) -> Table:
    rows: list[tuple[str | int | float, ...]] = []
    for number in range(of):
        own = [curve[number] if number < len(curve) else None for curve in best.values()]
        cells = [None if s in (None, float("inf")) else s for s in (expected.get(number), *own)]
        rows.append((number, *("" if s is None else time_text(s) for s in cells)))
    return Table(("trial", "expected", *best), tuple(rows))
