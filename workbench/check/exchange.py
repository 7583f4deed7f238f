"""How threads that share a sum out put their parts together, and the shared memory that it takes.

Threads of a warp read each other's registers: where those that share one sum are neighbours and a
power of two, they exchange parts pairwise, and then all have the sum. Whole warps do that first
each for itself, leave one part a warp in shared memory, wait once, and exchange those. Any others
leave all parts in shared memory and add them up from there: all at once where they are a warp at
most, else as many as a warp has threads first add up a share each.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from operator import attrgetter
from typing import Literal

from workbench.access.cross_thread import Reduction, reduction_around
from workbench.check.kernels import Nest, extent_of, nests
from workbench.ir import BlockRealize, PrimFunc
from workbench.ir.dtypes import itemsize
from workbench.ir.places import within
from workbench.target import Target


@dataclass(frozen=True, slots=True)
class Exchange:
    """`parts` of each sum, held by `groups` groups of threads; `how` they meet.

    "lanes": registers of one warp; "warps": registers, then shared memory, then registers;
    "memory": shared memory. `width` is how many parts are left after the first round.
    """

    how: Literal["lanes", "warps", "memory"]
    parts: int
    groups: int
    width: int


def exchange(found: Reduction, nest: Nest, target: Target) -> Exchange:
    """How the threads that share out `found`, in the kernel `nest`, put their parts together."""
    mine = {loop.thread: extent_of(loop) for loop in found.threads}
    parts = prod(mine.values())
    groups = nest.threads // parts
    used = [axis for axis in ("threadIdx.x", "threadIdx.y", "threadIdx.z") if nest.size(axis) > 1]
    inner = used[: len([axis for axis in used if axis in mine])]
    assert found.update is not None
    axes = [loop.thread or "" for loop in found.threads]
    in_order = not found.update.ordered or axes == sorted(axes)[::-1]
    # their numbers follow each other
    neighbours = in_order and all(axis in mine for axis in inner)
    warp = target.warp_size
    if neighbours and _moves(found, target):
        if warp % parts == 0:
            return Exchange("lanes", parts, groups, 1)
        if parts % warp == 0 and parts <= warp * warp:
            return Exchange("warps", parts, groups, parts // warp)
    return Exchange("memory", parts, groups, min(parts, warp))


def _moves(found: Reduction, target: Target) -> bool:
    """Whether threads of a warp can read such values from each other."""
    assert found.update is not None
    return all(itemsize(b.type) <= target.max_shuffle_bytes for b in found.update.buffers)


def exchanged_alike(func: PrimFunc, one: Target, other: Target) -> bool:
    """Whether all sums of `func` that threads share out are put together alike on both targets."""
    asked = attrgetter("warp_size", "max_shuffle_bytes")
    return asked(one) == asked(other) or not any(map(shared_out, nests(func)))


def shared_out(nest: Nest) -> list[Reduction]:
    """The sums of a kernel that its threads share out."""
    blocks = (s for s in within(nest.stmt) if isinstance(s, BlockRealize))
    found = (reduction_around(nest.known, realize) for realize in blocks)
    return [one for one in found if one and one.threads and not one.why_not(nest.dom)]
