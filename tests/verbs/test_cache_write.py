"""cache_write: the programs that it makes, and that they mean the same."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.access.corpus import FAMILIES, program
from tests.support.block_programs import FORK, OBLONG_MATMUL, SPREAD
from tests.support.cases import seeds
from tests.support.steps import after, walk_at_random
from workbench import script
from workbench.access import difference, random_data


def test_a_sum():
    text = after(OBLONG_MATMUL, lambda sch: sch.cache_write("C", 0, "local"))
    assert (
        text
        == """\
C_local = T.alloc_buffer((6, 6), scope="local")
for i, j, k in T.grid(6, 6, 8):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(A[vi, vk], B[vk, vj])
        T.writes(C_local[vi, vj])
        with T.init():
            C_local[vi, vj] = T.float32(0)
        C_local[vi, vj] = C_local[vi, vj] + A[vi, vk] * B[vk, vj]
for ax0, ax1 in T.grid(6, 6):
    with T.block("C_local"):
        v0, v1 = T.axis.remap("SS", [ax0, ax1])
        T.reads(C_local[v0, v1])
        T.writes(C[v0, v1])
        C[v0, v1] = C_local[v0, v1]"""
    )


def test_ahead_of_the_first_reader():
    text = after(FORK, lambda sch: sch.cache_write("B", 0, "shared"))
    assert (
        text
        == """\
B = T.alloc_buffer((16,))
B_shared = T.alloc_buffer((16,), scope="shared")
for i in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        T.reads(A[vi])
        T.writes(B_shared[vi])
        B_shared[vi] = A[vi] * T.float32(2)
for ax0 in range(16):
    with T.block("B_shared"):
        v0 = T.axis.spatial(16, ax0)
        T.reads(B_shared[v0])
        T.writes(B[v0])
        B[v0] = B_shared[v0]
for j in range(16):
    with T.block("C"):
        vj = T.axis.spatial(16, j)
        T.reads(B[vj])
        T.writes(C[vj])
        C[vj] = B[vj] + T.float32(1)
for k in range(16):
    with T.block("D"):
        vk = T.axis.spatial(16, k)
        T.reads(B[vk])
        T.writes(D[vk])
        D[vk] = B[vk] - T.float32(1)"""
    )


def test_for_all_but_one_reader():
    text = after(FORK, lambda sch: sch.cache_write("B", 0, "shared", consumer_blocks=["D"]))
    assert (
        text
        == """\
B = T.alloc_buffer((16,))
B_shared = T.alloc_buffer((16,), scope="shared")
for i in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        T.reads(A[vi])
        T.writes(B_shared[vi])
        B_shared[vi] = A[vi] * T.float32(2)
for ax0 in range(16):
    with T.block("B_shared"):
        v0 = T.axis.spatial(16, ax0)
        T.reads(B_shared[v0])
        T.writes(B[v0])
        B[v0] = B_shared[v0]
for j in range(16):
    with T.block("C"):
        vj = T.axis.spatial(16, j)
        T.reads(B[vj])
        T.writes(C[vj])
        C[vj] = B[vj] + T.float32(1)
for k in range(16):
    with T.block("D"):
        vk = T.axis.spatial(16, k)
        T.reads(B_shared[vk])
        T.writes(D[vk])
        D[vk] = B_shared[vk] - T.float32(1)"""
    )


def test_inside_the_loop_of_the_reader():
    text = after(
        SPREAD, lambda sch: sch.compute_at("B", "o"), lambda sch: sch.cache_write("B", 0, "local")
    )
    assert (
        text
        == """\
B = T.alloc_buffer((16, 4))
B_local = T.alloc_buffer((16, 4), scope="local")
for o in range(16):
    for ax0 in range(4):
        with T.block("B"):
            v0, v1 = T.axis.remap("SS", [o, ax0])
            T.reads(A[v0, v1])
            T.writes(B_local[v0, v1])
            B_local[v0, v1] = A[v0, v1] * T.float32(2)
    for ax0, ax1 in T.grid(1, 4):
        with T.block("B_local"):
            v0 = T.axis.spatial(16, o + ax0)
            v1 = T.axis.spatial(4, ax1)
            T.reads(B_local[v0, v1])
            T.writes(B[v0, v1])
            B[v0, v1] = B_local[v0, v1]
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


@pytest.mark.fuzz
def test_random_programs_keep_their_meaning():
    taken = sum(walk_at_random(seed, "cache_write") for seed in seeds())
    assert taken > 0, "no step was taken: the walk is blind"


def test_in_each_turn_after_which_a_block_ahead_reads():
    text = after(
        FAMILIES["over time"]["a reader ahead of what the turn before wrote"],
        lambda sch: sch.cache_write("x", 0, "global"),
    )
    assert (
        text
        == """\
x_global = T.alloc_buffer((6,))
for i in range(5):
    with T.block("y"):
        vi = T.axis.spatial(5, i)
        T.reads(x[vi])
        T.writes(y[vi])
        y[vi] = x[vi]
    with T.block("x"):
        vi = T.axis.spatial(5, i)
        T.reads(b[vi])
        T.writes(x_global[vi + 1])
        x_global[vi + 1] = b[vi]
    for ax0 in range(1):
        with T.block("x_global"):
            v0 = T.axis.spatial(6, i + 1 + ax0)
            T.reads(x_global[v0])
            T.writes(x[v0])
            x[v0] = x_global[v0]"""
    )


@pytest.mark.parametrize(
    ("family", "name", "loop"),
    [
        ("over time", "rows of threads, a reader ahead of what the turn before wrote", "i"),
        ("triangular", "a triangular system", "i"),
    ],
)
def test_the_copy_stays_in_the_loop_over_time(family: str, name: str, loop: str):
    sch = wb.Schedule(program(family, name))
    copy = sch.cache_write("x", 0, "global")
    assert loop in [one.name for one in sch.get_loops(copy)]
    data = random_data(program(family, name), seed=0)
    assert difference(program(family, name), sch.func, data) == ""


AROUND = """
@T.prim_func
def main(B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    A = T.alloc_buffer((8,))
    for i0 in range(2):
        with T.block("scope"):
            i = T.axis.spatial(2, i0)
            for x in range(4):
                with T.block("A"):
                    vi = T.axis.spatial(8, i * 4 + x)
                    A[vi] = T.cast(vi, "float32")
            for x in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(8, i * 4 + x)
                    B[vi] = A[{read}] + T.float32(1)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi]
"""


@pytest.mark.parametrize("read", ["vi", "i * 8 + 3 - vi", "i * 4"])
@pytest.mark.parametrize("before", [False, True])
def test_a_block_around_others_that_reads_what_it_made(read: str, before: bool):
    sch = wb.Schedule(script.parse(AROUND.format(read=read)))
    start = sch.func
    if before:
        sch.cache_write("A", 0, "local")
    sch.cache_write("scope", 0, "shared")
    assert "A_shared[" in sch.func.script()
    assert difference(start, sch.func, random_data(start, seed=0)) == ""


@pytest.mark.parametrize("at", range(1, 6))
def test_tiles_of_a_sum_that_starts_them_in_loops(at: int):
    """The course's chapter on accelerators: what ``blockize`` leaves is summed elsewhere."""
    sch = wb.Schedule(script.parse(OBLONG_MATMUL))
    loops = [part for loop in sch.get_loops("C") for part in sch.split(loop, [None, 2])]
    order = loops[::2] + loops[1::2]
    sch.reorder(*order)
    start = sch.func
    tile = sch.blockize(order[at])
    copy = sch.cache_write(tile, 0, "global.accumulator")
    if at > 1:
        sch.reverse_compute_at(copy, order[1])
    assert difference(start, sch.func, random_data(start, 0)) == ""
