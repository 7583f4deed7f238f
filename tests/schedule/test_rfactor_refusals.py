"""rfactor: what it refuses, and how it says so."""

from __future__ import annotations

from tests.support.block_programs import SPREAD, SUM
from tests.support.steps import refusal

BESIDE = """\
@T.prim_func
def main(
    A: T.Buffer((6, 8), "float32"),
    C: T.Buffer((6,), "float32"),
    D: T.Buffer((6, 8), "float32"),
):
    for i in range(6):
        for j in range(8):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = A[vi, vj] + 1.0
        for k in range(8):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + A[vi, vk]
"""

BIASED = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 1.0
            C[vi] = C[vi] + A[vi, vk]
"""

DIAGONAL = """\
@T.prim_func
def main(A: T.Buffer((12,), "float32"), C: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 7):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            vk = T.axis.reduce(12, i + k)
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vk]
"""

REPEATED = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
    for r, i, k in T.grid(2, 6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
"""

ROLLING = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] * 2.0 + A[vi, vk]
"""

SHORT = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 12):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            vk = T.axis.reduce(8, k)
            T.where(k < 8)
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
"""

TRIANGLE = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
    for i in range(6):
        for k in range(i + 1):
            with T.block("C"):
                vi = T.axis.spatial(6, i)
                vk = T.axis.reduce(8, k)
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + A[vi, vk]
"""


def test_a_loop_of_two_blocks():
    text = refusal(SPREAD, lambda sch: sch.rfactor("o", 0))
    assert (
        text
        == """\
Can't rfactor `o`: it holds 2 blocks.
asked: sch.rfactor("o", 0)
where:
   9 |             T.writes(B[v0, v1])
  10 |             B[v0, v1] = A[v0, v1] * T.float32(2)
  11 |     for o in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
  12 |         for j in range(4):
  13 |             with T.block("C"):
do:    name a loop that holds nothing but the block that sums"""
    )


def test_a_loop_that_is_not_summed_over():
    text = refusal(SUM, lambda sch: sch.rfactor("i", 0))
    assert (
        text
        == """\
Can't rfactor `i`: `C` does not sum over it.
asked: sch.rfactor("i", 0)
where:
   3 |     # with T.block("root"):
   4 |     C = T.alloc_buffer((6,))
   5 |     for i, k in T.grid(6, 8):
     |         ^
   6 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vk = T.axis.remap("SR", [i, k])
   8 |             T.reads(A[vi, vk])
do:    the loops of the sum: `k`"""
    )


def test_a_loop_of_cell_and_term():
    text = refusal(DIAGONAL, lambda sch: sch.rfactor("i", 0))
    assert (
        text
        == """\
Can't rfactor `i`: `i` says both which cell and which term.
asked: sch.rfactor("i", 0)
where:
   2 | def main(A: T.Buffer((12,), "float32"), C: T.Buffer((6,), "float32")):
   3 |     # with T.block("root"):
   4 |     for i, k in T.grid(6, 7):
     |         ^
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(6, i)
   7 |             vk = T.axis.reduce(12, i + k)
do:    split the loops so that each moves the cell or the term alone"""
    )


def test_an_axis_that_is_none():
    text = refusal(SUM, lambda sch: sch.rfactor("k", 3))
    assert (
        text
        == """\
Can't rfactor `k`: the parts of C have no axis 3.
asked: sch.rfactor("k", 3)
where:
   3 |     # with T.block("root"):
   4 |     C = T.alloc_buffer((6,))
   5 |     for i, k in T.grid(6, 8):
     |            ^
   6 |         with T.block("C"):
   7 |             vi, vk = T.axis.remap("SR", [i, k])
do:    factor_axis counts from 0 to 1"""
    )


def test_a_start_that_is_not_zero():
    text = refusal(BIASED, lambda sch: sch.rfactor("k", 0))
    assert (
        text
        == """\
Can't rfactor `k`: `C` does not start at 0.
asked: sch.rfactor("k", 0)
where:
   3 |     # with T.block("root"):
   4 |     for i, k in T.grid(6, 8):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vk = T.axis.remap("SR", [i, k])
   7 |             T.reads(A[vi, vk])
found: every part would start there again
do:    let T.init() store 0, and bring in the other value afterwards"""
    )


def test_no_plain_sum():
    text = refusal(ROLLING, lambda sch: sch.rfactor("k", 0))
    assert (
        text
        == """\
Can't rfactor `k`: `C` is not of the form C[…] = C[…] + term.
asked: sch.rfactor("k", 0)
where:
   3 |     # with T.block("root"):
   4 |     for i, k in T.grid(6, 8):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vk = T.axis.remap("SR", [i, k])
   7 |             T.reads(A[vi, vk])
do:    the parts can be joined by +, *, T.min or T.max; the init is one store"""
    )


def test_another_block_ahead_in_the_nest():
    text = refusal(BESIDE, lambda sch: sch.rfactor("k", 0))
    assert (
        text
        == """\
Can't rfactor `k`: `D` is in the nest of `C`.
asked: sch.rfactor("k", 0)
where:
   4 |     for i in range(6):
   5 |         for j in range(8):
   6 |             with T.block("D"):
     |             ^^^^^^^^^^^^^^^^^^
   7 |                 vi, vj = T.axis.remap("SS", [i, j])
   8 |                 T.reads(A[vi, vj])
    …
  10 |                 D[vi, vj] = A[vi, vj] + T.float32(1)
  11 |         for k in range(8):
  12 |             with T.block("C"):
     |             ^^^^^^^^^^^^^^^^^^
  13 |                 vi, vk = T.axis.remap("SR", [i, k])
  14 |                 T.reads(A[vi, vk])
do:    take it out of the loops of `C` first"""
    )


def test_a_loop_that_runs_more_or_less_often():
    text = refusal(TRIANGLE, lambda sch: sch.rfactor("k", 0))
    assert (
        text
        == """\
Can't rfactor `k`: how often `k` runs varies.
asked: sch.rfactor("k", 0)
where:
   3 |     # with T.block("root"):
   4 |     for i in range(6):
   5 |         for k in range(i + 1):
     |         ^^^^^^^^^^^^^^^^^^^^^^
   6 |             with T.block("C"):
   7 |                 vi = T.axis.spatial(6, i)
do:    the buffer of the parts needs a fixed size"""
    )


def test_terms_added_twice():
    text = refusal(REPEATED, lambda sch: sch.rfactor("k", 0))
    assert (
        text
        == """\
Can't rfactor `k`: a term may be added twice.
asked: sch.rfactor("k", 0)
where:
   3 |     # with T.block("root"):
   4 |     for r, i, k in T.grid(2, 6, 8):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vk = T.axis.remap("SR", [i, k])
   7 |             T.reads(A[vi, vk])
found: its loops may run the block twice for the same iterators
do:    every loop of more than one turn must move a cell or a term"""
    )


def test_parts_without_terms():
    text = refusal(SHORT, lambda sch: sch.rfactor("k", 0))
    assert (
        text
        == """\
Can't rfactor `k`: its T.where leaves out whole parts.
asked: sch.rfactor("k", 0)
where:
   3 |     # with T.block("root"):
   4 |     for i, k in T.grid(6, 12):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(6, i)
   7 |             vk = T.axis.reduce(8, k)
found: for some `k` no term at all is summed
do:    split by a factor that divides, or rfactor a loop inside `k`"""
    )
