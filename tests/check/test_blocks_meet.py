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


CROSSED = """
@T.prim_func
def main(
    A: T.Buffer((4, 2), "float32"), C: T.Buffer((4, 2), "float32"), D: T.Buffer((4, 2), "float32")
):
    for i in T.thread_binding(4, thread="threadIdx.x"):
        for l in T.thread_binding(2, thread="blockIdx.x"):
            with T.block("C"):
                vi, vl = T.axis.remap("SS", [i, l])
                C[vi, vl] = A[vi, vl]
        for j in range(2):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj]
"""


def test_cells_that_other_blocks_write_in_the_same_kernel_are_refused():
    with pytest.raises(wb.ScheduleError) as caught:
        wb.build(wb.Schedule(script.parse(CROSSED)), target="cuda")
    assert (
        str(caught.value)
        == """\
Can't build this: `D` reads cells of C that other blocks write in the same kernel.
asked: wb.build(main, target='cuda')
where:
   4 |     for i in T.thread_binding(4, thread="threadIdx.x"):
   5 |         for l in T.thread_binding(2, thread="blockIdx.x"):
   6 |             with T.block("C"):
     |             ^^^^^^^^^^^^^^^^^^
   7 |                 vi, vl = T.axis.remap("SS", [i, l])
   8 |                 T.reads(A[vi, vl])
    …
  10 |                 C[vi, vl] = A[vi, vl]
  11 |         for j in range(2):
  12 |             with T.block("D"):
     |             ^^^^^^^^^^^^^^^^^^
  13 |                 vi, vj = T.axis.remap("SS", [i, j])
  14 |                 T.reads(C[vi, vj])
found: `C` spreads C over blockIdx.x, and nothing orders blocks
do:    give `D` its own nest of loops: it then runs when the first is done"""
    )


CARRIED = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        with T.block("outer"):
            vo = T.axis.spatial(8, i)
            for u in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("B"):
                    T.where(u < 1)
                    T.reads(A[vo])
                    T.writes(B[vo])
                    B[vo] = A[vo]
"""


def test_an_iterator_carries_the_outer_loop_of_one_axis():
    with pytest.raises(wb.ScheduleError) as caught:
        wb.build(wb.Schedule(script.parse(CARRIED)), target="cuda")
    assert (
        str(caught.value)
        == """\
Can't build this: `u` inside `i` is the same threadIdx.x, yet `B` uses both.
asked: wb.build(main, target='cuda')
where:
   2 | def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
   3 |     # with T.block("root"):
   4 |     for i in T.thread_binding(8, thread="threadIdx.x"):
     |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   5 |         with T.block("outer"):
   6 |             vo = T.axis.spatial(8, i)
   7 |             T.reads(A[vo])
   8 |             T.writes(B[vo])
   9 |             for u in T.thread_binding(8, thread="threadIdx.x"):
     |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  10 |                 with T.block("B"):
     |                 ^^^^^^^^^^^^^^^^^^
  11 |                     T.where(u < 1)
  12 |                     T.reads(A[vo])
found: a thread has one threadIdx.x, so only iterations with i = u would ever be done
do:    bind `u` to another axis, or keep it serial"""
    )


INSIDE = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.thread_binding(1, thread="blockIdx.x"):
        with T.block("outer"):
            vo = T.axis.spatial(1, i)
            for u in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("B"):
                    vi = T.axis.spatial(8, u)
                    B[vi] = A[vi]
"""


def test_a_loop_bound_inside_a_block():
    with pytest.raises(wb.ScheduleError) as caught:
        wb.build(wb.Schedule(script.parse(INSIDE)), target="cuda")
    assert (
        str(caught.value)
        == """\
Can't build this: `u` is bound to threadIdx.x inside the block `outer`.
asked: wb.build(main, target='cuda')
where:
   3 |     # with T.block("root"):
   4 |     for i in T.thread_binding(1, thread="blockIdx.x"):
   5 |         with T.block("outer"):
     |         ^^^^^^^^^^^^^^^^^^^^^^
   6 |             vo = T.axis.spatial(1, i)
   7 |             T.reads(A[0:8])
   8 |             T.writes(B[0:8])
   9 |             for u in T.thread_binding(8, thread="threadIdx.x"):
     |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  10 |                 with T.block("B"):
  11 |                     vi = T.axis.spatial(8, u)
do:    bind a loop around that block, and keep the loops in it serial"""
    )
