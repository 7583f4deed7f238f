"""shared_memory: where the arrays of a block lie, and how many bytes its launch asks for."""

from __future__ import annotations

from math import prod

from workbench.diag import Refusal
from workbench.ir import Buffer, BufferLoad, BufferStore, Kernel, Ramp, dtypes, once, walk
from workbench.lower.warp_calls import ALIGNED, memory_tiles, warp_call, warp_calls
from workbench.target import Target

STATIC = 48 << 10
"""Bytes of arrays that a kernel has without asking. CUDA C++ Programming Guide, shared memory."""


@once
def vector_bytes(kernel: Kernel) -> dict[Buffer, int]:
    """The bytes to which each array has to be aligned for its vectors, and for calls of a warp."""
    tiles = (tile for loop in warp_calls(kernel) for tile in memory_tiles(warp_call(loop)))
    widest: dict[Buffer, int] = dict.fromkeys((tile.buffer for tile in tiles), ALIGNED)
    for node in walk(kernel.body):
        match node:
            case BufferLoad(buffer, (Ramp(stride=1, lanes=lanes),)) | BufferStore(
                buffer, _, (Ramp(stride=1, lanes=lanes),)
            ):
                width = lanes * dtypes.itemsize(buffer.type)
                widest[buffer] = max(width, widest.get(buffer, 0))
            case _:
                pass
    return widest


def dynamic_shared(kernel: Kernel) -> tuple[dict[Buffer, int], int]:
    """Where each shared array of a flat kernel begins, and how many bytes its launch asks for.

    Nowhere, and 0, where they need no asking: arrays of the text are shorter.
    """
    places, end = _laid_out(kernel)
    return (places, end) if end > STATIC else ({}, 0)


def shared_bytes(kernel: Kernel) -> int:
    """How many bytes of shared memory a block has, gaps between arrays included."""
    return _laid_out(kernel)[1]


def refuse_too_large(kernel: Kernel, target: Target) -> None:
    """Refuse a kernel whose shared arrays, gaps between them included, `target` can't hold."""
    places, end = _laid_out(kernel)
    if end > target.most_shared_bytes:
        views = dict(kernel.views)
        fact = "max_dynamic_shared_bytes" if target.max_dynamic_shared_bytes else "max_shared_bytes"
        raise Refusal(
            f"{' and '.join(b.name for b in places)} need{'s' * (len(places) == 1)} {end} bytes of "
            f"shared memory a block, and {target.title} gives {target.most_shared_bytes}",
            *(views.get(buffer, buffer) for buffer in places),
            hint="make the tiles that are cached smaller, by smaller factors of their loops",
            detail=f"in bytes: {', '.join(f'{b.name} {_bytes(b)}' for b in places)}, each from a "
            f"multiple of its alignment on; the limit is from: {target.source_of(fact)}",
        )


def _laid_out(kernel: Kernel) -> tuple[dict[Buffer, int], int]:
    """Where each shared array begins, in the order of the text, as nvcc lays them, and the end."""
    vectors, places, end = vector_bytes(kernel), dict[Buffer, int](), 0
    for buffer in (b for b in kernel.allocs if b.scope == "shared"):
        aligned = max(vectors.get(buffer, 0), dtypes.itemsize(buffer.type))
        places[buffer] = -(-end // aligned) * aligned
        end = places[buffer] + _bytes(buffer)
    return places, end


def _bytes(buffer: Buffer) -> int:
    return prod(buffer.shape) * dtypes.itemsize(buffer.type)
