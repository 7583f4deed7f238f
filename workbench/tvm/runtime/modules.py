"""What ``tvm.build`` makes: functions to call and to time, and the text of their kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from statistics import mean, median, pstdev
from typing import Any

from workbench import insight
from workbench import target as targets
from workbench.ir import Kernel
from workbench.runtime import Built, Timing, recorded
from workbench.runtime.built import RUN_SECONDS
from workbench.runtime.sized import at_sizes
from workbench.tvm.not_carried import LEFT_OUT, NotCarried, not_carried, unknown
from workbench.tvm.runtime.arrays import host_of
from workbench.tvm.runtime.devices import Device

PATIENCE = 1 << 34  # operations, which the emulator does in some ten seconds
CPU_SECONDS = 600.0  # a naive product of 2048 takes half a minute, and lessons pass no limit
# Whose roof a time without a GPU is told by, where a program is built for all GPUs of a kind.
_ROOF_OF = {"metal": "apple/m2-gpu"}  # else an H200's, which runs the others


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """Seconds that one run takes: every sample in `results`, and what TVM tells of them.

    `how` says in words whether they were measured, recorded earlier, or modelled.
    """

    results: tuple[float, ...]
    how: str

    @property
    def mean(self) -> float:
        """The mean of the samples."""
        return mean(self.results)

    @property
    def median(self) -> float:
        """The median of the samples."""
        return median(self.results)

    @property
    def min(self) -> float:
        """The least of the samples."""
        return min(self.results)

    @property
    def max(self) -> float:
        """The largest of the samples."""
        return max(self.results)

    @property
    def std(self) -> float:
        """The standard deviation of the samples."""
        return pstdev(self.results)

    def __str__(self) -> str:
        return f"mean {self.mean * 1e3:.4f} ms, of {len(self.results)}: {self.how}"


@dataclass(frozen=True, slots=True)
class Source:
    """The kernels of a module, as text in the language of their target."""

    text: str
    type_key: str

    def get_source(self, fmt: str = "") -> str:
        """The text of the kernels."""
        return self.text

    inspect_source = get_source


class Module:
    """Built programs by name, as `tvm.build` gives them; a call takes its arrays, outputs too."""

    def __init__(self, built: Mapping[str, Built]) -> None:
        self.built = dict(built)
        self._announced: set[str] = set()  # of which the kind of time was said

    @property
    def entry_name(self) -> str:
        """The name of the function that a call of the module runs: "main", or the first."""
        return "main" if "main" in self.built else next(iter(self.built))

    @property
    def mod(self) -> Module:
        """Itself: what `tvm.compile` gives in TVM has the module inside."""
        return self

    @property
    def imported_modules(self) -> list[Source]:
        """The text of its kernels, as TVM's modules of device code hold it."""
        kinds = {built.target.kind for built in self.built.values()}
        return [
            Source("\n".join(b.source for b in self.built.values() if b.target.kind == kind), kind)
            for kind in sorted(kinds)
        ]

    imports = imported_modules

    def get_source(self, fmt: str = "") -> str:
        """The text of what was built for a CPU, in C.

        Raises NotCarried for a GPU's: there TVM gives the code of the host.
        """
        if not all(built.target.is_cpu for built in self.built.values()):
            raise not_carried("tvm.runtime.Module.get_source")
        return self.imported_modules[0].text

    inspect_source = get_source

    def __getitem__(self, name: str) -> Callable[..., None]:
        built = self._built(name)
        return lambda *args: self._call(built, [host_of(arg) for arg in args])

    get_function = __getitem__

    def __call__(self, *args: Any) -> None:
        self[self.entry_name](*args)

    def time_evaluator(
        self,
        func_name: str,
        dev: Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        cache_flush_bytes: int = 0,
        ctx: Device | None = None,
    ) -> Callable[..., BenchmarkResult]:
        """A function that runs `func_name` on its arguments and says how long one run takes.

        On a GPU, and on a CPU, it is measured, in as many runs as it takes to be sure of: `number`,
        `repeat` and `min_repeat_ms` are TVM's, and so is `dev`, once called `ctx`. Without a GPU
        its kernel runs once on the emulator, a large one in part, and the time is the one recorded
        for this program, else the least that the roofline allows; what it is, is printed once.
        `cache_flush_bytes` above 0 empties the caches before every sample. Raises ValueError for a
        `number` or a `repeat` below 1, DeviceError for a CPU's program where there is no C
        compiler.
        """
        if number < 1 or repeat < 1:
            raise ValueError(f"time_evaluator runs at least once: {number=}, {repeat=}")
        built = self._built(func_name)

        def evaluate(*args: Any) -> BenchmarkResult:
            arrays = [host_of(arg) for arg in args]
            self._call(built, arrays)
            if built.device.is_gpu or built.target.is_cpu:
                timing = built.time(*arrays, flush=cache_flush_bytes > 0, seconds=_patience(built))
                return BenchmarkResult(timing.samples, str(timing))
            result = _without_gpu(built, arrays)
            if func_name not in self._announced:
                print(result.how)
                self._announced.add(func_name)
            return result

        return evaluate

    def _call(self, built: Built, arrays: Sequence[Any]) -> None:
        """Run on `arrays`; without a GPU, of a program that would take minutes, four blocks."""
        here = built.device.measures or built.target.is_cpu
        kernels = () if here else _at_sizes(built, arrays)
        blocks = insight.sampled(kernels, PATIENCE) if kernels else None
        if blocks is None:
            built(*arrays, seconds=_patience(built))
            return
        name, every = built.func.name, prod(kernels[0].grid)
        built.emulate(*arrays, blocks=blocks)
        if f"{name} blocks" not in self._announced:
            self._announced.add(f"{name} blocks")
            print(
                f"{name} is large for the emulator: {len(blocks)} of its {every:,} blocks ran, and "
                f"what the others write is as it was. For all of them: "
                f'rt_mod.built["{name}"].emulate(…), with an array for each parameter.'
            )

    def _built(self, name: str) -> Built:
        if name in self.built:
            return self.built[name]
        raise NotCarried(
            f"Can't find {name!r} in what was built",
            asked=f"rt_mod[{name!r}]",
            hint=f"its functions: {', '.join(self.built)}",
        )

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        called = f"tvm.runtime.Module.{name}"
        if called in LEFT_OUT:
            raise not_carried(called)
        raise unknown(called, [own for own in dir(type(self)) if not own.startswith("_")])

    def __repr__(self) -> str:
        return f"<Module of {', '.join(map(repr, self.built.values()))}>"


def _patience(built: Built) -> float:
    return CPU_SECONDS if built.target.is_cpu else RUN_SECONDS


def _at_sizes(built: Built, arrays: Sequence[Any]) -> tuple[Kernel, ...]:
    """The kernels as they are launched on `arrays`."""
    return at_sizes(built.func, built.kernels, built.target, arrays).kernels


def _without_gpu(built: Built, arrays: Sequence[Any]) -> BenchmarkResult:
    """The time of a program that the emulator ran: recorded, else modelled; never its own."""
    name, why = built.func.name, built.device.why
    known = recorded.times(built.func)
    if known:
        return BenchmarkResult(known[0].samples, _recorded(name, why, known[0]))
    gpu, kernels = built.target, _at_sizes(built, arrays)
    roof = insight.roofline(kernels, gpu)
    if roof is None:
        gpu = targets.get(_ROOF_OF.get(gpu.kind, "nvidia/h200"))
        roof = insight.roofline(kernels, gpu)
    assert roof is not None
    return BenchmarkResult(
        (roof.least_seconds,),
        f"{name} ran on the emulator: {why}. No time was recorded for it; the time here is "
        f"modelled, the least that the data sheet of {gpu.title} allows.",
    )


def _recorded(name: str, why: str, timing: Timing) -> str:
    return (
        f"{name} ran on the emulator: {why}. The time here was recorded on {timing.device}, "
        f"{timing.date}."
    )
