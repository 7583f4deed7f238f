"""loop_partition: what it refuses, and how it says so."""

from __future__ import annotations

from tests.support.block_programs import TWO_STAGES
from tests.support.steps import refusal

TRIANGLE = """\
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i in range(8):
        for j in range(i + 1):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj]
"""


def test_no_factors():
    text = refusal(TWO_STAGES, lambda sch: sch.loop_partition("i", []))
    assert (
        text
        == """\
Can't loop_partition `i`: no factors were given.
asked: sch.loop_partition("i", [])
where:
   3 |     # with T.block("root"):
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
   6 |         with T.block("B"):
   7 |             vi = T.axis.spatial(16, i)
do:    say how: factors=[2, None]"""
    )


def test_two_to_be_worked_out():
    text = refusal(TWO_STAGES, lambda sch: sch.loop_partition("i", [None, None]))
    assert (
        text
        == """\
Can't loop_partition `i`: only one factor can be None, to be worked out.
asked: sch.loop_partition("i", [None, None])
where:
   3 |     # with T.block("root"):
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
   6 |         with T.block("B"):
   7 |             vi = T.axis.spatial(16, i)
do:    give all factors but one"""
    )


def test_a_part_that_never_runs():
    text = refusal(TWO_STAGES, lambda sch: sch.loop_partition("i", [0, None]))
    assert (
        text
        == """\
Can't loop_partition `i`: the factor 0 is not positive.
asked: sch.loop_partition("i", [0, None])
where:
   3 |     # with T.block("root"):
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
   6 |         with T.block("B"):
   7 |             vi = T.axis.spatial(16, i)
do:    factors count from 1"""
    )


def test_nothing_left_over():
    text = refusal(TWO_STAGES, lambda sch: sch.loop_partition("i", [8, 8]))
    assert (
        text
        == """\
Can't loop_partition `i`: [8, 8] leaves none of 16 iterations over.
asked: sch.loop_partition("i", [8, 8])
where:
   3 |     # with T.block("root"):
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
   6 |         with T.block("B"):
   7 |             vi = T.axis.spatial(16, i)
found: 8 + 8 = 16, and it runs 16 times
do:    leave the last factor out, or write None for it: it is what is left"""
    )


def test_a_bound_loop():
    text = refusal(
        TWO_STAGES,
        lambda sch: sch.bind("i", "threadIdx.x"),
        lambda sch: sch.loop_partition("i", [8]),
    )
    assert (
        text
        == """\
Can't loop_partition `i`: it is bound to threadIdx.x.
asked: sch.loop_partition("i", [8])
where:
   3 |     # with T.block("root"):
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in T.thread_binding(16, thread="threadIdx.x"):
     |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   6 |         with T.block("B"):
   7 |             vi = T.axis.spatial(16, i)
do:    loop_partition before you bind: undo the bind, loop_partition, then bind the \
loops that result"""
    )


def test_a_loop_with_a_note():
    text = refusal(
        TWO_STAGES,
        lambda sch: sch.annotate("i", "note", 1),
        lambda sch: sch.loop_partition("i", [8]),
    )
    assert (
        text
        == """\
Can't loop_partition `i`: it is annotated with "note".
asked: sch.loop_partition("i", [8])
where:
   3 |     # with T.block("root"):
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in T.serial(16, annotations={"note": 1}):
     |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   6 |         with T.block("B"):
   7 |             vi = T.axis.spatial(16, i)
do:    take the annotation off: sch.unannotate("i", "note")"""
    )


def test_a_loop_that_varies():
    text = refusal(TRIANGLE, lambda sch: sch.loop_partition("j", [1]))
    assert (
        text
        == """\
Can't loop_partition `j`: the number of its iterations varies.
asked: sch.loop_partition("j", [1])
where:
   3 |     # with T.block("root"):
   4 |     for i in range(8):
   5 |         for j in range(i + 1):
     |         ^^^^^^^^^^^^^^^^^^^^^^
   6 |             with T.block("C"):
   7 |                 vi, vj = T.axis.remap("SS", [i, j])
found: it runs i + 1 times
do:    loop_partition a loop that runs a fixed number of times"""
    )
