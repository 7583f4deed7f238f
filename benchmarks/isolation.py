"""Kernels that go wrong on purpose: each must end as an error, and the next launch must work."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import workbench as wb
from benchmarks.histories import vector_add
from benchmarks.vendor import nvidia_smi
from workbench.runtime import Built, DeviceError
from workbench.runtime.devices import WORKER
from workbench.runtime.job import Failed, Hello, Launch, Run
from workbench.runtime.worker import Worker

_HEAD = 'extern "C" __global__ void main_kernel(float* A, float* B, float* C) '
FAULTS = {
    "illegal address": _HEAD + "{ C[(1ll << 40) + threadIdx.x] = 1.0f; }",
    "misaligned address": _HEAD + "{ *(float4*)(C + 1) = make_float4(A[0], 1, 2, 3); }",
    "endless loop": _HEAD + "{ volatile float* stop = C; while (stop[0] != 12345.0f) {} }",
    "trap": _HEAD + '{ asm("trap;"); }',
    "no C++": _HEAD + "{ C[0] = ; }",
}
ENDLESS_SECONDS = 3.0


def faulty_kernels() -> list[dict[str, object]]:
    """Run each fault, then a right kernel; what was told and how long the way back took."""
    good = _bound_add()
    return [_one(name, replace(good, source=source), good) for name, source in FAULTS.items()]


def _bound_add() -> Built:
    sch = wb.Schedule(vector_add(8))
    outer, inner = sch.split("i", factors=[2, 4])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return wb.build(sch)


def _one(name: str, faulty: Built, good: Built) -> dict[str, object]:
    told, seconds = _timed(lambda: _told(faulty))
    works, back = _timed(lambda: _works(good))
    return {
        "fault": name,
        "told": told,
        "seconds_to_error": round(seconds, 2),
        "next_launch_right": works,
        "seconds_to_next_launch": round(back, 2),
    }


def _told(kernel: Built) -> str:
    arrays = [np.ones(8, "float32") for _ in range(3)]
    try:
        kernel(*arrays, seconds=ENDLESS_SECONDS)
    except DeviceError as error:
        return str(error)
    return "NOTHING WAS TOLD"


def _works(kernel: Built) -> bool:
    a, b = np.arange(8, dtype="float32"), np.full(8, 2, "float32")
    c = np.full(8, np.nan, "float32")
    kernel(a, b, c)
    return bool((c == a + b).all())


def _timed(work: Callable[[], object]) -> tuple[object, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def full_card() -> dict[str, object]:
    """Ask for more memory than the card has: told as such, and the worker lives on."""
    more = ((1 << 42, "uint8"),)
    launch = Launch("main_kernel", (1, 1, 1), (1, 1, 1), (0, 0, 1))
    job = Run(FAULTS["trap"], (launch,), (np.zeros(8, "float32"),), (0,), more)
    WORKER.ask(Hello(), 60)
    before = WORKER.pid
    reply = WORKER.ask(job, 60)
    what = reply.what if isinstance(reply, Failed) else "NOTHING WAS TOLD"
    return {"told": what, "same_worker": WORKER.pid == before}


def idle_worker() -> dict[str, object]:
    """Leave a worker idle: it must go, and the card's memory with it."""
    worker = Worker(idle_seconds=2)
    reply = worker.ask(Hello(), 60)
    used = nvidia_smi("memory.used")
    start = time.perf_counter()
    while worker.pid is not None and time.perf_counter() - start < 20:
        time.sleep(0.1)
    left = round(time.perf_counter() - start, 1)
    return {
        "worker": type(reply).__name__,
        "left_after_seconds": left if worker.pid is None else "STAYED",
        "memory_used_mib_before_and_after": [used, nvidia_smi("memory.used")],
    }
