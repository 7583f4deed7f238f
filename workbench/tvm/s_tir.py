"""Where today's TVM has the schedule: tvm.s_tir."""

from workbench.schedule import Schedule, ScheduleError
from workbench.tvm.not_carried import refusing

__all__ = ["Schedule", "ScheduleError"]

__getattr__ = refusing(__name__)
