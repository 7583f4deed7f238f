"""A bench: one worker and the arrays of a program, on which candidates are run and timed.

It knows texts and launches alone, no schedule, so that it may stand in another process or on
another machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from statistics import median
from typing import Any

import numpy as np

from workbench import emulate
from workbench.diag import Fail, count_text
from workbench.emulate.numbers import numpy_type, round_bfloat16
from workbench.ir import Buffer, PrimFunc, dtypes
from workbench.runtime.arguments import check_arguments, from_bits, to_bits
from workbench.runtime.built import Built
from workbench.runtime.job import Failed, Hello, Launch, Ran, Reply, Request, Run, Time, Timed
from workbench.runtime.launching import Unit, job_of
from workbench.runtime.sized import at_sizes
from workbench.runtime.worker import Worker, WorkerDied, WorkerTimeout
from workbench.tuning.trial import Outcome, Status, checked_times

START_SECONDS = 60.0  # of a worker: a first import of CuPy from a slow disk
STARTS = 2
SECONDS = 10.0  # of a trial's run or timing: an endless loop costs as much, once
SAMPLES = 50
SAMPLED_SECONDS = 0.1  # at most, of a trial
SPREAD = 0.02
TOLERANCE = 1e-3  # of a sum in another order; the tutorials' own

EVERY = 16  # candidates, between two looks at the clocks

# What the worker tells of a failure that is the candidate's own, and how its trial ends; all else
# is wrong with the machine, and no trial.
_OWN: Mapping[str, Status] = {
    "illegal address": "runtime",
    "misaligned address": "runtime",
    "crash": "runtime",
    "watchdog": "timeout",
    "resources": "constraints",
    "source": "compile",
    "c source": "compile",
    "full": "constraints",
}


@cache
def yardstick() -> Run:
    """Multiplications and additions alone, about 20 µs of them: as long as the clock says."""
    source = """extern "C" __global__ void yardstick(float* a) {
  float x = a[threadIdx.x];
  for (int i = 0; i < 8192; ++i) { x = x * 0.999f + 0.001f; }
  a[threadIdx.x] = x;
}
"""
    launches = (Launch("yardstick", (64, 1, 1), (128, 1, 1), (0,)),)
    return Run(source, launches, arrays=(np.zeros(128, "float32"),), outputs=())


@dataclass(frozen=True, slots=True)
class Terms:
    """How candidates are measured: on which device, for how many seconds at most, and `flush`.

    `device` is its name, for what is told.
    """

    device: str
    unit: Unit
    seconds: float = SECONDS
    flush: bool = False


class Bench:
    """Runs candidates of `program` in `process`, and looks at what they make.

    What a candidate writes is compared to what `program` means on random numbers, before it is
    timed. Raises Fail where the machine itself is at fault.
    """

    def __init__(self, program: PrimFunc, terms: Terms, process: Worker) -> None:
        self.terms = terms
        self.process = process
        self._params = program.params
        inputs = [_values(buffer, k) for k, buffer in enumerate(program.params)]
        self._wanted = [array.copy() for array in inputs]
        emulate.evaluate(program, self._wanted)
        self._arguments = check_arguments(program, inputs)
        self._bits = tuple(to_bits(argument) for argument in self._arguments)
        self._turns = count()

    def beside(self, process: Worker) -> Bench:
        """The same with another worker."""
        made = copy(self)
        made.process, made._turns = process, count()
        return made

    def measure(self, job: Run) -> Outcome:
        """How a candidate ends, of which `job` is all but the arrays."""
        self.start()
        yardstick = self._yardstick()
        return replace(self._measured(replace(job, arrays=self._bits)), yardstick=yardstick)

    def _yardstick(self) -> float | None:
        """The seconds of the kernel that is always the same, where its turn has come."""
        if next(self._turns) % EVERY or self.terms.unit == "CPU":
            return None
        try:
            timed = self._ask(Time(yardstick(), seconds=SAMPLED_SECONDS, spread=SPREAD))
        except Fail:  # what is wrong with the machine, the candidate meets, too
            return None
        if not isinstance(timed, Timed) or checked_times(tuple(timed.samples)):
            return None
        return median(timed.samples)

    def _measured(self, job: Run) -> Outcome:
        ran = self._ask(job)
        if isinstance(ran, Outcome):
            return ran
        assert isinstance(ran, Ran)
        for k, values in zip(job.outputs, ran.outputs, strict=True):
            wrong = self._wrong(k, from_bits(values, self._arguments[k]))
            if wrong:
                return Outcome("correctness", "measured", (), wrong)
        flush = self.terms.flush
        timed = self._ask(
            Time(job, flush=flush, samples=SAMPLES, seconds=SAMPLED_SECONDS, spread=SPREAD)
        )
        if isinstance(timed, Outcome):
            return timed
        assert isinstance(timed, Timed)
        return timed_outcome(timed.samples)

    def start(self) -> None:
        """Have a worker that answers: what its start takes is none of the candidate's time.

        One that is ended meanwhile, by whom ever, is no candidate's fault either: once more.
        """
        why = ""
        for _ in range(STARTS):
            if self.process.pid is not None:
                return
            try:
                reply = self.process.ask(Hello(), START_SECONDS)
            except (WorkerDied, WorkerTimeout) as error:
                why = str(error)
                continue
            if isinstance(reply, Failed) and self.terms.unit == "GPU":  # a CPU's has none to tell
                raise self._machine(reply.what, reply.message)
            return
        raise self._machine("the worker did not start", why)

    def _machine(self, what: str, detail: str) -> Fail:
        """The error for what is no candidate's fault."""
        return Fail(
            f"Can't measure on {self.terms.device}: {what}",
            detail=detail,
            hint="see wb.device(again=True); a search goes on from its record",
        )

    def _ask(self, request: Request) -> Reply | Outcome:
        """What the worker answers; an outcome where it failed for the candidate's fault."""
        try:
            reply = self.process.ask(request, self.terms.seconds)
        except WorkerTimeout as timeout:
            return Outcome("timeout", "measured", (), str(timeout))
        except WorkerDied as died:
            return Outcome("runtime", "measured", (), f"the worker was lost: {died.how}")
        if not isinstance(reply, Failed):
            return reply
        status = _OWN.get(reply.what)
        if status is None:
            raise self._machine(reply.what, reply.message)
        first = reply.message.partition("\n")[0]
        return Outcome(status, "measured", (), f"{reply.what}: {first}")

    def _wrong(self, k: int, got: np.ndarray[Any, Any]) -> str:
        """What is wrong in output `k`; "" where it is what the program means."""
        param = self._params[k]
        wrong = emulate.first_wrong(
            param.name, param.dtype, got, self._wanted[k], tolerance=TOLERANCE
        )
        if wrong is None:
            return ""
        cells = count_text(wrong.count, "wrong cell")
        return f"{wrong.cell} is {wrong.got}, not {wrong.want}: {cells}"


def job_for_bench(built: Built) -> Run:
    """What a bench has to know of a kernel: its text and launches; the arrays are there."""
    arrays = [
        np.zeros(tuple(int(n) for n in p.shape), numpy_type(p.dtype)) for p in built.func.params
    ]
    sizes = at_sizes(built.func, built.kernels, built.target, arrays)
    return replace(job_of(built, sizes, check_arguments(built.func, arrays)), arrays=())


def timed_outcome(samples: Sequence[float]) -> Outcome:
    """The outcome of a correct candidate whose time was sampled."""
    times = tuple(float(sample) for sample in samples)
    wrong = checked_times(times)
    return Outcome("runtime" if wrong else "correct", "measured", () if wrong else times, wrong)


def _values(buffer: Buffer, seed: int) -> np.ndarray[Any, Any]:
    """Random numbers for a parameter: a kernel's time depends on what it computes with."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(size) for size in buffer.shape)
    kind = numpy_type(buffer.dtype)
    if dtypes.is_float(buffer.dtype):
        values = rng.uniform(-1, 1, shape).astype(kind)
        return round_bfloat16(values) if buffer.dtype == "bfloat16" else values
    return rng.integers(0, 2, shape).astype(kind)
