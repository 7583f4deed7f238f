"""A lab's history kept in a file, and taken up again in another session."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench import script
from workbench.schedule import Schedule
from workbench.schedule.file import DAMAGE, count_of, damaged, step_from_data, text_of
from workbench.schedule.history import History


@dataclass(frozen=True, slots=True)
class Offer:
    """A saved history of the same program that has steps which this one has not."""

    text: str
    data: Mapping[str, Any]


def write(path: Path, cursor: Schedule) -> None:
    """Write the whole history with its answers, and where `cursor` stands."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cursor.save(path)


def found(path: Path | None, history: History) -> Offer | None:
    """What `path` holds beyond `history`; None where it holds nothing, or another program."""
    if path is None or not path.is_file():
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        more = len(data["nodes"]) + 1 - len(history)
        if data["program"] != script.show(history.root.func):
            return None
        if more <= 0 and data["answers"] == history.answers:
            return None
    except (OSError, *DAMAGE):
        return None  # not ours, or half written: there is nothing to offer
    what = "your answers" if more <= 0 else "1 step more" if more == 1 else f"{more} steps more"
    return Offer(f"You were here before: {path.name} has {what}.", data)


def merge(cursor: Schedule, data: Mapping[str, Any]) -> None:
    """Take the saved steps again in the history of `cursor`, and go where it stood.

    Raises ScheduleError where a step is not possible, or the data is damaged.
    """
    made = [cursor.history.root]
    try:
        for node in data["nodes"]:
            cursor.goto(made[count_of(node["parent"])])
            cursor.take_step(cursor.node.depth + 1, step_from_data(node["step"]))
            made.append(cursor.node)
            if node["mark"]:
                cursor.mark(node["mark"])
        cursor.goto(made[count_of(data["at"])])
        for name, answer in data["answers"].items():
            cursor.history.answers[text_of(name)] = text_of(answer)
    except DAMAGE as error:
        raise damaged(error) from None
