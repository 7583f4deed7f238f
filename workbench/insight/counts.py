"""counts: exact numbers of loads, stores, bytes, barriers, threads and operations of kernels."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.insight.page import Kind, Table


@dataclass(frozen=True, slots=True)
class Traffic:
    """Loads and stores of elements at one level, over every thread of every launch."""

    scope: str
    loads: int
    stores: int
    load_bytes: int
    store_bytes: int


@dataclass(frozen=True, slots=True)
class Counts:
    """What every thread of every launch does, added up.

    `barriers` counts those one block passes, added over the launches; `work` floating-point (or,
    in a kernel without floats, integer) additions, multiplications and the like on values; index
    arithmetic does not count. `loads_per_output` is global loads over cells written to global.
    """

    launches: int
    blocks: int
    threads: int
    barriers: int
    work: int
    traffic: tuple[Traffic, ...]
    loads_per_output: float
    caption: str
    table: Table
    kind: Kind = "emulated"
