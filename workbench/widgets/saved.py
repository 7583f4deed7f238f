"""A lab's history in a file: the schedule's own format, with the answers given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench import script
from workbench.schedule import Schedule
from workbench.schedule.file import bad_file, step_from_data, to_data
from workbench.schedule.history import History


@dataclass(frozen=True, slots=True)
class Offer:
    """A saved history of the same program that has steps which this one has not."""

    text: str
    data: Mapping[str, Any]


def write(path: Path, cursor: Schedule, answers: Mapping[str, int | str]) -> None:
    """Write the whole history, where `cursor` stands, and the answers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**to_data(cursor.history, cursor.node), "answers": dict(answers)}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def found(path: Path | None, history: History) -> Offer | None:
    """What `path` holds beyond `history`; None where it holds nothing, or another program."""
    if path is None or not path.is_file():
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        more = len(data["nodes"]) + 1 - len(history)
        if data["program"] != script.show(history.root.func) or (more <= 0 and not data["answers"]):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not ours, or half written: there is nothing to offer
    steps = "1 step" if more == 1 else f"{more} steps"
    return Offer(f"You were here before: {path.name} has {steps} more.", data)


def merge(cursor: Schedule, data: Mapping[str, Any]) -> None:
    """Take the saved steps again in the history of `cursor`, and go where it stood.

    Raises ScheduleError where a step is not possible, or the data is damaged.
    """
    made = [cursor.history.root]
    try:
        for node in data["nodes"]:
            cursor.goto(made[node["parent"]])
            cursor.take_step(cursor.node.depth + 1, step_from_data(node["step"]))
            made.append(cursor.node)
            if node["mark"]:
                cursor.mark(node["mark"])
        cursor.goto(made[data["at"]])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise bad_file(f"part of it is missing or damaged ({error})") from None
