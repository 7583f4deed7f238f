"""conflicts: how many lanes of a warp meet in one bank of shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.insight.page import Kind, Table


@dataclass(frozen=True, slots=True)
class BankUse:
    """One access of the program to shared memory, as warps of the first block issue it.

    `banks` are the banks (of 32, 4 bytes wide) of the first warp's first request, lane by lane
    (None where a lane is idle). `degree` is the most distinct words one bank must serve for one
    request (1: no conflict); `average` is over all requests. A vector of 8 bytes is served half a
    warp at a time, one of 16 a quarter (CUDA C++ best practices guide, shared memory).
    """

    kernel: str
    buffer: str
    access: str
    text: str
    banks: tuple[int | None, ...]
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
