"""Pieces of a launch: the blocks that run together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TypeAlias

import numpy as np

from workbench.emulate.plan import Blocks, Plan

OWN = 1 << 26  # bytes of shared and local memory of the blocks that run together

Box: TypeAlias = "tuple[int, int, int]"


def together(plan: Plan, numbers: Sequence[int], lanes: int) -> int:
    """How many of the blocks `numbers` run at a time: one, or with up to `lanes` lanes."""
    room = min(lanes // plan.lanes_per_block, OWN // max(1, plan.own_bytes))
    return max(1, min(room, len(numbers)))


def pieces(plan: Plan, numbers: Sequence[int], lanes: int) -> Iterator[Blocks]:
    """The blocks `numbers` in turn, as many at a time as `together` says."""
    room = together(plan, numbers, lanes)
    if not isinstance(numbers, range):
        for start in range(0, len(numbers), room):
            part = np.asarray(numbers[start : start + room])
            yield Blocks(part, start, None, (1, 1, len(part)))
        return
    start, end = numbers[0], numbers[0] + len(numbers)
    while start < end:
        origin, counts = _box(plan.kernel.grid, start, min(end - start, room))
        box = np.arange(start, start + prod(counts))
        yield Blocks(box, start - numbers[0], origin, counts)
        start += len(box)


def _box(grid: tuple[int, int, int], start: int, most: int) -> tuple[Box, Box]:
    """The largest box of at most `most` blocks that holds `start` and those right after it.

    Its origin and counts along z, y, x.
    """
    x, y, _ = grid
    at = start // (x * y), start // x % y, start % x
    if at[1:] == (0, 0) and most >= x * y:
        counts = (most // (x * y), y, x)
    elif at[2] == 0 and most >= x:
        counts = (1, min(most // x, y - at[1]), x)
    else:
        counts = (1, 1, min(most, x - at[2]))
    return at, counts
