"""conflicts: how many lanes of a warp meet in one bank of shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.insight.accesses import Access, kind_of
from workbench.insight.page import Kind, Table
from workbench.insight.warps import IDLE, all_requests, first_row, lane_bytes, text_of
from workbench.ir import Kernel

BANKS, WORD = 32, 4  # banks, and bytes that one bank serves at once (all NVIDIA GPUs since Maxwell)


@dataclass(frozen=True, slots=True)
class BankUse:
    """One access of the program to shared memory, as warps of the first block issue it.

    `banks` are the banks (of 32, 4 bytes wide) of the first warp's first request, lane by lane
    (None where a lane is idle), `words` the words of 4 bytes there, of a vector the first, counted
    from the start of the buffer. `degree` is the most distinct words one bank must serve for one
    request (1: no conflict); `average` is over all requests. A vector of 8 bytes is served half a
    warp at a time, one of 16 a quarter (CUDA C++ best practices guide, shared memory).
    """

    kernel: str
    buffer: str
    access: str
    text: str
    banks: tuple[int | None, ...]
    words: tuple[int | None, ...]
    bytes_per_lane: int
    requests: int
    degree: int
    average: float


@dataclass(frozen=True, slots=True)
class Conflicts:
    """The bank-conflict picture: one row an access."""

    uses: tuple[BankUse, ...]
    caption: str
    table: Table
    kind: Kind = "modelled"


def conflicts(kernels: Sequence[Kernel], warp: int = 32) -> Conflicts:
    """How the first block's warps of `warp` lanes meet in the banks of shared memory."""
    uses = tuple(_use(*asked) for asked in all_requests(kernels, "shared", warp))
    rows = tuple((u.buffer, u.access, u.text, u.degree, round(u.average, 2)) for u in uses)
    columns = ("buffer", "access", "where", "conflict degree", "on average")
    return Conflicts(uses, _caption(uses), Table(columns, rows))


def _use(kernel: Kernel, access: Access, table: Any) -> BankUse:
    width = lane_bytes(access)
    degrees = _degrees(table, width)
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
        len(table),
        int(degrees.max()),
        float(degrees.mean()),
    )


def _degrees(table: Any, width: int) -> Any:
    """For each request the most distinct words that one bank serves in one of its phases."""
    phases = max(1, width // WORD)
    lanes = max(1, table.shape[1] // phases)
    rows = table.reshape(-1, lanes)
    words = [np.where(rows == IDLE, IDLE, rows // WORD + k) for k in range(phases)]
    together = np.sort(np.concatenate(words, axis=1), axis=1)
    fresh = together != IDLE
    fresh[:, 1:] &= together[:, 1:] != together[:, :-1]
    count = np.zeros((len(together), BANKS), dtype=np.int64)
    row, column = np.nonzero(fresh)
    np.add.at(count, (row, together[row, column] % BANKS), 1)
    return count.max(axis=1).reshape(len(table), -1).max(axis=1)


def _caption(found: Sequence[BankUse]) -> str:
    if not found:
        return "The program does not use shared memory."
    worst = max(found, key=lambda u: u.degree)
    if worst.degree <= 1:
        return "No two lanes of a warp wait for one bank of shared memory."
    return (
        f"A warp's {worst.access} of {worst.buffer} takes {worst.degree} turns: "
        f"up to {worst.degree} different words lie in one bank."
    )
