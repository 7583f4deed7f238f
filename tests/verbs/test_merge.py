"""merge: the programs that it makes, and that they mean the same."""

from __future__ import annotations

from tests.access.corpus import FAMILIES
from tests.support.block_programs import FORK, SPREAD, SUM, TWO_D, TWO_STAGES
from tests.support.steps import after


def test_a_maker_and_its_reader():
    text = after(TWO_STAGES, lambda sch: sch.merge("i", "j"))
    assert (
        text
        == """\
B = T.alloc_buffer((16,))
for i_m in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i_m)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi] * T.float32(2)
    with T.block("C"):
        vj = T.axis.spatial(16, i_m)
        T.reads(B[vj])
        T.writes(C[vj])
        C[vj] = B[vj] + T.float32(1)"""
    )


def test_three_loops():
    text = after(FORK, lambda sch: sch.merge("i", "j", "k"))
    assert (
        text
        == """\
B = T.alloc_buffer((16,))
for i_m in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i_m)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi] * T.float32(2)
    with T.block("C"):
        vj = T.axis.spatial(16, i_m)
        T.reads(B[vj])
        T.writes(C[vj])
        C[vj] = B[vj] + T.float32(1)
    with T.block("D"):
        vk = T.axis.spatial(16, i_m)
        T.reads(B[vk])
        T.writes(D[vk])
        D[vk] = B[vk] - T.float32(1)"""
    )


def test_whole_nests():
    text = after(TWO_D, lambda sch: sch.merge(sch.get_loops("B")[1], sch.get_loops("C")[1]))
    assert (
        text
        == """\
B = T.alloc_buffer((12, 10))
for i_m, j_m in T.grid(12, 10):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i_m, j_m])
        T.reads(A[vi, vj])
        T.writes(B[vi, vj])
        B[vi, vj] = A[vi, vj] * T.float32(2)
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i_m, j_m])
        T.reads(B[vi, vj])
        T.writes(C[vi, vj])
        C[vi, vj] = B[vi, vj] + T.float32(1)"""
    )


def test_inner_loops_of_one_nest():
    text = after(SPREAD, lambda sch: sch.merge("j", "k"))
    assert (
        text
        == """\
B = T.alloc_buffer((16, 4))
for i, i1 in T.grid(16, 4):
    with T.block("B"):
        v0, v1 = T.axis.remap("SS", [i, i1])
        T.reads(A[v0, v1])
        T.writes(B[v0, v1])
        B[v0, v1] = A[v0, v1] * T.float32(2)
for o, j_m in T.grid(16, 4):
    with T.block("C"):
        v0, v1 = T.axis.remap("SS", [o, j_m])
        T.reads(B[v0, v1])
        T.writes(C[v0, v1])
        C[v0, v1] = B[v0, v1] + T.float32(1)
    with T.block("D"):
        v0, v1 = T.axis.remap("SS", [o, j_m])
        T.reads(B[v0, v1])
        T.writes(D[v0, v1])
        D[v0, v1] = B[v0, v1] - T.float32(1)"""
    )


HALVES = """\
@T.prim_func
def main(
    A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((8,), "float32")
):
    for i in range(8, 16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * T.float32(2)
    for j in range(8):
        with T.block("C"):
            vj = T.axis.spatial(8, j)
            C[vj] = B[vj + 8] + T.float32(1)
"""


def test_loops_that_start_elsewhere():
    text = after(HALVES, lambda sch: sch.merge("i", "j"))
    assert (
        text
        == """\
for i_m in range(8):
    with T.block("B"):
        vi = T.axis.spatial(16, 8 + i_m)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi] * T.float32(2)
    with T.block("C"):
        vj = T.axis.spatial(8, i_m)
        T.reads(B[vj + 8])
        T.writes(C[vj])
        C[vj] = B[vj + 8] + T.float32(1)"""
    )


LAGGING = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2.0
    for j in range(8):
        with T.block("C"):
            vj = T.axis.spatial(8, j)
            C[vj] = B[vj] + T.if_then_else(vj >= 2, B[vj - 2], 0.0)
"""

TWO_HALVES = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(4):
        with T.block("low"):
            vi = T.axis.spatial(4, i)
            C[vi] = A[vi] * 2.0
    for j in range(4):
        with T.block("high"):
            vj = T.axis.spatial(4, j)
            C[7 - vj] = A[vj] + 1.0
"""

IN_PLACE = """\
@T.prim_func
def main(A: T.Buffer((3, 5), "float32"), S: T.Buffer((3,), "float32")):
    for i, k in T.grid(3, 5):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = 1.0
            S[vi] = S[vi] + A[vi, vk] * A[vi, vk]
    for m, n in T.grid(3, 5):
        with T.block("A"):
            vm, vn = T.axis.remap("SS", [m, n])
            A[vm, vn] = A[vm, vn] / S[vm]
"""


def test_what_is_read_was_made_in_this_turn_or_an_earlier_one():
    assert "B[vj - 2]" in after(LAGGING, lambda sch: sch.merge("i", "j"))


def test_two_that_write_different_cells():
    assert "for i_m in range(4):" in after(TWO_HALVES, lambda sch: sch.merge("i", "j"))


def test_cells_are_overwritten_after_they_were_read():
    assert "for i_m in range(3):" in after(IN_PLACE, lambda sch: sch.merge("i", "m"))


def test_where_a_sum_starts_and_where_it_goes_on():
    steps = (lambda sch: sch.decompose_reduction("C", "i"), lambda sch: sch.merge("i_init", "i"))
    assert "for i_init_m in range(6):" in after(SUM, *steps)


def test_a_maker_whose_turns_all_store_the_same():
    text = after(
        FAMILIES["refilled"]["each turn writes the same again"], lambda sch: sch.merge("k", "h")
    )
    assert (
        text
        == """\
e = T.alloc_buffer((4,))
for k_m in range(4):
    for a in range(4):
        with T.block("e"):
            va = T.axis.spatial(4, a)
            T.reads(A[va])
            T.writes(e[va])
            e[va] = A[va] * T.float32(2)
    with T.block("O"):
        vh = T.axis.spatial(4, k_m)
        T.reads(e[vh])
        T.writes(O[vh])
        O[vh] = e[vh]"""
    )
