"""Sums inside the block of a tile: threads may take a tile each, and nothing less."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.support.block_programs import OBLONG_MATMUL
from tests.support.cpp import run_cpp
from workbench import emulate, script


@pytest.mark.parametrize("axes", [("blockIdx.x", "threadIdx.x"), ("threadIdx.y", "threadIdx.x")])
def test_each_thread_takes_a_tile(axes: tuple[str, str], gxx: str):
    sch = wb.Schedule(script.parse(OBLONG_MATMUL))
    i, j, _ = sch.get_loops("C")
    i_0, i_1 = sch.split(i, [3, 2])
    j_0, j_1 = sch.split(j, [3, 2])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.blockize(i_1)
    sch.bind(i_0, axes[0])
    sch.bind(j_0, axes[1])
    built = wb.build(sch)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, s).astype("float32") for s in ((6, 8), (8, 6)))
    for run in (
        lambda args: emulate.run(built.kernels, args),
        lambda args: run_cpp(built.lowered, args),
    ):
        c = np.full((6, 6), 7, "float32")
        run([a.copy(), b.copy(), c])
        np.testing.assert_array_equal(c, a @ b)
