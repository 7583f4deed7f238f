"""Today's name of tvm.tir.schedule: tvm.s_tir.schedule."""

from workbench.tvm.not_carried import refusing
from workbench.tvm.tir.schedule import BlockRV as SBlockRV
from workbench.tvm.tir.schedule import LoopRV, Schedule, ScheduleError, Trace

__all__ = ["LoopRV", "SBlockRV", "Schedule", "ScheduleError", "Trace"]

__getattr__ = refusing(__name__)
