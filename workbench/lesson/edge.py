"""Threads beyond the edge of the output: how many are idle, and their loads, told as a hint."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from workbench import insight
from workbench.diag import count_text
from workbench.insight.cells import executions
from workbench.insight.idle import global_accesses, storing_threads, threads
from workbench.ir import PrimFunc
from workbench.lesson.goals import Measure, counts, kernels


def at_most_idle(most: int, why: str) -> Measure:
    """A thread for each cell of the output, and few that store none."""

    def found(func: PrimFunc) -> tuple[bool, str]:
        total = sum(prod(kernel.grid) * prod(kernel.block) for kernel in kernels(func))
        cells = prod(func.params[-1].shape)
        # where there are far too many, they are not gone through one by one
        idle = total - (cells if total > cells + most else storing_threads(kernels(func)))
        there = f"{count_text(total, 'thread')} for {count_text(cells, 'cell')}"
        return total - idle >= cells and idle <= most, f"{there}, {idle} idle"

    return Measure(f"a thread for each cell, at most {most} idle", found, why)


def idle_threads(func: PrimFunc) -> int:
    """How many threads store nothing to global memory."""
    return insight.idle_threads(kernels(func))


def fetching_again(func: PrimFunc) -> int:
    """How many threads of the first block load more than one element of global memory."""
    number = 0
    for kernel in kernels(func):
        loads, _ = global_accesses(kernel)
        blocks = [var for axis, var in kernel.axes if axis.startswith("block")]
        for thread in threads(kernel):
            if not any(thread[var] for var in blocks):
                number += sum(executions(load, thread) for load in loads) > 1
    return number


def edge_first(hint: str, each: float, cells: int) -> Callable[[PrimFunc], str]:
    """`hint`, after what the edge costs; without it where the edge alone misses the goal.

    The goal is at most `each` global loads for each of the output's `cells`.
    """

    def say(func: PrimFunc) -> str:
        loads = counts(func).traffic[0].loads
        idle = loads_without_output(func)
        if not idle:
            return hint
        cost = (
            f"{idle:,} of the {loads:,} loads are made by threads that have no output"
            f"{_cover(func)}. Take tiles that reach less far over the edge."
        )
        return cost if loads - idle <= each * cells else f"{cost} {hint}"

    return say


def loads_without_output(func: PrimFunc) -> int:
    """How many elements of global memory are loaded by threads that store none there.

    None of those of a kernel with shared memory: what a thread fetches there serves others.
    """
    number = 0
    for kernel in kernels(func):
        if any(buffer.scope == "shared" for buffer in kernel.allocs):
            continue
        loads, stores = global_accesses(kernel)
        for thread in threads(kernel):
            if not any(executions(store, thread) for store in stores):
                number += sum(executions(load, thread) for load in loads)
    return number


def _cover(func: PrimFunc) -> str:
    """How far blocks like the first reach, where its outputs are one box from the first cell."""
    (output,) = (t for t in insight.tiles(func, {"block": (0, 0, 0)}).tiles if _is_output(t))
    (touch,) = (t for t in output.touches if t.access == "write")
    if not touch.exact or any((start, step) != (0, 1) for start, _, step in touch.region):
        return ""
    tile = [count for _, count, _ in touch.region]
    covered = [-(-size // count) * count for size, count in zip(output.shape, tile, strict=True)]
    return (
        f": blocks of {_by(tile)} outputs cover {_by(covered)} cells, and there are "
        f"{_by(output.shape)}"
    )


def _is_output(tile: insight.Tile) -> bool:
    return tile.scope == "global" and any(t.access == "write" for t in tile.touches)


def _by(sizes: object) -> str:
    assert isinstance(sizes, (list, tuple))
    return " x ".join(map(str, sizes))
