"""from_l2: what loads bring from L2, where an L1 cache has what blocks beside them have loaded.

Blocks are given out one by one to the multiprocessors in turn, so that those that are on one at a
time are as many numbers apart as there are multiprocessors. Its L1 cache is taken to hold all that
they load.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from workbench.access.accesses import by_buffer
from workbench.insight.accesses import Access
from workbench.insight.cells import touched_by
from workbench.insight.demands import Demand, bytes_of
from workbench.insight.sectors import SECTOR
from workbench.ir import Kernel, dtypes

MOST = 8  # blocks that are looked at


def from_l2(
    kernel: Kernel, asked: Sequence[Demand], room: int, multiprocessors: int
) -> tuple[Demand, ...]:
    """`asked` with the bytes that come from L2 in the place of those that loads ask for.

    A multiprocessor has room for so many blocks at a time.
    """
    together = _together(kernel, room, multiprocessors)
    loads = {d.access: d for d in asked if d.resource == "L2" and not d.access.writes}
    share: dict[Access, float] = {}
    for found in by_buffer(loads).values():
        wanted = sum(loads[access].amount for access in found)
        brought = SECTOR * _sectors(found, together) * prod(kernel.grid) / len(together)
        share |= dict.fromkeys(found, min(1.0, brought / max(wanted, 1.0)))
    return tuple(_brought(asked, share))


def _brought(asked: Sequence[Demand], share: dict[Access, float]) -> Iterator[Demand]:
    for demand in asked:
        if demand.resource != "L2" or demand.access not in share:
            yield demand
            continue
        amount = demand.amount * share[demand.access]
        least = min(amount, bytes_of(demand.access.buffer))
        yield replace(demand, amount=amount, least=least)


def _together(kernel: Kernel, room: int, multiprocessors: int) -> list[tuple[int, int, int]]:
    """The blocks of one multiprocessor in the middle of the launch, as (x, y, z)."""
    x, y, _ = kernel.grid
    blocks = prod(kernel.grid)
    many = max(1, min(room, blocks // multiprocessors, MOST))
    first = max(0, min(blocks // 2, blocks - 1 - (many - 1) * multiprocessors))
    numbers = range(first, first + many * multiprocessors, multiprocessors)
    return [(n % x, n // x % y, n // (x * y)) for n in numbers]


def _sectors(loads: Sequence[Access], blocks: Sequence[tuple[int, int, int]]) -> int:
    """How many sectors `loads` of one array touch in any of `blocks`."""
    buffer = loads[0].buffer
    size = dtypes.itemsize(buffer.type)
    touched = np.zeros(-(-bytes_of(buffer) // SECTOR), dtype=bool)
    for load in loads:
        for block in blocks:
            at = dict(zip(("blockIdx.x", "blockIdx.y", "blockIdx.z"), block, strict=True))
            parts = touched_by(load, {x.var: at[x.name] for x in load.loops if x.name in at}).parts
            for _, (cells,) in parts:
                sectors = cells * size // SECTOR
                touched[sectors[(sectors >= 0) & (sectors < len(touched))]] = True
    return int(touched.sum())
