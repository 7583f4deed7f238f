"""Kernels that go wrong on purpose: each must end as an error, and the next launch must work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from threading import Thread, Timer, main_thread

import numpy as np

import workbench as wb
from benchmarks.histories import vector_add
from benchmarks.steps import Results
from benchmarks.vendor import nvidia_smi
from workbench.runtime import Built, DeviceError
from workbench.runtime.devices import WORKER
from workbench.runtime.job import Hello, Launch, Run
from workbench.runtime.launching import ask
from workbench.runtime.worker import Worker

TIMES = 20
ENDLESS_SECONDS = 2.0
LATER = 1.0  # seconds until a kernel surely runs
_HEAD = 'extern "C" __global__ void main_kernel(float* A, float* B, float* C) '


def faults() -> list[Results]:
    """Each fault in a notebook of its own, all at once on one GPU, see `one_fault`."""
    command = [sys.executable, "-m", "benchmarks.isolation"]
    notebooks = {
        name: subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True)
        for name in FAULTS
    }
    rows: list[Results] = []
    for name, notebook in notebooks.items():
        said, _ = notebook.communicate()
        if notebook.returncode:
            rows.append({"fault": name, "reached": False, "told": "THE NOTEBOOK WAS LOST"})
        else:
            rows.append(json.loads(said.splitlines()[-1]))
    return rows


def one_fault(name: str) -> Results:
    """`TIMES` times: the fault, what is told of it, and a right kernel, which must be right."""
    wanted, act = FAULTS[name]
    good = _bound_add()
    told: Counter[str] = Counter()
    right, slowest = 0, 0.0
    assert _works(good), "it runs on the GPU before anything is wrong"
    for _ in range(TIMES):
        told[_told(act, good)] += 1
        start = time.perf_counter()
        right += _works(good)
        slowest = max(slowest, time.perf_counter() - start)
    expected = sum(count for text, count in told.items() if wanted in text)
    return {
        "fault": name,
        "told": dict(told),
        "told as it should be": f"{expected} of {TIMES}",
        "next kernel right": f"{right} of {TIMES}",
        "reached": expected == right == TIMES,
        "most seconds to the next result": round(slowest, 2),
    }


def _bound_add() -> Built:
    sch = wb.Schedule(vector_add(8))
    outer, inner = sch.split("i", factors=[2, 4])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return wb.build(sch)


def _told(act: Callable[[Built], None], good: Built) -> str:
    try:
        act(good)
    except (DeviceError, KeyboardInterrupt) as error:
        return getattr(error, "headline", "KeyboardInterrupt")
    return "NOTHING WAS TOLD"


def _works(kernel: Built) -> bool:
    a, b = np.arange(8, dtype="float32"), np.full(8, 2, "float32")
    c = np.full(8, np.nan, "float32")
    kernel(a, b, c)
    return bool((c == a + b).all())


def _runs(body: str, seconds: float = 20.0) -> Callable[[Built], None]:
    """Run a kernel of that body in the place of the good one."""

    def act(good: Built) -> None:
        arrays = [np.ones(8, "float32") for _ in range(3)]
        replace(good, source=_HEAD + body)(*arrays, seconds=seconds)

    return act


def _endless(good: Built) -> None:
    _runs(_ENDLESS, ENDLESS_SECONDS)(good)


def _out_of_memory(good: Built) -> None:
    """A kernel whose array between two kernels is larger than any card."""
    launch = Launch("main_kernel", (1, 1, 1), (4, 1, 1), (0, 0, 0))
    array = np.zeros(8, "float32")
    job = Run(good.source, (launch,), (array,), (0,), ((1 << 42, "uint8"),))
    ask("main_kernel", good.device.which, job, 20, None)


def _killed(good: Built) -> None:
    """Whose worker is killed from outside while it works."""

    def kill() -> None:
        while WORKER.pid is None:
            time.sleep(0.01)
        time.sleep(LATER)
        os.kill(WORKER.pid, signal.SIGKILL)

    Thread(target=kill).start()
    _runs(_ENDLESS)(good)


def _no_driver(good: Built) -> None:
    """A new worker that finds no GPU any more, as where a driver was updated or fell over."""
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    WORKER.stop()
    try:
        _works(good)
    finally:
        del os.environ["CUDA_VISIBLE_DEVICES"]
        if before is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = before


def _stopped(good: Built) -> None:
    """The stop button of a notebook, in the middle of an endless kernel."""
    button = Timer(LATER, signal.pthread_kill, [main_thread().ident, signal.SIGINT])
    button.start()
    _runs(_ENDLESS)(good)


_ENDLESS = "{ volatile float* stop = C; while (stop[0] != 12345.0f) {} }"
# name -> what must be told of it, and how it comes about
FAULTS: dict[str, tuple[str, Callable[[Built], None]]] = {
    "illegal address": (
        "read or wrote outside its arrays",
        _runs("{ C[(1ll << 40) + threadIdx.x] = 1.0f; }"),
    ),
    "misaligned address": (
        "not aligned to its width",
        _runs("{ *(float4*)(C + 1) = make_float4(A[0], 1, 2, 3); }"),
    ),
    "endless loop": ("no answer in", _endless),
    "out of memory": ("memory is full", _out_of_memory),
    "worker killed": ("the GPU worker crashed", _killed),
    "driver gone": ("CUDA finds no GPU", _no_driver),
    "stop button": ("KeyboardInterrupt", _stopped),
    "trap": ("the GPU gave it up", _runs('{ asm("trap;"); }')),
    "no C++": ("does not accept its text", _runs("{ C[0] = ; }")),
}


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


if __name__ == "__main__":
    print(json.dumps(one_fault(sys.argv[1])))
