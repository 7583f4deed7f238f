"""compute_at: what it refuses, and how it says so."""

from __future__ import annotations

from tests.support.block_programs import DEAD, FORK, OVERWRITTEN, SPREAD, SUM, TWO_STAGES
from tests.support.steps import refusal

BEYOND = """\
@T.prim_func
def main(A: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((6,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.where(i < 6)
            B[vi] = A[vi] * 2.0
    for j in range(6):
        with T.block("C"):
            vj = T.axis.spatial(6, j)
            C[vj] = B[vj] + 1.0
"""

GUARDED = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        if i < 16:
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] * 2.0
    for j in range(16):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = B[vj] + 1.0
"""

NESTED = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2.0
    for j in range(4):
        with T.block("outer"):
            vo = T.axis.spatial(4, j)
            for l in range(4):
                with T.block("C"):
                    vl = T.axis.spatial(4, l)
                    C[vo * 4 + vl] = B[vo * 4 + vl] + 1.0
"""

NOT_SPATIAL = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), D: T.Buffer((6,), "float32")):
    C = T.alloc_buffer((6,), "float32")
    for i, k in T.grid(6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
    for j in range(6):
        with T.block("D"):
            vj = T.axis.spatial(6, j)
            D[vj] = C[vj]
"""

NO_INIT2 = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), D: T.Buffer((6,), "float32")):
    C = T.alloc_buffer((6,), "float32")
    for i, k in T.grid(6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = A[vi, vk]
    for j in range(6):
        with T.block("D"):
            vj = T.axis.spatial(6, j)
            D[vj] = C[vj]
"""

REDUCE_INDEX = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), D: T.Buffer((6, 8), "float32")):
    C = T.alloc_buffer((6, 8), "float32")
    for i, k in T.grid(6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi, vk] = 0.0
            C[vi, vk] = C[vi, vk] + A[vi, vk]
    for i, k in T.grid(6, 8):
        with T.block("D"):
            vi, vk = T.axis.remap("SS", [i, k])
            D[vi, vk] = C[vi, vk]
"""


def test_its_own_loop():
    text = refusal(TWO_STAGES, lambda sch: sch.compute_at("B", "i"))
    assert (
        text
        == """\
Can't compute_at `B` at `i`: it is already in that loop.
asked: sch.compute_at("B", "i")
where:
   3 |     # with T.block("root"):
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(16, i)
   8 |             T.reads(A[vi])
do:    name a loop of another block; `B` moves into that block's nest"""
    )


def test_a_loop_in_another_block():
    text = refusal(NESTED, lambda sch: sch.compute_at("B", "l"))
    assert (
        text
        == """\
Can't compute_at `B` at `l`: that loop is in another block.
asked: sch.compute_at("B", "l")
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(16, i)
   8 |             T.reads(A[vi])
    …
  14 |             T.reads(B[vo * 4 : vo * 4 + 4])
  15 |             T.writes(C[vo * 4 : vo * 4 + 4])
  16 |             for l in range(4):
     |             ^^^^^^^^^^^^^^^^^^
  17 |                 with T.block("C"):
  18 |                     vl = T.axis.spatial(4, l)
do:    a block moves only among the loops directly inside the block that holds it"""
    )


def test_a_result_of_the_program():
    text = refusal(TWO_STAGES, lambda sch: sch.compute_at("C", "i"))
    assert (
        text
        == """\
Can't compute_at `C` at `i`: C is a result of the program, not a step on the way.
asked: sch.compute_at("C", "i")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(B[vj])
do:    move the blocks that it reads, or move it with reverse_compute_at"""
    )


def test_a_block_that_nobody_reads():
    text = refusal(DEAD, lambda sch: sch.compute_at("B", "j"))
    assert (
        text
        == """\
Can't compute_at `B` at `j`: no block after it reads what it makes.
asked: sch.compute_at("B", "j")
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(16, i)
   8 |             T.reads(A[vi])
do:    compute_at puts a block beside its readers; one without readers has no place"""
    )


def test_a_reader_outside_the_loop():
    text = refusal(FORK, lambda sch: sch.compute_at("B", "j"))
    assert (
        text
        == """\
Can't compute_at `B` at `j`: `D` reads its result outside that loop.
asked: sch.compute_at("B", "j")
where:
   9 |             T.writes(B[vi])
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
  12 |         with T.block("C"):
  13 |             vj = T.axis.spatial(16, j)
    …
  16 |             C[vj] = B[vj] + T.float32(1)
  17 |     for k in range(16):
  18 |         with T.block("D"):
     |         ^^^^^^^^^^^^^^^^^^
  19 |             vk = T.axis.spatial(16, k)
  20 |             T.reads(B[vk])
do:    its readers share no loop: move one to the other, or give each its cache_read"""
    )


def test_a_loop_that_does_not_hold_all_readers():
    text = refusal(SPREAD, lambda sch: sch.compute_at("B", "j"))
    assert (
        text
        == """\
Can't compute_at `B` at `j`: `D` reads its result outside that loop.
asked: sch.compute_at("B", "j")
where:
  10 |             B[v0, v1] = A[v0, v1] * T.float32(2)
  11 |     for o in range(16):
  12 |         for j in range(4):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             with T.block("C"):
  14 |                 v0, v1 = T.axis.remap("SS", [o, j])
    …
  17 |                 C[v0, v1] = B[v0, v1] + T.float32(1)
  18 |         for k in range(4):
  19 |             with T.block("D"):
     |             ^^^^^^^^^^^^^^^^^^
  20 |                 v0, v1 = T.axis.remap("SS", [o, k])
  21 |                 T.reads(B[v0, v1])
do:    pick a loop that holds every reader: `o`"""
    )


def test_an_index_that_is_no_place():
    text = refusal(TWO_STAGES, lambda sch: sch.compute_at("B", "j", index=3))
    assert (
        text
        == """\
Can't compute_at `B` at `j`: index=3 is no place for it.
asked: sch.compute_at("B", "j", index=3)
where:
   9 |             T.writes(B[vi])
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
  12 |         with T.block("C"):
  13 |             vj = T.axis.spatial(16, j)
do:    index 0, between what it reads and what reads it; -1 is the last, -2 the first"""
    )


def test_what_it_reads_being_overwritten():
    text = refusal(OVERWRITTEN, lambda sch: sch.compute_at("B", "k"))
    assert (
        text
        == """\
Can't compute_at `B` at `k`: `W` overwrites A, which it reads.
asked: sch.compute_at("B", "k")
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(16, i)
   8 |             T.reads(A[vi])
    …
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
  12 |         with T.block("W"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads()
do:    let `W` write another buffer, or leave `B` ahead of it"""
    )


def test_a_block_under_an_if():
    text = refusal(GUARDED, lambda sch: sch.compute_at("B", "j"))
    assert (
        text
        == """\
Can't compute_at `B`: it stands under an `if`.
asked: sch.compute_at("B", "j")
where:
   5 |     for i in range(16):
   6 |         if i < 16:
   7 |             with T.block("B"):
     |             ^^^^^^^^^^^^^^^^^^
   8 |                 vi = T.axis.spatial(16, i)
   9 |                 T.reads(A[vi])
do:    write the condition as T.where, or as T.if_then_else inside the block"""
    )


def test_one_of_two_writers():
    text = refusal(
        SUM,
        lambda sch: sch.decompose_reduction("C", "k"),
        lambda sch: sch.compute_at("C_update", "j"),
    )
    assert (
        text
        == """\
Can't compute_at `C_update`: `C_init` writes C too.
asked: sch.compute_at("C_update", "j")
where:
   4 |     C = T.alloc_buffer((6,))
   5 |     for i in range(6):
   6 |         with T.block("C_init"):
     |         ^^^^^^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(6, i)
   8 |             T.reads()
    …
  10 |             C[vi] = T.float32(0)
  11 |         for k in range(8):
  12 |             with T.block("C_update"):
     |             ^^^^^^^^^^^^^^^^^^^^^^^^^
  13 |                 vi, vk = T.axis.remap("SR", [i, k])
  14 |                 T.reads(C[vi], A[vi, vk])
do:    move it while it is the sole writer, before decompose_reduction"""
    )


def test_a_condition_that_keeps_it_inside():
    text = refusal(BEYOND, lambda sch: sch.compute_at("B", "j"))
    assert (
        text
        == """\
Can't compute_at `B` at `j`: without its T.where it may leave B.
asked: sch.compute_at("B", "j")
where:
   4 |     B = T.alloc_buffer((6,))
   5 |     for i in range(8):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(8, i)
   8 |             T.where(i < 6)
found: its iterators (T.axis) go further than the buffer
do:    give T.axis the extents for which the block is meant to run"""
    )


def test_a_sum_without_init():
    text = refusal(NO_INIT2, lambda sch: sch.compute_at("C", "j"))
    assert (
        text
        == """\
Can't compute_at `C`: it has a reduce iterator but no T.init().
asked: sch.compute_at("C", "j")
where:
   4 |     C = T.alloc_buffer((6,))
   5 |     for i, k in T.grid(6, 8):
   6 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vk = T.axis.remap("SR", [i, k])
   8 |             T.reads(A[vi, vk])
do:    give the block a T.init(); without it what is summed depends on what was there"""
    )


def test_a_reduce_iterator_that_says_the_cell():
    text = refusal(REDUCE_INDEX, lambda sch: sch.compute_at("C", sch.get_loops("D")[0]))
    assert (
        text
        == """\
Can't compute_at `C`: its reduce iterator vk says which cell of C is written.
asked: sch.compute_at("C", i)
where:
   4 |     C = T.alloc_buffer((6, 8))
   5 |     for i, k in T.grid(6, 8):
   6 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vk = T.axis.remap("SR", [i, k])
   8 |             T.reads(A[vi, vk])
do:    make vk a spatial iterator (T.axis.spatial)"""
    )


def test_a_spatial_iterator_that_says_no_cell():
    text = refusal(NOT_SPATIAL, lambda sch: sch.compute_at("C", "j"))
    assert (
        text
        == """\
Can't compute_at `C`: vk does not say which cell of C is written.
asked: sch.compute_at("C", "j")
where:
   4 |     C = T.alloc_buffer((6,))
   5 |     for i, k in T.grid(6, 8):
   6 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vk = T.axis.remap("SS", [i, k])
   8 |             T.reads(A[vi, vk])
do:    make vk a reduce iterator (T.axis.reduce)"""
    )
