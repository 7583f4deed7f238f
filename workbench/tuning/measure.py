"""Measurers: `submit(candidate)` says how it ends, here, by the model, or as a record has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from workbench import emulate
from workbench.diag import Fail, count_text
from workbench.emulate.numbers import numpy_type, round_bfloat16
from workbench.insight import modelled
from workbench.ir import Buffer, PrimFunc, dtypes
from workbench.ir.equal import structural_hash
from workbench.runtime.arguments import check_arguments, from_bits
from workbench.runtime.built import Built
from workbench.runtime.devices import DeviceReport
from workbench.runtime.job import Failed, Hello, Ran, Reply, Request, Time, Timed
from workbench.runtime.launching import Unit, job_of, worker
from workbench.runtime.sized import at_sizes
from workbench.runtime.worker import Worker, WorkerDied, WorkerTimeout
from workbench.target import Target
from workbench.tuning.record import Lines
from workbench.tuning.space import Candidate
from workbench.tuning.trial import Ended, How, Outcome, Status, checked_times

START_SECONDS = 60.0  # of a worker: a first import of CuPy from a slow disk
STARTS = 2
SECONDS = 10.0  # of a trial's run or timing: an endless loop costs as much, once
SAMPLES = 50
SAMPLED_SECONDS = 0.1  # at most, of a trial
SPREAD = 0.02
TOLERANCE = 1e-3  # of a sum in another order; the tutorials' own

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


class Measurer(Protocol):
    """Says how a candidate ends."""

    @property
    def device(self) -> str:
        """What its times are of."""

    def submit(self, candidate: Candidate) -> Outcome:
        """How the candidate ends: never by raising for what is wrong with it alone."""


class Local:
    """Runs candidates on the device of this machine, in the worker, and looks at what they make.

    What a candidate writes is compared to what `program` means on random numbers, before it is
    timed. A candidate that ends the worker, or takes longer than `seconds`, costs one trial: the
    next has a new worker. Raises DeviceError or Fail where the machine itself is at fault.
    """

    def __init__(
        self,
        program: PrimFunc,
        report: DeviceReport,
        unit: Unit,
        *,
        seconds: float = SECONDS,
        flush: bool = False,
        process: Worker | None = None,
    ) -> None:
        self.report = report
        self.device = report.which
        self._unit = unit
        self._seconds = seconds
        self._flush = flush
        self._worker = process or worker(unit)
        self._inputs = [_values(buffer, k) for k, buffer in enumerate(program.params)]
        self._wanted = [array.copy() for array in self._inputs]
        emulate.evaluate(program, self._wanted)

    def submit(self, candidate: Candidate) -> Outcome:
        """Run it once, compare, and take samples of its time."""
        built = candidate.kernel
        if built is None:
            return Outcome("constraints", "measured", (), candidate.reason)
        arrays = [array.copy() for array in self._inputs]
        arguments = check_arguments(built.func, arrays)
        job = job_of(built, at_sizes(built.func, built.kernels, built.target, arrays), arguments)
        self._start()
        ran = self._ask(job)
        if isinstance(ran, Outcome):
            return ran
        assert isinstance(ran, Ran)
        written = [k for k, argument in enumerate(arguments) if argument.written]
        for k, values in zip(written, ran.outputs, strict=True):
            wrong = self._wrong(built, k, from_bits(values, arguments[k]))
            if wrong:
                return Outcome("correctness", "measured", (), wrong)
        timed = self._ask(
            Time(job, flush=self._flush, samples=SAMPLES, seconds=SAMPLED_SECONDS, spread=SPREAD)
        )
        if isinstance(timed, Outcome):
            return timed
        assert isinstance(timed, Timed)
        return timed_outcome(timed.samples)

    def _start(self) -> None:
        """Have a worker that answers: what its start takes is none of the candidate's time.

        One that is ended meanwhile, by whom ever, is no candidate's fault either: once more.
        """
        for _ in range(STARTS):
            if self._worker.pid is not None:
                return
            try:
                reply = self._worker.ask(Hello(), START_SECONDS)
                break
            except (WorkerDied, WorkerTimeout) as error:
                why = str(error)
        else:
            raise self._machine("the worker did not start", why)
        if isinstance(reply, Failed) and self._unit == "GPU":  # a CPU's says that it has no GPU
            raise self._machine(reply.what, reply.message)

    def _machine(self, what: str, detail: str) -> Fail:
        """The error for what is no candidate's fault."""
        return Fail(
            f"Can't measure on {self.device}: {what}",
            detail=detail,
            hint="see wb.device(again=True); a search goes on from its record",
        )

    def _ask(self, request: Request) -> Reply | Outcome:
        """What the worker answers; an outcome where it failed for the candidate's fault."""
        try:
            reply = self._worker.ask(request, self._seconds)
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

    def _wrong(self, built: Built, k: int, got: np.ndarray[Any, Any]) -> str:
        """What is wrong in output `k`; "" where it is what the program means."""
        param = built.func.params[k]
        wrong = emulate.first_wrong(
            param.name, param.dtype, got, self._wanted[k], tolerance=TOLERANCE
        )
        if wrong is None:
            return ""
        cells = count_text(wrong.count, "wrong cell")
        return f"{wrong.cell} is {wrong.got}, not {wrong.want}: {cells}"


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


class ByModel:
    """Gives the modelled time of a candidate's kernels on a target, and calls it that."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.device = f"{target.title}, modelled"

    def submit(self, candidate: Candidate) -> Outcome:
        """The modelled time; a candidate that has none is refused with the reason."""
        if candidate.kernel is None:
            return Outcome("constraints", "modelled", (), candidate.reason)
        told = modelled(candidate.kernel.kernels, self.target)
        if told.us is None:
            return Outcome("constraints", "modelled", (), told.caption.rstrip("."))
        return Outcome("correct", "modelled", (told.us * 1e-6,))


class Replayed:
    """Gives what a record tells of a candidate's program, as it was measured or modelled then."""

    def __init__(self, lines: Lines) -> None:
        self.device = f"{lines.header.device}, recorded"
        self._known: dict[str, Ended] = {ended.trial.program: ended for ended in lines.ended}

    def submit(self, candidate: Candidate) -> Outcome:
        """The recorded outcome; a candidate that the record has not is refused."""
        known = self._known.get(structural_hash(candidate.schedule.func))
        if known is None:
            return Outcome("constraints", "recorded", (), "the record has no time of this program")
        outcome = known.outcome
        how: How = "modelled" if outcome.how == "modelled" else "recorded"
        return Outcome(outcome.status, how, outcome.times, outcome.reason)
