"""compute_inline: what it refuses, and how it says so."""

from __future__ import annotations

from tests.support.block_programs import OVERWRITTEN, SUM, TWO_STAGES
from tests.support.steps import refusal

CARRIED2 = """\
@T.prim_func
def main(
    A: T.Buffer((16,), "float32"),
    C: T.Buffer((16,), "float32"),
    D: T.Buffer((16,), "float32"),
):
    Z = T.alloc_buffer((16,), "float32")
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("Z"):
            vz = T.axis.spatial(16, i)
            Z[vz] = A[vz] + 1.0
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = Z[vi] * 2.0
        with T.block("C"):
            vc = T.axis.spatial(16, i)
            C[vc] = B[T.max(vc - 1, 0)]
"""

HALF_SUM = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), E: T.Buffer((6,), "float32")):
    C = T.alloc_buffer((6,), "float32")
    D = T.alloc_buffer((6,), "float32")
    for i, k in T.grid(6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
        with T.block("D"):
            vd = T.axis.spatial(6, i)
            D[vd] = C[vd] * 2.0
        with T.block("E"):
            ve = T.axis.spatial(6, i)
            E[ve] = D[ve] + 1.0
"""

SCATTER = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi * 5 % 16] = A[vi] * 2.0
    for j in range(16):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = B[vj] + 1.0
"""

TWO_STORES = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    E = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2.0
            E[vi] = A[vi] * 3.0
    for j in range(16):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = B[vj] + E[vj]
"""

WHERE = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            T.where(i < 10)
            B[vi] = A[vi] * 2.0
    for j in range(10):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = B[vj] + 1.0
"""


def test_an_unfinished_sum():
    text = refusal(HALF_SUM, lambda sch: sch.compute_inline("D"))
    assert (
        text
        == """\
Can't compute_inline `D`: `E` would read unfinished sums of C.
asked: sch.compute_inline("D")
where:
   5 |     D = T.alloc_buffer((6,))
   6 |     for i, k in T.grid(6, 8):
   7 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   8 |             vi, vk = T.axis.remap("SR", [i, k])
   9 |             T.reads(A[vi, vk])
    …
  17 |             T.writes(D[vd])
  18 |             D[vd] = C[vd] * T.float32(2)
  19 |         with T.block("E"):
     |         ^^^^^^^^^^^^^^^^^^
  20 |             ve = T.axis.spatial(6, i)
  21 |             T.reads(D[ve])
found: `C` goes on summing as `k` goes on
do:    let it be read outside `k`, where the sums are finished"""
    )


def test_a_sum():
    text = refusal(SUM, lambda sch: sch.compute_inline("C"))
    assert (
        text
        == """\
Can't compute_inline `C`: it is a sum, which no single expression gives.
asked: sch.compute_inline("C")
where:
   4 |     C = T.alloc_buffer((6,))
   5 |     for i, k in T.grid(6, 8):
   6 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vk = T.axis.remap("SR", [i, k])
   8 |             T.reads(A[vi, vk])
do:    inline blocks that compute each cell at once; move a sum with compute_at"""
    )


def test_several_stores():
    text = refusal(TWO_STORES, lambda sch: sch.compute_inline("B"))
    assert (
        text
        == """\
Can't compute_inline `B`: it does more than to store one value.
asked: sch.compute_inline("B")
where:
   5 |     E = T.alloc_buffer((16,))
   6 |     for i in range(16):
   7 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   8 |             vi = T.axis.spatial(16, i)
   9 |             T.reads(A[vi])
do:    inline blocks whose body is one assignment"""
    )


def test_a_result_of_the_program():
    text = refusal(TWO_STAGES, lambda sch: sch.compute_inline("C"))
    assert (
        text
        == """\
Can't compute_inline `C`: C is a result of the program, not a step on the way.
asked: sch.compute_inline("C")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(B[vj])
do:    put it into the block that feeds it, with reverse_compute_inline"""
    )


def test_what_it_reads_being_overwritten():
    text = refusal(OVERWRITTEN, lambda sch: sch.compute_inline("B"))
    assert (
        text
        == """\
Can't compute_inline `B`: `W` overwrites A, which it reads.
asked: sch.compute_inline("B")
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
do:    let `W` write another buffer"""
    )


def test_a_condition_on_its_iterations():
    text = refusal(WHERE, lambda sch: sch.compute_inline("B"))
    assert (
        text
        == """\
Can't compute_inline `B`: it runs only where its T.where holds.
asked: sch.compute_inline("B")
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(16, i)
   8 |             T.where(i < 10)
do:    write the condition inside the block, as T.if_then_else"""
    )


def test_cells_that_do_not_tell_the_iteration():
    text = refusal(SCATTER, lambda sch: sch.compute_inline("B"))
    assert (
        text
        == """\
Can't compute_inline `B`: from a cell of B one cannot tell which iteration wrote it.
asked: sch.compute_inline("B")
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(16, i)
   8 |             T.reads(A[vi])
do:    inline blocks that write B[v], B[v + 1] or B[v * 4 + w]; move others with compute_at"""
    )


def test_cells_made_later():
    text = refusal(CARRIED2, lambda sch: sch.compute_inline("B"))
    assert (
        text
        == """\
Can't compute_inline `B`: `C` would read Z too early.
asked: sch.compute_inline("B")
where:
   5 |     B = T.alloc_buffer((16,))
   6 |     for i in range(16):
   7 |         with T.block("Z"):
     |         ^^^^^^^^^^^^^^^^^^
   8 |             vz = T.axis.spatial(16, i)
   9 |             T.reads(A[vz])
    …
  15 |             T.writes(B[vi])
  16 |             B[vi] = Z[vi] * T.float32(2)
  17 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  18 |             vc = T.axis.spatial(16, i)
  19 |             T.reads(B[T.max(vc - 1, 0)])
found: one iteration of `i` may not make all that is read in it
do:    let it be read outside `i`, or move `Z` to its reader with compute_at"""
    )


ERASED = """\
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
        with T.block("W"):
            vw = T.axis.spatial(16, j)
            A[vw] = 0.0
"""


def test_what_a_later_block_erases_turn_by_turn():
    text = refusal(ERASED, lambda sch: sch.compute_inline("B"))
    assert (
        text
        == """\
Can't compute_inline `B`: `C` would read A too late.
asked: sch.compute_inline("B")
where:
  10 |             B[vi] = A[vi] * T.float32(2)
  11 |     for j in range(16):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vj = T.axis.spatial(16, j)
  14 |             T.reads(B[15 - vj])
  15 |             T.writes(C[vj])
  16 |             C[vj] = B[15 - vj] + T.float32(1)
  17 |         with T.block("W"):
     |         ^^^^^^^^^^^^^^^^^^
  18 |             vw = T.axis.spatial(16, j)
  19 |             T.reads()
found: `W` may have overwritten it in an earlier turn of `j`
do:    let `W` write another buffer"""
    )
