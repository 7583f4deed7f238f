"""arrays_of: the arrays that kernels have in shared and local memory, found before all is lowered.

What decides how large they are is decided early: which part of a buffer one block, or one thread,
has in use at a time, and how many copies of that turns of a pipeline and virtual threads have. The
passes behind it, which put statements, barriers and vectors where they belong, take most of the
time that lowering takes.
"""

from __future__ import annotations

from workbench.access.pipelines import copied
from workbench.check import pipelines
from workbench.ir import Buffer, PrimFunc
from workbench.lower.flatten_buffers import flat
from workbench.lower.inject_virtual_threads import own_copies
from workbench.lower.pipeline import first_kernels
from workbench.lower.shrink_buffers import shrink_buffers
from workbench.target import Target


def arrays_of(func: PrimFunc, target: Target) -> dict[Buffer, list[Buffer]]:
    """Of each buffer in shared or local memory its array in each kernel that has one, in order.

    They are as large as those that `lower` makes. Raises Refusal where it would before it knew.
    """
    found: dict[Buffer, list[Buffer]] = {}
    turns = pipelines.copies(func)
    for kernel in first_kernels(func, target)[0]:
        kernel = shrink_buffers(kernel, target)
        own, whole = own_copies(kernel), dict(kernel.views)
        for kept in kernel.allocs:
            count = turns.get(whole[kept], 1) * own.get(kept, 1)
            found.setdefault(whole[kept], []).append(flat(copied(kept, count)))
    return found
