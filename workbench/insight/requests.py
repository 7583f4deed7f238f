"""requests: what the warps of a kernel ask of memory, one request at a time, the worst first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from workbench.insight.accesses import Access, kind_of
from workbench.insight.chosen_values import Selection, chosen_values
from workbench.insight.kinds import Examples, UnknownError, examples_of_requests
from workbench.insight.page import Point
from workbench.insight.sectors import SECTOR, sectors
from workbench.insight.spread import holding, value
from workbench.insight.warp_requests import requested
from workbench.insight.warps import IDLE, distinct, in_warps, lane_bytes, text_of, threads_of
from workbench.insight.wavefronts import BANKS, WARP, WORD, lanes_together, wavefronts
from workbench.ir import THREAD_AXES, Kernel, Ramp, dtypes, once

WARPS, ELEMENT = "warp", "element"  # axes beside the loops: of a block, and of a strided vector


@dataclass(frozen=True, slots=True)
class Lanes:
    """One request: what each of the 32 lanes of a warp wants at once.

    `addresses` are bytes from the start of the buffer, None where a lane is idle; a lane moves
    `bytes_per_lane`. `threads` are those of the lanes, None beyond the last of a block. `cost` is
    sectors of 32 bytes (global memory) or wavefronts (shared), `least` what the same bytes would
    take at best.
    """

    addresses: tuple[int | None, ...]
    bytes_per_lane: int
    writes: bool
    block: Point
    threads: tuple[Point | None, ...]
    cost: int
    least: int


@dataclass(frozen=True, slots=True)
class Alike:
    """The requests of an access that take as much: how many sectors or wavefronts, and how many.

    `at` is where one of them is made, the one that takes most beyond need.
    """

    at: Mapping[str, int]
    cost: int
    count: int


class Example(NamedTuple):
    """Requests that differ by a shift alone, which serves them alike; one is made `at` a place.

    `lanes` are its addresses, from the last multiple of the period below all of them on.
    """

    at: Mapping[str, int]
    lanes: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Requests:
    """All requests that an access of a kernel makes.

    `axes` says how many values each axis has that numbers them, in the order of time: blocks,
    warps, turns of loops. `costs` has those that take as much together, first those of which one
    takes most beyond need. `cost` and `least` are what all `count` take, and would at best,
    `wanted` the bytes that they ask for, each once a request.
    """

    kernel: Kernel
    access: Access
    axes: Mapping[str, int]
    costs: tuple[Alike, ...]
    count: int
    cost: int
    least: int
    wanted: int

    @property
    def worst(self) -> Mapping[str, int]:
        """Where a request takes most beyond need."""
        return self.costs[0].at

    @property
    def worst_cost(self) -> int:
        """What that takes."""
        return self.costs[0].cost

    @property
    def alike(self) -> int:
        """How many take as much."""
        return self.costs[0].count

    @property
    def excess(self) -> int:
        """What all take beyond the least."""
        return self.cost - self.least

    @property
    def which(self) -> str:
        """The worst request, in words: "Each of 64 reads of A", "A read of A at warp 1"."""
        if self.alike == self.count > 1:
            return f"Each of {self.count:,} {self.kind}s of {self.buffer}"
        if self.count == 1:
            return f"The only {self.kind} of {self.buffer}"
        at = ", ".join(f"{axis} = {n:,}" for axis, n in self.worst.items())
        of = f"one of {self.alike:,} alike of {self.count:,}"
        return f"The worst {self.kind} of {self.buffer} (at {at}; {of})"

    @property
    def buffer(self) -> str:
        return self.access.buffer.name

    @property
    def kind(self) -> str:
        """What it does: "read" or "write"."""
        return kind_of(self.access)

    @property
    def text(self) -> str:
        """The access as it stands in the kernel."""
        return text_of(self.access)

    @property
    def extents(self) -> dict[str, int]:
        """How many values each axis has that can be chosen: threads, too, which name a warp."""
        sizes = zip(THREAD_AXES, (*self.kernel.grid, *self.kernel.block), strict=True)
        return {**dict(sizes), WARPS: -(-prod(self.kernel.block) // WARP), **self.axes}

    def chosen(self, select: Selection) -> tuple[dict[str, int], int | None]:
        """Where a selection of blocks, threads, warps and turns has a request, and its lane.

        What it does not choose is where the worst is; no lane where it chooses no thread, or one
        of another warp. Raises ValueError for an axis or a value that there is not.
        """
        wanted = chosen_values(self.extents, select)
        thread = [wanted.get(f"threadIdx.{axis}") for axis in "xyz"]
        if thread == [None] * 3:
            return {**self.worst, **{k: n for k, n in wanted.items() if k in self.axes}}, None
        x, y, z = (number or 0 for number in thread)
        wide, high, _ = self.kernel.block
        warp, lane = divmod(x + wide * (y + high * z), WARP)
        other = wanted.setdefault(WARPS, warp) != warp
        at = {**self.worst, **{k: n for k, n in wanted.items() if k in self.axes}}
        return at, None if other else lane

    @property
    def period(self) -> int:
        """The bytes by which a shift, however often, serves a request as before."""
        return WORD if self.access.buffer.scope == "shared" else SECTOR

    def examples(self, most: int) -> list[Example]:
        """One of each kind, those that are made most often first, at most so many."""
        every = examples_of_requests(self.kernel, self.access)
        base = np.where(every.table == IDLE, np.iinfo(np.int64).max, every.table).min(axis=1)
        base = base // self.period * self.period
        table = np.where(every.table == IDLE, IDLE, every.table - base[:, None])
        rows, first, kind = np.unique(table, axis=0, return_index=True, return_inverse=True)
        times = np.zeros(len(rows), np.int64)
        np.add.at(times, kind.reshape(-1), every.times)
        known = _turns(self.access, every)
        chosen = np.argsort(-times, kind="stable")[:most].tolist()
        return [
            Example(
                _place(self.axes, known, int(first[k])),
                tuple(None if a == IDLE else int(a) for a in rows[k].tolist()),
            )
            for k in chosen
        ]

    def lanes(self, at: Mapping[str, int]) -> Lanes:
        """The request that is made where its axes have the values `at`."""
        table, width = _row(self.kernel, self.access, at), lane_bytes(self.access)
        x, y, _ = self.kernel.block
        first = at.get(WARPS, 0) * WARP
        numbers = range(first, min(first + WARP, prod(self.kernel.block)))
        threads = [(n % x, n // x % y, n // (x * y)) for n in numbers]
        cost, least = _costs(self.access, table)
        return Lanes(
            tuple(None if a == IDLE else int(a) for a in table[0].tolist()),
            width,
            self.access.writes,
            tuple(at.get(f"blockIdx.{axis}", 0) for axis in "xyz"),
            (*threads, *[None] * (WARP - len(threads))),
            int(cost[0]),
            int(least[0]),
        )


def requests_of(kernels: Sequence[Kernel], scope: str) -> tuple[tuple[Requests, ...], list[str]]:
    """The requests of each access to memory of that `scope`, "global" or "shared".

    They are told in program order. Those that data or sizes decide, or that are too many to look
    at, are left out, as they stand in the kernel.
    """
    made = [one for kernel in kernels for one in _of_kernel(kernel, scope)]
    found = tuple(one for one in made if isinstance(one, Requests))
    return found, [one for one in made if isinstance(one, str)]


def worst_of(found: Sequence[Requests]) -> int:
    """Which of the accesses is to be looked at first: whose requests take most beyond need."""
    return max(range(len(found)), key=lambda k: (found[k].excess, found[k].worst_cost))


@once
def _of_kernel(kernel: Kernel, scope: str) -> list[Requests | str]:
    wanted = (access for access in requested(kernel) if access.buffer.scope == scope)
    return [made for access in wanted if (made := _requests(kernel, access)) is not None]


def _requests(kernel: Kernel, access: Access) -> Requests | str | None:
    """None where no lane is ever awake."""
    try:
        every = examples_of_requests(kernel, access)
    except UnknownError:
        return text_of(access)
    if not len(every.table):
        return None
    cost, least = _costs(access, every.table)
    turns, axes = _turns(access, every), _axes(kernel, access)
    first: dict[int, int] = {}  # of each cost, the row that takes most beyond need
    for row in np.lexsort([-cost, least - cost]).tolist():
        first.setdefault(int(cost[row]), row)
    costs = [
        Alike(
            _place(axes, turns, row),
            number,
            int(every.times[cost == number].sum()),
        )
        for number, row in first.items()
    ]
    return Requests(
        kernel,
        access,
        axes,
        tuple(costs),
        int(every.times.sum()),
        int((cost * every.times).sum()),
        int((least * every.times).sum()),
        int((distinct(every.table) * lane_bytes(access) * every.times).sum()),
    )


def _turns(access: Access, every: Examples) -> dict[str, Any]:
    """Of each axis that they tell, where each of the examples is."""
    turns = {x.name: every.turns[x.var] for x in access.loops if x.var in every.turns}
    return turns | {WARPS: every.warps, ELEMENT: every.elements}


def _place(axes: Mapping[str, int], turns: Mapping[str, Any], row: int) -> dict[str, int]:
    """Where one of the examples is."""
    return {axis: int(turns[axis][row]) if axis in turns else 0 for axis in axes}


def _axes(kernel: Kernel, access: Access) -> dict[str, int]:
    """What numbers the requests, outermost first; what has one value is left out."""
    extents = {f"blockIdx.{axis}": size for axis, size in zip("xyz", kernel.grid, strict=True)}
    extents[WARPS] = -(-prod(kernel.block) // WARP)
    extents |= {x.name: x.extent for x in access.loops if x.role not in ("block", "thread")}
    index = access.indices[0]
    extents[ELEMENT] = index.lanes if isinstance(index, Ramp) and index.stride != 1 else 1
    return {axis: size for axis, size in extents.items() if size > 1}


def _row(kernel: Kernel, access: Access, at: Mapping[str, int]) -> Any:
    """The byte address of each lane of the request that is made there, in a table of one row."""
    index = access.indices[0]
    base = index.base if isinstance(index, Ramp) else index
    threads = threads_of(kernel)
    env = {x.var: np.int64(at.get(x.name, 0)) for x in access.loops if x.role != "thread"}
    env |= threads
    shape = (1, prod(kernel.block))
    size = dtypes.itemsize(access.buffer.type)
    address = np.broadcast_to(np.asarray(value(base, env)), shape).astype(np.int64) * size
    keep = holding(access.guards, env, shape)
    table, _ = in_warps(index, np.where(keep, address, IDLE), size, WARP)
    warps = -(-prod(kernel.block) // WARP)
    row = at.get(ELEMENT, 0) * warps + at.get(WARPS, 0)
    return table[row : row + 1]


def _costs(access: Access, table: Any) -> tuple[Any, Any]:
    """What each request takes, and what its bytes would take at best."""
    width = lane_bytes(access)
    if access.buffer.scope == "global":
        return sectors(table, width), -(-distinct(table) * width // SECTOR)
    cost = wavefronts(table, width, writes=access.writes)
    together = lanes_together(table, width, writes=access.writes)
    least = np.zeros(len(table), np.int64)
    for lanes in np.unique(together).tolist():
        rows = together == lanes
        groups = table[rows].reshape(-1, lanes)
        words = distinct(np.where(groups == IDLE, IDLE, groups // max(WORD, width)))
        words = -(-words * max(1, width // WORD) // BANKS)
        least[rows] = words.reshape(-1, WARP // lanes).sum(axis=1)
    return cost, least
