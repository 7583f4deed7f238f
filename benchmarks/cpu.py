"""A matrix multiply on the CPU: ours as C, TVM's by LLVM and NumPy's, in one run.

    python -m benchmarks.cpu            # prints the table
    python -m benchmarks.cpu --record   # and keeps it in benchmarks/results

The steps are those of the last version of TVM's tutorial opt_gemm. Each round times all of them,
one after the other; a ratio is the median of those of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import workbench as wb
from workbench import runtime, script

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.support.cpu_programs import packed_matmul  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "cpu.json"
SIZE, TILE = 1024, 32
ROUNDS, RUNS = 9, 7
REACH = 1.1
Arrays = list[np.ndarray[Any, Any]]


def measured(threads: int) -> dict[str, Any]:
    """Medians of milliseconds, and of our ratio to TVM's, in a process of so many threads."""
    func = packed_matmul(SIZE, TILE)
    rng = np.random.default_rng(0)
    arrays = [rng.random((SIZE, SIZE), "float32"), rng.random((SIZE, SIZE), "float32")]
    arrays.append(np.zeros((SIZE, SIZE), "float32"))
    kernel = wb.build(func, "c")
    kernel(*arrays)
    np.testing.assert_allclose(arrays[2], arrays[0] @ arrays[1], rtol=1e-4)
    theirs, mcpu = by_tvm(wb.Schedule(func), threads, arrays)
    ways = {"TVM": theirs, "ours": lambda: kernel.time(*arrays).median}
    if threads == 1:
        ways = {"NumPy": lambda: seconds_of(lambda: np.dot(*arrays[:2], out=arrays[2])), **ways}
    rounds = [{name: way() for name, way in ways.items()} for _ in range(ROUNDS)]
    row: dict[str, Any] = {"threads": threads, "mcpu": mcpu}
    row |= {name: round(1e3 * median(one[name] for one in rounds), 2) for name in ways}
    row["ours / TVM"] = round(median(one["ours"] / one["TVM"] for one in rounds), 3)
    return row


def by_tvm(sch: wb.Schedule, threads: int, arrays: Arrays) -> tuple[Callable[[], float], str]:
    """What times TVM's code of the same program, and the CPU that LLVM compiles it for."""
    import tvm
    from tvm.script import from_source

    mcpu = tvm.get_global_func("target.llvm_get_system_cpu")()
    target = tvm.target.Target({"kind": "llvm", "mcpu": mcpu, "num-cores": threads})
    module = from_source(script.show(sch.func, dialect="tvm"))
    alone = module.with_attr("tirx.noalias", True)  # as TVM calls what is "tir.noalias" here
    built = tvm.compile(tvm.IRModule({"main": alone}), target)["main"]
    held = [tvm.runtime.tensor(array) for array in arrays]
    built(*held)
    np.testing.assert_allclose(held[2].numpy(), arrays[0] @ arrays[1], rtol=1e-4)
    return lambda: seconds_of(lambda: built(*held)), mcpu


def seconds_of(run: Callable[[], object]) -> float:
    """The median of some runs, after one that warms up."""
    run()
    taken = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return median(taken)


def in_process(threads: int) -> dict[str, Any]:
    """`measured`, in a fresh process whose libraries all have so many threads."""
    number = dict.fromkeys(("OMP_NUM_THREADS", "TVM_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
    env = os.environ | {name: str(value) for name, value in number.items()}
    command = [sys.executable, "-m", "benchmarks.cpu", "--threads", str(threads)]
    done = subprocess.run(command, env=env, cwd=ROOT, check=True, capture_output=True, text=True)
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def table(found: dict[str, Any]) -> str:
    """What was measured, as one reads it."""
    lines = [f"{SIZE} x {SIZE} x {SIZE} in float32, milliseconds, on {found['device']}:"]
    lines.append("threads   NumPy     TVM    ours   ours / TVM")
    for row in found["rows"]:
        numpy = f"{row['NumPy']:.1f}" if "NumPy" in row else ""
        times = f"{row['threads']:>7} {numpy:>7} {row['TVM']:>7.1f} {row['ours']:>7.1f}"
        lines.append(f"{times} {row['ours / TVM']:>12.2f}")
    lines.append(f"ours: {found['compiler']}; TVM {found['tvm']}; to reach: at most {REACH}")
    return "\n".join(lines)


def main() -> None:
    """Measure with one thread and with two, print the table, and keep it where that is asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, help="only so many, as data on the last line")
    parser.add_argument("--record", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    if options.threads:
        print(json.dumps(measured(options.threads)))
        return
    report = runtime.cpu()
    if report.compiler is None or find_spec("tvm") is None:
        sys.exit('not measured: it takes a C compiler and TVM (pip install ".[tvm]")')
    import tvm

    source = wb.build(packed_matmul(SIZE, TILE), "c").source
    found = {
        "device": report.which,
        "date": date.today().isoformat(),
        "compiler": f"{report.compiler.version}, {report.compiler.options(source)}",
        "tvm": tvm.__version__,
        "rows": [in_process(threads) for threads in (1, 2)],
    }
    print(table(found))
    if options.record:
        RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
