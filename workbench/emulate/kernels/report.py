"""What the emulator says when it refuses: who, where, which cell, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.diag import Refusal
from workbench.emulate.expressions import Site
from workbench.emulate.kernels.copies import Copy
from workbench.emulate.kernels.shadow import Race
from workbench.ir import BufferStore, Call, For, Kernel, Node


class Who:
    """Names threads and blocks of one kernel as a learner does."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def thread(self, number: int) -> str:
        """``thread 5``, or ``thread (x=1, y=2)`` where blocks have several dimensions."""
        return _name_unit("thread", number, self.kernel.block)

    def block(self, number: int) -> str:
        """``block 1``, or ``block (x=1, y=2)`` where the grid has several dimensions."""
        return _name_unit("block", number, self.kernel.grid)

    def lane(self, block: int, thread: int) -> str:
        """``block 1, thread 5``."""
        return f"{self.block(block)}, {self.thread(thread)}"


def _name_unit(kind: str, number: int, sizes: tuple[int, int, int]) -> str:
    x, y, _ = sizes
    place = zip("xyz", (number % x, number // x % y, number // (x * y)), sizes, strict=True)
    parts = [f"{axis}={k}" for axis, k, size in place if size > 1]
    return f"{kind} ({', '.join(parts)})" if len(parts) > 1 else f"{kind} {number}"


def name_cell(site: Site, cell: int) -> str:
    """``S[5]``: the cell of a flat buffer."""
    return f"{site.buffer.name}[{cell}]"


def _act(site: Site) -> str:
    return "write" if isinstance(site, BufferStore) else "read"


def out_of_bounds(site: Site, size: int, cell: int, lane: str) -> Refusal:
    """A lane touches a cell that the buffer, of `size` cells, does not have."""
    act, name = _act(site), name_cell(site, cell)
    return Refusal(
        f"Can't {act} {name}: {site.buffer.name} has cells 0 to {size - 1}",
        site,
        detail=f"{lane} would {act} {name}",
        hint="guard the access with a condition, or make the loops stay inside the buffer.",
    )


def misaligned(site: Site, width: int, cell: int, lane: str) -> Refusal:
    """A vector of `width` elements does not start at a multiple of its length."""
    return Refusal(
        f"Can't {_act(site)} {width} elements at once from {name_cell(site, cell)}: "
        f"{cell} is not a multiple of {width}",
        site,
        detail=f"{lane} starts its vector there",
        hint=f"make rows and offsets multiples of {width}, or do not vectorize this loop.",
    )


def shuffle_apart(call: Call, width: int) -> Refusal:
    """Some of `width` neighbours exchange values, while others of them do not come."""
    return Refusal(
        f"Can't exchange values among {width} threads: some of them do not come",
        call,
        detail="threads of a warp read each other's registers only where all of them run the "
        "exchange together",
        hint="make the condition around it the same for all of them.",
    )


def warp_apart(loop: For) -> Refusal:
    """A call of a warp to which only some of its threads come."""
    return Refusal(
        "Can't make a call of a warp: some of its threads do not come",
        loop,
        detail="the threads of a warp hold a tile together; where some are missing, nobody knows "
        "what the others get",
        hint="make the condition around it the same for all threads of a warp.",
    )


_UNWRITTEN = {  # by scope: where the cell lies, and what to do
    "shared": (
        "in its block's shared memory",
        "every cell that is read must be fetched first; is the fetch too short?",
    ),
    "local": (
        "in its own local memory",
        "set it before the loop that adds to it (decompose_reduction keeps the init).",
    ),
}


def unwritten(site: Site, cell: int, lane: str) -> Refusal:
    """A lane reads what nothing wrote."""
    name, scope = name_cell(site, cell), site.buffer.scope
    other = (f"in {scope} memory", "run the kernel that writes it first.")
    where, hint = _UNWRITTEN.get(scope, other)
    return Refusal(
        f"Can't read {name}: nothing has written it",
        site,
        detail=f"{lane} reads {name}, {where}, before any write",
        hint=hint,
    )


def under_way(
    site: Site,
    copy: Copy,
    cell: int,
    who: tuple[str, str],
    turn: str,
    left: int | None,
    *,
    source: bool,
) -> Refusal:
    """A lane touches a cell to which a copy is under way, or writes one that a copy reads.

    `who` are the lane and the thread that copies; `left` how many groups the last wait left.
    """
    act, name = _act(site), name_cell(site, cell)
    if isinstance(site, BufferStore) and site.is_async:
        act = "copy to"
    what = "a copy from it" if source else "a copy into it"
    began = f" in turn {copy.turn}" if copy.turn else ""
    group = f"in its group {copy.group}, and has not waited since"
    hint = "wait until fewer groups are under way, and let a barrier follow the wait; or give the "
    hint += "buffer one copy more."
    if not np.any(copy.committed):
        group = "and no group has been committed since, so that no wait is for it"
        hint = "commit it to a group before the wait."
    elif left is not None:
        group = f"in its group {copy.group}; its last wait left {left} of its groups under way"
    return Refusal(
        f"Can't {act} {name}: {what} is under way, and nobody has waited for it",
        *dict.fromkeys((copy.store, site)),
        detail=f"{who[0]} would {act} {name}{f' in turn {turn}' if turn else ''}; {who[1]} began "
        f"the copy{began} {group}",
        hint=hint,
    )


def torn_barrier(at: Node, block: str, inside: str, outside: str) -> Refusal:
    """Part of a block comes to a barrier, the rest never does."""
    return Refusal(
        f"Can't pass the barrier: only part of {block} reaches it",
        at,
        detail=f"{inside} waits there, {outside} never comes: "
        "on a GPU the block hangs, or goes on with wrong data",
        hint="move the barrier out of the condition, so that every thread of the block meets it.",
    )


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where two threads of a block, by their numbers, met: at which sites, on which cell."""

    block: int
    threads: tuple[int, int]
    sites: tuple[Site, Site]
    cell: int


class Met(Refusal):
    """A race of two threads of a block; `meeting` is set by who raises it."""

    meeting: Meeting


def race_in_block(race: Race, block: str, *who: str) -> Met:
    """Two threads of one block touch a cell with no barrier between."""
    sites = _sites_of(race)
    acts = [f"{_act(site)}s" for site in (race.first[1], race.second[1])]
    name = name_cell(sites[-1], race.cell)
    kind = "both write" if acts == ["writes", "writes"] else "one writes and one reads"
    met = f"two threads of a block meet there, {kind}, no barrier between"
    if isinstance(first := sites[0], BufferStore) and first.is_async and "reads" in acts:
        met = "a thread reads what another one copied, no barrier behind the wait of that one"
    alone = "two threads do the same work: let each write cells of its own."
    return Met(
        f"Race on {name}: {met}",
        *sites,
        detail=f"in {block}, {who[0]} {acts[0]} {name} and {who[1]} {acts[1]} it",
        hint=alone if len(sites) == 1 else "a barrier between the two places is missing.",
    )


def race_between_blocks(race: Race, first: str, second: str) -> Refusal:
    """Two blocks touch a cell of global memory; nothing orders blocks."""
    sites = _sites_of(race)
    name = name_cell(sites[-1], race.cell)
    acts = [f"{_act(site)}s" for site in (race.first[1], race.second[1])]
    return Refusal(
        f"Race on {name}: two blocks meet there, and nothing orders blocks of one kernel",
        *sites,
        detail=f"{first} {acts[0]} {name} and {second} {acts[1]} it",
        hint="give each block cells of its own, or make two kernels of it.",
    )


def _sites_of(race: Race) -> list[Site]:
    """The sites at which both sides touch the cell, each once."""
    return list(dict.fromkeys((race.first[1], race.second[1])))


def different_values(
    store: BufferStore, cell: int, first: tuple[str, Any], second: tuple[str, Any]
) -> Refusal:
    """Several lanes write one cell with different bits: (lane, value) of two of them."""
    return Refusal(
        f"Race on {name_cell(store, cell)}: several threads write it, with different values",
        store,
        detail=f"{first[0]} writes {first[1]} there and {second[0]} writes {second[1]}: "
        "which of them stays is chance",
        hint="let one thread write each cell: bind or split the loop that repeats the write.",
    )
