"""memory: which buffer lives at which level of the machine, and how much crosses each level."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.insight.page import Kind, Point, Table


@dataclass(frozen=True, slots=True)
class BufferUse:
    """One buffer at its level; loads and stores are counted over the whole program.

    `bytes` is what one owner (the grid, a block, a thread: see `Level.owner`) holds of it.
    `reuse` is loads by one owner over the distinct cells it loads, 0.0 where nothing loads it.
    `role` is "input", "output", "input and output" or "intermediate".
    """

    buffer: str
    dtype: str
    shape: Point
    role: str
    bytes: int
    loads: int
    stores: int
    load_bytes: int
    store_bytes: int
    reuse: float


@dataclass(frozen=True, slots=True)
class Level:
    """A level of the memory hierarchy: "global" (owner grid), "shared" (block), "local" (thread).

    `used` and `capacity` are bytes for one owner; capacity is None where the target has no limit
    of its own there (registers are shared by a block: see `occupancy`).
    """

    scope: str
    owner: str
    used: int
    capacity: int | None
    loads: int
    stores: int
    load_bytes: int
    store_bytes: int
    buffers: tuple[BufferUse, ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """Data that one block of the program moves from `source` to `target` (an arrow)."""

    stage: str
    source: str
    target: str
    source_scope: str
    target_scope: str
    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory-hierarchy picture: levels from far to near, and the arrows between buffers."""

    levels: tuple[Level, ...]
    flows: tuple[Flow, ...]
    caption: str
    table: Table
    kind: Kind = "emulated"
