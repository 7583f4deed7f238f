"""Names in pictures are whole, and stand for the blocks and loops of the program alone."""

from __future__ import annotations

import pytest

import workbench as wb
from benchmarks.matmuls import blocking, matmul
from tests.support.gpu_programs import parsed
from tests.support.virtual_threads import strided_matmul
from workbench import draw, insight
from workbench.draw import Picture, Rect, Words
from workbench.draw.scene import name_lines, width_of
from workbench.ir import PrimFunc


def labels(picture: Picture) -> list[Words]:
    return [s for strip in picture.strips for s in strip.shapes if isinstance(s, Words)]


def test_a_long_name_of_a_buffer_has_several_lines():
    picture = draw.picture_of(strided_matmul(8, 8, tile=2, step=4).func, "memory")
    lines = [words for words in labels(picture) if words.of.buffer == "A_shared_local"]
    assert [words.label for words in lines if words.role == "name"] == ["A_shared", "_local"]
    assert not [words.label for words in labels(picture) if words.label.endswith("…")]
    done = [words.label for words in labels(picture) if words.of.key == "work"]
    assert ", ".join(done).replace(",,", ",").split(", ") == ["C_update"]


@pytest.mark.parametrize("name", ["A_shared_local", "Anythingbutashortname", "_a__b_", "x"])
def test_lines_of_a_name_are_the_name(name: str):
    lines = name_lines(name, 61)
    assert "".join(lines) == name
    assert all(width_of(line, "name") <= 61 for line in lines)


LONG = """
@T.prim_func
def main(A: T.Buffer((32, 4), "float32"), B: T.Buffer((32, 4), "float32")):
    a_name_that_has_no_room = T.alloc_buffer((4,), scope="shared")
    for a_loop_of_a_name_that_is_long in T.serial(32, annotations={
            "software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
        for t in T.thread_binding(4, thread="threadIdx.x"):
            with T.block("a_block_of_a_name_that_is_long"):
                a_name_that_has_no_room[t] = A[a_loop_of_a_name_that_is_long, t]
        for t in T.thread_binding(4, thread="threadIdx.x"):
            with T.block("B"):
                B[a_loop_of_a_name_that_is_long, t] = a_name_that_has_no_room[t]
"""


def test_names_of_a_pipeline_are_whole_however_long_they_are():
    picture = draw.picture_of(parsed(LONG), "pipeline")
    said = [words.label for words in labels(picture)]
    assert {"turn of a_loop_of_a_name_that_is_long", "a_block_of_a_name_that_is_long"} <= {*said}
    (strip,) = picture.strips
    cells = [s for s in strip.shapes if isinstance(s, Rect) and s.of.iteration]
    assert max(cell.x + cell.width for cell in cells) <= strip.width
    assert min(cell.width for cell in cells) > 8


def test_a_band_of_stores_stands_for_all_blocks_that_store():
    func = blocking(wb.Schedule(matmul(16)), 2, 2, 2, 2, 4, keep=True).func
    shapes = draw.picture_of(func, "memory").strips[0].shapes
    (of,) = {s.of for s in shapes if s.of.title.startswith("C_local: ") and "stored" in s.of.title}
    assert of.statement == "C_init, C_update"


TWO = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in T.thread_binding(2, thread="blockIdx.x"):
        for k in T.thread_binding(4, thread="threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(8, i * 4 + k)
                B[v] = A[v]
    for j in T.thread_binding(4, thread="blockIdx.x"):
        for m in range(2):
            with T.block("C"):
                v = T.axis.spatial(8, j * 2 + m)
                C[v] = B[v]
"""


def test_what_a_block_touches_stands_for_the_loops_around_it():
    picture = draw.picture_of(parsed(TWO), "tiles", select={"blockIdx.x": 1})
    boxes = [s.of for strip in picture.strips for s in strip.shapes if s.of.statement]
    assert {(of.statement, of.loops) for of in boxes} == {("B", ("i",)), ("C", ("j",))}


def test_a_cell_stands_for_the_loops_around_its_own_block():
    """Two statements of a nest that bind one axis: the first loop is not around the second."""
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in T.thread_binding(2, thread="blockIdx.x"):
        for k in T.thread_binding(4, thread="threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(8, i * 4 + k)
                B[v] = A[v]
        for m in T.thread_binding(4, thread="threadIdx.x"):
            with T.block("C"):
                v = T.axis.spatial(8, i * 4 + m)
                C[v] = A[v]
""")
    assert insight.turns(func)["C"].loops == ("i", "m")
    assert insight.loops_of(func)["threadIdx.x"] == ("k", "m")
    assert insight.loops_around(func) == {"B": ("i", "k"), "C": ("i", "m")}


@pytest.mark.parametrize("name", ["shared", "local"])
def test_memory_holds_what_storage_align_leaves_between_rows(name: str):
    sch = wb.Schedule(parsed(ROWS.format(scope=name)))
    sch.storage_align("S", 0, axis=0, factor=32, offset=1)
    (kernel,) = wb.build(sch).kernels
    (array,) = kernel.allocs
    level = next(x for x in insight.memory(sch.func).levels if x.scope == name)
    assert level.used == array.shape[0] * 4 == (33 * 3 + 4) * 4


ROWS = """
@T.prim_func
def main(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    S = T.alloc_buffer((4, 4), scope="{scope}")
    for t in T.thread_binding(1, thread="threadIdx.x"):
        for i, j in T.grid(4, 4):
            with T.block("S"):
                v, w = T.axis.remap("SS", [i, j])
                S[v, w] = A[v, w]
        for i, j in T.grid(4, 4):
            with T.block("B"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = S[v, w]
"""


def in_part() -> PrimFunc:
    """The last of three blocks has 36 of 50 cells."""
    return parsed("""
@T.prim_func
def main(A: T.Buffer((136,), "float32"), B: T.Buffer((136,), "float32")):
    for b in T.thread_binding(3, thread="blockIdx.x"):
        for i in range(50):
            with T.block("B"):
                v = T.axis.spatial(136, b * 50 + i)
                T.where(b * 50 + i < 136)
                B[v] = A[v]
""")


def test_a_block_in_part_takes_only_the_time_of_its_cells():
    assert [group.time for group in insight.who(in_part()).groups] == [(0, 49), (0, 49), (0, 35)]
    said = [words.label for words in labels(draw.picture_of(in_part(), "who"))]
    assert {"◷ t 0–49", "◷ t 0–35"} <= {*said}


def test_the_first_spot_of_a_sheet_is_its_first_cell():
    """Spots are told in whole px, and sheets begin between two: B at 89.33."""
    picture = draw.picture_of(matmul(6, 9, 4), "tiles", select={"k": 0})
    edges = [field.edges for field in picture.strips[0].fields]
    starts = [
        shape.x
        for shape in picture.strips[0].shapes
        if isinstance(shape, Rect) and shape.role == "soft"
    ]
    assert any(x % 1 for x in starts)
    for field, (left, top, *_) in zip(picture.strips[0].fields, edges, strict=True):
        at = {"k": 0, "x": int(left), "y": int(top)}
        assert (int(field.row.at(at)), field.column.at(at) >= 0) == (0, True), field.of.buffer
