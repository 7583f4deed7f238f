"""A lab's history kept in a file, and taken up again in another session."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakMethod

from workbench import script
from workbench.schedule import Schedule
from workbench.schedule.file import DAMAGE, count_of, damaged, step_from_data, text_of, to_data
from workbench.schedule.history import History, HistoryNode

_kept: WeakKeyDictionary[History, dict[Path, Kept]] = WeakKeyDictionary()


def kept(path: Path, history: History) -> Kept:
    """The file at `path` for the labs of `history`: they ask once what to do with what it holds."""
    of_history = _kept.setdefault(history, {})
    path = path.resolve()
    if path not in of_history:
        of_history[path] = Kept(path, history)
    return of_history[path]


class Kept:
    """A history's file, with the work of an earlier session until it is said what becomes of it.

    Until then that work stays in the file, beside the new steps, and nothing of it is shown.
    """

    def __init__(self, path: Path, history: History) -> None:
        self.path = path
        self._before = _read(path, history)
        self._observers: list[WeakMethod[Callable[[], None]]] = []

    def offer(self, history: History) -> str | None:
        """One sentence of what there is beyond `history`; None where there is nothing."""
        if self._before is None:
            return None
        steps = _steps_more(self._before["nodes"], history)
        answers = len(set(self._before["answers"]) - set(history.answers))
        counts = ((steps, "step"), (answers, "answer"))
        what = " and ".join(_number(n, noun) for n, noun in counts if n)
        if not what:
            return None
        return f"You were here before: {self.path.name} has {what} more than this lab."

    def observe(self, observer: Callable[[], None]) -> None:
        """Call the method `observer`, while its object lives, when it is said what becomes."""
        self._observers.append(WeakMethod(observer))

    def take_up(self, cursor: Schedule) -> None:
        """Take the earlier work up in the history of `cursor`, which goes where it stood."""
        before, self._before = self._before, None
        try:
            if before is not None:
                _merge(cursor, before)
        finally:
            self._tell()

    def forget(self) -> None:
        """Let the next `write` drop the earlier work."""
        self._before = None
        self._tell()

    def write(self, cursor: Schedule) -> None:
        """Write the whole history with its answers, and where `cursor` stands."""
        data = to_data(cursor.history, cursor.node)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(_beside(data, self._before) if self._before else data, indent=1)
        self.path.write_text(text + "\n", encoding="utf-8")

    def _tell(self) -> None:
        for observer in self._observers:
            call = observer()
            if call is not None:
                call()


def _read(path: Path, history: History) -> Mapping[str, Any] | None:
    """What `path` holds of the program of `history`; None where it is nothing, or of another."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["program"] != script.show(history.root.func):
            return None
        _beside({"nodes": [], "answers": {}}, data)
        _steps_more(data["nodes"], history)
    except (OSError, *DAMAGE):
        return None  # not ours, or half written: there is nothing to offer
    return data


def _beside(own: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a history with the steps and answers of `before` that it has not."""
    nodes = [dict(node) for node in own["nodes"]]
    places = {_place(node["parent"], node): k for k, node in enumerate(nodes, 1)}
    marks = {node["mark"] for node in nodes}
    made = [0]
    for node in before["nodes"]:
        parent = made[count_of(node["parent"])]
        place = _place(parent, node)
        if place not in places:
            nodes.append({"parent": parent, "mark": "", "step": node["step"]})
            places[place] = len(nodes)
        made.append(places[place])
        here = nodes[made[-1] - 1]
        if not here["mark"] and node["mark"] not in marks:
            here["mark"] = node["mark"]
    return {**own, "nodes": nodes, "answers": {**before["answers"], **own["answers"]}}


def _place(parent: int, node: Mapping[str, Any]) -> tuple[int, str]:
    """What tells a saved node from others: where it was made, and by which step."""
    return parent, json.dumps(node["step"], sort_keys=True)


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


def _merge(cursor: Schedule, data: Mapping[str, Any]) -> None:
    """Take the saved steps again in the history of `cursor`, and go where it stood.

    Answers that were given here stay, and names stay at their nodes.

    Raises ScheduleError where a step is not possible, or the data is damaged.
    """
    made = [cursor.history.root]
    named = {"", *(node.mark for node in cursor.history)}
    try:
        for name, answer in data["answers"].items():  # first: labs look at them with each step
            cursor.history.answers.setdefault(text_of(name), text_of(answer))
        for node in data["nodes"]:
            cursor.goto(made[count_of(node["parent"])])
            cursor.take_step(cursor.node.depth + 1, step_from_data(node["step"]))
            made.append(cursor.node)
            if node["mark"] not in named:
                cursor.mark(node["mark"])
        cursor.goto(made[count_of(data["at"])])
    except DAMAGE as error:
        raise damaged(error) from None
