"""Where TVM has the schedule, and the types of what it hands out: tvm.tir.schedule."""

from workbench.schedule import BlockHandle as BlockRV
from workbench.schedule import LoopHandle as LoopRV
from workbench.schedule import Schedule, ScheduleError, Trace
from workbench.tvm.not_carried import refusing

__all__ = ["BlockRV", "LoopRV", "Schedule", "ScheduleError", "Trace"]

__getattr__ = refusing(__name__)
