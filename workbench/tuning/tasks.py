"""tune_tasks: several programs share the trials of one search, where most is to be gained.

As a network's time is the sum of its operators', each as often as it occurs, the next batch goes to
the program whose batch is expected to take most off that sum: the gradient of Ansor's task
scheduler (L. Zheng et al., OSDI 2020, section 6) without its guess from similar tasks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from math import inf, isfinite
from numbers import Real
from pathlib import Path
from typing import TypeAlias

from workbench import target as targets
from workbench.diag import count_text
from workbench.ir import IRModule, PrimFunc
from workbench.runtime.building import function_of
from workbench.runtime.devices import device
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.tuning.builders import Processes, useful
from workbench.tuning.measure import Measurer, workers_here
from workbench.tuning.record import RecordError
from workbench.tuning.run import (
    PER_BATCH,
    How,
    Line,
    Progress,
    Searching,
    Stopped,
    TuneError,
    check,
    measurer_of,
    nothing,
    searching,
)
from workbench.tuning.search import Strategy
from workbench.tuning.space import Space
from workbench.tuning.trial import Ended, best_of
from workbench.tuning.tried import Tuned

Told: TypeAlias = Callable[[int, Progress], object]

FROM_BEFORE = 0.2  # Ansor's share of what the last batch gained, beside the hope for the next
PATIENCE = 3  # batches of a program of which nothing is correct, until the others come first


def tune_tasks(
    programs: Sequence[PrimFunc | IRModule | Schedule],
    *,
    weights: Sequence[float] | None = None,
    target: str | Target | None = None,
    space: Space | None = None,
    trials: int = 256,
    folder: str | Path | None = None,
    strategy: Strategy = "evolutionary",
    seed: int = 0,
    per_batch: int = PER_BATCH,
    measurers: Sequence[Measurer] | None = None,
    flush: bool = False,
    progress: Told | None = None,
) -> list[Tuned | None]:
    """Search for the fastest schedules of several programs, with `trials` in all; returns them.

    Each program first has a batch of trials, or its share where there are fewer. From then on the
    next batch goes to the program with the most to gain: what its last batch gained and what more
    could, in seconds, times its weight: how often it runs, once unless `weights` has a number for
    each. None stands for a program of which nothing was correct.

    `folder` keeps a record for each program, by which the same call goes on where it was stopped.
    `measurers`, one for each program, measure in the place of the device here. `progress` is called
    after each trial with the program's place in `programs` and where its search stands, and ends
    the search by raising `tuning.Stopped`. The other arguments are those of `tune`.

    Raises TuneError for arguments that say no search, and where nothing is correct of any program;
    RecordError for records of another search.

    >>> asked = {"target": "nvidia/h200", "trials": 4, "per_batch": 1}
    >>> best = tuning.tune_tasks([add, add], weights=[1, 3], **asked)
    >>> [len(one.tried.lines.outcomes) for one in best]
    [1, 3]
    """
    if isinstance(programs, PrimFunc | IRModule | Schedule):
        raise TuneError("Can't tune: this is one program", hint="give a list: [program]")
    funcs = [function_of(program, "tune") for program in programs]
    weights = [1.0] * len(funcs) if weights is None else list(weights)
    _check(funcs, weights, measurers)
    for func in funcs:
        check(trials, per_batch, strategy, seed, func)
    if trials < len(funcs):
        raise TuneError(
            f"Can't tune {len(funcs)} programs with {count_text(trials, 'trial')}",
            hint=f"give each at least one: trials={len(funcs)} or more",
        )
    how = How(targets.get(target) if target is not None else device().target, space, strategy, seed)
    workers = () if measurers or how.target.is_cpu else workers_here("GPU")
    line = Line()
    with ExitStack() as opened:
        processes = opened.enter_context(closing(Processes(useful(trials))))
        tasks: list[Searching] = []
        for k, func in enumerate(funcs):
            own = measurers[k] if measurers else measurer_of(func, how.target, flush, workers)
            record = _record(folder, k, func)
            tasks.append(
                opened.enter_context(searching(func, how, own, record, per_batch, processes))
            )
        told: Told = progress or _as_one(line, tasks, trials)
        with suppress(Stopped), line:
            _run(tasks, weights, trials, per_batch, told)
        winners = [(one.winner(), one.tried) for one in tasks]
    if not any(best for best, _ in winners):
        nothing(funcs[0].name, space, tasks[0].record)
    return [Tuned.of(best, tried) if best else None for best, tried in winners]


def expected_gain(ended: Sequence[Ended], per_batch: int) -> float:
    """Seconds that the next batch of a program is expected to take off one run of it.

    `ended` are its trials so far, in their order. Before the first batch there is no telling, and
    all is to be gained.
    """
    now, before = best_of(ended), best_of(ended[:-per_batch])
    if now is None:
        return inf if len(ended) < PATIENCE * per_batch else 0.0
    gained = before.seconds - now.seconds if before else now.seconds
    hoped = now.seconds * per_batch / len(ended)
    return FROM_BEFORE * gained + (1 - FROM_BEFORE) * hoped


def _run(
    tasks: Sequence[Searching],
    weights: Sequence[float],
    trials: int,
    per_batch: int,
    told: Told,
) -> None:
    """Batch after batch, first those that were begun, until `trials` ended or no space has more."""
    for k, task in enumerate(tasks):
        while task.written:
            task.batch(0, lambda progress, k=k: told(k, progress))  # type: ignore[misc]
    more = dict(enumerate(tasks))
    while more and (left := trials - sum(len(task.done) for task in tasks)) > 0:
        new = [k for k, task in more.items() if not task.done]
        k = (
            new[0]
            if new
            else max(more, key=lambda k: weights[k] * expected_gain(more[k].done, per_batch))
        )
        wanted = len(more[k].done) + min(per_batch, left // max(len(new), 1))
        if not more[k].batch(wanted, lambda progress, k=k: told(k, progress)):  # type: ignore[misc]
            del more[k]


def _as_one(line: Line, tasks: Sequence[Searching], trials: int) -> Told:
    """What tells a terminal of all of them."""

    def told(task: int, progress: Progress) -> None:
        count = sum(len(one.record.lines.outcomes) for one in tasks)
        line(replace(progress, count=count, of=max(trials, count)))

    return told


def _record(folder: str | Path | None, k: int, func: PrimFunc) -> Path | None:
    """Where the record of a program is: by its place and its name, which others may have too."""
    if folder is None:
        return None
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(
            f"Can't keep records in {Path(folder).name}: {error.strerror}"[:119],
            hint="give the path of a folder that can be written: folder=…",
        ) from None
    return Path(folder) / f"{k}_{re.sub(r'[^A-Za-z0-9_]', '_', func.name)}.jsonl"


def _check(
    funcs: Sequence[PrimFunc], weights: Sequence[float], measurers: Sequence[Measurer] | None
) -> None:
    if not funcs:
        raise TuneError("Can't tune: there is no program", hint="give a list of them")
    for name, given in (("weights", weights), ("measurers", measurers)):
        if given is not None and len(given) != len(funcs):
            raise TuneError(
                f"Can't tune {len(funcs)} programs: there are {len(given)} {name}",
                hint=f"give one for each program, or leave {name} out",
            )
    for weight in weights:
        if (
            isinstance(weight, bool)
            or not isinstance(weight, Real)
            or not (isfinite(weight) and weight > 0)
        ):
            raise TuneError(
                f"Can't tune: a weight of {weight!r} is no number of times"[:119],
                hint="give how often each program runs, a number above 0",
            )
