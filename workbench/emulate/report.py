"""What the emulator says when it refuses: who, where, which cell, and what is missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.diag import Refusal
from workbench.emulate.plan import Frame
from workbench.emulate.shadow import Race
from workbench.ir import BufferLoad, BufferStore, Kernel, Node


class Who:
    """Names threads and blocks of one kernel as a learner does."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def thread(self, number: int) -> str:
        """``thread 5``, or ``thread (x=1, y=2)`` where blocks have several dimensions."""
        return _place("thread", number, self.kernel.block)

    def block(self, number: int) -> str:
        """``block 1``, or ``block (x=1, y=2)`` where the grid has several dimensions."""
        return _place("block", number, self.kernel.grid)


def _place(unit: str, number: int, sizes: tuple[int, int, int]) -> str:
    used = [axis for axis, size in zip("xyz", sizes, strict=True) if size > 1]
    if len(used) <= 1:
        return f"{unit} {number}"
    parts = []
    for axis, size in zip("xyz", sizes, strict=True):
        if axis in used:
            parts.append(f"{axis}={number % size}")
        number //= size
    return f"{unit} ({', '.join(parts)})"


def cell_name(access: BufferLoad | BufferStore, cell: int) -> str:
    """``S[5]``: the cell of a flat buffer."""
    return f"{access.buffer.name}[{cell}]"


def out_of_bounds(
    who: Who, access: BufferLoad | BufferStore, cell: int, size: int, block: int, thread: int
) -> Refusal:
    """A lane touches a cell that the buffer does not have."""
    act = "write" if isinstance(access, BufferStore) else "read"
    name = access.buffer.name
    return Refusal(
        f"Can't {act} {cell_name(access, cell)}: {name} has cells 0 to {size - 1}",
        access,
        detail=f"{who.block(block)}, {who.thread(thread)} would {act} {cell_name(access, cell)}",
        hint="guard the access with a condition, or make the loops stay inside the buffer.",
    )


def misaligned(
    who: Who, access: BufferLoad | BufferStore, cell: int, width: int, block: int, thread: int
) -> Refusal:
    """A vector does not start at a multiple of its length."""
    act = "write" if isinstance(access, BufferStore) else "read"
    return Refusal(
        f"Can't {act} {width} elements at once from {cell_name(access, cell)}: "
        f"{cell} is not a multiple of {width}",
        access,
        detail=f"{who.block(block)}, {who.thread(thread)} starts its vector there",
        hint=f"make rows and offsets multiples of {width}, or do not vectorize this loop.",
    )


def unwritten(who: Who, access: BufferLoad, cell: int, block: int, thread: int) -> Refusal:
    """A lane reads what nothing wrote."""
    name = cell_name(access, cell)
    missing = {
        "shared": "every cell that is read must be fetched first; is the fetch too short?",
        "local": "set it before the loop that adds to it (decompose_reduction keeps the init).",
    }.get(access.buffer.scope, "run the kernel that writes it first.")
    return Refusal(
        f"Can't read {name}: nothing has written it",
        access,
        detail=f"{who.block(block)}, {who.thread(thread)} reads {name}, "
        f"{_level(access)}, before any write",
        hint=missing,
    )


def _level(access: BufferLoad | BufferStore) -> str:
    scope = access.buffer.scope
    return {"shared": "in its block's shared memory", "local": "in its own local memory"}.get(
        scope, f"in {scope} memory"
    )


def divided_by_zero(who: Who, at: Node, block: int, thread: int) -> Refusal:
    """A lane divides an integer by zero."""
    return Refusal(
        "Can't divide an integer by zero",
        at,
        detail=f"{who.block(block)}, {who.thread(thread)} divides by 0",
        hint="keep the divisor away from 0, for instance with T.if_then_else.",
    )


def torn_barrier(who: Who, at: Node, block: int, inside: int, outside: int) -> Refusal:
    """Part of a block comes to a barrier, the rest never does."""
    return Refusal(
        f"Can't pass the barrier: only part of {who.block(block)} reaches it",
        at,
        detail=f"{who.thread(inside)} waits there, {who.thread(outside)} never comes: "
        "on a GPU the block hangs, or goes on with wrong data",
        hint="move the barrier out of the condition, so that every thread of the block meets it.",
    )


def race(who: Who, found: Race, block: int, thread: int, other: int) -> Refusal:
    """Two threads of one block touch a cell with no barrier between."""
    first, second = found.first[1], found.second[1]
    name = cell_name(second, found.cell)
    acts = [_act(first), _act(second)]
    kind = "both write" if acts == ["writes", "writes"] else "one writes and one reads"
    return Refusal(
        f"Race on {name}: two threads of a block meet there, {kind}, no barrier between",
        *((first, second) if first is not second else (first,)),
        detail=f"in {who.block(block)}, {who.thread(other)} {acts[0]} {name} "
        f"and {who.thread(thread)} {acts[1]} it",
        hint=_race_hint(first, second, "a barrier between the two places is missing"),
    )


def race_between_blocks(who: Who, found: Race, other: int, block: int) -> Refusal:
    """Two blocks touch a cell of global memory; nothing orders blocks."""
    first, second = found.first[1], found.second[1]
    name = cell_name(second, found.cell)
    return Refusal(
        f"Race on {name}: two blocks meet there, and nothing orders blocks of one kernel",
        *((first, second) if first is not second else (first,)),
        detail=f"{who.block(other)} {_act(first)} {name} and {who.block(block)} {_act(second)} it",
        hint="give each block cells of its own, or make two kernels of it.",
    )


def different_values(
    store: BufferStore,
    cell: int,
    first: tuple[str, Any],
    second: tuple[str, Any],
) -> Refusal:
    """Several lanes write one cell with different bits: (lane, value) of two of them."""
    name = cell_name(store, cell)
    return Refusal(
        f"Race on {name}: several threads write it, with different values",
        store,
        detail=f"{first[0]} writes {first[1]} there and {second[0]} writes {second[1]}: "
        "which of them stays is chance",
        hint="let one thread write each cell: bind or split the loop that repeats the write.",
    )


def _act(access: BufferLoad | BufferStore) -> str:
    return "writes" if isinstance(access, BufferStore) else "reads"


def _race_hint(first: Node, second: Node, missing: str) -> str:
    if first is second:
        return "two threads do the same work: let each write cells of its own."
    return f"{missing}."


def lane_of(frame: Frame, bad: Any) -> tuple[tuple[int, ...], int, int]:
    """The first lane marked in `bad`: its position, its block's number, its thread's number."""
    full = np.broadcast_to(bad, frame.shape)
    where = np.unravel_index(int(np.argmax(full)), frame.shape)
    block = int(np.broadcast_to(frame.block, frame.shape)[where])
    thread = int(np.broadcast_to(frame.thread, frame.shape)[where])
    return tuple(int(k) for k in where), int(frame.blocks.numbers[block]), thread
