"""Times of programs for the lab: measured on a device, else recorded; never the emulator's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from workbench import draw, insight, runtime
from workbench.diag import Fail
from workbench.insight import Table
from workbench.ir import PrimFunc
from workbench.runtime import Built, Timing, recorded
from workbench.runtime.timing import in_digits
from workbench.target import of_device
from workbench.widgets.page.memo import launching_of, origin_of
from workbench.widgets.run.libraries import library

Arrays = Sequence[np.ndarray[Any, Any]]
ROUNDS = 5  # of a comparison: each round times both programs, one after the other
# On an H200 sums of 8 and of 1,024 numbers take 0.8 to 1.1 µs alike, as recorded.
LAUNCH = 2e-6  # seconds
SLOW = 10e-3  # seconds: a time that takes longer is told in ms
SECONDS = 60.0  # of one request of the worker: plain loops take seconds on a CPU
SHORT = (
    "Times under 2 µs are mostly those of launching a kernel, however little it does: what one "
    "schedule saves over another shows in larger programs."
)
NEVER: Mapping[str, Any] = {"us": None, "gpu": ""}  # of what was not measured, and on which GPU
COLUMNS = ("what", "time", "the middle half of the samples", "of the roof", "how")
Row = tuple[str, str, str, str, str]


def times(
    built: Built,
    start: PrimFunc,
    arrays: Arrays,
    waits: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """How long `built` takes, beside the vendor's library and the roof, as plain data.

    On a GPU or a CPU it is measured now, beside what was recorded of GPUs. `table` is "" where no
    time is known:
    then `notes` says so; `brief` is the first time in a sentence. `start` is the program of the
    history's beginning, which says what job is done: the vendor's library stands there where it
    does the same one. `waits` is as in `Built.time`; `us` is what was measured, on a GPU of the
    kind that is modelled, else None.
    """
    whole = origin_of(built.func) is built.func  # what is for any size was not recorded
    known = list(recorded.times(built.func)) if whole else []
    notes: list[str] = []
    if built.device.measures:
        try:
            known.insert(0, launching_of(built).time(*arrays, seconds=SECONDS, waits=waits))
        except Fail as fail:
            notes.append(fail.headline)
    if not known:
        return {"table": "", "brief": "", "notes": notes or [no_time(built)], **NEVER}
    rows = [_row("this program", timing, roof(built, timing.device)) for timing in known]
    devices = {timing.device for timing in known}
    name, beside, failed = _vendor(start, arrays, devices, built, waits)
    rows += [_row(f"{name}, the vendor's", t, roof(built, t.device)) for t in beside]
    for device in dict.fromkeys(timing.device for timing in known):
        least = roof(built, device)
        if least is not None:
            how = "modelled from the data sheet: the work at its peak, each byte moved once"
            rows.append((f"the roof of {device}", micro(least), "", "", how))
    notes += dict.fromkeys(doubt for timing in known for doubt in timing.doubts)
    first = known[0]
    brief = f"{first.kind.capitalize()} on {first.device}: {micro(first.median)}"
    if first.median < LAUNCH and not built.target.is_cpu:
        brief += ", mostly launch: too little work to compare"
        notes.append(SHORT)
    table = draw.table_html(Table(COLUMNS, tuple(rows)))
    measured = {"us": first.median * 1e6, "gpu": of_device(first.device).name}
    taken = measured if first.kind == "measured" else NEVER
    return {"table": table, "brief": f"{brief}.", "notes": notes + failed, **taken}


def no_time(built: Built) -> str:
    """Why there is no time of a program."""
    return f"No time is shown: {built.device.why}, and none was recorded for this program."


def time_both(
    a: Built,
    b: Built,
    arrays: Arrays,
    progress: Callable[[int, int], None],
    titles: Sequence[str],
    waits: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """The ratio of two programs' times on one device: rounds, first `a`, then `b` in each.

    Raises DeviceError where the device fails.
    """
    rounds = []
    for done in range(ROUNDS):
        progress(done, ROUNDS)
        rounds.append([one.time(*arrays, seconds=SECONDS, waits=waits) for one in (a, b)])
    ratios = sorted(second.median / first.median for first, second in rounds)
    least, most, device = ratios[0], ratios[-1], rounds[0][0].device
    middle = median(ratios)
    words = (
        f"{titles[1]} takes {middle:.3g} times as long as {titles[0]} on {device}: measured in one "
        f"run, {ROUNDS} times by turns, ratios from {least:.3g} to {most:.3g}."
    )
    notes = dict.fromkeys(note for pair in rounds for timing in pair for note in timing.notes)
    words = " ".join([words, *notes])
    rows = []
    for title, taken in zip(titles, zip(*rounds, strict=True), strict=True):
        medians = [timing.median for timing in taken]
        spread = f"{micro(min(medians))} … {micro(max(medians))}"
        rows.append((title, micro(median(medians)), spread, taken[0].how))
    table = Table(("measured", "time", "from round to round", "how"), tuple(rows))
    return {"text": words, "table": draw.table_html(table)}


def roof(built: Built, device: str) -> float | None:
    """The least seconds that the data sheet of `device` allows for the work; None without one.

    Every byte of the parameters is moved once, whatever the program loads again.
    """
    roofs = insight.roofline(built.kernels, of_device(device))
    return None if roofs is None else roofs.least_seconds


def micro(seconds: float) -> str:
    """Seconds as one reads a kernel's time: 12.30 µs; no clock tells what is under a nanosecond."""
    if seconds >= SLOW:
        return f"{in_digits(seconds * 1e3)} ms" if seconds < 10 else f"{in_digits(seconds)} s"
    return f"{in_digits(seconds * 1e6)} µs" if seconds >= 1e-9 else "under 0.001 µs"


def _row(what: str, timing: Timing, least: float | None) -> Row:
    low, high = timing.spread
    part = least / timing.median if least else 0.0
    share = "" if not least else f"{part:.0%}" if part >= 0.01 else "under 1%"
    how = f"{_where(timing)}: {timing.how}; {timing.clocks}"
    return what, micro(timing.median), f"{micro(low)} … {micro(high)}", share, how


def _where(timing: Timing) -> str:
    """The kind of a time, its device, and of one that was recorded the day."""
    when = f", {timing.date}" if timing.kind == "recorded" else ""
    return f"{timing.kind} on {timing.device}{when}"


def _vendor(
    start: PrimFunc,
    arrays: Arrays,
    devices: set[str],
    built: Built,
    waits: Callable[[int], None] | None,
) -> tuple[str, list[Timing], list[str]]:
    """The name and times of the library that does this job on the same devices; what failed."""
    found = library(start, arrays)
    if found is None:
        return "", [], []
    if not built.device.is_gpu:
        known = recorded.vendor_times(found.key)
        return found.name, [timing for timing in known if timing.device in devices], []
    try:
        return found.name, [found.time(waits=waits)], []
    except runtime.DeviceError as error:
        return found.name, [], [error.headline]
