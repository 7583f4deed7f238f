"""Reading a saved schedule back: its steps are checked and taken again, nothing in it is run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench import script
from workbench.diag import Fail
from workbench.history.file import (
    DAMAGE,
    bad_file,
    contents,
    damaged,
    marks_of,
    parsed,
    step_from_data,
)
from workbench.history.history import HistoryNode
from workbench.schedule.schedule import Schedule


def load(path: str | Path) -> Schedule:
    """The schedule that was saved in the file `path`; reading it runs no code from it.

    Raises ScheduleError where the file is no saved schedule, OSError where it cannot be read.

    >>> sch.save("steps.json")
    >>> wb.load("steps.json")
    <Schedule of add at step 0: start>
    """
    data = parsed(contents(path))
    if data is None:
        raise bad_file("it is empty")
    return from_data(data)


def from_data(data: Mapping[str, Any]) -> Schedule:
    """The schedule that `parsed` data tells; its steps are checked and taken again.

    Raises ScheduleError where one is not possible, or the program is none.
    """
    try:
        schedule = Schedule(script.parse(data["program"]))
        take_saved(schedule, data)
    except DAMAGE as error:
        raise damaged(error) from None
    return schedule


def take_saved(schedule: Schedule, data: Mapping[str, Any], skip: bool = False) -> int:
    """Take the steps that `checked` data tells, and go where it stood.

    Answers that are there stay, and names stay at their nodes. With `skip`, a step that is not
    possible is left out, with those that follow it; returns how many were. Raises ScheduleError
    for one otherwise.
    """
    history = schedule.history
    with history.together():
        for name, answer in data["answers"].items():
            history.answers.setdefault(name, answer)
        named = {mark for node in history for mark in node.marks}
        made: list[HistoryNode | None] = [history.root]
        for node in (data, *data["nodes"]):
            if node is not data:
                made.append(_taken(schedule, made[node["parent"]], node["step"], skip))
            here = made[-1]
            if here is not None:
                more = [mark for mark in marks_of(node) if mark not in named]
                history.add_marks(here, more)
                named.update(more)
        at = data["at"]
        while made[at] is None:
            at = data["nodes"][at - 1]["parent"]
        schedule.goto(made[at] or history.root)
    return made.count(None)


def _taken(
    schedule: Schedule, parent: HistoryNode | None, step: Any, skip: bool
) -> HistoryNode | None:
    """The node that a saved step makes of `parent`; None where it is left out."""
    if parent is None:
        return None
    try:
        schedule.goto(parent)
        schedule.take_step(parent.depth + 1, step_from_data(step))
    except (Fail, *DAMAGE):
        if skip:
            return None
        raise
    return schedule.node
