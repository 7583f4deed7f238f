"""conflicts: in how many wavefronts banks serve the requests of a kernel, and the worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.diag import count_text
from workbench.insight.page import Kind, Table
from workbench.insight.requests import Requests, requests_of, worst_of
from workbench.insight.wavefronts import BANKS, WORD
from workbench.ir import Kernel

COLUMNS = (
    *("buffer", "access", "where", "requests"),
    *("wavefronts at most", "at best", "so many take that", "wavefronts on average"),
)


@dataclass(frozen=True, slots=True)
class BankUse:
    """One access to shared memory, as all warps of the launch make it.

    There are so many `requests`, which take `average` wavefronts each. The worst takes `wavefronts`
    where `least` would do, if no bank had to serve two words (1, or more for vectors); `worst` is
    where it is made, by blocks, warp of the block and turns of loops (those that there are several
    of), `alike` how many take as many. `banks` are the banks of that request (of 32, 4 bytes wide),
    lane by lane (None where a lane is idle), of a vector the first.
    """

    kernel: str
    buffer: str
    access: str
    text: str
    banks: tuple[int | None, ...]
    bytes_per_lane: int
    requests: int
    wavefronts: int
    least: int
    average: float
    worst: Mapping[str, int]
    alike: int


@dataclass(frozen=True, slots=True)
class Conflicts:
    """The bank-conflict picture: one row an access.

    `left_out` are the accesses that are in none: data or sizes say where they are, or there is too
    much to look at.
    """

    uses: tuple[BankUse, ...]
    left_out: tuple[str, ...]
    caption: str
    table: Table
    kind: Kind = "modelled"


def conflicts(kernels: Sequence[Kernel]) -> Conflicts:
    """How the warps of `kernels`, of 32 lanes, meet in the banks of shared memory."""
    found, left_out = requests_of(kernels, "shared")
    uses = tuple(map(_use, found))
    table = Table(COLUMNS, tuple(map(_row, uses)))
    return Conflicts(uses, tuple(left_out), _caption(found, left_out), table)


def _row(u: BankUse) -> tuple[str | int | float, ...]:
    most = u.wavefronts, u.least, u.alike
    return u.buffer, u.access, u.text, u.requests, *most, round(u.average, 2)


def _use(asked: Requests) -> BankUse:
    worst = asked.lanes(asked.worst)
    return BankUse(
        asked.kernel.name,
        asked.buffer,
        asked.kind,
        asked.text,
        tuple(None if a is None else a // WORD % BANKS for a in worst.addresses),
        worst.bytes_per_lane,
        asked.count,
        worst.cost,
        worst.least,
        asked.cost / asked.count,
        asked.worst,
        asked.alike,
    )


def _caption(found: Sequence[Requests], left_out: Sequence[str]) -> str:
    rest = f" Not counted: {', '.join(left_out)}." if left_out else ""
    if not found:
        return f"The program does not use shared memory.{rest}"
    worst = found[worst_of(found)]
    if not worst.excess:
        return f"No two lanes of a warp wait for one bank of shared memory.{rest}"
    request = worst.lanes(worst.worst)
    taken = count_text(request.cost, "wavefront")
    return f"{worst.which} takes {taken}; without conflicts it would be {request.least}.{rest}"
