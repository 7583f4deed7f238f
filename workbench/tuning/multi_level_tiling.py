"""Multi-level tiling: tiles for blocks, virtual threads, threads and registers, in shared memory.

The rule and its levels "SSSRRSRS" are those of TVM's MetaSchedule (MultiLevelTiling, for CUDA): S
are loops over the result, R those that are summed over. The first three S are blocks, virtual
threads and threads, each fused to one loop; what the outermost R reads lies in shared memory,
fetched by all threads together, and results are summed in registers. All of it are public verbs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from workbench.arith import relax
from workbench.history.handles import BlockHandle, LoopHandle
from workbench.ir import Block, BufferRegion, Const, For, Var, dtypes
from workbench.ir.places import places
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.tuning.space import require

MAX_INNERMOST = 64  # as MetaSchedule's for CUDA
MOST_VIRTUAL_THREADS = 8  # as TVM's VerifyGPUCode
MOST_SUMS = 224  # a thread has at most 255 registers on any NVIDIA GPU; indices take some
LEAST_THREADS = 32  # a warp
VECTOR_BYTES = 16
UNROLLED = (0, 16, 64, 512)  # of MetaSchedule's steps, those that differ in what nvcc makes


@dataclass(frozen=True, slots=True)
class Tiles:
    """The factors of a block's loops, outermost first: five over the result, three of sums."""

    spatial: tuple[tuple[int, ...], ...]
    summed: tuple[tuple[int, ...], ...]

    def level(self, k: int) -> int:
        """How many iterations level `k` of the loops over the result has in all."""
        return prod(tile[k] for tile in self.spatial)


def tile_loops(sch: Schedule, block: BlockHandle) -> tuple[list[LoopHandle], list[LoopHandle]]:
    """The loops around `block` over the result, and those that are summed over.

    Refused unless each is a whole iterator of it.
    """
    realize = places(sch.func).blocks[block.key]
    kinds = {
        value: it.kind
        for it, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
    }
    loops = sch.get_loops(block)
    require(
        len(kinds) == len(loops) and all(loop.key in kinds for loop in loops),
        f"the loops of {block.name} are not its iterators",
    )
    spatial = [loop for loop in loops if kinds[loop.key] == "spatial"]
    return spatial, [loop for loop in loops if kinds[loop.key] == "reduce"]


def multi_level_tiling(sch: Schedule, block: BlockHandle, target: Target) -> None:
    """Tile `block`, a sum, in all levels.

    Choices are its factors, how wide threads fetch what it reads and store what it makes, whether
    what a thread reads of shared memory is copied to registers first, and how much is unrolled.
    """
    spatial, summed = tile_loops(sch, block)
    tiles = Tiles(
        tuple(tuple(sch.sample_perfect_tile(i, 5, MAX_INNERMOST)) for i in spatial),
        tuple(tuple(sch.sample_perfect_tile(k, 3, MAX_INNERMOST)) for k in summed),
    )
    body = sch.get(block)
    assert isinstance(body, Block)
    reads = [region for region in body.reads if region.buffer not in _written(body)]
    widths = [_width(sch, region) for region in reads]
    stored = _width(sch, body.writes[0])
    near = sch.sample_categorical([0, 1], probs=[0.5, 0.5])
    unrolled = sch.sample_categorical(UNROLLED, probs=[1 / len(UNROLLED)] * len(UNROLLED))
    _check(body, reads, tiles, target)
    threads = tiles.level(2)

    local = sch.cache_write(block, 0, "local")
    copies = [sch.cache_read(block, body.reads.index(region), "shared") for region in reads]
    own = [sch.cache_read(block, body.reads.index(region), "local") for region in reads * near]
    S = [sch.split(i, factors=tile) for i, tile in zip(spatial, tiles.spatial, strict=True)]
    R = [sch.split(k, factors=tile) for k, tile in zip(summed, tiles.summed, strict=True)]
    levels = _levels(S, R)
    sch.reorder(*(loop for level in levels for loop in level))
    axes = ("blockIdx.x", "vthread.x", "threadIdx.x")
    for level, axis in zip(levels[:3], axes, strict=True):
        fused = sch.fuse(*level) if len(level) > 1 else level[0]
        sch.bind(fused, axis)
    sch.reverse_compute_at(local, fused)
    _vectorize(sch, local, fused, stored)
    for copy in own:
        sch.compute_at(copy, levels[4][-1])
        _vectorize(
            sch, copy, levels[4][-1], VECTOR_BYTES // dtypes.itemsize(body.writes[0].buffer.dtype)
        )
    outer = levels[3][-1]
    for copy, width in zip(copies, widths, strict=True):
        sch.compute_at(copy, outer)
        _fetch(sch, copy, outer, threads, width)
    unroll_inner(sch, [loop for level in levels[4:] for loop in level], unrolled)
    sch.decompose_reduction(block, levels[3][0])


def _levels(
    S: Sequence[Sequence[LoopHandle]], R: Sequence[Sequence[LoopHandle]]
) -> list[list[LoopHandle]]:
    """The loops of each level of "SSSRRSRS", from the outermost."""
    order = ((S, 0), (S, 1), (S, 2), (R, 0), (R, 1), (S, 3), (R, 2), (S, 4))
    return [[loops[k] for loops in kind] for kind, k in order]


def _written(block: Block) -> set[object]:
    return {region.buffer for region in block.writes}


def _width(sch: Schedule, region: BufferRegion) -> int:
    """How many values a thread fetches at a time: chosen, at most 16 bytes."""
    size = dtypes.itemsize(region.buffer.dtype)
    widths = [width for width in (1, 2, 4, 8, 16) if width * size <= VECTOR_BYTES]
    return sch.sample_categorical(widths, probs=[1 / len(widths)] * len(widths))


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
    cells = prod(_number(dim.extent) for dim in box)
    return cells * dtypes.itemsize(region.buffer.dtype)


def _number(size: object) -> int:
    require(isinstance(size, Const), "what a tile reads depends on more than its size")
    assert isinstance(size, Const)
    return int(size.value)


def _fetch(sch: Schedule, copy: BlockHandle, outer: LoopHandle, threads: int, width: int) -> None:
    """All threads of a block fetch the tile together, side by side, `width` values at a time."""
    loops = sch.get_loops(copy)
    own = loops[loops.index(outer) + 1 :]
    cells = prod(_times(sch, loop) for loop in own)
    together = sch.fuse(*own) if len(own) > 1 else own[0]
    if cells % (threads * width):  # a guard around a vector is none of its lanes
        width = 1
    _, lane, vector = sch.split(together, factors=[None, threads, width])
    sch.bind(lane, "threadIdx.x")
    if width > 1:
        sch.vectorize(vector)


def _vectorize(sch: Schedule, copy: BlockHandle, outer: LoopHandle, width: int) -> None:
    """Let the innermost of a copy's own loops, those inside `outer`, take `width` values at a time.

    Where that divides how often it runs.
    """
    (*_, last) = sch.get_loops(copy)
    if width > 1 and last != outer and _times(sch, last) % width == 0:
        sch.vectorize(sch.split(last, factors=[None, width])[1])


def _times(sch: Schedule, loop: LoopHandle) -> int:
    node = sch.get(loop)
    assert isinstance(node, For)
    return _number(node.extent)


def unroll_inner(sch: Schedule, loops: Sequence[LoopHandle], most: int) -> None:
    """Write out the innermost of `loops`, as many as make at most `most` turns together."""
    turns = 1
    for loop in reversed(loops):
        times = _times(sch, loop)
        turns *= times
        if turns > most:
            return
        if times > 1:
            sch.unroll(loop)
