"""rfactor: the programs that it makes, and that they mean the same."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.support.block_programs import OBLONG_MATMUL, SUM
from tests.support.steps import after
from workbench import script
from workbench.access import difference, random_data
from workbench.ir import PrimFunc

LARGEST = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = -100.0
            C[vi] = T.max(C[vi], A[vi, vk])
"""


def test_the_inner_loop_of_a_split_sum():
    text = after(
        OBLONG_MATMUL,
        lambda sch: sch.split("k", factors=[None, 4]),
        lambda sch: sch.rfactor("k_1", factor_axis=2),
    )
    assert (
        text
        == """\
C_rf = T.alloc_buffer((6, 6, 4))
for i, j, k_0, k_1 in T.grid(6, 6, 2, 4):
    with T.block("C_rf"):
        vk_1, vi, vj, vk_0 = T.axis.remap("SSSR", [k_1, i, j, k_0])
        T.reads(A[vi, vk_0 * 4 + vk_1], B[vk_0 * 4 + vk_1, vj])
        T.writes(C_rf[vi, vj, vk_1])
        with T.init():
            C_rf[vi, vj, vk_1] = T.float32(0)
        C_rf[vi, vj, vk_1] = C_rf[vi, vj, vk_1] + A[vi, vk_0 * 4 + vk_1] * B[vk_0 * 4 + vk_1, vj]
for i, j, k_1 in T.grid(6, 6, 4):
    with T.block("C"):
        vk_1, vi, vj = T.axis.remap("RSS", [k_1, i, j])
        T.reads(C_rf[vi, vj, vk_1])
        T.writes(C[vi, vj])
        with T.init():
            C[vi, vj] = T.float32(0)
        C[vi, vj] = C[vi, vj] + C_rf[vi, vj, vk_1]"""
    )


def test_a_sum_with_a_tail():
    text = after(
        SUM, lambda sch: sch.split("k", factors=[None, 3]), lambda sch: sch.rfactor("k_1", 0)
    )
    assert (
        text
        == """\
C = T.alloc_buffer((6,))
C_rf = T.alloc_buffer((3, 6))
for i, k_0, k_1 in T.grid(6, 3, 3):
    with T.block("C_rf"):
        vk_1, vi, vk_0 = T.axis.remap("SSR", [k_1, i, k_0])
        T.where(k_0 * 3 + k_1 < 8)
        T.reads(A[vi, vk_0 * 3 + vk_1])
        T.writes(C_rf[vk_1, vi])
        with T.init():
            C_rf[vk_1, vi] = T.float32(0)
        C_rf[vk_1, vi] = C_rf[vk_1, vi] + A[vi, vk_0 * 3 + vk_1]
for i, k_1 in T.grid(6, 3):
    with T.block("C"):
        vk_1, vi = T.axis.remap("RS", [k_1, i])
        T.reads(C_rf[vk_1, vi])
        T.writes(C[vi])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + C_rf[vk_1, vi]
for j in range(6):
    with T.block("D"):
        vj = T.axis.spatial(6, j)
        T.reads(C[vj])
        T.writes(D[vj])
        D[vj] = C[vj] * T.float32(2)"""
    )


def test_tails_that_cut_off_cells():
    text = after(
        SUM, lambda sch: sch.split("i", factors=[None, 4]), lambda sch: sch.rfactor("k", -1)
    )
    assert (
        text
        == """\
C = T.alloc_buffer((6,))
C_rf = T.alloc_buffer((6, 8))
for i_0, i_1, k in T.grid(2, 4, 8):
    with T.block("C_rf"):
        vk = T.axis.spatial(8, k)
        vi = T.axis.spatial(6, i_0 * 4 + i_1)
        T.where(i_0 * 4 + i_1 < 6)
        T.reads(A[vi, vk])
        T.writes(C_rf[vi, vk])
        C_rf[vi, vk] = A[vi, vk]
for i_0, i_1, k in T.grid(2, 4, 8):
    with T.block("C"):
        vk = T.axis.reduce(8, k)
        vi = T.axis.spatial(6, i_0 * 4 + i_1)
        T.where(i_0 * 4 + i_1 < 6)
        T.reads(C_rf[vi, vk])
        T.writes(C[vi])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + C_rf[vi, vk]
for j in range(6):
    with T.block("D"):
        vj = T.axis.spatial(6, j)
        T.reads(C[vj])
        T.writes(D[vj])
        D[vj] = C[vj] * T.float32(2)"""
    )


def test_a_maximum_with_any_start():
    text = after(
        LARGEST, lambda sch: sch.split("k", factors=[2, 4]), lambda sch: sch.rfactor("k_0", 0)
    )
    assert (
        text
        == """\
C_rf = T.alloc_buffer((2, 6))
for i, k_0, k_1 in T.grid(6, 2, 4):
    with T.block("C_rf"):
        vk_0, vi, vk_1 = T.axis.remap("SSR", [k_0, i, k_1])
        T.reads(A[vi, vk_0 * 4 + vk_1])
        T.writes(C_rf[vk_0, vi])
        with T.init():
            C_rf[vk_0, vi] = T.float32(-100)
        C_rf[vk_0, vi] = T.max(C_rf[vk_0, vi], A[vi, vk_0 * 4 + vk_1])
for i, k_0 in T.grid(6, 2):
    with T.block("C"):
        vk_0, vi = T.axis.remap("RS", [k_0, i])
        T.reads(C_rf[vk_0, vi])
        T.writes(C[vi])
        with T.init():
            C[vi] = T.float32(-100)
        C[vi] = T.max(C[vi], C_rf[vk_0, vi])"""
    )


def test_ahead_of_what_follows_in_the_nest():
    text = after(SUM, lambda sch: sch.reverse_compute_at("D", "i"), lambda sch: sch.rfactor("k", 0))
    assert (
        text
        == """\
C = T.alloc_buffer((6,))
C_rf = T.alloc_buffer((8, 6))
for i, k in T.grid(6, 8):
    with T.block("C_rf"):
        vk, vi = T.axis.remap("SS", [k, i])
        T.reads(A[vi, vk])
        T.writes(C_rf[vk, vi])
        C_rf[vk, vi] = A[vi, vk]
for i in range(6):
    for k in range(8):
        with T.block("C"):
            vk, vi = T.axis.remap("RS", [k, i])
            T.reads(C_rf[vk, vi])
            T.writes(C[vi])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + C_rf[vk, vi]
    with T.block("D"):
        vj = T.axis.spatial(6, i)
        T.reads(C[vj])
        T.writes(D[vj])
        D[vj] = C[vj] * T.float32(2)"""
    )


def test_a_loop_that_runs_the_block_once_behind_a_condition():
    text = after(
        SUM,
        lambda sch: sch.add_unit_loop("C"),
        lambda sch: sch.split(sch.get_loops("C")[-1], factors=[4, None]),
        lambda sch: sch.rfactor("k", 0),
    )
    assert (
        text
        == """\
C = T.alloc_buffer((6,))
C_rf = T.alloc_buffer((8, 6))
for i, k, u_0, u_1 in T.grid(6, 8, 4, 1):
    with T.block("C_rf"):
        vk, vi = T.axis.remap("SS", [k, i])
        T.where(u_0 + u_1 < 1)
        T.reads(A[vi, vk])
        T.writes(C_rf[vk, vi])
        C_rf[vk, vi] = A[vi, vk]
for i, k, u_0, u_1 in T.grid(6, 8, 4, 1):
    with T.block("C"):
        vk, vi = T.axis.remap("RS", [k, i])
        T.where(u_0 + u_1 < 1)
        T.reads(C_rf[vk, vi])
        T.writes(C[vi])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + C_rf[vk, vi]
for j in range(6):
    with T.block("D"):
        vj = T.axis.spatial(6, j)
        T.reads(C[vj])
        T.writes(D[vj])
        D[vj] = C[vj] * T.float32(2)"""
    )


LATER = """\
@T.prim_func
def main(A: T.Buffer((3, 32), "float32"), C: T.Buffer((3,), "float32")):
    for i in range(3):
        for k in range(2, 4):
            for l in range(1, 5):
                with T.block("C"):
                    vi = T.axis.spatial(3, i)
                    vk = T.axis.reduce((9, 17), k * 4 + l)
                    with T.init():
                        C[vi] = 0.0
                    C[vi] = C[vi] + A[vi, vk]
"""


def test_loops_that_start_later_are_counted_from_0():
    text = after(LATER, lambda sch: sch.rfactor(sch.get_loops("C")[1], 0))
    assert (
        text
        == """\
C_rf = T.alloc_buffer((2, 3))
for i in range(3):
    for k in range(2, 4):
        for l in range(1, 5):
            with T.block("C_rf"):
                vk = T.axis.spatial(2, k - 2)
                vi = T.axis.spatial(3, i)
                vl = T.axis.reduce(4, l - 1)
                T.reads(A[vi, (vk + 2) * 4 + (vl + 1)])
                T.writes(C_rf[vk, vi])
                with T.init():
                    C_rf[vk, vi] = T.float32(0)
                C_rf[vk, vi] = C_rf[vk, vi] + A[vi, (vk + 2) * 4 + (vl + 1)]
for i in range(3):
    for k in range(2, 4):
        with T.block("C"):
            vk = T.axis.reduce(2, k - 2)
            vi = T.axis.spatial(3, i)
            T.reads(C_rf[vk, vi])
            T.writes(C[vi])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + C_rf[vk, vi]"""
    )


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("factors", [[None, 3], [4, None]])
def test_a_loop_of_one_turn_makes_one_part(place: int, factors: list[int | None]):
    """As add_unit_loop leaves it, wherever it stands: its part is the whole sum."""
    func = script.parse(LARGEST)
    sch = wb.Schedule(func)
    sch.split("k", factors)
    at = [*sch.get_loops("C")[:2], sch.get_block("C")][place]
    sch.rfactor(sch.add_unit_loop(at), factor_axis=0)
    assert sch.func.root.alloc_buffers[0].shape == (1, 6)
    for seed in (0, 1):
        assert difference(func, sch.func, random_data(func, seed)) == ""


def test_a_loop_of_one_turn_that_moves_a_cell_is_none_of_the_sum():
    sch = wb.Schedule(script.parse(LARGEST))
    outer, _ = sch.split("i", [1, 6])
    with pytest.raises(wb.ScheduleError, match="`C` does not sum over it"):
        sch.rfactor(outer, 0)


def test_one_turn_keeps_the_order_of_what_has_one():
    func = first_of_the_largest()
    sch = wb.Schedule(func)
    sch.rfactor(sch.add_unit_loop("B"), 0)
    assert difference(func, sch.func, random_data(func, seed=0)) == ""


def first_of_the_largest() -> PrimFunc:
    """Where the largest value stands, the first of equal ones: the order of updates decides."""
    func = script.parse("""
@T.prim_func
def main(A: T.Buffer((6, 12), "float32"), B: T.Buffer((6,), "float32"),
         C: T.Buffer((6,), "int32")):
    for i, j in T.grid(6, 12):
        with T.block("B"):
            v, k = T.axis.remap("SR", [i, j])
            with T.init():
                B[v] = T.float32(-10000)
                C[v] = -1
            at: T.let[T.int32] = T.Select(B[v] >= A[v, k], C[v], k)
            best: T.let[T.float32] = T.Select(B[v] >= A[v, k], B[v], A[v, k])
            C[v] = at
            B[v] = best
""")
    assert isinstance(func, PrimFunc)
    return func
