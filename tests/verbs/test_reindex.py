"""reindex: the programs that it makes, and that they mean the same."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.support.block_programs import FLAT, OBLONG_MATMUL, TWO_STAGES
from tests.support.steps import after
from workbench import script
from workbench.access import difference, random_data

FLAT2 = """\
@T.prim_func
def main(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    B = T.alloc_buffer((24,), "float32")
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * 6 + vj] = A[vi, vj] * 2.0
    for i, j in T.grid(4, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi * 6 + vj] + 1.0
"""


PADDED = """\
@T.prim_func
def main(A: T.Buffer((6,), "float32"), P: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("P"):
            vi = T.axis.spatial(8, i)
            P[vi] = T.if_then_else(1 <= vi and vi < 7, A[vi - 1], T.float32(0))
"""

ONE_ROW = """\
@T.prim_func
def main(A: T.Buffer((1, 8), "float32"), C: T.Buffer((1, 8), "float32")):
    for i, j in T.grid(1, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
"""


def test_a_flat_index_that_is_read():
    text = after(FLAT, lambda sch: sch.reindex("B", ("read", 0)))
    assert (
        text
        == """\
B = T.alloc_buffer((4, 6))
A_reindex = T.alloc_buffer((4, 6))
for ax0, ax1 in T.grid(4, 6):
    with T.block("A_reindex_reindex"):
        v0, v1 = T.axis.remap("SS", [ax0, ax1])
        T.reads(A[v0 * 6 + v1])
        T.writes(A_reindex[v0, v1])
        A_reindex[v0, v1] = A[v0 * 6 + v1]
for i, j in T.grid(4, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(A_reindex[vi, vj])
        T.writes(B[vi, vj])
        B[vi, vj] = A_reindex[vi, vj] * T.float32(2)
for i in range(24):
    with T.block("C"):
        vi = T.axis.spatial(24, i)
        T.reads(B[vi // 6, vi % 6])
        T.writes(C[vi])
        C[vi] = B[vi // 6, vi % 6] + T.float32(1)"""
    )


def test_a_flat_index_that_is_written():
    text = after(FLAT2, lambda sch: sch.reindex("B", ("write", 0)))
    assert (
        text
        == """\
B = T.alloc_buffer((24,))
B_reindex = T.alloc_buffer((4, 6))
for i, j in T.grid(4, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(A[vi, vj])
        T.writes(B_reindex[vi, vj])
        B_reindex[vi, vj] = A[vi, vj] * T.float32(2)
for ax0, ax1 in T.grid(4, 6):
    with T.block("B_reindex"):
        v0, v1 = T.axis.remap("SS", [ax0, ax1])
        T.reads(B_reindex[v0, v1])
        T.writes(B[v0 * 6 + v1])
        B[v0 * 6 + v1] = B_reindex[v0, v1]
for i, j in T.grid(4, 6):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(B[vi * 6 + vj])
        T.writes(C[vi, vj])
        C[vi, vj] = B[vi * 6 + vj] + T.float32(1)"""
    )


def test_the_sums_of_a_matrix_product():
    text = after(OBLONG_MATMUL, lambda sch: sch.reindex("C", ("write", 0)))
    assert (
        text
        == """\
C_reindex = T.alloc_buffer((6, 6))
for i, j, k in T.grid(6, 6, 8):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(A[vi, vk], B[vk, vj])
        T.writes(C_reindex[vi, vj])
        with T.init():
            C_reindex[vi, vj] = T.float32(0)
        C_reindex[vi, vj] = C_reindex[vi, vj] + A[vi, vk] * B[vk, vj]
for ax0, ax1 in T.grid(6, 6):
    with T.block("C_reindex"):
        v0, v1 = T.axis.remap("SS", [ax0, ax1])
        T.reads(C_reindex[v0, v1])
        T.writes(C[v0, v1])
        C[v0, v1] = C_reindex[v0, v1]"""
    )


def test_by_name():
    text = after(OBLONG_MATMUL, lambda sch: sch.reindex("C", "B"))
    assert (
        text
        == """\
B_reindex = T.alloc_buffer((6, 8))
for ax0, ax1 in T.grid(6, 8):
    with T.block("B_reindex_reindex"):
        v0, v1 = T.axis.remap("SS", [ax0, ax1])
        T.reads(B[v1, v0])
        T.writes(B_reindex[v0, v1])
        B_reindex[v0, v1] = B[v1, v0]
for i, j, k in T.grid(6, 6, 8):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(A[vi, vk], B_reindex[vj, vk])
        T.writes(C[vi, vj])
        with T.init():
            C[vi, vj] = T.float32(0)
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B_reindex[vj, vk]"""
    )


def test_an_iterator_that_runs_once_is_an_axis():
    text = after(ONE_ROW, lambda sch: sch.reindex("C", ("read", 0)))
    assert (
        text
        == """\
A_reindex = T.alloc_buffer((1, 8))
for ax0, ax1 in T.grid(1, 8):
    with T.block("A_reindex_reindex"):
        v0, v1 = T.axis.remap("SS", [ax0, ax1])
        T.reads(A[v0, v1])
        T.writes(A_reindex[v0, v1])
        A_reindex[v0, v1] = A[v0, v1]
for i, j in T.grid(1, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(A_reindex[vi, vj])
        T.writes(C[vi, vj])
        C[vi, vj] = A_reindex[vi, vj]"""
    )


def test_beside_a_block_that_does_not_use_it():
    text = after(
        TWO_STAGES,
        lambda sch: sch.merge("i", "j"),
        lambda sch: sch.reindex("C", ("write", 0)),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((16,))
C_reindex = T.alloc_buffer((16,))
for i_m in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i_m)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi] * T.float32(2)
    with T.block("C"):
        vj = T.axis.spatial(16, i_m)
        T.reads(B[vj])
        T.writes(C_reindex[vj])
        C_reindex[vj] = B[vj] + T.float32(1)
for ax0 in range(16):
    with T.block("C_reindex"):
        v0 = T.axis.spatial(16, ax0)
        T.reads(C_reindex[v0])
        T.writes(C[v0])
        C[v0] = C_reindex[v0]"""
    )


def test_a_buffer_that_another_block_writes_too():
    text = after(
        PADDED,
        lambda sch: sch.decompose_padding("P", "i"),
        lambda sch: sch.reindex("P_pad_const", ("write", 0)),
    )
    assert (
        text
        == """\
P_reindex = T.alloc_buffer((8,))
for i in range(8):
    with T.block("P_pad_const"):
        vi = T.axis.spatial(8, i)
        T.reads()
        T.writes(P_reindex[vi])
        P_reindex[vi] = T.float32(0)
for ax0 in range(8):
    with T.block("P_reindex"):
        v0 = T.axis.spatial(8, ax0)
        T.reads(P_reindex[v0])
        T.writes(P[v0])
        P[v0] = P_reindex[v0]
for i in range(6):
    with T.block("P"):
        vi = T.axis.spatial(6, i)
        T.reads(A[vi])
        T.writes(P[vi + 1])
        P[vi + 1] = A[vi]"""
    )


def test_in_a_block_that_counts_turns_and_updates_sums():
    text = after(
        OBLONG_MATMUL,
        lambda sch: sch.blockize("j"),
        lambda sch: sch.reindex("C", "A"),
    )
    assert (
        text
        == """\
for i in range(6):
    with T.block("C_o"):
        vi_o = T.axis.spatial(6, i)
        vj_o = T.axis.spatial(1, 0)
        vk_o = T.axis.reduce(1, 0)
        T.reads(A[vi_o, 0:8], B[0:8, 0:6])
        T.writes(C[vi_o, 0:6])
        A_reindex = T.alloc_buffer((8,))
        with T.init():
            for j in range(6):
                with T.block("C_init"):
                    vj_i_init = T.axis.spatial(6, j)
                    T.reads()
                    T.writes(C[vi_o, vj_i_init])
                    C[vi_o, vj_i_init] = T.float32(0)
        for ax0 in range(8):
            with T.block("A_reindex_reindex"):
                v0 = T.axis.spatial(8, ax0)
                T.reads(A[vi_o, v0])
                T.writes(A_reindex[v0])
                A_reindex[v0] = A[vi_o, v0]
        for j, k in T.grid(6, 8):
            with T.block("C"):
                vj_i, vk_i = T.axis.remap("SR", [j, k])
                T.reads(C[vi_o, vj_i], A_reindex[vk_i], B[vk_i, vj_i])
                T.writes(C[vi_o, vj_i])
                C[vi_o, vj_i] = C[vi_o, vj_i] + A_reindex[vk_i] * B[vk_i, vj_i]"""
    )


PART = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(5):
        with T.block("B"):
            vi = T.axis.spatial(8, i + 2)
            B[vi] = A[7 - vi] * 2.0
"""


def test_of_an_argument_more_may_be_copied_than_is_read():
    assert "B[vi] = A_reindex[vi]" in after(PART, lambda sch: sch.reindex("B", ("read", 0)))


ROWS = """\
@T.prim_func
def main(A: T.Buffer((8, 6), "float32"), F: T.Buffer((8,), "int32"),
         C: T.Buffer((8, 6), "float32")):
    B = T.alloc_buffer((8, 6))
    for i, j in T.grid({made}, 6):
        with T.block("B"):
            v, w = T.axis.remap("SS", [i, j])
            {where}
            B[v, w] = A[v, w] + T.float32(1)
    for i, j in T.grid(8, 6):
        with T.block("C"):
            v, w = T.axis.remap("SS", [i, j])
            T.where(F[i] > 0)
            C[v, w] = B[v, w] * T.float32(2)
"""


@pytest.mark.parametrize("verb", ["reindex", "reindex_cache_read"])
def test_what_data_let_run_reads_a_copy_of_all_that_was_made(verb: str):
    def step(sch: wb.Schedule) -> None:
        if verb == "reindex":
            sch.reindex("C", ("read", 0))
        else:
            sch.reindex_cache_read("C", 0, "shared", "lambda i, j: (j, i)")

    func = script.parse(ROWS.format(made=8, where="T.where(True)"))
    sch = wb.Schedule(func)
    step(sch)
    for seed in range(3):
        assert difference(func, sch.func, random_data(func, seed)) == ""
    for made, where in ((7, "T.where(True)"), (8, "T.where(F[i] > 0)")):
        sch = wb.Schedule(script.parse(ROWS.format(made=made, where=where)))
        with pytest.raises(wb.ScheduleError, match="a copy may take cells of B that nobody wrote"):
            step(sch)


INSIDE = """\
@T.prim_func
def main(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3, 4), "float32")):
    for i in range(3):
        with T.block("fill"):
            vi = T.axis.spatial(3, i)
            T.reads(A[vi, 0:4])
            T.writes(B[vi, 0:4])
            for ax0, ax1 in T.grid(1, 4):
                with T.block("B"):
                    v0 = T.axis.spatial(3, vi + ax0)
                    v1 = T.axis.spatial(4, ax1)
                    B[v0, v1] = A[v0, v1] * T.float32(2)
"""


def test_a_block_around_a_part_does_not_read_what_it_does_not_declare():
    sch = wb.Schedule(script.parse(INSIDE))
    with pytest.raises(wb.ScheduleError, match="its loops may not run all of its iterations"):
        sch.reindex_cache_read("B", 0, "global", "lambda i0, i1: (i0, i1 // 2, i1 % 2)")
