"""issued: what all warps of kernels ask of memory: requests, sectors of 32 bytes, wavefronts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.insight.accesses import Access, kind_of
from workbench.insight.kinds import UnknownError, kinds_of_requests
from workbench.insight.page import Kind, Table
from workbench.insight.sectors import sectors
from workbench.insight.warp_requests import requested, untold
from workbench.insight.warps import lane_bytes, text_of
from workbench.insight.wavefronts import wavefronts
from workbench.ir import Kernel, remembered

_SCOPES = ("global", "shared")


@dataclass(frozen=True, slots=True)
class Asked:
    """What all warps of a launch ask of memory by one access of its kernel.

    A request is one instruction of a warp with any lane awake. `sectors` counts those of 32 bytes
    that each request touches (global memory, else 0), `wavefronts` in how many banks serve it
    (shared memory, else 0).
    """

    kernel: str
    buffer: str
    scope: str
    access: str
    text: str
    bytes_per_lane: int
    requests: int
    sectors: int
    wavefronts: int


@dataclass(frozen=True, slots=True)
class Issued:
    """The requests of all launches: `asked` access by access, `totals` by scope and access.

    All numbers are exact for the kernels as they are written; a compiler may keep values or join
    loads, and then issues fewer. `left_out` are the accesses that are in none of them, as they
    stand in the kernel: data or sizes say where they are or how often, or there is too much to
    look at.
    """

    asked: tuple[Asked, ...]
    totals: tuple[Asked, ...]
    left_out: tuple[str, ...]
    caption: str
    table: Table
    kind: Kind = "counted"


def issued(kernels: Sequence[Kernel]) -> Issued:
    """What all warps of `kernels` ask of global and shared memory.

    Warps have 32 lanes, arrays start at a multiple of 32 bytes, as allocations do. A copy that is
    asynchronous counts as the load and the store that it is written as; what a call of a warp asks
    for, as nvcc makes it (see `warp_requests`). What matrices of Metal's ask for is left out.
    """
    found = [known for kernel in kernels for known in _of_kernel(kernel)]
    asked = tuple(known for known in found if isinstance(known, Asked))
    left_out = tuple(known for known in found if isinstance(known, str))
    pairs = [(scope, access) for scope in ("global", "shared") for access in ("read", "write")]
    totals = tuple(total for pair in pairs if (total := _total(asked, *pair)).requests)
    rows = tuple(
        (a.buffer, a.access, a.text, a.requests, a.sectors, a.wavefronts) for a in asked
    ) + tuple((t.scope, t.access, "all", t.requests, t.sectors, t.wavefronts) for t in totals)
    columns = ("buffer", "access", "where", "requests", "sectors", "wavefronts")
    return Issued(asked, totals, left_out, _caption(totals, left_out), Table(columns, rows))


def _total(asked: Iterable[Asked], scope: str, access: str) -> Asked:
    mine = [a for a in asked if (a.scope, a.access) == (scope, access)]
    sums = (sum(getattr(a, of) for a in mine) for of in ("requests", "sectors", "wavefronts"))
    return Asked("", "", scope, access, "", 0, *sums)


def _caption(totals: Sequence[Asked], left_out: Sequence[str]) -> str:
    far = sum(t.sectors for t in totals)
    near = sum(t.wavefronts for t in totals)
    said = f"All warps touch {far:,} sectors of global memory"
    said += f" and take {near:,} wavefronts of shared memory." if near else "."
    return f"{said} Not counted: {', '.join(left_out)}." if left_out else said


def _of_kernel(kernel: Kernel) -> list[Asked | str]:
    """Each access of the kernel with its numbers, or as it is written where there are none."""
    known: dict[Any, list[Asked | str]] = remembered(kernel)
    if "issued" not in known:
        wanted, left = requested(kernel), untold(kernel)
        known["issued"] = [
            *(_asked(kernel, access) for access in wanted if access.buffer.scope in _SCOPES),
            *(text_of(access) for access in left if access.buffer.scope in _SCOPES),
        ]
    return known["issued"]


def _asked(kernel: Kernel, access: Access) -> Asked | str:
    try:
        table, times = kinds_of_requests(kernel, access)
    except UnknownError:
        return text_of(access)
    width, shared = lane_bytes(access), access.buffer.scope == "shared"
    touched = None if shared else sectors(table, width)
    taken = wavefronts(table, width, writes=access.writes) if shared else None
    return Asked(
        kernel.name,
        access.buffer.name,
        access.buffer.scope,
        kind_of(access),
        text_of(access),
        width,
        int(times.sum()),
        0 if touched is None else int((touched * times).sum()),
        0 if taken is None else int((taken * times).sum()),
    )
