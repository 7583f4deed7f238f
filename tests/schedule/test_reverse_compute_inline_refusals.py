"""reverse_compute_inline: what it refuses, and how it says so."""

from __future__ import annotations

from tests.support.block_programs import FORK, JOIN, PARTIAL, SUM, TWO_STAGES, WINDOW
from tests.support.steps import refusal

BETWEEN = """\
@T.prim_func
def main(
    A: T.Buffer((16,), "float32"),
    C: T.Buffer((16,), "float32"),
    D: T.Buffer((16,), "float32"),
):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2.0
    for k in range(16):
        with T.block("D"):
            vk = T.axis.spatial(16, k)
            D[vk] = C[vk] + 3.0
    for j in range(16):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = B[vj] + 1.0
"""

CHAIN_OUT = """\
@T.prim_func
def main(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    C: T.Buffer((16,), "float32"),
):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2.0
    for j in range(16):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = B[vj] + 1.0
"""

HALF_WIDTH = """\
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
            C[vj] = B[vj // 2] + 1.0
"""


def test_a_block_that_none_feeds():
    text = refusal(TWO_STAGES, lambda sch: sch.reverse_compute_inline("B"))
    assert (
        text
        == """\
Can't reverse_compute_inline `B`: no block feeds it.
asked: sch.reverse_compute_inline("B")
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(16, i)
   8 |             T.reads(A[vi])
do:    it goes into the one block that feeds it; put others into it with compute_inline"""
    )


def test_two_feeders():
    text = refusal(JOIN, lambda sch: sch.reverse_compute_inline("C"))
    assert (
        text
        == """\
Can't reverse_compute_inline `C`: 2 blocks feed it: `B`, `E`.
asked: sch.reverse_compute_inline("C")
where:
   5 |     E = T.alloc_buffer((16,))
   6 |     for i in range(16):
   7 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   8 |             vb = T.axis.spatial(16, i)
   9 |             T.reads(A[vb])
  10 |             T.writes(B[vb])
  11 |             B[vb] = A[vb] * T.float32(2)
  12 |         with T.block("E"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             ve = T.axis.spatial(16, 15 - i)
  14 |             T.reads(A[ve])
    …
  16 |             E[ve] = A[ve] * T.float32(3)
  17 |     for j in range(16):
  18 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  19 |             vj = T.axis.spatial(16, j)
  20 |             T.reads(B[vj], E[vj])
do:    it goes into the one block that feeds it; put others into it with compute_inline"""
    )


def test_another_reader():
    text = refusal(FORK, lambda sch: sch.reverse_compute_inline("C"))
    assert (
        text
        == """\
Can't reverse_compute_inline `C`: `D` reads what `B` makes too.
asked: sch.reverse_compute_inline("C")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(B[vj])
    …
  16 |             C[vj] = B[vj] + T.float32(1)
  17 |     for k in range(16):
  18 |         with T.block("D"):
     |         ^^^^^^^^^^^^^^^^^^
  19 |             vk = T.axis.spatial(16, k)
  20 |             T.reads(B[vk])
do:    put the value into all its readers with compute_inline instead"""
    )


def test_into_a_sum():
    text = refusal(SUM, lambda sch: sch.reverse_compute_inline("D"))
    assert (
        text
        == """\
Can't reverse_compute_inline `D` into `C`: it is a sum, which no single expression gives.
asked: sch.reverse_compute_inline("D")
where:
   4 |     C = T.alloc_buffer((6,))
   5 |     for i, k in T.grid(6, 8):
   6 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vk = T.axis.remap("SR", [i, k])
   8 |             T.reads(A[vi, vk])
do:    inline blocks that compute each cell at once; move a sum with compute_at"""
    )


def test_a_result_between():
    text = refusal(CHAIN_OUT, lambda sch: sch.reverse_compute_inline("C"))
    assert (
        text
        == """\
Can't reverse_compute_inline `C`: B is a result of the program and must be stored.
asked: sch.reverse_compute_inline("C")
where:
   3 |     # with T.block("root"):
   4 |     for i in range(16):
   5 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi = T.axis.spatial(16, i)
   7 |             T.reads(A[vi])
do:    keep `B` as it is, or move `C` to it with reverse_compute_at"""
    )


def test_a_condition_on_its_iterations():
    text = refusal(
        TWO_STAGES,
        lambda sch: sch.split("j", factors=[None, 5]),
        lambda sch: sch.reverse_compute_inline("C"),
    )
    assert (
        text
        == """\
Can't reverse_compute_inline `C`: it runs only where its T.where holds.
asked: sch.reverse_compute_inline("C")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j_0, j_1 in T.grid(4, 5):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j_0 * 5 + j_1)
  14 |             T.where(j_0 * 5 + j_1 < 16)
do:    inline before splitting its loops by factors that do not divide them"""
    )


def test_a_part_with_gaps():
    text = refusal(
        PARTIAL.replace("16, j)", "16, j * 2)"), lambda sch: sch.reverse_compute_inline("C")
    )
    assert (
        text
        == """\
Can't reverse_compute_inline `C`: its loops may not run all of its iterations.
asked: sch.reverse_compute_inline("C")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(8):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j * 2)
  14 |             T.reads(B[vj])
do:    make the domains of its iterators (T.axis) no larger than what its loops run"""
    )


def test_a_block_between_the_two():
    text = refusal(BETWEEN, lambda sch: sch.reverse_compute_inline("C"))
    assert (
        text
        == """\
Can't reverse_compute_inline `C`: `D`, between the two, uses C.
asked: sch.reverse_compute_inline("C")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for k in range(16):
  12 |         with T.block("D"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vk = T.axis.spatial(16, k)
  14 |             T.reads(C[vk])
    …
  16 |             D[vk] = C[vk] + T.float32(3)
  17 |     for j in range(16):
  18 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  19 |             vj = T.axis.spatial(16, j)
  20 |             T.reads(B[vj])
do:    let one of the two use another buffer"""
    )


def test_several_cells_at_once():
    text = refusal(WINDOW, lambda sch: sch.reverse_compute_inline("C"))
    assert (
        text
        == """\
Can't reverse_compute_inline `C`: one iteration reads several cells of B.
asked: sch.reverse_compute_inline("C")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(B[vj : vj + 3])
do:    put the value into its readers with compute_inline instead"""
    )


def test_cells_read_twice():
    text = refusal(HALF_WIDTH, lambda sch: sch.reverse_compute_inline("C"))
    assert (
        text
        == """\
Can't reverse_compute_inline `C`: from a cell of B one cannot tell which iteration reads it.
asked: sch.reverse_compute_inline("C")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(B[vj // 2])
do:    inline blocks that read B[v], B[v + 1] or B[v * 4 + w], each cell once"""
    )


PADDING = """\
@T.prim_func
def main(A: T.Buffer((4,), "float32"), D: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), "float32")
    B_pad = T.alloc_buffer((8,), "float32")
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] * 2.0
    for i in range(8):
        with T.block("B_pad"):
            vi = T.axis.spatial(8, i)
            B_pad[vi] = T.if_then_else(vi < 4, B[vi], T.float32(0))
    for i in range(4):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = B_pad[vi] + B_pad[vi + 4]
"""


def test_padding_has_more_cells_than_what_it_pads():
    text = refusal(PADDING, lambda sch: sch.reverse_compute_inline("B_pad"))
    assert (
        text
        == """\
Can't reverse_compute_inline `B_pad`: it stores more than `B` has iterations for.
asked: sch.reverse_compute_inline("B_pad")
where:
   5 |     B_pad = T.alloc_buffer((8,))
   6 |     for i in range(4):
   7 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   8 |             vi = T.axis.spatial(4, i)
   9 |             T.reads(A[vi])
    …
  11 |             B[vi] = A[vi] * T.float32(2)
  12 |     for i in range(8):
  13 |         with T.block("B_pad"):
     |         ^^^^^^^^^^^^^^^^^^^^^^
  14 |             vi = T.axis.spatial(8, i)
  15 |             T.reads(B[vi])
do:    put `B` into it with compute_inline instead"""
    )
