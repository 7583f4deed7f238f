"""blockize: the programs that it makes, and that they mean the same."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.support.block_programs import SUM, TWO_D
from tests.support.shallow import shallow
from tests.support.steps import after
from workbench import script


def test_a_tile_of_a_sum():
    text = after(
        SUM, lambda sch: sch.split("i", factors=[None, 2]), lambda sch: sch.blockize("i_1")
    )
    assert (
        text
        == """\
C = T.alloc_buffer((6,))
for i_0 in range(3):
    with T.block("C_o"):
        vi_o = T.axis.spatial(3, i_0)
        vk_o = T.axis.reduce(1, 0)
        T.reads(A[vi_o * 2 : vi_o * 2 + 2, 0:8])
        T.writes(C[vi_o * 2 : vi_o * 2 + 2])
        with T.init():
            for i_1 in range(2):
                with T.block("C_init"):
                    vi_i_init = T.axis.spatial(2, i_1)
                    T.reads()
                    T.writes(C[vi_o * 2 + vi_i_init])
                    C[vi_o * 2 + vi_i_init] = T.float32(0)
        for i_1, k in T.grid(2, 8):
            with T.block("C"):
                vi_i, vk_i = T.axis.remap("SR", [i_1, k])
                T.reads(C[vi_o * 2 + vi_i], A[vi_o * 2 + vi_i, vk_i])
                T.writes(C[vi_o * 2 + vi_i])
                C[vi_o * 2 + vi_i] = C[vi_o * 2 + vi_i] + A[vi_o * 2 + vi_i, vk_i]
for j in range(6):
    with T.block("D"):
        vj = T.axis.spatial(6, j)
        T.reads(C[vj])
        T.writes(D[vj])
        D[vj] = C[vj] * T.float32(2)"""
    )


def test_without_iterators_that_do_not_move():
    text = after(SUM, lambda sch: sch.blockize("k", preserve_unit_iters=False))
    assert (
        text
        == """\
C = T.alloc_buffer((6,))
for i in range(6):
    with T.block("C_o"):
        vi_o = T.axis.spatial(6, i)
        vk_o = T.axis.reduce(1, 0)
        T.reads(A[vi_o, 0:8])
        T.writes(C[vi_o])
        with T.init():
            with T.block("C_init"):
                T.reads()
                T.writes(C[vi_o])
                C[vi_o] = T.float32(0)
        for k in range(8):
            with T.block("C"):
                vk_i = T.axis.reduce(8, k)
                T.reads(C[vi_o], A[vi_o, vk_i])
                T.writes(C[vi_o])
                C[vi_o] = C[vi_o] + A[vi_o, vk_i]
for j in range(6):
    with T.block("D"):
        vj = T.axis.spatial(6, j)
        T.reads(C[vj])
        T.writes(D[vj])
        D[vj] = C[vj] * T.float32(2)"""
    )


def test_a_part_of_an_axis_is_all_that_it_touches():
    sch = wb.Schedule(
        script.parse("""@T.prim_func
def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(32, i + 16)
            B[v] = A[v]
""")
    )
    sch.blockize("i")
    assert "T.reads(A[16:24])\n        T.writes(B[16:24])" in script.show(sch.func)


def test_a_row_of_fused_loops():
    text = after(
        TWO_D,
        lambda sch: sch.fuse(*sch.get_loops("C")),
        lambda sch: sch.split("i_j_fused", factors=[None, 10]),
        lambda sch: sch.blockize("i_j_fused_1"),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((12, 10))
for i, j in T.grid(12, 10):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(A[vi, vj])
        T.writes(B[vi, vj])
        B[vi, vj] = A[vi, vj] * T.float32(2)
for i_j_fused_0 in range(12):
    with T.block("C_o"):
        vi_o = T.axis.spatial(12, i_j_fused_0)
        vj_o = T.axis.spatial(1, 0)
        T.reads(B[vi_o, 0:10])
        T.writes(C[vi_o, 0:10])
        for i_j_fused_1 in range(10):
            with T.block("C"):
                vj_i = T.axis.spatial(10, i_j_fused_1)
                T.reads(B[vi_o, vj_i])
                T.writes(C[vi_o, vj_i])
                C[vi_o, vj_i] = B[vi_o, vj_i] + T.float32(1)"""
    )


ONCE = """\
@T.prim_func
def main(A: T.Buffer((6, 4), "float32"), C: T.Buffer((6,), "float32")):
    for i, j, k in T.grid(1, 6, 4):
        with T.block("C"):
            vi = T.axis.spatial(6, i * 6 + j)
            vk = T.axis.reduce(4, k)
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
"""


def test_a_loop_that_runs_once():
    text = after(ONCE, lambda sch: sch.blockize("i"))
    assert (
        text
        == """\
with T.block("C_o"):
    vi_o = T.axis.spatial(1, 0)
    vk_o = T.axis.reduce(1, 0)
    T.reads(A[0:6, 0:4])
    T.writes(C[0:6])
    with T.init():
        for i, j in T.grid(1, 6):
            with T.block("C_init"):
                vi_i_init = T.axis.spatial(6, i * 6 + j)
                T.reads()
                T.writes(C[vi_i_init])
                C[vi_i_init] = T.float32(0)
    for i, j, k in T.grid(1, 6, 4):
        with T.block("C"):
            vi_i = T.axis.spatial(6, i * 6 + j)
            vk_i = T.axis.reduce(4, k)
            T.reads(C[vi_i], A[vi_i, vk_i])
            T.writes(C[vi_i])
            C[vi_i] = C[vi_i] + A[vi_i, vk_i]"""
    )


PART = """\
@T.prim_func
def main(A: T.Buffer((5, 4), "float32"), C: T.Buffer((5, 4), "float32")):
    for i, j in T.grid(2, 4):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            vj = T.axis.spatial(4, j)
            C[vi, vj] = A[vi, vj]
"""


def test_turns_are_counted_no_further_than_they_run():
    text = after(PART, lambda sch: sch.blockize("j"))
    assert (
        text
        == """\
for i in range(2):
    with T.block("C_o"):
        vi_o = T.axis.spatial(2, i)
        vj_o = T.axis.spatial(1, 0)
        T.reads(A[vi_o, 0:4])
        T.writes(C[vi_o, 0:4])
        for j in range(4):
            with T.block("C"):
                vj_i = T.axis.spatial(4, j)
                T.reads(A[vi_o, vj_i])
                T.writes(C[vi_o, vj_i])
                C[vi_o, vj_i] = A[vi_o, vj_i]"""
    )


TAIL = """\
@T.prim_func
def main(A: T.Buffer((3,), "float32"), C: T.Buffer((3,), "float32")):
    for i, j in T.grid(1, 4):
        with T.block("C"):
            vi = T.axis.spatial(3, i * 4 + j)
            T.where(i * 4 + j < 3)
            C[vi] = A[vi]
"""


def test_a_condition_beside_a_loop_that_runs_once():
    text = after(TAIL, lambda sch: sch.blockize("j"))
    assert (
        text
        == """\
for i in range(1):
    with T.block("C_o"):
        vi_o = T.axis.spatial(1, 0)
        T.reads(A[0:3])
        T.writes(C[0:3])
        for j in range(4):
            with T.block("C"):
                vi_i = T.axis.spatial(3, j)
                T.where(j < 3)
                T.reads(A[vi_i])
                T.writes(C[vi_i])
                C[vi_i] = A[vi_i]"""
    )


PART_OF_A_SUM = """\
@T.prim_func
def main(A: T.Buffer((6, 5), "float32"), C: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 5):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(1)
            C[vi] = C[vi] + A[vi, vk]
"""


def test_the_part_of_a_sum_that_starts_it():
    steps = (lambda sch: sch.loop_partition("k", [2, None]), lambda sch: sch.blockize("k0"))
    assert 'with T.block("C_k0_o"):' in after(PART_OF_A_SUM, *steps)


UNDER_A_CHOICE = """\
@T.prim_func
def main(A: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    for i in range(4):
        if i < 3:
            for j in range(2):
                with T.block("C"):
                    vi = T.axis.spatial(6, i * 2 + j)
                    C[vi] = A[vi]
"""


def test_a_choice_around_keeps_turns_from_running_beyond_the_axis():
    text = after(UNDER_A_CHOICE, lambda sch: sch.blockize("j"))
    assert (
        text
        == """\
for i in range(4):
    if i < 3:
        with T.block("C_o"):
            vi_o = T.axis.spatial(3, i)
            T.reads(A[vi_o * 2 : vi_o * 2 + 2])
            T.writes(C[vi_o * 2 : vi_o * 2 + 2])
            for j in range(2):
                with T.block("C"):
                    vi_i = T.axis.spatial(2, j)
                    T.reads(A[vi_o * 2 + vi_i])
                    T.writes(C[vi_o * 2 + vi_i])
                    C[vi_o * 2 + vi_i] = A[vi_o * 2 + vi_i]"""
    )


def test_several_blocks_of_a_turn():
    text = after(
        TWO_D,
        lambda sch: sch.split(sch.get_loops("C")[0], factors=[3, 4]),
        lambda sch: sch.compute_at("B", sch.get_loops("C")[0]),
        lambda sch: sch.blockize(["C", sch.get_block("B")]),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((12, 10))
for i_0 in range(3):
    with T.block("outer_B_C_"):
        vi_o = T.axis.spatial(3, i_0)
        vj_o = T.axis.spatial(1, 0)
        T.reads(A[vi_o * 4 : vi_o * 4 + 4, 0:10], B[vi_o * 4 : vi_o * 4 + 4, 0:10])
        T.writes(B[vi_o * 4 : vi_o * 4 + 4, 0:10], C[vi_o * 4 : vi_o * 4 + 4, 0:10])
        for ax0, ax1 in T.grid(4, 10):
            with T.block("B"):
                vi_i, vj_i = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[vi_o * 4 + vi_i, vj_i])
                T.writes(B[vi_o * 4 + vi_i, vj_i])
                B[vi_o * 4 + vi_i, vj_i] = A[vi_o * 4 + vi_i, vj_i] * T.float32(2)
        for i_1, j in T.grid(4, 10):
            with T.block("C"):
                vi_i, vj_i = T.axis.remap("SS", [i_1, j])
                T.reads(B[vi_o * 4 + vi_i, vj_i])
                T.writes(C[vi_o * 4 + vi_i, vj_i])
                C[vi_o * 4 + vi_i, vj_i] = B[vi_o * 4 + vi_i, vj_i] + T.float32(1)"""
    )


def test_blocks_without_loops_between():
    text = after(
        TWO_D,
        lambda sch: sch.compute_at("B", sch.get_loops("C")[1]),
        lambda sch: sch.blockize(["B", "C"], preserve_unit_iters=False),
    )
    assert 'with T.block("outer_B_C_"):\n        vi_o, vj_o = T.axis.remap("SS", [i, j])' in text


def test_several_blocks_are_told_in_a_trace():
    sch = wb.Schedule(script.parse(TWO_D))
    outer = sch.blockize(["C", "B"])
    assert [block.name for block in sch.get_child_blocks(outer)] == ["B", "C"]
    space = {"wb": wb, "program": script.parse(TWO_D)}
    exec(sch.trace.as_python(), space)
    assert script.show(space["sch"].func) == script.show(sch.func)
    assert not [v for v in sch.actions("B") if v.verb == "blockize"]  # offered at loops


WINDOW = """
@T.prim_func
def main(A: T.Buffer((16, 4), "float32"), B: T.Buffer((16, 4), "float32")):
    for h, kh, i in T.grid(14, 3, 4):
        with T.block("B"):
            vr = T.axis.spatial(16, h + kh)
            vi = T.axis.spatial(4, i)
            B[vr, vi] = A[vr, vi]
"""


def test_a_row_of_a_window_stays_that_row():
    text = after(WINDOW, lambda sch: sch.blockize("i"))
    assert "vr_o = T.axis.spatial(16, h + kh)" in text
    assert "T.where" not in text


@pytest.mark.tool
def test_tvm_makes_another_row_of_it():
    """When it does not, `on_tensor_cores` of benchmarks/tvm_text.py can leave all steps to TVM."""
    tvm = pytest.importorskip("tvm", reason="apache-tvm is not installed")
    text = script.show(script.parse(WINDOW), "tvm")
    theirs = tvm.s_tir.Schedule(shallow(tvm.script.from_source, text))
    theirs.blockize(theirs.get_loops(theirs.get_sblock("B"))[-1])
    assert "vr_o = T.axis.spatial(16, h * 3 + kh)" in theirs.mod.script()
