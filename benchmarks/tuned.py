"""What a search finds on a GPU in 192 trials: ``python -m benchmarks.tuned matmul 0``.

Of the product of 1024 x 1024, beside cuBLAS, or of a "layer"; of "halves", the same product on
Tensor Cores, or "halves_4096", beside cuBLAS, or a "half_layer"; the number is the seed.
"""

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
from workbench import te, tuning
from workbench.ir import PrimFunc
from workbench.runtime import vendor
from workbench.runtime.devices import device
from workbench.te import topi
from workbench.tuning.measure import Local, workers_here
from workbench.tuning.space import Candidate

SIZE, TRIALS = 1024, 192


class Watched(Local):
    """Measures, and counts the seconds that it takes, of candidates side by side each its own."""

    spent = 0.0

    def submit(self, candidate: Candidate) -> tuning.Outcome:
        """The outcome of a candidate."""
        start = perf_counter()
        try:
            return super().submit(candidate)
        finally:
            self.spent += perf_counter() - start


def layer() -> PrimFunc:
    """The last convolution of ResNet-50, with bias and ReLU: that of TVM's tutorial on tuning."""
    data = te.placeholder((1, 512, 7, 7), name="data")
    kernel = te.placeholder((512, 512, 3, 3), name="kernel")
    bias = te.placeholder((1, 512, 1, 1), name="bias")
    conv = topi.nn.conv2d_nchw(data, kernel, (1, 1), (1, 1), dilation=1, out_dtype="float32")
    return te.create_prim_func([data, kernel, bias, topi.nn.relu(conv + bias)])


def half_layer() -> PrimFunc:
    """A convolution of halves in the middle of ResNet-50, channels last, for a batch of 16."""
    data = te.placeholder((16, 28, 28, 128), name="data", dtype="float16")
    kernel = te.placeholder((3, 3, 128, 128), name="kernel", dtype="float16")
    conv = topi.nn.conv2d_nhwc(data, kernel, 1, 1, dilation=1, out_dtype="float32")
    return te.create_prim_func([data, kernel, topi.nn.relu(conv)])


def halves(size: int) -> PrimFunc:
    """The product of halves, summed in float32."""
    a, b = (te.placeholder((size, size), name=name, dtype="float16") for name in "AB")
    k = te.reduce_axis((0, size), name="k")
    product = te.compute(
        (size, size),
        lambda i, j: te.sum(a[i, k].astype("float32") * b[k, j].astype("float32"), axis=k),
        name="C",
    )
    return te.create_prim_func([a, b, product])


def cublas(func: PrimFunc) -> float:
    """The seconds of cuBLAS's product of what `func` multiplies."""
    return vendor.matmul(*arrays_of(func)[:2]).time().median


def arrays_of(func: PrimFunc) -> list[np.ndarray]:
    """Random arguments."""
    rng = np.random.default_rng(0)
    return [rng.random(p.shape, dtype="float32").astype(p.dtype) for p in func.params]


PROGRAMS = {
    "matmul": lambda: matmul(SIZE),
    "layer": layer,
    "halves": lambda: halves(SIZE),
    "halves_4096": lambda: halves(4096),
    "half_layer": half_layer,
}


def measure(record: Path, program: str, seed: int, trials: int = TRIALS) -> dict[str, object]:
    """One search that writes `record`, and its winner beside cuBLAS in the same run."""
    func = PROGRAMS[program]()
    beside = None if program.endswith("layer") else cublas(func)
    start = perf_counter()
    measurer = Watched(func, device(), "GPU", workers=workers_here("GPU"))

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
    ours = wb.build(best, device().target).time(*arrays_of(func)).median
    lines = tuning.read(record)
    return {
        "program": program,
        "device": device().which,
        "seed": seed,
        "seconds": seconds,
        "measuring": measurer.spent,
        "ended": Counter(e.outcome.status for e in lines.ended),
        "reasons": Counter(e.outcome.reason for e in lines.ended if e.outcome.reason),
        "refused": len(lines.refused),
        "best": ours,
        "cublas": beside,
        "ratio": ours / beside if beside else None,
        "steps": best.trace.as_python(),
    }


if __name__ == "__main__":
    out = Path(os.environ.get("OUT", "."))
    name, seed = sys.argv[1], int(sys.argv[2])
    found = measure(out / f"tuned_{name}_{seed}.jsonl", name, seed)
    (out / f"tuned_{name}_{seed}.json").write_text(json.dumps(found, indent=1))
    for key, value in found.items():
        print(f"{key}: {value}")
