"""reverse_compute_at: the programs that it makes, and that they mean the same."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.support.block_programs import FLAT, MATMUL_RELU, PARTIAL, TWO_D
from tests.support.cases import seeds
from tests.support.steps import after, walk_at_random
from workbench import emulate, script
from workbench.access import difference, random_data


def test_under_a_tile():
    text = after(
        TWO_D,
        lambda sch: sch.split(sch.get_loops("B")[0], factors=[None, 4]),
        lambda sch: sch.reverse_compute_at("C", "i_0"),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((12, 10))
for i_0 in range(3):
    for i_1, j in T.grid(4, 10):
        with T.block("B"):
            vi = T.axis.spatial(12, i_0 * 4 + i_1)
            vj = T.axis.spatial(10, j)
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for ax0, ax1 in T.grid(4, 10):
        with T.block("C"):
            vi = T.axis.spatial(12, i_0 * 4 + ax0)
            vj = T.axis.spatial(10, ax1)
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj] + T.float32(1)"""
    )


def test_a_tail_clipped_by_a_condition():
    text = after(
        TWO_D,
        lambda sch: sch.split(sch.get_loops("B")[0], factors=[None, 5]),
        lambda sch: sch.reverse_compute_at("C", "i_0"),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((12, 10))
for i_0 in range(3):
    for i_1, j in T.grid(5, 10):
        with T.block("B"):
            vi = T.axis.spatial(12, i_0 * 5 + i_1)
            vj = T.axis.spatial(10, j)
            T.where(i_0 * 5 + i_1 < 12)
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for ax0, ax1 in T.grid(5, 10):
        with T.block("C"):
            vi = T.axis.spatial(12, i_0 * 5 + ax0)
            vj = T.axis.spatial(10, ax1)
            T.where(i_0 * 5 + ax0 < 12)
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj] + T.float32(1)"""
    )


def test_to_a_finished_sum():
    text = after(MATMUL_RELU, lambda sch: sch.reverse_compute_at("D", sch.get_loops("C")[1]))
    assert (
        text
        == """\
C = T.alloc_buffer((6, 6))
for i, j in T.grid(6, 6):
    for k in range(8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(C[vi, vj])
        T.writes(D[vi, vj])
        D[vi, vj] = T.max(C[vi, vj], T.float32(0))"""
    )


def test_a_write_back_under_the_sum():
    text = after(MATMUL_RELU, lambda sch: sch.reverse_compute_at("D", sch.get_loops("C")[2]))
    assert (
        text
        == """\
C = T.alloc_buffer((6, 6))
for i, j, k in T.grid(6, 6, 8):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(A[vi, vk], B[vk, vj])
        T.writes(C[vi, vj])
        with T.init():
            C[vi, vj] = T.float32(0)
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(C[vi, vj])
        T.writes(D[vi, vj])
        D[vi, vj] = T.max(C[vi, vj], T.float32(0))"""
    )


def test_a_flat_index():
    text = after(FLAT, lambda sch: sch.reverse_compute_at("C", "j"))
    assert (
        text
        == """\
B = T.alloc_buffer((4, 6))
for i, j in T.grid(4, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(A[vi * 6 + vj])
        T.writes(B[vi, vj])
        B[vi, vj] = A[vi * 6 + vj] * T.float32(2)
    with T.block("C"):
        vi = T.axis.spatial(24, i * 6 + j)
        T.reads(B[vi // 6, vi % 6])
        T.writes(C[vi])
        C[vi] = B[vi // 6, vi % 6] + T.float32(1)"""
    )


def test_a_part_of_its_domain():
    text = after(
        PARTIAL.replace("16, j)", "16, 3 + j)"),
        lambda sch: sch.split("i", factors=[None, 5]),
        lambda sch: sch.reverse_compute_at("C", "i_0"),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((16,))
for i_0 in range(4):
    for i_1 in range(5):
        with T.block("B"):
            vi = T.axis.spatial(16, i_0 * 5 + i_1)
            T.where(i_0 * 5 + i_1 < 16)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi] * T.float32(2)
    for ax0 in range(5):
        with T.block("C"):
            vj = T.axis.spatial(16, i_0 * 5 + ax0)
            T.where(3 <= i_0 * 5 + ax0 and i_0 * 5 + ax0 < 11)
            T.reads(B[vj])
            T.writes(C[vj])
            C[vj] = B[vj] + T.float32(1)"""
    )


POOL = """
@T.prim_func
def main(A: T.Buffer(({n},), "float32"), C: T.Buffer(({m},), "float32")):
    B = T.alloc_buffer(({n},))
    for i in range({n}):
        with T.block("B"):
            vi = T.axis.spatial({n}, i)
            B[vi] = A[vi] * 2.0
    for k in range({m}):
        with T.block("C"):
            vk = T.axis.spatial({m}, k)
            C[vk] = B[vk * {step}] + B[vk * {step} + {more}]
"""


def test_windows_that_a_turn_makes_whole():
    text = after(
        POOL.format(n=24, m=12, step=2, more=1),
        lambda sch: sch.split("i", factors=[None, 6]),
        lambda sch: sch.reverse_compute_at("C", "i_0"),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((24,))
for i_0 in range(4):
    for i_1 in range(6):
        with T.block("B"):
            vi = T.axis.spatial(24, i_0 * 6 + i_1)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi] * T.float32(2)
    for ax0 in range(3):
        with T.block("C"):
            vk = T.axis.spatial(12, i_0 * 3 + ax0)
            T.reads(B[vk * 2 : vk * 2 + 2])
            T.writes(C[vk])
            C[vk] = B[vk * 2] + B[vk * 2 + 1]"""
    )


def test_windows_under_a_loop_of_one_turn():
    after(
        POOL.format(n=10, m=8, step=1, more=2),
        lambda sch: sch.add_unit_loop("i"),
        lambda sch: sch.reverse_compute_at("C", "u"),
    )


@pytest.mark.parametrize("step", (1, 2, 3))
@pytest.mark.parametrize("more", (0, 1, 2))
def test_windows_and_tiles_of_any_size(step: int, more: int):
    program = POOL.format(n=4 * step + more + 1, m=5, step=step, more=more)
    taken = 0
    for tile in range(1, 14):
        sch = wb.Schedule(
            script.parse(POOL.format(n=4 * step + more + 1, m=5, step=step, more=more))
        )
        first = sch.func
        sch.split("i", factors=[None, tile])
        try:
            sch.reverse_compute_at("C", "i_0")
        except wb.ScheduleError:
            continue
        taken += 1
        assert difference(first, sch.func, random_data(first, 0)) == ""
    assert taken


@pytest.mark.fuzz
def test_random_programs_keep_their_meaning():
    taken = sum(walk_at_random(seed, "reverse_compute_at") for seed in seeds())
    assert taken > 0, "no step was taken: the walk is blind"


CROSS = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    L = T.alloc_buffer((4, 8), scope="local")
    for j in T.thread_binding(4, thread="blockIdx.x"):
        for t in T.thread_binding(8, thread="{axis}"):
            with T.block("L"):
                vj, vt = T.axis.remap("SS", [j, t])
                L[vj, vt] = A[vj, vt]
    for j, k in T.grid(4, 8):
        with T.block("B"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                B[vj] = T.float32(0)
            B[vj] = B[vj] + L[vj, vk]
"""


def test_threads_share_out_the_sum_that_comes_to_them():
    sch = wb.Schedule(script.parse(CROSS.format(axis="threadIdx.x")))
    start = sch.func
    sch.reverse_compute_at("B", "t")
    assert difference(start, sch.func, random_data(start, seed=0)) == ""
    a, b = np.arange(32, dtype="float32").reshape(4, 8), np.zeros(4, "float32")
    wb.build(sch).emulate(a, b)
    np.testing.assert_array_equal(b, a.sum(axis=1))


def test_blocks_share_out_no_sum():
    sch = wb.Schedule(script.parse(CROSS.format(axis="blockIdx.y")))
    with pytest.raises(wb.ScheduleError, match="which come in any order, would share cells"):
        sch.reverse_compute_at("B", "t")


def test_tiles_in_dimensions_of_their_own_are_copied_where_they_are_made():
    """Larger than what is gone through cell by cell: the box is read off the shortened indices."""
    program = script.parse("""
@T.prim_func
def main(A: T.Buffer((128, 128), "float32"), C: T.Buffer((2, 2, 4, 4, 16, 16), "float32")):
    B = T.alloc_buffer((2, 2, 4, 4, 16, 16))
    for x, i, j in T.grid(4, 4, 4):
        with T.block("B_o"):
            vi = T.axis.spatial(8, x // 2 * 4 + i)
            vj = T.axis.spatial(8, x % 2 * 4 + j)
            for p, q in T.grid(16, 16):
                with T.block("B"):
                    vp, vq = T.axis.remap("SS", [p, q])
                    B[vi // 4, vj // 4, vi % 4, vj % 4, vp, vq] = A[vi * 16 + vp, vj * 16 + vq]
    for i0, i1, i2, i3, i4, i5 in T.grid(2, 2, 4, 4, 16, 16):
        with T.block("C"):
            v0, v1, v2, v3, v4, v5 = T.axis.remap("SSSSSS", [i0, i1, i2, i3, i4, i5])
            C[v0, v1, v2, v3, v4, v5] = B[v0, v1, v2, v3, v4, v5]
""")
    sch = wb.Schedule(program)
    sch.reverse_compute_at("C", "x")
    sch.cache_write("B_o", 0, "local")
    A = np.random.default_rng(0).random((128, 128), "float32")
    made, want = (np.zeros((2, 2, 4, 4, 16, 16), "float32") for _ in range(2))
    emulate.evaluate(sch.func, [A, made])
    emulate.evaluate(program, [A, want])
    np.testing.assert_array_equal(made, want)
    short = script.parse(script.show(program).replace("T.grid(4, 4, 4)", "T.grid(4, 4, 3)"))
    with pytest.raises(wb.ScheduleError, match="not all that it reads of B is made there"):
        wb.Schedule(short).reverse_compute_at("C", "x")
