"""What a program costs and who does what: pure functions of it, giving plain data to draw."""

from workbench.insight.ahead import Ahead, ahead
from workbench.insight.block_time import BlockTime, block_time
from workbench.insight.chosen_values import Selection, chosen_values
from workbench.insight.coalescing import Coalescing, Request, coalescing
from workbench.insight.conflicts import BankUse, Conflicts, conflicts
from workbench.insight.counts import Counts, Traffic, counts
from workbench.insight.fragments import (
    Fragments,
    calls_of_a_warp,
    calls_of_warps,
    fragments,
    has_fragments,
)
from workbench.insight.idle import idle_threads
from workbench.insight.issued import Asked, Issued, issued
from workbench.insight.lane_tiles import LaneCall, LaneTile, lane_calls
from workbench.insight.launched import Part, Term
from workbench.insight.lowered import lowered_of
from workbench.insight.memory import At, BufferUse, Flow, Level, Memory, memory
from workbench.insight.modelled import Modelled, modelled
from workbench.insight.occupancy import Limit, Occupancy, occupancy
from workbench.insight.page import KIND_WORDS, Kind, Point, Region, Table
from workbench.insight.pipelined import Flight, Moment, Pipelined, Row, Run, Use, Wait
from workbench.insight.pipelines import Pipelines, pipelines
from workbench.insight.recorded import Counted, counted
from workbench.insight.redundancy import Redundancy, Reuse, redundancy
from workbench.insight.requests import Lanes, Requests, requests_of, worst_of
from workbench.insight.residence import Residence, residence
from workbench.insight.resting import Idle
from workbench.insight.roofline import Roofline, roofline
from workbench.insight.samples import sampled
from workbench.insight.served import Sector, Wavefront, sectors_of, wavefronts_of
from workbench.insight.tiles import (
    Axis,
    Digit,
    Tile,
    Tiles,
    Touch,
    Values,
    axes,
    tiles,
    times_text,
)
from workbench.insight.totals import Total, Totals, totals
from workbench.insight.track import Track, time_text
from workbench.insight.turns import SIDES, Turns, loops_around, loops_of, turns
from workbench.insight.warp_time import WarpTime, warp_time
from workbench.insight.wavefronts import WARP
from workbench.insight.who import Who, who
from workbench.insight.who_cells import Cell
from workbench.insight.who_groups import Group
from workbench.insight.why import Fault, Why, why

__all__ = [
    "Ahead",
    "Asked",
    "At",
    "Axis",
    "BankUse",
    "BlockTime",
    "BufferUse",
    "Cell",
    "Coalescing",
    "Conflicts",
    "Counted",
    "Counts",
    "Digit",
    "Fault",
    "Flight",
    "Flow",
    "Fragments",
    "Group",
    "Idle",
    "Issued",
    "KIND_WORDS",
    "Kind",
    "LaneCall",
    "LaneTile",
    "Lanes",
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
    "Requests",
    "Residence",
    "Reuse",
    "Row",
    "Roofline",
    "Run",
    "SIDES",
    "Sector",
    "Selection",
    "Table",
    "Term",
    "Tile",
    "Tiles",
    "Total",
    "Totals",
    "Touch",
    "Track",
    "Traffic",
    "Turns",
    "Use",
    "Values",
    "WARP",
    "Wait",
    "WarpTime",
    "Wavefront",
    "Who",
    "Why",
    "ahead",
    "axes",
    "block_time",
    "calls_of_a_warp",
    "calls_of_warps",
    "chosen_values",
    "coalescing",
    "conflicts",
    "counted",
    "counts",
    "fragments",
    "has_fragments",
    "idle_threads",
    "issued",
    "lane_calls",
    "loops_around",
    "loops_of",
    "lowered_of",
    "memory",
    "modelled",
    "occupancy",
    "pipelines",
    "redundancy",
    "requests_of",
    "residence",
    "roofline",
    "sampled",
    "sectors_of",
    "tiles",
    "time_text",
    "times_text",
    "totals",
    "turns",
    "warp_time",
    "wavefronts_of",
    "who",
    "why",
    "worst_of",
]
