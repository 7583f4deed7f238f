"""Where today's TVM has the schedule: tvm.s_tir."""

from workbench.schedule import Schedule, ScheduleError
from workbench.tvm.not_carried import refusing
from workbench.tvm.s_tir import meta_schedule, schedule

__all__ = ["Schedule", "ScheduleError", "meta_schedule", "schedule"]

__getattr__ = refusing(__name__)
