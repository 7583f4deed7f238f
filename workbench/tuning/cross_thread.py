"""Cross-thread reduction: the threads of a block share each sum out.

For sums that read each value once: shared memory and tiles of registers give them nothing, and one
thread a cell leaves most of a GPU without work where there are few cells. The rule and its numbers
of threads are those of TVM's MetaSchedule (CrossThreadReduction).
"""

from __future__ import annotations

from workbench.history.handles import BlockHandle
from workbench.ir import Block, free_vars
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.tuning.loops import node_of, tile_loops
from workbench.tuning.space import require

THREADS = (4, 8, 16, 32, 64, 128, 256, 512)
ROWS = (1, 2, 4, 8, 16)  # sums of a block, side by side


def reads_again(block: Block) -> bool:
    """Whether a value that `block` reads has a part in several of its cells."""
    own = {it.var for it in block.iter_vars if it.kind == "spatial"}
    made = {region.buffer for region in block.writes}
    for region in (one for one in block.reads if one.buffer not in made):
        used = {v for dim in region.region for v in (*free_vars(dim.min), *free_vars(dim.extent))}
        if not own <= used:
            return True
    return False


def cross_thread_reduction(sch: Schedule, block: BlockHandle, target: Target) -> None:
    """Bind a part of what `block` sums over to threads; choices are how many, and sums a block."""
    spatial, summed = tile_loops(sch, block)
    threads = sch.sample_categorical(THREADS, probs=[1 / len(THREADS)] * len(THREADS))
    rows = sch.sample_categorical(ROWS, probs=[1 / len(ROWS)] * len(ROWS))
    most = target.max_threads_per_block
    require(
        32 <= threads * rows <= most, f"{threads} threads for each of {rows} sums, not 32 to {most}"
    )
    results = range(len(node_of(sch, block).writes))  # argmax has two
    made = [sch.cache_write(block, k, "local") for k in results]
    sch.reorder(*spatial, *summed)
    cells = sch.fuse(*spatial) if len(spatial) > 1 else spatial[0]
    terms = sch.fuse(*summed) if len(summed) > 1 else summed[0]
    outer, row = sch.split(cells, factors=[None, rows])
    _, lane = sch.split(terms, factors=[None, threads])
    sch.bind(outer, "blockIdx.x")
    sch.bind(row, "threadIdx.y")
    sch.bind(lane, "threadIdx.x")
    for copy in made:
        sch.reverse_compute_at(copy, row)
