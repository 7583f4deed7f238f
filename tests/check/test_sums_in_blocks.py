"""Sums inside the block of a tile: threads may take a tile each, and nothing less."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.support.block_programs import MATMUL
from tests.support.cpp import run_cpp
from tests.support.steps import refusal
from workbench import emulate, script

SHIFTED = """\
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), C: T.Buffer((9, 4), "float32")):
    for i in range(8):
        with T.block("C_o"):
            vi_o = T.axis.spatial(8, i)
            T.reads(A[vi_o, 0:4], C[vi_o + 1, 0:4])
            T.writes(C[vi_o, 0:4])
            for j in range(4):
                with T.block("C_start"):
                    vj = T.axis.spatial(4, j)
                    C[vi_o, vj] = T.float32(0)
            for j in range(4):
                with T.block("C"):
                    vj = T.axis.spatial(4, j)
                    C[vi_o, vj] = C[vi_o + 1, vj] + A[vi_o, vj]
"""


@pytest.mark.parametrize("axes", [("blockIdx.x", "threadIdx.x"), ("threadIdx.y", "threadIdx.x")])
def test_each_thread_takes_a_tile(axes: tuple[str, str], gxx: str):
    sch = wb.Schedule(script.parse(MATMUL))
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


def test_a_cell_that_another_iteration_starts_is_not_read():
    text = refusal(SHIFTED, lambda sch: sch.bind("i", "threadIdx.x"))
    assert (
        text
        == """\
Can't bind `i` to threadIdx.x: `C_o` reads C[vi_o + 1, vj], which another of the threads may write.
asked: sch.bind("i", "threadIdx.x")
where:
   2 | def main(A: T.Buffer((8, 4), "float32"), C: T.Buffer((9, 4), "float32")):
   3 |     # with T.block("root"):
   4 |     for i in range(8):
     |     ^^^^^^^^^^^^^^^^^^
   5 |         with T.block("C_o"):
   6 |             vi_o = T.axis.spatial(8, i)
    …
  18 |                     T.reads(C[vi_o + 1, vj], A[vi_o, vj])
  19 |                     T.writes(C[vi_o, vj])
  20 |                     C[vi_o, vj] = C[vi_o + 1, vj] + A[vi_o, vj]
     |                                   ^^^^^^^^^^^^^^^
do:    keep the loop serial: each iteration needs the one before it"""
    )
