"""Multi-level tiling: tiles for blocks, virtual threads, threads and registers, in shared memory.

The rule and its levels "SSSRRSRS" are those of TVM's MetaSchedule (MultiLevelTiling, for CUDA): S
are loops over the result, R those that are summed over. The first three S are blocks, virtual
threads and threads, each fused to one loop; what the outermost R reads lies in shared memory,
fetched by all threads together, and results are summed in registers. All of it are public verbs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from workbench.arith import relax
from workbench.history.handles import BlockHandle, LoopHandle
from workbench.ir import Block, BufferRegion, Var, dtypes
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.tuning.loops import (
    VECTOR_BYTES,
    fetch,
    node_of,
    number,
    tile_loops,
    times,
    unroll_inner,
    width,
)
from workbench.tuning.space import require
from workbench.tuning.split_sum import most_parts, split_sum

MAX_INNERMOST = 64  # as MetaSchedule's for CUDA
MOST_VIRTUAL_THREADS = 8  # as TVM's VerifyGPUCode
MOST_SUMS = 224  # a thread has at most 255 registers on any NVIDIA GPU; indices take some
LEAST_THREADS = 32  # a warp
UNROLLED = (0, 16, 64, 512)  # of MetaSchedule's steps, those that differ in what nvcc makes


@dataclass(frozen=True, slots=True)
class Tiles:
    """The factors of a block's loops, outermost first: five over the result, three of sums."""

    spatial: tuple[tuple[int, ...], ...]
    summed: tuple[tuple[int, ...], ...]

    def level(self, k: int) -> int:
        """How many iterations level `k` of the loops over the result has in all."""
        return prod(tile[k] for tile in self.spatial)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What was chosen for a block: `widths` are of what it reads, and `stored` of what it makes."""

    tiles: Tiles
    parts: int
    reads: tuple[BufferRegion, ...]
    widths: tuple[int, ...]
    stored: int
    near: int
    unrolled: int


def multi_level_tiling(sch: Schedule, block: BlockHandle, target: Target) -> None:
    """Tile `block`, a sum, in all levels.

    Choices are its factors, how wide threads fetch what it reads and store what it makes, whether
    what a thread reads of shared memory is copied to registers first, and how much is unrolled;
    where the result has few cells, the outermost factor of the first loop that is summed over is in
    how many parts the sum is made, see `split_sum`.
    """
    spatial, summed = tile_loops(sch, block)
    most = most_parts(target, prod(times(sch, i) for i in spatial))
    body = node_of(sch, block)
    chosen = _choose(sch, body, spatial, summed, most)
    require(chosen.parts <= most, f"{chosen.parts} parts of a sum, more than {most}")
    _check(body, chosen.reads, chosen.tiles, target)
    tiles = chosen.tiles
    if chosen.parts > 1:
        block, own = split_sum(sch, block, summed[0], chosen.parts)
        spatial, summed = tile_loops(sch, block)
        rows = list(tiles.spatial)
        rows.insert(spatial.index(own), (chosen.parts, 1, 1, 1, 1))
        tiles = Tiles(tuple(rows), tiles.summed)
    _tile(sch, block, spatial, summed, replace(chosen, tiles=tiles))


def _choose(
    sch: Schedule,
    body: Block,
    spatial: Sequence[LoopHandle],
    summed: Sequence[LoopHandle],
    most_parts: int,
) -> _Chosen:
    S = [tuple(sch.sample_perfect_tile(i, 5, MAX_INNERMOST)) for i in spatial]
    counts = [4 if most_parts > 1 and k == summed[0] else 3 for k in summed]
    R = [
        tuple(sch.sample_perfect_tile(k, n, MAX_INNERMOST))
        for k, n in zip(summed, counts, strict=True)
    ]
    reads = tuple(region for region in body.reads if region.buffer not in _written(body))
    return _Chosen(
        tiles=Tiles(tuple(S), tuple(tile[-3:] for tile in R)),
        parts=prod(R[0][:-3]),
        reads=reads,
        widths=tuple(width(sch, region.buffer.dtype) for region in reads),
        stored=width(sch, body.writes[0].buffer.dtype),
        near=sch.sample_categorical([0, 1], probs=[0.5, 0.5]),
        unrolled=sch.sample_categorical(UNROLLED, probs=[1 / len(UNROLLED)] * len(UNROLLED)),
    )


def _tile(
    sch: Schedule,
    block: BlockHandle,
    spatial: Sequence[LoopHandle],
    summed: Sequence[LoopHandle],
    chosen: _Chosen,
) -> None:
    body, tiles = node_of(sch, block), chosen.tiles
    own_buffers = _written(body)
    places = [k for k, region in enumerate(body.reads) if region.buffer not in own_buffers]
    local = sch.cache_write(block, 0, "local")
    copies = [sch.cache_read(block, k, "shared") for k in places]
    own = [sch.cache_read(block, k, "local") for k in places * chosen.near]
    S = [sch.split(i, factors=tile) for i, tile in zip(spatial, tiles.spatial, strict=True)]
    R = [sch.split(k, factors=tile) for k, tile in zip(summed, tiles.summed, strict=True)]
    levels = _levels(S, R)
    sch.reorder(*(loop for level in levels for loop in level))
    axes = ("blockIdx.x", "vthread.x", "threadIdx.x")
    for level, axis in zip(levels[:3], axes, strict=True):
        fused = sch.fuse(*level) if len(level) > 1 else level[0]
        sch.bind(fused, axis)
    sch.reverse_compute_at(local, fused)
    _vectorize(sch, local, fused, chosen.stored)
    lanes = VECTOR_BYTES // dtypes.itemsize(body.writes[0].buffer.dtype)
    for copy in own:
        sch.compute_at(copy, levels[4][-1])
        _vectorize(sch, copy, levels[4][-1], lanes)
    outer, threads = levels[3][-1], tiles.level(2)
    for copy, wide in zip(copies, chosen.widths, strict=True):
        sch.compute_at(copy, outer)
        fetch(sch, copy, outer, [("threadIdx.x", threads)], wide, chosen.unrolled)
    unroll_inner(sch, [loop for level in levels[4:] for loop in level], chosen.unrolled)
    sch.decompose_reduction(block, levels[3][0])


def _levels(
    S: Sequence[Sequence[LoopHandle]], R: Sequence[Sequence[LoopHandle]]
) -> list[list[LoopHandle]]:
    """The loops of each level of "SSSRRSRS", from the outermost."""
    order = ((S, 0), (S, 1), (S, 2), (R, 0), (R, 1), (S, 3), (R, 2), (S, 4))
    return [[loops[k] for loops in kind] for kind, k in order]


def _written(block: Block) -> set[object]:
    return {region.buffer for region in block.writes}


def _check(block: Block, reads: Sequence[BufferRegion], tiles: Tiles, target: Target) -> None:
    """What the numbers alone tell, ahead of any step."""
    threads, virtual = tiles.level(2), tiles.level(1)
    sums = virtual * tiles.level(3) * tiles.level(4)
    most = target.max_threads_per_block
    require(threads >= LEAST_THREADS, f"{threads} threads a block are less than a warp")
    require(threads <= most, f"{threads} threads a block, and {target.title} has at most {most}")
    require(virtual <= MOST_VIRTUAL_THREADS, f"{virtual} virtual threads, more than 8")
    require(sums <= MOST_SUMS, f"{sums} sums a thread do not fit its registers")
    shared = sum(_shared_bytes(block, region, tiles) for region in reads)
    limit = target.max_dynamic_shared_bytes or target.max_shared_bytes
    require(shared <= limit, f"{shared} bytes of shared memory, and {target.title} has {limit}")


def _shared_bytes(block: Block, region: BufferRegion, tiles: Tiles) -> int:
    """How much of `region` one turn of the outermost sum reads for a block of threads."""
    spatial, summed = iter(tiles.spatial), iter(tiles.summed)
    counts: dict[Var, tuple[int, int]] = {}
    for it in block.iter_vars:
        tile = next(spatial)[1:] if it.kind == "spatial" else next(summed)[1:]
        counts[it.var] = (0, prod(tile) - 1)
    box = relax(region.region, counts, region.buffer.shape)
    cells = prod(number(dim.extent) for dim in box)
    return cells * dtypes.itemsize(region.buffer.dtype)


def _vectorize(sch: Schedule, copy: BlockHandle, outer: LoopHandle, width: int) -> None:
    """Let the innermost of a copy's own loops, those inside `outer`, take `width` values at a time.

    Where that divides how often it runs.
    """
    (*_, last) = sch.get_loops(copy)
    if width > 1 and last != outer and times(sch, last) % width == 0:
        sch.vectorize(sch.split(last, factors=[None, width])[1])
