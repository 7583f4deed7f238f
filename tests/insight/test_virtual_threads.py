"""Virtual threads in the pictures: the strided cells that one thread owns, and what they cost."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.virtual_threads import strided_matmul
from workbench import insight, target
from workbench.insight.accesses import accesses
from workbench.insight.cells import executions
from workbench.ir import PrimFunc
from workbench.lower import lower

CUDA = target.get("cuda")
THREAD = {"block": (0, 0), "thread": (1, 0)}


@pytest.fixture(scope="module")
def func() -> PrimFunc:
    """4 x 4 threads a block, each with 2 x 2 tiles of 2 x 2 cells."""
    return strided_matmul().func


def test_a_thread_owns_cells_that_lie_apart(func: PrimFunc):
    tiles = insight.tiles(func, THREAD)
    (written,) = next(tile for tile in tiles.tiles if tile.buffer == "C").touches
    rows, columns = (((0, 2, 1), (8, 2, 1)), ((2, 2, 1), (10, 2, 1)))
    assert written.pieces == tuple((row, column) for row in rows for column in columns)
    assert (written.cells, written.region, written.exact) == (16, ((0, 10, 1), (2, 10, 1)), False)
    assert "C: writes 16 cells in 4 pieces, each once." in tiles.caption


def test_the_pieces_move_with_the_thread(func: PrimFunc):
    insight.tiles(func, THREAD)
    for tile in insight.tiles(func, {"block": (1, 0), "thread": (3, 2)}).tiles:
        if tile.buffer == "C":
            assert tile.touches[0].pieces[0] == ((4, 2, 1), (22, 2, 1))


def test_one_virtual_thread_can_be_chosen(func: PrimFunc):
    axes = {axis.key: axis.role for axis in insight.axes(func)}
    assert axes["i_1"] == axes["j_1"] == "virtual"
    tiles = insight.tiles(func, {**THREAD, "i_1": 1, "j_1": 0})
    (written,) = next(tile for tile in tiles.tiles if tile.buffer == "C").touches
    assert (written.region, written.exact, written.pieces) == (((8, 2, 1), (2, 2, 1)), True, ())


def test_cells_of_all_copies_are_one_threads(func: PrimFunc):
    who = insight.who(func, "C")
    assert who.labels == ("time", "block", "thread")
    assert who.zoom[1].cells == 16 and not who.zoom[1].exact
    near, far = (next(c for c in who.cells if c.index == (0, at)) for at in (0, 2))
    assert (near.thread, far.thread, near.writers) == ((0, 0, 0), (1, 0, 0), 1)


def test_what_is_alike_is_counted_once(func: PrimFunc):
    kernels = lower(func, CUDA).kernels
    counted: Counter[tuple[str, bool]] = Counter()
    for access in accesses(kernels[0]):
        counted[access.buffer.name, access.writes] += executions(access)
    memory = insight.memory(func)
    told = {(u.buffer, w): n for level in memory.levels for u in level.buffers
            for w, n in ((False, u.loads), (True, u.stores)) if n}  # fmt: skip
    assert told == dict(counted)
    held = {u.buffer: u.bytes // 4 for level in memory.levels[1:] for u in level.buffers}
    assert held == {b.name: b.shape[0] for b in kernels[0].allocs}


def test_strided_cells_take_conflicts_away():
    turns = {}
    for copies, tile in ((1, 4), (4, 1)):
        sch = strided_matmul(n=128, block=64, copies=(1, copies), tile=tile)
        uses = insight.conflicts(lower(sch.func, CUDA).kernels).uses
        read = (use for use in uses if (use.buffer, use.access) == ("B_shared", "read"))
        turns[copies] = max(use.wavefronts for use in read)
    assert turns == {1: 2, 4: 1}, "16 lanes in steps of 4 words, then of 1"
