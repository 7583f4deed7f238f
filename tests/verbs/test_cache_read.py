"""cache_read: the programs that it makes, and that they mean the same."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.support.block_programs import FORK, SPREAD, STAGED_WINDOW, TWO_STAGES
from tests.support.cases import seeds
from tests.support.steps import after, walk_at_random
from workbench import script
from workbench.access import difference, random_data
from workbench.ir import verify


def test_the_whole_of_an_input():
    text = after(STAGED_WINDOW, lambda sch: sch.cache_read("B", 0, "shared"))
    assert (
        text
        == """\
B = T.alloc_buffer((18,))
A_shared = T.alloc_buffer((18,), scope="shared")
for ax0 in range(18):
    with T.block("A_shared"):
        v0 = T.axis.spatial(18, ax0)
        T.reads(A[v0])
        T.writes(A_shared[v0])
        A_shared[v0] = A[v0]
for i in range(18):
    with T.block("B"):
        vi = T.axis.spatial(18, i)
        T.reads(A_shared[vi])
        T.writes(B[vi])
        B[vi] = A_shared[vi] * T.float32(2)
for j in range(16):
    with T.block("C"):
        vj = T.axis.spatial(16, j)
        T.reads(B[vj : vj + 3])
        T.writes(C[vj])
        C[vj] = B[vj] + B[vj + 1] + B[vj + 2]"""
    )


def test_for_one_of_two_readers():
    text = after(FORK, lambda sch: sch.cache_read("D", "B", "local", consumer_blocks=["D"]))
    assert (
        text
        == """\
B = T.alloc_buffer((16,))
B_local = T.alloc_buffer((16,), scope="local")
for i in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi] * T.float32(2)
for j in range(16):
    with T.block("C"):
        vj = T.axis.spatial(16, j)
        T.reads(B[vj])
        T.writes(C[vj])
        C[vj] = B[vj] + T.float32(1)
for ax0 in range(16):
    with T.block("B_local"):
        v0 = T.axis.spatial(16, ax0)
        T.reads(B[v0])
        T.writes(B_local[v0])
        B_local[v0] = B[v0]
for k in range(16):
    with T.block("D"):
        vk = T.axis.spatial(16, k)
        T.reads(B_local[vk])
        T.writes(D[vk])
        D[vk] = B_local[vk] - T.float32(1)"""
    )


def test_inside_the_loop_of_the_writer():
    text = after(
        SPREAD, lambda sch: sch.compute_at("B", "o"), lambda sch: sch.cache_read("C", 0, "shared")
    )
    assert (
        text
        == """\
B = T.alloc_buffer((16, 4))
B_shared = T.alloc_buffer((16, 4), scope="shared")
for o in range(16):
    for ax0 in range(4):
        with T.block("B"):
            v0, v1 = T.axis.remap("SS", [o, ax0])
            T.reads(A[v0, v1])
            T.writes(B[v0, v1])
            B[v0, v1] = A[v0, v1] * T.float32(2)
    for ax0, ax1 in T.grid(1, 4):
        with T.block("B_shared"):
            v0 = T.axis.spatial(16, o + ax0)
            v1 = T.axis.spatial(4, ax1)
            T.reads(B[v0, v1])
            T.writes(B_shared[v0, v1])
            B_shared[v0, v1] = B[v0, v1]
    for j in range(4):
        with T.block("C"):
            v0, v1 = T.axis.remap("SS", [o, j])
            T.reads(B_shared[v0, v1])
            T.writes(C[v0, v1])
            C[v0, v1] = B_shared[v0, v1] + T.float32(1)
    for k in range(4):
        with T.block("D"):
            v0, v1 = T.axis.remap("SS", [o, k])
            T.reads(B_shared[v0, v1])
            T.writes(D[v0, v1])
            D[v0, v1] = B_shared[v0, v1] - T.float32(1)"""
    )


def test_what_a_split_with_a_tail_wrote():
    text = after(
        TWO_STAGES,
        lambda sch: sch.split("i", factors=[None, 5]),
        lambda sch: sch.cache_read("C", 0, "shared"),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((16,))
B_shared = T.alloc_buffer((16,), scope="shared")
for i_0, i_1 in T.grid(4, 5):
    with T.block("B"):
        vi = T.axis.spatial(16, i_0 * 5 + i_1)
        T.where(i_0 * 5 + i_1 < 16)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi] * T.float32(2)
for ax0 in range(16):
    with T.block("B_shared"):
        v0 = T.axis.spatial(16, ax0)
        T.reads(B[v0])
        T.writes(B_shared[v0])
        B_shared[v0] = B[v0]
for j in range(16):
    with T.block("C"):
        vj = T.axis.spatial(16, j)
        T.reads(B_shared[vj])
        T.writes(C[vj])
        C[vj] = B_shared[vj] + T.float32(1)"""
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
    text = after(LATER_WRITTEN, lambda sch: sch.cache_read("C", "B", "shared"))
    assert (
        text
        == """\
B = T.alloc_buffer((16,))
B_shared = T.alloc_buffer((16,), scope="shared")
for i in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        T.reads()
        T.writes(B[vi])
        B[vi] = T.float32(3)
for ax0 in range(16):
    with T.block("B_shared"):
        v0 = T.axis.spatial(16, ax0)
        T.reads(B[v0])
        T.writes(B_shared[v0])
        B_shared[v0] = B[v0]
for j in range(16):
    with T.block("C"):
        vj = T.axis.spatial(16, j)
        T.reads(B_shared[vj], A[vj])
        T.writes(C[vj])
        C[vj] = B_shared[vj] + A[vj]
    with T.block("W"):
        vw = T.axis.spatial(16, j)
        T.reads()
        T.writes(A[vw])
        A[vw] = T.float32(0)"""
    )


@pytest.mark.fuzz
def test_random_programs_keep_their_meaning():
    taken = sum(walk_at_random(seed, "cache_read") for seed in seeds())
    assert taken > 0, "no step was taken: the walk is blind"


WIDE = """\
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
    for i in range(T.int64(8)):
        for j in range(T.int64(4)):
            with T.block("B"):
                vi = T.axis.spatial(T.int64(8), i)
                vj = T.axis.spatial(T.int64(4), j)
                B[vi, vj] = A[{cell}] + T.float32(1)
"""


@pytest.mark.parametrize("cell", ["vi, vj", "T.int64(7) - vi, vj", "vi, vj // T.int64(2)"])
@pytest.mark.parametrize("loop", ["i", "j"])
def test_the_copy_counts_as_the_program_does(cell: str, loop: str):
    func = script.parse(WIDE.format(cell=cell))
    sch = wb.Schedule(func)
    copy = sch.cache_read("B", 0, "global")
    sch.compute_at(copy, loop)
    verify(sch.func)
    assert difference(func, sch.func, random_data(func, seed=0)) == ""


IN_ONE_ARRAY = """
@T.prim_func
def main(X: T.Buffer((12,), "float32"), S: T.Buffer((12,), "float32")):
    for i in range(4):
        with T.block("a"):
            v = T.axis.spatial(4, i)
            S[v + 4] = X[v] + S[v]
    for i in range(4):
        with T.block("b"):
            v = T.axis.spatial(4, i)
            S[v + 8] = X[v] + S[v + {first}]
"""


def test_what_is_read_of_other_cells_than_are_written_is_copied_ahead_of_all():
    sch = wb.Schedule(before := script.parse(IN_ONE_ARRAY.format(first=0)))
    sch.cache_read("b", "S", "local")
    assert difference(before, sch.func, random_data(before, seed=0)) == ""
    assert [block.name for block in sch.get_blocks()] == ["S_local", "a", "b"]
    assert "S[v + 8] = X[v] + S_local[v]" in script.show(sch.func)


@pytest.mark.parametrize("first", [1, 5])  # a cell that `a` has written; that `b` writes itself
def test_what_is_read_of_cells_that_are_written_is_not_copied_ahead(first):
    sch = wb.Schedule(script.parse(IN_ONE_ARRAY.format(first=first)))
    with pytest.raises(wb.ScheduleError, match="2 blocks write it"):
        sch.cache_read("b", "S", "local")
    with pytest.raises(wb.ScheduleError, match="2 blocks write it"):
        sch.cache_read("b", "S", "local", consumer_blocks=["b"])


UNDER_A_CONDITION = """
@T.prim_func
def main(A: T.Buffer((13,), "float32"), D: T.Buffer((13,), "float32")):
    C = T.alloc_buffer((13,))
    for i_0, i_1 in T.grid(3, 6):
        with T.block("C"):
            vi = T.axis.spatial(13, i_0 * 5 + i_1)
            T.where(i_0 * 5 + i_1 < 13 and i_1 < 5)
            C[vi] = A[vi] * 2.0
        with T.block("D"):
            vi = T.axis.spatial(13, {cell})
            T.where({where})
            D[vi] = C[vi] + 1.0
"""


@pytest.mark.parametrize(("verb", "block"), [("cache_read", "D"), ("cache_write", "C")])
def test_a_copy_is_made_where_a_condition_lets_its_maker_run(verb, block):
    text = UNDER_A_CONDITION.format(cell="i_0 * 5 + i_1", where="i_0 * 5 + i_1 < 13 and i_1 < 5")
    sch = wb.Schedule(before := script.parse(text))
    getattr(sch, verb)(block, 0, "global")
    assert difference(before, sch.func, random_data(before, seed=0)) == ""
    assert script.show(sch.func).count("T.where(i_0 * 5 + i_1 < 13 and i_1 < 5)") == 3


def test_a_reader_that_runs_where_its_maker_does_not_has_no_copy():
    text = UNDER_A_CONDITION.format(cell="i_0 * 5", where="i_1 > 0")
    sch = wb.Schedule(script.parse(text))
    with pytest.raises(wb.ScheduleError, match="would read C_global too early"):
        sch.cache_read("D", "C", "global")
