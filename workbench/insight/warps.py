"""What the warps of the first block ask of memory, request by request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from workbench import script
from workbench.arith import reads_memory
from workbench.insight.accesses import Access, accesses, at_first
from workbench.insight.spread import along_axes, holding, value
from workbench.ir import BufferLoad, BufferStore, Expr, Kernel, Ramp, Var, dtypes, free_vars

MOST_ROWS = 256  # iterations of the serial loops that are looked at
IDLE = -1


def requests(kernel: Kernel, access: Access, warp: int) -> Any:
    """The byte address of each lane of each request: one row a request, IDLE where a lane sleeps.

    Serial loops of more than MOST_ROWS iterations are looked at from their start. None where an
    index is read from memory.
    """
    index = access.indices[0]
    base: Expr = index.base if isinstance(index, Ramp) else index
    exprs = (base, *access.guards)
    if any(reads_memory(e) for e in exprs):
        return None
    extents = _extents(access, exprs)
    threads = threads_of(kernel)
    shape = (*extents.values(), prod(kernel.block))
    env: dict[Var, Any] = {var: np.int64(n) for var, n in at_first(access, "block").items()}
    env |= zip(extents, along_axes(shape), strict=False)
    env |= threads  # along the last axis
    address = np.broadcast_to(np.asarray(value(base, env)), shape).astype(np.int64)
    keep = holding(access.guards, env, shape)
    size = dtypes.itemsize(access.buffer.type)
    table, _ = in_warps(index, np.where(keep, address * size, IDLE), size, warp)
    return table[(table != IDLE).any(axis=1)]


def in_warps(index: Expr, table: Any, size: int, warp: int) -> tuple[Any, int]:
    """The lanes of warps for a table with a row of threads for each turn; how many rows a turn has.

    `table` has the byte addresses of elements of `size` bytes, IDLE where a thread sleeps. Elements
    of a vector that are not neighbours are asked for one after the other.
    """
    threads = table.shape[-1]
    table = table.reshape(-1, 1, threads)
    if isinstance(index, Ramp) and index.stride != 1:
        steps = np.arange(index.lanes)[:, None] * index.stride * size
        table = np.where(table == IDLE, IDLE, table + steps)
    table = np.pad(table, ((0, 0), (0, 0), (0, -threads % warp)), constant_values=IDLE)
    return table.reshape(-1, warp), table.shape[1] * table.shape[2] // warp


def all_requests(
    kernels: Sequence[Kernel], scope: str, warp: int
) -> Iterator[tuple[Kernel, Access, Any]]:
    """The accesses of `kernels` to memory of that `scope`, each with its requests, if it has any.

    One whose index is read from memory is left out.
    """
    for kernel in kernels:
        for access in accesses(kernel):
            table = requests(kernel, access, warp) if access.buffer.scope == scope else None
            if table is not None and len(table):
                yield kernel, access, table


def _extents(access: Access, exprs: tuple[Expr, ...]) -> dict[Var, int]:
    """The loops to run over, with how far."""
    used = {v for e in exprs for v in free_vars(e)}
    extents: dict[Var, int] = {}
    room = MOST_ROWS
    for loop in reversed([x for x in access.loops if x.role == "serial" and x.var in used]):
        extents[loop.var] = max(1, min(loop.extent, room))
        room //= extents[loop.var]
    return dict(reversed(extents.items()))


def threads_of(kernel: Kernel) -> dict[Var, Any]:
    """Each thread variable over the threads of a block, x fastest."""
    number = np.arange(prod(kernel.block))
    x, y, _ = kernel.block
    places = {"x": number % x, "y": number // x % y, "z": number // (x * y)}
    return {v: places[axis[-1]] for axis, v in kernel.axes if axis.startswith("thread")}


def text_of(access: Access) -> str:
    """The access as it stands in the kernel."""
    assert isinstance(access.node, (BufferLoad, BufferStore))
    return script.expr_text(BufferLoad(access.buffer, access.node.indices))


def lane_bytes(access: Access) -> int:
    """Bytes that one lane moves at once."""
    index = access.indices[0]
    elements = index.lanes if isinstance(index, Ramp) and index.stride == 1 else 1
    return elements * dtypes.itemsize(access.buffer.type)


def first_row(table: Any) -> tuple[int | None, ...]:
    """The first request, None for a lane that sleeps."""
    return tuple(None if a == IDLE else int(a) for a in table[0].tolist())


def distinct(table: Any) -> Any:
    """How many distinct values other than IDLE each row holds."""
    ordered = np.sort(table, axis=1)
    fresh = np.ones(ordered.shape, dtype=bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return (fresh & (ordered != IDLE)).sum(axis=1)
