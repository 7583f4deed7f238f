"""Split a sum into parts for blocks of their own, and put them together in a second kernel.

A product of few cells and a long sum ("split-K") gives a GPU less to do at a time than it holds:
the last layers of a ResNet have 25,088 cells of 4,608 terms each, and an H100 holds 270,336
threads. Each part then is a cell of a larger result, which is tiled as any sum is; what makes up
for the second kernel is that all multiprocessors work.
"""

from __future__ import annotations

from workbench.history.handles import BlockHandle, LoopHandle
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.tuning.loops import tile_loops

MOST_PARTS = 64  # each is loaded by a thread of the second kernel
COLLECTING = 64  # threads of a block there: few cells, shared out to as many multiprocessors
CELLS_A_THREAD = 8  # in the registers of a tile: so many threads less need the same cells


def most_parts(target: Target, cells: int) -> int:
    """How many parts a sum of so many cells may have: until threads fill `target`; else 1."""
    if target.sm_count is None or target.max_threads_per_sm is None:
        return 1
    room = target.sm_count * target.max_threads_per_sm
    return max(1, min(MOST_PARTS, CELLS_A_THREAD * room // cells)) if cells < room else 1


def split_sum(
    sch: Schedule, block: BlockHandle, loop: LoopHandle, parts: int
) -> tuple[BlockHandle, LoopHandle]:
    """Cut the sum `block` over `loop` into `parts`; returns the block of parts and their loop.

    One thread a cell puts its parts together, all loaded before the first is added.
    """
    outer, _ = sch.split(loop, factors=[parts, None])
    part = sch.rfactor(outer, factor_axis=0)
    own = next(one for one in tile_loops(sch, part)[0] if one.name == outer.name)
    made = sch.cache_write(block, 0, "local")
    spatial, (summed,) = tile_loops(sch, block)
    sch.reorder(*spatial, summed)
    cells = sch.fuse(*spatial) if len(spatial) > 1 else spatial[0]
    outer, inner = sch.split(cells, factors=[None, COLLECTING])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    sch.reverse_compute_at(made, inner)
    sch.unroll(summed)
    sch.decompose_reduction(block, summed)
    return part, own
