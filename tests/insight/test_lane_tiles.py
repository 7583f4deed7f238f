"""Which lane holds which cell, held against what PTX ISA says of fragments, worked out on paper.

PTX ISA, Warp Level Matrix Multiply-Accumulate Instructions: "Matrix Fragments for mma.m16n8k16 with
floating point type", "… for mma.m16n8k8" (.tf32), "… for mma.m16n8k32", and "ldmatrix". With
groupID = lane >> 2 and t = lane % 4, cell i of a lane is

    m16n8k16  a: row groupID, + 8 for i = 2, 3, 6, 7;  column 2 t + (i & 1), + 8 for i >= 4
              b: row 2 t + (i & 1), + 8 for i >= 2;    column groupID
    m16n8k8   a: row groupID, + 8 for odd i;           column t, + 4 for i >= 2
              b: row t, + 4 for i = 1;                 column groupID
    m16n8k32  a: row groupID, + 8 for i in 4 … 7, 12 … 15; column 4 t + (i & 3), + 16 for i >= 8
              b: row 4 t + (i & 3), + 16 for i >= 4;   column groupID
    all       c: row groupID, + 8 for i >= 2;          column 2 t + (i & 1)

and our tiles are two of these: columns 8 to 15 of B and C follow, in registers of their own.
"""

from __future__ import annotations

import pytest

from tests.support.mma_product import Product, scheduled
from workbench import insight
from workbench.insight.lane_tiles import held_in
from workbench.intrin import TensorIntrin
from workbench.ir import PrimFunc

# Of lanes 13 (groupID 3, t 1), 0 (0, 0) and 30 (7, 2) all cells, in the order of registers.
C = {
    13: [(3, 2), (3, 3), (11, 2), (11, 3), (3, 10), (3, 11), (11, 10), (11, 11)],
    0: [(0, 0), (0, 1), (8, 0), (8, 1), (0, 8), (0, 9), (8, 8), (8, 9)],
    30: [(7, 4), (7, 5), (15, 4), (15, 5), (7, 12), (7, 13), (15, 12), (15, 13)],
}
HALVES = {  # A of m16n8k16 goes as C does: its columns 8 to 15 are the terms 8 to 15
    13: (C[13], [(2, 3), (3, 3), (10, 3), (11, 3), (2, 11), (3, 11), (10, 11), (11, 11)]),
    0: (C[0], [(0, 0), (1, 0), (8, 0), (9, 0), (0, 8), (1, 8), (8, 8), (9, 8)]),
    30: (C[30], [(4, 7), (5, 7), (12, 7), (13, 7), (4, 15), (5, 15), (12, 15), (13, 15)]),
}
WORDS = {
    13: ([(3, 1), (11, 1), (3, 5), (11, 5)], [(1, 3), (5, 3), (1, 11), (5, 11)]),
    0: ([(0, 0), (8, 0), (0, 4), (8, 4)], [(0, 0), (4, 0), (0, 8), (4, 8)]),
    30: ([(7, 2), (15, 2), (7, 6), (15, 6)], [(2, 7), (6, 7), (2, 15), (6, 15)]),
}
BYTES = {
    13: (
        [(r, c + k) for c in (4, 20) for r in (3, 11) for k in range(4)],
        [(r + k, c) for c in (3, 11) for r in (4, 20) for k in range(4)],
    ),
    0: (
        [(r, c + k) for c in (0, 16) for r in (0, 8) for k in range(4)],
        [(r + k, c) for c in (0, 8) for r in (0, 16) for k in range(4)],
    ),
    30: (
        [(r, c + k) for c in (8, 24) for r in (7, 15) for k in range(4)],
        [(r + k, c) for c in (7, 15) for r in (8, 24) for k in range(4)],
    ),
}


def told(name: str) -> dict[str, insight.LaneTile]:
    """The tiles that an intrinsic of ours takes, by their part of a product."""
    intrin = TensorIntrin.get(name)
    assert intrin is not None
    return {
        part: insight.LaneTile(param.name, part, param.type, held)
        for param, part, held in held_in(intrin)
    }


@pytest.mark.parametrize(
    ("name", "cells", "packed"),
    [
        ("mma_f16f16f32", HALVES, 2),
        ("mma_bf16bf16f32_trans_b", HALVES, 2),
        ("mma_tf32tf32f32", WORDS, 1),
        ("mma_i8i8i32", BYTES, 4),
    ],
)
def test_fragments_of_a_product(name: str, cells: dict[int, tuple[list, list]], packed: int):
    tiles = told(name)
    assert [tiles[part].packed for part in "ABC"] == [packed, packed, 1]
    for lane, (of_a, of_b) in cells.items():
        assert tiles["A"].cells(lane) == of_a
        assert tiles["B"].cells(lane) == of_b
        assert tiles["C"].cells(lane) == C[lane]
        assert tiles["A"].registers(of_a) == tiles["B"].registers(of_b) == (0, 1, 2, 3)
    for tile in tiles.values():
        assert sorted(cell for lane in range(32) for cell in tile.cells(lane)) == [*tile.held]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        # matrix 0: lane 13 gets row 3, its columns 2 and 3; then 8 rows on, then 8 columns
        ("mma_ldmatrix_f16_a", {lane: of_a for lane, (of_a, _) in HALVES.items()}),
        # .trans: it gets column 3, its rows 2 and 3
        ("mma_ldmatrix_f16_b", {lane: of_b for lane, (_, of_b) in HALVES.items()}),
        # by column and term: B's cells with row and column exchanged
        (
            "mma_ldmatrix_f16_b_trans",
            {lane: [cell[::-1] for cell in of_b] for lane, (_, of_b) in HALVES.items()},
        ),
        ("mma_ldmatrix_tf32_a", {lane: of_a for lane, (of_a, _) in WORDS.items()}),
        ("mma_ldmatrix_i8_a_dyn", {lane: of_a for lane, (of_a, _) in BYTES.items()}),
    ],
)
def test_what_ldmatrix_brings_to_a_lane(name: str, cells: dict[int, list[tuple[int, int]]]):
    (tile,) = told(name).values()
    for lane, own in cells.items():
        assert tile.cells(lane) == own


@pytest.fixture(scope="module")
def product() -> PrimFunc:
    """By term and column, so that B is turned as it is loaded."""
    return scheduled(Product(32, 32, 32, 32, 32, 32, 1, 2, False, False, 1, 0)).func


def test_the_calls_of_a_program_and_whose_rows_lanes_give(product: PrimFunc):
    load_a, load_b, mma, store = insight.lane_calls(product)
    assert [call.title for call in (load_a, load_b, mma, store)] == [
        "ldmatrix of A_shared_warp_o",
        "ldmatrix of B_shared_warp_o",
        "mma.sync of C_update_o",
        "store of C_warp_o",
    ]
    assert [tile.buffer for tile in mma.tiles] == ["A_shared_warp", "B_shared_warp", "C_warp"]
    assert (load_a.memory, load_b.shape, mma.shape) == ("A_shared", "16 x 16.trans", "m16n8k16")
    # x4: lanes 0 to 7 give the rows of matrix 0, which comes to register 0. Of A that of register 1
    # is 8 rows on, of register 2 8 columns; of B, turned, register 1 is 8 terms on, which are rows
    for call in (load_a, load_b):
        corners = [(0, 0), (8, 0), (0, 8), (8, 8)]
        assert call.gives == tuple((row + k, column) for row, column in corners for k in range(8))
    assert (mma.gives, store.gives, store.memory) == ((), (), "C")


def test_a_program_without_such_calls_has_none():
    sch = scheduled(Product(16, 16, 16, 16, 16, 16, 1, 1, True, False, 1, 0))
    for block in ("A_shared_warp_o", "B_shared_warp_o", "C_update_o", "C_warp_o", "C_init_o"):
        sch.unannotate(block, "tensor_intrin")
    assert insight.lane_calls(sch.func) == () and insight.has_fragments(sch.func)
