"""double_buffers: two copies of an array, in turn, so that one barrier a turn is enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from workbench.access.accesses import Access, accesses, by_buffer
from workbench.access.fed import common_loops
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    For,
    Kernel,
    Node,
    attrs_dict,
    rewrite,
    walk,
)
from workbench.lower.shrink_buffers import WindowFinder, with_buffers
from workbench.script.writer import string
from workbench.target import Target

NOTE = "double_buffer_scope"  # TVM's: the number of the buffer among those that the block writes


def double_buffers(kernel: Kernel, target: Target) -> Kernel:
    """Keep two copies, in turn, of arrays that a note asks for: one is read while one is filled.

    The turns are those of the innermost loop around all that touches the array.
    """
    asked = dict(_asked(kernel))
    if not asked:
        return kernel
    found = by_buffer(accesses(kernel.body))
    finder = WindowFinder(kernel)
    turns = {b: _turn(finder, b, asked[b], found[b]) for b in asked}
    doubled = {b: replace(b, shape=(2, *b.shape), strides=_strides(b)) for b in asked}
    return with_buffers(kernel, doubled, rewrite(kernel.body, _Doubler(doubled, turns).visit))


def _asked(kernel: Kernel) -> Iterator[tuple[Buffer, Block]]:
    """The arrays of which two copies are asked for, each with the block whose note says so."""
    for block in (node for node in walk(kernel.body) if isinstance(node, Block)):
        which = attrs_dict(block.annotations).get(NOTE)
        if which is None:
            continue
        if not isinstance(which, int) or not 0 <= which < len(block.writes):
            raise Refusal(
                f"Can't double-buffer what `{block.name}` writes: it writes no buffer {which!r}",
                block.id,
                hint="number what it writes from 0: "
                f'sch.annotate({string(block.name)}, "{NOTE}", 0)',
            )
        yield block.writes[which].buffer, block


def _turn(finder: WindowFinder, buffer: Buffer, block: Block, found: list[Access[For]]) -> For:
    """The loop in whose iterations the copies are used in turn."""
    task = f"Can't double-buffer {buffer.name}"
    if buffer.scope != "shared":
        raise Refusal(
            f"{task}: it is in {buffer.scope} memory",
            block.id,
            hint="threads wait for each other at shared memory: cache_read into it",
        )
    around = [loop for loop in common_loops(found) if not loop.virtual]  # they share the copies
    if not around:
        raise Refusal(
            f"{task}: no loop fills it again",
            block.id,
            hint="move the copy into a loop with compute_at, or take the note off",
        )
    if not finder.written_first(found, finder.still(buffer, around)):
        raise Refusal(
            f"{task}: an iteration of `{around[-1].loop_var.name}` may read what another one wrote",
            block.id,
            detail="the other copy holds what the iteration before wrote",
            hint="let each iteration fill all that it reads, or take the note off",
        )
    return around[-1]


def _strides(buffer: Buffer) -> tuple[int, ...]:
    return (buffer.shape[0] * buffer.strides[0], *buffer.strides) if buffer.strides else ()


@dataclass(frozen=True, slots=True)
class _Doubler:
    doubled: dict[Buffer, Buffer]
    turns: dict[Buffer, For]

    def visit(self, node: Node) -> Node:
        """`node` with each access to the copy whose turn it is."""
        match node:
            case BufferLoad(buffer=old) | BufferStore(buffer=old) if old in self.doubled:
                copy = self.turns[old].loop_var % 2
                return replace(node, buffer=self.doubled[old], indices=(copy, *node.indices))
        return node
