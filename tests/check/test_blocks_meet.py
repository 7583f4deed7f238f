"""A global buffer that every block fills for itself is refused: nothing orders the blocks."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench import script

PROGRAM = """
@T.prim_func
def main(B: T.Buffer((2,), "float32"), C: T.Buffer((12, 2), "float32")):
    B_global = T.alloc_buffer((2,))
    for i in T.thread_binding(12, thread="blockIdx.x"):
        for ax0 in range(2):
            with T.block("B_global"):
                v0 = T.axis.spatial(2, ax0)
                B_global[v0] = B[v0]
        for j in T.thread_binding(2, thread="threadIdx.x"):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B_global[vj]
"""


def test_an_array_for_each_block_is_what_the_refusal_advises():
    sch = wb.Schedule(script.parse(PROGRAM))
    sch.set_scope("B_global", 0, "shared")
    with pytest.warns(wb.ScheduleWarning):  # both threads fetch all of it
        wb.build(sch, target="cuda")
