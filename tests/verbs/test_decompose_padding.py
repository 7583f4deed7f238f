"""decompose_padding: the programs that it makes, and that they mean the same."""

from __future__ import annotations

from tests.support.steps import after

FRAME = """\
@T.prim_func
def main(A: T.Buffer((6, 6), "float32"), C: T.Buffer((8, 10), "float32")):
    for i, j in T.grid(8, 10):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(
                vi >= 1 and vi < 7 and vj >= 2 and vj < 8, A[vi - 1, vj - 2], T.float32(0)
            )
"""

PADDED = """\
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
            C[vi] = P[vi] + P[vi + 1] + P[vi + 2]
"""


def test_a_frame():
    text = after(FRAME, lambda sch: sch.decompose_padding("P", "i"))
    assert (
        text
        == """\
for i, j in T.grid(8, 10):
    with T.block("P_pad_const"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads()
        T.writes(C[vi, vj])
        C[vi, vj] = T.float32(0)
for i, j in T.grid(6, 6):
    with T.block("P"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(A[vi, vj])
        T.writes(C[vi + 1, vj + 2])
        C[vi + 1, vj + 2] = A[vi, vj]"""
    )


def test_the_frame_of_each_row():
    text = after(FRAME, lambda sch: sch.decompose_padding("P", "j"))
    assert (
        text
        == """\
for i in range(8):
    for j in range(10):
        with T.block("P_pad_const"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads()
            T.writes(C[vi, vj])
            C[vi, vj] = T.float32(0)
    for j in range(6):
        with T.block("P"):
            vi = T.axis.spatial(6, i - 1)
            vj = T.axis.spatial(6, j)
            T.where(1 <= i and i < 7)
            T.reads(A[vi, vj])
            T.writes(C[vi + 1, vj + 2])
            C[vi + 1, vj + 2] = A[vi, vj]"""
    )


def test_a_split_with_a_tail():
    text = after(
        PADDED,
        lambda sch: sch.split(sch.get_loops("P")[0], factors=[None, 5]),
        lambda sch: sch.decompose_padding("P", "i_1"),
    )
    assert (
        text
        == """\
P = T.alloc_buffer((18,))
for i_0 in range(4):
    for i_1 in range(5):
        with T.block("P_pad_const"):
            vi = T.axis.spatial(18, i_0 * 5 + i_1)
            T.where(i_0 * 5 + i_1 < 18)
            T.reads()
            T.writes(P[vi])
            P[vi] = T.float32(0)
    for i_1 in range(5):
        with T.block("P"):
            vi = T.axis.spatial(16, i_0 * 5 + i_1 - 1)
            T.where(1 <= i_0 * 5 + i_1 and i_0 * 5 + i_1 < 17 and i_0 * 5 + i_1 < 18)
            T.reads(A[vi])
            T.writes(P[vi + 1])
            P[vi + 1] = A[vi]
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        T.reads(P[vi : vi + 3])
        T.writes(C[vi])
        C[vi] = P[vi] + P[vi + 1] + P[vi + 2]"""
    )


def test_in_the_tile_of_its_reader():
    text = after(
        PADDED,
        lambda sch: sch.split(sch.get_loops("C")[0], factors=[4, 4]),
        lambda sch: sch.compute_at("P", "i_0"),
        lambda sch: sch.decompose_padding("P", "ax0"),
    )
    assert (
        text
        == """\
P = T.alloc_buffer((18,))
for i_0 in range(4):
    for ax0 in range(6):
        with T.block("P_pad_const"):
            vi = T.axis.spatial(18, i_0 * 4 + ax0)
            T.reads()
            T.writes(P[vi])
            P[vi] = T.float32(0)
    for ax0 in range(6):
        with T.block("P"):
            vi = T.axis.spatial(16, i_0 * 4 + ax0 - 1)
            T.where(1 <= i_0 * 4 + ax0 and i_0 * 4 + ax0 < 17)
            T.reads(A[vi])
            T.writes(P[vi + 1])
            P[vi + 1] = A[vi]
    for i_1 in range(4):
        with T.block("C"):
            vi = T.axis.spatial(16, i_0 * 4 + i_1)
            T.reads(P[vi : vi + 3])
            T.writes(C[vi])
            C[vi] = P[vi] + P[vi + 1] + P[vi + 2]"""
    )


def test_threads_keep_their_cells():
    text = after(
        FRAME,
        lambda sch: sch.bind("i", "blockIdx.x"),
        lambda sch: sch.bind("j", "threadIdx.x"),
        lambda sch: sch.decompose_padding("P", "j"),
    )
    assert (
        text
        == """\
for i in T.thread_binding(8, thread="blockIdx.x"):
    for j in T.thread_binding(10, thread="threadIdx.x"):
        with T.block("P_pad_const"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads()
            T.writes(C[vi, vj])
            C[vi, vj] = T.float32(0)
    for j in T.thread_binding(10, thread="threadIdx.x"):
        with T.block("P"):
            vi = T.axis.spatial(6, i - 1)
            vj = T.axis.spatial(6, j - 2)
            T.where(1 <= i and i < 7 and 2 <= j and j < 8)
            T.reads(A[vi, vj])
            T.writes(C[vi + 1, vj + 2])
            C[vi + 1, vj + 2] = A[vi, vj]"""
    )


def test_a_condition_on_the_block_around():
    text = after(
        FRAME,
        lambda sch: sch.blockize("j"),
        lambda sch: sch.decompose_padding("P", "j"),
    )
    assert (
        text
        == """\
for i in range(8):
    with T.block("P_o"):
        vi_o = T.axis.spatial(8, i)
        vj_o = T.axis.spatial(1, 0)
        T.reads(A[vi_o - 1, -2:8])
        T.writes(C[vi_o, 0:10])
        for j in range(10):
            with T.block("P_pad_const"):
                vj_i = T.axis.spatial(10, j)
                T.reads()
                T.writes(C[vi_o, vj_i])
                C[vi_o, vj_i] = T.float32(0)
        for j in range(6):
            with T.block("P"):
                vj_i = T.axis.spatial(6, j)
                T.where(vi_o >= 1 and vi_o < 7)
                T.reads(A[vi_o - 1, vj_i])
                T.writes(C[vi_o, vj_i + 2])
                C[vi_o, vj_i + 2] = A[vi_o - 1, vj_i]"""
    )
