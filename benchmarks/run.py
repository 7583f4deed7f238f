"""The numbers that the workbench promises, measured here: ``python -m benchmarks.run``.

Those of a GPU come from benchmarks/gpu.py; those of the browser from the browser test.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from benchmarks.lab_step import REACH, percentile_95, waits

HERE = Path(__file__).parent
PROCESSES = 7


def seconds_of(*arguments: str) -> float:
    """How long a fresh Python takes from start to end."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=HERE.parent
    )
    return time.perf_counter() - start


def import_time() -> dict[str, object]:
    """``import workbench`` in a fresh process, the interpreter's own start included."""
    taken = median(seconds_of("-c", "import workbench") for _ in range(PROCESSES))
    every = median(
        seconds_of("-c", "import workbench as wb; wb.Schedule; wb.T; wb.te")
        for _ in range(PROCESSES)
    )
    return {
        "what": "import workbench in a fresh process",
        "found": f"{taken:.3f} s ({every:.3f} s with the rooms a schedule needs)",
        "reach": "under 0.15 s",
        "ok": taken < 0.15,
    }


def fresh_cuda(program: str, reach: float) -> dict[str, object]:
    """A fresh process to the CUDA text of a program, beside TVM's, turn by turn."""
    what = f"fresh process to CUDA text of the {program}, against TVM 0.27"
    if find_spec("tvm") is None:
        found = 'not measured: TVM is not installed (pip install ".[tvm]")'
        return {"what": what, "found": found, "reach": f"at most {reach}", "ok": None}
    ours, theirs = [], []
    for _ in range(PROCESSES):
        ours.append(seconds_of("-m", "benchmarks.fresh_ours", program))
        theirs.append(seconds_of(str(HERE / "fresh_tvm.py"), program))
    ratio = median(a / b for a, b in zip(ours, theirs, strict=True))
    return {
        "what": what,
        "found": f"{ratio:.2f} ({median(ours):.2f} s, TVM {median(theirs):.2f} s)",
        "reach": f"at most {reach}",
        "ok": ratio <= reach,
    }


def fresh_convolution() -> dict[str, object]:
    """A fresh process from compute expressions to the CUDA text of the tutorial's schedule."""
    taken = median(
        seconds_of("-m", "benchmarks.fresh_ours", "convolution") for _ in range(PROCESSES)
    )
    return {
        "what": "fresh process from te to CUDA text of the tutorial's convolution",
        "found": f"{taken:.2f} s",
        "reach": "at most 1.5 s",
        "ok": taken <= 1.5,
    }


def lab_step(lessons: str, reach: float) -> dict[str, object]:
    """The 95th percentile of the wait after a step of the lessons."""
    found = {name: percentile_95(seconds) for name, seconds in waits(5, lessons).items()}
    shown = ", ".join(f"{seconds * 1e3:.0f} ms with {name}" for name, seconds in found.items())
    return {
        "what": f"a step in the lab of {lessons} with what it shows, 95th percentile",
        "found": shown,
        "reach": f"at most {reach * 1e3:.0f} ms",
        "ok": found["all panes"] <= reach,
    }


def main() -> int:
    """Measure everything, print the table; 1 where something does not reach what it should."""
    rows = [import_time(), fresh_cuda("window sum", 0.5), fresh_cuda("matrix multiply", 0.6)]
    rows.append(fresh_convolution())
    rows += [lab_step(lessons, reach) for lessons, reach in REACH.items()]
    if "--json" in sys.argv:
        print(json.dumps(rows, indent=1))
    else:
        for row in rows:
            print(f"{row['what']}\n    {row['found']}; to reach: {row['reach']}")
    return 1 if any(row["ok"] is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
