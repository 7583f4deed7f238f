"""transform_layout: the programs that it makes, and that they mean the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import workbench as wb
from tests.support.block_programs import FLAT, SUM, TWO_D
from tests.support.steps import after
from workbench import script
from workbench.verbs import index_map


def test_tiles():
    text = after(
        TWO_D,
        lambda sch: sch.transform_layout("B", "B", "lambda i, j: (i // 4, j // 5, i % 4, j % 5)"),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((3, 2, 4, 5))
for i, j in T.grid(12, 10):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(A[vi, vj])
        T.writes(B[vi // 4, vj // 5, vi % 4, vj % 5])
        B[vi // 4, vj // 5, vi % 4, vj % 5] = A[vi, vj] * T.float32(2)
for i, j in T.grid(12, 10):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(B[vi // 4, vj // 5, vi % 4, vj % 5])
        T.writes(C[vi, vj])
        C[vi, vj] = B[vi // 4, vj // 5, vi % 4, vj % 5] + T.float32(1)"""
    )


def test_rows_laid_end_to_end():
    text = after(FLAT, lambda sch: sch.transform_layout("C", ("read", 0), "lambda i, j: i * 6 + j"))
    assert (
        text
        == """\
B = T.alloc_buffer((24,))
for i, j in T.grid(4, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(A[vi * 6 + vj])
        T.writes(B[vi * 6 + vj])
        B[vi * 6 + vj] = A[vi * 6 + vj] * T.float32(2)
for i in range(24):
    with T.block("C"):
        vi = T.axis.spatial(24, i)
        T.reads(B[vi])
        T.writes(C[vi])
        C[vi] = B[vi] + T.float32(1)"""
    )


def test_of_a_decomposed_sum():
    text = after(
        SUM,
        lambda sch: sch.decompose_reduction("C", "k"),
        lambda sch: sch.transform_layout("D", ("read", 0), "lambda i: (i % 2, i // 2)"),
    )
    assert (
        text
        == """\
C = T.alloc_buffer((2, 3))
for i in range(6):
    with T.block("C_init"):
        vi = T.axis.spatial(6, i)
        T.reads()
        T.writes(C[vi % 2, vi // 2])
        C[vi % 2, vi // 2] = T.float32(0)
    for k in range(8):
        with T.block("C_update"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(C[vi % 2, vi // 2], A[vi, vk])
            T.writes(C[vi % 2, vi // 2])
            C[vi % 2, vi // 2] = C[vi % 2, vi // 2] + A[vi, vk]
for j in range(6):
    with T.block("D"):
        vj = T.axis.spatial(6, j)
        T.reads(C[vj % 2, vj // 2])
        T.writes(D[vj])
        D[vj] = C[vj % 2, vj // 2] * T.float32(2)"""
    )


def test_in_a_block_within_the_one_that_holds_the_buffer():
    text = after(
        TWO_D,
        lambda sch: sch.blockize(sch.get_loops("B")[1]),
        lambda sch: sch.transform_layout("B", ("write", 0), "lambda i, j: (j, i)"),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((10, 12))
for i in range(12):
    with T.block("B_o"):
        vi_o = T.axis.spatial(12, i)
        vj_o = T.axis.spatial(1, 0)
        T.reads(A[vi_o, 0:10])
        T.writes(B[0:10, vi_o])
        for j in range(10):
            with T.block("B"):
                vj_i = T.axis.spatial(10, j)
                T.reads(A[vi_o, vj_i])
                T.writes(B[vj_i, vi_o])
                B[vj_i, vi_o] = A[vi_o, vj_i] * T.float32(2)
for i, j in T.grid(12, 10):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(B[vj, vi])
        T.writes(C[vi, vj])
        C[vi, vj] = B[vj, vi] + T.float32(1)"""
    )


ONE_ROW = """\
@T.prim_func
def main(A: T.Buffer((1, 8), "float32"), C: T.Buffer((1, 8), "float32")):
    B = T.alloc_buffer((1, 8), "float32")
    for i, j in T.grid(1, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i, j in T.grid(1, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
"""


def test_an_iterator_that_runs_once_stays_an_index():
    text = after(ONE_ROW, lambda sch: sch.transform_layout("B", "B", "lambda i, j: (j, i)"))
    assert "B[vj, vi] = A[vi, vj]" in text
    assert "C[vi, vj] = B[vj, vi]" in text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("-" * 4000 + "i", "it is no lambda"),
        ("(" * 300 + "i", "Python can't read it"),
        ("lambda i, j: (i, " + "j + " * 2000 + "j)", "it may not nest more than 100 operators"),
        ("lambda i, j: (i, " + "~" * 900 + "j)", "it may not hold"),
    ],
)
def test_a_map_that_is_nested_deep(text: str, found: str):
    with pytest.raises(wb.ScheduleError) as refused:
        wb.Schedule(script.parse(TWO_D)).transform_layout("B", "B", text)
    assert len(refused.value.headline) <= 120
    shown = str(refused.value)
    assert f"\nfound: {found}" in shown and len(shown) < 20_000


def test_a_buffer_that_a_block_names_and_does_not_read():
    sch = wb.Schedule(
        script.parse("""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] * 2.0
        with T.block("C"):
            v = T.axis.spatial(8, i)
            T.reads(A[v], B[v])
            T.writes(C[v])
            C[v] = A[v]
""")
    )
    sch.transform_layout("B", "B", "lambda i: (i // 2, i % 2)")
    assert script.show(script.parse(script.show(sch.func))) == script.show(sch.func)
    assert "T.reads(A[v])" in script.show(sch.func).partition('T.block("C")')[2]


def test_a_function_is_kept_as_the_text_that_it_is():
    rows = 4
    sch = wb.Schedule(script.parse(TWO_D))
    sch.transform_layout("B", "B", lambda i, j: (i // rows, j, i % rows))
    same = wb.Schedule(script.parse(TWO_D))
    same.transform_layout("B", "B", "lambda i, j: (i // 4, j, i % 4)")
    assert sch.trace == same.trace
    assert repr(sch.trace) == '1. transform_layout(B, "B", "lambda i, j: (i // 4, j, i % 4)")'
    space = {"wb": wb, "program": script.parse(TWO_D)}
    exec(sch.trace.as_python(), space)
    assert script.show(space["sch"].func) == script.show(sch.func)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda i, j: i * np.int64(10) + j, "lambda i, j: (i * 10 + j,)"),
        (lambda i, j: np.int64(10) * i + j, "lambda i, j: (10 * i + j,)"),
        (lambda T, j: [j, T], "lambda T, j: (j, T)"),  # as script calls its own names
        (lambda i, j: (11 - i, (j + i * 0) // (1 + 0)), "lambda i, j: (11 - i, j)"),
    ],
)
def test_what_a_function_is_as_text(function: Callable[..., object], text: str):
    found = index_map.traced(function)
    assert found == text


def test_cells_left_over_are_filled_by_the_writer():
    text = after(
        TWO_D,
        lambda sch: sch.transform_layout(
            "C", ("read", 0), lambda i, j: (i // 5, j, i % 5), pad_value=-1
        ),
    )
    assert (
        text
        == """\
B = T.alloc_buffer((3, 10, 5))
for axis0, j, axis2 in T.grid(3, 10, 5):
    with T.block("B"):
        v_axis0, v_j, v_axis2 = T.axis.remap("SSS", [axis0, j, axis2])
        T.reads(A[v_axis0 * 5 + v_axis2, v_j])
        T.writes(B[v_axis0, v_j, v_axis2])
        B[v_axis0, v_j, v_axis2] = T.if_then_else(v_axis0 * 5 + v_axis2 < 12, \
A[v_axis0 * 5 + v_axis2, v_j] * T.float32(2), T.float32(-1))
for i, j in T.grid(12, 10):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(B[vi // 5, vj, vi % 5])
        T.writes(C[vi, vj])
        C[vi, vj] = B[vi // 5, vj, vi % 5] + T.float32(1)"""
    )


def test_a_layout_without_gaps_needs_no_filling():
    with_value = after(TWO_D, lambda sch: sch.transform_layout("B", "B", "lambda i, j: (j, i)", 0))
    without = after(TWO_D, lambda sch: sch.transform_layout("B", "B", "lambda i, j: (j, i)"))
    assert with_value == without


def test_old_loops_of_a_filled_layout_lead_to_the_new_ones():
    sch = wb.Schedule(script.parse(TWO_D))
    i, _ = sch.get_loops("B")
    sch.transform_layout("B", "B", lambda i, j: (i // 5, j, i % 5), pad_value=0.5)
    with pytest.raises(wb.ScheduleError, match="axis0, axis2"):
        sch.split(i, factors=[2, None])
    again = wb.Schedule.replay(script.parse(TWO_D), sch.trace)
    assert script.show(again.func) == script.show(sch.func)
