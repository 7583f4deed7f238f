"""Conditions that choose between arrays written and only read: random kernels, by PTX and on a GPU.

    python -m benchmarks.choices --count 2000 --seed 0 --arch sm_90

compiles so many for that architecture and prints those in which nvcc loads an array that the
kernel writes by way of the cache that no store changes (`codegen/restrict.py` says when it does).
On a GPU, `compare` runs some and holds what they leave against the emulator.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np

import workbench as wb
from benchmarks.sanitize import cuda_tool
from benchmarks.steps import Results
from tests.support.ptx import ptx_of, stale_loads, text_of
from tests.support.random_choices import ALL_RESTRICTED, arrays, random_choice

SEEDS = range(8_000_000, 8_000_150)
TOGETHER = 100  # programs that nvcc gets at a time


def compare() -> Results:
    """How many kernels differ from the emulator: none as we write them, and some all restricted."""
    wrong: dict[str, list[int]] = {}
    for name, how in (("as written", nullcontext()), ("all restricted", ALL_RESTRICTED)):
        with how:
            wrong[name] = [seed for seed in SEEDS if _differs(seed)]
    return {
        "programs": len(SEEDS),
        "wrong": wrong["as written"],
        "wrong if all are restricted": len(wrong["all restricted"]),
    }


def _differs(seed: int) -> bool:
    """Whether the GPU leaves other values than the emulator."""
    func = random_choice(seed)
    kernel = wb.build(func)
    on_gpu, emulated = arrays(func, seed), arrays(func, seed)
    kernel.emulate(*emulated)
    kernel(*on_gpu)
    return not all(map(np.array_equal, on_gpu, emulated))


def main() -> int:
    """Print which programs have such loads, and return 1 if any has."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--arch", default="sm_90")
    options = parser.parse_args()
    found, nvcc, end = 0, cuda_tool("nvcc"), options.seed + options.count
    with tempfile.TemporaryDirectory() as folder:
        for first in range(options.seed, end, TOGETHER):
            programs = map(random_choice, range(first, min(first + TOGETHER, end)))
            stale = stale_loads(ptx_of(nvcc, text_of(*programs), options.arch, Path(folder)))
            found += len(stale)
            for kernel, parameters in stale.items():  # kernel_7 is the eighth program's
                print(f"from seed {first}, {kernel} loads {', '.join(parameters)}", flush=True)
    print(f"{options.count} programs, {options.arch}: {found} load what they write as if read only")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
