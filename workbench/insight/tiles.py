"""tiles: what a chosen block, thread or loop value touches of each buffer."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.insight.page import Kind, Point, Region, Table


@dataclass(frozen=True, slots=True)
class Axis:
    """Something that can be chosen: a slider.

    `key` is what `select` takes: "blockIdx.x", "threadIdx.y", or a loop's printed name (with
    " of " and its block's name where two loops share it). `role` is "block", "thread", "reduce" or
    "serial". `selected` is None while the whole range is shown.
    """

    key: str
    role: str
    extent: int
    selected: int | None


@dataclass(frozen=True, slots=True)
class Touch:
    """The cells of one buffer that the selection reads, or writes (`access`).

    `region` holds exactly these cells where `exact`, else it is the smallest box around them.
    `accesses` counts the loads or stores, `cells` the distinct cells; `reuse` is their ratio.
    """

    stage: str
    access: str
    region: Region
    exact: bool
    cells: int
    accesses: int
    reuse: float


@dataclass(frozen=True, slots=True)
class Tile:
    """One buffer and what the selection touches of it."""

    buffer: str
    scope: str
    shape: Point
    touches: tuple[Touch, ...]


@dataclass(frozen=True, slots=True)
class Tiles:
    """The tiling picture for one selection."""

    axes: tuple[Axis, ...]
    tiles: tuple[Tile, ...]
    caption: str
    table: Table
    kind: Kind = "emulated"
