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


BY_OTHERS = """
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    M = T.alloc_buffer((1,), "int32", scope="local")
    L = T.alloc_buffer((16,), scope="local")
    for one in T.thread_binding(1, thread="{still}"):
        M[0] = 0
        for x in T.thread_binding(8, thread="{axis}"):
            {made}
        M[0] = 1
        for x in T.thread_binding(8, thread="{axis}"):
            {used}
"""


@pytest.mark.parametrize(
    ("still", "axis", "made", "used", "why"),
    [
        (
            *("threadIdx.x", "blockIdx.x", "L[x] = A[x]", "B[x] = L[7 - x]"),
            "`B` reads cells of L that only other blocks write",
        ),
        (
            *("blockIdx.x", "threadIdx.x", "L[x + M[0]] = A[x]", "B[x] = L[x + M[0]]"),
            "`B` may read cells of L that other threads hold in registers",
        ),
        (
            *("threadIdx.x", "blockIdx.x", "B[x] = A[x]", "B[7 - x] = A[x + 8]"),
            "`B` and `B` would write the same cells of B in different blocks",
        ),
    ],
)
def test_what_others_hold_or_write_is_not_there(
    still: str, axis: str, made: str, used: str, why: str
):
    text = BY_OTHERS.format(still=still, axis=axis, made=made, used=used)
    with pytest.raises(wb.ScheduleError, match=why):
        wb.build(wb.Schedule(script.parse(text)))
