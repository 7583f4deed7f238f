"""How long a learner waits after a click: a step of a lesson, with all that the lab shows of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import quantiles

import workbench as wb
from benchmarks.histories import vector_add, window_sum
from workbench.widgets.page import MACHINE_PANES, PROGRAM_PANES, Desk, View, page

Click = Callable[[wb.Schedule], object]


def lesson_steps() -> dict[str, tuple[Callable[[], wb.Schedule], list[Click]]]:
    """The steps of both lessons, by name of the program."""
    bind = [
        lambda s: s.bind("i_0", "blockIdx.x"),
        lambda s: s.bind("i_1", "threadIdx.x"),
    ]
    share = [
        lambda s: s.cache_read("C", 0, "shared"),
        lambda s: s.compute_at("A_shared", "i_1"),
        lambda s: s.split("ax0", factors=[None, 128]),
        lambda s: s.bind("ax0_1", "threadIdx.x"),
    ]
    return {
        "add 8": (
            lambda: wb.Schedule(vector_add(8)),
            [lambda s: s.split("i", factors=[2, 4]), *bind],
        ),
        "add 1024": (
            lambda: wb.Schedule(vector_add(1024)),
            [lambda s: s.split("i", factors=[None, 128]), *bind],
        ),
        "window sum": (
            lambda: wb.Schedule(window_sum(1024)),
            [lambda s: s.split("i", factors=[None, 128]), *bind, *share],
        ),
    }


def waits(rounds: int) -> dict[str, list[float]]:
    """Seconds from each click to its page: with the panes that are open, and with every pane."""
    found: dict[str, list[float]] = {"open panes": [], "all panes": []}
    for _ in range(rounds):
        for start, clicks in lesson_steps().values():
            for name in found:
                found[name] += _walk(start(), clicks, everything=name == "all panes")
    return found


def _walk(sch: wb.Schedule, clicks: list[Click], everything: bool) -> list[float]:
    desk = Desk()
    page(sch, View(), desk)
    seconds = []
    for click in clicks:
        begun = time.perf_counter()
        click(sch)
        place = next(iter(desk.places(sch.func)))
        made = page(sch, View(place=place), desk)
        if everything:
            for pane in PROGRAM_PANES:
                made = page(sch, View(program=pane, place=place), desk, made)
            for pane in MACHINE_PANES:
                made = page(sch, View(machine=pane, place=place), desk, made)
        seconds.append(time.perf_counter() - begun)
    return seconds


def percentile_95(seconds: list[float]) -> float:
    """The wait that 19 of 20 clicks do not exceed."""
    return quantiles(seconds, n=20, method="inclusive")[-1]
