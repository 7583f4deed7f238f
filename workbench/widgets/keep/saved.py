"""A lab's history kept in a file, and taken up again in another session."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakMethod

from workbench.diag import Fail, count_text
from workbench.history.errors import ScheduleError
from workbench.history.file import (
    OF_A_HISTORY,
    as_text,
    contents,
    latest,
    marks_of,
    marks_to_data,
    not_ours,
    parsed,
    stays_in_folder,
    to_data,
)
from workbench.history.history import History, HistoryNode
from workbench.history.write_whole import replacing
from workbench.schedule import Schedule
from workbench.schedule.load import take_saved

_kept: WeakKeyDictionary[History, dict[Path, Kept]] = WeakKeyDictionary()
_MOST = 9  # files beside one that is not ours


def kept(path: str | Path, history: History) -> Kept:
    """The file at `path` for the labs of `history`: they ask once what to do with what it holds.

    Raises Fail for what is no path of a file.
    """
    of_history = _kept.setdefault(history, {})
    try:
        given = Path(path)
        path = Path(os.path.realpath(given)) if stays_in_folder(given) else given.absolute()
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        said = repr(str(path) if isinstance(path, Path) else path)
        raise Fail(
            f"Can't keep steps in {said}: {error}", hint='give a path: "my-work/lab.json"'
        ) from None
    if path not in of_history:
        of_history[path] = Kept(path, history)
    return of_history[path]


class Kept:
    """A history's file, with the work of an earlier session until it is said what becomes of it.

    What the file holds stays in it, whatever is said: each `write` reads it again and adds to it,
    so that neither another notebook on the same file nor a program of before loses a step or its
    answer, the first that was given; only who gave it, or took it up, may think better of it. Where
    the file holds what no workbench of this version wrote, it is left alone, and another beside
    it is used: `path` says which, and `moved` why.
    """

    def __init__(self, path: Path, history: History) -> None:
        self.path = path
        self.moved = ""
        self._asked, self._why = path, "is not there"
        self._raw, self._data = b"", _NOTHING  # as read or written last
        self._ours: Mapping[str, str] = {}  # of the answers in the file: what this history gave
        self._marked: Mapping[str, int] = {}  # of its marks: the nodes that it gave
        self._observers: list[WeakMethod[Callable[[], None]]] = []
        self._work = self._found(history.text)
        self._before: _Earlier | None = None  # it, taken again once somebody asks

    # --- the work of an earlier session ----------------------------------------------------------

    def _found(self, program: str) -> Mapping[str, Any] | None:
        """What there is of `program`; and from now on that file is used."""
        try:
            ours = [
                (path, data) for path in self._files() if (data := self._read(path)) is not None
            ]
        except OSError:
            return None  # the first write will say so
        path, data = next((pair for pair in ours if pair[1]), (ours or [(self.path, _NOTHING)])[0])
        self._use(path)
        return section(data, program)

    def _earlier(self, history: History) -> _Earlier | None:
        if self._work and self._before is None:
            self._before = _Earlier(history, self._work)
        return self._before

    def offer(self, history: History) -> str | None:
        """One sentence of what there is beyond `history`; None where there is nothing."""
        before = self._earlier(history)
        if before is None:
            return None
        steps, answers = before.steps_more(history), before.answers_more(history)
        counts = ((steps, "step"), (answers, "answer"))
        what = " and ".join(count_text(n, noun) for n, noun in counts if n)
        if not what:
            return None
        lost = before.skipped
        rest = f" {count_text(lost, 'step')} of it can no longer be taken." if lost else ""
        if before.left:
            rest += f" {count_text(before.left, 'earlier step')} stay in it, for wb.load."
        return f"You were here before: {self.path.name} has {what} more than this lab.{rest}"

    def lost(self, history: History) -> str:
        """One sentence of steps that cannot be taken, where no offer tells of them; else ""."""
        before = self._earlier(history)
        if before is None or not before.skipped or self.offer(history):
            return ""
        steps = count_text(before.skipped, "step")
        return f"{steps} in {self.path.name} can no longer be taken; the file keeps what it has."

    def observe(self, observer: Callable[[], None]) -> None:
        """Call the method `observer`, while its object lives, when it is said what becomes."""
        self._observers.append(WeakMethod(observer))

    def take_up(self, cursor: Schedule) -> None:
        """Take the earlier work up in the history of `cursor`, which goes where it stood."""
        before = self._earlier(cursor.history)
        self._work = self._before = None
        try:
            if before is not None:
                first = before.data["answers"]
                cursor.history.answers.update(first)
                self._ours = {**self._ours, **first}
                take_saved(cursor, before.data, skip=True)
                self._marked = _marked(to_data(cursor.history, cursor.node))
        finally:
            self._tell()

    def forget(self) -> None:
        """Offer the earlier work no more; it stays in the file, for another session."""
        self._work = self._before = None
        self._tell()

    def _tell(self) -> None:
        for observer in self._observers:
            call = observer()
            if call is not None:
                call()

    # --- writing ---------------------------------------------------------------------------------

    def write(self, cursor: Schedule) -> None:
        """Add the whole history with its answers, and where `cursor` stands, to the file.

        Raises NotWritten, an OSError, where that fails; the file is then as it was.
        """
        own = to_data(cursor.history, cursor.node)
        waiting = self._work is not None and not own["at"]  # who only came has left no place
        for path in self._files():
            with replacing(path) as replace:
                there = self._read(path)
                if there is None:
                    continue
                others = self._answers_of_others(there, own["program"])
                answers = {**own["answers"], **others}
                together = _together({**own, "answers": answers}, there, waiting, self._marked)
                text = as_text(together)
                replace(text)
                self._raw, self._data = text.encode(), together
            self._ours = {name: a for name, a in own["answers"].items() if name not in others}
            self._marked = _marked(own)
            self._use(path)
            return
        raise ScheduleError(f"Can't save: {self.moved}", hint="give another path")

    def _answers_of_others(self, data: Mapping[str, Any], program: str) -> dict[str, str]:
        """The answers in the file that another session gave: they came first."""
        work = section(data, program)
        given = work["answers"] if work else {}
        return {name: answer for name, answer in given.items() if self._ours.get(name) != answer}

    def _files(self) -> Iterator[Path]:
        """Where the work may be: in the file in use, or in those beside the one asked for."""
        yield self.path
        for number in range(2, _MOST + 1):
            beside = self._asked.with_stem(f"{self._asked.stem}.kept-{number}")
            if beside != self.path:
                yield beside

    def _use(self, path: Path) -> None:
        if path != self._asked:
            self.moved = f"{self._asked.name} {self._why}; steps are kept in {path.name}."
        self.path = path

    def _read(self, path: Path) -> Mapping[str, Any] | None:
        """What `path` holds; None where that is nothing of ours, or may not be read."""
        try:
            if not stays_in_folder(path):
                raise ScheduleError("It isn't read: it is a link that leads out of the folder")
            raw = contents(path)
            if raw != self._raw:
                self._data, self._raw = parsed(raw) or _NOTHING, raw
            return self._data
        except FileNotFoundError:
            return _NOTHING
        except OSError as error:
            if path == self._asked and not isinstance(error, PermissionError):
                raise
            why = "may not be read"
        except ScheduleError as error:
            why = f"is left as it is ({error.headline.partition(': ')[2].rstrip('.')})"
        if path == self._asked:
            self._why = why
        return None


_NOTHING: Mapping[str, Any] = {}


class _Earlier:
    """The last saved steps of a program that are possible, taken in a history of their own.

    `skipped` of them are not, and `left` earlier ones are not tried.
    """

    def __init__(self, history: History, data: Mapping[str, Any]) -> None:
        cursor = Schedule(history.root.mod)
        last = latest(data)
        self.left = len(data["nodes"]) - len(last["nodes"])
        self.skipped = take_saved(cursor, last, skip=True)
        self.data = to_data(cursor.history, cursor.node)
        self._history = cursor.history
        self._seen = 1  # of the nodes of the other history
        self._there = {0: cursor.history.root}  # by their numbers, what they are here

    def steps_more(self, history: History) -> int:
        """How many steps there are here that `history`, which grows, has not taken."""
        for node in history.nodes[self._seen :]:
            here = self._there.get(node.parent.id) if node.parent else None
            same = _same(node, here) if here is not None else None
            if same is not None:
                self._there[node.id] = same
        self._seen = len(history)
        return len(self._history) - len(self._there)

    def answers_more(self, history: History) -> int:
        """How many questions are answered here and not in `history`."""
        return len(set(self._history.answers) - set(history.answers))


def _same(node: HistoryNode, parent: HistoryNode) -> HistoryNode | None:
    """The child of `parent`, in another history, that is what `node` is in its own."""
    assert node.step is not None
    history = parent.history
    return history.child(parent, node.step) or history.twin(
        parent, node.step, node.places[node.func_name]
    )


# --- what is in a file ----------------------------------------------------------------------------


def section(data: Mapping[str, Any], program: str) -> Mapping[str, Any] | None:
    """The history of `program` among those of a file."""
    return next((part for part in _sections(data) if part["program"] == program), None)


def _sections(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [data, *data.get("others", ())] if data else []


def _together(
    own: Mapping[str, Any], found: Mapping[str, Any], waiting: bool, marked: Mapping[str, int]
) -> dict[str, Any]:
    """The data of a history with all that was in the file that it goes to.

    While `waiting`, it stands where it stood in the file. `marked` are its marks as it wrote them
    last, with the nodes that had them.
    """
    program = own["program"]
    before = section(found, program)
    others = [
        {name: part[name] for name in OF_A_HISTORY if name in part}
        for part in _sections(found)
        if part["program"] != program
    ]
    whole = _beside(own, before, waiting, marked) if before else dict(own)
    whole |= not_ours(found)
    return {**whole, "others": others} if others else whole


def _beside(
    own: Mapping[str, Any], before: Mapping[str, Any], waiting: bool, marked: Mapping[str, int]
) -> dict[str, Any]:
    """The data of a history with the steps, marks and answers of `before` that it has not."""
    nodes = [{"parent": node["parent"], "step": node["step"]} for node in own["nodes"]]
    places = {_place(node["parent"], node): k for k, node in enumerate(nodes, 1)}
    made = [0]
    for node in before["nodes"]:
        parent = made[node["parent"]]
        place = _place(parent, node)
        if place not in places:
            nodes.append({"parent": parent, "step": node["step"]})
            places[place] = len(nodes)
        made.append(places[place])
    marks: list[list[str]] = [[] for _ in range(len(nodes) + 1)]
    for mark, number in _marks_beside(own, before, made, marked).items():
        marks[number].append(mark)
    return {
        **own,
        **marks_to_data(marks[0]),
        "nodes": [
            {"parent": node["parent"], **marks_to_data(given), "step": node["step"]}
            for node, given in zip(nodes, marks[1:], strict=True)
        ],
        "at": made[before["at"]] if waiting else own["at"],
        "answers": {**before["answers"], **own["answers"]},
    }


def _marks_beside(
    own: Mapping[str, Any], before: Mapping[str, Any], made: list[int], marked: Mapping[str, int]
) -> dict[str, int]:
    """The marks of a history and those of `before` that others gave, each with its node.

    Node k of `before` is number `made[k]`. What this history gave, as `marked` tells, is not
    another's: it may have moved. Where both gave a mark to different programs, it is of who writes,
    and the other's has a number behind it, until the other writes.
    """
    marks = _marked(own)
    twice: list[tuple[str, int]] = []
    for number, node in zip(made, (before, *before["nodes"]), strict=True):
        for mark in marks_of(node):
            stem = re.sub(r" \(\d+\)$", "", mark)
            if number in (marks.get(mark), marks.get(stem), marked.get(mark), marked.get(stem)):
                continue
            if mark in marks:
                twice.append((stem, number))
            else:
                marks[mark] = number
    for stem, number in twice:
        numbered = (f"{stem} ({k})" for k in count(2))
        marks[next(mark for mark in numbered if mark not in marks)] = number
    return marks


def _marked(data: Mapping[str, Any]) -> dict[str, int]:
    """The marks of a history, each with the number of its node."""
    nodes = enumerate((data, *data["nodes"]))
    return {mark: number for number, node in nodes for mark in marks_of(node)}


def _place(parent: int, node: Mapping[str, Any]) -> tuple[int, str]:
    """What tells a saved node from others: where it was made, and by which step."""
    return parent, json.dumps(node["step"], sort_keys=True)
