"""What a search decides and learns, as plain data: trials, their outcomes, and what was refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from statistics import median
from typing import Literal, TypeAlias, get_args

from workbench.tuning.features import Features
from workbench.tuning.space import Decisions

Status: TypeAlias = Literal[
    "correct", "compile", "runtime", "correctness", "timeout", "constraints"
]
"""How a trial ended, in the words of the tuning community's T4 format."""

SHORTEST, LONGEST = 1e-15, 1e9  # seconds: what is beyond was not measured

STATUSES: tuple[str, ...] = get_args(Status)

How: TypeAlias = Literal["measured", "modelled", "recorded"]
HOWS: tuple[str, ...] = get_args(How)


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate that was chosen to be measured, in batch number `batch`, one `of` so many.

    `parents` are the trials that its decisions were made from; () where they were drawn. `program`
    is the structural hash of what it made. Of one run, `predicted` are the seconds that it was
    chosen by, and `modelled` those of its kernels by the model; None where nothing tells. By its
    `features` a model learns.
    """

    number: int
    batch: int
    of: int
    parents: tuple[int, ...]
    decisions: Decisions
    program: str
    predicted: float | None = None
    modelled: float | None = None
    features: Features = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended: `times` are seconds of single samples, of a correct one alone.

    `how` says what they are. `reason` says what went wrong, "" where nothing did. `yardstick` are
    the seconds of a kernel that is always the same, where it was timed just before: by them one
    sees clocks drift.
    """

    status: Status
    how: How
    times: tuple[float, ...] = ()
    reason: str = ""
    yardstick: float | None = None

    @property
    def seconds(self) -> float:
        """The middle of its times; infinity for what is not correct."""
        return _middle(self.times) if self.status == "correct" else inf


@lru_cache(1 << 14)  # a view of a long search asks for each of them again and again
def _middle(times: tuple[float, ...]) -> float:
    return median(times)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Decisions that made no candidate, tried for batch number `batch`, and why."""

    batch: int
    decisions: Decisions
    reason: str

    @property
    def light(self) -> Refusal:
        """Itself, as of `Scored`."""
        return self

    sent = light


@dataclass(frozen=True, slots=True)
class Ended:
    """A trial with its outcome."""

    trial: Trial
    outcome: Outcome

    @property
    def seconds(self) -> float:
        """Of one run; infinity for what is not correct."""
        return self.outcome.seconds


def best_of(ended: Iterable[Ended]) -> Ended | None:
    """The fastest correct one, of those that are as fast the first; None without one."""
    correct = [one for one in ended if one.outcome.status == "correct"]
    return min(correct, key=lambda one: (one.seconds, one.trial.number), default=None)


def drift(ended: Iterable[Ended]) -> float | None:
    """How many times as long the yardstick took at its slowest as at its fastest.

    None where it was not timed twice. Much above 1, the clocks changed while trials were measured,
    or others used the card: compare their times with care.

    >>> trial = tuning.Trial(0, 0, 1, (), (), "")
    >>> outcomes = [tuning.Outcome("correct", "measured", (1.0,), "", y) for y in (2e-6, 2.2e-6)]
    >>> round(tuning.drift(tuning.Ended(trial, one) for one in outcomes), 2)
    1.1
    """
    told = [one.outcome.yardstick for one in ended if one.outcome.yardstick is not None]
    return max(told) / min(told) if len(told) > 1 else None


def checked_times(times: tuple[float, ...]) -> str:
    """What is wrong with times that were measured; "" for seconds that can be."""
    if not times:
        return "it gave no time"
    odd = next((t for t in times if not SHORTEST <= t <= LONGEST), None)
    return "" if odd is None else f"it gave {odd} as a time"
