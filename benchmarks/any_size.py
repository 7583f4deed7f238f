"""Kernels for any size on the GPU: random schedules of sized programs, at several sizes each."""

from __future__ import annotations

import random

import numpy as np

import workbench as wb
from benchmarks.steps import Results
from tests.support.sized_programs import at, built, calls, read, walk_at_random

SEEDS = range(7_000_000, 7_000_080)
SIZES = 4  # tried of each kernel, beside none at all and 5


def compare() -> Results:
    """How many kernels ran at how many sizes, and what differed from the emulator."""
    kernels = runs = refused = 0
    wrong: list[str] = []
    for seed in SEEDS:
        rng = random.Random(seed)
        _, _, sch = walk_at_random(seed)
        kernel = built(sch)
        if kernel is None:
            refused += 1
            continue
        kernels += 1
        for named, _, given in calls(sch.func, rng, SIZES):
            on_gpu, emulated = ([array.copy() for array in given] for _ in range(2))
            kernel.emulate(*emulated)
            kernel(*on_gpu)
            runs += 1
            if not all(map(np.array_equal, on_gpu, emulated)):  # whole numbers: sums are exact
                wrong.append(f"seed {seed} at {named}")
    return {"kernels": kernels, "runs": runs, "refused": refused, "wrong": wrong}


def time_one(n: int = 1 << 26) -> Results:
    """The vector addition for any n beside the one for this n."""
    func = read("sum of vectors")
    rng = np.random.default_rng(6)
    given = [rng.random(n, "float32") for _ in range(3)]
    times = {}
    for name, program in (("any n", func), ("this n", at(func, {"n": n}))):
        sch = wb.Schedule(program)
        outer, inner = sch.split("i", factors=[None, 256])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
        times[name] = wb.build(sch).time(*given).median
    return {**times, "ratio": round(times["any n"] / times["this n"], 3)}
