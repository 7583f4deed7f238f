"""Notebooks that time at once on one GPU: each kernel's time beside its time alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median

import numpy as np

import workbench as wb
from benchmarks.histories import add_branches, vector_add
from benchmarks.matmuls import matmul, strided
from benchmarks.steps import Results
from workbench.runtime import Built

NOTEBOOKS = 8
ROUNDS = 3
MOST = 0.03  # of its time alone


def shared_card() -> list[Results]:
    """Alone, at once, and alone again; then at once with queues that have nobody else in them."""
    with _notebooks() as some:
        before = [_ask([one])[0] for one in some]
        together = _ask(some)
        after = [_ask([one])[0] for one in some]
    with _notebooks(apart=True) as some:
        untold = _ask(some)
    rows: list[Results] = []
    for number, (first, at_once, last, apart) in enumerate(
        zip(before, together, after, untold, strict=True)
    ):
        alone = median(first["seconds"] + last["seconds"])
        ratio = median(at_once["seconds"]) / alone
        rows.append(
            {
                "kernel": label(number),
                "seconds alone": alone,
                "at once / alone": round(ratio, 4),
                "reached": abs(ratio - 1) <= MOST,
                "without turns / alone": round(median(apart["seconds"]) / alone, 4),
                "places told": at_once["places"],
                "notes": sorted({*first["notes"], *at_once["notes"], *last["notes"]}),
            }
        )
    return rows


@contextmanager
def _notebooks(apart: bool = False) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that are ready to time a kernel each, in one queue; `apart` in one each."""
    with tempfile.TemporaryDirectory() as folder:
        begun = []
        for number in range(NOTEBOOKS):
            own = os.path.join(folder, str(number))
            os.mkdir(own)
            begun.append(
                subprocess.Popen(
                    [sys.executable, "-m", "benchmarks.sharing", str(number)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env={**os.environ, "TMPDIR": own} if apart else None,
                )
            )
        for process in begun:
            assert _line(process) == "ready"
        yield begun
        for process in begun:
            process.communicate()


def _ask(some: Sequence[subprocess.Popen[str]]) -> list[Results]:
    """Let them time at once; what each found."""
    for process in some:
        assert process.stdin is not None
        process.stdin.write("time\n")
        process.stdin.flush()
    return [json.loads(_line(process)) for process in some]


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def label(number: int) -> str:
    """What the notebook of that number times."""
    return f"vector add of 2^{16 + 2 * number}" if number < 5 else f"matmul of {_size(number)}"


def _size(number: int) -> int:
    return 512 * 2 ** (number - 5)


def _kernel(number: int) -> Built:
    if number < 5:
        return wb.build(add_branches(vector_add(2 ** (16 + 2 * number)), (128,)))
    return wb.build(strided(wb.Schedule(matmul(_size(number)))))


def notebook(number: int) -> None:
    """Time whenever asked, `ROUNDS` times in a row, and say what came out."""
    kernel = _kernel(number)
    arrays = [np.ones(buffer.shape, "float32") for buffer in kernel.func.params]
    kernel(*arrays, waits=lambda before: None)
    print("ready", flush=True)
    for _ in sys.stdin:
        places: list[int] = []
        taken = [kernel.time(*arrays, waits=places.append) for _ in range(ROUNDS)]
        notes = sorted({doubt for timing in taken for doubt in timing.doubts})
        seconds = [timing.median for timing in taken]
        print(json.dumps({"seconds": seconds, "places": places, "notes": notes}), flush=True)


if __name__ == "__main__":
    notebook(int(sys.argv[1]))
