"""How a lab keeps its steps and its place, and what it says of that."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from weakref import WeakKeyDictionary, ref

from workbench.diag import Fail
from workbench.history.history import History, HistoryNode
from workbench.schedule import Schedule
from workbench.widgets.keep import saved

_left: WeakKeyDictionary[History, dict[tuple[int, str], int]] = WeakKeyDictionary()
"""Where the lab of a cell stood last, by where it began, all of them numbers of nodes."""


class Keeping:
    """The file of the steps that `cursor` takes: `path`, else the history's own, else none.

    And the place of the cursor, a fork of `schedule`, for a lab that begins where this one does, of
    the same `cell`, whose text tells it from others: one that runs again makes another lab on the
    same history.
    """

    def __init__(
        self, schedule: Schedule, cursor: Schedule, path: str | Path | None, cell: str
    ) -> None:
        file = path or cursor.history.kept_in
        self._schedule = ref(schedule)
        self._cursor = cursor
        self._kept = saved.kept(file, cursor.history) if file else None
        self._places = _left.setdefault(cursor.history, {})
        self._cell = cursor.node.id, cell

    def observe(self, observer: Callable[[], None]) -> None:
        """Call the method `observer` when it is said what becomes of an earlier session's work."""
        if self._kept is not None:
            self._kept.observe(observer)

    def offer(self) -> dict[str, str] | None:
        """What there is to go on from, in a sentence, and the words to do so; None for nothing."""
        if text := self._of_file():
            return {"text": text, "go": "go on from there"}
        if (node := self._before()) is None:
            return None
        text = f"You were here before, at step {node.id}: {node.label}."
        return {"text": text, "go": f"go on from step {node.id}"}

    def _of_file(self) -> str | None:
        return self._kept.offer(self._cursor.history) if self._kept is not None else None

    def _before(self) -> HistoryNode | None:
        """Where the last lab of this cell stood, if the way to this one's place does not go by."""
        number = self._places.get(self._cell)
        node = None if number is None else self._cursor.history[number]
        return None if node in self._cursor.node.path() else node

    @property
    def lasts(self) -> bool:
        """Whether a cell that runs again finds the steps: in a file, or in a schedule that lives.

        One that nobody but the lab had is gone once the lab is made.
        """
        return self._kept is not None or self._schedule() is not None

    def take_up(self) -> None:
        """Take up the work of an earlier session or lab: the cursor goes where it stood."""
        node = None if self._of_file() else self._before()
        if node is not None:
            self._cursor.goto(node)
        elif self._kept is not None:
            self._kept.take_up(self._cursor)
        else:
            raise Fail("Can't go on from there: this lab has no file", hint="use autosave=…")

    def forget(self) -> None:
        """Offer the work of an earlier session or lab no more."""
        if self._of_file() and self._kept is not None:
            self._kept.forget()
        else:
            self._places.pop(self._cell, None)

    def save(self, path: str | Path) -> None:
        """Write the whole history and the answers to `path`; `wb.load` reads it.

        Raises NotWritten, an OSError, where that fails; ScheduleError for a file of something else.
        """
        if self._kept is not None and Path(os.path.realpath(path)) == self._kept.path:
            self._kept.write(self._cursor)  # beside what it holds
        else:
            self._cursor.save(path)

    def write(self, text: str) -> str:
        """Keep the steps and the place; `text`, with what is to be said of it if that fails."""
        self._places[self._cell] = self._cursor.node.id
        if self._kept is None:
            return text
        moved = self._kept.moved
        try:
            self._kept.write(self._cursor)
        except Fail as fail:
            return f"{text} {fail.headline} Your steps are in memory only."
        return text if self._kept.moved == moved else self.with_moved(text)

    def begin(self, text: str) -> str:
        """`text`, and what is to be said of the file before any step is taken."""
        lost = self._kept.lost(self._cursor.history) if self._kept is not None else ""
        return " ".join(filter(None, (self.with_moved(text), lost)))

    def with_moved(self, text: str) -> str:
        """`text`, and where steps are kept if not in the file that was asked for."""
        return f"{text} {self._kept.moved}" if self._kept and self._kept.moved else text
