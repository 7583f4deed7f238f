"""coalescing: how many 32-byte sectors each request of a warp to global memory touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.insight.accesses import Access, kind_of
from workbench.insight.page import Kind, Table
from workbench.insight.warps import IDLE, all_requests, distinct, first_row, lane_bytes, text_of
from workbench.ir import Kernel

SECTOR = 32  # bytes; what device memory and the caches of NVIDIA's GPUs move at once


@dataclass(frozen=True, slots=True)
class Request:
    """One access of the program to global memory, as warps of the first block issue it.

    `addresses` are the byte addresses of the first warp's first request, lane by lane (None where
    a lane is idle); `sectors` and `ideal` count sectors of 32 bytes a request, on average: what it
    takes, and what the same bytes would take if packed together. `efficiency` is useful bytes
    over bytes moved, 0 to 1.
    """

    kernel: str
    buffer: str
    access: str
    text: str
    addresses: tuple[int | None, ...]
    bytes_per_lane: int
    requests: int
    sectors: float
    ideal: float
    efficiency: float


@dataclass(frozen=True, slots=True)
class Coalescing:
    """The coalescing picture: one row an access."""

    requests: tuple[Request, ...]
    caption: str
    table: Table
    kind: Kind = "modelled"


def coalescing(kernels: Sequence[Kernel], warp: int = 32) -> Coalescing:
    """How the first block's warps of `warp` lanes reach global memory, access by access.

    Arrays are taken to start at a multiple of 32 bytes, as allocations do.
    """
    requests = tuple(_request(*asked) for asked in all_requests(kernels, "global", warp))
    rows = tuple(
        (r.buffer, r.access, r.text, round(r.sectors, 2), round(r.ideal, 2), round(r.efficiency, 3))
        for r in requests
    )
    columns = ("buffer", "access", "where", "sectors a request", "at best", "useful part")
    return Coalescing(requests, _caption(requests), Table(columns, rows))


def _request(kernel: Kernel, access: Access, table: Any) -> Request:
    width = lane_bytes(access)
    touched = sectors(table, width)
    needed = distinct(table) * width  # lanes that read one element share its bytes
    ideal = -(-needed // SECTOR)
    return Request(
        kernel.name,
        access.buffer.name,
        kind_of(access),
        text_of(access),
        first_row(table),
        width,
        len(table),
        float(touched.mean()),
        float(ideal.mean()),
        min(1.0, float(needed.sum()) / float(touched.sum() * SECTOR)),
    )


def sectors(table: Any, width: int) -> Any:
    """How many sectors each request touches: a lane may reach over into the next."""
    first = np.where(table == IDLE, IDLE, table // SECTOR)
    last = np.where(table == IDLE, IDLE, (table + width - 1) // SECTOR)
    return distinct(np.concatenate([first, last], axis=1))


def _caption(found: Sequence[Request]) -> str:
    if not found:
        return "No access to global memory whose addresses are known."
    worst = max(found, key=lambda r: r.sectors / r.ideal)
    if worst.sectors <= worst.ideal:
        return "Every request moves as few sectors of 32 bytes as it can."
    return (
        f"A warp's {worst.access} of {worst.buffer} touches {worst.sectors:.3g} sectors of "
        f"32 bytes; packed together it would be {worst.ideal:.3g}."
    )
