"""storage_align: the programs that it makes, and that they mean the same."""

from __future__ import annotations

from tests.support.steps import after

TRANSPOSE = """\
@T.prim_func
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
    S = T.alloc_buffer((32, 32), "float32")
    for i, j in T.grid(32, 32):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = A[vi, vj]
    for i, j in T.grid(32, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = S[vj, vi]
"""


def test_rows_of_33():
    text = after(
        TRANSPOSE,
        lambda sch: sch.set_scope("S", 0, "shared"),
        lambda sch: sch.storage_align("S", 0, axis=-2, factor=32, offset=1),
    )
    assert (
        text
        == """\
S_shared = T.alloc_buffer((32, 32), scope="shared")
for i, j in T.grid(32, 32):
    with T.block("S"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(A[vi, vj])
        T.writes(S_shared[vi, vj])
        T.block_attr({"buffer_dim_align": [[0, 0, 32, 1]]})
        S_shared[vi, vj] = A[vi, vj]
for i, j in T.grid(32, 32):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(S_shared[vj, vi])
        T.writes(B[vi, vj])
        B[vi, vj] = S_shared[vj, vi]"""
    )


def test_asked_again():
    text = after(
        TRANSPOSE,
        lambda sch: sch.storage_align("S", "S", axis=0, factor=32, offset=1),
        lambda sch: sch.storage_align("S", 0, axis=0, factor=16, offset=8),
    )
    assert (
        text
        == """\
S = T.alloc_buffer((32, 32))
for i, j in T.grid(32, 32):
    with T.block("S"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(A[vi, vj])
        T.writes(S[vi, vj])
        T.block_attr({"buffer_dim_align": [[0, 0, 16, 8]]})
        S[vi, vj] = A[vi, vj]
for i, j in T.grid(32, 32):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(S[vj, vi])
        T.writes(B[vi, vj])
        B[vi, vj] = S[vj, vi]"""
    )


def test_in_a_block_within_the_one_that_holds_the_buffer():
    text = after(
        TRANSPOSE,
        lambda sch: sch.blockize(sch.get_loops("S")[1]),
        lambda sch: sch.storage_align("S", 0, axis=0, factor=32, offset=1),
    )
    assert (
        text
        == """\
S = T.alloc_buffer((32, 32))
for i in range(32):
    with T.block("S_o"):
        vi_o = T.axis.spatial(32, i)
        vj_o = T.axis.spatial(1, 0)
        T.reads(A[vi_o, 0:32])
        T.writes(S[vi_o, 0:32])
        for j in range(32):
            with T.block("S"):
                vj_i = T.axis.spatial(32, j)
                T.reads(A[vi_o, vj_i])
                T.writes(S[vi_o, vj_i])
                T.block_attr({"buffer_dim_align": [[0, 0, 32, 1]]})
                S[vi_o, vj_i] = A[vi_o, vj_i]
for i, j in T.grid(32, 32):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(S[vj, vi])
        T.writes(B[vi, vj])
        B[vi, vj] = S[vj, vi]"""
    )
