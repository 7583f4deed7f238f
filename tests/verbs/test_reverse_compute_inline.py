"""reverse_compute_inline: the programs that it makes, and that they mean the same."""

from __future__ import annotations

import pytest

from tests.support.block_programs import FLAT, PARTIAL, TWO_D, TWO_STAGES
from tests.support.cases import seeds
from tests.support.steps import after, walk_at_random

PREFIX = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((9,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2.0
    for j in range(9):
        with T.block("C"):
            vj = T.axis.spatial(9, j)
            C[vj] = B[vj + 3] + 1.0
"""


def test_two_dimensions():
    text = after(TWO_D, lambda sch: sch.reverse_compute_inline("C"))
    assert (
        text
        == """\
for i, j in T.grid(12, 10):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(A[vi, vj])
        T.writes(C[vi, vj])
        C[vi, vj] = A[vi, vj] * T.float32(2) + T.float32(1)"""
    )


def test_a_flat_index():
    text = after(FLAT, lambda sch: sch.reverse_compute_inline("C"))
    assert (
        text
        == """\
for i, j in T.grid(4, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(A[vi * 6 + vj])
        T.writes(C[vi * 6 + vj])
        C[vi * 6 + vj] = A[vi * 6 + vj] * T.float32(2) + T.float32(1)"""
    )


def test_a_part_of_what_is_made():
    text = after(PREFIX, lambda sch: sch.reverse_compute_inline("C"))
    assert (
        text
        == """\
for i in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        T.where(3 <= i and i < 12)
        T.reads(A[vi])
        T.writes(C[vi - 3])
        C[vi - 3] = A[vi] * T.float32(2) + T.float32(1)"""
    )


def test_into_a_split_with_a_tail():
    text = after(
        TWO_STAGES,
        lambda sch: sch.split("i", factors=[None, 5]),
        lambda sch: sch.reverse_compute_inline("C"),
    )
    assert (
        text
        == """\
for i_0, i_1 in T.grid(4, 5):
    with T.block("B"):
        vi = T.axis.spatial(16, i_0 * 5 + i_1)
        T.where(i_0 * 5 + i_1 < 16)
        T.reads(A[vi])
        T.writes(C[vi])
        C[vi] = A[vi] * T.float32(2) + T.float32(1)"""
    )


def test_a_part_of_its_domain():
    text = after(PARTIAL, lambda sch: sch.reverse_compute_inline("C"))
    assert (
        text
        == """\
for i in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        T.where(i < 8)
        T.reads(A[vi])
        T.writes(C[vi])
        C[vi] = A[vi] * T.float32(2) + T.float32(1)"""
    )


@pytest.mark.fuzz
def test_random_programs_keep_their_meaning():
    taken = sum(walk_at_random(seed, "reverse_compute_inline") for seed in seeds())
    assert taken > 0, "no step was taken: the walk is blind"
