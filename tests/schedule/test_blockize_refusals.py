"""blockize: what it refuses, and how it says so."""

from __future__ import annotations

import pytest

from tests.support.block_programs import SPREAD, TWO_STAGES
from tests.support.steps import refusal

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

MIXED_SUM = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(i + k < 8)
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
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

VARYING = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8, 4), "float32")):
    for i, j in T.grid(8, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi] + A[0]
"""

WINDOWS = """\
@T.prim_func
def main(A: T.Buffer((18,), "float32"), P: T.Buffer((18,), "float32")):
    for h, kh in T.grid(16, 3):
        with T.block("P"):
            vi = T.axis.spatial(18, h + kh)
            P[vi] = A[vi]
"""


def test_overlapping_windows():
    text = refusal(WINDOWS, lambda sch: sch.blockize("kh"))
    assert (
        text
        == """\
Can't blockize `kh`: the turns of the loops around it overlap along vi.
asked: sch.blockize("kh")
where:
   3 |     # with T.block("root"):
   4 |     for h, kh in T.grid(16, 3):
   5 |         with T.block("P"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(18, h + kh)
   7 |             T.reads(A[vi])
found: a turn must take whole steps, as wide as what happens in one
do:    split the loops so that the outer ones move by the extent of the inner ones"""
    )


def test_a_loop_of_two_blocks():
    text = refusal(SPREAD, lambda sch: sch.blockize("o"))
    assert (
        text
        == """\
Can't blockize `o`: it holds 2 blocks.
asked: sch.blockize("o")
where:
   9 |             T.writes(B[v0, v1])
  10 |             B[v0, v1] = A[v0, v1] * T.float32(2)
  11 |     for o in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
  12 |         for j in range(4):
  13 |             with T.block("C"):
do:    pick a loop that holds loops and one block, nothing else"""
    )


def test_a_block_under_an_if():
    text = refusal(GUARDED, lambda sch: sch.blockize("i"))
    assert (
        text
        == """\
Can't blockize `i`: it holds more than loops around one block.
asked: sch.blockize("i")
where:
   3 |     # with T.block("root"):
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
   6 |         if i < 16:
   7 |             with T.block("B"):
do:    pick a loop that holds loops and one block, nothing else"""
    )


def test_a_loop_that_runs_more_or_less_often():
    text = refusal(TRIANGLE, lambda sch: sch.blockize("k"))
    assert (
        text
        == """\
Can't blockize `k`: how often `k` runs varies.
asked: sch.blockize("k")
where:
   3 |     # with T.block("root"):
   4 |     for i in range(6):
   5 |         for k in range(i + 1):
     |         ^^^^^^^^^^^^^^^^^^^^^^
   6 |             with T.block("C"):
   7 |                 vi = T.axis.spatial(6, i)
do:    a block needs iterators of fixed extents"""
    )


def test_a_tail():
    text = refusal(
        TWO_STAGES, lambda sch: sch.split("j", factors=[None, 5]), lambda sch: sch.blockize("j_1")
    )
    assert (
        text
        == """\
Can't blockize `j_1`: its T.where cuts off a part of the last turn.
asked: sch.blockize("j_1")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j_0, j_1 in T.grid(4, 5):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j_0 * 5 + j_1)
  14 |             T.where(j_0 * 5 + j_1 < 16)
do:    split by factors that divide"""
    )


def test_terms_added_twice():
    text = refusal(REPEATED, lambda sch: sch.blockize("r"))
    assert (
        text
        == """\
Can't blockize `r`: a term may be added twice.
asked: sch.blockize("r")
where:
   3 |     # with T.block("root"):
   4 |     for r, i, k in T.grid(2, 6, 8):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vk = T.axis.remap("SR", [i, k])
   7 |             T.reads(A[vi, vk])
found: the loops inside may run the block twice for the same iterators
do:    pick a loop further in"""
    )


def test_a_condition_on_sums_and_terms():
    text = refusal(MIXED_SUM, lambda sch: sch.blockize("i"))
    assert (
        text
        == """\
Can't blockize `i`: its T.where limits sums and terms in one.
asked: sch.blockize("i")
where:
   3 |     # with T.block("root"):
   4 |     for i, k in T.grid(6, 8):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vk = T.axis.remap("SR", [i, k])
   7 |             T.where(i + k < 8)
do:    split the loops of the sum and the others apart, not fused into one"""
    )


def test_then_a_copy_of_varying_size():
    text = refusal(
        VARYING, lambda sch: sch.blockize("j"), lambda sch: sch.cache_read("C", 0, "local")
    )
    assert (
        text
        == """\
Can't cache_read A for `C`: how much of it `C_o` reads varies.
asked: sch.cache_read("C", 0, "local")
where:
   3 |     # with T.block("root"):
   4 |     for i in range(8):
   5 |         with T.block("C_o"):
     |         ^^^^^^^^^^^^^^^^^^^^
   6 |             vi_o = T.axis.spatial(8, i)
   7 |             vj_o = T.axis.spatial(1, 0)
do:    a copy has a fixed size: cache it before blockize"""
    )


MIXED_PARTS = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
    for f, g in T.grid(12, 4):
        with T.block("C"):
            vi = T.axis.spatial(6, (f * 4 + g) // 8)
            vk = T.axis.reduce(8, (f * 4 + g) % 8)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
"""


def test_a_sum_that_another_block_goes_on_with():
    text = refusal(
        MIXED_PARTS,
        lambda sch: sch.loop_partition("f", [1, None]),
        lambda sch: sch.blockize("f1"),
    )
    assert (
        text
        == """\
Can't blockize `C_f1`: `C_f0` writes C too.
asked: sch.blockize("f1")
where:
   3 |     # with T.block("root"):
   4 |     for f0, g in T.grid(1, 4):
   5 |         with T.block("C_f0"):
     |         ^^^^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(6, (f0 * 4 + g) // 8)
   7 |             vk = T.axis.reduce(8, (f0 * 4 + g) % 8)
    …
  13 |     for f1 in range(1, 12):
  14 |         for g in range(4):
  15 |             with T.block("C_f1"):
     |             ^^^^^^^^^^^^^^^^^^^^^
  16 |                 vi = T.axis.spatial(6, (f1 * 4 + g) // 8)
  17 |                 vk = T.axis.reduce(8, (f1 * 4 + g) % 8)
do:    move it while it is the sole writer, before decompose_reduction"""
    )


LATER_TERMS = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(k >= 2)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
"""


@pytest.mark.parametrize("fused", [False, True])
def test_a_condition_on_first_terms(fused):
    def ask(sch):
        sch.blockize(sch.fuse("i", "k") if fused else "k")

    text = refusal(LATER_TERMS, ask)
    name = "i_k_fused" if fused else "k"
    assert text.startswith(
        f"Can't blockize `{name}`: its T.where may leave out the first terms of a sum.\n"
    )
