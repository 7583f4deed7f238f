"""The warps of a block: against a trace of every thread, and their times by hand."""

from __future__ import annotations

import json

import pytest

import workbench as wb
from benchmarks.matmuls import matmul
from tests.insight.test_issued import kernels, wide_kernel
from tests.support.block_trace import check_block_time
from tests.support.cases import seeds
from tests.support.gpu_programs import block_matmul, blocked_matmul
from tests.support.random_kernels import random_kernel
from workbench import target
from workbench.insight.block_time import block_time
from workbench.insight.track import Track
from workbench.insight.warp_time import warp_time
from workbench.lower import lower


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds())
def test_random_kernels(seed: int):
    check_block_time(random_kernel(seed))
    check_block_time(wide_kernel(seed))


def test_a_fetch_in_vectors_and_a_product_in_registers():
    sch = wb.Schedule(matmul(8))
    block_matmul(sch, sch.get_block("C"), True, local=2, threads=2, depth=4)
    for kernel in lower(sch.func, target.get("cuda")).kernels:
        # of each of 16 threads two turns: two fetches and 4 x 4 sums of two values; 2 x 2 stores
        assert check_block_time(kernel) == 16 * (2 * (2 * 2 + 4 * 4 * 2 + 2) + 4)


FETCH = """
@T.prim_func
def main(A: T.Buffer((2, 4, 32), "float32"), C: T.Buffer((2, 64), "float32")):
    S = T.alloc_buffer((32,), scope="shared")
    L = T.alloc_buffer((1,), scope="local")
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            L[0] = T.float32(0)
            for k in range(4):
                if t < 32:
                    S[t] = A[b, k, t]
                L[0] = L[0] + S[t * 16 % 32]
            C[b, t] = L[0]
"""


def seen(track: Track, row: int, until: float) -> list[tuple[float, float, str]]:
    """What is in a row up to a time, in order: from when to when, and what it is called."""
    every = (track.span(spans, k) for spans in track.spans for k in range(spans.count))
    mine = sorted(s for s in ((s.start, s.end, s.sort, s.row) for s in every) if s[3] == row)
    return [(a, b, track.sorts[n].label or "waits") for a, b, n, _ in mine if a < until]


def test_one_warp_fetches_and_the_other_waits():
    """All loads are of a word each in a bank of its own, and a barrier takes 20 clocks."""
    (kernel,) = kernels(FETCH)
    time = block_time(kernel)
    check_block_time(kernel)
    first = [(0, 1, "L"), (1, 21, "waits"), (21, 23, "S"), (23, 43, "waits"), (43, 45, "L")]
    second = [(0, 1, "L"), (1, 21, "waits"), (21, 43, "waits"), (43, 45, "L")]
    assert seen(time.warps, 0, 44) == first and seen(time.warps, 1, 44) == second
    assert time.warps.length == 1 + 4 * (20 + 2 + 20 + 2) + 1
    assert time.warps.told(22) == (
        "modelled 22 clocks: 1 of 2 warps in S, k = 0, 1 of 2 warps at barrier 2 of 8"
    )
    assert time.warps.told(88) == "modelled 88 clocks: 2 of 2 warps in L, k = 1"
    assert time.warps.told(0.5) == "modelled 0.5 clocks: 2 of 2 warps in L"


def test_a_request_is_as_many_spans_as_wavefronts():
    (kernel,) = lower(blocked_matmul(), target.get("cuda")).kernels
    time = warp_time(block_time(kernel), 0)
    plain = [time.track.plain(), [one and one.plain() for one in time.asked]]
    assert len(json.dumps(plain)) < 1 << 13
    assert time.track.names == ("A", "A_shared", "B", "B_shared", "C", "computes", "waits")
    turn = ", k_0 = 1, k_1 = 2, i_2 = 3, j_2 = 0"
    start = 88 + 840 + 2 * 96 + 3 * 24  # of the update, and its turns
    told = [time.track.told(start + k).partition(": ")[2] for k in range(6)]
    assert told == [
        *(f"reads A_shared, wavefront {k + 1} of 4{turn}" for k in range(4)),
        f"reads B_shared{turn}",
        f"computes C_local{turn}",
    ]
    roles = [next(iter(time.track.running(start + k))).sort for k in range(4)]
    assert [time.track.sorts[sort].roles for sort in roles] == [("time",), *[("beyond",)] * 3]
    issue, span = time.request_at(start + 5.5) or (None, None)  # B_shared, the last one before
    assert issue and span and (issue.access.buffer.name, span.start) == ("B_shared", start + 4)
    assert time.track.opens == 88  # A_shared takes most beyond need
    with pytest.raises(ValueError, match=r"^warp runs from 0 to 0, not to 3; choose one of these"):
        warp_time(block_time(kernel), 3)
