"""How many times to measure: until the middle half of the samples is close together, or a cap."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median, quantiles

LEAST_SAMPLES = 20


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

    Gives up after `most` samples or `seconds` on the clock; the second value says whether the
    spread was reached.
    """
    samples: list[float] = []
    deadline = clock() + seconds
    while len(samples) < max(most, LEAST_SAMPLES):
        samples.append(sample())
        if len(samples) < LEAST_SAMPLES:
            continue
        if len(samples) % 5 == 0 and relative_spread(samples) <= spread:
            return samples, True
        if clock() > deadline:
            break
    return samples, relative_spread(samples) <= spread
