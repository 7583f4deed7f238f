"""Measurers: `submit(candidate)` says how it ends, here, by the model, or as a record has it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Protocol

from workbench.insight import modelled
from workbench.ir import PrimFunc
from workbench.ir.equal import structural_hash
from workbench.runtime.devices import DeviceReport
from workbench.runtime.launching import Unit, worker
from workbench.runtime.worker import Worker
from workbench.target import Target
from workbench.tuning.bench import SECONDS, Bench, Terms, job_for_bench
from workbench.tuning.record import Lines
from workbench.tuning.space import Candidate
from workbench.tuning.trial import Ended, How, Outcome

CORES_EACH = 4  # of a worker: one compiles, the others are the search's and its builders'
MOST_WORKERS = 4  # each holds half a gigabyte of a card


class Measurer(Protocol):
    """Says how a candidate ends.

    One that takes several candidates at a time says how many, as `side_by_side`.
    """

    @property
    def device(self) -> str:
        """What its times are of."""

    def submit(self, candidate: Candidate) -> Outcome:
        """How the candidate ends: never by raising for what is wrong with it alone."""


class Local:
    """Runs candidates on the device of this machine, in workers, and looks at what they make.

    What a candidate writes is compared to what `program` means on random numbers, before it is
    timed; `flush` empties the L2 cache ahead of each run that is timed. On a GPU, a kernel that is
    always the same is timed ahead of the first candidate and of every sixteenth: see `drift`. A
    candidate that ends the worker, or takes longer than `seconds`, costs one trial: the next has a
    new worker. Several workers compile at a time, and one at a time has the device. Raises
    DeviceError or Fail where the machine itself is at fault.
    """

    def __init__(
        self,
        program: PrimFunc,
        report: DeviceReport,
        unit: Unit,
        *,
        seconds: float = SECONDS,
        flush: bool = False,
        workers: Sequence[Worker] = (),
    ) -> None:
        self.report = report
        self.device = f"{report.which}, caches emptied" if flush else report.which
        self.workers = tuple(workers) or (worker(unit),)
        self.side_by_side = len(self.workers)
        terms = Terms(report.which, unit, seconds, flush)
        bench = Bench(program, terms, self.workers[0])
        self._free: SimpleQueue[Bench] = SimpleQueue()
        for process in self.workers:
            self._free.put(bench.beside(process))

    def submit(self, candidate: Candidate) -> Outcome:
        """Run it once, compare, and take samples of its time."""
        if candidate.kernel is None:
            return Outcome("constraints", "measured", (), candidate.reason)
        job = job_for_bench(candidate.kernel)
        bench = self._free.get()
        try:
            return bench.measure(job)
        finally:
            self._free.put(bench)


def workers_here(unit: Unit) -> list[Worker]:
    """The worker of a `unit`, and others beside it where there are cores to compile on.

    They end by themselves when nothing is asked of them.
    """
    cores = os.cpu_count() or 1
    more = min(cores // CORES_EACH, MOST_WORKERS) - 1 if unit == "GPU" else 0
    return [worker(unit), *(Worker() for _ in range(more))]


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
            why = candidate.reason or "the record has no time of this program"
            return Outcome("constraints", "recorded", (), why)
        outcome = known.outcome
        how: How = "modelled" if outcome.how == "modelled" else "recorded"
        return Outcome(outcome.status, how, outcome.times, outcome.reason)
