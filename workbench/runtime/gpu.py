"""The worker process, which holds the GPU: CuPy compiles, launches and times."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from workbench.runtime.job import Failed, Gpu, Ran, Run, Time, Timed, TimeMatmul
from workbench.runtime.sampling import sample_until_steady
from workbench.runtime.serve import serve

Answer = TypeVar("Answer")

_WARM_UP_RUNS = 3
_WARM_UP_SECONDS = 0.5  # a kernel that takes longer is warm after one run
_LEAST_SECONDS = 200e-6  # of one sample: far above the half microsecond that an event resolves
_MOST_LAUNCHES = 200
# CUDA's names of errors, as the runtime and the driver API spell them, and what we call them.
_KINDS = {
    "illegaladdress": "illegal address",
    "misalignedaddress": "misaligned address",
    "illegalinstruction": "crash",
    "launchfailure": "crash",
    "launchfailed": "crash",
    "assert": "crash",
    "invalidpc": "crash",
    "hardwarestackerror": "crash",
    "invalidaddressspace": "crash",
    "launchtimeout": "watchdog",
    "launchoutofresources": "resources",
    "memoryallocation": "full",
    "outofmemory": "full",
    "devicesunavailable": "busy",
    "deviceunavailable": "busy",
    "nodevice": "no device",
    "insufficientdriver": "driver",
    "unsupportedptxversion": "driver",
    "stublibrary": "no driver",
}
_RECOVERABLE = {"full", "resources"}  # the context works on after these


class CupyBackend:
    """Works on the first GPU that CUDA shows."""

    def __init__(self) -> None:
        self._busy = _utilization()  # before our own first use of the card
        self._functions: dict[tuple[str, str], Any] = {}

    def hello(self) -> Gpu | Failed:
        """Name and state of the GPU."""
        return _guarded(self._hello)

    def run(self, job: Run) -> Ran | Failed:
        """Copy in, launch once, copy out."""
        return _guarded(lambda: self._run(job))

    def time(self, job: Time) -> Timed | Failed:
        """Copy in, warm up, and sample until the spread is small."""
        return _guarded(lambda: self._time(job))

    def time_matmul(self, job: TimeMatmul) -> Timed | Failed:
        """Copy in, warm up, and sample cuBLAS in float32, without the shorter TF32."""
        return _guarded(lambda: _time_matmul(job))

    def _hello(self) -> Gpu:
        import cupy

        properties = cupy.cuda.runtime.getDeviceProperties(0)
        free, total = cupy.cuda.runtime.memGetInfo()
        version = cupy.cuda.runtime.driverGetVersion()
        return Gpu(
            name=properties["name"].decode(),
            arch=f"sm_{properties['major']}{properties['minor']}",
            memory_bytes=total,
            free_bytes=free,
            driver=f"CUDA {version // 1000}.{version % 1000 // 10}",
            cupy=cupy.__version__,
            busy=self._busy,
        )

    def _run(self, job: Run) -> Ran:
        import cupy

        arrays = _to_device(job)
        self._launcher(job, arrays)()
        cupy.cuda.get_current_stream().synchronize()
        return Ran(tuple(arrays[k].get() for k in job.outputs), self._registers(job))

    def _time(self, job: Time) -> Timed:
        import cupy

        arrays = _to_device(job.run)
        launch = self._launcher(job.run, arrays)
        stream = cupy.cuda.Stream(non_blocking=True)
        cupy.cuda.Device().synchronize()
        with stream:
            once = _warm(stream, launch)
            if job.flush:
                count, sample = 1, _flushed_sample(stream, launch)
                how = "CUDA events around one run, the L2 cache emptied before it"
            else:
                count = runs_per_sample(once)
                sample = graph_sample(stream, launch, count)
                how = f"CUDA events around a graph of {count} runs, the L2 cache warm"
            samples, steady = sample_until_steady(
                sample, spread=job.spread, most=job.samples, seconds=job.seconds
            )
        return Timed(tuple(samples), count, how, clocks(), steady, self._registers(job.run))

    def _registers(self, job: Run) -> tuple[int, ...]:
        functions = (self._compiled(job.source, launch.kernel) for launch in job.launches)
        return tuple(function.num_regs for function in functions)

    def _launcher(self, job: Run, arrays: list[Any]) -> Callable[[], None]:
        import numpy

        calls = []
        for launch in job.launches:
            function = self._compiled(job.source, launch.kernel)
            sizes = (numpy.dtype(dtype).type(value) for value, dtype in launch.sizes)
            arguments = (*(arrays[k] for k in launch.arguments), *sizes)
            if launch.shared:
                function.max_dynamic_shared_size_bytes = launch.shared
            calls.append((function, launch.grid, launch.block, arguments, launch.shared))

        def run() -> None:
            for function, grid, block, arguments, shared in calls:
                function(grid, block, arguments, shared_mem=shared)

        return run

    def _compiled(self, source: str, kernel: str) -> Any:
        import cupy

        if (source, kernel) not in self._functions:
            module = cupy.RawModule(code=source, options=("-std=c++17",))
            self._functions[source, kernel] = module.get_function(kernel)
        return self._functions[source, kernel]


def _time_matmul(job: TimeMatmul) -> Timed:
    import cupy

    a, b = (cupy.asarray(array) for array in job.arrays)
    c = cupy.empty((a.shape[0], b.shape[1]), dtype=a.dtype)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        once = _warm(stream, lambda: cupy.dot(a, b, out=c))
        count = runs_per_sample(once)

        def sample() -> float:
            """cuBLAS does not go into a graph: its launches follow each other closely."""
            runs = lambda: [cupy.dot(a, b, out=c) for _ in range(count)]  # noqa: E731
            return between_events(stream, runs) / count

        samples, steady = sample_until_steady(
            sample, spread=job.spread, most=job.samples, seconds=job.seconds
        )
    how = f"CUDA events around {count} runs in a row, the L2 cache warm"
    return Timed(tuple(samples), count, how, clocks(), steady)


def _warm(stream: Any, launch: Callable[[], object]) -> float:
    """Launch until warm; the seconds of the last run."""
    total = once = 0.0
    for _ in range(_WARM_UP_RUNS + 1):
        once = between_events(stream, launch)
        total += once
        if total > _WARM_UP_SECONDS:
            break
    return once


def runs_per_sample(seconds: float) -> int:
    """How many runs of about `seconds` each one sample takes, to be long enough to measure."""
    return max(1, min(_MOST_LAUNCHES, math.ceil(_LEAST_SECONDS / max(seconds, 1e-7))))


def _to_device(job: Run) -> list[Any]:
    import cupy

    arrays = [cupy.asarray(array) for array in job.arrays]
    arrays += [cupy.empty(size, dtype=dtype) for size, dtype in job.scratch]
    return arrays


def between_events(stream: Any, launch: Callable[[], object]) -> float:
    """Seconds on the GPU from before `launch` to after it."""
    import cupy

    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    start.record(stream)
    launch()
    stop.record(stream)
    stop.synchronize()
    return cupy.cuda.get_elapsed_time(start, stop) * 1e-3


def graph_sample(stream: Any, launch: Callable[[], object], count: int) -> Callable[[], float]:
    """How to take one sample: a captured graph of `count` runs leaves out the asking for each."""
    stream.begin_capture()
    for _ in range(count):
        launch()
    graph = stream.end_capture()
    graph.launch(stream)
    stream.synchronize()
    return lambda: between_events(stream, lambda: graph.launch(stream)) / count


def _flushed_sample(stream: Any, launch: Callable[[], None]) -> Callable[[], float]:
    import cupy

    l2_bytes = cupy.cuda.Device().attributes["L2CacheSize"]
    filler = cupy.empty(2 * l2_bytes, dtype="uint8")

    def sample() -> float:
        filler.fill(1)
        return between_events(stream, launch)

    return sample


def _guarded(work: Callable[[], Answer]) -> Answer | Failed:
    try:
        import cupy
    except Exception as error:
        return Failed("no cupy", f"{type(error).__name__}: {error}", fatal=True)
    try:
        return work()
    except cupy.cuda.compiler.CompileException as error:
        return Failed("source", str(error).strip())
    except cupy.cuda.memory.OutOfMemoryError:
        return _full(cupy)
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
        return _cuda_failure(cupy, str(error))
    except (RuntimeError, OSError, ImportError) as error:
        if "nvrtc" in str(error).lower():  # CuPy loads the compiler when it first compiles
            return Failed("no compiler", str(error))
        if "cublas" in str(error).lower():
            return Failed("no cublas", str(error))
        raise
    finally:
        _free_pools(cupy)


def _cuda_failure(cupy: Any, message: str) -> Failed:
    name = message.split(":")[0].removeprefix("CUDA_ERROR_").removeprefix("cudaError")
    kind = _KINDS.get(name.replace("_", "").lower(), "error")
    if kind == "full":
        return _full(cupy)
    if kind == "driver" and cupy.cuda.runtime.driverGetVersion() == 0:
        kind = "no driver"  # CUDA gives one error for both
    return Failed(kind, message, fatal=kind not in _RECOVERABLE)


def _full(cupy: Any) -> Failed:
    _free_pools(cupy)
    free, total = cupy.cuda.runtime.memGetInfo()
    return Failed("full", "out of memory", facts={"free": free, "total": total})


def _free_pools(cupy: Any) -> None:
    """Give memory back to the card, which others may share."""
    with suppress(Exception):  # after a fatal error the context cannot even free
        cupy.get_default_memory_pool().free_all_blocks()


def _utilization() -> float | None:
    answer = nvidia_smi("utilization.gpu")
    return float(answer) / 100 if answer.isdigit() else None


def clocks() -> str:
    """The clocks just after the samples, with the most that the card allows."""
    answer = nvidia_smi("clocks.sm,clocks.max.sm,clocks.mem").split(", ")
    if len(answer) != 3:
        return "clocks not known"
    now, most, memory = answer
    return f"SM clock {now} of {most} MHz, memory {memory} MHz"


def nvidia_smi(query: str) -> str:
    """What the driver's tool answers for the first GPU; "" where there is no answer."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ""
    command = [tool, f"--query-gpu={query}", "--format=csv,noheader,nounits", "-i", "0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    serve(CupyBackend())
