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

from benchmarks.lab_step import percentile_95, waits

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


def fresh_cuda() -> dict[str, object]:
    """A fresh process to the CUDA text of the window sum, beside TVM's, turn by turn."""
    if find_spec("tvm") is None:
        return {
            "what": "fresh process to CUDA text, against TVM 0.27",
            "found": 'not measured: TVM is not installed (pip install "mlc-workbench[tvm]")',
            "reach": "at most 0.5",
            "ok": None,
        }
    ours, theirs = [], []
    for _ in range(PROCESSES):
        ours.append(seconds_of(str(HERE / "fresh_ours.py")))
        theirs.append(seconds_of(str(HERE / "fresh_tvm.py")))
    ratio = median(a / b for a, b in zip(ours, theirs, strict=True))
    return {
        "what": "fresh process to CUDA text, against TVM 0.27",
        "found": f"{ratio:.2f} ({median(ours):.2f} s, TVM {median(theirs):.2f} s)",
        "reach": "at most 0.5",
        "ok": ratio <= 0.5,
    }


def lab_step() -> dict[str, object]:
    """The 95th percentile of the wait after a step of the lessons."""
    found = {name: percentile_95(seconds) for name, seconds in waits(rounds=5).items()}
    shown = ", ".join(f"{seconds * 1e3:.0f} ms with {name}" for name, seconds in found.items())
    return {
        "what": "a step in the lab with everything it shows, 95th percentile",
        "found": shown,
        "reach": "at most 60 ms",
        "ok": found["open panes"] <= 0.06,
    }


def main() -> int:
    """Measure everything, print the table; 1 where something does not reach what it should."""
    rows = [import_time(), fresh_cuda(), lab_step()]
    if "--json" in sys.argv:
        print(json.dumps(rows, indent=1))
    else:
        for row in rows:
            print(f"{row['what']}\n    {row['found']}; to reach: {row['reach']}")
    return 1 if any(row["ok"] is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
