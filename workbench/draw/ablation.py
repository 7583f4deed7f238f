"""The picture of an ablation: a bar a decision, as long as the best takes longer without it."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

from workbench.draw.picture import Picture
from workbench.draw.scene import Rect, Scene, Shape, Stands, Words, fit, path, standing, width_of
from workbench.draw.search import time_text
from workbench.insight import Table
from workbench.runtime.timing import in_digits
from workbench.tuning.ablation import Ablation, Without

WIDE, ROW, BAR, TOP = 740.0, 34.0, 12.0, 40.0  # px: the scene, a decision, its bar, above them
LINE = 20.0  # px: a decision that is the same in both, below the axis
LEFT, RIGHT = 250.0, 640.0  # px of the axis; what the ratio is stands behind it
SAME = 1.01  # times as long tell nothing: runs differ as much
LEAST = 2.0  # times: the axis goes at least so far


def ablation_picture(told: Ablation) -> Picture:
    """What each decision of the best is worth: how many times as long it takes without it.

    The axis is logarithmic, and begins at the best's own time in the same run.
    """
    known = [part.ratio for part in told.parts if part.ratio]
    most = max([LEAST, *known])
    shapes: list[Shape] = [
        Words(
            f"trial {told.best} with one decision of trial {told.other}", 2, 16, "strong", "start"
        ),
        Words(f"times as long, {told.again.how}", RIGHT, 34, "muted", "end"),
    ]
    foot = TOP + ROW * len(told.parts)
    high = foot + 22 + LINE * len(told.same)
    for tick in (1, 2, 5, 10, 20, 50, 100, 1000):
        if tick <= most:
            shapes.append(path("grid", ((_x(tick, most), TOP), (_x(tick, most), foot))))
            shapes.append(Words(f"{tick} ×", _x(tick, most), foot + 15, "muted"))
    for k, part in enumerate(sorted(told.parts, key=lambda part: -(part.ratio or 0))):
        shapes += standing(Stands(title=_said(part)), _bar(part, TOP + ROW * k, most))
    for k, (choice, decision) in enumerate(told.same):
        y = foot + 22 + LINE * (k + 1) - 6
        shapes.append(Words(choice, 2, y, "name", "start"))
        shapes.append(Words(f"{decision}, the same in both", LEFT + 4, y, "muted", "start"))
    caption = _caption(told)
    return Picture(
        (Scene(WIDE, high, tuple(shapes)),),
        caption,
        ablation_table(told),
        told.again.how,
        full=f"{caption} Each bar is the best with that one decision put back to the other "
        "trial's; what could not be made has no bar, and says why.",
    )


def ablation_table(told: Ablation) -> Table:
    """The same as rows."""
    rows = [(p.choice, p.decision, p.instead, _time(p), _ratio(p)) for p in told.parts]
    rows += [(choice, decision, "the same", "", "") for choice, decision in told.same]
    return Table(("choice", "the best's", "in its place", "time", "times as long"), tuple(rows))


def _caption(told: Ablation) -> str:
    if not told.parts:
        return f"Trial {told.best} has no decision that trial {told.other} has not."
    if all(part.ratio is None for part in told.parts):
        return (
            f"No decision of trial {told.other} goes together with the others of trial {told.best}."
        )
    worst = max(told.parts, key=lambda part: part.ratio or 0)
    assert worst.ratio is not None
    if worst.ratio < SAME:
        return f"No decision of trial {told.best} matters by itself: without any one it is as fast."
    longer = f"the best takes {in_digits(worst.ratio, 3)} times as long"
    return f"{worst.choice} matters most: without it, {longer}."


def _x(ratio: float, most: float) -> float:
    return LEFT + (RIGHT - LEFT) * log(max(ratio, 1.0)) / log(most)


def _bar(part: Without, y: float, most: float) -> Iterator[Shape]:
    """A decision: its name and what came in its place, the bar, and the ratio or the reason."""
    yield Words(part.choice, 2, y + 14, "name", "start")
    yield Words(fit(f"{part.decision} → {part.instead}", LEFT - 12), 2, y + 28, "muted", "start")
    if part.ratio is None:
        why = f"✕ {part.outcome.reason or part.outcome.status}"
        yield Words(fit(why, WIDE - LEFT - 8), LEFT + 4, y + 19, "muted", "start")
        return
    end = _x(part.ratio, most)
    yield Rect(LEFT, y + 8, max(end - LEFT, 1.5), BAR, "beyond")
    yield Words(_ratio(part), min(end + 6, WIDE - width_of(_ratio(part))), y + 18, "words", "start")


def _ratio(part: Without) -> str:
    return f"{in_digits(part.ratio, 3)} ×" if part.ratio else ""


def _time(part: Without) -> str:
    outcome = part.outcome
    return time_text(outcome.seconds) if outcome.status == "correct" else outcome.reason


def _said(part: Without) -> str:
    return f"{part.choice}: {part.decision}, in its place {part.instead}: {_time(part)}"
