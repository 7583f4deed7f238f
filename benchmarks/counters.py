"""What a GPU counts of kernels, by NVIDIA's ``ncu``: requests, sectors, wavefronts, registers.

One process launches all kernels, each once; ``ncu`` runs each several times, as its counters do
not fit together. Clocks are left as they are.
"""

from __future__ import annotations

import csv
import json
import pickle
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path

import workbench as wb
from benchmarks.convolutions import lesson_large, lesson_small
from benchmarks.histories import histories, large
from benchmarks.matmuls import ahead_large, large_branches, slow
from benchmarks.sanitize import cuda_tool
from benchmarks.steps import Results, Step, steps
from benchmarks.vendor import nvidia_smi
from benchmarks.worse import worse
from workbench import insight
from workbench.insight import recorded
from workbench.insight.recorded import kernel_key
from workbench.runtime.gpu import CupyBackend
from workbench.runtime.job import Failed, Run
from workbench.runtime.launching import job_of
from workbench.runtime.recorded import program_key
from workbench.runtime.sized import at_sizes

_BY_INSTRUCTIONS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op"
COUNTERS = {
    "global load requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global load sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global store requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global store sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared load requests": "smsp__inst_executed_op_shared_ld_pred_on_any.sum",
    "shared load wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared store requests": "smsp__inst_executed_op_shared_st_pred_on_any.sum",
    "shared store wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared load wavefronts, by instructions": f"{_BY_INSTRUCTIONS}_ld.sum",
    "shared store wavefronts, by instructions": f"{_BY_INSTRUCTIONS}_st.sum",
    "local load requests": "smsp__inst_executed_op_local_ld.sum",
    "local store requests": "smsp__inst_executed_op_local_st.sum",
    "instructions": "smsp__inst_executed.sum",
    "L2 sectors": "lts__t_sectors.sum",
    "memory sectors read": "dram__sectors_read.sum",
    "memory sectors written": "dram__sectors_write.sum",
    "registers": "launch__registers_per_thread",
    "occupancy, most (%)": "sm__maximum_warps_per_active_cycle_pct",
    "occupancy, there (%)": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "nanoseconds": "gpu__time_duration.sum",
}
# Of asynchronous copies: their names differ from one GPU to the next
_ASYNC = re.compile(
    r"(smsp__inst_executed_op|(smsp__sass_)?l1tex_+(t_req|t_sec|data))\w*_ldgsts\w*"
)
PROCESSES = 8  # that compile
SECONDS = 80.0  # for the launches under ncu
FEW_THREADS, MOST_WORK = 2**14, 2**20  # operations of each: with more, a run may take a second


def counters(log: Path) -> Results:
    """Counters of all kernels of the lessons' histories, and of worse ones; ncu writes `log`."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "jobs")
        rows, jobs = [], []
        for step in (*worse(), *steps(_lessons())):
            if step.built is not None and not takes_long(step):
                rows.append(_rows(step))
                jobs.append(_job(step))
        listed.write_bytes(pickle.dumps(jobs))
        _compile(listed)
        told = _counted(listed, log)
        counted = parse(log.read_text())
    launched = [row for of_step in rows[: told["programs"]] for row in of_step]
    if len(counted) != len(launched):
        raise RuntimeError(f"{len(launched)} kernels were launched, {len(counted)} counted")
    kernels = [row | {"counted": c} for row, c in zip(launched, counted, strict=True)]
    left_out = [row["label"] for of_step in rows[told["programs"] :] for row in of_step]
    known = {key: told[key] for key in ("compiler", "cupy")}
    known["driver"] = nvidia_smi("driver_version")
    return {**known, "counters": COUNTERS, "kernels": kernels, "left out": left_out}


SHIPPED = (
    *(f"{scope} {what} requests" for scope in ("global", "shared") for what in ("load", "store")),
    *(f"global {what} sectors" for what in ("load", "store")),
    *(f"shared {what} wavefronts" for what in ("load", "store")),
    *(f"local {what} requests" for what in ("load", "store")),
)
"""The counters that `workbench.insight.recorded` keeps, beside registers."""


def shipped(found: Results) -> str:
    """What is installed of `counters`, with device, architecture and date."""
    known = {key: found[key] for key in ("device", "arch", "compiler", "date")}
    kernels = {
        k["kernel"]: recorded.Counted(
            **known, registers=k["counted"]["registers"], numbers=_shipped(k["counted"])
        )
        for k in found["kernels"]
    }
    return recorded.to_json(kernels)


def _shipped(counted: dict[str, int]) -> dict[str, int | None]:
    """Stores that copy asynchronously have counters of their own; no one has their wavefronts.

    Wavefronts are those of instructions: in those of the memory are waits for what loads bring,
    too, up to 6 % more, differently in each run. Matrices, loaded at once, are only in the latter.
    """
    numbers = {name: counted.get(name) for name in SHIPPED}
    for name in ("shared load wavefronts", "shared store wavefronts"):
        numbers[name] = counted.get(f"{name}, by instructions") or numbers[name]
    if counted.get("smsp__inst_executed_op_ldgsts.sum"):
        numbers |= dict.fromkeys(name for name in SHIPPED if name.startswith("shared store"))
    return numbers


def _lessons() -> Iterator[tuple[str, wb.Schedule]]:
    """Every history that is timed, the largest first."""
    yield "matrix multiply of 1024 x 1024", large_branches()
    yield "lesson 9", ahead_large()
    yield "lesson 6", lesson_large()
    yield from ((name, wb.Schedule(sch.func)) for name, sch in slow())
    yield from histories()
    yield "lesson 6 in small", lesson_small()
    yield from large()


def takes_long(step: Step) -> bool:
    """Whether few threads have so much to do that one run takes a second."""
    assert step.built is not None
    few = [k for k in step.built.kernels if prod(k.grid) * prod(k.block) < FEW_THREADS]
    return any(insight.counts([k]).work > MOST_WORK * prod(k.grid) * prod(k.block) for k in few)


def _rows(step: Step) -> list[Results]:
    """Each kernel of a step, as it is told; an exercise's steps are not."""
    assert step.built is not None
    label, _, _ = step.label.partition(": ")
    told = label if label.startswith("exercise, ") else step.label
    program = program_key(step.func)
    return [
        {"label": told, "program": program, "kernel": kernel_key(kernel)}
        | {"grid": kernel.grid, "block": kernel.block}
        for kernel in step.built.kernels
    ]


def _job(step: Step) -> Run:
    """What is launched, on arrays that hold anything: no address depends on what they hold."""
    assert step.built is not None
    built = step.built
    run = job_of(built, at_sizes(built.func, built.kernels, built.target, ()), [])
    return replace(
        run, scratch=(*((prod(b.shape), b.type) for b in step.func.params), *run.scratch)
    )


def _child(listed: Path, first: int = 0, by: int = 1) -> list[str]:
    """A process that launches every so many-th job, see `launch`."""
    return [sys.executable, "-m", "benchmarks.counters", str(listed), str(first), str(by)]


def launch(jobs: Sequence[Run]) -> Results:
    """Launch each program once, for so many seconds; how many were, and by which compiler."""
    import cupy

    backend, end = CupyBackend(), time.monotonic() + SECONDS
    done = 0
    for job in jobs:
        answer = backend.run(job, lambda before: None)
        if isinstance(answer, Failed):
            raise RuntimeError(f"{answer.what}: {answer.message}\n{job.source}")
        done += 1
        if time.monotonic() > end:
            break
    version = ".".join(map(str, cupy.cuda.nvrtc.getVersion()))
    return {"programs": done, "compiler": f"NVRTC {version}", "cupy": cupy.__version__}


def _compile(listed: Path) -> None:
    """Launch all without ncu, in several processes: CuPy keeps on disk what it compiled."""
    running = [subprocess.Popen(_child(listed, k, PROCESSES)) for k in range(PROCESSES)]
    ended = [process.wait() for process in running]
    if any(ended):
        raise RuntimeError("a kernel does not run without ncu, either")


def _counted(listed: Path, log: Path) -> Results:
    """Launch all under ncu, which writes to `log`; what `launch` says."""
    options = ["--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
    options += ["--target-processes", "application-only", "--log-file", str(log)]
    command = [cuda_tool("ncu"), *options, "--metrics", ",".join(_names()), *_child(listed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        told = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        told += log.read_text().splitlines() if log.exists() else []
        raise RuntimeError("\n".join(told[-20:]))
    return json.loads(done.stdout.splitlines()[-1])


def _names() -> list[str]:
    """The counters that this GPU has, those of asynchronous copies, too."""
    command = [cuda_tool("ncu"), "--query-metrics"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    there = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    wanted = [name for name in COUNTERS.values() if _is_there(name, there)]
    return wanted + [f"{name}.sum" for name in sorted(there) if _ASYNC.fullmatch(name)]


def _is_there(name: str, there: set[str]) -> bool:
    """Whether a counter can be asked for; of launches, and shares, ncu lists none."""
    return not name.startswith("smsp") or name.partition(".")[0] in there


def parse(text: str) -> list[dict[str, float]]:
    """The counters of each launch, in order, in the log of ncu: its raw page as CSV.

    They have the names of COUNTERS, others their own; what ncu does not know is left out.
    """
    names = {name: told for told, name in COUNTERS.items()}
    table = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    if not table:
        raise ValueError(f"ncu counted nothing: {text[-2000:]}")
    head, _, *rows = table  # the second line has units
    found = []
    for row in rows:
        told = {n: v.replace(",", "") for n, v in zip(head, row, strict=True) if _wanted(n)}
        found.append({names.get(n, n): _number(v) for n, v in told.items() if _is_number(v)})
    return found


def _wanted(name: str) -> bool:
    """Whether a column is one of the counters: ncu tells much of the device, too."""
    base, _, of = name.partition(".")
    return name in COUNTERS.values() or (of == "sum" and bool(_ASYNC.fullmatch(base)))


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _number(text: str) -> float:
    return float(text) if "." in text else int(text)


def main(listed: str, first: str, by: str) -> None:
    """One process that launches."""
    jobs = pickle.loads(Path(listed).read_bytes())
    print(json.dumps(launch(jobs[int(first) :: int(by)])))


if __name__ == "__main__":
    main(*sys.argv[1:])
