"""reverse_compute_at: what it refuses, and how it says so."""

from __future__ import annotations

from tests.support.block_programs import JOIN, PARTIAL, TWO_STAGES, WINDOW
from tests.support.steps import refusal

HALF_WIDTH2 = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2.0
    for j in range(64):
        with T.block("C"):
            vj = T.axis.spatial(64, j)
            C[vj] = B[vj % 16] + 1.0
"""

IN_PLACE = """\
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
            C[vj] = C[vj] + B[vj]
"""

JOIN_APART = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    E = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vb = T.axis.spatial(16, i)
            B[vb] = A[vb] * 2.0
    for k in range(16):
        with T.block("E"):
            ve = T.axis.spatial(16, k)
            E[ve] = A[ve] * 3.0
    for j in range(16):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = B[vj] + E[vj]
"""

OLD_READ = """\
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

ROWSUM_TWICE2 = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), D: T.Buffer((1,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for r, i in T.grid(2, 8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2.0
    for j, k in T.grid(1, 8):
        with T.block("D"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                D[vj] = 0.0
            D[vj] = D[vj] + B[vk]
"""


def test_a_block_that_none_feeds():
    text = refusal(TWO_STAGES, lambda sch: sch.reverse_compute_at("B", "j"))
    assert (
        text
        == """\
Can't reverse_compute_at `B` at `j`: no block ahead of it makes what it reads.
asked: sch.reverse_compute_at("B", "j")
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(16, i)
   8 |             T.reads(A[vi])
do:    it reads only what the program is given; move it to its readers with compute_at"""
    )


def test_a_feeder_outside_the_loop():
    text = refusal(JOIN_APART, lambda sch: sch.reverse_compute_at("C", "i"))
    assert (
        text
        == """\
Can't reverse_compute_at `C` at `i`: `E`, which feeds it, is outside that loop.
asked: sch.reverse_compute_at("C", "i")
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     E = T.alloc_buffer((16,))
   6 |     for i in range(16):
     |     ^^^^^^^^^^^^^^^^^^^
   7 |         with T.block("B"):
   8 |             vb = T.axis.spatial(16, i)
    …
  11 |             B[vb] = A[vb] * T.float32(2)
  12 |     for k in range(16):
  13 |         with T.block("E"):
     |         ^^^^^^^^^^^^^^^^^^
  14 |             ve = T.axis.spatial(16, k)
  15 |             T.reads(A[ve])
do:    the blocks that feed it share no loop: move one to the other first"""
    )


def test_an_update_in_place():
    text = refusal(IN_PLACE, lambda sch: sch.reverse_compute_at("C", "i"))
    assert (
        text
        == """\
Can't reverse_compute_at `C`: it updates C in place.
asked: sch.reverse_compute_at("C", "i")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(C[vj], B[vj])
found: running it again, or elsewhere, changes the result
do:    give the block a T.init(), or write the result into another buffer"""
    )


def test_a_block_that_still_reads_the_old():
    text = refusal(OLD_READ, lambda sch: sch.reverse_compute_at("C", "i"))
    assert (
        text
        == """\
Can't reverse_compute_at `C` at `i`: `D` still reads the old C.
asked: sch.reverse_compute_at("C", "i")
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


def test_a_window_of_several_iterations():
    text = refusal(WINDOW, lambda sch: sch.reverse_compute_at("C", "i"))
    assert (
        text
        == """\
Can't reverse_compute_at `C` at `i`: it reads several cells of B at once, some not made yet.
asked: sch.reverse_compute_at("C", "i")
where:
   4 |     B = T.alloc_buffer((18,))
   5 |     for i in range(18):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(18, i)
   8 |             T.reads(A[vi])
    …
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(B[vj : vj + 3])
do:    move `B` to `C` instead, with compute_at"""
    )


def test_inputs_of_different_iterations():
    text = refusal(JOIN, lambda sch: sch.reverse_compute_at("C", "i"))
    assert (
        text
        == """\
Can't reverse_compute_at `C` at `i`: what it reads together is made in different iterations.
asked: sch.reverse_compute_at("C", "i")
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
do:    pick a loop further out, where all that it reads together is made"""
    )


def test_a_sum_that_would_count_twice():
    text = refusal(ROWSUM_TWICE2, lambda sch: sch.reverse_compute_at("D", "r"))
    assert (
        text
        == """\
Can't reverse_compute_at `D` at `r`: terms of its sum would be added twice or out of order.
asked: sch.reverse_compute_at("D", "r")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j, k in T.grid(1, 8):
  12 |         with T.block("D"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj, vk = T.axis.remap("SR", [j, k])
  14 |             T.reads(B[vk])
do:    pick a loop outside which none of the summed values is made again"""
    )


def test_a_part_with_gaps():
    text = refusal(
        PARTIAL.replace("16, j)", "16, j * 2)"), lambda sch: sch.reverse_compute_at("C", "i")
    )
    assert (
        text
        == """\
Can't reverse_compute_at `C` at `i`: its loops may not run all of its iterations.
asked: sch.reverse_compute_at("C", "i")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(8):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j * 2)
  14 |             T.reads(B[vj])
do:    make the domains of its iterators (T.axis) no larger than what its loops run"""
    )


def test_cells_made_later():
    text = refusal(HALF_WIDTH2, lambda sch: sch.reverse_compute_at("C", "i"))
    assert (
        text
        == """\
Can't reverse_compute_at `C` at `i`: `C` would read B too early.
asked: sch.reverse_compute_at("C", "i")
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(16, i)
   8 |             T.reads(A[vi])
    …
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(64):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(64, j)
  14 |             T.reads(B[vj % 16])
found: one iteration of `i` may not make all that is read in it
do:    let it be read outside `i`, or move `B` to its reader with compute_at"""
    )


PADDING = """\
@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] * 2.0
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.if_then_else(vi < 4, B[vi], T.float32(0))
"""


def test_padding_has_more_cells_than_what_it_pads():
    text = refusal(PADDING, lambda sch: sch.reverse_compute_at("C", sch.get_loops("B")[0]))
    assert (
        text
        == """\
Can't reverse_compute_at `C` at `i`: it stores more cells than B has.
asked: sch.reverse_compute_at("C", i)
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for i in range(8):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vi = T.axis.spatial(8, i)
  14 |             T.reads(B[vi])
do:    put what feeds it into it with compute_inline instead"""
    )
