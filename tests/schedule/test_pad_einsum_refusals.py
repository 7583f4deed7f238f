"""pad_einsum: what it refuses, and how it says so."""

from __future__ import annotations

from tests.support.block_programs import TWO_STAGES, WINDOW
from tests.support.steps import refusal

ODD = """\
@T.prim_func
def main(
    A: T.Buffer((7, 5), "float32"),
    B: T.Buffer((5, 6), "float32"),
    C: T.Buffer((7, 6), "float32"),
):
    for i, j, k in T.grid(7, 6, 5):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

QUOTIENT = """\
@T.prim_func
def main(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32"), C: T.Buffer((6,), "int32")):
    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = A[vi] // B[vi]
"""

ROW = """\
@T.prim_func
def main(A: T.Buffer((2, 6), "float32"), C: T.Buffer((2, 6), "float32")):
    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[1, vi] = A[0, vi] * 2.0
"""


def test_too_few_numbers():
    text = refusal(ODD, lambda sch: sch.pad_einsum("C", [4, 4]))
    assert (
        text
        == """\
Can't pad_einsum `C`: it has 3 iterators, and 2 numbers were given.
asked: sch.pad_einsum("C", [4, 4])
where:
   3 |     # with T.block("root"):
   4 |     for i, j, k in T.grid(7, 6, 5):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vj, vk = T.axis.remap("SSR", [i, j, k])
   7 |             T.reads(A[vi, vk], B[vk, vj])
do:    give a number for each of vi, vj, vk; 1 leaves an iterator as it is"""
    )


def test_a_number_below_one():
    text = refusal(ODD, lambda sch: sch.pad_einsum("C", [4, 0, 4]))
    assert (
        text
        == """\
Can't pad_einsum `C`: 0 is not positive.
asked: sch.pad_einsum("C", [4, 0, 4])
where:
   3 |     # with T.block("root"):
   4 |     for i, j, k in T.grid(7, 6, 5):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vj, vk = T.axis.remap("SSR", [i, j, k])
   7 |             T.reads(A[vi, vk], B[vk, vj])
do:    1 leaves an iterator as it is, 16 rounds it up to a multiple of 16"""
    )


def test_a_split_loop():
    text = refusal(
        ODD, lambda sch: sch.split("i", [None, 4]), lambda sch: sch.pad_einsum("C", [4, 4, 4])
    )
    assert (
        text
        == """\
Can't pad_einsum `C`: vi, which is to run more often, has no loop of its own.
asked: sch.pad_einsum("C", [4, 4, 4])
where:
   3 |     # with T.block("root"):
   4 |     for i_0, i_1, j, k in T.grid(2, 4, 6, 5):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(7, i_0 * 4 + i_1)
   7 |             vj, vk = T.axis.remap("SR", [j, k])
do:    pad a block before its loops are split or fused"""
    )


def test_a_block_that_leaves_out_cells():
    text = refusal(
        ODD.replace(
            "            with T.init", "            T.where(j < 5)\n            with T.init"
        ),
        lambda sch: sch.pad_einsum("C", [4, 1, 1]),
    )
    assert (
        text
        == """\
Can't pad_einsum `C`: the loops around it may leave out cells.
asked: sch.pad_einsum("C", [4, 1, 1])
where:
   3 |     # with T.block("root"):
   4 |     for i, j, k in T.grid(7, 6, 5):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vj, vk = T.axis.remap("SSR", [i, j, k])
   7 |             T.where(j < 5)
do:    the copies hold only what it writes: pad a block that runs for all its domain"""
    )


def test_two_blocks_in_its_loops():
    text = refusal(
        TWO_STAGES, lambda sch: sch.merge("i", "j"), lambda sch: sch.pad_einsum("B", [5])
    )
    assert (
        text
        == """\
Can't pad_einsum `B`: `C` is in `i_m` too.
asked: sch.pad_einsum("B", [5])
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     for i_m in range(16):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(16, i_m)
   8 |             T.reads(A[vi])
   9 |             T.writes(B[vi])
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  12 |             vj = T.axis.spatial(16, i_m)
  13 |             T.reads(B[vj])
do:    pad a block before others are moved to its loops"""
    )


def test_a_window():
    text = refusal(WINDOW, lambda sch: sch.pad_einsum("C", [32]))
    assert (
        text
        == """\
Can't pad_einsum `C`: it touches B at other cells than iterators name.
asked: sch.pad_einsum("C", [32])
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(B[vj : vj + 3])
do:    it takes blocks such as C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""
    )


def test_a_maximum():
    text = refusal(
        ODD.replace("C[vi, vj] + A[vi, vk] * B[vk, vj]", "T.max(C[vi, vj], A[vi, vk] * B[vk, vj])"),
        lambda sch: sch.pad_einsum("C", [1, 1, 4]),
    )
    assert (
        text
        == """\
Can't pad_einsum `C`: more terms along vk would change its result.
asked: sch.pad_einsum("C", [1, 1, 4])
where:
   3 |     # with T.block("root"):
   4 |     for i, j, k in T.grid(7, 6, 5):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vj, vk = T.axis.remap("SSR", [i, j, k])
   7 |             T.reads(A[vi, vk], B[vk, vj])
found: terms that come in addition are made of zeros, and must come out as zero
do:    give 1 for vk, or sum products of what vk reads"""
    )


def test_terms_that_are_not_zero():
    text = refusal(
        ODD.replace("A[vi, vk] *", "(A[vi, vk] + 1.0) *"),
        lambda sch: sch.pad_einsum("C", [1, 1, 4]),
    )
    assert (
        text
        == """\
Can't pad_einsum `C`: more terms along vk would change its result.
asked: sch.pad_einsum("C", [1, 1, 4])
where:
   3 |     # with T.block("root"):
   4 |     for i, j, k in T.grid(7, 6, 5):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vj, vk = T.axis.remap("SSR", [i, j, k])
   7 |             T.reads(A[vi, vk], B[vk, vj])
found: terms that come in addition are made of zeros, and must come out as zero
do:    give 1 for vk, or sum products of what vk reads"""
    )


def test_a_division():
    text = refusal(QUOTIENT, lambda sch: sch.pad_einsum("C", [8]))
    assert (
        text
        == """\
Can't pad_einsum `C`: it would divide by the zeros that fill its copies.
asked: sch.pad_einsum("C", [8])
where:
   7 |             T.reads(A[vi], B[vi])
   8 |             T.writes(C[vi])
   9 |             C[vi] = A[vi] // B[vi]
     |                     ^^^^^^^^^^^^^^
do:    pad blocks that add and multiply"""
    )


def test_a_part_of_a_buffer():
    text = refusal(ROW, lambda sch: sch.pad_einsum("C", [8]))
    assert (
        text
        == """\
Can't pad_einsum `C`: it writes a part of C only.
asked: sch.pad_einsum("C", [8])
where:
   3 |     # with T.block("root"):
   4 |     for i in range(6):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(6, i)
   7 |             T.reads(A[0, vi])
do:    pad blocks that write whole buffers, such as C[vi, vj]"""
    )


NO_INDEX = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i, j in T.grid(8, 1):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi] = A[vi] + T.Cast("float32", vj)
"""


def test_an_iterator_that_picks_no_cell():
    text = refusal(NO_INDEX, lambda sch: sch.pad_einsum("C", [1, 16]))
    assert (
        text
        == """\
Can't pad_einsum `C`: more turns of vj would write the same cells again.
asked: sch.pad_einsum("C", [1, 16])
where:
   3 |     # with T.block("root"):
   4 |     for i, j in T.grid(8, 1):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vj = T.axis.remap("SS", [i, j])
   7 |             T.reads(A[vi])
do:    give 1 for vj, which is no index of what the block writes"""
    )
