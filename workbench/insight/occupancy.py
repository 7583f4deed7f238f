"""occupancy: how many blocks and warps of a kernel a multiprocessor can hold at once."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.insight.page import Kind, Table


@dataclass(frozen=True, slots=True)
class Limit:
    """How many blocks one resource of a multiprocessor has room for."""

    resource: str
    needed: int
    available: int
    blocks: int


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Blocks and warps resident on one multiprocessor; `limited_by` names the tightest resource.

    `fraction` is resident warps over the most that a multiprocessor holds. Registers are not
    known before a compiler has run: they are no limit here.
    """

    kernel: str
    target: str
    blocks_per_sm: int
    warps_per_sm: int
    max_warps_per_sm: int
    fraction: float
    limited_by: str
    limits: tuple[Limit, ...]
    waves: float
    caption: str
    table: Table
    kind: Kind = "modelled"
