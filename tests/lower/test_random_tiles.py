"""Matmuls in random tiles, fetched by random numbers of threads in vectors of random lengths."""

from __future__ import annotations

import random

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from tests.support.cpp import compile_cpp
from tests.support.gpu_programs import MATMUL, parsed
from workbench import target
from workbench.check import check_program
from workbench.ir import Barrier, IfThenElse, PrimFunc, Ramp, walk
from workbench.lower import Lowered, lower

SIZES = (5, 7, 8, 12, 16, 20, 24, 32, 33)


def random_program(rng: random.Random) -> PrimFunc:
    """A matmul of random sizes and type, often ones that tiles do not divide."""
    rows, columns, depth = (rng.choice(SIZES) for _ in range(3))
    text = MATMUL.replace("A: T.Buffer((64, 64)", f"A: T.Buffer(({rows}, {depth})")
    text = text.replace("B: T.Buffer((64, 64)", f"B: T.Buffer(({depth}, {columns})")
    text = text.replace("C: T.Buffer((64, 64)", f"C: T.Buffer(({rows}, {columns})")
    text = text.replace("T.grid(64, 64, 64)", f"T.grid({rows}, {columns}, {depth})")
    dtype = rng.choice(("int8", "int32", "float16", "float32"))
    return parsed(text.replace("float32", dtype))


def random_tiles(rng: random.Random) -> PrimFunc:
    """One in tiles, with operands in shared memory or not, at one depth or another.

    Raises wb.ScheduleError where a step is refused.
    """
    sch = wb.Schedule(random_program(rng))
    block = sch.get_block("C")
    write_back = sch.cache_write(block, 0, "local") if rng.random() < 0.8 else None
    i, j, k = sch.get_loops(block)
    tall, wide, down, across, deep = (rng.choice((1, 2, 3, 4)) for _ in range(5))
    i_0, i_1, i_2 = sch.split(i, [None, tall, down])
    j_0, j_1, j_2 = sch.split(j, [None, wide, across])
    k_0, k_1 = sch.split(k, [None, deep * 2])
    sch.reorder(i_0, j_0, i_1, j_1, k_0, k_1, i_2, j_2)
    if write_back is not None:
        sch.reverse_compute_at(write_back, j_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    thread = sch.fuse(i_1, j_1)
    sch.bind(thread, "threadIdx.x")
    for which in (0, 1):
        if rng.random() < 0.8:
            stage = sch.cache_read(block, which, "shared")
            sch.compute_at(stage, rng.choice((k_0, k_0, thread)))
            fused = sch.fuse(*sch.get_loops(stage)[-2:])
            _, together, vector = sch.split(fused, [None, tall * wide, rng.choice((1, 2, 3, 4))])
            sch.vectorize(vector)
            sch.bind(together, "threadIdx.x")
    if rng.random() < 0.7:
        sch.decompose_reduction(block, k_0)
    return sch.func


def random_kernels() -> list[Lowered]:
    found = []
    for seed in seeds():
        try:
            func = random_tiles(random.Random(seed))
        except wb.ScheduleError as refusal:
            assert "would read" not in str(refusal), f"seed {seed}: {refusal}"  # tiles are whole
            continue
        gpu = target.get("cuda")
        errors = [f.headline for f in check_program(func, gpu) if f.kind == "error"]
        assert errors == [], f"seed {seed}: {errors}"  # each step kept the meaning
        found.append(lower(func, gpu))
    return found


@pytest.mark.fuzz
def test_random_tiles_compute_the_product(gxx: str):
    programs = random_kernels()
    seen = {kind for p in programs for k in p.kernels for n in walk(k.body) for kind in [type(n)]}
    assert len(programs) >= CASES // 3
    assert {Barrier, IfThenElse, Ramp} <= seen
    executable = compile_cpp(programs)
    rng = np.random.default_rng(0)
    jobs = [
        (n, [rng.integers(-4, 5, b.shape).astype(b.dtype) for b in program.func.params])
        for n, program in enumerate(programs)
    ]
    executable.run(jobs)
    for number, (a, b, c) in jobs:
        np.testing.assert_array_equal(c, a @ b, executable.texts[number])
