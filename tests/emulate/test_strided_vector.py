"""A vector store of elements that are loaded one by one needs no alignment of the loads."""

from __future__ import annotations

import numpy as np

import workbench as wb
from tests.support.cpp import run_cpp
from workbench import script

TRANSPOSE = """
@T.prim_func
def main(A: T.Buffer((2, 13, 9), "int32"), C: T.Buffer((9, 13, 2), "int32")):
    for i in T.thread_binding(117, thread="blockIdx.x"):
        for j in T.vectorized(2):
            with T.block("C"):
                vi = T.axis.spatial(9, i // 13)
                vj = T.axis.spatial(13, i % 13)
                vl = T.axis.spatial(2, j)
                C[vi, vj, vl] = A[vl, vj, vi]
"""


def test_columns_are_loaded_one_by_one_and_stored_as_a_vector(recwarn):
    built = wb.build(script.parse(TRANSPOSE), target="cuda")
    recwarn.clear()  # one thread a block is slow, which is not the point here
    given = np.arange(2 * 13 * 9, dtype=np.int32).reshape(2, 13, 9)
    for run in (built.emulate, lambda *args: run_cpp(built.lowered, args)):
        made = np.zeros((9, 13, 2), np.int32)
        run(given, made)
        np.testing.assert_array_equal(made, given.transpose(2, 1, 0))
