"""fragments: what a warp holds in the fragments of a kernel, tile by tile, and which calls do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from workbench.check.kernels import extent_of
from workbench.ir import Block, Buffer, For, Kernel, PrimFunc, dtypes, path_to, walk_statements
from workbench.lower.warp_calls import TILE, WARP, WarpCall, warp_call, warp_calls

_OF_WMMA = ("wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator")
_REGISTER = 4  # bytes


@dataclass(frozen=True, slots=True)
class Fragments:
    """The fragments of one array of a kernel, the same in every warp.

    `scope` says what they are multiplied as, `tiles` how many of 16 x 16 cells there are, and
    `registers` how many of 4 bytes each of a warp's 32 threads gives to one of them. `filled` and
    `used` are the calls that write and read them, by TVM's names.
    """

    buffer: str
    scope: str
    dtype: str
    tiles: int
    registers: int
    filled: tuple[str, ...]
    used: tuple[str, ...]


def fragments(kernels: Sequence[Kernel]) -> tuple[Fragments, ...]:
    """All fragments of `kernels`, as they are allocated. Raises Refusal as building them does."""
    return tuple(
        _of(kernel, buffer)
        for kernel in kernels
        for buffer in kernel.allocs
        if buffer.tag in _OF_WMMA
    )


def has_fragments(func: PrimFunc) -> bool:
    """Whether a program keeps anything in fragments, of any kind."""
    blocks = (node for node in walk_statements(func.body) if isinstance(node, Block))
    return any(buffer.is_fragment for block in blocks for buffer in block.alloc_buffers)


def _of(kernel: Kernel, buffer: Buffer) -> Fragments:
    calls = [warp_call(loop) for loop in warp_calls(kernel)]
    filled = (call.name for call in calls if call.to.buffer is buffer)
    used = (call.name for call in calls if buffer in _read_by(call))
    # PTX ISA, wmma.load: of a tile of matrix_a or matrix_b in float16 every cell is held twice, in
    # 16 halves of each thread; of others once.
    times = 2 if buffer.type == "float16" and buffer.tag != "wmma.accumulator" else 1
    size = TILE * TILE * dtypes.itemsize(buffer.type) * times
    return Fragments(
        dict(kernel.views)[buffer].name,
        buffer.tag,
        buffer.type,
        prod(buffer.shape) // (TILE * TILE),
        size // (WARP * _REGISTER),
        tuple(dict.fromkeys(filled)),
        tuple(dict.fromkeys(used)),
    )


def _read_by(call: WarpCall) -> set[Buffer]:
    """What a call reads: a product goes on from what was in its sums."""
    sums = [call.to.buffer] if call.name == "tvm_mma_sync" else []
    return {*sums, *(tile.buffer for tile in call.sources)}


def calls_of_a_warp(kernels: Sequence[Kernel], name: str) -> int:
    """How often each warp makes the call `name`; under a condition as if it held."""
    return sum(_calls(kernel, name) for kernel in kernels)


def calls_of_warps(kernels: Sequence[Kernel], name: str) -> int:
    """How often all warps of all launches make the call `name`, counted as `calls_of_a_warp`."""
    warps = ((k, prod(k.grid) * prod(k.block) // WARP) for k in kernels)
    return sum(number * _calls(kernel, name) for kernel, number in warps)


def _calls(kernel: Kernel, name: str) -> int:
    return sum(
        prod(extent_of(one) for one in path_to(kernel.body, loop)[:-1] if isinstance(one, For))
        for loop in warp_calls(kernel)
        if warp_call(loop).name == name
    )
