"""Steps on programs for any size: specialized after the steps, a program means what it meant."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from tests.support.sized_programs import (
    FAMILIES,
    PAIR,
    TWO,
    Meanings,
    bind_rest,
    nest,
    pair,
    read,
    run_kernels,
    walk_at_random,
)
from workbench import script
from workbench.arith import loop_bounds
from workbench.diag import Refusal
from workbench.ir import PrimFunc, structural_equal
from workbench.ir.places import places
from workbench.verbs.primitive import REGISTRY, discover
from workbench.verbs.regions import covers_domain


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


@pytest.mark.tool
def test_a_product_with_tiles_in_shared_memory():
    sch = wb.Schedule(read("product"))
    meaning = Meanings(sch.func, random.Random(0), count=2)
    i, j, r = sch.get_loops("C")
    i_0, i_1 = sch.split(i, factors=[None, 4])
    j_0, j_1 = sch.split(j, factors=[None, 4])
    r_0, r_1 = sch.split(r, factors=[None, 2])
    sch.reorder(i_0, j_0, i_1, j_1, r_0, r_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.y")
    sch.bind(j_1, "threadIdx.x")
    for buffer in ("A", "B"):
        copy = sch.cache_read("C", buffer, "shared")
        sch.compute_at(copy, r_0)
        a, b = sch.get_loops(copy)[-2:]
        _, y = sch.split(sch.fuse(a, b), factors=[None, 16])
        ty, tx = sch.split(y, factors=[4, 4])
        sch.bind(ty, "threadIdx.y")
        sch.bind(tx, "threadIdx.x")
    sch.decompose_reduction("C", r_0)
    meaning.check(sch.func)
    assert run_kernels(sch, sch.history.root.func, random.Random(0))


def test_a_sum_over_a_size_in_registers():
    sch = wb.Schedule(read("product"))
    meaning = Meanings(sch.func, random.Random(0))
    out = sch.cache_write("C", 0, "local")
    i, j, r = sch.get_loops("C")
    i_0, i_1 = sch.split(i, factors=[None, 4])
    j_0, j_1 = sch.split(j, factors=[None, 4])
    sch.reorder(i_0, j_0, i_1, j_1, r)
    sch.reverse_compute_at(out, j_1)
    meaning.check(sch.func)
    for loop, axis in zip((i_0, j_0, i_1, j_1), ("blockIdx.y", "blockIdx.x", "threadIdx.y",
                                                 "threadIdx.x"), strict=True):  # fmt: skip
        sch.bind(loop, axis)
    sch.decompose_reduction("C", r)
    assert "float C_local;" in wb.build(sch).source
    assert run_kernels(sch, sch.history.root.func, random.Random(0))


@pytest.mark.parametrize("outermost", [False, True])
def test_threads_share_a_sum_over_a_size(outermost):
    sch = wb.Schedule(read("product"))
    i, j, r = sch.get_loops("C")
    r_0, r_1 = sch.split(r, factors=[None, 4])
    if outermost:
        sch.reorder(r_1, r_0)
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "blockIdx.y")
    sch.bind(r_1, "threadIdx.x")
    assert run_kernels(sch, sch.history.root.func, random.Random(0))


@pytest.mark.parametrize("factors", [[3, None], [None, 3], [2, None, 2]])
def test_a_sum_over_a_size_in_parts_of_any_length(factors):
    sch = wb.Schedule(read("product"))
    meaning = Meanings(sch.func, random.Random(0))
    parts = sch.split(sch.get_loops("C")[2], factors=factors)
    sch.reorder(*parts[::-1])
    sch.reorder(*parts)
    meaning.check(sch.func)
    sch.rfactor(parts[0], 0)
    meaning.check(sch.func)
    sch.decompose_reduction("C_rf", sch.get_loops("C_rf")[3])
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    meaning.check(sch.func)
    assert run_kernels(sch, sch.history.root.func, random.Random(0), "c")


def test_a_sum_that_starts_ahead_is_what_it_starts_from_where_there_is_no_term():
    sch = wb.Schedule(read("product"))
    r_0, _ = sch.split(sch.get_loops("C")[2], factors=[3, None])
    sch.decompose_reduction("C", r_0)
    c = np.ones((2, 3), "float32")
    wb.build(sch, "c")(np.ones((2, 0), "float32"), np.ones((0, 3), "float32"), c)
    assert not c.any()


def test_a_sum_that_may_have_no_term_though_it_has_sizes_is_not_shared():
    text = FAMILIES["product"].replace("(k, m)", "(k + 8, m)").replace("m, k)", "m, k - 3)")
    sch = wb.Schedule(program(text))
    sch.split("r", factors=[None, 4])
    with pytest.raises(wb.ScheduleError, match="`r_0` is not proved to run at all"):
        sch.bind("r_1", "threadIdx.x")


def test_rows_whose_width_a_size_tells():
    sch = wb.Schedule(read("flat rows"))
    meaning = Meanings(sch.func, random.Random(0))
    for block in ("D", "C"):
        i, j = sch.get_loops(block)
        _, j_1 = sch.split(j, factors=[None, 4])
        sch.reorder(j_1, i)
        sch.parallel(j_1)
    sch.cache_write("C", 0, "global")
    sch.cache_read("C", "D", "global")
    meaning.check(sch.func)
    assert run_kernels(sch, sch.history.root.func, random.Random(0), "c")


def test_loops_that_were_fused_whose_digits_are_by_sizes():
    sch = wb.Schedule(read("product and more"))
    meaning = Meanings(sch.func, random.Random(0))
    i, j, _ = sch.get_loops("D")
    tile, thread = sch.split(sch.fuse(i, j), factors=[None, 4])
    sch.cache_write("D", 0, "global")
    meaning.check(sch.func)
    sch.decompose_reduction("D", sch.get_loops("D")[2])
    sch.bind(tile, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    whole = sch.fuse(*sch.get_loops("C"))
    sch.compute_at("D_global", whole)  # inside, no size is 0, and there is a number to divide by
    meaning.check(sch.func)
    assert run_kernels(sch, sch.history.root.func, random.Random(0))


def test_a_verb_that_is_not_proved_for_every_size_asks_for_one():
    discover()
    plain = replace(REGISTRY["merge"], sizes=False)
    with pytest.raises(Refusal) as refused:
        plain.take(read("two stages"))
    assert refused.value.headline == "Can't merge: it is not proved for every `n`"
    assert refused.value.hint == 'give it a size: func.specialize({"n": 1024})'


def program(text: str) -> PrimFunc:
    func = script.parse(text)
    assert isinstance(func, PrimFunc)
    return func


@pytest.mark.parametrize(
    ("loops", "value", "extent", "covered"),
    [
        ("range(n)", "i", "n", True),
        ("range(n + 2)", "i", "n", True),
        ("T.grid((n + 3) // 4, 4)", "i * 4 + j", "n", True),
        ("T.grid(n // 4, 4)", "i * 4 + j", "n // 4 * 4", True),
        ("T.grid(n // 4, 4)", "i * 4 + j", "n", False),
        ("range(n - 1)", "i", "n", False),
        ("range(m)", "i", "n", False),
        ("range(n)", "i + 1", "n + 1", False),
        ("T.grid(n, m)", "i", "n", False),  # with m = 0 nothing runs
    ],
)
def test_loops_that_run_all_of_a_domain_that_sizes_tell(loops, value, extent, covered):
    names = "i, j" if "grid" in loops else "i"
    func = program(f"""
@T.prim_func
def main(a: T.handle, b: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n + 1,), "float32")
    B = T.match_buffer(b, (m,), "float32")
    for {names} in {loops}:
        with T.block("A"):
            v = T.axis.spatial({extent}, {value})
            T.where({value} < {extent})
            A[v] = 1.0
""")
    *_, realize = places(func).blocks.values()
    assert covers_domain(realize, loop_bounds(places(func).loops_above(realize))) is covered


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
            C[vi] = D[vi % 4] + T.if_then_else(vi // (m - 3) < 4, D[vi // (m - 3)], T.float32(0))
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


def test_a_nest_of_any_number_of_turns_is_not_written_out():
    """The maker runs in one of two turns, and a nest like its own would need the number n."""
    sch = wb.Schedule(read("two stages"))
    outer, _ = sch.split(sch.add_unit_loop("D"), factors=[None, 2])
    sch.reorder(*sch.get_loops("D")[1:], sch.get_loops("D")[0])
    with pytest.raises(wb.ScheduleError, match="would read D too early"):
        sch.reverse_compute_at("C", sch.get_loops("D")[1])
    sch.reverse_compute_at("C", outer)
    assert "for ax0 in range(n)" in script.show(sch.func)


@pytest.mark.parametrize(
    ("family", "verb", "store"),
    [
        ("flattened", "compute_inline", "C[vi] = A[vi // m, vi % m] * T.float32(3) + B[vi]"),
        ("flattened", "reverse_compute_inline",
         "C[vi * m + vj] = A[vi, vj] * T.float32(3) + B[vi * m + vj]"),
        ("reshaped", "compute_inline", "C[vi] = (A[vi // m, vi % m] + B["),
        ("reshaped", "reverse_compute_inline",
         "C[vi * m + vj] = (A[vi, vj] + B[vi * m + vj]) * T.float32(2)"),
        ("rows of tiles", "reverse_compute_inline",
         "C[(vk + vi * 4) * m + vj] = A[vi * 4 + vk, vj] + B[(vk + vi * 4) * m + vj]"),
        ("reversed", "reverse_compute_inline", "C[n - 1 - vi] = A[n - 1 - vi] + B[n - 1 - vi]"),
    ],
)  # fmt: skip
def test_inlining_through_rows_whose_width_a_size_tells(family, verb, store):
    sch = wb.Schedule(read(family))
    meaning = Meanings(sch.func, random.Random(0))
    getattr(sch, verb)("D" if verb == "compute_inline" else "C")
    meaning.check(sch.func)
    assert store in script.show(sch.func)
    assert "T.where" not in script.show(sch.func)


def test_a_row_of_a_width_that_may_be_0_is_not_told_from_a_cell():
    """With m = 0 there are four cells of D, and no row of them."""
    text = FAMILIES["flat rows"].replace("c, (n * m", "c, (n * m + 4").replace("b, (n", "b, (4 + n")
    text = text.replace("alloc_buffer((n * m,", "alloc_buffer((n * m + 4,")
    text = text.replace("D[vi * m + vj] = A[vi, vj] + B[vi * m + vj]", "D[vi] = B[vi]")
    text = text.replace("for i, j in T.grid(n, m):\n        with T.block(\"D\"):\n            "
                        'vi, vj = T.axis.remap("SS", [i, j])',
                        "for i in range(n * m + 4):\n        with T.block(\"D\"):\n            "
                        "vi = T.axis.spatial(n * m + 4, i)")  # fmt: skip
    with pytest.raises(wb.ScheduleError, match="one cannot tell which iteration reads it"):
        wb.Schedule(program(text)).reverse_compute_inline("C")


def steps_on(family: str, *steps: tuple) -> str:
    """The program after some steps, each of which is held against what it meant before."""
    sch = wb.Schedule(read(family) if family in FAMILIES else program(family))
    meaning = Meanings(sch.func, random.Random(0))
    for verb, block, *args in steps:
        if verb == "split":
            sch.split(sch.get_loops(block)[args[0]], factors=[None, 4])
        elif verb == "blockize":
            sch.blockize(sch.get_loops(block)[args[0]] if isinstance(args[0], int) else args[0])
        elif verb == "reverse_compute_at":
            sch.reverse_compute_at(block, sch.get_loops(args[0])[0])
        else:
            getattr(sch, verb)(block, *args)
    meaning.check(sch.func)
    text = script.show(sch.func)
    assert structural_equal(script.parse(text), sch.func)
    return text


SWAPPED, CUT = "lambda i, j: (j, i)", "lambda i, j: (i // 4, j, i % 4)"


def test_layouts_for_any_size():
    written = ["write", 0]
    text = steps_on("product of a copy", ("transform_layout", "D", written, SWAPPED))
    assert "D = T.alloc_buffer((k, n))" in text
    text = steps_on("product of a copy", ("transform_layout", "D", written, CUT, 0.0))
    assert "D = T.alloc_buffer(((n + 3) // 4, k, 4))" in text
    text = steps_on(
        "rows of tiles", ("transform_layout", "D", written, "lambda i, j, k: (i * 4 + j, k)")
    )
    assert "D[vi % m * 4 + vi // m % 4, vi // m // 4]" in text
    with pytest.raises(wb.ScheduleError, match="the map leaves gaps"):
        steps_on("product of a copy", ("transform_layout", "D", written, CUT))


def test_iterators_of_blocks_for_any_size():
    text = steps_on("transposed", ("transform_block_layout", "C", SWAPPED))
    assert "C[v1, v0] = A[v0, 0] + B[0, v1]" in text
    text = steps_on(
        "fixed sum", ("transform_block_layout", "C", "lambda i, j, k: (j, i, k // 2, k % 2)")
    )
    assert "for ax0, ax1, ax2, ax3 in T.grid(m, n, 3, 2)" in text
    with pytest.raises(wb.ScheduleError, match="the map leaves gaps"):
        steps_on("transposed", ("transform_block_layout", "C", CUT))


@pytest.mark.parametrize(
    ("family", "steps", "region"),
    [
        ("product of a copy", [("blockize", "D", 1)], "T.writes(D[vi_o, 0:k])"),
        ("product of a copy", [("blockize", "D", 0)], "T.writes(D[0:n, 0:k])"),
        ("product", [("blockize", "C", 2)], "T.reads(A[vi_o, 0:k], B[0:k, vj_o])"),
        ("product", [("split", "C", 0), ("blockize", "C", 0)], "T.writes(C[0:n, 0:m])"),
        ("product", [("split", "C", 2), ("blockize", "C", 2)], "B[0:k, vj_o])"),
        ("flat rows", [("blockize", "C", 1)], "T.writes(C[vi_o * m : vi_o * m + m])"),
        ("halves", [("blockize", "C", 0)], "T.reads(A[0 : n * 2], B[0:n])"),
        ("two stages", [("blockize", "C", ["D", "C"])], "T.writes(D[0:n], C[0:n])"),
    ],
)  # fmt: skip
def test_a_block_of_turns_for_any_size(family, steps, region):
    assert region in steps_on(family, *steps)


def test_a_tile_that_may_be_cut_off_is_no_block():
    with pytest.raises(wb.ScheduleError, match="cuts off a part of the last turn"):
        steps_on("sum of vectors", ("split", "C", 0), ("blockize", "C", 1))


@pytest.mark.parametrize(
    "step",
    [
        ("cache_read", "C", "D", "global"),
        ("cache_write", "D_o", 0, "global"),
        ("cache_read", "D", "A", "global"),
    ],
)
def test_boxes_that_sizes_tell_are_filled(step):
    assert "_global" in steps_on("product of a copy", ("blockize", "D", 1), step)


def test_rounding_up_for_any_size():
    text = steps_on("product", ("pad_einsum", "C", [4, 1, 2]), ("split", "C", 0))
    assert "A_pad = T.alloc_buffer(((n + 3) // 4 * 4, (k + 1) // 2 * 2))" in text
    assert "T.where" not in text  # the tile divides what was rounded up
    assert "_pad" not in steps_on("fixed sum", ("pad_einsum", "C", [1, 1, 6]))


SAID_TWICE = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (2 * n, m + n), "float32")
    B = T.match_buffer(b, (n * 2, n + m), "float32")
    C = T.alloc_buffer((2 * n, n + m))
    for i in range(n * 2):
        with T.block("C"):
            vi = T.axis.spatial(2 * n, i)
            T.reads(A[vi, 0 : m + n])
            T.writes(C[vi, 0 : n + m])
            for j in range(m + n):
                C[vi, j] = A[vi, j] * 2.0
    for i, j in T.grid(2 * n, n + m):
        with T.block("B"):
            vi = T.axis.spatial(n * 2, i)
            vj = T.axis.spatial(m + n, j)
            B[vi, vj] = C[vi, vj] * 2.0
"""


@pytest.mark.parametrize(
    "steps",
    [
        [("cache_read", "B", "C", "global")],
        [("cache_write", "C", 0, "global")],
        [("reverse_compute_at", "B", "C")],
        [("split", "B", 0), ("blockize", "B", 0)],
        [("transform_layout", "C", ["write", 0], "lambda i, j: (i // 2, j, i % 2)")],
    ],
)
def test_a_size_that_is_written_in_two_ways_is_read_back_as_it_was(steps):
    assert "+ n - 1 + 1" not in steps_on(SAID_TWICE, *steps)


PADDED = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m), "float32")
    C = T.match_buffer(c, ({rows}, m), "float32")
"""


def padding(rows: str, condition: str, value: str) -> PrimFunc:
    store = f"C[vi, vj] = T.if_then_else({condition}, {value}, T.float32(7))"
    return program(PADDED.format(rows=rows) + nest("C", "i, j", f"{rows}, m", store))


@pytest.mark.parametrize("loop", [0, 1])
@pytest.mark.parametrize(
    ("rows", "condition", "value"),
    [
        ("n + 2", "1 <= vi and vi < n + 1", "A[vi - 1, vj]"),
        ("n + 3", "2 < vi", "A[vi - 3, vj]"),
        ("n + 2", "not vi < 2", "A[vi - 2, vj]"),
        ("n * 2", "vi <= n - 1", "A[vi, vj]"),
        ("(n + 3) // 4 * 4", "vi < n", "A[vi, vj]"),
    ],
)
def test_padding_apart_at_any_size(rows: str, condition: str, value: str, loop: int):
    sch = wb.Schedule(padding(rows, condition, value))
    meaning = Meanings(sch.func, random.Random(0), count=8)
    sch.decompose_padding("C", sch.get_loops("C")[loop])
    meaning.check(sch.func)
    assert run_kernels(sch, sch.history.root.func, random.Random(0))


@pytest.mark.parametrize(
    ("rows", "condition", "value"),
    [
        ("n + 5", "vi < 5", "A[0, vj]"),  # all, where n is 0, and less than that elsewhere
        ("n", "vi < n - 1", "A[vi + 1, vj]"),  # where n is 0, less than none
        ("n", "vi < m", "A[vi, vj]"),
        ("n + m", "m <= vi", "A[vi - m, vj]"),
    ],
)
def test_what_is_inside_is_to_be_a_range_at_every_size(rows: str, condition: str, value: str):
    sch = wb.Schedule(padding(rows, condition, value))
    with pytest.raises(wb.ScheduleError, match="its condition is no range of each iterator"):
        sch.decompose_padding("C", "i")


@pytest.mark.parametrize("index_map", ["lambda i: (i,)", "lambda i: (i // 4, i % 4)"])
@pytest.mark.parametrize("which", ["read", "write"])
def test_a_copy_laid_out_by_iterators_of_any_number(which: str, index_map: str):
    for family, last in ("reversed", 1), ("halves", 1), ("flattened", 1):
        sch = wb.Schedule(read(family))
        meaning = Meanings(sch.func, random.Random(0))
        step = sch.reindex_cache_read if which == "read" else sch.reindex_cache_write
        step("C", 0, "global", index_map)
        sch.reindex("C", (which, last if which == "read" else 0))
        meaning.check(sch.func)
        assert run_kernels(sch, sch.history.root.func, random.Random(0))


def test_what_nobody_writes_where_a_size_is_0_is_not_copied_back():
    columns = TWO + PAIR.format(shape="n", out="n").replace("b, (n,)", "b, (m,)")
    sch = wb.Schedule(program(columns + nest("C", "i, j", "n, m", "C[vi] = A[vi]")))
    why = "it writes nothing where `vj` has no value, and the copy back would"
    with pytest.raises(wb.ScheduleError, match=why):
        sch.reindex("C", ("write", 0))
    meaning = Meanings(sch.func, random.Random(0))
    sch.reindex("C", ("read", 0))
    meaning.check(sch.func)


@pytest.mark.parametrize(
    ("family", "depth"), [("two stages", 0), ("flat rows", 0), ("product and more", 1)]
)
def test_loops_of_one_size_are_merged(family: str, depth: int):
    sch = wb.Schedule(read(family))
    meaning = Meanings(sch.func, random.Random(0))
    sch.merge(sch.get_loops("D")[depth], sch.get_loops("C")[depth])
    meaning.check(sch.func)
    assert run_kernels(sch, sch.history.root.func, random.Random(0))


@pytest.mark.parametrize(
    ("family", "why"),
    [
        ("window", "they do not run equally often, nest by nest"),
        ("reversed", "`C` would read D too early"),
    ],
)
def test_loops_that_differ_at_some_size_are_not_merged(family: str, why: str):
    sch = wb.Schedule(read(family))
    with pytest.raises(wb.ScheduleError, match=why):
        sch.merge(sch.get_loops("D")[0], sch.get_loops("C")[0])


SUM_OF_MORE = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m + 3), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i, r in T.grid(n, m + 3):
        with T.block("C"):
            vi, vr = T.axis.remap("SR", [i, r])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vr]
"""


@pytest.mark.parametrize("factors", [[2, None], [None, 3], [1, None, 1]])
def test_parts_of_a_loop_of_any_size(factors: list[int | None]):
    rows = padding("n + 3", "1 <= vi and vi < n + 1", "A[vi - 1, vj]")
    for func, loop in (rows, "i"), (program(SUM_OF_MORE), "r"):
        sch = wb.Schedule(func)
        meaning = Meanings(func, random.Random(0))
        parts = sch.loop_partition(loop, factors)
        meaning.check(sch.func)
        last = sch.split(parts[-1], factors=[None, 2])  # it has bounds as any other loop
        meaning.check(sch.func)
        assert len(last) == 2
        assert run_kernels(sch, func, random.Random(0))


def test_a_part_is_no_longer_than_the_shortest_loop():
    sch = wb.Schedule(program(SUM_OF_MORE))
    with pytest.raises(wb.ScheduleError) as refused:
        sch.loop_partition("r", [4, None])
    assert refused.value.headline == (
        "Can't loop_partition `r`: it may have less than the 4 iterations of [4, None]."
    )
    assert refused.value.hint == "give smaller factors, or a size: func.specialize(...)"


@pytest.mark.parametrize("factors", [[4, None], [None, 4], [2, None, 2], [2, 2, None]])
def test_tiles_of_any_size_are_blocks_where_they_divide(factors: list[int | None]):
    fours = pair("n * 4", "n * 4", nest("C", "i", "n * 4", "C[vi] = A[vi] + B[vi // 4]"))
    sch = wb.Schedule(program(fours))
    meaning = Meanings(sch.func, random.Random(0))
    sch.blockize(sch.split("i", factors=factors)[1])
    meaning.check(sch.func)
    rest = wb.Schedule(read("sum of vectors"))
    inner = rest.split("i", factors=factors)[1]
    with pytest.raises(wb.ScheduleError) as refused:
        rest.blockize(inner)
    assert refused.value.headline == (
        "Can't blockize `i_1`: its T.where cuts off a part of the last turn."
    )
    assert refused.value.hint == "split by factors that divide"
