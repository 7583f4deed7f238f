"""shared_memory: where the arrays of a block lie in the memory that its launch asks for."""

from __future__ import annotations

from math import prod

from workbench.ir import Buffer, Kernel, dtypes

STATIC = 48 << 10
"""Bytes of arrays that a kernel has without asking. CUDA C++ Programming Guide, shared memory."""
ALIGNED = 16  # of the widest vector


def dynamic_shared(kernel: Kernel) -> tuple[dict[Buffer, int], int]:
    """Where each shared array of a flat kernel begins, and how many bytes its launch asks for.

    Nowhere, and 0, where they need no asking: arrays of the text are shorter.
    """
    places: dict[Buffer, int] = {}
    end = total = 0
    for buffer in (b for b in kernel.allocs if b.scope == "shared"):
        places[buffer] = -(-end // ALIGNED) * ALIGNED
        size = prod(buffer.shape) * dtypes.itemsize(buffer.type)
        end, total = places[buffer] + size, total + size
    return (places, end) if total > STATIC else ({}, 0)
