"""What threads that share a sum out touch of its cells: as the kernels have it, not the program.

A kernel has ``in_thread_C``, of which each thread has its own: the terms of C go there. C itself is
stored behind the loops of the sum, by the first of the threads that share it, or by each where each
has a C of its own, and is loaded only there, where the sum goes on from what was there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tests.support.tracer import Event
from workbench.diag import Refusal
from workbench.ir import Block, BlockRealize, For, Node, PrimFunc, children, free_vars
from workbench.lower import lower, open_blocks
from workbench.target import get

AXES = ("threadIdx.x", "threadIdx.y", "threadIdx.z")


@dataclass(frozen=True)
class Sum:
    """A block that threads share out: the loops of its sum, and which of its threads store it."""

    loops: tuple[For, ...]
    whole: bool  # it does not go on from what was there
    each: bool  # each thread has a result of its own

    def stores(self, event: Event) -> bool:
        """Whether the thread is the first of those that share a sum, or has it for itself."""
        sharing = [AXES.index(loop.thread) for loop in self.loops if loop.thread in AXES]
        return self.each or all(event.thread[axis] == 0 for axis in sharing)


def shared_sums(func: PrimFunc) -> Mapping[tuple[str, str], Sum] | None:
    """By block and buffer the sums that threads share out; None where no kernel says whether."""
    asked = asked_sums(func)
    if not asked:
        return {}
    try:
        kernels = lower(open_blocks(func), get("cuda")).kernels
    except Refusal:
        return None
    kept = {buffer.name for kernel in kernels for buffer in kernel.allocs}
    return {key: found for key, found in asked.items() if f"in_thread_{key[1]}" in kept}


def asked_sums(func: PrimFunc) -> Mapping[tuple[str, str], Sum]:
    """By block and buffer the sums of which threads have loops."""
    return _sums(func.body, ())


def as_made(sums: Mapping[tuple[str, str], Sum], events: Sequence[Event]) -> Sequence[Event]:
    """The `events`, with the loads and stores of the `sums` as the kernels have them.

    Of what a thread does to a cell the last is kept.
    """
    seen, made = set[object](), list[Event]()
    for event in reversed(events):
        found = sums.get((event.stage, event.buffer))
        if found is None:
            made.append(event)
            continue
        key = event.stage, event.buffer, event.writes, event.block, event.thread, event.index
        if key in seen or not found.stores(event) or (found.whole and not event.writes):
            continue
        seen.add(key)
        own = {loop.loop_var for loop in found.loops}
        made.append(replace(event, loops=tuple(t for t in event.loops if t[0] not in own)))
    return made[::-1]


def _sums(node: Node, loops: tuple[For, ...]) -> dict[tuple[str, str], Sum]:
    found: dict[tuple[str, str], Sum] = {}
    if isinstance(node, For):
        loops = (*loops, node)
    if isinstance(node, BlockRealize):
        pairs = zip(node.block.iter_vars, node.iter_values, strict=True)
        moving = {v for it, value in pairs if it.kind == "reduce" for v in free_vars(value)}
        own = tuple(loop for loop in loops if loop.loop_var in moving)
        if any(loop.thread in AXES for loop in own):
            found = _of(node.block, own)
    for child in children(node):
        found |= _sums(child, loops)
    return found


def _of(block: Block, loops: tuple[For, ...]) -> dict[tuple[str, str], Sum]:
    return {
        (block.name, region.buffer.name): Sum(
            loops, block.init is not None, region.buffer.scope == "local"
        )
        for region in block.writes
    }
