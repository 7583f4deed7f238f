"""Schedules: a history of programs, and the verbs that make the next one."""

from workbench.schedule.actions import Option, Verdict
from workbench.schedule.errors import ScheduleError, ScheduleWarning
from workbench.schedule.file import trace_from_data, trace_to_data
from workbench.schedule.handles import BlockHandle, LoopHandle
from workbench.schedule.history import History, HistoryNode
from workbench.schedule.load import load
from workbench.schedule.schedule import Schedule
from workbench.schedule.step import Step
from workbench.schedule.trace import Trace

__all__ = [
    "BlockHandle",
    "History",
    "HistoryNode",
    "LoopHandle",
    "Option",
    "Schedule",
    "ScheduleError",
    "ScheduleWarning",
    "Step",
    "Trace",
    "Verdict",
    "load",
    "trace_from_data",
    "trace_to_data",
]
