"""Running and timing built kernels: on the GPU through the worker, or on the emulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from threading import Event
from typing import Any, Literal, Protocol, TypeAlias

from workbench import emulate
from workbench.diag import count_text
from workbench.ir import Buffer, Kernel, PrimFunc
from workbench.lower import Lowered
from workbench.lower.shared_memory import dynamic_shared
from workbench.runtime import recorded, registers
from workbench.runtime.arguments import (
    Argument,
    check_arguments,
    check_seconds,
    check_watched,
    from_bits,
    to_bits,
)
from workbench.runtime.devices import CPU_WORKER, WORKER, DeviceReport
from workbench.runtime.errors import DeviceError
from workbench.runtime.failures import explain, explain_death, explain_timeout
from workbench.runtime.job import Failed, Launch, Ran, Reply, Request, Run, Time, Timed
from workbench.runtime.sized import AtSizes, at_sizes
from workbench.runtime.timing import Timing
from workbench.runtime.worker import Worker, WorkerDied, WorkerTimeout
from workbench.target import Target

Unit: TypeAlias = Literal["GPU", "CPU"]


class Launched(Protocol):
    """What is run here: the kernels of a program, their text, and the device that they are for."""

    @property
    def func(self) -> PrimFunc: ...

    @property
    def kernels(self) -> tuple[Kernel, ...]: ...

    @property
    def lowered(self) -> Lowered: ...

    @property
    def source(self) -> str: ...

    @property
    def target(self) -> Target: ...

    @property
    def device(self) -> DeviceReport: ...


def run(
    built: Launched, arrays: Sequence[Any], seconds: float, waits: Callable[[int], None] | None
) -> None:
    """See `Built.__call__`."""
    _refuse_broken(built, "run")
    seconds = check_seconds(seconds)
    at = at_sizes(built.func, built.kernels, built.target, arrays)
    arguments = check_arguments(at.func, arrays)
    if built.device.measures:
        job = job_of(built, at, arguments)
        reply = _ask(built, job, seconds, waits)
        assert isinstance(reply, Ran)
        _note_registers(job, reply)
        written = [argument for argument in arguments if argument.written]
        for argument, values in zip(written, reply.outputs, strict=True):
            argument.host[...] = from_bits(values, argument)
    elif built.target.is_cpu:
        emulate.evaluate(at.func, [argument.host for argument in arguments])
    else:
        hosts = [argument.host for argument in arguments]
        emulate.run(at.kernels, hosts, params=at.func.params)
    for argument in arguments:
        argument.write_back()


def emulated(
    built: Launched,
    arrays: Sequence[Any],
    blocks: Sequence[int] | None,
    progress: Callable[[int, int], None] | None,
    stop: Event | None,
) -> emulate.Run:
    """See `Built.emulate`."""
    check_watched(progress, stop)
    if built.target.is_cpu:
        raise DeviceError(
            f"Can't emulate {built.func.name}: it is built for a CPU, and the emulator is a GPU's",
            hint="call it, kernel(...), or build it for a GPU: wb.build(sch).emulate(...)",
        )
    at = at_sizes(built.func, built.kernels, built.target, arrays)
    arguments = check_arguments(at.func, arrays)
    done = emulate.run(
        at.kernels,
        [argument.host for argument in arguments],
        params=at.func.params,
        blocks=blocks,
        progress=progress,
        stop=stop,
    )
    for argument in arguments:
        argument.write_back()
    return done


def launches(built: Launched, arrays: Sequence[Any]) -> tuple[Kernel, ...]:
    """See `Built.launches`."""
    return at_sizes(built.func, built.kernels, built.target, arrays).kernels


def timed(
    built: Launched,
    arrays: Sequence[Any],
    flush: bool,
    seconds: float,
    waits: Callable[[int], None] | None,
) -> Timing:
    """See `Built.time`."""
    _refuse_broken(built, "time")
    seconds = check_seconds(seconds)
    at = at_sizes(built.func, built.kernels, built.target, arrays)
    arguments = check_arguments(at.func, arrays)
    report = built.device
    if not report.measures and built.target.is_cpu:
        raise DeviceError(
            f"Can't time {built.func.name}: {report.why}",
            detail="NumPy's seconds say nothing about compiled code",
            hint=report.how_to_get,
        )
    if not report.measures:
        return _recorded(built, report)
    job = job_of(built, at, arguments)
    reply = _ask(built, Time(job, flush=flush), seconds, waits)
    assert isinstance(reply, Timed)
    _note_registers(job, reply)
    timing = measured(reply, report)
    return timing if timing.clocks else replace(timing, clocks=_options(built, report))


def measured(reply: Reply, report: DeviceReport) -> Timing:
    """What a worker answered, as a time of today."""
    assert isinstance(reply, Timed)
    return Timing(
        samples=reply.samples,
        device=report.which,
        how=reply.how,
        clocks=reply.clocks,
        date=date.today().isoformat(),
        steady=reply.steady,
        notes=reply.notes,
    )


def _note_registers(job: Run, reply: Ran | Timed) -> None:
    names = (launch.kernel for launch in job.launches)
    registers.note(job.source, zip(names, reply.registers, strict=False))  # a CPU has none


def _refuse_broken(built: Launched, act: str) -> None:
    """Refuse what no GPU is to run, also where there is none: a cell does the same anywhere."""
    if built.lowered.fault:
        raise DeviceError(
            f"Can't {act} {built.func.name}: its kernel is broken on purpose",
            detail=f"{built.lowered.fault}: on a GPU it may hang, or give any numbers",
            hint="kernel.emulate(...) shows what is wrong; mend it first.",
        )


def _options(built: Launched, report: DeviceReport) -> str:
    """With what a CPU's program is compiled, which its time depends on as a GPU's on clocks."""
    compiler = report.compiler
    return f"{compiler.version}, {compiler.options(built.source)}" if compiler else ""


def _recorded(built: Launched, report: DeviceReport) -> Timing:
    known = recorded.times(built.func)
    if known:
        return known[0]
    raise DeviceError(
        f"Can't time {built.func.name}: there is no time without a GPU, and none is recorded",
        detail=f"{report.why}; the emulator's own seconds say nothing about a GPU",
        hint="compare counts instead (loads, stores, bytes, barriers: wb.insight.counts)"
        + (f", or {report.how_to_get}" if report.how_to_get else "."),
    )


def _ask(
    built: Launched, request: Request, seconds: float, waits: Callable[[int], None] | None
) -> Reply:
    name = " and ".join(kernel.name for kernel in built.kernels)
    unit: Unit = "CPU" if built.target.is_cpu else "GPU"
    return ask(name, built.device.which, request, seconds, waits, unit)


def ask(
    name: str,
    where: str,
    request: Request,
    seconds: float,
    waits: Callable[[int], None] | None,
    unit: Unit = "GPU",
) -> Reply:
    """What the worker of a `unit` answers; DeviceError, naming what ran `where`, for a failure."""
    try:
        reply = worker(unit).ask(request, seconds, waits or _print_waits)
    except WorkerDied as died:
        raise explain_death(died, name, where, unit) from None
    except WorkerTimeout as timeout:
        raise explain_timeout(timeout, name, where) from None
    if isinstance(reply, Failed):
        raise explain(reply, name, where)
    return reply


def worker(unit: Unit) -> Worker:
    """The one that runs what is for a `unit`."""
    return CPU_WORKER if unit == "CPU" else WORKER


def waiting(before: int) -> str:
    """What is told to someone whose turn comes after so many others."""
    return f"waiting for the GPU: {count_text(before, 'notebook')} before you"


def _print_waits(before: int) -> None:
    if before:
        print(waiting(before), flush=True)


def job_of(built: Launched, at: AtSizes, arguments: list[Argument]) -> Run:
    """The launches with every array numbered: the parameters, then buffers between kernels."""
    number = {buffer: k for k, buffer in enumerate(at.func.params)}
    scratch: list[tuple[int, str]] = []
    launches = []
    for kernel, sizes in zip(at.kernels, at.given, strict=True):
        views = dict(kernel.views)
        for flat in kernel.params:
            if views[flat] not in number:
                number[views[flat]] = len(number)
                scratch.append((flat.shape[0], _bits_type(flat)))
        order = tuple(number[views[flat]] for flat in kernel.params)
        shared = dynamic_shared(kernel)[1]
        launches.append(Launch(kernel.name, kernel.grid, kernel.block, order, sizes, shared))
    return Run(
        source=built.source,
        launches=tuple(launches),
        arrays=tuple(to_bits(argument) for argument in arguments),
        outputs=tuple(k for k, argument in enumerate(arguments) if argument.written),
        scratch=tuple(scratch),
    )


def _bits_type(buffer: Buffer) -> str:
    return "uint16" if buffer.dtype == "bfloat16" else buffer.dtype
