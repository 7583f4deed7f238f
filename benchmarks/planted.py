"""Searches in which candidates go wrong on purpose, on a GPU: ``python -m benchmarks.planted``.

Each fault must cost one trial, be told by its reason, and lose nothing else.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import workbench as wb
from benchmarks.histories import vector_add
from benchmarks.steps import Results
from workbench import tuning
from workbench.runtime import Built
from workbench.runtime.devices import device
from workbench.runtime.worker import Worker
from workbench.tuning.measure import Local
from workbench.tuning.space import Candidate

TIMES, SIDE_BY_SIDE = 20, 4
SIZE = 1 << 17  # floats: 512 KiB
SECONDS = 1.5  # of a trial: what the endless loop costs
LATER = 0.8  # seconds until a kernel surely runs
HEAD = 'extern "C" __global__ void main_kernel(float* A, float* B, float* C) '
ENDLESS = "{ volatile float* stop = C; while (stop[0] != 12345.0f) {} }"
HOARDS, KILLED = 4, 5
# what the candidate of a choice does -> how its trial ends, and what its reason has
FAULTS: dict[int, tuple[str, str, str]] = {
    0: ("{ C[(1ll << 40) + threadIdx.x] = 1.0f; }", "runtime", "illegal address"),
    1: (ENDLESS, "timeout", "no answer in 1.5 s"),
    2: ("{ C[0] = 1.0f; }", "correctness", "wrong cells"),
    3: ("{ C[0] = ; }", "compile", "source"),
    4: ("", "constraints", "resources"),
    5: (ENDLESS, "runtime", "the worker was lost"),
}
CANDIDATES = 9


def space(sch: wb.Schedule) -> None:
    """Nine candidates: blocks of 4 to 1,024 threads."""
    k = sch.sample_categorical(list(range(9)), probs=[1 / 9] * 9)
    outer, inner = sch.split("i", factors=[None, 4 << k])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")


def hoarding() -> Built:
    """A kernel whose block keeps 512 KiB in shared memory, built as for a GPU that has as much."""
    sch = wb.Schedule(vector_add(SIZE))
    copy = sch.cache_read("C", 0, "shared")
    block, _, thread = sch.split("i", factors=[1, None, 1024])
    sch.bind(block, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    sch.compute_at(copy, block)
    _, lane = sch.split(sch.get_loops(copy)[-1], factors=[None, 1024])
    sch.bind(lane, "threadIdx.x")
    return wb.build(sch, replace(device().target, max_dynamic_shared_bytes=1 << 20))


class Planted(Local):
    """Measures what is planted in the place of some candidates."""

    def submit(self, candidate: Candidate) -> tuning.Outcome:
        """The outcome of a candidate, or of what is in its place."""
        (choice,) = candidate.decisions
        assert isinstance(choice, int) and candidate.kernel is not None
        kernel = candidate.kernel
        if choice == HOARDS:
            kernel = hoarding()
        elif choice in FAULTS:
            kernel = replace(kernel, source=HEAD + FAULTS[choice][0])
        if choice == KILLED:
            # All that is made once, ahead of the first candidate, is there: what is killed is ours.
            super().submit(candidate)
            Thread(target=self._kill).start()
        return super().submit(replace(candidate, kernel=kernel))

    def _kill(self) -> None:
        time.sleep(LATER)
        if self.workers[0].pid is not None:
            os.kill(self.workers[0].pid, signal.SIGKILL)


def one_search(seed: int) -> Results:
    """A search through all candidates: whether each ended as it should, and the best is right."""
    process = Worker()
    measurer = Planted(vector_add(SIZE), device(), "GPU", seconds=SECONDS, workers=[process])
    start = time.perf_counter()
    with TemporaryDirectory() as folder:
        record = Path(folder) / "record.jsonl"
        best = wb.tune(
            vector_add(SIZE),
            space=space,
            target=device().target,
            trials=CANDIDATES,
            record=record,
            strategy="random",
            seed=seed,
            measurer=measurer,
            progress=lambda told: None,
        )
        ended = tuning.read(record).ended
    process.stop()
    told = {str(e.trial.decisions[0]): [e.outcome.status, e.outcome.reason] for e in ended}
    wanted = {
        str(k): (FAULTS[k][1:] if k in FAULTS else ("correct", "")) for k in range(CANDIDATES)
    }
    good = [
        k in told and told[k][0] == status and (words in told[k][1] if words else not told[k][1])
        for k, (status, words) in wanted.items()
    ]
    threads = best.get("i_1").extent.value  # type: ignore[union-attr]
    return {
        "seed": seed,
        "reached": all(good) and len(ended) == CANDIDATES and threads >= 4 << len(FAULTS),
        "told": told,
        "seconds": round(time.perf_counter() - start, 1),
    }


def planted() -> Results:
    """`TIMES` searches, some side by side."""
    command = [sys.executable, "-m", "benchmarks.planted"]
    rows: list[Results] = []
    several = [
        subprocess.Popen([*command, f"{k}"], stdout=subprocess.PIPE, text=True)
        for k in range(SIDE_BY_SIDE)
    ]
    for one in several:
        said, _ = one.communicate()
        rows += [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    return {"reached": f"{sum(bool(row['reached']) for row in rows)} of {TIMES}", "searches": rows}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for number in range(int(sys.argv[1]), TIMES, SIDE_BY_SIDE):
            print(json.dumps(one_search(number)), flush=True)
    else:
        found = planted()
        out = Path(os.environ.get("OUT", "."))
        (out / "planted.json").write_text(json.dumps(found, indent=1))
        print(found["reached"])
