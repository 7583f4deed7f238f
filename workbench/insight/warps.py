"""What warps are made of: the threads of a block, in rows of lanes, and what a lane moves."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from workbench import script
from workbench.insight.accesses import Access
from workbench.ir import BufferLoad, BufferStore, Expr, Kernel, Ramp, Var, dtypes

IDLE = -1


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


def distinct(table: Any) -> Any:
    """How many distinct values other than IDLE each row holds."""
    ordered = np.sort(table, axis=1)
    fresh = np.ones(ordered.shape, dtype=bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return (fresh & (ordered != IDLE)).sum(axis=1)
