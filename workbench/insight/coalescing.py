"""coalescing: how many sectors of global memory the requests of a kernel touch, and the worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.insight.page import Kind, Table
from workbench.insight.requests import Requests, requests_of, worst_of
from workbench.insight.sectors import SECTOR
from workbench.insight.warps import lane_bytes
from workbench.ir import Kernel

COLUMNS = (
    *("buffer", "access", "where", "requests"),
    *("sectors a request", "at best", "useful part", "the most", "so many take that"),
)


@dataclass(frozen=True, slots=True)
class Request:
    """One access to global memory, as all warps of the launch make it.

    There are so many `requests`; `sectors` and `ideal` count sectors of 32 bytes a request, on
    average: what it takes, and what the same bytes would take if packed together. `efficiency` is
    useful bytes over bytes moved, 0 to 1. The worst takes `most` where `least` would do; `worst` is
    where it is made, by blocks, warp of the block and turns of loops (those that there are several
    of), `alike` how many take as much, `addresses` its byte addresses lane by lane (None where a
    lane is idle).
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
    most: int
    least: int
    worst: Mapping[str, int]
    alike: int


@dataclass(frozen=True, slots=True)
class Coalescing:
    """The coalescing picture: one row an access.

    `left_out` are the accesses that are in none: data or sizes say where they are, or there is too
    much to look at.
    """

    requests: tuple[Request, ...]
    left_out: tuple[str, ...]
    caption: str
    table: Table
    kind: Kind = "counted"


def coalescing(kernels: Sequence[Kernel]) -> Coalescing:
    """How all warps of `kernels` reach global memory, access by access.

    Warps have 32 lanes; arrays are taken to start at a multiple of 32 bytes, as allocations do.
    """
    found, left_out = requests_of(kernels, "global")
    requests = tuple(map(_request, found))
    table = Table(COLUMNS, tuple(map(_row, requests)))
    return Coalescing(requests, tuple(left_out), _caption(found, left_out), table)


def _row(r: Request) -> tuple[str | int | float, ...]:
    average = round(r.sectors, 2), round(r.ideal, 2), round(r.efficiency, 3)
    return r.buffer, r.access, r.text, r.requests, *average, r.most, r.alike


def _request(asked: Requests) -> Request:
    worst = asked.lanes(asked.worst)
    return Request(
        asked.kernel.name,
        asked.buffer,
        asked.kind,
        asked.text,
        worst.addresses,
        lane_bytes(asked.access),
        asked.count,
        asked.cost / asked.count,
        asked.least / asked.count,
        asked.wanted / (asked.cost * SECTOR),
        worst.cost,
        worst.least,
        asked.worst,
        asked.alike,
    )


def _caption(found: Sequence[Requests], left_out: Sequence[str]) -> str:
    rest = f" Not counted: {', '.join(left_out)}." if left_out else ""
    if not found:
        return f"No access to global memory whose addresses are known.{rest}"
    worst = found[worst_of(found)]
    if not worst.excess:
        return f"Every request moves as few sectors of 32 bytes as it can.{rest}"
    request = worst.lanes(worst.worst)
    return (
        f"{worst.which} touches {request.cost} sectors of 32 bytes; packed together it would be "
        f"{request.least}.{rest}"
    )
