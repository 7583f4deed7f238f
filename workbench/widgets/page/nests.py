"""What the loop nests of a program do, in words: the names of its folds."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from workbench.arith import access_regions
from workbench.ir import (
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    For,
    PrimFunc,
    Stmt,
    walk,
)
from workbench.ir.places import inner, places
from workbench.script import Printed

LEAST = 4
"""Lines that are worth a name."""


def named_nests(func: PrimFunc, printed: Printed) -> list[tuple[int, int, str]]:
    """The first and last line of each nest of one block in a program, and what it does.

    None is inside another; short ones are left out.
    """
    found = []
    for nest in _nests(func):
        span = printed.extents[nest]
        if span.end_line - span.line + 1 >= LEAST:
            found.append((span.line, span.end_line, told(func, nest)))
    return found


def _nests(func: PrimFunc) -> Iterator[For | BlockRealize]:
    """The outermost loops, or blocks without loops, that hold one block each; in order."""
    known, waiting = places(func), [func.root.body]
    while waiting:
        stmt = waiting.pop()
        alone = isinstance(stmt, BlockRealize) or len(known.blocks_under(stmt)) == 1
        if isinstance(stmt, (For, BlockRealize)) and alone:
            yield stmt
        else:
            waiting += reversed(inner(stmt))


def told(func: PrimFunc, nest: For | BlockRealize) -> str:
    """What a nest of one block does: "fetch A_shared 64 x 8, 64 threads".

    It fetches, if it copies one buffer into memory of a block or thread; writes, if it copies to
    global memory; fills cells with a number; or computes what it writes.
    """
    block = (nest if isinstance(nest, BlockRealize) else places(func).blocks_under(nest)[0]).block
    stores = [node for node in walk(block.body) if isinstance(node, BufferStore)]
    buffers = {store.buffer: _size(nest, store.buffer) for store in stores}
    what = ", ".join(f"{buffer.name}{size}" for buffer, size in buffers.items()) or block.name
    threads = _threads(nest)
    by = f", {threads:,} threads" if threads > 1 else ""
    if len(stores) == 1 and block.init is None:
        value, scope = stores[0].value, stores[0].buffer.scope
        loads = [node for node in walk(value) if isinstance(node, BufferLoad)]
        if isinstance(value, Const):
            return f"fill {what} with {value.value:g}{by}"
        if len(loads) == 1 and (value is loads[0] or scope != "global"):  # or zeros at a border
            return f"{'write' if scope == 'global' else 'fetch'} {what}{by}"
    return f"compute {what}{by}"


def _size(nest: Stmt, buffer: Buffer) -> str:
    """The extent of the cells of `buffer` that a nest writes, " 64 x 8"; "" where that varies."""
    region = next((one.region for one in access_regions(nest)[1] if one.buffer is buffer), ())
    sizes = [str(one.extent.value) for one in region if isinstance(one.extent, Const)]
    return " " + " x ".join(sizes) if region and len(sizes) == len(region) else ""


def _threads(nest: Stmt) -> int:
    """How many threads share the loops of a nest."""
    axes = {
        node.thread: int(node.extent.value)
        for node in walk(nest)
        if isinstance(node, For) and str(node.thread).startswith("threadIdx")
        if isinstance(node.extent, Const)
    }
    return prod(axes.values())
