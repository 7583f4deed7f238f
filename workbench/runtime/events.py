"""Seconds of work on a GPU, between CUDA events: how one sample of it is taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

_WARM_UP_RUNS = 3
_WARM_UP_SECONDS = 0.5  # a kernel that takes longer is warm after one run
_LEAST_SECONDS = 200e-6  # of one sample: far above the half microsecond that an event resolves
_MOST_LAUNCHES = 200
_ASKING_SECONDS = 3e-3  # more than 200 launches take to be asked for


def warm(stream: Any, launch: Callable[[], object]) -> float:
    """Launch until warm; the seconds of the last run."""
    total = once = 0.0
    for _ in range(_WARM_UP_RUNS + 1):
        once = between_events(stream, launch)
        total += once
        if total > _WARM_UP_SECONDS:
            break
    return once


def runs_per_sample(seconds: float) -> int:
    """How many runs of about `seconds` each one sample takes, to be long enough to measure."""
    return max(1, min(_MOST_LAUNCHES, math.ceil(_LEAST_SECONDS / max(seconds, 1e-7))))


def between_events(stream: Any, launch: Callable[[], object]) -> float:
    """Seconds on the GPU from before `launch` to after it."""
    import cupy

    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    start.record(stream)
    launch()
    stop.record(stream)
    stop.synchronize()
    return cupy.cuda.get_elapsed_time(start, stop) * 1e-3


def graph_sample(stream: Any, launch: Callable[[], object], count: int) -> Callable[[], float]:
    """How to take one sample: a captured graph of `count` runs leaves out the asking for each."""
    stream.begin_capture()
    for _ in range(count):
        launch()
    graph = stream.end_capture()
    graph.launch(stream)
    stream.synchronize()
    return lambda: between_events(stream, lambda: graph.launch(stream)) / count


def row_sample(stream: Any, launch: Callable[[], object], count: int) -> Callable[[], float]:
    """As `graph_sample`, for what CuPy lets into no graph: `count` launches that follow closely.

    The card is kept busy while they are asked for, so that asking for them does not count.
    """
    fill = _filled()
    fills = math.ceil(_ASKING_SECONDS / between_events(stream, fill))

    def sample() -> float:
        for _ in range(fills):
            fill()
        launch()  # so that the caches are warm
        return between_events(stream, lambda: [launch() for _ in range(count)]) / count

    return sample


def flushed_sample(stream: Any, launch: Callable[[], object]) -> Callable[[], float]:
    """How to take one sample of one run, with the L2 cache full of other data before it."""
    fill = _filled()

    def sample() -> float:
        fill()
        return between_events(stream, launch)

    return sample


def _filled() -> Callable[[], None]:
    """What writes twice as much as the L2 cache holds."""
    import cupy

    l2_bytes = cupy.cuda.Device().attributes["L2CacheSize"]
    filler = cupy.empty(2 * l2_bytes, dtype="uint8")
    filler.fill(0)  # CuPy compiles it first
    return lambda: filler.fill(1)
