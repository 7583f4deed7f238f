"""storage_align: what it refuses, and how it says so."""

from __future__ import annotations

from tests.support.steps import refusal

TRANSPOSE = """\
@T.prim_func
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
    S = T.alloc_buffer((32, 32), "float32")
    for i, j in T.grid(32, 32):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = A[vi, vj]
    for i, j in T.grid(32, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = S[vj, vi]
"""


def test_an_argument():
    text = refusal(TRANSPOSE, lambda sch: sch.storage_align("B", 0, axis=0, factor=32, offset=1))
    assert (
        text
        == """\
Can't storage_align B of `B`: it is an argument, whose rows the caller has laid out.
asked: sch.storage_align("B", 0, axis=0, factor=32, offset=1)
where:
  10 |             S[vi, vj] = A[vi, vj]
  11 |     for i, j in T.grid(32, 32):
  12 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vi, vj = T.axis.remap("SS", [i, j])
  14 |             T.reads(S[vj, vi])
do:    copy it from there: sch.cache_write("B", 0, "shared")"""
    )


def test_an_axis_that_is_none():
    text = refusal(TRANSPOSE, lambda sch: sch.storage_align("S", 0, axis=2, factor=32, offset=1))
    assert (
        text
        == """\
Can't storage_align S of `S`: it has no axis 2.
asked: sch.storage_align("S", 0, axis=2, factor=32, offset=1)
where:
   4 |     S = T.alloc_buffer((32, 32))
   5 |     for i, j in T.grid(32, 32):
   6 |         with T.block("S"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vj = T.axis.remap("SS", [i, j])
   8 |             T.reads(A[vi, vj])
do:    its axes: 0, 1"""
    )


def test_the_last_axis():
    text = refusal(TRANSPOSE, lambda sch: sch.storage_align("S", 0, axis=-1, factor=32, offset=1))
    assert (
        text
        == """\
Can't storage_align S of `S`: axis -1 is the last, whose elements stay side by side.
asked: sch.storage_align("S", 0, axis=-1, factor=32, offset=1)
where:
   4 |     S = T.alloc_buffer((32, 32))
   5 |     for i, j in T.grid(32, 32):
   6 |         with T.block("S"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vj = T.axis.remap("SS", [i, j])
   8 |             T.reads(A[vi, vj])
do:    pad a row: axis=0"""
    )


def test_an_offset_beyond_the_factor():
    text = refusal(TRANSPOSE, lambda sch: sch.storage_align("S", 0, axis=0, factor=32, offset=33))
    assert (
        text
        == """\
Can't storage_align S of `S`: offset 33 is not between 0 and factor 32.
asked: sch.storage_align("S", 0, axis=0, factor=32, offset=33)
where:
   4 |     S = T.alloc_buffer((32, 32))
   5 |     for i, j in T.grid(32, 32):
   6 |         with T.block("S"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vj = T.axis.remap("SS", [i, j])
   8 |             T.reads(A[vi, vj])
do:    rows of 33 floats: factor=32, offset=1"""
    )


def test_a_buffer_it_does_not_write():
    text = refusal(TRANSPOSE, lambda sch: sch.storage_align("S", 1, axis=0, factor=32, offset=1))
    assert (
        text
        == """\
Can't storage_align `S`: it writes no buffer 1.
asked: sch.storage_align("S", 1, axis=0, factor=32, offset=1)
where:
   4 |     S = T.alloc_buffer((32, 32))
   5 |     for i, j in T.grid(32, 32):
   6 |         with T.block("S"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vj = T.axis.remap("SS", [i, j])
   8 |             T.reads(A[vi, vj])
do:    the buffers that it writes: 0 or 'S'"""
    )
