"""The pictures of the lessons' programs: what they say, and that a page can hold them."""

from __future__ import annotations

import json
from dataclasses import asdict, fields, is_dataclass
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.lower.test_pipelines import prefetching
from tests.support.gpu_programs import (
    MATMUL,
    VECTOR_ADD,
    add_in_blocks,
    blocked_matmul,
    parsed,
    window_steps,
)
from workbench import insight, lower, target
from workbench.ir import Kernel, PrimFunc
from workbench.lesson.half_products import half_product, half_tiles

CUDA, H200 = target.get("cuda"), target.get("nvidia/h200")
EIGHT = VECTOR_ADD.replace("1024", "8")


def kernels(func: PrimFunc) -> tuple[Kernel, ...]:
    return lower.lower(func, CUDA).kernels


def eight(*steps: str) -> PrimFunc:
    """Vector add of eight elements after split(i, [2, 4]) and some binds."""
    sch = wb.Schedule(parsed(EIGHT))
    if "split" in steps:
        i_0, i_1 = sch.split("i", [2, 4])
        if "blocks" in steps:
            sch.bind(i_0, "blockIdx.x")
        if "threads" in steps:
            sch.bind(i_1, "threadIdx.x")
    return sch.func


@pytest.mark.parametrize(
    "steps, caption",
    [
        ((), "C[5] is computed at time step 5."),
        (("split",), "C[5] is computed at time step 5."),
        (("split", "blocks"), "C[5] is computed by block 1, at time step 1."),
        (("split", "threads"), "C[5] is computed by thread 1, at time step 1."),
        (("split", "blocks", "threads"), "C[5] is computed by block 1, thread 1."),
    ],
)
def test_binding_turns_time_into_who(steps: tuple[str, ...], caption: str):
    who = insight.who(eight(*steps))
    assert who.caption == caption
    assert who.whole and [c.index for c in who.cells] == [(k,) for k in range(8)]


def test_who_computes_a_cell_of_a_huge_array():
    sch = wb.Schedule(parsed(VECTOR_ADD.replace("1024", str(10**18))))
    i_0, i_1 = sch.split("i", [None, 128])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    assert insight.who(sch.func).caption == "C[5] is computed by block 0, thread 5."


def test_all_eight_cells_with_both_binds():
    who = insight.who(eight("split", "blocks", "threads"), "C")
    assert [c.label for c in who.cells] == [f"block {k // 4}, thread {k % 4}" for k in range(8)]
    assert [(c.block, c.thread) for c in who.cells][5] == ((1, 0, 0), (1, 0, 0))
    assert who.labels == ("block", "thread")
    assert [g.region for g in who.groups] == [((0, 4, 1),), ((4, 4, 1),)]
    assert who.table.rows[5] == ("C[5]", "block 1, thread 1", 1)


def test_1024_cells_are_runs():
    who = insight.who(add_in_blocks())
    assert not who.whole and len(who.cells) == 64
    assert [g.region for g in who.groups] == [((128 * k, 128, 1),) for k in range(8)]
    assert who.table.rows[1] == ("block 1", "C[128:256]", 128)
    assert [g.label for g in who.zoom][:2] == ["thread 0", "thread 1"] and len(who.zoom) == 128


def test_stretches_of_time_that_every_block_runs_are_no_block_s():
    """Each of 3 blocks makes all of B for itself: its rows come one after the other."""
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((9, 16), "float32"), C: T.Buffer((3,), "float32")):
    B = T.alloc_buffer((9, 16), "float32")
    for b in T.thread_binding(3, thread="blockIdx.x"):
        for i, j in T.grid(9, 16):
            with T.block("B"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w] * T.float32(2)
        with T.block("C"):
            v = T.axis.spatial(3, b)
            C[v] = B[v, 0]
""")
    groups = insight.who(func, "B").groups
    assert [(g.label, g.block, g.cells) for g in groups][:2] == [
        ("time steps 0 to 15", None, 16),
        ("time steps 16 to 31", None, 16),
    ]


def test_who_of_nothing():
    with pytest.raises(ValueError, match="writes no buffer 'A'; it writes: C"):
        insight.who(eight(), "A")


def test_a_fetch_that_every_thread_repeats():
    who = insight.who(window_steps()["shared"], "A_shared")
    assert who.caption == (
        "A_shared[5] is computed by block 0, at time step 5, and again by 127 other threads."
    )


def test_memory_of_a_tile_that_is_loaded_again_for_each_step_of_k():
    """What stands under the loop over k keeps one step's part, as the kernel's arrays do."""
    func = blocked_matmul()
    (kernel,) = kernels(func)
    sizes = {b.name: 4 * int(np.prod(b.shape)) for b in kernel.allocs}
    levels = insight.memory(func).levels
    uses = {use.buffer: use.bytes for level in levels[1:] for use in level.buffers}
    assert uses == sizes and len(sizes) == 3


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_memory_holds_the_copies_of_a_pipeline(copies: int):
    sch = prefetching(32)
    both = {"A_shared": copies, "B_shared": copies}
    sch.pipeline("k_0", stages=[0, 0, 0, 0, 1], order=[0, 3, 1, 4, 2], copies=both)
    (kernel,) = kernels(sch.func)
    held = sum(4 * int(np.prod(b.shape)) for b in kernel.allocs if b.scope == "shared")
    assert insight.memory(sch.func).levels[1].used == held


def test_memory_of_a_pipeline_that_no_build_takes():
    sch = prefetching(32)
    once = insight.memory(sch.func)
    sch.annotate("k_0", "software_pipeline_stage", [0, 0, 0, 0, 1])
    assert insight.memory(sch.func).levels == once.levels


ROWS = """
@T.prim_func
def main(A: T.Buffer((6, 7), "float32"), B: T.Buffer((6, 7), "float32")):
    A_shared = T.alloc_buffer((6, 7), scope="shared")
    for i in T.thread_binding(7, thread="blockIdx.x"):
        for j in T.thread_binding(6, thread="threadIdx.x"):
            with T.block("A_shared"):
                v0 = T.axis.spatial(6, (i * 6 + j) // 7)
                v1 = T.axis.spatial(7, (i * 6 + j) % 7)
                A_shared[v0, v1] = A[v0, v1]
            with T.block("B"):
                v0 = T.axis.spatial(6, (i * 6 + j) // 7)
                v1 = T.axis.spatial(7, (i * 6 + j) % 7)
                B[v0, v1] = A_shared[v0, v1] + T.float32(1)
"""
TILE = """
@T.prim_func
def main(A: T.Buffer((6, 7), "float32"), B: T.Buffer((6, 7), "float32")):
    for i in T.thread_binding(7, thread="blockIdx.x"):
        with T.block("tile"):
            v = T.axis.spatial(7, i)
            A_shared = T.alloc_buffer((6, 7), scope="shared")
            for j in T.thread_binding(6, thread="threadIdx.x"):
                with T.block("A_shared"):
                    v0 = T.axis.spatial(6, (v * 6 + j) // 7)
                    v1 = T.axis.spatial(7, (v * 6 + j) % 7)
                    A_shared[v0, v1] = A[v0, v1]
                with T.block("B"):
                    v0 = T.axis.spatial(6, (v * 6 + j) // 7)
                    v1 = T.axis.spatial(7, (v * 6 + j) % 7)
                    B[v0, v1] = A_shared[v0, v1] + T.float32(1)
"""
BORDER = """
@T.prim_func
def main(A: T.Buffer((30,), "float32"), B: T.Buffer((30,), "float32")):
    A_shared = T.alloc_buffer((30,), scope="shared")
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("A_shared"):
                v = T.axis.spatial(30, i * 8 + j - 2)
                T.where(2 <= i * 8 + j)
                A_shared[v] = A[v]
            with T.block("B"):
                v = T.axis.spatial(30, i * 8 + j - 2)
                T.where(2 <= i * 8 + j)
                B[v] = A_shared[v] + T.float32(1)
"""


@pytest.mark.parametrize(
    "text, held", [(ROWS, 14), (TILE, 14), (BORDER, 8)], ids=["two rows", "opened block", "border"]
)
def test_memory_holds_what_a_kernel_has_where_the_first_block_touches_less(text: str, held: int):
    """The first block touches 6 cells, in one row; others up to 8, or some of two rows."""
    func = parsed(text)
    (kernel,) = kernels(func)
    assert [buffer.shape for buffer in kernel.allocs] == [(held,)]
    assert f"each block keeps {4 * held} bytes in shared memory" in insight.memory(func).caption


def test_memory_of_registers_that_no_kernel_hands_to_the_next():
    """Each kernel has an array of its own: the picture shows what the program says."""
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    A_local = T.alloc_buffer((16,), scope="local")
    for i in T.thread_binding(2, thread="blockIdx.x"):
        for j in T.thread_binding(3, thread="vthread"):
            for k in T.thread_binding(3, thread="threadIdx.x"):
                with T.block("A_local"):
                    v = T.axis.spatial(16, i * 9 + j * 3 + k)
                    T.where(i * 9 + j * 3 + k < 16 and j < 2)
                    A_local[v] = A[v]
    for i in T.thread_binding(16, thread="blockIdx.x"):
        with T.block("B"):
            v = T.axis.spatial(16, i)
            B[v] = A_local[v] + T.float32(1)
""")
    assert len({buffer.shape for kernel in kernels(func) for buffer in kernel.allocs}) == 2
    assert "each thread keeps 16 bytes in registers" in insight.memory(func).caption, "0 to 3"


def test_memory_of_the_window_sum():
    steps = window_steps()
    bound = insight.memory(steps["bound"], H200)
    assert bound.caption == "3,072 loads from and 1,024 stores to global memory."
    shared = insight.memory(steps["cooperative"], H200)
    assert shared.caption == (
        "1,040 loads from and 1,024 stores to global memory; "
        "each block keeps 520 bytes in shared memory."
    )
    level = shared.levels[1]
    assert (level.scope, level.owner, level.used, level.capacity) == (
        "shared",
        "block",
        520,
        227 << 10,
    )
    assert [(f.source, f.target, f.count, f.bytes) for f in shared.flows] == [
        ("A", "A_shared", 1040, 4160),
        ("A_shared", "B", 3072, 12288),
    ]
    assert [(u.buffer, u.role) for u in shared.levels[0].buffers] == [
        ("A", "input"),
        ("B", "output"),
    ]


def test_memory_shows_what_is_updated_in_place():
    memory = insight.memory(parsed(MATMUL))
    flows = {(f.source, f.target): f.count for f in memory.flows}
    assert flows == {("C", "C"): 64**3, ("A", "C"): 64**3, ("B", "C"): 64**3}
    assert sum(flows.values()) == memory.levels[0].loads
    assert [row[-1] for row in memory.table.rows] == ["262,144 for C"] * 3


def test_memory_names_registers_by_both_names():
    caption = insight.memory(blocked_matmul(shared=True)).caption
    assert "bytes in shared memory; each thread keeps " in caption
    assert caption.endswith("bytes in registers (local memory).")


def test_labels_come_with_shorter_words():
    who = insight.who(parsed(MATMUL.replace("64", "8")))
    assert who.cells[5].forms == (("time steps 40 to 47", "t 40–47"),)
    assert who.sentence(who.cells[0]) == "C[0, 0] is computed in time steps 0 to 7."
    blocks = insight.who(blocked_matmul())
    assert blocks.groups[1].forms == ("block (x=1, y=0)", "block 1,0", "b 1,0")


def test_tiles_of_the_shared_matmul():
    func = blocked_matmul(shared=True)
    tiles = insight.tiles(func, {"block": (1, 2, 0), "k_0": 3})
    assert insight.tiles(func, {"block": (1, 2, 0), "k_0": np.int64(3)}).caption == tiles.caption
    assert {a.key: a.role for a in tiles.axes}["k_0"] == "reduce"
    touches = {t.buffer: t.touches for t in tiles.tiles}
    (read,) = touches["A"]
    assert read.region[0][:2] == (32, 16) and read.exact and read.reuse == 1.0
    assert "With blockIdx.x = 1, blockIdx.y = 2, k_0 = 3:\n" in tiles.caption
    assert touches["C"] == (), "it is written once, not at a step of k_0"
    assert tiles.tiles[2].outside == (("write", "after the loop over k_0"),)
    (write,) = insight.tiles(func, {"block": (1, 2, 0)}).tiles[2].touches
    assert write.region == ((32, 16, 1), (16, 16, 1))


def test_tiles_tell_a_line_for_each_buffer():
    sch = wb.Schedule(parsed(MATMUL.replace("64", "8")))
    i, j, k = sch.get_loops(sch.get_block("C"))
    sch.bind(i, "threadIdx.y")
    sch.bind(j, "threadIdx.x")
    both = (
        "With threadIdx.x = 0, threadIdx.y = 0:\n"
        "A: reads one row (8 cells), each once.\n"
        "B: reads one column (8 cells), each once.\n"
        "C: reads 1 cell 8 times; writes 1 cell 9 times."
    )
    thread = {"thread": (0, 0, 0)}
    assert insight.tiles(sch.func, thread).caption == both
    sch.decompose_reduction("C", k)
    assert insight.tiles(sch.func, thread).caption == both, "the init is counted as before"
    at_a_step = insight.tiles(sch.func, {**thread, "k": 3})
    assert at_a_step.caption.endswith("\nC: reads 1 cell once; writes 1 cell once.")


def test_tiles_tell_inputs_then_scratch_then_outputs():
    tiles = insight.tiles(blocked_matmul(shared=True), {"block": (0, 0, 0), "k_0": 3})
    lines = tiles.caption.splitlines()[1:]
    names = [line.partition(":")[0] for line in lines]
    assert names[:2] == ["A", "B"] and names[-1] == "C" and len(names) == len(tiles.tiles)
    assert lines[-1] == "C: written after the loop over k_0."
    told = [(row[0], row[3], row[4]) for row in tiles.table.rows]
    assert ("C", "write", "after the loop over k_0") in told


def test_copies_are_known_whatever_is_selected():
    tiles = insight.tiles(blocked_matmul(shared=True), {"k_0": 3}).tiles
    assert {t.buffer: t.copied_to for t in tiles if t.copied_to} == {
        "A": "A_shared",
        "B": "B_shared",
        "C_local": "C",
    }


@pytest.mark.parametrize(
    "select, message",
    [
        ({"k": 0}, "the program has no axis 'k'; it has: i"),
        ({"i": 8}, "i runs from 0 to 7, not to 8"),
    ],
)
def test_a_selection_that_is_not_there(select: dict[str, int], message: str):
    with pytest.raises(ValueError, match=message):
        insight.tiles(eight(), select)


def test_redundancy():
    found = insight.redundancy(window_steps()["shared"])
    assert found.caption == "A[0] is loaded 128 times by the first block."
    reuse = {r.buffer: r for r in found.buffers}["A_shared"]
    assert reuse.histogram == ((1, 2), (2, 2), (3, 126)) and reuse.loads == 384
    naive = insight.redundancy(parsed(MATMUL))
    assert {r.buffer: r.times for r in naive.buffers}["A"] == 64


def test_counts():
    counts = insight.counts(kernels(window_steps()["cooperative"]))
    assert (counts.launches, counts.blocks, counts.threads, counts.barriers) == (1, 8, 1024, 8)
    assert counts.work == 2048
    assert counts.traffic[0] == insight.Traffic("global", 1040, 1024, 4160, 4096)
    assert counts.traffic[1] == insight.Traffic("shared", 3072, 1040, 12288, 4160)
    assert counts.loads_per_output == 1040 / 1024


def test_counts_of_matmul():
    counts = insight.counts(kernels(blocked_matmul(shared=True)))
    assert counts.work == 2 * 64**3
    assert counts.traffic[0].loads == 2 * 64 * 64 * 64 // 16
    assert counts.loads_per_output == 2 * 64 / 16


STRIDED = """
@T.prim_func
def main(A: T.Buffer((32, {row}), "float32"), C: T.Buffer((32,), "float32")):
    S = T.alloc_buffer((32, {row}), scope="shared")
    for i in T.thread_binding(32, thread="threadIdx.x"):
        for k in range({row}):
            with T.block("S"):
                vi, vk = T.axis.remap("SS", [i, k])
                S[vi, vk] = A[vi, vk]
        with T.block("C"):
            vi = T.axis.spatial(32, i)
            C[vi] = S[vi, 0]
"""


@pytest.mark.parametrize("row, degree", [(1, 1), (2, 2), (8, 8), (32, 32), (33, 1), (12, 4)])
def test_bank_conflicts(row: int, degree: int):
    ks = kernels(parsed(STRIDED.format(row=row)))
    found = {(u.buffer, u.access): u for u in insight.conflicts(ks).uses}
    assert found["S", "write"].wavefronts == degree
    assert found["S", "write"].banks[:3] == tuple(k * row % 32 for k in range(3))


@pytest.mark.parametrize("row, sectors", [(1, 4), (2, 8), (4, 16), (8, 32), (33, 32)])
def test_coalescing(row: int, sectors: int):
    ks = kernels(parsed(STRIDED.format(row=row)))
    found = {(r.buffer, r.access): r for r in insight.coalescing(ks).requests}
    request = found["A", "read"]
    assert request.addresses[:3] == tuple(4 * row * k for k in range(3))
    starts = [sum(len({(4 * row * k + 4 * c) // 32 for k in range(32)}) for c in range(row))]
    assert request.sectors == pytest.approx(starts[0] / row)
    assert round(request.sectors) == sectors
    assert request.ideal == 4
    assert found["C", "write"].efficiency == 1.0


def test_lanes_that_share_an_element_move_it_once():
    (read, _) = insight.coalescing(kernels(parsed(SAME))).requests
    assert (read.sectors, read.ideal, read.efficiency) == (1, 1, 4 / 32)


SAME = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((32,), "float32")):
    for i in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("C"):
            vi = T.axis.spatial(32, i)
            C[vi] = A[1]
"""


def test_roofline():
    found = insight.roofline(kernels(blocked_matmul(shared=True)), H200)
    assert found is not None
    moved = 4 * (2 * 64 * 64 * 64 // 16 + 64 * 64)
    assert (found.work, found.bytes, found.least_bytes) == (2 * 64**3, moved, 3 * 4 * 64 * 64)
    assert found.intensity == found.work / moved
    assert found.bound == "memory" and found.roof == H200.bandwidth * found.intensity
    assert found.seconds == pytest.approx(moved / H200.bandwidth)
    assert insight.roofline(kernels(add_in_blocks()), CUDA) is None


IN_TWO_LAUNCHES = """
@T.prim_func
def main(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
    B = T.alloc_buffer((32,))
    for i in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(32, i)
            B[vi] = A[vi] + T.float32(1)
    for i in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("C"):
            vi = T.axis.spatial(32, i)
            C[vi] = B[vi] * T.float32(2)
"""


def test_what_one_launch_leaves_for_another_is_moved_once_under_the_roof():
    found = insight.roofline(kernels(parsed(IN_TWO_LAUNCHES)), H200)
    assert found is not None
    assert (found.bytes, found.least_bytes) == (4 * 4 * 32, 3 * 4 * 32)


def test_the_roof_of_products_in_calls_of_a_warp_is_that_of_matrix_units():
    func = half_tiles(half_product(16, 16, 64), "wmma", (16, 16), (1, 1), 32)
    found = insight.roofline(kernels(func), H200)
    assert found is not None and found.work == 2 * 16 * 16 * 64
    assert found.peak == pytest.approx(663e12) and found.peak == pytest.approx(H200.tensor_flops)
    assert (
        insight.roofline(kernels(func), target.get("nvidia/tesla-t4")) is None
    )  # nobody says how fast


@pytest.mark.parametrize("kind", ["wmma", "mma"])
def test_of_fragments_a_thread_keeps_its_share_of_what_its_warp_holds(kind: str):
    """A tile of each factor, 512 bytes, and one of 256 sums of 4 bytes: a 32nd each."""
    memory = insight.memory(half_tiles(half_product(16, 16, 64), kind, (16, 16), (1, 1), 32))
    assert [sorted(use.bytes for use in memory.levels[2].buffers)] == [[16, 16, 32]]
    assert "each thread keeps 64 bytes in registers" in memory.caption
    assert memory.caption.endswith("; a warp holds 2,048 bytes of fragments together.")


@pytest.fixture(scope="module")
def pages() -> list[object]:
    func = blocked_matmul(shared=True)
    ks = kernels(func)
    return [
        insight.who(func),
        insight.who(func, "A_shared"),
        insight.memory(func, H200),
        insight.tiles(func, {"blockIdx.x": 1}),
        insight.redundancy(func),
        insight.counts(ks),
        insight.coalescing(ks),
        insight.conflicts(ks),
        insight.occupancy(ks[0], H200),
        insight.roofline(ks, H200),
    ]


def test_a_page_is_plain_data(pages: list[Any]):
    for page in pages:
        text = json.dumps(asdict(page), allow_nan=False)
        assert "int64" not in text and len(text) < 100_000
        assert page.kind in ("modelled", "counted")
        caption = page.caption
        assert (caption.endswith(".") and caption[0].isupper()) or caption[0].isdigit()
        columns = len(page.table.columns)
        assert all(len(row) == columns for row in page.table.rows) and page.table.rows


def test_numbers_are_python_numbers(pages: list[object]):
    def check(value: object) -> None:
        assert not isinstance(value, np.generic)
        if is_dataclass(value):
            for field in fields(value):
                check(getattr(value, field.name))
        elif isinstance(value, tuple):
            for item in value:
                check(item)

    for page in pages:
        check(page)


def test_a_bound_loop_that_starts_elsewhere():
    func = parsed(
        """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in T.thread_binding(1, 3, thread="blockIdx.x"):
        for j in range(2):
            with T.block("C"):
                vi = T.axis.spatial(8, i * 2 + j)
                C[vi] = A[vi]
"""
    )
    cells = {cell.index: cell.label for cell in insight.who(func, "C").cells}
    assert cells == {
        (2,): "block 0, time step 0",
        (3,): "block 0, time step 1",
        (4,): "block 1, time step 0",
        (5,): "block 1, time step 1",
    }


def test_buffers_of_any_size_have_pictures():
    """No table of a whole buffer is made where a tile of it is asked for."""
    sch = wb.Schedule(parsed(VECTOR_ADD.replace("1024", str(2**60))))
    outer, _ = sch.split("i", [None, 2**20])
    sch.bind(outer, "blockIdx.x")
    (touch,) = insight.tiles(sch.func, {"block": (3, 0, 0)}).tiles[0].touches
    assert touch.region == ((3 * 2**20, 2**20, 1),) and touch.exact


def test_a_nest_deeper_than_an_array_has_axes_has_pictures():
    sch = wb.Schedule(parsed(EIGHT))
    i_0, *_, i_1 = sch.split("i", [2, *[1] * 70, 4])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    assert insight.who(sch.func).caption == "C[5] is computed by block 1, thread 1, at time step 0."
    assert insight.memory(sch.func) and insight.tiles(sch.func, {"block": (1, 0, 0)})
