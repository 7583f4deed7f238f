"""The ready space: tiles for sums, inlining for what is around them, threads for all the rest."""

from __future__ import annotations

from math import prod

from workbench import target as targets
from workbench.history.handles import BlockHandle
from workbench.ir import Block
from workbench.ir.places import places
from workbench.schedule import Schedule, ScheduleError
from workbench.target import Target
from workbench.tuning.cpu_tiling import cpu_tiling
from workbench.tuning.cross_thread import cross_thread_reduction, reads_again
from workbench.tuning.loops import node_of, number, tile_loops
from workbench.tuning.multi_level_tiling import LEAST_THREADS, multi_level_tiling
from workbench.tuning.space import Space, require
from workbench.tuning.tensor_tiling import tensor_product, tensor_tiling

THREADS = (32, 64, 128, 256, 512, 1024)  # a block's, of those MetaSchedule's AutoBind tries


def ready(target: str | Target) -> Space:
    """A space for any program of sums and elementwise blocks on `target`, a GPU or a CPU.

    In order: each sum is tiled in all levels, "SSSRRSRS" on a GPU, where one of few cells may be
    split into parts, "SSSRRS" where Tensor Cores multiply what it does, and "SSRSRS" on a CPU; on a
    GPU, threads share out one that reads each value once, or has fewer cells than a warp has
    threads; a block that can be is inlined into its readers, else into what makes its input; and
    what has no threads on a GPU yet is bound to them.

    >>> sch = wb.Schedule(add, seed=0)
    >>> tuning.ready(wb.target.get("nvidia/h200"))(sch)
    >>> sch.trace.steps[-1].verb
    'bind'
    """
    on = targets.get(target)

    def space(sch: Schedule) -> None:
        sums = [block for block in sch.get_blocks() if _is_sum(sch, block)]
        own = sch.get_blocks()
        for block in sums:
            multiplied = tensor_product(node_of(sch, block), on)
            if on.is_cpu:
                cpu_tiling(sch, block)
            elif multiplied:
                tensor_tiling(sch, block, *multiplied, on)
            elif _tiled(node_of(sch, block)):
                multi_level_tiling(sch, block, on)
            else:
                cross_thread_reduction(sch, block, on)
        for block in own:
            if block not in sums:
                _inline(sch, block)
        for block in () if on.is_cpu else sch.get_blocks():
            if not _has_threads(sch, block):
                _bind(sch, block, on)

    return space


def _is_sum(sch: Schedule, block: BlockHandle) -> bool:
    """Whether it sums over a loop; each of its cells then reads many of what is around it."""
    return any(it.kind == "reduce" for it in node_of(sch, block).iter_vars)


def _tiled(block: Block) -> bool:
    """Whether tiles give it anything: it reads values again, and has a cell for each of a warp."""
    spatial = [it for it in block.iter_vars if it.kind == "spatial"]
    cells = prod(number(it.dom.extent) for it in spatial)
    return cells >= LEAST_THREADS and reads_again(block)


def _inline(sch: Schedule, block: BlockHandle) -> None:
    """Compute it where it is read, else where its input is made; else it stays a kernel."""
    for verb in (sch.compute_inline, sch.reverse_compute_inline):
        try:
            verb(block)
        except ScheduleError:
            continue
        return


def _has_threads(sch: Schedule, block: BlockHandle) -> bool:
    where = places(sch.func)
    loops = where.all_loops_above(where.blocks[block.key])
    return any(loop.kind == "thread_binding" for loop in loops)


def _bind(sch: Schedule, block: BlockHandle, target: Target) -> None:
    """One thread a cell of the result, in blocks of a number of threads that is a choice."""
    spatial, summed = tile_loops(sch, block)
    require(bool(spatial), f"{block.name} has no loop to be bound to threads")
    counts = [n for n in THREADS if n <= target.max_threads_per_block]
    threads = sch.sample_categorical(counts, probs=[1 / len(counts)] * len(counts))
    if summed:
        sch.reorder(*spatial, *summed)
    cells = sch.fuse(*spatial) if len(spatial) > 1 else spatial[0]
    outer, inner = sch.split(cells, factors=[None, threads])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    if summed:
        sch.decompose_reduction(block, summed[0])
