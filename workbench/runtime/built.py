"""Built: kernels with their text, ready to run on a GPU or on the emulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from threading import Event
from typing import Any

import numpy as np

from workbench import emulate
from workbench.ir import Buffer, Kernel, PrimFunc
from workbench.lower import Lowered
from workbench.runtime import recorded
from workbench.runtime.arguments import Argument, check_arguments, from_bits, to_bits
from workbench.runtime.devices import WORKER, DeviceReport, device
from workbench.runtime.errors import DeviceError
from workbench.runtime.failures import explain, explain_death, explain_timeout
from workbench.runtime.job import Failed, Launch, Ran, Reply, Request, Run, Time, Timed
from workbench.runtime.timing import Timing
from workbench.runtime.worker import WorkerDied, WorkerTimeout
from workbench.target import Target

RUN_SECONDS = 20.0  # a lesson's kernel takes milliseconds; an endless one is stopped after this


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A program's kernels on a target; call it with one array for each parameter.

    `source` is the text of all of them; `lowered` holds them and the passes that made them.
    """

    func: PrimFunc
    target: Target
    lowered: Lowered
    source: str

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The launches, in order."""
        return self.lowered.kernels

    @property
    def grid(self) -> tuple[int, int, int]:
        """Blocks along x, y, z of the only kernel; ValueError where there are several."""
        return self._only.grid

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block along x, y, z of the only kernel; ValueError where several."""
        return self._only.block

    @property
    def device(self) -> DeviceReport:
        """What runs it here, and why."""
        if self.target.kind != "cuda":
            return DeviceReport("emulator", f"{self.target.kind} kernels run on the emulator here")
        return device()

    def __call__(self, *arrays: Any, seconds: float = RUN_SECONDS) -> None:
        """Run on the arrays, outputs written in place: on the GPU, or emulated where there is none.

        NumPy arrays are used where they lie; CuPy and DLPack arrays go through the host. Raises
        ArgumentError before anything runs, DeviceError when the GPU fails or takes more than
        `seconds`, EmulationError for what a GPU would punish.
        """
        arguments = check_arguments(self.func, arrays)
        if self.device.is_gpu:
            reply = self._ask(self._job(arguments), seconds)
            assert isinstance(reply, Ran)
            written = [argument for argument in arguments if argument.written]
            for argument, values in zip(written, reply.outputs, strict=True):
                argument.host[...] = from_bits(values, argument)
        else:
            hosts = [argument.host for argument in arguments]
            emulate.run(self.kernels, hosts, params=self.func.params)
        for argument in arguments:
            argument.write_back()

    def emulate(
        self,
        *arrays: Any,
        blocks: Sequence[int] | None = None,
        progress: Callable[[int, int], None] | None = None,
        stop: Event | None = None,
    ) -> emulate.Run:
        """Run on the emulator, whole or only `blocks`, and return what it counted.

        `progress` is called with blocks done and blocks in all; setting `stop` ends the run early.
        """
        arguments = check_arguments(self.func, arrays)
        run = emulate.run(
            self.kernels,
            [argument.host for argument in arguments],
            params=self.func.params,
            blocks=blocks,
            progress=progress,
            stop=stop,
        )
        for argument in arguments:
            argument.write_back()
        return run

    def time(self, *arrays: Any, flush: bool = False, seconds: float = RUN_SECONDS) -> Timing:
        """How long one run takes on the GPU; the arrays are copied and stay as they are.

        `flush` empties the L2 cache before every sample. Without a GPU, the time recorded for
        this very program on another machine; DeviceError where there is none.
        """
        arguments = check_arguments(self.func, arrays)
        report = self.device
        if not report.is_gpu:
            return self._recorded(report)
        reply = self._ask(Time(self._job(arguments), flush=flush), seconds)
        assert isinstance(reply, Timed)
        return Timing(
            samples=reply.samples,
            device=report.which,
            how=reply.how,
            clocks=reply.clocks,
            date=date.today().isoformat(),
            steady=reply.steady,
        )

    def _recorded(self, report: DeviceReport) -> Timing:
        known = recorded.times(self.func)
        if known:
            return known[0]
        raise DeviceError(
            f"Can't time {self.func.name}: there is no time without a GPU, and none is recorded",
            detail=f"{report.why}; the emulator's own seconds say nothing about a GPU",
            hint="compare counts instead (loads, stores, bytes, barriers: wb.insight.counts)"
            + (f", or {report.how_to_get}" if report.how_to_get else "."),
        )

    def _ask(self, request: Request, seconds: float) -> Reply:
        name = " and ".join(kernel.name for kernel in self.kernels)
        where = self.device.which
        try:
            reply = WORKER.ask(request, seconds)
        except WorkerDied as died:
            raise explain_death(died, name, where) from None
        except WorkerTimeout as timeout:
            raise explain_timeout(timeout, name, where) from None
        if isinstance(reply, Failed):
            raise explain(reply, name, where)
        return reply

    def _job(self, arguments: list[Argument]) -> Run:
        """The launches with every array numbered: the parameters, then buffers between kernels."""
        number = {buffer: k for k, buffer in enumerate(self.func.params)}
        scratch: list[tuple[int, str]] = []
        launches = []
        for kernel in self.kernels:
            views = dict(kernel.views)
            for flat in kernel.params:
                if views[flat] not in number:
                    number[views[flat]] = len(number)
                    scratch.append((flat.shape[0], _bits_type(flat)))
            order = tuple(number[views[flat]] for flat in kernel.params)
            launches.append(Launch(kernel.name, kernel.grid, kernel.block, order))
        return Run(
            source=self.source,
            launches=tuple(launches),
            arrays=tuple(to_bits(argument) for argument in arguments),
            outputs=tuple(k for k, argument in enumerate(arguments) if argument.written),
            scratch=tuple(scratch),
        )

    @property
    def _only(self) -> Kernel:
        if len(self.kernels) != 1:
            names = ", ".join(kernel.name for kernel in self.kernels)
            raise ValueError(f"{self.func.name} has {len(self.kernels)} kernels: {names}")
        return self.kernels[0]

    def __repr__(self) -> str:
        launches = ", ".join(f"{k.name}<<<{k.grid}, {k.block}>>>" for k in self.kernels)
        return f"<{self.func.name} for {self.target.name}: {launches}>"


def _bits_type(buffer: Buffer) -> str:
    return "uint16" if buffer.dtype == "bfloat16" else str(np.dtype(buffer.dtype))
