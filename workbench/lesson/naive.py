"""The naive kernel of an operator: what one writes first, and what a schedule has to beat."""

from __future__ import annotations

from math import prod

from workbench.ir import Const, PrimFunc
from workbench.ir.places import places
from workbench.schedule import BlockHandle, Schedule

THREADS = 128  # of a block, four warps, where there are as many cells


def naive(program: PrimFunc) -> Schedule:
    """A schedule of `program` in which each stage is a kernel, with a thread for each of its cells.

    A sum stays in its thread's register until it is done; all else stays in the memory that the
    program has it in. Raises ScheduleError for a program in which threads would meet in a cell.

    >>> wb.build(lesson.naive(add)).kernels[0].name
    'add_kernel'
    """
    sch = Schedule(program)
    for block in sch.get_blocks():
        _bind(sch, block)
    return sch


def _bind(sch: Schedule, block: BlockHandle) -> None:
    realize = places(sch.func).blocks[block.key]
    stage = realize.block
    kinds = {
        value: iterator.kind
        for value, iterator in zip(realize.iter_values, stage.iter_vars, strict=True)
    }
    near = {"spatial", "reduce"} <= set(kinds.values()) and len(stage.writes) == 1
    copy = sch.cache_write(block, 0, "local") if near else None
    loops = sch.get_loops(block)
    own = [loop for loop in loops if kinds[loop.key] == "spatial"]
    cells = sch.fuse(*own) if own else sch.add_unit_loop(loops[0] if loops else block)
    count = prod(
        int(iterator.dom.extent.value)
        for iterator in stage.iter_vars
        if iterator.kind == "spatial" and isinstance(iterator.dom.extent, Const)
    )
    outer, inner = sch.split(cells, factors=[None, min(THREADS, count)])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    if copy is not None:
        sch.reverse_compute_at(copy, inner)
    if stage.init is not None:
        sch.decompose_reduction(block, next(one for one in loops if kinds[one.key] == "reduce"))
