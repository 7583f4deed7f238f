"""How many times to measure: until the middle half of the samples is close together, or a cap."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median, quantiles

LEAST_SAMPLES = 20
LEAST_SLOW_SAMPLES = 3  # of what takes so long that the time is up before


def relative_spread(samples: Sequence[float]) -> float:
    """The width of the middle half of `samples`, over their median."""
    low, _, high = quantiles(samples, n=4, method="inclusive")
    return (high - low) / median(samples)


def sample_until_steady(
    sample: Callable[[], float],
    *,
    spread: float,
    most: int,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[list[float], bool]:
    """Samples, at least `LEAST_SAMPLES`, until their spread is at most `spread`.

    Gives up after `most` samples or `seconds` on the clock, with at least `LEAST_SLOW_SAMPLES`;
    the second value says whether the spread was reached.
    """
    samples: list[float] = []
    deadline = clock() + seconds
    while len(samples) < max(most, LEAST_SAMPLES):
        samples.append(sample())
        if len(samples) >= LEAST_SLOW_SAMPLES and clock() > deadline:
            break
        enough = len(samples) >= LEAST_SAMPLES and len(samples) % 5 == 0
        if enough and relative_spread(samples) <= spread:
            return samples, True
    return samples, relative_spread(samples) <= spread
