"""Times of programs for the lab: measured on a device, else recorded; never the emulator's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from workbench import draw, insight, runtime, script
from workbench.diag import Fail
from workbench.insight import Table
from workbench.ir import Block, PrimFunc, structural_equal, walk
from workbench.runtime import Built, Timing, recorded, vendor
from workbench.runtime.timing import in_digits
from workbench.script.writer import string
from workbench.target import of_device

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
COLUMNS = ("what", "time", "half of the samples", "of the roof", "how")
Row = tuple[str, str, str, str, str]


def times(built: Built, start: PrimFunc, arrays: Arrays) -> dict[str, Any]:
    """How long `built` takes, beside the vendor's library and the roof, as plain data.

    On a GPU or a CPU it is measured now, beside what was recorded of GPUs. `table` is "" where no
    time is known:
    then `notes` says so; `brief` is the first time in a sentence. `start` is the program of the
    history's beginning, which says what job is done: the vendor's library stands there where it
    does the same one.
    """
    known = list(recorded.times(built.func))
    notes: list[str] = []
    if built.device.measures:
        try:
            known.insert(0, built.time(*arrays, seconds=SECONDS))
        except Fail as fail:
            notes.append(fail.headline)
    if not known:
        return {"table": "", "brief": "", "notes": notes or [no_time(built)]}
    rows = [_row("this program", timing, roof(built, timing.device)) for timing in known]
    library, failed = _vendor(start, arrays, {timing.device for timing in known}, built)
    rows += [_row("cuBLAS, the vendor's", timing, roof(built, timing.device)) for timing in library]
    for device in dict.fromkeys(timing.device for timing in known):
        least = roof(built, device)
        if least is not None:
            how = "modelled from the data sheet: the work at its peak, each byte moved once"
            rows.append((f"the roof of {device}", micro(least), "", "", how))
    notes += [
        f"The samples on {t.device} did not settle: compare with care."
        for t in known
        if not t.steady
    ]
    first = known[0]
    brief = f"{first.kind.capitalize()} on {first.device}: {micro(first.median)}"
    if first.median < LAUNCH and not built.target.is_cpu:
        brief += ", mostly launch"
        notes.append(SHORT)
    table = draw.table_html(Table(COLUMNS, tuple(rows)))
    return {"table": table, "brief": f"{brief}.", "notes": notes + failed}


def no_time(built: Built) -> str:
    """Why there is no time of a program."""
    return f"No time is shown: {built.device.why}, and none was recorded for this program."


def time_both(
    a: Built, b: Built, arrays: Arrays, progress: Callable[[int, int], None], titles: Sequence[str]
) -> dict[str, Any]:
    """The ratio of two programs' times on one device: rounds, first `a`, then `b` in each.

    Raises DeviceError where the device fails.
    """
    rounds = []
    for done in range(ROUNDS):
        progress(done, ROUNDS)
        rounds.append((a.time(*arrays, seconds=SECONDS), b.time(*arrays, seconds=SECONDS)))
    ratios = sorted(second.median / first.median for first, second in rounds)
    least, most, device = ratios[0], ratios[-1], rounds[0][0].device
    middle = median(ratios)
    words = (
        f"{titles[1]} takes {middle:.3g} times as long as {titles[0]} on {device}: measured in one "
        f"run, {ROUNDS} times by turns, ratios from {least:.3g} to {most:.3g}."
    )
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
    start: PrimFunc, arrays: Arrays, devices: set[str], built: Built
) -> tuple[list[Timing], list[str]]:
    """Times of cuBLAS on the same matrices and devices, where it does this job; what failed."""
    if not is_matmul(start):
        return [], []
    a, b = arrays[:2]
    if not built.device.is_gpu:
        known = recorded.vendor_times(recorded.vendor_key("matmul", a.shape, b.shape))
        return [timing for timing in known if timing.device in devices], []
    try:
        return [vendor.time_matmul(a, b)], []
    except runtime.DeviceError as error:
        return [], [error.headline]


def is_matmul(func: PrimFunc) -> bool:
    """Whether `func` is C = A B in float32, written as one block that sums products."""
    blocks = [node for node in walk(func.root.body) if isinstance(node, Block)]
    if len(blocks) != 1 or len(func.params) != 3 or len(func.params[0].shape) != 2:
        return False
    if len(func.params[2].shape) != 2:
        return False
    (m, k), (_, n) = func.params[0].shape, func.params[2].shape
    same = script.parse(MATMUL.format(m=m, n=n, k=k, name=string(blocks[0].name)))
    return isinstance(same, PrimFunc) and structural_equal(
        replace(func, name="main", attrs=()), replace(same, attrs=())
    )


MATMUL = """
@T.prim_func
def main(
    A: T.Buffer(({m}, {k}), "float32"),
    B: T.Buffer(({k}, {n}), "float32"),
    C: T.Buffer(({m}, {n}), "float32"),
):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.block({name}):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
