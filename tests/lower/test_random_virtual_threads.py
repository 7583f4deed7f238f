"""Matmuls in random tiles of random virtual threads, at sizes that often leave tails."""

from __future__ import annotations

import random
from contextlib import suppress

import numpy as np
import pytest

import workbench as wb
from tests.lower.test_random_tiles import random_program
from tests.support.cases import CASES, seeds
from tests.support.cpp import compile_cpp
from workbench import target
from workbench.ir import For, PrimFunc, walk
from workbench.lower import lower
from workbench.runtime import build

CUDA = target.get("cuda")
pytestmark = pytest.mark.filterwarnings("ignore::workbench.ScheduleWarning")  # slow is not wrong


def random_copies(rng: random.Random) -> PrimFunc:
    """One in tiles, of which each thread has several, wherever the loop over these stands.

    Raises wb.ScheduleError where a step is refused.
    """
    sch = wb.Schedule(random_program(rng))
    far = sch.cache_write("C", 0, "local") if rng.random() < 0.8 else None
    i, j, k = sch.get_loops("C")
    tall, wide, down, across, deep = (rng.choice((1, 2, 3)) for _ in range(5))
    copies = [rng.choice((1, 2, 3, 17)), rng.choice((1, 2, 2, 4))]
    i_0, i_v, i_1, i_2 = sch.split(i, [None, copies[0], tall, down])
    j_0, j_v, j_1, j_2 = sch.split(j, [None, copies[1], wide, across])
    k_0, k_1 = sch.split(k, [None, deep * 2])
    virtual = [i_v, j_v]
    rng.shuffle(virtual)
    outside, inside = rng.choice(((virtual, []), (virtual[:1], virtual[1:]), ([], virtual)))
    sch.reorder(i_0, j_0, *outside, i_1, j_1, *inside, k_0, k_1, i_2, j_2)
    for loop in virtual:
        sch.bind(loop, "vthread")
    thread = sch.fuse(i_1, j_1) if not inside or rng.random() < 0.5 else i_1
    axes = {i_0: "blockIdx.y", j_0: "blockIdx.x", thread: "threadIdx.x"}
    axes |= {j_1: "threadIdx.y"} if thread is i_1 else {}
    for loop, axis in axes.items():
        sch.bind(loop, axis)
    if far is not None:
        around = sch.get_loops("C")
        last = around[next(n for n, loop in enumerate(around) if loop.name == k_0.name) - 1]
        sch.reverse_compute_at(far, last)
    for which in (0, 1):
        if rng.random() < 0.7:
            near = sch.cache_read("C", which, "shared")
            turn = rng.choice((k_0, k_0, thread))
            sch.compute_at(near, turn)
            fused = sch.fuse(*sch.get_loops(near)[-2:])
            _, share = sch.split(fused, [None, tall * wide if thread is not i_1 else tall])
            sch.bind(share, "threadIdx.x")
            if turn is k_0 and rng.random() < 0.3:
                sch.annotate(near, "double_buffer_scope", 0)
        if rng.random() < 0.5:
            sch.compute_at(sch.cache_read("C", which, "local"), k_1)
    if rng.random() < 0.7:
        sch.decompose_reduction("C", k_0)
    return sch.func


def random_programs() -> list[PrimFunc]:
    """Those that can be built; two copies in turn are not for tiles with tails."""
    found = []
    for seed in seeds()[::2]:
        with suppress(wb.ScheduleError):
            func = random_copies(random.Random(seed))
            build(wb.Schedule(func), target="cuda")
            found.append(func)
    return found


@pytest.mark.fuzz
def test_random_copies_compute_the_product(gxx: str) -> None:
    programs = random_programs()
    assert len(programs) >= CASES // 4
    loops = [n for func in programs for n in walk(func.body) if isinstance(n, For) and n.virtual]
    assert len(loops) > len(programs)
    executable = compile_cpp([lower(func, CUDA) for func in programs])
    rng = np.random.default_rng(0)
    jobs = [
        (n, [rng.integers(-4, 5, b.shape).astype(b.dtype) for b in func.params])
        for n, func in enumerate(programs)
    ]
    emulated = [[array.copy() for array in arrays] for _, arrays in jobs]
    executable.run(jobs)
    for (number, (a, b, c)), arrays in zip(jobs, emulated, strict=True):
        np.testing.assert_array_equal(c, a @ b, executable.texts[number])
        build(wb.Schedule(programs[number])).emulate(*arrays)
        np.testing.assert_array_equal(arrays[2], a @ b)
