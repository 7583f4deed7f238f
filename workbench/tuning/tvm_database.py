"""tvm_database: a winner as a Python file that enters it in the database of TVM's MetaSchedule.

TVM's two files hold its own binary form of a program, which nothing but TVM writes: so TVM does.
"""

from __future__ import annotations

from numbers import Real
from pathlib import Path

from workbench import target as targets
from workbench.history.tvm_file import tvm_file
from workbench.history.write_whole import write_whole
from workbench.schedule import Schedule, ScheduleError
from workbench.target import Target
from workbench.tuning.trial import checked_times

_ENTERED = """
# MetaSchedule's database in the folder of this file: a program, its steps, and how long it took.
from pathlib import Path

from tvm.s_tir import meta_schedule as ms

database = ms.database.JSONDatabase(work_dir=str(Path(__file__).parent))
workload = database.commit_workload(Program)
target = tvm.target.Target({target})
arguments = ms.arg_info.ArgInfo.from_prim_func(Program["{function}"])
entered = ms.database.TuningRecord(sch.trace, workload, [{seconds!r}], target, arguments)
database.commit_tuning_record(entered)
"""


def tvm_database(best: Schedule, target: str | Target, seconds: float, path: str | Path) -> None:
    """Write a file that takes the steps of `best` with apache-tvm 0.27 and enters them there.

    Run there, it makes or adds to ``database_workload.json`` and ``database_tuning_record.json``
    beside it, with `seconds` of a run on `target`; `ms.database.JSONDatabase` then finds the steps.
    Raises ScheduleError where TVM has no call for a step, or takes it in another way, for a target
    that is neither of CUDA nor a CPU, and for what is no time; NotWritten, an OSError, where the
    file can't be written.

    >>> sch.unroll("i")
    >>> tuning.tvm_database(sch, "nvidia/h100", 2e-6, "enter.py")
    """
    target = targets.get(target)
    if not target.is_cpu and target.kind != "cuda":
        raise ScheduleError(
            f"Can't enter this for TVM: {target.name} is neither a GPU of CUDA nor a CPU",
            hint="give the target that the seconds were measured on",
        )
    number = isinstance(seconds, Real) and not isinstance(seconds, bool)
    if wrong := checked_times((seconds,)) if number else f"{seconds!r} is no number":
        raise ScheduleError(
            f"Can't enter this for TVM: {wrong}"[:119], hint="give the seconds of one run"
        )
    kind = '{"kind": "llvm"}' if target.is_cpu else f'{{"kind": "cuda", "arch": "{target.arch}"}}'
    entered = _ENTERED.format(target=kind, function=best.func.name, seconds=float(seconds))
    write_whole(path, tvm_file(best.node) + entered)
