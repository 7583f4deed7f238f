"""What takes long, done beside the notebook: its thread, how far it is, how it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import RLock, Thread
from typing import Any

from workbench.diag import Fail
from workbench.widgets.run.runner import Progress, Runner


@dataclass(frozen=True)
class Job:
    """What takes long: how it is done, how its session learns how far it is, and what came out.

    `waits` is told how many notebooks have the GPU before.
    """

    work: Callable[[Runner, Progress, Callable[[int], None]], dict[str, Any]]
    tell: Progress
    waits: Callable[[int], None]
    done: Callable[[dict[str, Any]], None]
    failed: Callable[[Exception], None]


class Jobs:
    """The thread of a session's runs, one at a time; `changed` is called whenever it told one.

    Who has the `turn` may speak with the session: the job that is under way, or the notebook.
    """

    def __init__(self, runner: Runner, changed: Callable[[], None]) -> None:
        self.turn = RLock()
        self.runner = runner
        self._changed = changed
        self._thread: Thread | None = None

    @property
    def running(self) -> bool:
        """Whether a job is under way."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self, job: Job) -> None:
        """Start `job`. Raises Fail while another is under way."""
        if self.running:
            raise Fail("Can't run: a run is under way", hint="stop it first")
        self.runner.stop.clear()
        self._start(job)

    def _start(self, job: Job) -> None:
        self._thread = Thread(target=self._do, args=(job,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Let the job that is under way end soon, without a result."""
        self.runner.halt()

    def wait(self) -> None:
        """Return when no job is under way."""
        if self._thread is not None:
            self._thread.join()

    def _do(self, job: Job) -> None:
        def said(tell: Callable[..., None], *numbers: int) -> None:
            with self.turn:
                if not self.runner.stop.is_set():  # else it says that it stops
                    tell(*numbers)
                    self._changed()

        try:
            came = job.work(self.runner, partial(said, job.tell), partial(said, job.waits))
            end = partial(job.done, came)
        except Exception as error:
            end = partial(job.failed, error)
        with self.turn:
            end()
            self._changed()
