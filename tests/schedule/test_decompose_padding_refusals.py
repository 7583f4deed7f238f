"""decompose_padding: what it refuses, and how it says so."""

from __future__ import annotations

from tests.support.block_programs import TWO_STAGES
from tests.support.steps import refusal

CHESS = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("P"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.if_then_else(vi % 2 < 1, A[vi], T.float32(0))
"""

PADDED = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    P = T.alloc_buffer((18,), "float32")
    for i in range(18):
        with T.block("P"):
            vi = T.axis.spatial(18, i)
            P[vi] = T.if_then_else(1 <= vi and vi < 17, A[vi - 1], T.float32(0))
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = P[vi] + P[vi + 1] + P[vi + 2]
"""


def test_a_loop_not_around_it():
    text = refusal(PADDED, lambda sch: sch.decompose_padding("P", sch.get_loops("C")[0]))
    assert (
        text
        == """\
Can't decompose_padding `P` at `i`: that loop is not around it.
asked: sch.decompose_padding("P", i)
where:
   4 |     P = T.alloc_buffer((18,))
   5 |     for i in range(18):
   6 |         with T.block("P"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(18, i)
   8 |             T.reads(A[vi - 1])
   9 |             T.writes(P[vi])
  10 |             P[vi] = T.if_then_else(1 <= vi and vi < 17, A[vi - 1], T.float32(0))
  11 |     for i in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
  12 |         with T.block("C"):
  13 |             vi = T.axis.spatial(16, i)
do:    the loops around it: `i`"""
    )


def test_a_loop_of_two_blocks():
    text = refusal(
        PADDED,
        lambda sch: sch.compute_at("P", sch.get_loops("C")[0]),
        lambda sch: sch.decompose_padding("P", "i"),
    )
    assert (
        text
        == """\
Can't decompose_padding `P` at `i`: `C` is in that loop too.
asked: sch.decompose_padding("P", "i")
where:
   3 |     # with T.block("root"):
   4 |     P = T.alloc_buffer((18,))
   5 |     for i in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
   6 |         for ax0 in range(3):
   7 |             with T.block("P"):
    …
  10 |                 T.writes(P[vi])
  11 |                 P[vi] = T.if_then_else(1 <= vi and vi < 17, A[vi - 1], T.float32(0))
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vi = T.axis.spatial(16, i)
  14 |             T.reads(P[vi : vi + 3])
do:    name a loop that holds nothing but the block that pads"""
    )


def test_a_block_that_does_not_pad():
    text = refusal(TWO_STAGES, lambda sch: sch.decompose_padding("B", "i"))
    assert (
        text
        == """\
Can't decompose_padding `B` at `i`: it does not choose between a value and a constant.
asked: sch.decompose_padding("B", "i")
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(16, i)
   8 |             T.reads(A[vi])
do:    it takes P[v] = T.if_then_else(lo <= v and v < hi, A[v - lo], 0)"""
    )


def test_a_condition_that_is_no_range():
    text = refusal(CHESS, lambda sch: sch.decompose_padding("P", "i"))
    assert (
        text
        == """\
Can't decompose_padding `P` at `i`: its condition is no range of each iterator.
asked: sch.decompose_padding("P", "i")
where:
   3 |     # with T.block("root"):
   4 |     for i in range(8):
   5 |         with T.block("P"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(8, i)
   7 |             T.reads(A[vi])
do:    it takes conditions such as 1 <= vi and vi < 7, joined by `and`"""
    )
