"""expect: the curve that a learner draws before a search is seen, and curves beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any

from workbench import draw, tuning
from workbench.diag import Fail
from workbench.draw.curves import ENDS
from workbench.lesson import record
from workbench.lesson.trials import TRIALS, Trials

AT = (1, 5, 10, 15, 20)  # trials after which a best is asked for
FIRST = (1e-3,) * len(AT)  # where the handles stand: none of it is an answer
PART, KEY = "curves", "expected"
KEPT = "Kept. Now see what comes of it, by hand and by machine."


class Expected:
    """The best that a learner expects after some trials, in seconds; () until it is drawn.

    In a notebook it is drawn with five handles; `draw` takes numbers in their place. The first
    curve is kept.
    """

    def __init__(self, lesson: str) -> None:
        self.lesson = lesson
        self.file = record.file_of(lesson)
        self.seconds: tuple[float, ...] = _checked(record.read(self.file)[PART].get(KEY))

    @property
    def curve(self) -> list[tuple[int, float]]:
        """Pairs of a trial's number, from 0, and seconds."""
        return [(n - 1, s) for n, s in zip(AT, self.seconds, strict=False)]

    def draw(self, *us: float) -> str:
        """Expect so many µs after 1, 5, 10, 15 and 20 trials; returns what is said of it.

        Raises Fail for what is no curve: five times, each at most the one before.
        """
        if not self.seconds:
            seconds = _checked([one * 1e-6 for one in us if isinstance(one, int | float)])
            if not seconds:
                raise Fail(
                    "Can't expect that: a curve has 5 times in µs, none longer than the one before",
                    hint="after 1, 5, 10, 15 and 20 trials: expected.draw(900, 500, 300, 200, 200)",
                )
            told = record.note(self.file, PART, KEY, {"seconds": list(seconds)}, first=True)
            self.seconds = seconds
            return f"{KEPT} {told}".strip()
        return KEPT

    def _keep(self, values: Sequence[object]) -> str:
        return self.draw(*(v * 1e6 if isinstance(v, int | float) else 0.0 for v in values))

    def __repr__(self) -> str:
        said = ", ".join(
            f"{n}: {draw.time_text(s)}" for n, s in zip(AT, self.seconds, strict=False)
        )
        return f"The best expected after trials, {said}." if said else "No curve is drawn yet."

    def view(self) -> Any:
        """The curve with its handles; None where widgets are not installed."""
        try:
            small = import_module("workbench.widgets.small.curve")  # loads anywidget: heavy
        except ModuleNotFoundError as missing:
            if missing.name not in ("anywidget", "traitlets"):
                raise
            return None
        ground = draw.curve_ground(ENDS, TRIALS, "best so far, as you expect it")
        return small.CurveView(
            "Draw what you expect: the best time after so many trials.",
            self._keep,
            ground=draw.svg(ground.scene),
            spots=[[n, ground.x.at(n - 1)] for n in AT],
            scale=[ground.y.base, ground.y.factor],
            ends=list(ENDS),
            values=list(self.seconds or FIRST),
            told=KEPT if self.seconds else "",
        )

    def _ipython_display_(self, **_: Any) -> None:
        """What is drawn so far, with its handles where there are widgets."""
        view = self.view()
        if view is None:
            print(repr(self))
        else:
            view._ipython_display_()


def _checked(value: object) -> tuple[float, ...]:
    """The seconds that are told; () for what is no curve."""
    if isinstance(value, Mapping):
        value = value.get("seconds")
    if not isinstance(value, list) or len(value) != len(AT):
        return ()
    if not all(type(one) in (int, float) and isfinite(one) and one > 0 for one in value):
        return ()
    if value != sorted(value, reverse=True):
        return ()
    return tuple(min(max(float(one), ENDS[0]), ENDS[1]) for one in value)


def expect(lesson: str) -> Expected:
    """The curve that a learner draws in a lesson, the name of its notebook.

    >>> lesson.expect("05_let_the_machine_search")
    No curve is drawn yet.
    """
    return Expected(lesson)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture of a search: in a notebook it is drawn, printed it is its caption."""

    picture: draw.Picture

    def __repr__(self) -> str:
        return self.picture.caption

    def _repr_html_(self) -> str:
        strip = draw.svg_in_text(self.picture.strips[0], self.picture.caption)
        return draw.picture_html({**draw.plain(self.picture), "strips": [strip]})


def beside(expected: Expected, by_hand: Trials, machine: str | Path | tuning.Lines) -> Drawn:
    """What was `expected`, what came of trials `by_hand`, and what a record of a search has.

    Raises RecordError for what is no record, OSError where it cannot be read.

    >>> best = wb.tune(add, target="nvidia/h200", trials=2, record="add.jsonl")
    >>> name = "12_auto_scheduling"
    >>> by_hand = lesson.trials(name, add, lambda sch: None)
    >>> str(lesson.beside(lesson.expect(name), by_hand, "add.jsonl")).partition("machine")[0]
    'In the end: by '
    """
    lines = machine if isinstance(machine, tuning.Lines) else tuning.read(machine)
    both = {"by hand": by_hand.ended, "by machine": lines.ended}
    ended = [one for many in both.values() for one in many]
    how = ended[-1].outcome.how if ended else "modelled"
    tried = {name: [one.seconds for one in many] for name, many in both.items()}
    of = max([TRIALS, *map(len, tried.values())])
    return Drawn(draw.curves_picture(expected.curve, tried, of, how))


def which_mattered(best: tuning.Tuned, other: int) -> Drawn:
    """The winner with one decision after the other put back to that of the trial `other`.

    All is measured as the search was. Raises NotTried for a trial that there is not.

    >>> best = wb.tune(add, target="nvidia/h200", trials=2)
    >>> isinstance(lesson.which_mattered(best, 0), lesson.Drawn)
    True
    """
    return Drawn(draw.ablation_picture(best.tried.ablation(other)))
