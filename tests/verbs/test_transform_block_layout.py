"""transform_block_layout and reorder_block_iter_var: what they make, and what they keep."""

from __future__ import annotations

import workbench as wb
from tests.support.block_programs import SUM, TWO_D
from tests.support.steps import after
from workbench import script


def test_a_function_that_cuts_and_swaps():
    text = after(
        TWO_D,
        lambda sch: sch.transform_block_layout("C", lambda i, j: (j // 5, i, j % 5)),
    )
    assert (
        text.partition("for ax0")[2]
        == """\
, ax1, ax2 in T.grid(2, 12, 5):
    with T.block("C"):
        v0, v1, v2 = T.axis.remap("SSS", [ax0, ax1, ax2])
        T.reads(B[v1, v0 * 5 + v2])
        T.writes(C[v1, v0 * 5 + v2])
        C[v1, v0 * 5 + v2] = B[v1, v0 * 5 + v2] + T.float32(1)"""
    )


def test_the_sum_begins_where_the_new_iterators_do():
    text = after(SUM, lambda sch: sch.transform_block_layout("C", lambda i, k: (7 - k, i)))
    assert 'v0, v1 = T.axis.remap("RS", [ax0, ax1])' in text
    assert "C[v1] = C[v1] + A[v1, 7 - v0]" in text.replace("v0 * -1 + 7", "7 - v0")


def test_old_loops_lead_to_the_new_ones():
    sch = wb.Schedule(script.parse(TWO_D))
    i, _ = sch.get_loops("C")
    sch.transform_block_layout("C", "lambda i, j: (i // 4, j, i % 4)")
    assert [loop.name for loop in sch.get_loops("C")] == ["ax0", "ax1", "ax2"]
    try:
        sch.split(i, factors=[2, None])
    except wb.ScheduleError as refused:
        assert "made it ax0, ax2" in str(refused)


ARGMAX = """\
@T.prim_func
def main(A: T.Buffer((12,), "float32"), B: T.Buffer((1,), "float32")):
    for o, k in T.grid(1, 12):
        with T.block("B"):
            vo, vk = T.axis.remap("SR", [o, k])
            with T.init():
                B[vo] = T.float32(0)
            B[vo] = B[vo] * T.float32(2) + A[vk]
"""


def test_what_depends_on_its_order_may_be_cut_in_it():
    text = after(
        ARGMAX, lambda sch: sch.transform_block_layout("B", lambda o, k: (o, k // 4, k % 4))
    )
    assert "B[v0] = B[v0] * T.float32(2) + A[v1 * 4 + v2]" in text
    text = after(ARGMAX, lambda sch: sch.transform_block_layout("B", lambda o, k: (k, o)))
    assert 'v0, v1 = T.axis.remap("RS", [ax0, ax1])' in text  # o runs once


def test_iterators_that_run_once_may_go():
    text = after(ARGMAX, lambda sch: sch.transform_block_layout("B", lambda o, k: k))
    assert "v0 = T.axis.reduce(12, ax0)" in text and "B[0] = B[0] * T.float32(2) + A[v0]" in text


def test_a_block_with_buffers_of_its_own_is_taken_whole():
    text = after(
        TWO_D,
        lambda sch: sch.blockize(sch.get_loops("B")[1]),
        lambda sch: sch.transform_block_layout("B", lambda j: (j // 5, j % 5)),
    )
    assert "B[vi_o, v0 * 5 + v1] = A[vi_o, v0 * 5 + v1] * T.float32(2)" in text


def test_the_order_of_iterators_is_that_of_their_numbers():
    sch = wb.Schedule(script.parse(TWO_D))
    sch.reorder_block_iter_var("B", new_order=[1, 0])
    assert 'vj, vi = T.axis.remap("SS", [j, i])' in script.show(sch.func)
    sch.reindex("B", ("read", 0))
    assert "A_reindex = T.alloc_buffer((10, 12))" in script.show(sch.func)
