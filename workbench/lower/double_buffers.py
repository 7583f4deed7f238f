"""double_buffers: two copies of an array, in turn, so that one barrier a turn is enough."""

from __future__ import annotations

from workbench.access.accesses import Access, accesses, by_buffer
from workbench.access.fed import common_loops
from workbench.access.pipelines import copied, is_pipeline, with_copies
from workbench.check.pipelines import doubled
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    Buffer,
    For,
    Kernel,
)
from workbench.lower.shrink_buffers import WindowFinder, with_buffers
from workbench.target import Target


def double_buffers(kernel: Kernel, target: Target) -> Kernel:
    """Keep two copies, in turn, of arrays that a note asks for: one is read while one is filled.

    The turns are those of the innermost loop around all that touches the array. A pipeline has its
    own copies, no fewer than these.
    """
    asked = doubled(kernel.body)
    if not asked:
        return kernel
    found = by_buffer(accesses(kernel.body))
    finder = WindowFinder(kernel)
    for buffer, block in asked.items():
        loop = _turn(finder, buffer, block, found[buffer])
        if loop is not None:
            copies = {buffer: copied(buffer, 2)}
            kernel = with_buffers(kernel, copies, with_copies(kernel.body, loop, copies))
    return kernel


def _turn(
    finder: WindowFinder, buffer: Buffer, block: Block, found: list[Access[For]]
) -> For | None:
    """The loop in whose iterations the copies are used in turn; None for a pipeline."""
    around = [loop for loop in common_loops(found) if not loop.virtual]  # they share the copies
    piped = bool(around) and is_pipeline(around[-1])
    task = f"Can't double-buffer {buffer.name}"
    if buffer.scope != "shared" and not piped:
        raise Refusal(
            f"{task}: it is in {buffer.scope} memory",
            block.id,
            hint="threads wait for each other at shared memory: cache_read into it",
        )
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
    return None if piped else around[-1]
