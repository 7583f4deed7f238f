"""The worker process, which holds the GPU: CuPy compiles, launches and times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from time import monotonic
from typing import Any, TypeVar

from workbench.runtime import libraries
from workbench.runtime.device_queue import alone_on
from workbench.runtime.events import flushed_sample, graph_sample, runs_per_sample, warm
from workbench.runtime.job import Failed, Gpu, Ran, Run, Time, Timed, TimeLibrary
from workbench.runtime.nvml import BUSY, Nvml
from workbench.runtime.sampling import sample_until_steady
from workbench.runtime.serve import Tell, serve

Answer = TypeVar("Answer")

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
_SLOW = 5e-3  # seconds: a sample that takes longer needs no more to be warm
_WARM_UP_SECONDS = 0.05  # for clocks, after the card was idle or another process had it
_LOOKS_BACK = 1.5  # seconds: more than the driver's share of busy time is of


class CupyBackend:
    """Works on the first GPU that CUDA shows."""

    def __init__(self) -> None:
        self._functions: dict[tuple[str, str], Any] = {}

    @cached_property
    def _card(self) -> _Card:
        return _Card.found()

    def hello(self) -> Gpu | Failed:
        """Name and state of the GPU."""
        return _guarded(lambda: self._card.told())

    def run(self, job: Run, tell: Tell) -> Ran | Failed:
        """Compile, wait for the turn, copy in, launch once, copy out."""
        return _guarded(lambda: self._run(job, tell))

    def time(self, job: Time, tell: Tell) -> Timed | Failed:
        """Compile, wait for the turn, copy in, warm up, and sample until the spread is small."""
        return _guarded(lambda: self._time(job, tell))

    def time_library(self, job: TimeLibrary, tell: Tell) -> Timed | Failed:
        """The same of a library's routine in float32, without the shorter TF32."""
        return _guarded(lambda: self._time_library(job, tell))

    def _run(self, job: Run, tell: Tell) -> Ran:
        import cupy

        functions = self._compiled(job)

        def work() -> Ran:
            arrays = _to_device(job)
            _launcher(job, functions, arrays)()
            cupy.cuda.get_current_stream().synchronize()
            outputs = tuple(arrays[k].get() for k in job.outputs)
            return Ran(outputs, tuple(functions[run.kernel].num_regs for run in job.launches))

        return self._card.alone(work, tell)

    def _time(self, job: Time, tell: Tell) -> Timed:
        functions = self._compiled(job.run)

        def work(stream: Any) -> Timed:
            launch = _launcher(job.run, functions, _to_device(job.run))
            several = partial(graph_sample, stream, launch)
            timed = self._sampled(job, stream, launch, several, _GRAPH)
            registers = tuple(functions[run.kernel].num_regs for run in job.run.launches)
            return replace(timed, registers=registers)

        return self._on_stream(work, tell)

    def _time_library(self, job: TimeLibrary, tell: Tell) -> Timed:
        ready = libraries.routine(job)

        def work(stream: Any) -> Timed:
            made = ready()
            several = partial(made.sample, stream)
            timed = self._sampled(job, stream, made.work(stream), several, made.how)
            made.free()
            return timed

        return self._on_stream(work, tell)

    def _on_stream(self, work: Callable[[Any], Timed], tell: Tell) -> Timed:
        import cupy

        def on_stream() -> Timed:
            stream = cupy.cuda.Stream(non_blocking=True)
            cupy.cuda.Device().synchronize()
            with stream:
                return work(stream)

        return self._card.alone(on_stream, tell)

    def _sampled(
        self,
        job: Time | TimeLibrary,
        stream: Any,
        launch: Callable[[], object],
        several: Callable[[int], Callable[[], float]],
        how: str,
    ) -> Timed:
        """Warm up and sample: one run behind a flush, or as many as `several` makes one sample."""
        once = warm(stream, launch)
        if job.flush:
            count, sample = 1, flushed_sample(stream, launch)
            how, cache = "CUDA events around one run", "emptied before it"
        else:
            if once < _SLOW:  # without what asking for it takes
                once = several(1)()
            count = runs_per_sample(once)
            sample, cache = several(count), "warm"
        warm_until = monotonic() + _WARM_UP_SECONDS
        while count * once < _SLOW and monotonic() < warm_until:
            sample()
        slowed = self._card.driver.slowed()
        samples, steady = sample_until_steady(
            sample, spread=job.spread, most=job.samples, seconds=job.seconds
        )
        clocks = self._card.driver.clocks()  # while the card is as warm as it was
        notes = _slow(dict.fromkeys((*slowed, *self._card.driver.slowed())))
        how = f"{how.format(count)}, the L2 cache {cache}"
        notes = self._card.shared() + notes
        return Timed(tuple(samples), count, how, clocks, steady, notes=notes)

    def _compiled(self, job: Run) -> dict[str, Any]:
        """The functions of the kernels, by their names."""
        import cupy

        names = [launch.kernel for launch in job.launches]
        if any((job.source, name) not in self._functions for name in names):
            module = cupy.RawModule(code=job.source, options=("-std=c++17",))
            for name in names:
                self._functions[job.source, name] = module.get_function(name)
        return {name: self._functions[job.source, name] for name in names}


_GRAPH = "CUDA events around a graph of {} runs"


@dataclass
class _Card:
    """The GPU: its name among workers, what its driver says, and how busy others keep it.

    What is not of a worker takes no turns. How busy it keeps the card is asked for where no worker
    has used that for longer than the driver looks back.
    """

    uuid: str
    driver: Nvml
    busy: float | None

    @classmethod
    def found(cls) -> _Card:
        import cupy

        bus = cupy.cuda.runtime.deviceGetPCIBusId(0)
        properties = cupy.cuda.runtime.getDeviceProperties(0)
        driver = Nvml(bus)
        uuid = properties["uuid"].partition(b"\0")[0]  # where some versions of CuPy cut it
        return cls(f"{bus}-{uuid.hex()}", driver, driver.utilization())

    def told(self) -> Gpu:
        """Name and state of the GPU."""
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
            busy=self.busy,
        )

    def alone(self, work: Callable[[], Answer], tell: Tell) -> Answer:
        """What `work` gives while no other worker uses the card; its memory is given back."""
        import cupy

        with alone_on(self.uuid, tell) as idle:
            self.busy = self.driver.utilization() if idle > _LOOKS_BACK else None
            answer = work()
            _free_pools(cupy)
            return answer

    def shared(self) -> tuple[str, ...]:
        """A sentence where others use the card, too."""
        if self.busy is None or self.busy < BUSY:
            return ()
        return (f"Others keep the GPU {self.busy:.0%} busy: compare with care.",)


def _slow(why: Iterable[str]) -> tuple[str, ...]:
    found = " and ".join(why)
    return (f"The card slowed itself for {found}: compare with care.",) if found else ()


def _launcher(job: Run, functions: Mapping[str, Any], arrays: Sequence[Any]) -> Callable[[], None]:
    import numpy

    calls = []
    for launch in job.launches:
        function = functions[launch.kernel]
        sizes = (numpy.dtype(dtype).type(value) for value, dtype in launch.sizes)
        arguments = (*(arrays[k] for k in launch.arguments), *sizes)
        if launch.shared:
            _allow(function, launch.shared)
        calls.append((function, launch.grid, launch.block, arguments, launch.shared))

    def run() -> None:
        for function, grid, block, arguments, shared in calls:
            function(grid, block, arguments, shared_mem=shared)

    return run


class _TooLarge(Exception):
    """A block asks for what this GPU has not, whatever its target said."""


def _allow(function: Any, shared: int) -> None:
    """Let the function's blocks ask for `shared` bytes: CUDA calls too many an invalid value."""
    import cupy

    most = cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
    if shared > most:
        raise _TooLarge(f"{shared} bytes of shared memory a block, of at most {most}")
    function.max_dynamic_shared_size_bytes = shared


def _to_device(job: Run) -> list[Any]:
    import cupy

    arrays = [cupy.asarray(array) for array in job.arrays]
    arrays += [cupy.empty(size, dtype=dtype) for size, dtype in job.scratch]
    return arrays


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
    except _TooLarge as error:
        return Failed("resources", str(error))
    except libraries.NoLibrary as error:
        return Failed(error.what, str(error))
    except (RuntimeError, OSError, ImportError) as error:
        if "out of memory" in str(error):  # PyTorch's
            return _full(cupy)
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


if __name__ == "__main__":
    serve(CupyBackend())
