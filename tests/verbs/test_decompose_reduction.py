"""decompose_reduction: the programs that it makes, and that they mean the same."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.access.corpus import FAMILIES, program
from tests.support.block_programs import OBLONG_MATMUL
from tests.support.cases import seeds
from tests.support.steps import after, walk_at_random
from workbench import ir
from workbench.access import difference, random_data
from workbench.ir.places import places
from workbench.script import parse


def test_at_the_loop_of_the_sum():
    text = after(OBLONG_MATMUL, lambda sch: sch.decompose_reduction("C", "k"))
    assert (
        text
        == """\
for i, j in T.grid(6, 6):
    with T.block("C_init"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads()
        T.writes(C[vi, vj])
        C[vi, vj] = T.float32(0)
    for k in range(8):
        with T.block("C_update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""
    )


def test_at_the_outermost_loop():
    text = after(OBLONG_MATMUL, lambda sch: sch.decompose_reduction("C", "i"))
    assert (
        text
        == """\
for i_init, j_init in T.grid(6, 6):
    with T.block("C_init"):
        vi, vj = T.axis.remap("SS", [i_init, j_init])
        T.reads()
        T.writes(C[vi, vj])
        C[vi, vj] = T.float32(0)
for i, j, k in T.grid(6, 6, 8):
    with T.block("C_update"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
        T.writes(C[vi, vj])
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""
    )


def test_with_tails_of_both_kinds():
    text = after(
        OBLONG_MATMUL,
        lambda sch: sch.split("i", factors=[None, 4]),
        lambda sch: sch.split("k", factors=[None, 3]),
        lambda sch: sch.decompose_reduction("C", "k_0"),
    )
    assert (
        text
        == """\
for i_0, i_1, j in T.grid(2, 4, 6):
    with T.block("C_init"):
        vi = T.axis.spatial(6, i_0 * 4 + i_1)
        vj = T.axis.spatial(6, j)
        T.where(i_0 * 4 + i_1 < 6)
        T.reads()
        T.writes(C[vi, vj])
        C[vi, vj] = T.float32(0)
    for k_0, k_1 in T.grid(3, 3):
        with T.block("C_update"):
            vi = T.axis.spatial(6, i_0 * 4 + i_1)
            vj = T.axis.spatial(6, j)
            vk = T.axis.reduce(8, k_0 * 3 + k_1)
            T.where(i_0 * 4 + i_1 < 6 and k_0 * 3 + k_1 < 8)
            T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""
    )


def test_the_sum_outermost():
    text = after(
        OBLONG_MATMUL,
        lambda sch: sch.reorder("k", "i", "j"),
        lambda sch: sch.decompose_reduction("C", "k"),
    )
    assert (
        text
        == """\
for i_init, j_init in T.grid(6, 6):
    with T.block("C_init"):
        vi, vj = T.axis.remap("SS", [i_init, j_init])
        T.reads()
        T.writes(C[vi, vj])
        C[vi, vj] = T.float32(0)
for k, i, j in T.grid(8, 6, 6):
    with T.block("C_update"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
        T.writes(C[vi, vj])
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""
    )


MIXED = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
    for i, k in T.grid(7, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(i * 8 + k < 48)
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
"""


def test_a_condition_on_sums_and_terms():
    text = after(MIXED, lambda sch: sch.decompose_reduction("C", "i"))
    assert (
        text
        == """\
for i_init in range(7):
    with T.block("C_init"):
        vi = T.axis.spatial(7, i_init)
        T.where(i_init < 6)
        T.reads()
        T.writes(C[vi])
        C[vi] = T.float32(0)
for i, k in T.grid(7, 8):
    with T.block("C_update"):
        vi, vk = T.axis.remap("SR", [i, k])
        T.where(i * 8 + k < 48)
        T.reads(C[vi], A[vi, vk])
        T.writes(C[vi])
        C[vi] = C[vi] + A[vi, vk]"""
    )


TIED = """\
@T.prim_func
def main(A: T.Buffer((6, 1), "float32"), C: T.Buffer((6,), "float32")):
    for i, r, k in T.grid(6, 2, 4):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            vk = T.axis.reduce(1, 0)
            T.where(r * 4 + k < 1 and k < 1)
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
"""


def test_a_loop_further_out_in_the_condition():
    text = after(TIED, lambda sch: sch.decompose_reduction("C", "k"))
    assert (
        text
        == """\
for i, r in T.grid(6, 2):
    with T.block("C_init"):
        vi = T.axis.spatial(6, i)
        T.where(r < 1)
        T.reads()
        T.writes(C[vi])
        C[vi] = T.float32(0)
    for k in range(4):
        with T.block("C_update"):
            vi = T.axis.spatial(6, i)
            vk = T.axis.reduce(1, 0)
            T.where(r * 4 + k < 1 and k < 1)
            T.reads(C[vi], A[vi, vk])
            T.writes(C[vi])
            C[vi] = C[vi] + A[vi, vk]"""
    )


@pytest.mark.fuzz
def test_random_programs_keep_their_meaning():
    taken = sum(walk_at_random(seed, "decompose_reduction") for seed in seeds())
    assert taken > 0, "no step was taken: the walk is blind"


LATER = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where({})
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
"""


@pytest.mark.parametrize("condition", ["k < 5", "k * 2 < i + 1", "i < 4"])
def test_a_condition_on_last_terms_of_a_fused_loop(condition: str):
    func = parse(LATER.format(condition))
    sch = wb.Schedule(func)
    sch.split(sch.fuse("i", "k"), factors=[None, 5])
    sch.decompose_reduction("C", sch.get_loops("C")[0])
    assert difference(func, sch.func, random_data(func, seed=0)) == ""


def test_what_the_start_alone_reads_is_read_by_the_start():
    source = FAMILIES["reductions"]["starts from an argument"]
    text = after(source, lambda sch: sch.decompose_reduction("C", "k"))
    assert (
        text
        == """\
for i in range(4):
    with T.block("C_init"):
        vi = T.axis.spatial(4, i)
        T.reads(D[vi])
        T.writes(C[vi])
        C[vi] = D[vi] * T.float32(2)
    for k in range(5):
        with T.block("C_update"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(C[vi], A[vi, vk])
            T.writes(C[vi])
            C[vi] = C[vi] + A[vi, vk]"""
    )


def test_a_buffer_of_the_start_alone_goes_with_it():
    func = program("reductions", "outermost axis is summed")
    sch = wb.Schedule(func)
    sch.blockize(sch.get_loops("C")[1])
    sch.reindex("C_init", ("write", 0))
    sch.decompose_reduction("C_o", sch.get_loops("C_o")[0])
    ir.verify(sch.func)
    blocks = {r.block.name: r.block for r in places(sch.func).blocks.values()}
    start, update = blocks["C_o_init"], blocks["C_o_update"]
    assert [b.name for b in start.alloc_buffers] == ["C_reindex"]
    assert update.alloc_buffers == ()
    assert difference(func, sch.func, random_data(func, seed=0)) == ""


@pytest.mark.parametrize(
    ("loops", "cell", "term"),
    [
        ("T.grid(4, 6)", "a", "5 - b"),  # the init runs last
        ("T.grid(4, 6)", "a", "(b + 3) % 6"),
        ("T.grid(4, 6)", "(b * 4 + a) // 6", "(b * 4 + a) % 6"),  # of cell 1, 8 comes ahead of 6
    ],
)
def test_terms_ahead_of_the_first_are_not_summed(loops: str, cell: str, term: str):
    sch = wb.Schedule(
        parse(f"""
@T.prim_func
def main(A: T.Buffer((4, 6)), C: T.Buffer((4,))):
    for a, b in {loops}:
        with T.block("C"):
            vi = T.axis.spatial(4, {cell})
            vk = T.axis.reduce(6, {term})
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
""")
    )
    with pytest.raises(wb.ScheduleError, match="`C` is not proved to start its sums"):
        sch.decompose_reduction("C", "a")


def test_a_loop_that_begins_elsewhere_each_time_starts_no_sum():
    """Where `k` does not begin at 0, what is summed goes on from what was there."""
    sch = wb.Schedule(
        parse("""
@T.prim_func
def main(A: T.Buffer((4, 6)), C: T.Buffer((4,))):
    for i in range(4):
        for k in range(i, i + 3):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
""")
    )
    with pytest.raises(wb.ScheduleError, match="`C` is not proved to start its sums"):
        sch.decompose_reduction("C", "k")
