"""Tensor Core tiling: warps do a product's tiles of 16 x 16, by mma.sync or wmma.

The rule and its levels "SSSRRS" are those of TVM's MetaSchedule (MultiLevelTilingTensorCore). A
product of halves or bytes gets rows, columns and terms, whatever its own axes are. The first two S
are blocks, neighbours in the second; the third is warps, the last the tiles of a warp. What the
outermost R reads lies in shared memory, some turns ahead. All of it are public verbs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from workbench.history.handles import BlockHandle, LoopHandle
from workbench.intrin.mma import WARP
from workbench.ir import Block, dtypes
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.tuning.loops import VECTOR_BYTES, fetch, node_of, width
from workbench.tuning.product import Product, iterated, product_of, two_axes
from workbench.tuning.space import require
from workbench.tuning.tensor_calls import N, WarpCalls, warp_calls

MOST_FILLED_UP = 2  # times what is multiplied, in whole tiles
MOST_TILES = 4  # of a warp, each way, as MetaSchedule's
MOST_SUMS = 224  # registers of a thread for them; indices and operands take the rest
MOST_UNDER_WAY = 4  # tiles of a block in shared memory at a time


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What was chosen: the factors of rows and columns, "SSSS", and of terms, "RR".

    `wide` is how many values of A and B a thread fetches at once, `permuted` whether columns in
    shared memory change places, else rows are padded, `under_way` how many tiles are there at a
    time, and `ahead` whether a warp loads the next step's operands before it multiplies.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    terms: tuple[int, ...]
    wide: tuple[int, int]
    permuted: int
    under_way: int
    ahead: int

    @property
    def warps(self) -> int:
        return self.rows[2] * self.columns[2]


def tensor_product(block: Block, target: Target) -> tuple[Product, WarpCalls] | None:
    """What `block` multiplies, and what `target` has for it; None where it has nothing.

    Or where more than half of its whole tiles would be filled up.
    """
    product = product_of(block)
    calls = product and warp_calls(product, target)
    if not product or not calls:
        return None
    whole = prod(-(-n // cells) * cells for n, cells in zip(product.sizes, calls.tile, strict=True))
    return (product, calls) if whole <= MOST_FILLED_UP * prod(product.sizes) else None


def tensor_tiling(
    sch: Schedule, block: BlockHandle, product: Product, calls: WarpCalls, target: Target
) -> None:
    """Tile `block`, a `product`, for warps that multiply by `calls`.

    Choices are its factors, how wide threads fetch, whether sums go through shared memory, as they
    have to where rows and columns are not the axes of their buffer, how rows lie in shared memory,
    how many tiles are under way, and whether a warp loads ahead.
    """
    plain = product.plain and product.fits(calls.tile)
    through = _one(sch, [0, 1] if plain else [1])
    shared, stored = two_axes(sch, block, product, calls.turned, calls.tile, through)
    held = tuple(sch.cache_read(block, k, calls.scopes[n]) for n, k in enumerate(product.regions))
    *apart, i, j, k = iterated(sch, block)
    cut = zip((i, j, k), calls.tile, strict=True)
    outer, inner = zip(*(sch.split(loop, factors=[None, n]) for loop, n in cut), strict=True)
    chosen = _choose(sch, product, calls, outer, target)
    _check(product, calls, chosen, target)
    out = sch.cache_write(block, 0, calls.scopes[2])
    if calls.packed:
        for n, copy in enumerate((*held, block)):
            sch.transform_layout(copy, ("write", 0), calls.layout(n, len(apart)))
    warp, turns, steps = _nest(sch, apart, outer, inner, chosen)
    sch.reverse_compute_at(out, warp)
    by_tiles(sch, out, (N, N))
    if stored:
        _through_shared(sch, out, stored, chosen)
    for n, copy in enumerate(held):
        sch.compute_at(copy, steps)
        by_tiles(sch, copy, calls.shape(n))
    threads = [("threadIdx.y", chosen.warps), ("threadIdx.x", WARP)]
    moved = VECTOR_BYTES // dtypes.itemsize(product.multiplied)
    for n, copy in enumerate(shared):
        sch.compute_at(copy, turns)
        fetch(sch, copy, turns, threads, chosen.wide[n])
        if chosen.permuted and calls.in_columns(n):
            sch.annotate(copy, "permuted_layout", 1)
        else:  # rows begin in other banks, and where 16 bytes can be moved at once
            sch.storage_align(copy, 0, axis=-2, factor=2 * moved, offset=moved)
    start = sch.decompose_reduction(block, turns)
    for copy, call in zip(held, calls.loads, strict=True):
        sch.tensorize(sch.get_loops(copy)[-2], call)
    sch.tensorize(sch.get_loops(start)[-2], calls.fill)
    sch.tensorize(sch.get_loops(block)[-3], calls.multiply)
    sch.tensorize(sch.get_loops(out)[-2], calls.stores[through])
    names = [node_of(sch, copy).writes[0].buffer.name for copy in held]
    pipeline_tiles(sch, turns, steps, chosen.under_way, names if chosen.ahead else ())


def _choose(
    sch: Schedule,
    product: Product,
    calls: WarpCalls,
    tiles: Sequence[LoopHandle],
    target: Target,
) -> _Chosen:
    S = [tuple(sch.sample_perfect_tile(loop, 4, MOST_TILES)) for loop in tiles[:2]]
    turns, steps = sch.sample_perfect_tile(tiles[2], 2, MOST_TILES)
    wide = width(sch, product.multiplied), width(sch, product.multiplied)
    moved = {values * dtypes.itemsize(product.multiplied) for values in wide}
    as_they_lie = all(calls.turned[n] != product.terms_last(n) for n in (0, 1))
    copied = as_they_lie and moved <= set(target.async_copy_bytes or ())
    under_way = _one(sch, [*range(1, MOST_UNDER_WAY + 1)] if copied else [1])
    # what is loaded ahead is the first of a turn, too, which has to be there a turn before
    ahead = _one(sch, [0, 1] if steps > 1 and under_way != 2 else [0])
    permuted = _one(sch, [0, 1] if any(map(calls.in_columns, (0, 1))) else [0])
    return _Chosen(S[0], S[1], (turns, steps), wide, permuted, under_way, ahead)


def _one(sch: Schedule, of: list[int]) -> int:
    return sch.sample_categorical(of, probs=[1 / len(of)] * len(of)) if len(of) > 1 else of[0]


def _check(product: Product, calls: WarpCalls, chosen: _Chosen, target: Target) -> None:
    """What the numbers alone tell, ahead of any step."""
    threads, most = chosen.warps * WARP, target.max_threads_per_block
    require(threads <= most, f"{threads} threads a block, and {target.title} has at most {most}")
    registers = prod((*chosen.rows[3:], *chosen.columns[3:])) * N * N // WARP
    require(registers <= MOST_SUMS, f"{registers} sums a thread do not fit its registers")
    across = N * (prod(chosen.rows[2:]) + prod(chosen.columns[2:]))
    bytes_ = dtypes.itemsize(product.multiplied) * across * calls.terms * chosen.terms[1]
    shared, limit = bytes_ * chosen.under_way, target.most_shared_bytes
    require(shared <= limit, f"{shared} bytes of shared memory, and {target.title} has {limit}")


def _nest(
    sch: Schedule,
    apart: Sequence[LoopHandle],
    outer: Sequence[LoopHandle],
    inner: Sequence[LoopHandle],
    chosen: _Chosen,
) -> tuple[LoopHandle, LoopHandle, LoopHandle]:
    """Share the tiles out, `outer` over them; returns the loops of warps, of turns and of steps."""
    factors = chosen.rows, chosen.columns, chosen.terms
    S, T, R = (sch.split(loop, factors=each) for loop, each in zip(outer, factors, strict=True))
    levels = list(zip(S, T, strict=True))
    around = (loop for level in levels[:3] for loop in level)
    sch.reorder(*apart, *around, *R, *levels[3], *inner)
    if apart:
        sch.bind(sch.fuse(*apart) if len(apart) > 1 else apart[0], "blockIdx.z")
    for level, axis in zip(levels, ("blockIdx.y", "blockIdx.x", "threadIdx.y"), strict=False):
        warp = sch.fuse(*level)
        sch.bind(warp, axis)
    turns, steps = R
    return warp, turns, steps


def by_tiles(sch: Schedule, copy: BlockHandle, shape: tuple[int, int]) -> None:
    """Let the two innermost loops of `copy` go tile by tile of that `shape`."""
    loops = sch.get_loops(copy)[-2:]
    (i, i_in), (j, j_in) = (
        sch.split(loop, factors=[None, cells]) for loop, cells in zip(loops, shape, strict=True)
    )
    sch.reorder(i, j, i_in, j_in)


def _through_shared(sch: Schedule, out: BlockHandle, stored: BlockHandle, chosen: _Chosen) -> None:
    """Each warp stores a row of its tiles at a time, side by side: little memory is enough."""
    sch.reverse_compute_at(stored, sch.get_loops(out)[-4])
    cells = sch.fuse(*sch.get_loops(stored)[-2:])
    sums = node_of(sch, out).writes[0].buffer
    values = VECTOR_BYTES // dtypes.itemsize(sums.dtype)
    _, lane, vector = sch.split(cells, factors=[None, WARP, values])
    sch.bind(lane, "threadIdx.x")
    sch.vectorize(vector)
    apart = [f"b{k}" for k in range(len(sums.shape) - 2)]
    tiles = chosen.rows[3]
    place = ", ".join([*apart, f"i // {tiles * N}", f"i // {N} % {tiles}", f"i % {N}", "j"])
    sch.transform_layout(out, ("write", 0), f"lambda {', '.join([*apart, 'i', 'j'])}: ({place})")
    sch.storage_align(out, 0, axis=-2, factor=WARP, offset=values)


def pipeline_tiles(
    sch: Schedule, turns: LoopHandle, steps: LoopHandle, tiles: int, ahead: Sequence[str]
) -> None:
    """Let `tiles` of each operand be in shared memory at a time, copied asynchronously.

    `turns` fetches a tile of each and has `steps`; the fragments `ahead` of the next step are
    loaded before this one's products, () for none.
    """
    sch.unroll(steps)
    last = tiles - 1
    if ahead:
        sch.pipeline(steps, stages=[0, 0, 1])
    if last and ahead:
        sch.pipeline(
            turns,
            stages=[0, 0, last - 1, last, last],
            order=[0, 1, 3, 2, 4],
            copies=dict.fromkeys(ahead, 1),
            async_stages=[0],
        )
    elif last:
        sch.pipeline(turns, stages=[0, 0, last], async_stages=[0])
