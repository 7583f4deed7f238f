"""What a program costs and who does what: pure functions of it, giving plain data to draw."""

from workbench.insight.coalescing import Coalescing, Request
from workbench.insight.conflicts import BankUse, Conflicts
from workbench.insight.counts import Counts, Traffic
from workbench.insight.memory import BufferUse, Flow, Level, Memory
from workbench.insight.occupancy import Limit, Occupancy
from workbench.insight.page import Kind, Point, Region, Table
from workbench.insight.redundancy import Redundancy, Reuse
from workbench.insight.roofline import Roofline
from workbench.insight.tiles import Axis, Tile, Tiles, Touch
from workbench.insight.who import Cell, Group, Who, who

__all__ = [
    name
    for name, value in dict(globals()).items()
    if not name.startswith("_") and not hasattr(value, "__path__")
]
