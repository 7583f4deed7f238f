"""reindex_cache_read and reindex_cache_write: copies in a layout that a map of iterators tells."""

from __future__ import annotations

import workbench as wb
from tests.support.block_programs import SUM, TWO_D
from tests.support.steps import after
from workbench import script


def test_tiles_ahead_of_a_sum():
    text = after(
        SUM, lambda sch: sch.reindex_cache_read("C", "A", "shared", lambda i, k: (k // 4, i, k % 4))
    )
    assert (
        text.partition("for j")[0]
        == """\
C = T.alloc_buffer((6,))
A_shared = T.alloc_buffer((2, 6, 4), scope="shared")
for i, k in T.grid(6, 8):
    with T.block("A_shared"):
        vi, vk = T.axis.remap("SS", [i, k])
        T.reads(A[vi, vk])
        T.writes(A_shared[vk // 4, vi, vk % 4])
        A_shared[vk // 4, vi, vk % 4] = A[vi, vk]
for i, k in T.grid(6, 8):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        T.reads(A_shared[vk // 4, vi, vk % 4])
        T.writes(C[vi])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + A_shared[vk // 4, vi, vk % 4]
"""
    )


def test_split_loops_give_no_name():
    text = after(
        TWO_D,
        lambda sch: sch.split(sch.get_loops("C")[0], factors=[3, 4]),
        lambda sch: sch.reindex_cache_write("C", 0, "local", lambda i, j: (j, i)),
    )
    assert (
        text[text.index("for ax0") :]
        == """\
for ax0, j in T.grid(12, 10):
    with T.block("C_local"):
        vi, vj = T.axis.remap("SS", [ax0, j])
        T.reads(C_local[vj, vi])
        T.writes(C[vi, vj])
        C[vi, vj] = C_local[vj, vi]"""
    )


def test_gaps_hold_nothing_that_is_read():
    text = after(
        TWO_D,
        lambda sch: sch.reindex_cache_read("C", 0, "shared", lambda i, j: i * 11 + j),
    )
    assert 'B_shared = T.alloc_buffer((131,), scope="shared")' in text


def test_the_trace_leads_there_again():
    sch = wb.Schedule(script.parse(SUM))
    copy = sch.reindex_cache_read("C", 0, "shared", lambda i, k: (k, i))
    sch.compute_at(copy, sch.get_loops("C")[0])
    again = wb.Schedule.replay(script.parse(SUM), sch.trace)
    assert script.show(again.func) == script.show(sch.func)
    space = {"wb": wb, "program": script.parse(SUM)}
    exec(sch.trace.as_python(), space)
    assert script.show(space["sch"].func) == script.show(sch.func)
