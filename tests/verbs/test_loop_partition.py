"""loop_partition: the programs that it makes, and that they mean the same."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.access.corpus import FAMILIES, program
from tests.support.block_programs import OBLONG_MATMUL, SUM, TWO_STAGES
from tests.support.cases import seeds
from tests.support.steps import after, walk_at_random
from workbench import access


def test_a_sum_begins_in_one_part():
    text = after(OBLONG_MATMUL, lambda sch: sch.loop_partition("k", [3, None]))
    assert (
        text
        == """\
for i, j in T.grid(6, 6):
    for k0 in range(3):
        with T.block("C_k0"):
            vi, vj = T.axis.remap("SS", [i, j])
            vk = T.axis.reduce(8, k0)
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for k1 in range(3, 8):
        with T.block("C_k1"):
            vi, vj = T.axis.remap("SS", [i, j])
            vk = T.axis.reduce(8, k1)
            T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""
    )


def test_a_tail_asks_and_the_rest_does_not():
    text = after(
        SUM, lambda sch: sch.split("i", [None, 4]), lambda sch: sch.loop_partition("i_0", [1])
    )
    assert (
        text
        == """\
C = T.alloc_buffer((6,))
for i_00, i_1, k in T.grid(1, 4, 8):
    with T.block("C_i_00"):
        vi = T.axis.spatial(6, i_00 * 4 + i_1)
        vk = T.axis.reduce(8, k)
        T.reads(A[vi, vk])
        T.writes(C[vi])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + A[vi, vk]
for i_01 in range(1, 2):
    for i_1, k in T.grid(4, 8):
        with T.block("C_i_01"):
            vi = T.axis.spatial(6, i_01 * 4 + i_1)
            vk = T.axis.reduce(8, k)
            T.where(i_01 * 4 + i_1 < 6)
            T.reads(A[vi, vk])
            T.writes(C[vi])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
for j in range(6):
    with T.block("D"):
        vj = T.axis.spatial(6, j)
        T.reads(C[vj])
        T.writes(D[vj])
        D[vj] = C[vj] * T.float32(2)"""
    )


def test_what_is_left_may_come_first():
    text = after(TWO_STAGES, lambda sch: sch.loop_partition("i", [None, 3, 2]))
    assert (
        text
        == """\
B = T.alloc_buffer((16,))
for i0 in range(11):
    with T.block("B_i0"):
        vi = T.axis.spatial(16, i0)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi] * T.float32(2)
for i1 in range(11, 14):
    with T.block("B_i1"):
        vi = T.axis.spatial(16, i1)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi] * T.float32(2)
for i2 in range(14, 16):
    with T.block("B_i2"):
        vi = T.axis.spatial(16, i2)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi] * T.float32(2)
for j in range(16):
    with T.block("C"):
        vj = T.axis.spatial(16, j)
        T.reads(B[vj])
        T.writes(C[vj])
        C[vj] = B[vj] + T.float32(1)"""
    )


def test_two_blocks_in_one_loop():
    text = after(
        TWO_STAGES, lambda sch: sch.merge("i", "j"), lambda sch: sch.loop_partition("i_m", [15])
    )
    assert (
        text
        == """\
B = T.alloc_buffer((16,))
for i_m0 in range(15):
    with T.block("B_i_m0"):
        vi = T.axis.spatial(16, i_m0)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi] * T.float32(2)
    with T.block("C_i_m0"):
        vj = T.axis.spatial(16, i_m0)
        T.reads(B[vj])
        T.writes(C[vj])
        C[vj] = B[vj] + T.float32(1)
for i_m1 in range(15, 16):
    with T.block("B_i_m1"):
        vi = T.axis.spatial(16, i_m1)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi] * T.float32(2)
    with T.block("C_i_m1"):
        vj = T.axis.spatial(16, i_m1)
        T.reads(B[vj])
        T.writes(C[vj])
        C[vj] = B[vj] + T.float32(1)"""
    )


def test_a_block_of_a_tile():
    text = after(
        OBLONG_MATMUL, lambda sch: sch.blockize("j"), lambda sch: sch.loop_partition("i", [5])
    )
    assert (
        text
        == """\
for i0 in range(5):
    with T.block("C_o_i0"):
        vi_o = T.axis.spatial(6, i0)
        vj_o = T.axis.spatial(1, 0)
        vk_o = T.axis.reduce(1, 0)
        T.reads(A[vi_o, 0:8], B[0:8, 0:6])
        T.writes(C[vi_o, 0:6])
        with T.init():
            for j in range(6):
                with T.block("C_init_i0"):
                    vj_i_init = T.axis.spatial(6, j)
                    T.reads()
                    T.writes(C[vi_o, vj_i_init])
                    C[vi_o, vj_i_init] = T.float32(0)
        for j, k in T.grid(6, 8):
            with T.block("C_i0"):
                vj_i, vk_i = T.axis.remap("SR", [j, k])
                T.reads(C[vi_o, vj_i], A[vi_o, vk_i], B[vk_i, vj_i])
                T.writes(C[vi_o, vj_i])
                C[vi_o, vj_i] = C[vi_o, vj_i] + A[vi_o, vk_i] * B[vk_i, vj_i]
for i1 in range(5, 6):
    with T.block("C_o_i1"):
        vi_o = T.axis.spatial(6, i1)
        vj_o = T.axis.spatial(1, 0)
        vk_o = T.axis.reduce(1, 0)
        T.reads(A[vi_o, 0:8], B[0:8, 0:6])
        T.writes(C[vi_o, 0:6])
        with T.init():
            for j in range(6):
                with T.block("C_init_i1"):
                    vj_i_init = T.axis.spatial(6, j)
                    T.reads()
                    T.writes(C[vi_o, vj_i_init])
                    C[vi_o, vj_i_init] = T.float32(0)
        for j, k in T.grid(6, 8):
            with T.block("C_i1"):
                vj_i, vk_i = T.axis.remap("SR", [j, k])
                T.reads(C[vi_o, vj_i], A[vi_o, vk_i], B[vk_i, vj_i])
                T.writes(C[vi_o, vj_i])
                C[vi_o, vj_i] = C[vi_o, vj_i] + A[vi_o, vk_i] * B[vk_i, vj_i]"""
    )


def test_parts_in_which_sums_begin_keep_their_start():
    text = after(
        SUM, lambda sch: sch.fuse("i", "k"), lambda sch: sch.loop_partition("i_k_fused", [5])
    )
    assert (
        text
        == """\
C = T.alloc_buffer((6,))
for i_k_fused0 in range(5):
    with T.block("C_i_k_fused0"):
        vi = T.axis.spatial(6, i_k_fused0 // 8)
        vk = T.axis.reduce(8, i_k_fused0 % 8)
        T.reads(A[vi, vk])
        T.writes(C[vi])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + A[vi, vk]
for i_k_fused1 in range(5, 48):
    with T.block("C_i_k_fused1"):
        vi = T.axis.spatial(6, i_k_fused1 // 8)
        vk = T.axis.reduce(8, i_k_fused1 % 8)
        T.reads(A[vi, vk])
        T.writes(C[vi])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + A[vi, vk]
for j in range(6):
    with T.block("D"):
        vj = T.axis.spatial(6, j)
        T.reads(C[vj])
        T.writes(D[vj])
        D[vj] = C[vj] * T.float32(2)"""
    )


@pytest.mark.fuzz
def test_random_programs():
    taken = sum(walk_at_random(seed, "loop_partition") for seed in seeds())
    assert taken >= 20


def test_sums_of_lengths_that_data_decide():
    func = program("data", "lengths from one to six")
    sch = wb.Schedule(func)
    sch.loop_partition(sch.get_loops("t")[0], [3, None])
    assert access.difference(func, sch.func, access.random_data(func, seed=0)) == ""


def test_what_the_start_alone_reads_is_read_where_sums_begin():
    source = FAMILIES["reductions"]["starts from an argument"]
    text = after(source, lambda sch: sch.loop_partition("k", [2, None]))
    assert (
        text
        == """\
for i in range(4):
    for k0 in range(2):
        with T.block("C_k0"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(5, k0)
            T.reads(D[vi], A[vi, vk])
            T.writes(C[vi])
            with T.init():
                C[vi] = D[vi] * T.float32(2)
            C[vi] = C[vi] + A[vi, vk]
    for k1 in range(2, 5):
        with T.block("C_k1"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(5, k1)
            T.reads(C[vi], A[vi, vk])
            T.writes(C[vi])
            C[vi] = C[vi] + A[vi, vk]"""
    )
