"""Schedules: a history of programs, and the verbs that make the next one."""

from workbench.history.errors import ScheduleError, ScheduleWarning
from workbench.history.file import trace_from_data, trace_to_data
from workbench.history.handles import BlockHandle, LoopHandle
from workbench.history.history import History, HistoryNode
from workbench.history.step import Step
from workbench.history.trace import Trace
from workbench.schedule.actions import Option, Verdict
from workbench.schedule.link import open
from workbench.schedule.load import load
from workbench.schedule.schedule import Schedule

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
    "open",
    "trace_from_data",
    "trace_to_data",
]
