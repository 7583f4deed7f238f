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


def test_a_global_buffer_that_all_blocks_fill_is_refused():
    sch = wb.Schedule(script.parse(PROGRAM))
    with pytest.raises(wb.ScheduleError) as caught:
        wb.build(sch, target="cuda")
    assert str(caught.value) == TEXT
    sch.set_scope("B_global", 0, "shared")
    with pytest.warns(wb.ScheduleWarning):  # both threads fetch all of it
        wb.build(sch, target="cuda")


TEXT = """\
Can't build this: several blocks would write the same cells of B_global while others read them.
asked: wb.build(main, target='cuda')
where:
   3 |     # with T.block("root"):
   4 |     B_global = T.alloc_buffer((2,))
   5 |     for i in T.thread_binding(12, thread="blockIdx.x"):
     |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   6 |         for ax0 in range(2):
   7 |             with T.block("B_global"):
     |             ^^^^^^^^^^^^^^^^^^^^^^^^^
   8 |                 v0 = T.axis.spatial(2, ax0)
   9 |                 T.reads(B[v0])
    …
  11 |                 B_global[v0] = B[v0]
  12 |         for j in T.thread_binding(2, thread="threadIdx.x"):
  13 |             with T.block("C"):
     |             ^^^^^^^^^^^^^^^^^^
  14 |                 vi, vj = T.axis.remap("SS", [i, j])
  15 |                 T.reads(B_global[vj])
found: B_global is in global memory, which all blocks share, and nothing orders them
do:    give each block its own: sch.set_scope("B_global", 0, "shared")"""
