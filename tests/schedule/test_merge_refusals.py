"""merge: what it refuses, and how it says so."""

from __future__ import annotations

from tests.support.block_programs import FORK, SPREAD, SUM, TWO_STAGES, WINDOW
from tests.support.steps import refusal

SHIFTED = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2.0
    for j in range(16):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = B[15 - vj] + 1.0
"""

TWO_WRITERS = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("one"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2.0
    for j in range(8):
        with T.block("two"):
            vj = T.axis.spatial(8, j)
            B[7 - vj] = A[vj] + 1.0
"""


def test_one_loop():
    text = refusal(TWO_STAGES, lambda sch: sch.merge("i"))
    assert (
        text
        == """\
Can't merge: it takes two or more different loops.
asked: sch.merge("i")
where:
   3 |     # with T.block("root"):
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
   6 |         with T.block("B"):
   7 |             vi = T.axis.spatial(16, i)
do:    name two or more, in the order of the program"""
    )


def test_a_window_that_needs_later_turns():
    text = refusal(SHIFTED, lambda sch: sch.merge("i", "j"))
    assert (
        text
        == """\
Can't merge `i`, `j`: `C` would read B too early.
asked: sch.merge("i", "j")
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
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(B[15 - vj])
found: one iteration of `i_m` may not make all that is read in it
do:    let it be read outside `i_m`, or move `B` to its reader with compute_at"""
    )


def test_loops_of_unequal_length():
    text = refusal(WINDOW, lambda sch: sch.merge("i", "j"))
    assert (
        text
        == """\
Can't merge `i`, `j`: they do not run equally often, nest by nest.
asked: sch.merge("i", "j")
where:
   3 |     # with T.block("root"):
   4 |     B = T.alloc_buffer((18,))
   5 |     for i in range(18):
     |     ^^^^^^^^^^^^^^^^^^^
   6 |         with T.block("B"):
   7 |             vi = T.axis.spatial(18, i)
    …
   9 |             T.writes(B[vi])
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
  12 |         with T.block("C"):
  13 |             vj = T.axis.spatial(16, j)
do:    split the longer one, so that a part of it is as long as the other"""
    )


def test_loops_with_one_between():
    text = refusal(FORK, lambda sch: sch.merge("i", "k"))
    assert (
        text
        == """\
Can't merge `i`, `k`: something stands between them.
asked: sch.merge("i", "k")
where:
   3 |     # with T.block("root"):
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
   6 |         with T.block("B"):
   7 |             vi = T.axis.spatial(16, i)
    …
  15 |             T.writes(C[vj])
  16 |             C[vj] = B[vj] + T.float32(1)
  17 |     for k in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
  18 |         with T.block("D"):
  19 |             vk = T.axis.spatial(16, k)
do:    merge takes loops that stand directly one after the other"""
    )


def test_a_loop_and_one_inside_it():
    text = refusal(SUM, lambda sch: sch.merge("i", "k"))
    assert (
        text
        == """\
Can't merge `i`, `k`: they are not in nests of their own in one block.
asked: sch.merge("i", "k")
where:
   3 |     # with T.block("root"):
   4 |     C = T.alloc_buffer((6,))
   5 |     for i, k in T.grid(6, 8):
     |         ^  ^
   6 |         with T.block("C"):
   7 |             vi, vk = T.axis.remap("SR", [i, k])
do:    merge takes loops that stand one after the other"""
    )


def test_a_loop_that_shares_its_nest():
    text = refusal(SPREAD, lambda sch: sch.merge("i1", "j"))
    assert (
        text
        == """\
Can't merge `i1`, `j`: `o` holds more than `j`.
asked: sch.merge("i1", "j")
where:
   9 |             T.writes(B[v0, v1])
  10 |             B[v0, v1] = A[v0, v1] * T.float32(2)
  11 |     for o in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
  12 |         for j in range(4):
  13 |             with T.block("C"):
do:    merge the outer loops first"""
    )


def test_a_vectorized_loop_and_a_plain_one():
    text = refusal(TWO_STAGES, lambda sch: sch.vectorize("j"), lambda sch: sch.merge("i", "j"))
    assert text.startswith("Can't merge `i`, `j`: `j` is no plain loop any more.")


def test_a_bound_loop():
    text = refusal(
        TWO_STAGES,
        lambda sch: sch.bind("i", "threadIdx.x"),
        lambda sch: sch.bind("j", "threadIdx.x"),
        lambda sch: sch.merge("i", "j"),
    )
    assert (
        text
        == """\
Can't merge `i`, `j`: `i` is no plain loop any more.
asked: sch.merge("i", "j")
where:
   3 |     # with T.block("root"):
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in T.thread_binding(16, thread="threadIdx.x"):
     |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   6 |         with T.block("B"):
   7 |             vi = T.axis.spatial(16, i)
do:    merge before bind, vectorize, unroll, parallel and annotate"""
    )


def test_two_writers():
    text = refusal(TWO_WRITERS, lambda sch: sch.merge("i", "j"))
    assert (
        text
        == """\
Can't merge `i`, `j`: `one` and `two` both write B.
asked: sch.merge("i", "j")
where:
   3 |     # with T.block("root"):
   4 |     for i in range(8):
   5 |         with T.block("one"):
     |         ^^^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(8, i)
   7 |             T.reads(A[vi])
    …
   9 |             B[vi] = A[vi] * T.float32(2)
  10 |     for j in range(8):
  11 |         with T.block("two"):
     |         ^^^^^^^^^^^^^^^^^^^^
  12 |             vj = T.axis.spatial(8, j)
  13 |             T.reads(A[vj])
do:    turn by turn, one could undo what the other did"""
    )
