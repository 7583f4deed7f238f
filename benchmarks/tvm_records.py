"""What TVM's MetaSchedule records, and what it makes: ``python -m benchmarks.tvm_records``.

Writes tests/golden/tvm_records.jsonl, a line for each program of its spaces for a GPU and a CPU:
that of its database, and the program behind it; of one with a block to be moved, a line for each
place that is chosen for it; and one of a product by Tensor Cores. TVM 0.27 (development extra)
takes 20 s to begin.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tvm
from tvm.s_tir import Schedule, meta_schedule

from tests.tuning.programs import HALVES, RECTIFIED, WINDOWED
from workbench import script
from workbench.ir import PrimFunc

FILE = Path(__file__).parents[1] / "tests" / "golden" / "tvm_records.jsonl"
GPU = {"max_threads_per_block": 1024, "max_shared_memory_per_block": 49152}
TARGETS: dict[str, dict[str, Any]] = {
    "cuda": {"kind": "cuda", "arch": "sm_90", **GPU},
    "llvm": {"kind": "llvm", "num-cores": 4},
}
TENSOR_CORES = "cuda-tensorcore"  # of TVM's rules, those that no target has by itself


def records(
    kind: str, mod: Any, seed: int = 1, rules: Any = "post-order-apply"
) -> list[dict[str, str]]:
    """Each program of a space, with what MetaSchedule does to it after its choices."""
    target = tvm.target.Target(TARGETS[kind])
    context = meta_schedule.TuneContext(
        mod=mod, target=target, space_generator=rules, num_threads=1, rand_state=7
    )
    rows = []
    for made in context.generate_design_space():
        sch = Schedule(mod, seed=seed)
        made.trace.apply_to_schedule(sch, remove_postproc=True)
        sch.enter_postproc()
        for rewrite in context.space_generator.postprocs:
            rewrite.apply(sch)
        rows.append({"target": kind, "record": _line(sch, mod, target), "makes": sch.mod.script()})
    return rows


def _line(sch: Any, mod: Any, target: Any) -> str:
    """What a database has of a schedule."""
    with TemporaryDirectory() as folder:
        database = meta_schedule.database.JSONDatabase(work_dir=folder)
        arguments = meta_schedule.arg_info.ArgInfo.from_prim_func(mod["main"])
        workload = database.commit_workload(mod)
        database.commit_tuning_record(
            meta_schedule.database.TuningRecord(sch.trace, workload, [1e-5], target, arguments)
        )
        return (Path(folder) / "database_tuning_record.json").read_text().strip()


def _module(func: PrimFunc) -> Any:
    return tvm.IRModule({"main": tvm.script.from_source(script.show(func, dialect="tvm"))})


def _places(rows: list[dict[str, str]]) -> dict[str, dict[str, str]]:
    """A row for each of inline, where it is, and at a loop, as the traces decided."""
    found = {}
    for row in rows:
        (instructions, decisions), *_ = json.loads(row["record"])[1]
        kinds = {k: instructions[k][0] for k, _ in decisions}
        for k, decided in decisions:
            if kinds[k] == "SampleComputeLocation":
                found.setdefault(str(min(decided, 0)), row)
    return found


if __name__ == "__main__":
    rectified, windowed, halves = map(_module, (RECTIFIED, WINDOWED, HALVES))
    every = [row for kind in TARGETS for row in records(kind, rectified)]
    moved = [row for seed in range(1, 9) for row in records("llvm", windowed, seed)]
    every += [{**row, "of": "windowed"} for row in _places(moved).values()]
    rules = meta_schedule.space_generator.PostOrderApply(
        sch_rules=TENSOR_CORES, postprocs=TENSOR_CORES, mutator_probs=TENSOR_CORES
    )
    every.append({**records("cuda", halves, rules=rules)[0], "of": "halves"})
    FILE.write_text("".join(f"{json.dumps(row)}\n" for row in every))
