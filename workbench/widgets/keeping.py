"""How a lab keeps its steps in a file, and what it says of that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from workbench.diag import Fail
from workbench.schedule import Schedule
from workbench.widgets import saved


class Keeping:
    """The file of the steps that `cursor` takes: `path`, else the history's own, else none."""

    def __init__(self, cursor: Schedule, path: str | Path | None) -> None:
        file = path or cursor.history.kept_in
        self._cursor = cursor
        self._kept = saved.kept(file, cursor.history) if file else None

    def observe(self, observer: Callable[[], None]) -> None:
        """Call the method `observer` when it is said what becomes of an earlier session's work."""
        if self._kept is not None:
            self._kept.observe(observer)

    def offer(self) -> dict[str, str] | None:
        """What an earlier session has beyond this one, in a sentence; None where it has nothing."""
        text = self._kept.offer(self._cursor.history) if self._kept is not None else None
        return {"text": text} if text else None

    def take_up(self) -> None:
        """Take up the work of an earlier session: the cursor goes where it stood."""
        if self._kept is None:
            raise Fail("Can't go on from there: this lab has no file", hint="use autosave=…")
        self._kept.take_up(self._cursor)

    def forget(self) -> None:
        """Offer the work of an earlier session no more."""
        if self._kept is not None:
            self._kept.forget()

    def save(self, path: str | Path) -> None:
        """Write the whole history and the answers to `path`; `wb.load` reads it.

        Raises NotWritten, an OSError, where that fails; ScheduleError for a file of something else.
        """
        if self._kept is not None and Path(path).resolve() == self._kept.path:
            self._kept.write(self._cursor)  # beside what it holds
        else:
            self._cursor.save(path)

    def write(self, text: str) -> str:
        """Keep the steps; `text`, with what is to be said of it. As long as it fails, that is."""
        if self._kept is None:
            return text
        moved = self._kept.moved
        try:
            self._kept.write(self._cursor)
        except Fail as fail:
            return f"{text} {fail.headline} Your steps are in memory only."
        return text if self._kept.moved == moved else self.with_moved(text)

    def with_moved(self, text: str) -> str:
        """`text`, and where steps are kept if not in the file that was asked for."""
        return f"{text} {self._kept.moved}" if self._kept and self._kept.moved else text
