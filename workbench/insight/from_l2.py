"""from_l2: what loads bring from L2, where an L1 cache has what blocks beside them have loaded.

Blocks are given out one by one to the multiprocessors in turn, so that those that are on one at a
time are as many numbers apart as there are multiprocessors. What they load in common comes once,
as far as the L1 cache has room for all that they load. They do not go in step: of what it has no
room for, each brings a part for itself.
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
ALONE = 0.25  # of that part; fits recorded convolutions whose blocks share more than L1 holds


def from_l2(
    kernel: Kernel, asked: Sequence[Demand], room: int, multiprocessors: int, l1_bytes: int
) -> tuple[Demand, ...]:
    """`asked` with the bytes that come from L2 in the place of those that loads ask for.

    A multiprocessor has room for so many blocks at a time, and for `l1_bytes` in its L1 cache.
    """
    asked = [*_own(kernel, asked, room, l1_bytes)]
    together = _together(kernel, room, multiprocessors)
    far = (d for d in asked if d.resource == "L2" and d.access.buffer.scope == "global")
    loads = {d.access: d for d in far if not d.access.writes}
    groups = [*by_buffer(loads).values()]
    shared = [SECTOR * _sectors(found, together) / len(together) for found in groups]
    most = sum(shared) * max(room, len(together))
    beyond = ALONE * max(0.0, 1 - l1_bytes / max(most, 1.0))
    share: dict[Access, float] = {}
    for found, each in zip(groups, shared, strict=True):
        if beyond and len(together) > 1:
            each += beyond * (SECTOR * _sectors(found, together[:1]) - each)
        wanted = sum(loads[access].amount for access in found)
        brought = each * prod(kernel.grid)
        share |= dict.fromkeys(found, min(1.0, brought / max(wanted, 1.0)))
    return tuple(_brought(asked, share))


def _own(kernel: Kernel, asked: Sequence[Demand], room: int, l1_bytes: int) -> Iterator[Demand]:
    """`asked`, of local memory as much as L1 has no room for: stores stay there, too."""
    own = {d.access.buffer for d in asked if d.access.buffer.scope == "local"}
    kept = room * prod(kernel.block) * sum(map(bytes_of, own))
    beyond = max(0.0, 1 - l1_bytes / kept) if kept else 0.0
    for demand in asked:
        local = demand.resource == "L2" and demand.access.buffer.scope == "local"
        yield replace(demand, amount=demand.amount * beyond, least=0.0) if local else demand


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
