"""decompose_reduction: the programs that it makes, and that they mean the same."""

from __future__ import annotations

import pytest

from tests.support.block_programs import MATMUL
from tests.support.steps import after, walk_at_random


def test_at_the_loop_of_the_sum():
    text = after(MATMUL, lambda sch: sch.decompose_reduction("C", "k"))
    assert (
        text
        == """\
for i, j in T.grid(6, 6):
    with T.block("C_init"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads()
        T.writes(C[vi, vj])
        C[vi, vj] = T.float32(0)
    for k in range(8):
        with T.block("C_update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""
    )


def test_at_the_outermost_loop():
    text = after(MATMUL, lambda sch: sch.decompose_reduction("C", "i"))
    assert (
        text
        == """\
for i_init, j_init in T.grid(6, 6):
    with T.block("C_init"):
        vi, vj = T.axis.remap("SS", [i_init, j_init])
        T.reads()
        T.writes(C[vi, vj])
        C[vi, vj] = T.float32(0)
for i, j, k in T.grid(6, 6, 8):
    with T.block("C_update"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
        T.writes(C[vi, vj])
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""
    )


def test_with_tails_of_both_kinds():
    text = after(
        MATMUL,
        lambda sch: sch.split("i", factors=[None, 4]),
        lambda sch: sch.split("k", factors=[None, 3]),
        lambda sch: sch.decompose_reduction("C", "k_0"),
    )
    assert (
        text
        == """\
for i_0, i_1, j in T.grid(2, 4, 6):
    with T.block("C_init"):
        vi = T.axis.spatial(6, i_0 * 4 + i_1)
        vj = T.axis.spatial(6, j)
        T.where(i_0 * 4 + i_1 < 6)
        T.reads()
        T.writes(C[vi, vj])
        C[vi, vj] = T.float32(0)
    for k_0, k_1 in T.grid(3, 3):
        with T.block("C_update"):
            vi = T.axis.spatial(6, i_0 * 4 + i_1)
            vj = T.axis.spatial(6, j)
            vk = T.axis.reduce(8, k_0 * 3 + k_1)
            T.where(i_0 * 4 + i_1 < 6 and k_0 * 3 + k_1 < 8)
            T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""
    )


def test_the_sum_outermost():
    text = after(
        MATMUL,
        lambda sch: sch.reorder("k", "i", "j"),
        lambda sch: sch.decompose_reduction("C", "k"),
    )
    assert (
        text
        == """\
for i_init, j_init in T.grid(6, 6):
    with T.block("C_init"):
        vi, vj = T.axis.remap("SS", [i_init, j_init])
        T.reads()
        T.writes(C[vi, vj])
        C[vi, vj] = T.float32(0)
for k, i, j in T.grid(8, 6, 6):
    with T.block("C_update"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
        T.writes(C[vi, vj])
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""
    )


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_random_programs_keep_their_meaning(start: int):
    taken = sum(walk_at_random(seed, "decompose_reduction") for seed in range(start, start + 20))
    assert taken > 0, "no step was taken: the walk is blind"
