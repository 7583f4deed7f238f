"""compute_inline: the programs that it makes, and that they mean the same."""

from __future__ import annotations

import pytest

from tests.support.block_programs import DEAD, FORK, STAGED_WINDOW, TWO_STAGES
from tests.support.cases import seeds
from tests.support.steps import after, refusal, walk_at_random

CASTS = """\
@T.prim_func
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((15,), "int32")):
    B = T.alloc_buffer((16,), "float16")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = T.Cast("float16", A[vi])
    for j in range(15):
        with T.block("C"):
            vj = T.axis.spatial(15, j)
            C[vj] = T.Cast("int32", B[vj + 1] + B[vj])
"""

PADDED_SHIFT = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    P = T.alloc_buffer((18,), "float32")
    for i in range(18):
        with T.block("P"):
            vi = T.axis.spatial(18, i)
            P[vi] = T.if_then_else(1 <= vi and vi < 17, A[vi - 1], T.float32(0))
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = P[vi + 2]
"""


def test_a_window():
    text = after(STAGED_WINDOW, lambda sch: sch.compute_inline("B"))
    assert (
        text
        == """\
for j in range(16):
    with T.block("C"):
        vj = T.axis.spatial(16, j)
        T.reads(A[vj : vj + 3])
        T.writes(C[vj])
        C[vj] = A[vj] * T.float32(2) + A[vj + 1] * T.float32(2) + A[vj + 2] * T.float32(2)"""
    )


def test_into_two_readers():
    text = after(FORK, lambda sch: sch.compute_inline("B"))
    assert (
        text
        == """\
for j in range(16):
    with T.block("C"):
        vj = T.axis.spatial(16, j)
        T.reads(A[vj])
        T.writes(C[vj])
        C[vj] = A[vj] * T.float32(2) + T.float32(1)
for k in range(16):
    with T.block("D"):
        vk = T.axis.spatial(16, k)
        T.reads(A[vk])
        T.writes(D[vk])
        D[vk] = A[vk] * T.float32(2) - T.float32(1)"""
    )


def test_a_padding():
    text = after(PADDED_SHIFT, lambda sch: sch.compute_inline("P"))
    assert (
        text
        == """\
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        T.reads(A[vi + 2 - 1])
        T.writes(C[vi])
        C[vi] = T.if_then_else(1 <= vi + 2 and vi + 2 < 17, A[vi + 2 - 1], T.float32(0))"""
    )


def test_a_narrowing_cast():
    text = after(CASTS, lambda sch: sch.compute_inline("B"))
    assert (
        text
        == """\
for j in range(15):
    with T.block("C"):
        vj = T.axis.spatial(15, j)
        T.reads(A[vj : vj + 2])
        T.writes(C[vj])
        C[vj] = T.Cast("int32", T.Cast("float16", A[vj + 1]) + T.Cast("float16", A[vj]))"""
    )


def test_a_split_with_a_tail():
    text = after(
        TWO_STAGES,
        lambda sch: sch.split("i", factors=[None, 5]),
        lambda sch: sch.compute_inline("B"),
    )
    assert (
        text
        == """\
for j in range(16):
    with T.block("C"):
        vj = T.axis.spatial(16, j)
        T.reads(A[vj])
        T.writes(C[vj])
        C[vj] = A[vj] * T.float32(2) + T.float32(1)"""
    )


def test_a_block_that_nobody_reads():
    text = after(DEAD, lambda sch: sch.compute_inline("B"))
    assert (
        text
        == """\
for j in range(16):
    with T.block("C"):
        vj = T.axis.spatial(16, j)
        T.reads(A[vj])
        T.writes(C[vj])
        C[vj] = A[vj] + T.float32(1)"""
    )


LATER_WRITTEN = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = 3.0
    for j in range(16):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = B[vj] + A[vj]
        with T.block("W"):
            vw = T.axis.spatial(16, j)
            A[vw] = 0.0
"""


def test_where_another_argument_is_written_later():
    text = after(LATER_WRITTEN, lambda sch: sch.compute_inline("B"))
    assert (
        text
        == """\
for j in range(16):
    with T.block("C"):
        vj = T.axis.spatial(16, j)
        T.reads(A[vj])
        T.writes(C[vj])
        C[vj] = T.float32(3) + A[vj]
    with T.block("W"):
        vw = T.axis.spatial(16, j)
        T.reads()
        T.writes(A[vw])
        A[vw] = T.float32(0)"""
    )


BESIDE_A_SPLIT = """\
@T.prim_func
def main(A: T.Buffer((18,), "float32"), D: T.Buffer((13, 13), "float32")):
    C = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = T.Select(A[vi + 2] == T.float32(0), A[vi + 2], T.float32(2))
    for i_0, i_1 in T.grid(85, 2):
        with T.block("D"):
            vi = T.axis.spatial(13, (i_0 * 2 + i_1) // 13)
            vj = T.axis.spatial(13, (i_0 * 2 + i_1) % 13)
            T.where(i_0 * 2 + i_1 < 169)
            D[vi, vj] = C[vi + 3] + C[vi]
"""


def test_where_another_cell_of_what_is_read_is_overwritten_before():
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(7):
        with T.block("B"):
            v = T.axis.spatial(8, i + 1)
            B[v] = A[v - {back}] * 2
    for j in range(7):
        with T.block("C"):
            v = T.axis.spatial(8, j + 1)
            C[v] = A[v] + B[v]
        with T.block("W"):
            v = T.axis.spatial(8, j + 1)
            A[v] = 0
"""
    after(text.format(back=0), lambda sch: sch.compute_inline("B"))
    told = refusal(text.format(back=1), lambda sch: sch.compute_inline("B"))
    assert "`C` would read A too late" in told


def test_iterators_of_the_reader_are_in_their_domains():
    text = after(BESIDE_A_SPLIT, lambda sch: sch.compute_inline("C"))
    assert "C[" not in text
    assert "A[vi + 3 + 2]" in text


TILES = """\
@T.prim_func
def main(A: T.Buffer((24, 16), "float32"), C: T.Buffer((24, 16), "float32")):
    B = T.alloc_buffer((24, 16))
    for i, j in T.grid(24, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(24, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
"""


@pytest.mark.parametrize(
    ("block", "act"),
    [
        ("B", lambda sch: sch.compute_inline("B")),
        ("C", lambda sch: sch.reverse_compute_inline("C")),
    ],
)
def test_tiles_of_tiles_that_do_not_divide(block, act):
    def steps(sch):
        i_1 = sch.split(sch.get_loops(block)[0], factors=[None, 3])[1]
        sch.split(i_1, factors=[None, 8])
        act(sch)

    assert "B[" not in after(TILES, steps)


def test_a_condition_on_a_digit_of_fused_loops_stops_them():
    def steps(sch):
        i, j = sch.get_loops("B")
        _, tile = sch.split(i, factors=[None, 3])
        sch.fuse(*sch.split(tile, factors=[None, 8]), j)
        sch.compute_at("B", sch.get_loops("C")[1])

    assert "B[vi, vj] = A[vi, vj]" in after(TILES, steps)


@pytest.mark.fuzz
def test_random_programs_keep_their_meaning():
    taken = sum(walk_at_random(seed, "compute_inline") for seed in seeds())
    assert taken > 0, "no step was taken: the walk is blind"
