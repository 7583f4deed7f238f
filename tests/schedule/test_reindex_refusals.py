"""reindex: what it refuses, and how it says so."""

from __future__ import annotations

from tests.support.block_programs import MATMUL, PARTIAL, SELF, TWO_STAGES, WINDOW
from tests.support.steps import refusal

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

WRITTEN_TWICE = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi // 2] = A[vi]
"""


def test_a_buffer_of_no_name():
    text = refusal(MATMUL, lambda sch: sch.reindex("C", ("both", 0)))
    assert (
        text
        == """\
Can't reindex `C`: ('both', 0) names no buffer.
asked: sch.reindex("C", ["both", 0])
where:
   3 |     # with T.block("root"):
   4 |     for i, j, k in T.grid(6, 6, 8):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vj, vk = T.axis.remap("SSR", [i, j, k])
   7 |             T.reads(A[vi, vk], B[vk, vj])
do:    write ("read", 0), ("write", 0) or a name: A, B, C"""
    )


def test_a_buffer_that_it_does_not_read():
    text = refusal(MATMUL, lambda sch: sch.reindex("C", ("read", 2)))
    assert (
        text
        == """\
Can't reindex `C`: it reads no buffer 2.
asked: sch.reindex("C", ["read", 2])
where:
   3 |     # with T.block("root"):
   4 |     for i, j, k in T.grid(6, 6, 8):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vj, vk = T.axis.remap("SSR", [i, j, k])
   7 |             T.reads(A[vi, vk], B[vk, vj])
do:    the buffers that it reads: 0 or 'A', 1 or 'B'"""
    )


def test_a_buffer_that_it_does_not_touch():
    text = refusal(MATMUL, lambda sch: sch.reindex("C", "D"))
    assert (
        text
        == """\
Can't reindex `C`: 'D' names no buffer.
asked: sch.reindex("C", "D")
where:
   3 |     # with T.block("root"):
   4 |     for i, j, k in T.grid(6, 6, 8):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vj, vk = T.axis.remap("SSR", [i, j, k])
   7 |             T.reads(A[vi, vk], B[vk, vj])
do:    write ("read", 0), ("write", 0) or a name: A, B, C"""
    )


def test_several_places_at_once():
    text = refusal(WINDOW, lambda sch: sch.reindex("C", ("read", 0)))
    assert (
        text
        == """\
Can't reindex B of `C`: it touches B at more than one place.
asked: sch.reindex("C", ["read", 0])
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(B[vj : vj + 3])
do:    reindex takes a block that touches one cell in each iteration"""
    )


def test_a_padding():
    text = refusal(PADDED, lambda sch: sch.reindex("P", ("read", 0)))
    assert (
        text
        == """\
Can't reindex A of `P`: some iterations touch no cell of A.
asked: sch.reindex("P", ["read", 0])
where:
   4 |     P = T.alloc_buffer((18,))
   5 |     for i in range(18):
   6 |         with T.block("P"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(18, i)
   8 |             T.reads(A[vi - 1])
found: a condition inside the block keeps them out; the copy would not
do:    compute_inline or decompose the padding first"""
    )


def test_a_cell_written_twice():
    text = refusal(WRITTEN_TWICE, lambda sch: sch.reindex("C", ("write", 0)))
    assert (
        text
        == """\
Can't reindex C of `C`: two iterations may write the same cell.
asked: sch.reindex("C", ["write", 0])
where:
   3 |     # with T.block("root"):
   4 |     for i in range(16):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(16, i)
   7 |             T.reads(A[vi])
do:    the copy back would keep only one of them"""
    )


def test_loops_shared_with_another_block():
    text = refusal(
        TWO_STAGES, lambda sch: sch.compute_at("B", "j"), lambda sch: sch.reindex("C", ("read", 0))
    )
    assert (
        text
        == """\
Can't reindex B of `C`: `B` shares its loops and uses B.
asked: sch.reindex("C", ["read", 0])
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     for j in range(16):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(16, j)
   8 |             T.reads(A[vi])
   9 |             T.writes(B[vi])
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  12 |             vj = T.axis.spatial(16, j)
  13 |             T.reads(B[vj])
do:    the copy goes ahead of all its loops, or behind: reindex before moving blocks"""
    )


def test_a_part_of_its_domain():
    text = refusal(PARTIAL, lambda sch: sch.reindex("C", ("read", 0)))
    assert (
        text
        == """\
Can't reindex B of `C`: its loops may not run all of its iterations.
asked: sch.reindex("C", ["read", 0])
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(8):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(B[vj])
do:    make the domains of its iterators (T.axis) no larger than what its loops run"""
    )


def test_an_update_in_place():
    text = refusal(SELF, lambda sch: sch.reindex("C", ("write", 0)))
    assert (
        text
        == """\
Can't reindex `C`: it updates C in place.
asked: sch.reindex("C", ["write", 0])
where:
   3 |     # with T.block("root"):
   4 |     for i in range(16):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(16, i)
   7 |             T.reads(C[vi], A[vi])
found: running it again, or elsewhere, changes the result
do:    give the block a T.init(), or write the result into another buffer"""
    )


BOTH_WAYS = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    C = T.alloc_buffer((8,), "float32")
    for i, k in T.grid(8, 2):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(C[vi], A[vi])
            T.writes(C[vi])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi]
    for j in range(8):
        with T.block("D"):
            vj = T.axis.spatial(8, j)
            D[vj] = C[vj]
"""


def test_what_it_also_writes():
    text = refusal(BOTH_WAYS, lambda sch: sch.reindex("C", "C"))
    assert (
        text
        == """\
Can't reindex C of `C`: it writes C too.
asked: sch.reindex("C", "C")
where:
   4 |     C = T.alloc_buffer((8,))
   5 |     for i, k in T.grid(8, 2):
   6 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vk = T.axis.remap("SR", [i, k])
   8 |             T.reads(C[vi], A[vi])
do:    reindex what it writes: ("write", 0)"""
    )


ONE_CELL = """\
@T.prim_func
def main(A: T.Buffer((1,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[0]
"""


def test_one_cell_for_all():
    text = refusal(ONE_CELL, lambda sch: sch.reindex("C", ("read", 0)))
    assert (
        text
        == """\
Can't reindex A of `C`: every iteration touches the same cell.
asked: sch.reindex("C", ["read", 0])
where:
   3 |     # with T.block("root"):
   4 |     for i in range(8):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(8, i)
   7 |             T.reads(A[0])
do:    there is nothing to lay out by iterators"""
    )
