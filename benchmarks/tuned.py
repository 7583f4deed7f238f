"""What a search finds on a GPU: the product of 1024 x 1024 in 192 trials, beside cuBLAS."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from time import perf_counter

import numpy as np

import workbench as wb
from benchmarks.matmuls import matmul
from workbench import tuning
from workbench.runtime import vendor
from workbench.runtime.devices import device
from workbench.tuning.measure import Local
from workbench.tuning.space import Candidate

SIZE, TRIALS = 1024, 192


class Watched(Local):
    """Measures, and counts the seconds that it takes."""

    spent = 0.0

    def submit(self, candidate: Candidate) -> tuning.Outcome:
        """The outcome of a candidate."""
        start = perf_counter()
        try:
            return super().submit(candidate)
        finally:
            self.spent += perf_counter() - start


def measure(record: Path, seed: int, trials: int = TRIALS) -> dict[str, object]:
    """One search that writes `record`, and its winner beside cuBLAS in the same run."""
    func = matmul(SIZE)
    arrays = [np.random.default_rng(k).random((SIZE, SIZE), dtype="float32") for k in range(3)]
    theirs = vendor.matmul(*arrays[:2]).time()
    print(f"cuBLAS {theirs.median * 1e6:.2f} µs", flush=True)
    start = perf_counter()
    measurer = Watched(func, device(), "GPU")
    reference = perf_counter() - start

    def told(progress: tuning.Progress) -> None:
        if progress.count % 16 == 0 and progress.best:
            print(
                f"{perf_counter() - start:6.1f} s, {measurer.spent:6.1f} of them measuring: trial "
                f"{progress.count}, best {progress.best.seconds * 1e6:.2f} µs",
                flush=True,
            )

    best = wb.tune(
        func,
        target=device().target,
        trials=trials,
        seed=seed,
        record=record,
        measurer=measurer,
        progress=told,
    )
    seconds = perf_counter() - start
    ours = wb.build(best, device().target).time(*arrays)
    lines = tuning.read(record)
    return {
        "device": device().which,
        "seed": seed,
        "seconds": seconds,
        "reference": reference,
        "measuring": measurer.spent,
        "ended": Counter(e.outcome.status for e in lines.ended),
        "reasons": Counter(e.outcome.reason for e in lines.ended if e.outcome.reason),
        "refused": len(lines.refused),
        "best": ours.median,
        "cublas": theirs.median,
        "ratio": ours.median / theirs.median,
        "steps": best.trace.as_python(),
    }


if __name__ == "__main__":
    out = Path(os.environ.get("OUT", "."))
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    found = measure(
        out / f"tuned_{seed}.jsonl", seed, int(sys.argv[2]) if len(sys.argv) > 2 else TRIALS
    )
    (out / f"tuned_{seed}.json").write_text(json.dumps(found, indent=1))
    for name, value in found.items():
        print(f"{name}: {value}")
