"""What the modelled time is held against: drawn schedules, and faults mended, timed on the GPU."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from statistics import median
from typing import Any

import workbench as wb
from benchmarks.beside import Text, compiled, launched, our_text
from benchmarks.drawn import DRAWERS, EACH, SLOW, drawn
from benchmarks.steps import Results
from workbench.ir import Buffer, PrimFunc
from workbench.runtime import recorded
from workbench.runtime.events import between_events, graph_sample, runs_per_sample

SAMPLES, FEWER = 7, 3  # of a time, and of one that takes long
LONG = 0.05  # seconds of a run
WARM = 0.02  # seconds of runs ahead of the first sample


@dataclass(frozen=True)
class Case:
    """A schedule that is timed: what it is called, its steps, and its kernel, compiled."""

    name: str
    program: str
    steps: str
    text: Text
    arrays: tuple[tuple[str, tuple[int, ...]], ...]
    registers: int
    spilled: int


def measure() -> Results:
    """Times of the drawn schedules by family, and of the slow ones with each of their mendings."""
    rows: Results = {family: [] for family in DRAWERS} | {"slow": []}
    with get_context("spawn").Pool(os.cpu_count()) as pool:
        for family in DRAWERS:
            rows[family] = [timed(case) for case in _different(pool, family)]
        for case in pool.imap(slow_case, slow_names()):
            rows["slow"].append(timed(case))
    return rows


def _different(pool: Any, family: str) -> Iterator[Case]:
    """The first schedules of a family that differ, in the order of their numbers."""
    seen: set[str] = set()
    for case in pool.imap(partial(drawn_case, family), range(4 * EACH)):
        if case.program not in seen:
            seen.add(case.program)
            yield case
        if len(seen) == EACH:
            return


def drawn_case(family: str, number: int) -> Case:
    """Schedule `number` of a family, compiled."""
    told, sch = drawn(family, number)
    return case_of(f"{family} {number}: {told}", sch)


def slow_names() -> list[tuple[str, str]]:
    """Each slow schedule as it is, then with one thing mended."""
    return [(name, what) for name, (_, mended) in SLOW.items() for what in ("as it is", *mended)]


def slow_schedule(name: str, what: str) -> wb.Schedule:
    """One of `slow_names`."""
    slow, mended = SLOW[name]
    return (slow if what == "as it is" else mended[what])()


def slow_case(asked: tuple[str, str]) -> Case:
    """One of `slow_names`, compiled."""
    return case_of(": ".join(asked), slow_schedule(*asked))


def case_of(name: str, sch: wb.Schedule) -> Case:
    """A schedule, compiled here: CuPy keeps what it has compiled for all processes."""
    func = sch.func
    assert isinstance(func, PrimFunc)
    text = our_text(wb.build(sch))
    function = compiled(text)
    arrays = tuple((buffer.name, _numbers(buffer)) for buffer in func.params)
    return Case(
        name,
        recorded.program_key(func),
        sch.trace.as_python(),
        text,
        arrays,
        function.num_regs,
        function.local_size_bytes,
    )


def _numbers(buffer: Buffer) -> tuple[int, ...]:
    assert all(isinstance(size, int) for size in buffer.shape)
    return buffer.shape  # type: ignore[return-value]  # as asserted


def timed(case: Case) -> Results:
    """The median of samples of a graph of runs, with what it took of a thread's registers."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    names = tuple(name for name, _ in case.arrays)
    given = [_values(name, shape) for name, shape in case.arrays]
    run = launched(compiled(case.text), case.text, names, given)
    with stream:
        once = between_events(stream, run)
        if once < LONG:
            for _ in range(int(WARM / once) if once > WARM / 1000 else 1000):
                run()
            once = between_events(stream, run)
        take: Callable[[], float] = graph_sample(stream, run, runs_per_sample(once))
        samples = [take() for _ in range(SAMPLES if once < LONG else FEWER)]
    row = asdict(case) | {"samples": samples, "seconds": median(samples)}
    del row["text"]["source"]
    return row


_KEPT: dict[tuple[str, tuple[int, ...]], Any] = {}


def _values(name: str, shape: tuple[int, ...]) -> Any:
    """The same arrays for all that have them of this name and shape."""
    import cupy

    if (name, shape) not in _KEPT:
        _KEPT[name, shape] = cupy.random.random(shape, dtype="float32")
    return _KEPT[name, shape]
