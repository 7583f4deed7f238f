"""Vectorized loops that lowering cannot make vectors of: what is said of them, read whole."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.lower.test_vectorize import CUDA, copy, lanes_of
from tests.support.gpu_programs import parsed
from workbench.lower import findings, lower

TRANSPOSE = """
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
"""

SINGLE = "4 loads or stores at each place where 1 would do"
HALF = "2 loads or stores at each place where 1 would do"


@pytest.mark.parametrize(
    "index, options, headline, cost",
    [
        (
            "t * 4 + v + 1",
            {},
            "`v` runs cell by cell: its cells of B may not start at a multiple of 4",
            SINGLE,
        ),
        ("t + v * 32", {}, "`v` runs cell by cell: its cells of B are not neighbours", SINGLE),
        (
            "t * 6 + v",
            {},
            "`v` runs in vectors of 2, not 4: its cells of B may not start at a multiple of 4",
            HALF,
        ),
        (
            "t * 3 + v",
            {"lanes": 3},
            "`v` runs cell by cell: no vector has that many cells",
            "vectors have 2, 4, 8 or 16 cells",
        ),
        (
            "t * 4 + v",
            {"where": "T.where(t * 4 + v < 127)"},
            "`v` runs cell by cell: a condition may hold for only a part of a vector",
            SINGLE,
        ),
        (
            "t * 4 + v",
            {"value": "T.if_then_else({0} % 4 == 0, A[{0}], T.float32(0))"},
            "`v` runs cell by cell: a condition may hold for only a part of a vector",
            SINGLE,
        ),
        (
            "t * 4 + v",
            {"value": "T.if_then_else({0} % 4 == 0, A[{0}], T.float32(0)) + T.float32(1)"},
            "`v` runs cell by cell: each iteration asks a condition",
            SINGLE,
        ),
        (
            "t * 4 + v",
            {"value": "A[({0} * {0}) % 64]"},
            "`v` runs cell by cell: its cells are not in even steps",
            SINGLE,
        ),
    ],
)
def test_single_cells_are_a_warning_with_what_they_cost(index, options, headline, cost):
    func = copy(index, **options)
    (found,) = findings(lower(func, CUDA), CUDA)
    assert (found.kind, found.headline, found.detail) == ("warning", headline, cost)
    assert (
        found.hint == "choose factors that lay whole vectors side by side, or leave out vectorize"
    )
    assert len(found.nodes) == 1
    assert max(lanes_of(func)) == (2 if "of 2" in headline else 1)


@pytest.mark.parametrize("index, lanes", [("t * 4 + v", 4), ("t * 8 + v", 8), ("t", 1)])
def test_nothing_is_said_of_whole_vectors(index: str, lanes: int):
    assert findings(lower(copy(index, lanes=lanes), CUDA), CUDA) == []


def transposed(offset: int) -> wb.Schedule:
    """A transpose through a tile whose rows are `offset` cells longer than a multiple of 32."""
    sch = wb.Schedule(parsed(TRANSPOSE))
    i, j = sch.get_loops("B")
    i_0, i_1 = sch.split(i, [None, 32])
    j_0, j_1 = sch.split(j, [None, 32])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.bind(i_0, "blockIdx.y")
    sch.bind(j_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    tile = sch.cache_read("B", 0, "shared")
    sch.compute_at(tile, j_0)
    fused = sch.fuse(*sch.get_loops(tile)[-2:])
    _, thread, lane = sch.split(fused, [None, 32, 4])
    sch.bind(thread, "threadIdx.x")
    sch.vectorize(lane)
    sch.storage_align(tile, 0, 0, 32, offset)
    return sch


def test_rows_that_storage_align_takes_out_of_step_are_refused():
    with pytest.raises(wb.ScheduleError) as caught:
        wb.build(transposed(1), target="cuda")
    assert (
        str(caught.value)
        == """\
Can't build this: `ax0_ax1_fused_2` can't be a vector: storage_align leaves rows of A_shared \
33 cells apart.
asked: wb.build(main, target='cuda')
where:
   7 |             for ax0_ax1_fused_0 in range(8):
   8 |                 for ax0_ax1_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
   9 |                     for ax0_ax1_fused_2 in T.vectorized(4):
     |                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  10 |                         with T.block("A_shared"):
  11 |                             v0 = T.axis.spatial(64, j_0 * 32 + (ax0_ax1_fused_0 * 128 + \
ax0_ax1_fused_1 * 4 + ax0_ax1_fused_2) // 32)
found: a vector of 4 starts at a multiple of 4 cells, and the second row starts at 33
do:    storage_align with an offset that is a multiple of 4, or no vectorize"""
    )


def test_rows_that_halve_the_vectors_are_a_warning():
    with pytest.warns(wb.ScheduleWarning, match="runs in vectors of 2, not 4: its cells of A_sh"):
        built = wb.build(transposed(2), target="cuda")
    assert "float2" in built.source and "float4" not in built.source


def test_rows_in_step_are_vectors():
    assert "float4" in wb.build(transposed(4), target="cuda").source
