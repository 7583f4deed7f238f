"""coalescing: how many 32-byte sectors each request of a warp to global memory touches."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.insight.page import Kind, Table


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
