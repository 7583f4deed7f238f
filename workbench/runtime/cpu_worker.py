"""The worker process of a CPU: programs are compiled, run and timed apart from the notebook."""

from __future__ import annotations

import ctypes
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from workbench.runtime.compiler import compiler
from workbench.runtime.job import Failed, Gpu, Ran, Run, Time, Timed, TimeLibrary
from workbench.runtime.sampling import sample_until_steady
from workbench.runtime.serve import Tell, serve

_SIZES = {"int32": ctypes.c_int32, "int64": ctypes.c_int64}
_LINE = 64  # bytes of a cache line, and of the widest vector
_LEAST_SECONDS = 1e-3  # of one sample: a clock tells it, and a turn of another program is longer
_MOST_RUNS = 10_000
_WARM_UP_SECONDS = 0.05
_CACHE_BYTES = 64 << 20  # more than the last cache of most CPUs
_SUFFIX = ".dll" if sys.platform == "win32" else ".so"


class CpuBackend:
    """Compiles a text once, and keeps it loaded."""

    def __init__(self) -> None:
        _keep_memory()
        self._libraries: dict[str, ctypes.CDLL] = {}

    def hello(self) -> Gpu | Failed:
        """No GPU: who is asked for one says so."""
        return Failed("no device", "this worker runs programs on the CPU")

    def run(self, job: Run, tell: Tell) -> Ran | Failed:
        """Run once, and send back the outputs."""
        launch = self._launcher(job)
        if isinstance(launch, Failed):
            return launch
        function, arrays = launch
        function()
        return Ran(tuple(arrays[k] for k in job.outputs))

    def time(self, job: Time, tell: Tell) -> Timed | Failed:
        """Warm up, and sample until the spread is small."""
        launch = self._launcher(job.run)
        if isinstance(launch, Failed):
            return launch
        function, _ = launch
        count = 1 if job.flush else _runs_per_sample(_warm(function))
        filler = np.zeros(_CACHE_BYTES, "uint8") if job.flush else None

        def sample() -> float:
            if filler is not None:
                filler[...] += 1
            return _seconds(function, count) / count

        samples, steady = sample_until_steady(
            sample, spread=job.spread, most=job.samples, seconds=job.seconds
        )
        caches = "emptied before it" if job.flush else "warm"
        runs = "one run" if count == 1 else f"{count} runs in a row"
        how = f"the clock around {runs}, the caches {caches}"
        return Timed(tuple(samples), count, how, "", steady)

    def time_library(self, job: TimeLibrary, tell: Tell) -> Timed | Failed:
        """No library of a vendor's is asked here."""
        return Failed("no cublas", "this worker runs programs on the CPU")

    def _launcher(self, job: Run) -> tuple[Callable[[], object], list[Any]] | Failed:
        library = self._library(job.source)
        if isinstance(library, Failed):
            return library
        arrays = [_aligned(array) for array in job.arrays]
        (launch,) = job.launches
        pointers: list[Any] = [ctypes.c_void_p(arrays[k].ctypes.data) for k in launch.arguments]
        pointers += [_SIZES[dtype](value) for value, dtype in launch.sizes]
        function = library[launch.kernel]
        function.restype = None
        return lambda: function(*pointers), arrays

    def _library(self, source: str) -> ctypes.CDLL | Failed:
        if source not in self._libraries:
            made = _compiled(source)
            if isinstance(made, Failed):
                return made
            self._libraries[source] = made
        return self._libraries[source]


def _compiled(source: str) -> ctypes.CDLL | Failed:
    found = compiler()
    if found is None:
        return Failed("no c compiler", "cc, gcc, clang and ziglang were looked for")
    # Windows does not delete a library that is loaded
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        text, library = Path(folder, "program.c"), Path(folder, f"program{_SUFFIX}")
        text.write_text(source, encoding="utf-8")
        call = found.call(source, str(text), str(library))
        done = subprocess.run(call, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            return Failed("c source", done.stderr.strip())
        return ctypes.CDLL(str(library))


def _keep_memory() -> None:
    """Let memory that a program gives back stay with this process, as with TVM's.

    New pages from the system for each call would take as long as much of the work. (Of glibc's
    malloc: M_MMAP_MAX and M_TRIM_THRESHOLD; others have their own ways.)
    """
    with suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(-4, 0)
        mallopt(-1, 2**31 - 1)


def _aligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy of `array` that begins at a cache line."""
    room = np.empty(array.nbytes + _LINE, "uint8")
    start = -room.ctypes.data % _LINE
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _warm(function: Callable[[], object]) -> float:
    """Run until warm; the seconds of the last run."""
    total = once = _seconds(function, 1)
    while total < _WARM_UP_SECONDS:
        once = _seconds(function, 1)
        total += once
    return once


def _runs_per_sample(seconds: float) -> int:
    return max(1, min(_MOST_RUNS, math.ceil(_LEAST_SECONDS / max(seconds, 1e-7))))


def _seconds(function: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        function()
    return time.perf_counter() - start


if __name__ == "__main__":
    serve(CpuBackend())
