"""A sum that a condition cuts short is not moved to where it would not be."""

from __future__ import annotations

from tests.support.steps import refusal

LEFT_OUT = """\
@T.prim_func
def main(A: T.Buffer((6, 4), "float32"), C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((6,))
    for i, k in T.grid(6, 4):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(k < 2)
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]
    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = B[vi]
"""


def test_terms_that_only_the_condition_leaves_out():
    text = refusal(LEFT_OUT, lambda sch: sch.compute_at("B", sch.get_loops("C")[0]))
    assert (
        text
        == """\
Can't compute_at `B` at `i`: without its T.where it may sum terms that it left out.
asked: sch.compute_at("B", i)
where:
   4 |     B = T.alloc_buffer((6,))
   5 |     for i, k in T.grid(6, 4):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vk = T.axis.remap("SR", [i, k])
   8 |             T.where(k < 2)
found: its T.where says which terms are summed, not its iterators (T.axis)
do:    give T.axis.reduce the extent for which the block is meant to run"""
    )
