"""compute_at: the programs that it makes, and that they mean the same."""

from __future__ import annotations

import random

import pytest

import workbench as wb
from tests.support.block_programs import FLAT, MATMUL_RELU, SPREAD, STAGED_WINDOW, TWO_D
from tests.support.cases import seeds
from tests.support.steps import Meaning, after, walk_at_random
from workbench import script
from workbench.schedule import ScheduleError

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


def test_under_a_loop_of_a_window():
    text = after(
        STAGED_WINDOW,
        lambda sch: sch.split("j", factors=[4, 4]),
        lambda sch: sch.compute_at("B", "j_0"),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((18,))
for j_0 in range(4):
    for ax0 in range(6):
        with T.block("B"):
            vi = T.axis.spatial(18, j_0 * 4 + ax0)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi] * T.float32(2)
    for j_1 in range(4):
        with T.block("C"):
            vj = T.axis.spatial(16, j_0 * 4 + j_1)
            T.reads(B[vj : vj + 3])
            T.writes(C[vj])
            C[vj] = B[vj] + B[vj + 1] + B[vj + 2]"""
    )


def test_a_tail_clipped_by_a_condition():
    text = after(
        STAGED_WINDOW,
        lambda sch: sch.split("j", factors=[None, 5]),
        lambda sch: sch.compute_at("B", "j_0"),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((18,))
for j_0 in range(4):
    for ax0 in range(7):
        with T.block("B"):
            vi = T.axis.spatial(18, j_0 * 5 + ax0)
            T.where(j_0 * 5 + ax0 < 18)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi] * T.float32(2)
    for j_1 in range(5):
        with T.block("C"):
            vj = T.axis.spatial(16, j_0 * 5 + j_1)
            T.where(j_0 * 5 + j_1 < 16)
            T.reads(B[vj : vj + 3])
            T.writes(C[vj])
            C[vj] = B[vj] + B[vj + 1] + B[vj + 2]"""
    )


def test_with_loops_that_run_once():
    text = after(
        TWO_D, lambda sch: sch.compute_at("B", sch.get_loops("C")[1], preserve_unit_loops=True)
    )
    assert (
        text
        == """\
B = T.alloc_buffer((12, 10))
for i, j in T.grid(12, 10):
    for ax0, ax1 in T.grid(1, 1):
        with T.block("B"):
            vi = T.axis.spatial(12, i + ax0)
            vj = T.axis.spatial(10, j + ax1)
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(B[vi, vj])
        T.writes(C[vi, vj])
        C[vi, vj] = B[vi, vj] + T.float32(1)"""
    )


def test_two_readers_in_one_loop():
    text = after(SPREAD, lambda sch: sch.compute_at("B", "o", index=-2))
    assert (
        text
        == """\
B = T.alloc_buffer((16, 4))
for o in range(16):
    for ax0 in range(4):
        with T.block("B"):
            v0, v1 = T.axis.remap("SS", [o, ax0])
            T.reads(A[v0, v1])
            T.writes(B[v0, v1])
            B[v0, v1] = A[v0, v1] * T.float32(2)
    for j in range(4):
        with T.block("C"):
            v0, v1 = T.axis.remap("SS", [o, j])
            T.reads(B[v0, v1])
            T.writes(C[v0, v1])
            C[v0, v1] = B[v0, v1] + T.float32(1)
    for k in range(4):
        with T.block("D"):
            v0, v1 = T.axis.remap("SS", [o, k])
            T.reads(B[v0, v1])
            T.writes(D[v0, v1])
            D[v0, v1] = B[v0, v1] - T.float32(1)"""
    )


def test_shared_memory_for_all_threads():
    text = after(
        STAGED_WINDOW,
        lambda sch: sch.cache_read("C", 0, "shared"),
        lambda sch: sch.split("j", factors=[None, 4]),
        lambda sch: sch.bind("j_1", "threadIdx.x"),
        lambda sch: sch.compute_at("B_shared", "j_1"),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((18,))
B_shared = T.alloc_buffer((18,), scope="shared")
for i in range(18):
    with T.block("B"):
        vi = T.axis.spatial(18, i)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi] * T.float32(2)
for j_0 in range(4):
    for j_1 in T.thread_binding(4, thread="threadIdx.x"):
        for ax0 in range(6):
            with T.block("B_shared"):
                v0 = T.axis.spatial(18, j_0 * 4 + ax0)
                T.reads(B[v0])
                T.writes(B_shared[v0])
                B_shared[v0] = B[v0]
        with T.block("C"):
            vj = T.axis.spatial(16, j_0 * 4 + j_1)
            T.reads(B_shared[vj : vj + 3])
            T.writes(C[vj])
            C[vj] = B_shared[vj] + B_shared[vj + 1] + B_shared[vj + 2]"""
    )


def test_local_memory_for_one_thread():
    text = after(
        STAGED_WINDOW,
        lambda sch: sch.cache_read("C", 0, "local"),
        lambda sch: sch.split("j", factors=[None, 4]),
        lambda sch: sch.bind("j_1", "threadIdx.x"),
        lambda sch: sch.compute_at("B_local", "j_1"),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((18,))
B_local = T.alloc_buffer((18,), scope="local")
for i in range(18):
    with T.block("B"):
        vi = T.axis.spatial(18, i)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi] * T.float32(2)
for j_0 in range(4):
    for j_1 in T.thread_binding(4, thread="threadIdx.x"):
        for ax0 in range(3):
            with T.block("B_local"):
                v0 = T.axis.spatial(18, j_0 * 4 + j_1 + ax0)
                T.reads(B[v0])
                T.writes(B_local[v0])
                B_local[v0] = B[v0]
        with T.block("C"):
            vj = T.axis.spatial(16, j_0 * 4 + j_1)
            T.reads(B_local[vj : vj + 3])
            T.writes(C[vj])
            C[vj] = B_local[vj] + B_local[vj + 1] + B_local[vj + 2]"""
    )


def test_a_padding():
    text = after(
        PADDED,
        lambda sch: sch.split(sch.get_loops("C")[0], factors=[4, 4]),
        lambda sch: sch.compute_at("P", "i_0"),
    )
    assert (
        text
        == """\
P = T.alloc_buffer((18,))
for i_0 in range(4):
    for ax0 in range(6):
        with T.block("P"):
            vi = T.axis.spatial(18, i_0 * 4 + ax0)
            T.reads(A[vi - 1])
            T.writes(P[vi])
            P[vi] = T.if_then_else(1 <= vi and vi < 17, A[vi - 1], T.float32(0))
    for i_1 in range(4):
        with T.block("C"):
            vi = T.axis.spatial(16, i_0 * 4 + i_1)
            T.reads(P[vi : vi + 3])
            T.writes(C[vi])
            C[vi] = P[vi] + P[vi + 1] + P[vi + 2]"""
    )


def test_rows_of_a_flat_index():
    text = after(
        FLAT,
        lambda sch: sch.split(sch.get_loops("C")[0], factors=[2, 12]),
        lambda sch: sch.compute_at("B", "i_0"),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((4, 6))
for i_0 in range(2):
    for ax0, ax1 in T.grid(2, 6):
        with T.block("B"):
            vi = T.axis.spatial(4, i_0 * 2 + ax0)
            vj = T.axis.spatial(6, ax1)
            T.reads(A[vi * 6 + vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi * 6 + vj] * T.float32(2)
    for i_1 in range(12):
        with T.block("C"):
            vi = T.axis.spatial(24, i_0 * 12 + i_1)
            T.reads(B[vi // 6, vi % 6])
            T.writes(C[vi])
            C[vi] = B[vi // 6, vi % 6] + T.float32(1)"""
    )


def test_a_whole_sum():
    text = after(MATMUL_RELU, lambda sch: sch.compute_at("C", sch.get_loops("D")[1]))
    assert (
        text
        == """\
C = T.alloc_buffer((6, 6))
for i, j in T.grid(6, 6):
    for ax0 in range(8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, ax0])
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


BORDER = """\
@T.prim_func
def main(A: T.Buffer((1,), "float32"), C: T.Buffer((3, 2), "float32")):
    B = T.alloc_buffer((1,))
    for k in range(1):
        with T.block("B"):
            vk = T.axis.spatial(1, k)
            B[vk] = A[vk]
    for o, i in T.grid(3, 2):
        with T.block("C"):
            vo, vi = T.axis.remap("SS", [o, i])
            C[vo, vi] = T.if_then_else(vi >= 2, B[vi - 2], T.float32(1))
"""


def test_of_what_a_condition_keeps_away_one_cell_is_made():
    text = after(BORDER, lambda sch: sch.compute_at("B", "o"))
    assert (
        text
        == """\
B = T.alloc_buffer((1,))
for o in range(3):
    with T.block("B"):
        vk = T.axis.spatial(1, 0)
        T.reads(A[vk])
        T.writes(B[vk])
        B[vk] = A[vk]
    for i in range(2):
        with T.block("C"):
            vo, vi = T.axis.remap("SS", [o, i])
            T.reads(B[vi - 2])
            T.writes(C[vo, vi])
            C[vo, vi] = T.if_then_else(vi >= 2, B[vi - 2], T.float32(1))"""
    )


@pytest.mark.fuzz
def test_random_programs_keep_their_meaning():
    taken = sum(walk_at_random(seed, "compute_at") for seed in seeds())
    assert taken > 0, "no step was taken: the walk is blind"


HALVES = """\
@T.prim_func
def main(S: T.Buffer((17,), "float32")):
    B = T.alloc_buffer((9,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial({domain}, i)
            B[vi] = S[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            S[vi + {first}] = B[vi] + T.float32(1)
"""


@pytest.mark.parametrize("domain", [8, 9])
def test_past_a_block_that_writes_other_cells_of_what_it_reads(domain: int):
    program = HALVES.format(domain=domain, first=8)  # the ninth iteration runs in neither place
    text = after(program, lambda sch: sch.compute_at("B", sch.get_loops("C")[0]))
    assert "for i in range(8):\n    with T.block" in text


@pytest.mark.parametrize(("domain", "first"), [(8, 7), (8, 0)])
def test_not_past_a_block_that_writes_what_it_may_read(domain: int, first: int):
    sch = wb.Schedule(script.parse(HALVES.format(domain=domain, first=first)))
    with pytest.raises(ScheduleError, match="`C` overwrites S, which it reads"):
        sch.compute_at("B", sch.get_loops("C")[0])


RESULTS = """\
@T.prim_func
def main(A: T.Buffer((17,), "float32"), n: T.Buffer((1,), "int32"), B: T.Buffer((17,), "float32"),
         C: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial({domain}, i)
            B[vi] = A[vi] * T.float32(2)
    {loop}
        with T.block("C"):
            vi = T.axis.spatial(16, {at})
            C[vi] = B[vi] + B[T.min(vi + 1, {domain} - 1)]
"""


def test_a_result_all_of_which_is_made_there():
    text = after(
        RESULTS.format(domain=16, loop="for j in range(16):", at="j"),
        lambda sch: sch.split("j", factors=[None, 5]),
        lambda sch: sch.compute_at("B", sch.get_loops("C")[0]),
    )
    assert "vi = T.axis.spatial(16, j_0 * 5 + ax0)" in text


@pytest.mark.parametrize(
    ("domain", "loop", "at"),
    [
        (16, "for j in range(8):", "j"),
        (16, "for j in range(15):", "j + 1"),
        (16, "for j in range(n[0]):", "j"),
        (16, "if n[0] > 0:\n      for j in range(16):", "j"),
        (17, "for j in range(16):", "j"),
    ],
)
def test_a_result_is_made_as_a_whole(domain: int, loop: str, at: str):
    sch = wb.Schedule(script.parse(RESULTS.format(domain=domain, loop=loop, at=at)))
    with pytest.raises(ScheduleError, match="B is a result of the program, not a step on the way"):
        sch.compute_at("B", sch.get_loops("C")[0])


ROWS = """\
@T.prim_func
def main(S: T.Buffer((40,), "float32"), B: T.Buffer((40,), "float32"),
         C: T.Buffer((40,), "float32")):
    for i in range({n}):
        with T.block("B"):
            vi = T.axis.spatial({domain}, i)
            B[vi] = S[vi * {step} + {first}] * T.float32(2)
    for j in range({m}):
        with T.block("C"):
            vj = T.axis.spatial({m}, j)
            {out}[vj + {at}] = B[{read}] + T.float32(1)
"""


@pytest.mark.fuzz
def test_random_results_and_rows_of_one_buffer():
    taken = 0
    for seed in seeds():
        draw = random.Random(seed)
        n = draw.choice([4, 6, 8])
        text = ROWS.format(
            n=n, domain=n + draw.choice([0, 0, 1]), step=draw.choice([1, 2]),
            first=draw.randint(0, 9), m=draw.choice([n - 1, n, 2 * n]), out=draw.choice("SC"),
            at=draw.randint(0, 20), read=draw.choice(["vj", f"T.min(vj + 1, {n - 1})", "vj // 2"]),
        )  # fmt: skip
        sch = wb.Schedule(script.parse(text))
        sch.split("j", factors=[None, draw.choice([2, 3])])
        meaning = Meaning(sch.func)
        try:
            sch.compute_at("B", draw.choice(sch.get_loops("C")))
        except ScheduleError:
            continue
        meaning.check(sch.func)
        taken += 1
    assert taken
