"""A computation to be made fast, and its search: tvm.auto_scheduler.search_task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

from workbench import script, te, tuning
from workbench import target as targets
from workbench.ir.equal import structural_hash
from workbench.runtime.building import build
from workbench.runtime.devices import device
from workbench.schedule import Schedule
from workbench.te import Tensor
from workbench.tuning import TuneError
from workbench.tvm.auto_scheduler.compute_dag import ComputeDAG
from workbench.tvm.auto_scheduler.cost_model import RandomModel
from workbench.tvm.auto_scheduler.measure import Runner
from workbench.tvm.auto_scheduler.measure_record import RecordToFile
from workbench.tvm.auto_scheduler.search_policy import SketchPolicy
from workbench.tvm.auto_scheduler.stages import NoStages, as_stages
from workbench.tvm.auto_scheduler.workload_registry import Workload, workload
from workbench.tvm.not_carried import refusing
from workbench.tvm.target import Target, TargetLike

__all__ = ["SearchTask", "TuningOptions"]


@dataclass(frozen=True)
class TuningOptions:
    """How much is tried, `num_measures_per_round` at a time, and where it is written.

    `verbose` above 0 says what the times of a search are.
    """

    num_measure_trials: int = 0
    num_measures_per_round: int = 64
    verbose: int = 1
    runner: Runner | Literal["local"] = "local"
    measure_callbacks: Sequence[RecordToFile] = ()


class SearchTask:
    """The program of the tensors that `func` makes of `args`, for `target`.

    `func` may be the name of a function that was registered. `compute_dag` prints the graph, and
    `func` of the task is the program that is searched for, a PrimFunc.
    """

    def __init__(
        self, func: str | Workload, args: Sequence[Any], target: TargetLike | None = None
    ) -> None:
        self.tensors = list(workload(func)(*args))
        self.compute_dag = ComputeDAG(self.tensors)
        self.func = te.create_prim_func(self.tensors)
        asked = target or Target.current(allow_none=False)
        assert asked is not None
        self.target = targets.get(Target(asked).name)

    def tune(
        self, tuning_options: TuningOptions, search_policy: SketchPolicy | None = None
    ) -> None:
        """Search as `wb.tune` does. The same call goes on with the record that it finds.

        With a policy that has preloaded the record, so many trials come on top of those that are
        there. Raises as `wb.tune` does, and TuneError where the record that is preloaded is not
        the one that is written.
        """
        policy = search_policy or SketchPolicy(self)
        record = next((one.filename for one in tuning_options.measure_callbacks), None)
        trials = tuning_options.num_measure_trials + _before(policy.preloaded, record)
        if tuning_options.verbose > 0:
            print(f"{trials} trials, {_how(self.target)}")
        tuning.tune(
            self.func,
            target=self.target,
            trials=trials,
            record=record,
            strategy="random" if isinstance(policy.model, RandomModel) else "evolutionary",
            seed=policy.seed,
            per_batch=tuning_options.num_measures_per_round,
        )

    def apply_best(self, log_file: str) -> tuple[Schedule, list[Tensor]]:
        """The schedule of the fastest trial of a record, and the tensors of the task.

        The schedule is a `wb.Schedule`, which `tvm.lower` and `tvm.build` take, with its steps and
        its lab. Raises RecordError where the file is no record, or of another program or target,
        and TuneError where no trial of it is correct.
        """
        return self._best(log_file), self.tensors

    def print_best(self, log_file: str, print_mode: str = "schedule") -> str:
        """The fastest of a record as Python ("schedule") or as CUDA ("cuda").

        The Python are calls on the stages of ``s = te.create_schedule(…)``, in which each tensor
        goes by its name. Where a schedule has no such form, it is that of a `wb.Schedule`, and
        says so. Raises ValueError for another mode, else as `apply_best` does.
        """
        if print_mode not in ("schedule", "cuda"):
            raise ValueError(f'print_mode is "schedule" or "cuda", not {print_mode!r}')
        best = self._best(log_file)
        if print_mode == "cuda":
            return build(best, self.target).source
        try:
            return as_stages(best, self.tensors)
        except NoStages as why:
            return f"# It has no form in stages: {why}.\n# Its steps:\n{best.trace.as_python()}"

    def _best(self, log_file: str) -> Schedule:
        """The fastest of a record that the ready space still makes of its decisions."""
        lines, name = tuning.read(log_file), Path(log_file).name
        for what, own in (("program", script.show(self.func)), ("target", self.target.name)):
            if getattr(lines.header, what) != own:
                raise tuning.RecordError(
                    f"Can't apply {name}: it is of another {what} than this task's"[:119],
                    hint="give the file that this task's search has written",
                )
        space = tuning.ready(self.target)
        for ended in sorted(lines.ended, key=lambda ended: ended.seconds):
            if ended.outcome.status != "correct":
                break
            trial = ended.trial
            made = tuning.candidate(self.func, space, self.target, trial.decisions, Random(0))
            if made.kernel and structural_hash(made.schedule.func) == trial.program:
                return made.schedule
        raise TuneError(
            f"Can't apply {name}: none of its {len(lines.trials)} trials is correct"[:119],
            hint="search on: task.tune(…), with more num_measure_trials",
        )


def _before(preloaded: Sequence[str], record: str | None) -> int:
    """How many trials are there already of those that a search goes on with."""
    for filename in preloaded:
        if filename != record:
            raise TuneError(
                f"Can't go on with {filename}: what is tried is written elsewhere"[:119],
                hint=f"write it there: measure_callbacks=[RecordToFile({filename!r})]",
            )
    return len(tuning.read(preloaded[0]).ended) if preloaded else 0


def _how(target: targets.Target) -> str:
    """What the times of a search are."""
    here = device()
    if target.is_cpu:
        return "measured on this machine's CPU"
    if here.is_gpu and target.kind == "cuda":
        return f"measured on {here.which}"
    return f"modelled: {here.why}"


__getattr__ = refusing(__name__)
