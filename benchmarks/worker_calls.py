"""Calls from three threads at once through one GPU worker: ``python -m benchmarks.worker_calls``.

The GPU is the tests' fake one, so that what is measured is the way there and back.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from workbench.runtime.job import Ran, Run
from workbench.runtime.worker import Worker

FAKE = Path(__file__).parents[1] / "tests" / "runtime" / "fake_gpu.py"
THREADS = 3
CALLS = {8: 100_000, 500_000: 1_000}  # by the number of float64 in the array: 64 bytes and 4 MB


def call_at_once(worker: Worker, threads: int, calls: int, size: int) -> Counter[str]:
    """How often `calls` of each thread, no two with the same array, had the right answer."""

    def one_thread(thread: int) -> Counter[str]:
        return Counter(_call(worker, np.arange(size) + 0.5 * thread + k) for k in range(calls))

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(one_thread, range(threads)), Counter())


def _call(worker: Worker, array: np.ndarray) -> str:
    try:
        reply = worker.ask(Run("double", (), (array,), (0,)), 20)
    except Exception as error:
        return type(error).__name__
    right = isinstance(reply, Ran) and np.array_equal(reply.outputs[0], 2 * array)
    return "right" if right else "WRONG"


def main() -> int:
    """Make all calls and tell what came; 1 where any was not right."""
    worker = Worker([sys.executable, str(FAKE)])
    wrong = 0
    for size, calls in CALLS.items():
        start = time.perf_counter()
        found = call_at_once(worker, THREADS, -(-calls // THREADS), size)
        seconds = time.perf_counter() - start
        print(f"{found.total()} calls of {8 * size} bytes, {seconds:.0f} s: {dict(found)}")
        wrong += found.total() - found["right"]
    worker.stop()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
