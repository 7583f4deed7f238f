"""tune_tir and compile_tir: tvm.meta_schedule.tir_integration."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from workbench import script, tuning
from workbench import target as targets
from workbench.ir import IRModule, PrimFunc
from workbench.runtime.building import function_of
from workbench.schedule import Schedule
from workbench.tvm.not_carried import refusing
from workbench.tvm.target import Target, TargetLike

__all__ = ["Database", "TuneConfig", "compile_tir", "tune_tir"]

Strategy = Literal["evolutionary", "replay-trace", "replay_trace"]
STRATEGIES: tuple[str, ...] = get_args(Strategy)
READY = "post-order-apply"  # TVM's name for the space that there is without one's own


@dataclass(frozen=True)
class TuneConfig:
    """How much is tried, as TVM 0.9 and 0.10 have it: trials in all, and in one batch."""

    max_trials_global: int = 64
    num_trials_per_iter: int = 64
    max_trials_per_task: int | None = None
    strategy: Strategy = "evolutionary"


class Database:
    """The winners of searches, by program and target; what was tried lies in `work_dir`."""

    def __init__(self, work_dir: Path) -> None:
        self.work_dir = work_dir
        self._best: dict[tuple[str, str], Schedule] = {}

    def commit(self, func: PrimFunc, target: str, best: Schedule) -> None:
        """Keep the winner of a search."""
        self._best[script.show(func), target] = best

    def query_schedule(
        self, mod: PrimFunc | IRModule, target: TargetLike, workload_name: str = "main"
    ) -> Schedule | None:
        """The winner for that program and target; None where it was not tuned."""
        key = script.show(function_of(mod, "look up")), Target(target).name
        found = self._best.get(key)
        return found.fork() if found else None


def tune_tir(
    mod: PrimFunc | IRModule,
    target: TargetLike,
    work_dir: str | None = None,
    max_trials_global: int | None = None,
    *,
    config: TuneConfig | None = None,
    num_trials_per_iter: int = 64,
    max_trials_per_task: int | None = None,
    space: Any = READY,
    strategy: Strategy = "evolutionary",
    task_name: str = "main",
    seed: int | None = None,
    num_threads: object = None,
) -> Database | Schedule:
    """Search for a fast schedule, as `wb.tune` does, with a record of it in `work_dir`.

    With a `config`, as in TVM 0.9, it returns the winner, else a Database of it. The same call goes
    on with the record that it finds. `space` is a ScheduleFn, or a function; else the ready one.
    Without a GPU the modelled time stands for the measured. Raises as `wb.tune` does.
    """
    most = 64 if max_trials_global is None else max_trials_global
    given = config or TuneConfig(most, num_trials_per_iter, max_trials_per_task, strategy)
    func = function_of(mod, "tune")
    _check(func.name, given.strategy, space)
    gpu = targets.get(Target(target).name)
    own = space if callable(space) else None
    folder = Path(work_dir or ".")
    best = tuning.tune(
        func,
        target=gpu,
        space=own,
        trials=_trials(given),
        per_batch=given.num_trials_per_iter,
        strategy="evolutionary" if given.strategy == "evolutionary" else "random",
        seed=seed or 0,
        record=_record(folder, task_name, func, gpu.name, own) if work_dir else None,
    )
    if config is not None:
        return best
    database = Database(folder)
    database.commit(func, gpu.name, best)
    return database


def compile_tir(
    database: Database, mod: PrimFunc | IRModule, target: TargetLike
) -> Schedule | None:
    """The schedule that a search found for `mod`; None where `database` has none."""
    return database.query_schedule(mod, target)


def _check(name: str, strategy: object, space: object) -> None:
    """TuneError for a strategy or a space that is none."""
    for what, asked, known in (
        ("strategy", strategy, STRATEGIES),
        ("space", space, (READY,)),
    ):
        if asked not in known and not (what == "space" and (asked is None or callable(asked))):
            own = " or a ScheduleFn" if what == "space" else ""
            raise tuning.TuneError(
                f"Can't tune {name}: there is no {what} {asked!r}"[:119],
                hint=f"give {what}={', '.join(map(repr, known))}{own}",
            )


def _trials(given: TuneConfig) -> int:
    """How many in all: there is one task."""
    most = given.max_trials_per_task
    return given.max_trials_global if most is None else min(given.max_trials_global, most)


def _record(folder: Path, name: str, func: PrimFunc, target: str, space: Any) -> Path:
    """A file for each search: lessons give one folder to all of theirs."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = f"{script.show(func)}\n{target}\n{tuning.name_of(space)}"
    key = hashlib.sha256(whole.encode()).hexdigest()[:8]
    return folder / f"{name}-{key}.jsonl"


__getattr__ = refusing(__name__)
