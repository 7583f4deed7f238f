"""What can be done with a buffer: the verbs of the blocks that write and read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.ir import Block, BlockRealize, Buffer, PrimFunc, walk
from workbench.schedule.actions import Verdict
from workbench.schedule.primitive import REGISTRY, Param


def touching(func: PrimFunc, buffer: Buffer) -> list[Block]:
    """The blocks that write `buffer`, then those that only read it; each in program order."""
    blocks = [node.block for node in walk(func.root.body) if isinstance(node, BlockRealize)]
    readers = [b for b in blocks if any(region.buffer is buffer for region in b.reads)]
    writers = [b for b in blocks if _writes(b, buffer)]
    return [*writers, *(block for block in readers if block not in writers)]


def about(verdict: Verdict, block: Block, buffer: Buffer) -> Verdict | None:
    """What a verb says at `block`, as far as that is about `buffer`; None where it is not.

    A verb that is told a buffer is asked about this one only; any other is about the result of the
    block, which is the buffer that it writes.
    """
    told = buffer_param(verdict.verb)
    if told is None:
        return verdict if _writes(block, buffer) else None
    options = [o for o in verdict.options if _named(told, o.arguments, block) is buffer]
    return replace(verdict, options=tuple(options)) if options else None


def buffer_param(verb: str) -> Param | None:
    """The argument that tells which buffer of a block is meant: TVM has that word in its name."""
    return next((param for param in REGISTRY[verb].params if "buffer" in param.name), None)


def _named(param: Param, arguments: Mapping[str, Any], block: Block) -> Buffer | None:
    """The buffer that the argument means: its name or number, or ("read", number)."""
    which = arguments.get(param.name)
    side = param.name
    if isinstance(which, (list, tuple)):
        side, which = which
    regions = block.reads if side.startswith("read") else block.writes
    buffers = [region.buffer for region in regions]
    if isinstance(which, int):
        return buffers[which]
    return next((buffer for buffer in buffers if buffer.name == which), None)


def _writes(block: Block, buffer: Buffer) -> bool:
    return any(region.buffer is buffer for region in block.writes)
