"""Blocks that read sums while they are summed: their last run counts, and no earlier one may harm.

What is stored early is stored again; but an early value may not say where to look, nor divide.
"""

from __future__ import annotations

import pytest

from tests.support.steps import after, refusal
from workbench.schedule import Schedule

PROGRAM = """\
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((8,), "int32"), D: T.Buffer((4,), "int32")):
    M = T.alloc_buffer((4,), "int32")
    for i, k in T.grid(4, 8):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = 0
            M[vi] = M[vi] + {summed}
    for j in range(4):
        with T.block("use"):
            vj = T.axis.spatial(4, j)
            {used}
"""
HARMLESS = [
    "D[vj] = T.max(M[vj], 0) + B[vj]",
    "D[vj] = T.if_then_else(0 < M[vj], M[vj], B[vj]) * 3",
    "D[vj] = M[vj] // 3 + T.Select(M[vj] < B[vj], 1, 2)",
    "D[vj] = M[vj] % (B[vj] * 0 + 3)",
    "D[3 - vj] = M[vj] << 2",
]
HARMFUL = [
    "D[vj] = 100 // M[vj]",
    "D[vj] = 100 % (M[vj] + 1)",
    "D[vj] = 1 << M[vj]",
    "D[vj] = B[M[vj]]",
    "D[vj] = T.if_then_else(0 < M[vj], B[vj + 5], 0)",
    "D[vj] = T.if_then_else(0 < M[vj], 100 // B[vj], 0)",
    "D[vj] = T.if_then_else(0 < M[vj], 100 // vj, 0)",
    "if 0 < M[vj]:\n                D[vj] = B[vj]",
    "for q in range(T.min(M[vj], 8)):\n                D[vj] = B[q]",
    "for q in range(M[vj]):\n                D[vj] = 100 // vj",
]


def written(summed: str = "A[vi, vk]", used: str = HARMLESS[0]) -> str:
    return PROGRAM.format(summed=summed, used=used)


def copied_under_the_sum(sch: Schedule) -> None:
    """Sum into registers, and write back in each turn of the sum, as where threads run inside."""
    copy = sch.cache_write("sum", 0, "local")
    sch.reverse_compute_at(copy, sch.get_loops("sum")[1])


def test_an_epilogue_goes_into_a_write_back_under_the_sum():
    assert after(
        written(), copied_under_the_sum, lambda sch: sch.reverse_compute_inline("use")
    ).endswith("""\
    with T.block("M_local"):
        v0 = T.axis.spatial(4, i)
        T.reads(M_local[v0], B[v0])
        T.writes(D[v0])
        D[v0] = T.max(M_local[v0], 0) + B[v0]""")


@pytest.mark.parametrize("used", HARMLESS)
def test_a_value_that_is_stored_again_may_come_early(used: str):
    after(written(used=used), lambda sch: sch.reverse_compute_at("use", "k"))
    after(written(used=used), copied_under_the_sum, lambda sch: sch.reverse_compute_inline("use"))


@pytest.mark.parametrize("used", HARMFUL)
def test_a_value_that_says_where_or_divides_may_not(used: str):
    text = refusal(written(used=used), lambda sch: sch.reverse_compute_at("use", "k"))
    assert "Can't reverse_compute_at `use` at `k`" in text
    text = refusal(
        written(used=used), copied_under_the_sum, lambda sch: sch.reverse_compute_inline("use")
    )
    assert "Can't reverse_compute_inline `use`" in text


def test_a_sum_that_starts_in_its_last_turn_is_not_read_ahead_of_it():
    loops = 'vi, vk = T.axis.remap("SR", [i, k])'
    backwards = "vi = T.axis.spatial(4, i)\n            vk = T.axis.reduce(8, 7 - k)"
    program = written().replace(loops, backwards)
    text = refusal(program, lambda sch: sch.reverse_compute_at("use", "k"))
    assert "`use` would read unfinished sums of M" in text


@pytest.mark.parametrize("summed", ["A[vi, vk] + D[vi]", "A[vi, vk] * D[vk // 2]"])
def test_what_is_summed_may_not_be_stored_early(summed: str):
    for step in (
        lambda sch: sch.reverse_compute_at("use", "k"),
        lambda sch: (copied_under_the_sum(sch), sch.reverse_compute_inline("use")),
    ):
        text = refusal(written(summed), step)
        assert text.startswith("Can't reverse_compute_"), text
