"""A time and everything needed to judge it: every sample, how, where and when it was taken."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles
from typing import Literal

from workbench.diag import prose


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds that one run of a program takes on a device.

    `kind` is "measured" (just now, on `device`) or "recorded" (earlier, on the `date` given).
    `steady` says whether the samples came close enough together before the cap; `notes` are
    sentences about what may have disturbed them: a card that slowed itself, or that others used.

    >>> made = {"device": "a GPU", "how": "events", "clocks": "", "date": "2026-11-23"}
    >>> timing = wb.runtime.Timing(samples=(1e-6, 3e-6, 2e-6), **made)
    >>> timing.median
    2e-06
    """

    samples: tuple[float, ...]
    device: str
    how: str
    clocks: str
    date: str
    kind: Literal["measured", "recorded"] = "measured"
    steady: bool = True
    notes: tuple[str, ...] = ()

    @property
    def median(self) -> float:
        """The middle sample, in seconds.

        >>> made = {"device": "a GPU", "how": "events", "clocks": "", "date": "2026-11-23"}
        >>> wb.runtime.Timing(samples=(1e-6, 3e-6, 2e-6), **made).median
        2e-06
        """
        return median(self.samples)

    @property
    def spread(self) -> tuple[float, float]:
        """Between these two lie the middle half of the samples, in seconds.

        >>> made = {"device": "a GPU", "how": "events", "clocks": "", "date": "2026-11-23"}
        >>> wb.runtime.Timing(samples=(1e-6, 1e-6, 3e-6, 3e-6), **made).spread
        (1e-06, 3e-06)
        """
        low, _, high = quantiles(self.samples, n=4, method="inclusive")
        return low, high

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why to compare its seconds with care, a sentence each; () where nothing is against it.

        >>> made = {"device": "a GPU", "how": "events", "clocks": "", "date": "2026-11-23"}
        >>> wb.runtime.Timing(samples=(1e-6, 9e-6), steady=False, **made).doubts
        ('The samples on a GPU did not settle: compare with care.',)
        """
        if self.steady:
            return self.notes
        return (f"The samples on {self.device} did not settle: compare with care.", *self.notes)

    def __str__(self) -> str:
        low, high = (_microseconds(value) for value in self.spread)
        notes = "".join(f"\n{note}" for note in self.doubts)
        return (
            f"{_microseconds(self.median)} µs {self.kind} on {self.device}, {self.date}\n"
            f"median of {len(self.samples)} samples, half of them in {low} … {high} µs\n"
            f"{self.how}; {self.clocks}{notes}"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        first, *rest = str(self).splitlines()
        return f"<p><b>{prose(first)}</b><br>{'<br>'.join(map(prose, rest))}</p>"


def _microseconds(seconds: float) -> str:
    return in_digits(seconds * 1e6, 3) if seconds < 1e-3 else f"{seconds * 1e6:,.0f}"


def in_digits(number: float, count: int = 4) -> str:
    """`number` in so many digits, zeros at its end among them: 58.30 beside 54.97."""
    return f"{number:#,.{count}g}".rstrip(".")
