"""All that a search tried, with what made and measured it: candidates again, pictures, a view."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, overload

from workbench.diag import Fail
from workbench.history.history import HistoryNode
from workbench.schedule import Schedule
from workbench.tuning.ablation import Ablation, without_each
from workbench.tuning.decided import Choice, choices_of
from workbench.tuning.measure import Measurer
from workbench.tuning.record import Lines
from workbench.tuning.score import is_of
from workbench.tuning.search import Search
from workbench.tuning.space import Candidate
from workbench.tuning.trial import Ended, Trial, best_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from workbench.draw import Vendor

PICTURES = ("trials", "predicted", "decisions")


class NotTried(Fail, ValueError):
    """A trial, a picture or a candidate that a search does not have."""


class Tried:
    """What a search of `search` tried, as its record has it in `lines`.

    Pictures and the view, which a notebook shows of it, know no more than the record. A candidate
    is made again by the space; what else is to be measured gets a `measurer`.

    >>> best = wb.tune(add, target="nvidia/h200", trials=2)
    >>> best.tried
    <Tried: 2 trials of add>
    """

    def __init__(self, search: Search, lines: Lines, measurer: Callable[[], Measurer]) -> None:
        self.search = search
        self.lines = lines
        self.measurer = measurer
        self._choices: tuple[Choice, ...] | None = None  # until a candidate tells them

    def __repr__(self) -> str:
        return f"<Tried: {len(self.lines.outcomes)} trials of {self.search.program.name}>"

    @property
    def best(self) -> Ended | None:
        """The fastest correct trial, of those that are as fast the first; None without one.

        >>> best = wb.tune(add, target="nvidia/h200", trials=2)
        >>> best.tried.best.outcome.how
        'modelled'
        """
        return best_of(self.lines.ended)

    @overload
    def figure(self, picture: str = "trials", *, path: None = None) -> Figure: ...

    @overload
    def figure(self, picture: str = "trials", *, path: str | Path) -> None: ...

    def figure(self, picture: str = "trials", *, path: str | Path | None = None) -> Figure | None:
        """Draw "trials", time by trial; "predicted", the time by the one predicted; "decisions".

        The last is the picture of `ablation`, and measures what that does. With `path` it is
        written there, as `Schedule.figure` does. Raises NotTried for another picture, and as
        `ablation` does; ImportError without matplotlib.

        >>> best = wb.tune(add, target="nvidia/h200", trials=2)
        >>> best.tried.figure("predicted").savefig("predicted.svg")
        """
        from workbench import draw

        if picture not in PICTURES:
            raise NotTried(
                f"Can't draw {picture!r}: a search has no such picture"[:119],
                hint=f"there are: {', '.join(PICTURES)}",
            )
        if picture == "decisions":
            drawn = draw.ablation_picture(self.ablation())
        else:
            vendor, choices = self.vendor, self.choices
            drawn = draw.search_picture(self.lines, picture, vendor=vendor, choices=choices)
        if path is None:
            return draw.figure(drawn)
        draw.write_svg(drawn, path)
        return None

    @cached_property
    def vendor(self) -> Vendor | None:
        """What the vendor's library takes for the job, where that is known of this device."""
        from workbench import widgets

        return widgets.vendor_of(self.search.program, self.search.model, self.lines.header.device)

    def _ipython_display_(self, **_: object) -> None:
        """The view of the search: every trial a point that opens in a lab."""
        from workbench import widgets

        widgets.show_search(self)

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The choices of the space, by their names; () while no candidate tells them.

        >>> best = wb.tune(add, target="nvidia/h200", trials=2)
        >>> [choice.said(1) for choice in best.tried.choices]
        ['64']
        """
        if self._choices is None and self.best:
            self._choices = ()  # of a space that makes another program of it now
            made = self.search.candidate(self.best.trial.decisions)
            if is_of(made, self.best.trial):
                self._choices = choices_of(self.search.space, made)
        return self._choices or ()

    def learn(self, candidate: Candidate) -> None:
        """Know the choices from a candidate that was made just now."""
        if self._choices is None and candidate.kernel is not None:
            self._choices = choices_of(self.search.space, candidate)

    def candidate(self, number: int) -> Candidate:
        """The candidate of trial `number`, made again by the space.

        Raises NotTried where there is no such trial, and where the space makes another program of
        its decisions now.

        >>> best = wb.tune(add, target="nvidia/h200", trials=2)
        >>> best.tried.candidate(best.tried.best.trial.number).schedule.trace == best.trace
        True
        """
        trial = self.lines.trials.get(number)
        if trial is None:
            raise NotTried(
                f"Can't make trial {number} again: there is no such trial",
                hint=f"there are {len(self.lines.trials)}, numbered from 0",
            )
        made = self.search.candidate(trial.decisions)
        if not is_of(made, trial):
            raise NotTried(
                f"Can't make trial {number} again: the space makes another program of it",
                detail=made.reason,
                hint="show the record with the space that it is of: tuning.show(path, space=…)",
            )
        return made

    def beside(self, number: int) -> tuple[Schedule, HistoryNode | None]:
        """The steps of trial `number` with those of the best as another branch, and its end.

        The schedule stands at the trial; both ends are marked. Without a best, or where it is that
        trial, there is no other branch: None. Raises NotTried as `candidate` does.

        >>> best = wb.tune(add, target="nvidia/h200", trials=2)
        >>> schedule, end = best.tried.beside(best.tried.best.trial.number)
        >>> end is None, schedule.trace == best.trace
        (True, True)
        """
        schedule = self.candidate(number).schedule
        schedule.mark(f"trial {number}")
        here, best = schedule.node, self.best
        if best is None or best.trial.number == number:
            return schedule, None
        schedule.take(self.candidate(best.trial.number).schedule.trace)
        schedule.mark(f"the best, trial {best.trial.number}")
        there = schedule.node
        schedule.goto(here)
        return schedule, there

    def ablation(self, other: int | None = None) -> Ablation:
        """Which decision mattered: the best with each of its decisions put back, one at a time.

        In its place comes that of the trial `other`, by default the first correct one; all is
        measured as the search was, the best once more, so that ratios are of one run. Raises
        NotTried without a best, for a trial of other choices, and as `candidate` does.

        >>> best = wb.tune(add, target="nvidia/h200", trials=4)
        >>> {part.outcome.how for part in best.tried.ablation().parts} <= {"modelled"}
        True
        """
        best = self.best
        if best is None:
            raise NotTried(
                "Can't tell which decision mattered: no trial is correct", hint="try more of them"
            )
        start = self._other(best) if other is None else self.lines.trials.get(other)
        if start is None or len(start.decisions) != len(best.trial.decisions):
            raise NotTried(
                f"Can't put decisions back to those of trial {other}: it has none of these choices",
                hint="give a trial with as many decisions as the best, or none",
            )
        made = self.candidate(best.trial.number)  # the space still makes what was measured
        own = choices_of(self.search.space, made)  # others may have met other choices
        again, parts = without_each(
            best.trial.decisions,
            start.decisions,
            own,
            self.search.candidate,
            self.measurer().submit,
        )
        both = zip(own, best.trial.decisions, start.decisions, strict=True)
        same = tuple((choice.name, choice.said(mine)) for choice, mine, its in both if mine == its)
        return Ablation(best.trial.number, start.number, again, parts, same)

    def _other(self, best: Ended) -> Trial:
        """The first correct trial of the same choices: the best itself, where there is no other."""
        same = len(best.trial.decisions)
        correct = (one for one in self.lines.ended if one.outcome.status == "correct")
        return next(one.trial for one in correct if len(one.trial.decisions) == same)


class Watch(AbstractContextManager["Watch"], Protocol):
    """Who sees a search while it runs: hears of each trial, and where it ends."""

    def __call__(self, progress: Any) -> object:
        """A trial has ended."""


def watching(tried: Tried, of: int) -> Watch | None:
    """A view of a search of `of` trials, shown in the cell that runs; None outside of notebooks."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    from workbench import widgets

    return widgets.watch(tried, of)


class Tuned(Schedule):
    """The winner of a search: a Schedule like any other, and `tried`, all that was tried for it."""

    tried: Tried

    @classmethod
    def of(cls, schedule: Schedule, tried: Tried) -> Tuned:
        """`schedule` as the winner of `tried`."""
        made = cls.__new__(cls)
        made.__dict__.update(schedule.__dict__)
        made.tried = tried
        return made

    def fork(self) -> Tuned:
        """A second cursor at the same program of the same history; it moves on its own."""
        return Tuned.of(super().fork(), self.tried)

    def figure(
        self, picture: str = "trials", *, path: str | Path | None = None, **options: Any
    ) -> Any:
        """Draw the search as `Tried.figure` does, its "trials", else as `Schedule.figure`.

        >>> best = wb.tune(add, target="nvidia/h200", trials=2)
        >>> best.figure().savefig("trials.svg")
        """
        if picture in PICTURES and not options:
            return self.tried.figure(picture, path=path)
        return super().figure(picture, path=path, **options)
