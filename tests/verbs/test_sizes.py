"""Steps on programs for any size: specialized after the steps, a program means what it meant."""

from __future__ import annotations

import random

import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from tests.support.sized_programs import (
    FAMILIES,
    VERBS,
    Meanings,
    bind_rest,
    read,
    run_kernels,
    walk_at_random,
)
from workbench import script
from workbench.diag import Refusal
from workbench.ir import PrimFunc
from workbench.verbs.primitive import REGISTRY, discover


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(1))
def test_every_step_keeps_the_meaning_at_every_size(seed):
    walk_at_random(seed)


@pytest.mark.fuzz
def test_kernels_compute_it_at_every_size():
    built = 0
    for seed in range(9_000, 9_000 + CASES):
        _, _, sch = walk_at_random(seed)
        built += run_kernels(sch, sch.history.root.func, random.Random(seed))
    assert built > CASES // 3  # else the schedules do not reach kernels any more


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_builds_for_a_gpu_and_a_cpu(family):
    sch = wb.Schedule(read(family))
    assert run_kernels(wb.Schedule(sch.func), sch.func, random.Random(0), "c")
    bind_rest(sch)
    assert run_kernels(sch, sch.func, random.Random(0))


def test_a_product_with_tiles_in_shared_memory():
    sch = wb.Schedule(read("product"))
    meaning = Meanings(sch.func, random.Random(0))
    i, j, r = sch.get_loops("C")
    i_0, i_1 = sch.split(i, factors=[None, 4])
    j_0, j_1 = sch.split(j, factors=[None, 4])
    r_0, r_1 = sch.split(r, factors=[None, 2])
    sch.reorder(i_0, j_0, i_1, j_1, r_0, r_1)
    meaning.check(sch.func)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.y")
    sch.bind(j_1, "threadIdx.x")
    for buffer in ("A", "B"):
        copy = sch.cache_read("C", buffer, "shared")
        sch.compute_at(copy, r_0)
        meaning.check(sch.func)
        a, b = sch.get_loops(copy)[-2:]
        _, y = sch.split(sch.fuse(a, b), factors=[None, 16])
        ty, tx = sch.split(y, factors=[4, 4])
        sch.bind(ty, "threadIdx.y")
        sch.bind(tx, "threadIdx.x")
        meaning.check(sch.func)
    sch.decompose_reduction("C", r_0)
    meaning.check(sch.func)
    assert run_kernels(sch, sch.history.root.func, random.Random(0))


@pytest.mark.parametrize("verb", sorted(set(discover()) - set(VERBS)))
def test_a_verb_that_is_not_proved_for_every_size_asks_for_one(verb):
    if REGISTRY[verb].sizes:
        return  # a note changes nothing
    with pytest.raises(Refusal) as refused:
        REGISTRY[verb].take(read("two stages"))
    assert refused.value.headline == f"Can't {verb}: it is not proved for every `n`"
    assert refused.value.hint == 'give it a size: func.specialize({"n": 1024})'


def program(text: str) -> PrimFunc:
    func = script.parse(text)
    assert isinstance(func, PrimFunc)
    return func


GRID = """
@T.prim_func
def main(a: T.handle):
    n = T.int32()
    C = T.match_buffer(a, (n + 4, 2 * n + 4), "float32")
    for i, j in T.grid({i}, {j}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = 1.0
"""


@pytest.mark.parametrize(("i", "j"), [("n - 1", "n - 1"), ("n - 4", "n // 2 - 1")])
def test_two_extents_that_may_be_below_0_are_not_fused(i, j):
    with pytest.raises(wb.ScheduleError, match="both extents may be below 0, and their product"):
        wb.Schedule(program(GRID.format(i=i, j=j))).fuse("i", "j")


@pytest.mark.parametrize(("i", "j"), [("n - 1", "2 * n"), ("(n + 3) // 4", "n - 4")])
def test_one_extent_that_may_be_below_0_is_fused(i, j):
    sch = wb.Schedule(program(GRID.format(i=i, j=j)))
    assert sch.fuse("i", "j").name == "i_j_fused"


UNKNOWN = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    m = T.int32()
    C = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (m,), "float32")
    D = T.alloc_buffer((4,))
    for i in range(4):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = 1.0
    for i in range(n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            C[vi] = D[vi % 4] + T.if_then_else(vi // m < 4, D[vi // m], T.float32(0))
"""


def test_a_reader_of_a_region_of_unknown_size_is_not_moved_into_a_loop():
    sch = wb.Schedule(program(UNKNOWN))
    with pytest.raises(wb.ScheduleError, match="it reads several cells of D at once"):
        sch.reverse_compute_at("C", sch.get_loops("D")[0])


@pytest.mark.parametrize("index", ["vi // 2", "vi * vi", "n - 1 - vi"])
def test_a_loop_that_may_touch_everything_is_not_parallel(index):
    text = GRID.format(i="n", j="n").replace("= 1.0", f"= C[{index}, vj] + C[vi, 0]")
    with pytest.raises(wb.ScheduleError, match="may write"):
        wb.Schedule(program(text)).parallel("i")
