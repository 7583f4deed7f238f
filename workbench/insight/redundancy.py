"""redundancy: how often one block loads each element of a buffer."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.insight.page import Kind, Point, Table


@dataclass(frozen=True, slots=True)
class Reuse:
    """How the first block loads one buffer: `loads` over `cells` distinct cells.

    `histogram` pairs a number of loads with how many cells are loaded that often. `most` is the
    cell that is loaded most often, `times` how often.
    """

    buffer: str
    scope: str
    loads: int
    cells: int
    average: float
    histogram: tuple[tuple[int, int], ...]
    most: Point
    times: int


@dataclass(frozen=True, slots=True)
class Redundancy:
    """Which data the first block loads again and again."""

    buffers: tuple[Reuse, ...]
    caption: str
    table: Table
    kind: Kind = "emulated"
