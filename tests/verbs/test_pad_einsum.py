"""pad_einsum: the programs that it makes, and that they mean the same."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.access.corpus import FAMILIES
from tests.support.block_programs import TWO_STAGES
from tests.support.cases import seeds
from tests.support.steps import after, walk_at_random

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


FUSED = """\
@T.prim_func
def main(A: T.Buffer((2, 3, 7), "float32"), C: T.Buffer((2, 3, 7), "float32")):
    for f, j in T.grid(6, 7):
        with T.block("C"):
            vi = T.axis.spatial(2, f // 3)
            vl = T.axis.spatial(3, f % 3)
            vj = T.axis.spatial(7, j)
            C[vi, vl, vj] = A[vi, vl, vj] * 2.0
"""


def test_all_three_loops_of_a_matmul():
    text = after(ODD, lambda sch: sch.pad_einsum("C", [4, 4, 4]))
    assert (
        text
        == """\
A_pad = T.alloc_buffer((8, 8))
B_pad = T.alloc_buffer((8, 8))
C_pad = T.alloc_buffer((8, 8))
for i0, i1 in T.grid(8, 8):
    with T.block("A_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        T.reads(A[v0, v1])
        T.writes(A_pad[v0, v1])
        A_pad[v0, v1] = T.if_then_else(v0 < 7 and v1 < 5, A[v0, v1], T.float32(0))
for i0, i1 in T.grid(8, 8):
    with T.block("B_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        T.reads(B[v0, v1])
        T.writes(B_pad[v0, v1])
        B_pad[v0, v1] = T.if_then_else(v0 < 5 and v1 < 6, B[v0, v1], T.float32(0))
for i, j, k in T.grid(8, 8, 8):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(A_pad[vi, vk], B_pad[vk, vj])
        T.writes(C_pad[vi, vj])
        with T.init():
            C_pad[vi, vj] = T.float32(0)
        C_pad[vi, vj] = C_pad[vi, vj] + A_pad[vi, vk] * B_pad[vk, vj]
for i0, i1 in T.grid(7, 6):
    with T.block("C_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        T.reads(C_pad[v0, v1])
        T.writes(C[v0, v1])
        C[v0, v1] = C_pad[v0, v1]"""
    )


def test_the_sum_alone():
    text = after(ODD, lambda sch: sch.pad_einsum("C", [1, 1, 4]))
    assert (
        text
        == """\
A_pad = T.alloc_buffer((7, 8))
B_pad = T.alloc_buffer((8, 6))
for i0, i1 in T.grid(7, 8):
    with T.block("A_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        T.reads(A[v0, v1])
        T.writes(A_pad[v0, v1])
        A_pad[v0, v1] = T.if_then_else(v1 < 5, A[v0, v1], T.float32(0))
for i0, i1 in T.grid(8, 6):
    with T.block("B_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        T.reads(B[v0, v1])
        T.writes(B_pad[v0, v1])
        B_pad[v0, v1] = T.if_then_else(v0 < 5, B[v0, v1], T.float32(0))
for i, j, k in T.grid(7, 6, 8):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(A_pad[vi, vk], B_pad[vk, vj])
        T.writes(C[vi, vj])
        with T.init():
            C[vi, vj] = T.float32(0)
        C[vi, vj] = C[vi, vj] + A_pad[vi, vk] * B_pad[vk, vj]"""
    )


def test_rows_alone():
    text = after(ODD, lambda sch: sch.pad_einsum("C", [8, 6, 1]))
    assert (
        text
        == """\
A_pad = T.alloc_buffer((8, 5))
C_pad = T.alloc_buffer((8, 6))
for i0, i1 in T.grid(8, 5):
    with T.block("A_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        T.reads(A[v0, v1])
        T.writes(A_pad[v0, v1])
        A_pad[v0, v1] = T.if_then_else(v0 < 7, A[v0, v1], T.float32(0))
for i, j, k in T.grid(8, 6, 5):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(A_pad[vi, vk], B[vk, vj])
        T.writes(C_pad[vi, vj])
        with T.init():
            C_pad[vi, vj] = T.float32(0)
        C_pad[vi, vj] = C_pad[vi, vj] + A_pad[vi, vk] * B[vk, vj]
for i0, i1 in T.grid(7, 6):
    with T.block("C_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        T.reads(C_pad[v0, v1])
        T.writes(C[v0, v1])
        C[v0, v1] = C_pad[v0, v1]"""
    )


def test_nothing_to_pad():
    text = after(ODD, lambda sch: sch.pad_einsum("C", [7, 3, 5]))
    assert (
        text
        == """\
for i, j, k in T.grid(7, 6, 5):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(A[vi, vk], B[vk, vj])
        T.writes(C[vi, vj])
        with T.init():
            C[vi, vj] = T.float32(0)
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""
    )


def test_a_stage_between_others():
    text = after(TWO_STAGES, lambda sch: sch.pad_einsum("B", [9]))
    assert (
        text
        == """\
B = T.alloc_buffer((16,))
A_pad = T.alloc_buffer((18,))
B_pad = T.alloc_buffer((18,))
for i0 in range(18):
    with T.block("A_pad"):
        v0 = T.axis.spatial(18, i0)
        T.reads(A[v0])
        T.writes(A_pad[v0])
        A_pad[v0] = T.if_then_else(v0 < 16, A[v0], T.float32(0))
for i in range(18):
    with T.block("B"):
        vi = T.axis.spatial(18, i)
        T.reads(A_pad[vi])
        T.writes(B_pad[vi])
        B_pad[vi] = A_pad[vi] * T.float32(2)
for i0 in range(16):
    with T.block("B_pad"):
        v0 = T.axis.spatial(16, i0)
        T.reads(B_pad[v0])
        T.writes(B[v0])
        B[v0] = B_pad[v0]
for j in range(16):
    with T.block("C"):
        vj = T.axis.spatial(16, j)
        T.reads(B[vj])
        T.writes(C[vj])
        C[vj] = B[vj] + T.float32(1)"""
    )


def test_a_block_in_a_block():
    text = after(TWO_STAGES, lambda sch: sch.blockize("i"), lambda sch: sch.pad_einsum("B", [9]))
    assert (
        text
        == """\
B = T.alloc_buffer((16,))
with T.block("B_o"):
    vi_o = T.axis.spatial(1, 0)
    T.reads(A[0:16])
    T.writes(B[0:16])
    A_pad = T.alloc_buffer((18,))
    B_pad = T.alloc_buffer((18,))
    for i0 in range(18):
        with T.block("A_pad"):
            v0 = T.axis.spatial(18, i0)
            T.reads(A[v0])
            T.writes(A_pad[v0])
            A_pad[v0] = T.if_then_else(v0 < 16, A[v0], T.float32(0))
    for i in range(18):
        with T.block("B"):
            vi_i = T.axis.spatial(18, i)
            T.reads(A_pad[vi_i])
            T.writes(B_pad[vi_i])
            B_pad[vi_i] = A_pad[vi_i] * T.float32(2)
    for i0 in range(16):
        with T.block("B_pad"):
            v0 = T.axis.spatial(16, i0)
            T.reads(B_pad[v0])
            T.writes(B[v0])
            B[v0] = B_pad[v0]
for j in range(16):
    with T.block("C"):
        vj = T.axis.spatial(16, j)
        T.reads(B[vj])
        T.writes(C[vj])
        C[vj] = B[vj] + T.float32(1)"""
    )


@pytest.mark.fuzz
def test_random_programs():
    taken = sum(walk_at_random(seed, "pad_einsum", length=4) for seed in seeds())
    assert taken >= 2


def test_the_diagonal_of_what_is_read():
    text = after(ODD.replace("B[vk, vj]", "B[vk, vk]"), lambda sch: sch.pad_einsum("C", [1, 1, 8]))
    assert "B_pad[v0, v1] = T.if_then_else(v0 < 5 and v1 < 5, B[v0, v1], T.float32(0))" in text
    assert "C[vi, vj] = C[vi, vj] + A_pad[vi, vk] * B_pad[vk, vk]" in text


def test_a_bound_loop_grows_as_others_do():
    text = after(
        ODD,
        lambda sch: sch.bind("i", "blockIdx.x"),
        lambda sch: sch.pad_einsum("C", [4, 1, 1]),
    )
    assert (
        text
        == """\
A_pad = T.alloc_buffer((8, 5))
C_pad = T.alloc_buffer((8, 6))
for i0, i1 in T.grid(8, 5):
    with T.block("A_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        T.reads(A[v0, v1])
        T.writes(A_pad[v0, v1])
        A_pad[v0, v1] = T.if_then_else(v0 < 7, A[v0, v1], T.float32(0))
for i in T.thread_binding(8, thread="blockIdx.x"):
    for j, k in T.grid(6, 5):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A_pad[vi, vk], B[vk, vj])
            T.writes(C_pad[vi, vj])
            with T.init():
                C_pad[vi, vj] = T.float32(0)
            C_pad[vi, vj] = C_pad[vi, vj] + A_pad[vi, vk] * B[vk, vj]
for i0, i1 in T.grid(7, 6):
    with T.block("C_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        T.reads(C_pad[v0, v1])
        T.writes(C[v0, v1])
        C[v0, v1] = C_pad[v0, v1]"""
    )


def test_iterators_that_stay_need_no_loops_of_their_own():
    text = after(FUSED, lambda sch: sch.pad_einsum("C", [1, 1, 4]))
    assert (
        text
        == """\
A_pad = T.alloc_buffer((2, 3, 8))
C_pad = T.alloc_buffer((2, 3, 8))
for i0, i1, i2 in T.grid(2, 3, 8):
    with T.block("A_pad"):
        v0, v1, v2 = T.axis.remap("SSS", [i0, i1, i2])
        T.reads(A[v0, v1, v2])
        T.writes(A_pad[v0, v1, v2])
        A_pad[v0, v1, v2] = T.if_then_else(v2 < 7, A[v0, v1, v2], T.float32(0))
for f, j in T.grid(6, 8):
    with T.block("C"):
        vi = T.axis.spatial(2, f // 3)
        vl = T.axis.spatial(3, f % 3)
        vj = T.axis.spatial(8, j)
        T.reads(A_pad[vi, vl, vj])
        T.writes(C_pad[vi, vl, vj])
        C_pad[vi, vl, vj] = A_pad[vi, vl, vj] * T.float32(2)
for i0, i1, i2 in T.grid(2, 3, 7):
    with T.block("C_pad"):
        v0, v1, v2 = T.axis.remap("SSS", [i0, i1, i2])
        T.reads(C_pad[v0, v1, v2])
        T.writes(C[v0, v1, v2])
        C[v0, v1, v2] = C_pad[v0, v1, v2]"""
    )


def test_nothing_to_round_up():
    text = after(
        ODD, lambda sch: sch.split("i", [None, 7]), lambda sch: sch.pad_einsum("C", [7, 2, 5])
    )
    assert (
        text
        == """\
for i_0, i_1, j, k in T.grid(1, 7, 6, 5):
    with T.block("C"):
        vi = T.axis.spatial(7, i_0 * 7 + i_1)
        vj, vk = T.axis.remap("SR", [j, k])
        T.reads(A[vi, vk], B[vk, vj])
        T.writes(C[vi, vj])
        with T.init():
            C[vi, vj] = T.float32(0)
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""
    )


def test_the_start_of_a_sum():
    text = after(
        ODD,
        lambda sch: sch.decompose_reduction("C", "i"),
        lambda sch: sch.pad_einsum("C_init", [4, 1]),
    )
    assert (
        text
        == """\
C_pad = T.alloc_buffer((8, 6))
for i_init, j_init in T.grid(8, 6):
    with T.block("C_init"):
        vi, vj = T.axis.remap("SS", [i_init, j_init])
        T.reads()
        T.writes(C_pad[vi, vj])
        C_pad[vi, vj] = T.float32(0)
for i0, i1 in T.grid(7, 6):
    with T.block("C_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        T.reads(C_pad[v0, v1])
        T.writes(C[v0, v1])
        C[v0, v1] = C_pad[v0, v1]
for i, j, k in T.grid(7, 6, 5):
    with T.block("C_update"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
        T.writes(C[vi, vj])
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""
    )


def test_a_copy_inside_a_block_takes_what_that_declares():
    text = after(
        FAMILIES["parts"]["one column of a wider buffer"],
        lambda sch: sch.blockize("i"),
        lambda sch: sch.pad_einsum("c", [8]),
        lambda sch: wb.Schedule(sch.func),  # blocks declare what they do
    )
    assert (
        text
        == """\
with T.block("c_o"):
    vi_o = T.axis.spatial(1, 0)
    T.reads(A[0:6, 0])
    T.writes(O[0:6])
    A_pad = T.alloc_buffer((8, 3))
    O_pad = T.alloc_buffer((8,))
    for i0, i1 in T.grid(8, 1):
        with T.block("A_pad"):
            v0, v1 = T.axis.remap("SS", [i0, i1])
            T.reads(A[v0, v1])
            T.writes(A_pad[v0, v1])
            A_pad[v0, v1] = T.if_then_else(v0 < 6, A[v0, v1], T.float32(0))
    for i in range(8):
        with T.block("c"):
            vi_i = T.axis.spatial(8, i)
            T.reads(A_pad[vi_i, 0])
            T.writes(O_pad[vi_i])
            O_pad[vi_i] = A_pad[vi_i, 0]
    for i0 in range(6):
        with T.block("O_pad"):
            v0 = T.axis.spatial(6, i0)
            T.reads(O_pad[v0])
            T.writes(O[v0])
            O[v0] = O_pad[v0]"""
    )
