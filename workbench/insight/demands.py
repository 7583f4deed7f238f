"""demands: what each statement of a kernel asks of each resource of a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np

from workbench import script
from workbench.insight.accesses import Access
from workbench.insight.cells import executions
from workbench.insight.compiled import operations
from workbench.insight.kinds import UnknownError, kinds_of_requests
from workbench.insight.made import Made, made
from workbench.insight.sectors import SECTOR
from workbench.insight.spread import width
from workbench.insight.warp_requests import (
    INSTRUCTIONS,
    MULTIPLY_ADDS,
    calls_of,
    products,
    requested,
)
from workbench.insight.warps import IDLE, distinct, text_of
from workbench.insight.wavefronts import WARP
from workbench.ir import Buffer, BufferLoad, BufferStore, Kernel, const, dtypes, once

LINE = 128  # bytes that the L1 cache finds, or shared memory serves, in a turn

Resource: TypeAlias = Literal["issue", "arithmetic", "tensor", "L1", "shared", "L2"]


@dataclass(frozen=True, slots=True)
class Demand:
    """How much a load or store of a kernel asks of a resource, over the whole launch.

    `amount` counts instructions of warps ("issue", "arithmetic"), multiply-adds of matrix units
    ("tensor"), lines of 128 bytes ("L1"), wavefronts ("shared"), or bytes ("L2"), and `least`
    how much would do: where the lanes of each request lay side by side and in banks of their own,
    or each byte were moved once. What is computed for a store counts as the store's.
    """

    resource: Resource
    access: Access
    amount: float
    least: float


class UncountedError(Exception):
    """What a kernel asks of memory is not known; the text says of which access, and why."""


@once
def demands(kernel: Kernel) -> tuple[Demand, ...]:
    """What the statements of `kernel` ask for, each in order.

    Requests are those that nvcc most likely made, see `made`; a multiply and the add of it are one
    instruction. All bytes are asked of L2: `from_l2` says what L1 has of them. Raises
    UncountedError where data say what is touched, or there is too much to look at, and Fail where
    sizes say it.
    """
    found: list[Demand] = []
    calls = calls_of(kernel)
    every = {one.access: one for one in made(kernel)}
    for access in requested(kernel):
        if access in every:
            found += _of_memory(every[access])
        if access.writes and access.node not in calls:
            found += _of_arithmetic(kernel, access)
    for access in products(kernel):
        times = _warps(kernel, access)
        found += [
            Demand("issue", access, times * INSTRUCTIONS, times * INSTRUCTIONS),
            Demand("tensor", access, times * MULTIPLY_ADDS, times * MULTIPLY_ADDS),
        ]
    return tuple(found)


def statement_of(access: Access) -> str:
    """The statement that an access is made by, as it stands in the kernel."""
    return f"if {text_of(access)}" if access.store is None else _text_of_store(access.store)


@once
def _text_of_store(store: BufferStore) -> str:
    cell = script.expr_text(BufferLoad(store.buffer, store.indices))
    return f"{cell} = {script.expr_text(store.value)}"


def _of_memory(one: Made) -> Iterator[Demand]:
    """What the requests of an access ask for, as they are made."""
    access, table, times = one.access, one.table, one.times
    if not one.is_known:
        raise UncountedError(text_of(access))
    yield Demand("issue", access, one.requests, one.requests)
    needed = distinct(table) * one.width
    least = float((-(-needed // LINE) * times).sum())
    if access.buffer.scope == "shared":
        yield Demand("shared", access, one.taken, least)
        return
    lines = float((lines_of(table, one.width) * times).sum())
    yield Demand("L1", access, lines, lines if access.buffer.scope == "local" else least)
    packed = float((-(-needed // SECTOR) * times).sum()) * SECTOR
    yield Demand("L2", access, one.taken * SECTOR, packed)


def lines_of(table: Any, bytes_each: int) -> Any:
    """How many lines each request touches, if its first byte is near the start of one."""
    first = np.where(table == IDLE, IDLE, table // LINE)
    last = np.where(table == IDLE, IDLE, (table + bytes_each - 1) // LINE)
    return distinct(np.concatenate([first, last], axis=1))


def _of_arithmetic(kernel: Kernel, access: Access) -> Iterator[Demand]:
    """What is computed for a store."""
    assert access.store is not None
    each = operations(access.store.value)
    if each:
        amount = float(each * width(access) * _warps(kernel, access))
        yield Demand("issue", access, amount, amount)
        yield Demand("arithmetic", access, amount, each * executions(access) / WARP)


def _warps(kernel: Kernel, access: Access) -> int:
    """How often warps run the statement of a store; where data decide, as if it always ran."""
    turns = prod(loop.extent for loop in access.loops if loop.role in ("serial", "virtual"))
    every = prod(kernel.grid) * -(-prod(kernel.block) // WARP) * turns
    if not access.guards:
        return every
    try:
        _, times = kinds_of_requests(kernel, replace(access, indices=(const(0, "int32"),)))
    except UnknownError:
        return every
    return int(times.sum())


def bytes_of(buffer: Buffer) -> int:
    """The bytes of a buffer of known size."""
    return prod(buffer.shape) * dtypes.itemsize(buffer.type)
