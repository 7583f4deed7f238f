"""What a program costs and who does what: pure functions of it, giving plain data to draw."""

from workbench.insight.ahead import Ahead, ahead
from workbench.insight.coalescing import Coalescing, Request, coalescing
from workbench.insight.conflicts import BankUse, Conflicts, conflicts
from workbench.insight.counts import Counts, Traffic, counts
from workbench.insight.idle import idle_threads
from workbench.insight.issued import Asked, Issued, issued
from workbench.insight.launched import Part, Term
from workbench.insight.lowered import lowered_of
from workbench.insight.memory import At, BufferUse, Flow, Level, Memory, memory
from workbench.insight.modelled import Modelled, modelled
from workbench.insight.occupancy import Limit, Occupancy, occupancy
from workbench.insight.page import KIND_WORDS, Kind, Point, Region, Table
from workbench.insight.pipelined import Flight, Moment, Pipelined, Row, Run, Use, Wait
from workbench.insight.pipelines import Pipelines, pipelines
from workbench.insight.redundancy import Redundancy, Reuse, redundancy
from workbench.insight.roofline import Roofline, roofline
from workbench.insight.samples import sampled
from workbench.insight.tiles import (
    Axis,
    Digit,
    Selection,
    Tile,
    Tiles,
    Touch,
    Values,
    axes,
    tiles,
    times_text,
)
from workbench.insight.turns import SIDES, Turns, loops_of, turns
from workbench.insight.who import Cell, Group, Idle, Who, who

__all__ = [
    "Ahead",
    "Asked",
    "At",
    "Axis",
    "BankUse",
    "BufferUse",
    "Cell",
    "Coalescing",
    "Conflicts",
    "Counts",
    "Digit",
    "Flight",
    "Flow",
    "Group",
    "Idle",
    "Issued",
    "KIND_WORDS",
    "Kind",
    "Level",
    "Limit",
    "Memory",
    "Modelled",
    "Moment",
    "Part",
    "Occupancy",
    "Pipelined",
    "Pipelines",
    "Point",
    "Redundancy",
    "Region",
    "Request",
    "Reuse",
    "Row",
    "Roofline",
    "Run",
    "SIDES",
    "Selection",
    "Table",
    "Term",
    "Tile",
    "Tiles",
    "Touch",
    "Traffic",
    "Turns",
    "Use",
    "Values",
    "Wait",
    "Who",
    "ahead",
    "axes",
    "coalescing",
    "conflicts",
    "counts",
    "idle_threads",
    "issued",
    "loops_of",
    "lowered_of",
    "memory",
    "modelled",
    "occupancy",
    "pipelines",
    "redundancy",
    "roofline",
    "sampled",
    "tiles",
    "times_text",
    "turns",
    "who",
]
