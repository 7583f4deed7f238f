"""decompose_reduction: what it refuses, and how it says so."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.support.block_programs import SUM, TWO_STAGES
from tests.support.steps import refusal
from workbench.access import difference, random_data
from workbench.script import parse

REPEATED = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
    for r, i, k in T.grid(2, 6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
"""


def test_a_block_without_init():
    text = refusal(TWO_STAGES, lambda sch: sch.decompose_reduction("B", "i"))
    assert (
        text
        == """\
Can't decompose_reduction `B` at `i`: it has no T.init() to take out.
asked: sch.decompose_reduction("B", "i")
where:
   4 |     B = T.alloc_buffer((16,))
   5 |     for i in range(16):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi = T.axis.spatial(16, i)
   8 |             T.reads(A[vi])
do:    decompose_reduction is for blocks that sum up, once for each"""
    )


def test_a_loop_not_around_it():
    text = refusal(SUM, lambda sch: sch.decompose_reduction("C", "j"))
    assert (
        text
        == """\
Can't decompose_reduction `C` at `j`: that loop is not around it.
asked: sch.decompose_reduction("C", "j")
where:
   4 |     C = T.alloc_buffer((6,))
   5 |     for i, k in T.grid(6, 8):
   6 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vk = T.axis.remap("SR", [i, k])
   8 |             T.reads(A[vi, vk])
    …
  11 |                 C[vi] = T.float32(0)
  12 |             C[vi] = C[vi] + A[vi, vk]
  13 |     for j in range(6):
     |     ^^^^^^^^^^^^^^^^^^
  14 |         with T.block("D"):
  15 |             vj = T.axis.spatial(6, j)
do:    the loops around it: `i`, `k`"""
    )


def test_a_loop_under_one_of_the_sum():
    text = refusal(
        SUM, lambda sch: sch.reorder("k", "i"), lambda sch: sch.decompose_reduction("C", "i")
    )
    assert (
        text
        == """\
Can't decompose_reduction `C` at `i`: `k`, further out, is summed over too.
asked: sch.decompose_reduction("C", "i")
where:
   3 |     # with T.block("root"):
   4 |     C = T.alloc_buffer((6,))
   5 |     for k, i in T.grid(8, 6):
     |         ^  ^
   6 |         with T.block("C"):
   7 |             vi, vk = T.axis.remap("SR", [i, k])
found: each turn of `k` would start the sums again
do:    name `k` or a loop around it"""
    )


def test_terms_added_twice():
    text = refusal(REPEATED, lambda sch: sch.decompose_reduction("C", "r"))
    assert (
        text
        == """\
Can't decompose_reduction `C` at `r`: a term may be added twice.
asked: sch.decompose_reduction("C", "r")
where:
   3 |     # with T.block("root"):
   4 |     for r, i, k in T.grid(2, 6, 8):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vk = T.axis.remap("SR", [i, k])
   7 |             T.reads(A[vi, vk])
found: the loops `r`, `i`, `k` may run the block twice for the same iterators
do:    pick a loop further in, so that every turn of the outer ones starts again"""
    )


LOWER = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where(i + 2 <= k)
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
"""


def test_a_condition_on_first_terms():
    text = refusal(LOWER, lambda sch: sch.decompose_reduction("C", "k"))
    assert (
        text
        == """\
Can't decompose_reduction `C` at `k`: its T.where may leave out the first terms of a sum.
asked: sch.decompose_reduction("C", "k")
where:
   3 |     # with T.block("root"):
   4 |     for i, k in T.grid(6, 8):
   5 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
   6 |             vi, vk = T.axis.remap("SR", [i, k])
   7 |             T.where(i + 2 <= k)
found: then nothing says for which sums there is something to start
do:    let T.where cut off the last terms, as split does, or none"""
    )


def test_a_condition_on_first_terms_of_a_fused_loop():
    def ask(sch):
        sch.decompose_reduction("C", sch.fuse("i", "k"))

    text = refusal(LOWER.replace("i + 2 <= k", "k >= 2"), ask)
    assert text.startswith(
        "Can't decompose_reduction `C` at `i_k_fused`: its T.where may leave out the first terms of"
    )


@pytest.mark.parametrize("condition", ["k < 5", "k * 2 < i + 1", "i < 4"])
def test_a_condition_on_last_terms_of_a_fused_loop(condition):
    func = parse(LOWER.replace("i + 2 <= k", condition))
    sch = wb.Schedule(func)
    sch.split(sch.fuse("i", "k"), factors=[None, 5])
    sch.decompose_reduction("C", sch.get_loops("C")[0])
    assert difference(func, sch.func, random_data(func, seed=0)) == ""
