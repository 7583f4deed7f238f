"""conflicts: how many lanes of a warp meet in one bank of shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.diag import count_text
from workbench.insight.accesses import Access, kind_of
from workbench.insight.page import Kind, Table
from workbench.insight.warps import all_requests, first_row, lane_bytes, text_of
from workbench.insight.wavefronts import BANKS, WARP, WORD, lanes_together, wavefronts
from workbench.ir import Kernel


@dataclass(frozen=True, slots=True)
class BankUse:
    """One access of the program to shared memory, as warps of the first block issue it.

    `banks` are the banks (of 32, 4 bytes wide) of the first warp's first request, lane by lane
    (None where a lane is idle), `words` the words of 4 bytes there, of a vector the first, counted
    from the start of the buffer; `together` neighbouring lanes of it are served at a time, a half
    or a quarter of a warp where a lane moves 8 or 16 bytes. `degree` is the most distinct words
    that one bank must serve for lanes that are served together (1: no conflict); `wavefronts` the
    most turns that one request takes, all its lanes; `average` is over all requests.
    """

    kernel: str
    buffer: str
    access: str
    text: str
    banks: tuple[int | None, ...]
    words: tuple[int | None, ...]
    bytes_per_lane: int
    together: int
    requests: int
    degree: int
    wavefronts: int
    average: float


@dataclass(frozen=True, slots=True)
class Conflicts:
    """The bank-conflict picture: one row an access."""

    uses: tuple[BankUse, ...]
    caption: str
    table: Table
    kind: Kind = "modelled"


def conflicts(kernels: Sequence[Kernel]) -> Conflicts:
    """How the first block's warps of 32 lanes meet in the banks of shared memory."""
    uses = tuple(_use(*asked) for asked in all_requests(kernels, "shared", WARP))
    rows = tuple(
        (u.buffer, u.access, u.text, u.degree, u.wavefronts, round(u.average, 2)) for u in uses
    )
    columns = ("buffer", "access", "where", "conflict degree", "turns", "on average")
    return Conflicts(uses, _caption(uses), Table(columns, rows))


def _use(kernel: Kernel, access: Access, table: Any) -> BankUse:
    width = lane_bytes(access)
    taken, degrees = wavefronts(table, width, writes=access.writes)
    words = tuple(None if a is None else a // WORD for a in first_row(table))
    banks = tuple(None if word is None else word % BANKS for word in words)
    return BankUse(
        kernel.name,
        access.buffer.name,
        kind_of(access),
        text_of(access),
        banks,
        words,
        width,
        int(lanes_together(table[:1], width, writes=access.writes)[0]),
        len(table),
        int(degrees.max()),
        int(taken.max()),
        float(taken.mean()),
    )


def _caption(found: Sequence[BankUse]) -> str:
    if not found:
        return "The program does not use shared memory."
    worst = max(found, key=lambda u: (u.degree, u.wavefronts))
    if worst.degree <= 1:
        return "No two lanes of a warp wait for one bank of shared memory."
    return (
        f"A warp's {worst.access} of {worst.buffer} takes {count_text(worst.wavefronts, 'turn')}: "
        f"up to {worst.degree} different words lie in one bank."
    )
