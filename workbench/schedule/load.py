"""Reading a saved schedule back: its steps are checked and taken again, nothing in it is run."""

from __future__ import annotations

import json
from pathlib import Path

from workbench import script
from workbench.schedule.file import (
    DAMAGE,
    FORMAT,
    VERSION,
    bad_file,
    count_of,
    damaged,
    step_from_data,
    text_of,
)
from workbench.schedule.schedule import Schedule


def load(path: str | Path) -> Schedule:
    """The schedule that was saved in the file `path`; reading it runs no code from it.

    Raises ScheduleError where the file is no saved schedule, OSError where it cannot be read.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise bad_file("it is not JSON text") from None
    return from_data(data)


def from_data(data: object) -> Schedule:
    """The schedule that `to_data` told; its steps are checked and taken again.

    Raises ScheduleError where `data` is not such a telling.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise bad_file("it is not a saved schedule")
    if data.get("version") != VERSION:
        raise bad_file(f"it has version {data.get('version')!r}, this workbench reads {VERSION}")
    try:
        schedule = Schedule(script.parse(data["program"]))
        if data["mark"]:
            schedule.mark(text_of(data["mark"]))
        for node in data["nodes"]:
            schedule.goto(count_of(node["parent"]))
            number = schedule.node.depth + 1
            schedule.take_step(number, step_from_data(node["step"]))
            if node["mark"]:
                schedule.mark(text_of(node["mark"]))
        schedule.goto(count_of(data["at"]))
        for name, answer in data["answers"].items():
            schedule.history.answers[text_of(name)] = text_of(answer)
    except DAMAGE as error:
        raise damaged(error) from None
    return schedule
