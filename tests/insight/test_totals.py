"""What memory is asked for as written and as compiled: ranges by hand, and what a GPU counted."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from benchmarks.histories import window_branches, window_sum
from benchmarks.matmuls import blocking, blocking_with_shared, matmul
from benchmarks.steps import steps
from benchmarks.worse import copies
from workbench import insight, script, target
from workbench.insight import Total, recorded
from workbench.ir import Kernel, PrimFunc
from workbench.lower import lower

SUM = """
@T.prim_func
def main(A: T.Buffer((1024,), "float32"), C: T.Buffer((1024,), "float32")):
    for i in T.thread_binding({threads}, thread="threadIdx.x"):
        for k in range(8):
            C[i] = C[i] + A[{cell}]
"""
STAGED = """
@T.prim_func
def main(A: T.Buffer((1024,), "float32"), C: T.Buffer((1024,), "float32")):
    S = T.alloc_buffer(({threads} * 8,), scope="shared")
    for i in T.thread_binding({threads}, thread="threadIdx.x"):
        for n in range(2):
            for k in range(8):
                S[k * {threads} + i] = A[n * 512 + k * {threads} + i]
            for k in range(8):
                C[n * 512 + k * {threads} + i] = S[{cell}]
"""

RENEW = "run benchmarks/gpu.py counters on a GPU and install its counted.json"


def kernel(text: str, **words: Any) -> Kernel:
    return lower(script.parse(text.format(**words)), target.get("cuda")).kernels[0]


def total(kernels: list[Kernel], scope: str, access: str, unit: str) -> Total:
    found = insight.totals(kernels).totals
    return next(t for t in found if (t.scope, t.access, t.unit) == (scope, access, unit))


@pytest.fixture
def nothing_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "_all", dict)


def test_what_an_h200_counts_of_kernels_as_they_are_written():
    """Nothing to keep or join in these, but of one: there four halves come at once."""
    for step in (step for step in copies() if step.label != "worse, fp16, apart"):
        assert step.built is not None
        found = insight.totals(step.built.kernels)
        assert found.kind == "recorded" and found.totals, RENEW
        for t in (t for t in found.totals if t.recorded is not None):
            assert t.recorded == pytest.approx(t.written, rel=0.02), (step.label, t)


@pytest.mark.filterwarnings("ignore::workbench.ScheduleWarning")
def test_ranges_hold_what_an_h200_counts_of_a_lesson(monkeypatch: pytest.MonkeyPatch):
    """Windows that lie over each other in a thread, tails that are guarded, shared memory."""
    kernels = [
        kernel
        for step in steps([("window sum", window_branches(window_sum(1024), (64, 128)))])
        if step.built
        for kernel in step.built.kernels
    ]
    counted = [recorded.counted(kernel) for kernel in kernels]
    assert None not in counted and len(kernels) == 10, RENEW
    monkeypatch.setattr(recorded, "_all", dict)
    for kernel, known in zip(kernels, counted, strict=True):
        assert known is not None
        for t in insight.totals([kernel]).totals:
            word = {"read": "load", "write": "store"}[t.access]
            number = known.numbers[f"{t.scope} {word} {t.unit}"]
            assert number is None or t.low <= number <= t.high, t


SUMS = [
    # 4 lanes, the same cell in each of 8 turns: read once. C: its sum may stay in a register
    (4, "i", (16, 1, 2, 9), (8, 1, 1, 8)),
    # 16 lanes, 64 bytes, another 64 in each turn: 8 turns of 2 sectors of A
    (16, "k * 16 + i", (32, 16, 18, 32), (16, 2, 2, 16)),
    # 32 lanes, all the same 8 numbers, one a turn: each is asked for
    (32, "k", (40, 8, 12, 40), (32, 4, 4, 32)),
]


@pytest.mark.usefixtures("nothing_recorded")
@pytest.mark.parametrize("threads, cell, read, written", SUMS)
def test_sums_in_global_memory(threads: int, cell: str, read: Any, written: Any):
    """Sectors as written, of which 8 turns of C; then as compiled: from, most likely, to.

    Most likely its 8 turns are written out, so that C is loaded ahead of them and stored behind.
    """
    kernels = [kernel(SUM, threads=threads, cell=cell)]
    found = total(kernels, "global", "read", "sectors")
    assert (found.written, found.low, found.likely, found.high) == read
    found = total(kernels, "global", "write", "sectors")
    assert (found.written, found.low, found.likely, found.high) == written


COPIES = [
    # 4 lanes: 2 x 8 turns, words 4 apart from turn to turn, and others may write them meanwhile
    (4, "k * 4 + 3 - i", (16, 16, 16, 16)),
    # 8 lanes, their own 8 words side by side: words 0 8 16 … are of 4 banks, two of each; vectors
    (8, "i * 8 + k", (32, 8, 8, 32)),
    # 16 lanes ask for one word that does not change from turn to turn: once in each of n
    (16, "i // 16", (16, 2, 2, 2)),
]


@pytest.mark.usefixtures("nothing_recorded")
@pytest.mark.parametrize("threads, cell, counted", COPIES)
def test_reads_of_shared_memory(threads: int, cell: str, counted: Any):
    """Wavefronts as written; then as compiled: from, most likely, to."""
    found = total([kernel(STAGED, threads=threads, cell=cell)], "shared", "read", "wavefronts")
    assert (found.written, found.low, found.likely, found.high) == counted


def tutorial(steps_of: Any, depth: int) -> list[Kernel]:
    sch = steps_of(wb.Schedule(matmul(1024)), 8, 8, 8, 8, depth)
    return list(lower(sch.func, target.get("cuda")).kernels)


@pytest.mark.usefixtures("nothing_recorded")
def test_ranges_hold_what_an_h200_counts():
    """Of the course's two products, whose loads nvcc keeps, and joins in fours."""
    local = total(tutorial(blocking, 4), "global", "read", "sectors")
    assert local.low == local.high == 50_331_648 and local.written == 8 * local.high
    assert local.words == "as written 403 M; a compiler issues 50.3 M"
    shared = total(tutorial(blocking_with_shared, 8), "shared", "read", "wavefronts")
    assert shared.low <= 25_193_626 <= 1.002 * shared.high
    requests = total(tutorial(blocking_with_shared, 8), "shared", "read", "requests")
    assert requests.low <= requests.likely == 5_242_880 <= requests.high == 8_388_608
    assert requests.words == (
        "as written 67.1 M; a compiler issues 2.1 M to 8.39 M, most likely 5.24 M"
    )


RECORDED = """
{"device": "NVIDIA H200", "arch": "sm_90", "compiler": "NVRTC 13.0", "date": "2026-11-26",
 "counters": ["global load requests", "global load sectors",
              "global store requests", "global store sectors"],
 "kernels": {"%s": [24, 8, 9, 1, 2]}}
"""


def test_what_was_recorded_is_told_with_its_source(monkeypatch: pytest.MonkeyPatch):
    one, other = (kernel(SUM, threads=16, cell=cell) for cell in ("i", "k"))
    known = recorded.parse(RECORDED % recorded.kernel_key(one))
    monkeypatch.setattr(recorded, "_all", lambda: known)
    found = insight.totals([one])
    assert found.kind == "recorded"
    assert found.caption == (
        "Global reads, in sectors: as written 32; NVRTC 13.0 issues 9 (recorded 2026-11-26, NVIDIA "
        "H200). Global writes, in sectors: as written 16; NVRTC 13.0 issues 2 (recorded "
        "2026-11-26, NVIDIA H200)."
    )
    both = insight.totals([one, other])
    assert both.kind == "counted", "of one of them nobody knows"
    assert [t.recorded for t in found.totals] == [8, 9, 1, 2]
    assert [t.recorded for t in both.totals] == [None] * 4


def test_recorded_registers_hold_on_the_same_architecture(monkeypatch: pytest.MonkeyPatch):
    func = script.parse(SUM.format(threads=256, cell="i"))
    assert isinstance(func, PrimFunc)
    one = lower(func, target.get("cuda")).kernels[0]
    before = insight.occupancy(one, target.get("nvidia/h100"))
    assert before is not None and before.room == (1, 8)
    known = recorded.parse(RECORDED % recorded.kernel_key(one))
    monkeypatch.setattr(recorded, "_all", lambda: known)
    found = insight.occupancy(one, target.get("nvidia/h100"))
    assert found is not None and found.registers == (24, 24)
    assert found.caption.endswith(
        "A thread has 24 registers (NVRTC 13.0, recorded 2026-11-26, NVIDIA H200)."
    )
    older = insight.occupancy(one, target.get("nvidia/tesla-t4"))
    assert older is not None and older.registers == (1, 255)
    given = insight.occupancy(one, target.get("nvidia/h100"), 32)
    assert given is not None and given.registers == (32, 32)
