"""tune: search for a fast schedule, trial by trial, and go on with a search that was stopped."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import NoReturn, Self, TextIO

from workbench import script
from workbench import target as targets
from workbench.diag import Fail, count_text
from workbench.insight.launched import rates_of
from workbench.ir import IRModule, PrimFunc
from workbench.runtime.building import function_of
from workbench.runtime.devices import DeviceReport, cpu, device
from workbench.runtime.timing import in_digits
from workbench.runtime.worker import Worker
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.tuning.builders import Builders, Processes, useful
from workbench.tuning.learnt import MODELLED, ranking
from workbench.tuning.measure import ByModel, Local, Measurer, workers_here
from workbench.tuning.ready import ready
from workbench.tuning.record import Header, Record
from workbench.tuning.score import is_of
from workbench.tuning.search import STRATEGIES, Made, Search, Strategy
from workbench.tuning.space import Candidate, Space
from workbench.tuning.trial import Ended, Outcome, Trial, best_of, checked_times
from workbench.tuning.tried import Tried, Tuned, watching
from workbench.version import __version__

PER_BATCH = 32
MODEL = "nvidia/h200"  # where neither the target nor a GPU here has rates, as in the lab


class TuneError(Fail, ValueError):
    """A search that cannot be begun, or that found nothing."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a search stands after a trial: how many ended `of` all, the last, and the best.

    `candidate` is that of the last trial.
    """

    count: int
    of: int
    last: Ended
    best: Ended | None
    candidate: Candidate


class Stopped(Exception):
    """Raised by what hears of the progress: the search ends, with all that it has."""


def tune(
    program: PrimFunc | IRModule | Schedule,
    *,
    target: str | Target | None = None,
    space: Space | None = None,
    trials: int = 64,
    record: str | Path | None = None,
    strategy: Strategy = "evolutionary",
    seed: int = 0,
    per_batch: int = PER_BATCH,
    measurer: Measurer | None = None,
    flush: bool = False,
    progress: Callable[[Progress], object] | None = None,
) -> Tuned:
    """Search for the fastest schedule of `program` that `trials` trials find; returns it.

    It is a Schedule like any other, and its `tried` are all trials, as `tuning.show` shows them. In
    a notebook they are shown as they end, with a button that stops the search, and so does an
    interrupt: what was found so far is returned.

    `space` takes steps on a Schedule with sampled choices; without one it is the ready space, of
    tiles, shared memory and threads. `target` is, where it is left out, the device here. Candidates
    are run, compared to what the program means, and timed in the worker of the device; where there
    is none, the modelled time stands for it, and each line says so. `measurer` does it in their
    place. `flush` empties the L2 cache ahead of each run that is timed, as a kernel finds it that
    runs once; without it, data that fits stays there.

    `record` is a file to which each trial is written before it is measured, and its outcome after:
    the same call goes on where the search was stopped, with more `trials` where it asks for more.
    `progress` is called after each trial, and ends the search by raising `tuning.Stopped`; without
    it, a terminal shows a line.

    Raises TuneError where no candidate is correct, and for arguments that say no search;
    RecordError for a record of another search.

    >>> def space(sch):
    ...     outer, inner = sch.split("i", factors=sch.sample_perfect_tile("i", n=2))
    ...     sch.bind(outer, "blockIdx.x")
    ...     sch.bind(inner, "threadIdx.x")
    >>> best = wb.tune(add, space=space, target="nvidia/h200", trials=3, progress=lambda done: None)
    >>> best.trace.steps[0].verb
    'sample_perfect_tile'
    """
    func = function_of(program, "tune")
    check(trials, per_batch, strategy, seed, func)
    how = How(targets.get(target) if target is not None else device().target, space, strategy, seed)
    measurer = measurer or measurer_of(func, how.target, flush)
    with (
        closing(Processes(useful(trials))) as processes,
        searching(func, how, measurer, record, per_batch, processes) as one,
    ):
        tried = one.tried
        watch = progress or watching(tried, trials) or Line()
        seen = watch if isinstance(watch, AbstractContextManager) else nullcontext()
        with suppress(Stopped), seen:
            while one.batch(trials, watch):
                pass
        best = one.winner()
    if best is None:
        nothing(func.name, space, one.record)
    return Tuned.of(best, tried)


@dataclass(frozen=True, slots=True)
class How:
    """What all searches of a call have in common."""

    target: Target
    space: Space | None
    strategy: Strategy
    seed: int

    def __post_init__(self) -> None:
        if self.space is not None and not callable(self.space):
            raise TuneError(
                f"Can't search {self.space!r}: a space is a function"[:119],
                hint="give one that takes steps on a Schedule, or leave it out for the ready one",
            )


@contextmanager
def searching(
    func: PrimFunc,
    how: How,
    measurer: Measurer,
    record: str | Path | None,
    per_batch: int,
    processes: Processes,
) -> Iterator[Searching]:
    """A search of `func` that has its record open, and `processes` that build for it."""
    gpu, model = how.target, _model(measurer, how.target)
    builders = Builders(func, how.space, gpu, model, processes)
    space = how.space or ready(gpu)
    search = Search(func, space, gpu, model, how.strategy, how.seed, builders)
    with closing(Record(record, _header(search, how.space, measurer, per_batch))) as kept:
        yield Searching(search, kept, measurer)


class Searching:
    """A search that goes on batch by batch, with its record and its measurer."""

    def __init__(self, search: Search, record: Record, measurer: Measurer) -> None:
        self.search = search
        self.record = record
        self.measurer = measurer
        self.tried = Tried(search, record.lines, lambda: measurer)
        self._number = 0

    @property
    def written(self) -> list[Trial]:
        """The trials of the next batch, of a search that was stopped: () where it is a new one."""
        return self.record.lines.batch(self._number)

    @property
    def done(self) -> list[Ended]:
        """The trials of the batches before."""
        return [ended for ended in self.record.lines.ended if ended.trial.batch < self._number]

    def batch(self, trials: int, told: Callable[[Progress], object]) -> bool:
        """The next batch; False where `trials` trials ended, or the space has no more."""
        lines, done = self.record.lines, self.done
        if not self.written and len(done) >= trials:
            return False
        made = _batch(self.search, self.record, self._number, trials - len(done), done)
        if not made:
            return False
        todo = [(trial, one) for trial, one in made if trial.number not in lines.outcomes]
        with closing(_ended(self.measurer, _built_ahead(self.search, todo))) as measured:
            for ended, candidate in measured:
                self.record.append([ended])
                count, of = len(lines.outcomes), max(trials, len(lines.trials))
                told(Progress(count, of, ended, best_of(lines.ended), candidate))
        self._number += 1
        return True

    def winner(self) -> Schedule | None:
        """The schedule of the fastest: of those that the space makes, whatever a record claims."""
        for ended in _correct(self.record):
            candidate = self.search.candidate(ended.trial.decisions)
            if candidate.kernel is not None and is_of(candidate, ended.trial):
                return candidate.schedule
        return None


def _ended(
    measurer: Measurer, built: Iterator[tuple[Trial, Candidate]]
) -> Generator[tuple[Ended, Candidate], None, None]:
    """Trials as they end, as many at a time as the measurer takes.

    Whoever leaves does not wait for those that are measured then: they have no outcome yet.
    """
    many = getattr(measurer, "side_by_side", 1)
    if many == 1:  # in this thread, where an interrupt reaches what is waited for
        for trial, candidate in built:
            yield Ended(trial, _submitted(measurer, trial, candidate)), candidate
        return
    pool = ThreadPoolExecutor(many, "measures")
    running: dict[Future[Outcome], tuple[Trial, Candidate]] = {}
    try:
        for trial, candidate in built:
            running[pool.submit(_submitted, measurer, trial, candidate)] = trial, candidate
            if len(running) == many:
                yield from _first(running)
        while running:
            yield from _first(running)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _first(
    running: dict[Future[Outcome], tuple[Trial, Candidate]],
) -> Iterator[tuple[Ended, Candidate]]:
    """Those that end first, taken out of what is `running`, by their numbers.

    What a fault of the machine ended comes last: it is raised, and the others are kept.
    """
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in sorted(done, key=lambda one: (bool(one.exception()), running[one][0].number)):
        trial, candidate = running.pop(future)
        yield Ended(trial, future.result()), candidate


def _built_ahead(
    search: Search, todo: Sequence[tuple[Trial, Made]]
) -> Iterator[tuple[Trial, Candidate]]:
    """Trials with their candidates, of which the next is built while one is measured."""
    with ThreadPoolExecutor(1, "builds ahead") as pool:
        ahead: Future[Candidate] | None = None
        for k, (trial, made) in enumerate(todo):
            if not isinstance(made, Candidate):
                made = ahead.result() if ahead else search.candidate(trial.decisions, made)
            ahead = None
            if k + 1 < len(todo):
                following, known = todo[k + 1]
                if not isinstance(known, Candidate):
                    ahead = pool.submit(search.candidate, following.decisions, known)
            yield trial, made


def _batch(
    search: Search, record: Record, number: int, left: int, done: Sequence[Ended]
) -> list[tuple[Trial, Made]]:
    """The trials of a batch, as they were written, and those that are missing, now written, too."""
    lines = record.lines
    written = lines.batch(number)
    per_batch = lines.header.per_batch
    size = min(written[0].of, per_batch) if written else min(per_batch, left)
    if len(written) >= size:
        return [(trial, None) for trial in written]
    before = [refusal for refusal in lines.refused.values() if refusal.batch < number]
    chosen, refused = search.batch(number, size, done, before)
    there = {trial.number for trial in written} | {trial.decisions for trial in written}
    new = [
        (trial, made)
        for trial, made in chosen
        if trial.number not in there and trial.decisions not in there
    ]
    told = [one for one in refused if one.decisions not in lines.refused]  # before a kill
    record.append([*told, *(trial for trial, _ in new)])
    return [*((trial, None) for trial in written), *new]


def _submitted(measurer: Measurer, trial: Trial, candidate: Candidate) -> Outcome:
    """How the trial ends: refused where the space makes another program of its decisions now."""
    if not is_of(candidate, trial):
        why = candidate.reason or "the space makes another program of these decisions now"
        return Outcome("constraints", "recorded", (), why)
    outcome = measurer.submit(candidate)
    wrong = checked_times(outcome.times) if outcome.status == "correct" else ""
    return Outcome("runtime", outcome.how, (), wrong, outcome.yardstick) if wrong else outcome


def _correct(record: Record) -> list[Ended]:
    """The correct trials, the fastest first, of those that are as fast the first."""
    correct = [ended for ended in record.lines.ended if ended.outcome.status == "correct"]
    return sorted(correct, key=lambda ended: ended.seconds)


def measurer_of(
    func: PrimFunc, target: Target, flush: bool = False, workers: Sequence[Worker] = ()
) -> Measurer:
    """The device here, where it is one of `target`; else the model, by which caches are warm."""
    if target.is_cpu:
        return Local(func, cpu(), "CPU", flush=flush)
    report: DeviceReport = device()
    if report.is_gpu and target.kind == "cuda":
        return Local(func, report, "GPU", flush=flush, workers=workers or workers_here("GPU"))
    return ByModel(model_target(target))


def model_target(target: Target) -> Target:
    """The GPU whose times are modelled for a target: itself, where it is known how fast it is."""
    return target if rates_of(target) else targets.get(MODEL)


def _model(measurer: Measurer, target: Target) -> Target:
    """The GPU whose modelled times rank candidates: the one that is measured, if that is told."""
    if isinstance(measurer, ByModel):
        return measurer.target
    report: DeviceReport | None = getattr(measurer, "report", None)
    return report.target if report else target


def _header(search: Search, space: Space | None, measurer: Measurer, per_batch: int) -> Header:
    report = getattr(measurer, "report", None)
    gpu = report.gpu if report else None
    compiler = f"CuPy {gpu.cupy}" if gpu else ""
    if report and report.compiler:
        compiler = report.compiler.version
    return Header(
        program=script.show(search.program),
        space=name_of(space),
        target=search.target.name,
        device=measurer.device,
        driver=gpu.driver if gpu else "",
        compiler=compiler,
        code=__version__,
        strategy=search.strategy,
        seed=search.seed,
        per_batch=per_batch,
        ranking=ranking() if search.strategy == "evolutionary" else MODELLED,
    )


def name_of(space: Space | None) -> str:
    """A space by its name and a hash of its text, where that can be had; without one the ready."""
    if space is None:
        return "ready"
    name = getattr(space, "__name__", type(space).__name__)
    try:
        text = inspect.getsource(inspect.unwrap(space))
    except (OSError, TypeError):
        return name
    return f"{name} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def check(
    trials: object, per_batch: object, strategy: object, seed: object, func: PrimFunc
) -> None:
    for name, number, least in (
        ("trials", trials, 1),
        ("per_batch", per_batch, 1),
        ("seed", seed, 0),
    ):
        if type(number) is not int or not least <= number < 2**63:
            raise TuneError(
                f"Can't tune {func.name}: {name}={number!r} is no count"[:119],
                hint=f"give a whole number from {least}: {name}={max(least, 64)}",
            )
    if strategy not in STRATEGIES:
        raise TuneError(
            f"Can't tune {func.name}: there is no strategy {strategy!r}"[:119],
            hint=f"there are: {', '.join(STRATEGIES)}",
        )
    if func.sizes:
        raise TuneError(
            f"Can't tune {func.name}: its shapes have sizes that only a call tells",
            hint='give them numbers: func.specialize({"n": 1024})',
        )


def nothing(name: str, space: Space | None, record: Record) -> NoReturn:
    """Raise TuneError, which says why a search has no winner."""
    if _correct(record):
        raise TuneError(
            f"Can't tune {name}: its space makes another program of the same decisions"[:119],
            detail="no correct trial can be made again, so there is nothing to hand back",
            hint="let it choose by sch.sample_categorical and its like alone, not by random",
        )
    why, count = _commonest(record)
    do = "widen the space" if space else "give a space of your own, space=…"
    raise TuneError(
        f"Can't tune {name}: none of {count_text(count, 'candidate')} is correct"[:119],
        detail=f"most often: {why}",
        hint=f"{do}, or try one candidate by hand to see where it fails",
    )


def _commonest(record: Record) -> tuple[str, int]:
    """The reason that most of the candidates failed for, and how many candidates there were."""
    lines = record.lines
    reasons = [e.outcome.reason for e in lines.ended] + [r.reason for r in lines.refused.values()]
    return max(reasons, key=reasons.count, default="the space made none"), len(reasons)


class Line:
    """One line of a terminal that says how far a search is, at most four times a second."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out or sys.stderr
        self.shown = self.start = monotonic()
        self.wrote = False

    def __call__(self, progress: Progress) -> None:
        now = monotonic()
        if not self.out.isatty() or (now - self.shown < 0.25 and progress.count < progress.of):
            return
        self.shown, self.wrote = now, True
        best = progress.best
        fastest = (
            f"{in_digits(best.seconds * 1e6, 3)} µs {best.outcome.how}" if best else "none yet"
        )
        left = (now - self.start) / progress.count * (progress.of - progress.count)
        self.out.write(
            f"\rtrial {progress.count} of {progress.of}; best {fastest}; about {left:.0f} s left "
        )
        self.out.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the line as it is."""
        if self.wrote:
            self.out.write("\n")
