"""A lab's history kept in a file, and taken up again in another session."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench import script
from workbench.schedule import Schedule
from workbench.schedule.file import DAMAGE, count_of, damaged, step_from_data, text_of
from workbench.schedule.history import History, HistoryNode


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
        if data["program"] != script.show(history.root.func):
            return None
        steps = _steps_more(data["nodes"], history)
        answers = len(set(data["answers"]) - set(history.answers))
    except (OSError, *DAMAGE):
        return None  # not ours, or half written: there is nothing to offer
    if not steps and not answers:
        return None
    what = " and ".join(_number(n, noun) for n, noun in ((steps, "step"), (answers, "answer")) if n)
    return Offer(f"You were here before: {path.name} has {what} more than this lab.", data)


def _steps_more(nodes: Sequence[Mapping[str, Any]], history: History) -> int:
    """How many of the saved steps `history` has not taken."""
    known: list[HistoryNode | None] = [history.root]
    for node in nodes:
        parent = known[count_of(node["parent"])]
        step = step_from_data(node["step"])
        known.append(history.child(parent, step) if parent else None)
    return known.count(None)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def take_up(path: Path | None, cursor: Schedule) -> None:
    """Merge what `path` holds beyond the history of `cursor`, where it holds anything."""
    offer = found(path, cursor.history)  # another lab of the history may have taken all
    if offer is not None:
        merge(cursor, offer.data)


def merge(cursor: Schedule, data: Mapping[str, Any]) -> None:
    """Take the saved steps again in the history of `cursor`, and go where it stood.

    Questions that were answered here keep their answers.

    Raises ScheduleError where a step is not possible, or the data is damaged.
    """
    made = [cursor.history.root]
    try:
        for name, answer in data["answers"].items():  # first: labs look at them with each step
            cursor.history.answers.setdefault(text_of(name), text_of(answer))
        for node in data["nodes"]:
            cursor.goto(made[count_of(node["parent"])])
            cursor.take_step(cursor.node.depth + 1, step_from_data(node["step"]))
            made.append(cursor.node)
            if node["mark"]:
                cursor.mark(node["mark"])
        cursor.goto(made[count_of(data["at"])])
    except DAMAGE as error:
        raise damaged(error) from None
