"""Tiling for a CPU: tiles for cores, caches and registers, vectors along the innermost loop.

The levels "SSRSRS" are those of TVM's MetaSchedule (MultiLevelTiling, for a CPU): S are loops over
the result, R those that are summed over. The outermost S is shared out among cores.
"""

from __future__ import annotations

from workbench.history.handles import BlockHandle
from workbench.schedule import Schedule
from workbench.tuning.loops import tile_loops, unroll_inner
from workbench.tuning.multi_level_tiling import MAX_INNERMOST, UNROLLED


def cpu_tiling(sch: Schedule, block: BlockHandle) -> None:
    """Tile `block`, a sum; choices are its factors, whether cores share it, vectors, unrolling."""
    spatial, summed = tile_loops(sch, block)
    tiles = [sch.sample_perfect_tile(i, 4, MAX_INNERMOST) for i in spatial]
    depths = [sch.sample_perfect_tile(k, 2, MAX_INNERMOST) for k in summed]
    shared, vectors = (sch.sample_categorical([0, 1], probs=[0.5, 0.5]) for _ in range(2))
    unrolled = sch.sample_categorical(UNROLLED, probs=[1 / len(UNROLLED)] * len(UNROLLED))
    S = [sch.split(i, factors=tile) for i, tile in zip(spatial, tiles, strict=True)]
    R = [sch.split(k, factors=depth) for k, depth in zip(summed, depths, strict=True)]
    order = ((S, 0), (S, 1), (R, 0), (S, 2), (R, 1), (S, 3))
    levels = [[loops[k] for loops in kind] for kind, k in order]
    sch.reorder(*(loop for level in levels for loop in level))
    if shared:
        sch.parallel(sch.fuse(*levels[0]) if len(levels[0]) > 1 else levels[0][0])
    inner = [loop for level in levels[3:] for loop in level]
    if vectors and tiles[-1][-1] > 1:
        sch.vectorize(inner.pop())
    unroll_inner(sch, inner, unrolled)
    sch.decompose_reduction(block, levels[2][0])
