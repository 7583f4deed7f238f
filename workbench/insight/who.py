"""who: which time step, block and thread computes each cell of a buffer."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.insight.page import Kind, Point, Region, Table


@dataclass(frozen=True, slots=True)
class Cell:
    """Who computes one cell last: `label` says it in words ("block 1, thread 1").

    `time` is the first and last step, counted within one thread, at which that thread writes the
    cell. `block` and `thread` are (x, y, z), None where the program binds no such axis.
    `writers` counts the threads that write the cell.
    """

    index: Point
    label: str
    time: tuple[int, int]
    block: Point | None
    thread: Point | None
    writers: int


@dataclass(frozen=True, slots=True)
class Group:
    """The cells that one block, one thread or one stretch of time computes.

    `region` holds exactly these cells where `exact`, else it is the smallest box around them.
    """

    label: str
    time: tuple[int, int]
    block: Point | None
    thread: Point | None
    region: Region
    exact: bool
    cells: int


@dataclass(frozen=True, slots=True)
class Who:
    """The who-does-what picture of one buffer.

    `labels` are those of "time", "block", "thread" that tell cells apart. `cells` holds every cell
    of a small buffer (`whole`), else those of the first corner. `groups` cover the whole buffer:
    one a block where blocks are bound, else one a thread, else one a stretch of time; `left_out`
    groups are not listed. `zoom` are the threads of the first block, where blocks are bound.
    """

    buffer: str
    scope: str
    shape: Point
    labels: tuple[str, ...]
    whole: bool
    cells: tuple[Cell, ...]
    groups: tuple[Group, ...]
    left_out: int
    zoom: tuple[Group, ...]
    caption: str
    table: Table
    kind: Kind = "emulated"
