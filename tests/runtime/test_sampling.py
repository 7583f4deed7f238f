"""Sampling stops when the samples agree, and gives up in good time when they do not."""

from __future__ import annotations

from itertools import count, cycle

import pytest

from workbench.runtime import Timing
from workbench.runtime.sampling import (
    LEAST_SAMPLES,
    LEAST_SLOW_SAMPLES,
    relative_spread,
    sample_until_steady,
)


def test_spread_is_the_middle_half_over_the_median():
    assert relative_spread([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx((4 - 2) / 3)
    assert relative_spread([7.0] * 5) == 0


def test_equal_samples_end_it_at_once():
    samples, steady = sample_until_steady(lambda: 1e-6, spread=0.02, most=200, seconds=9)
    assert (len(samples), steady) == (LEAST_SAMPLES, True)


def test_it_goes_on_until_the_samples_settle():
    values = iter([5.0, 1.0] * 10 + [2.0] * 1000)
    samples, steady = sample_until_steady(lambda: next(values), spread=0.02, most=900, seconds=9)
    assert steady
    assert 20 < len(samples) <= 80
    assert relative_spread(samples) <= 0.02


def test_the_number_of_samples_has_a_cap():
    values = cycle([1.0, 2.0])
    samples, steady = sample_until_steady(lambda: next(values), spread=0.02, most=60, seconds=9)
    assert (len(samples), steady) == (60, False)


def test_the_time_has_a_cap():
    values, clock = cycle([1.0, 2.0]), count()
    samples, steady = sample_until_steady(
        lambda: next(values), spread=0.02, most=10**6, seconds=30, clock=lambda: float(next(clock))
    )
    assert not steady
    assert len(samples) < 60


def test_what_takes_seconds_a_run_is_sampled_three_times():
    clock = count(step=10)
    samples, steady = sample_until_steady(
        lambda: 10.0, spread=0.02, most=200, seconds=1, clock=lambda: float(next(clock))
    )
    assert (len(samples), steady) == (LEAST_SLOW_SAMPLES, True)


def timing(**changes) -> Timing:
    facts = {
        "samples": (1.0e-6, 1.1e-6, 1.2e-6, 1.3e-6, 9e-6),
        "device": "NVIDIA H200",
        "how": "CUDA events around a graph of 100 runs, the L2 cache warm",
        "clocks": "SM clock 1980 of 1980 MHz, memory 3201 MHz",
        "date": "2026-11-21",
    }
    return Timing(**(facts | changes))


def test_a_time_says_how_where_and_when():
    assert timing().median == 1.2e-6
    assert str(timing()) == (
        "1.20 µs measured on NVIDIA H200, 2026-11-21\n"
        "median of 5 samples, half of them in 1.10 … 1.30 µs\n"
        "CUDA events around a graph of 100 runs, the L2 cache warm; "
        "SM clock 1980 of 1980 MHz, memory 3201 MHz"
    )
    assert timing()._repr_html_().startswith("<p><b>1.20\xa0µs measured on NVIDIA H200")


def test_an_unsteady_or_recorded_time_says_so():
    text = str(timing(kind="recorded", steady=False, samples=(2e-3,) * 4))
    assert text.startswith("2,000 µs recorded on NVIDIA H200, 2026-11-21\n")
    assert text.endswith("\nThe samples on NVIDIA H200 did not settle: compare with care.")
