"""The steps that lead to a program of an exercise, as the lines that are handed in."""

from __future__ import annotations

import re

from workbench.schedule.history import HistoryNode
from workbench.schedule.trace import Trace


def lines_of(node: HistoryNode) -> str:
    """The lines for the solution's cell, "" for the start; they begin there, to run again."""
    steps = as_code(Trace(tuple(n.step for n in node.path() if n.step)))
    return f'mine.goto("start")\n{steps}' if steps else ""


def as_code(trace: Trace) -> str:
    """The steps of `trace` as lines of Python on the schedule `mine`."""
    _, *lines = trace.as_python().splitlines()  # the first makes a schedule
    return "\n".join(re.sub(r"^((?:[\w, ()]+ = )?)sch\b", r"\1mine", line) for line in lines)
