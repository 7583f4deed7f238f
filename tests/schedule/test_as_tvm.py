"""Small cases in which random schedules here and in TVM 0.27 once differed."""

from __future__ import annotations

import workbench as wb
from workbench import script

UNIT = """
@T.prim_func
def main(A: T.Buffer((1, 3, 9), "float32"), C: T.Buffer((3,), "float32")):
    B = T.alloc_buffer((1, 3, 9))
    for i, j, k in T.grid(1, 3, 9):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk]
    for u, i, k in T.grid(1, 3, 9):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + B[0, vi, vk]
"""


def schedule() -> wb.Schedule:
    """A schedule of UNIT."""
    return wb.Schedule(script.parse(UNIT))


def test_fuse_takes_no_remainder_of_the_outermost_loop_that_runs_more_than_once():
    sch = schedule()
    sch.fuse(*sch.get_loops("B"))
    text = sch.func.script()
    assert "vj = T.axis.spatial(3, i_j_k_fused // 9)" in text
    assert "vk = T.axis.spatial(9, i_j_k_fused % 9)" in text


def test_a_loop_that_runs_once_may_be_vectorized():
    sch = schedule()
    sch.vectorize(sch.get_loops("C")[0])
    assert "for u in T.vectorized(1)" in sch.func.script()


def test_set_scope_tells_the_scope_in_the_name():
    sch = schedule()
    sch.set_scope("B", 0, "shared")
    assert 'B_shared = T.alloc_buffer((1, 3, 9), scope="shared")' in sch.func.script()


def test_set_scope_to_where_it_is_changes_nothing():
    sch = schedule()
    sch.set_scope("C", 0, "global")
    assert sch.func.script() == schedule().func.script()
