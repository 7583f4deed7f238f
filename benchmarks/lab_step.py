"""How long a learner waits after a click: a step of a lesson, with all that the lab shows of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median, quantiles
from typing import Any

import workbench as wb
from benchmarks.convolutions import convolution, tutorial
from benchmarks.histories import vector_add, window_sum
from benchmarks.matmuls import (
    LARGE,
    SMALL,
    blocking,
    blocking_with_shared,
    matmul,
    naive,
    strided,
)
from workbench.ir import PrimFunc
from workbench.verbs.primitive import REGISTRY
from workbench.widgets.page.collecting import collecting_later
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.page import page
from workbench.widgets.page.view import MACHINE_PANES, PROGRAM_PANES, View

Waits = dict[str, list[float]]
Walk = Callable[[Any], object]
MODES = ("open panes", "all panes")
REACH = {  # seconds, 19 clicks of 20
    "lessons 01 and 02": 0.06,
    "lessons 03 and 04": 0.1,
    "the tutorial's convolution": 0.15,
    "a pipelined product": 0.15,
}


def walks() -> dict[str, dict[str, tuple[PrimFunc, Walk]]]:
    """For each two lessons, and a large program: programs, with the steps taken on them."""
    first: dict[str, tuple[PrimFunc, Walk]] = {
        "add 8": (vector_add(8), lambda s: _bound(s, [2, 4])),
        "add 1024": (vector_add(1024), lambda s: _bound(s, [None, 128])),
        "window sum": (window_sum(1024), _shared_window),
    }
    second: dict[str, tuple[PrimFunc, Walk]] = {}
    for size, one, tiles in ((SMALL, 4, (2, 2, 2, 2, 4)), (LARGE, 16, (8, 8, 8, 8, 8))):
        second |= {
            f"one output a thread {size}": (matmul(size), partial(_naive, threads=one)),
            f"local blocking {size}": (matmul(size), partial(_blocked, tiles=tiles)),
            f"kept {size}": (matmul(size), partial(_blocked, tiles=tiles, keep=True)),
            f"shared {size}": (matmul(size), partial(_shared, tiles=tiles)),
        }
    large: dict[str, tuple[PrimFunc, Walk]] = {"convolution": (convolution(), tutorial)}
    ahead: dict[str, tuple[PrimFunc, Walk]] = {"product": (matmul(LARGE), _ahead)}
    return dict(zip(REACH, (first, second, large, ahead), strict=True))


def _ahead(sch: Any) -> None:
    strided(sch, ahead=True)


def _naive(sch: Any, threads: int) -> None:
    naive(sch, threads)


def _blocked(sch: Any, tiles: tuple[int, ...], keep: bool = False) -> None:
    blocking(sch, *tiles, keep=keep)


def _shared(sch: Any, tiles: tuple[int, ...]) -> None:
    blocking_with_shared(sch, *tiles)


def _bound(sch: Any, factors: list[int | None]) -> None:
    sch.split("i", factors=factors)
    sch.bind("i_0", "blockIdx.x")
    sch.bind("i_1", "threadIdx.x")


def _shared_window(sch: Any) -> None:
    _bound(sch, [None, 128])
    sch.cache_read("C", 0, "shared")
    sch.compute_at("A_shared", "i_1")
    sch.split("ax0", factors=[None, 128])
    sch.bind("ax0_1", "threadIdx.x")


def waits(rounds: int, lessons: str) -> Waits:
    """Seconds from each click to its page: with the panes that are open, and with every pane."""
    found: Waits = {mode: [] for mode in MODES}
    for _ in range(rounds):
        for func, walk in walks()[lessons].values():
            for mode in MODES:
                walk(_Clicked(func, mode, found[mode]))
    return found


class _Clicked:
    """A schedule of which every step is a click in a lab: the time to its page is noted."""

    def __init__(self, func: PrimFunc, mode: str, seconds: list[float]) -> None:
        self.sch, self.desk = wb.Schedule(func), Desk()
        self.mode, self.seconds = mode, seconds
        page(self.sch, View(), self.desk)

    def __getattr__(self, name: str) -> Any:
        act = getattr(self.sch, name)
        if name not in REGISTRY:
            return act

        def click(*args: Any, **kwargs: Any) -> Any:
            begun = time.perf_counter()
            with collecting_later():
                result = act(*args, **kwargs)
                self.show()
                self.seconds.append(time.perf_counter() - begun)
            return result

        return click

    def show(self) -> None:
        """Make the page as the lab does."""
        place = next(iter(self.desk.places(self.sch.func)))
        made = page(self.sch, View(place=place), self.desk)
        if self.mode == "all panes":
            for pane in PROGRAM_PANES:
                made = page(self.sch, View(program=pane, place=place), self.desk, made)
            for pane in MACHINE_PANES:
                made = page(self.sch, View(machine=pane, place=place), self.desk, made)


def percentile_95(seconds: list[float]) -> float:
    """The wait that 19 of 20 clicks do not exceed."""
    return quantiles(seconds, n=20, method="inclusive")[-1]


def main() -> int:
    """Print the waits of all lessons; 1 where one is longer than it should be."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    late = False
    print(f"{'ms from a click to its page':<32}{'clicks':>7}{'median':>8}{'p95':>7}{'max':>7}")
    for lessons, reach in REACH.items():
        for mode, seconds in waits(rounds, lessons).items():
            late |= percentile_95(seconds) > reach
            numbers = (median(seconds), percentile_95(seconds), max(seconds))
            shown = "".join(f"{1e3 * s:>{w}.0f}" for s, w in zip(numbers, (8, 7, 7), strict=True))
            goal = f"  to reach: {1e3 * reach:.0f}"
            print(f"{lessons + ', ' + mode:<32}{len(seconds):>7}{shown}{goal}")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
