"""The notebook's side of the wire: a child process that holds the GPU, and may die alone."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from workbench.runtime.job import Left, Reply, Request

IDLE_SECONDS = 60.0
COMMAND = (sys.executable, "-m", "workbench.runtime.gpu", str(IDLE_SECONDS))


class WorkerDied(Exception):
    """The worker ended without an answer; `code` is its exit status, `said` its last words."""

    def __init__(self, code: int | None, said: str) -> None:
        super().__init__(f"exit status {code}: {said}")
        self.code = code
        self.said = said

    @property
    def how(self) -> str:
        """The end of the worker in words."""
        if self.code is not None and self.code < 0:
            return f"it was ended by {signal.Signals(-self.code).name}"
        return f"it ended with exit status {self.code}"


class WorkerTimeout(Exception):
    """The worker did not answer in time and was ended."""


class Worker:
    """Starts a process when one is needed, and asks it; at most one request at a time.

    Not shared between threads.
    """

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._command = tuple(command)
        self._process: subprocess.Popen[bytes] | None = None
        self._replies: queue.Queue[Reply | None] = queue.Queue()
        self._errors: IO[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process that runs now; None where there is none."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def ask(self, request: Request, seconds: float) -> Reply:
        """The answer to `request`.

        Raises WorkerDied when the worker ends instead, WorkerTimeout after `seconds`. In both
        cases, and when the wait is interrupted, no worker is left behind; the next call starts one.
        """
        try:
            reply = self._exchange(request, seconds)
            if isinstance(reply, Left):  # it had just gone for want of work: the next one answers
                self.stop()
                reply = self._exchange(request, seconds)
        except BaseException:
            self.stop()
            raise
        if getattr(reply, "fatal", False):
            self.stop()
        return reply

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                _close(pipe)
        process.wait(timeout=30)
        if self._errors is not None:
            self._errors.close()

    def _exchange(self, request: Request, seconds: float) -> Reply:
        if self.pid is None:
            self._start()
        process = self._process
        assert process is not None and process.stdin is not None
        with suppress(OSError):  # it may have gone; its last word is in the queue
            pickle.dump(request, process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
        try:
            reply = self._replies.get(timeout=seconds)
        except queue.Empty:
            raise WorkerTimeout(f"no answer in {seconds:g} s") from None
        if reply is None:
            raise WorkerDied(process.wait(timeout=30), self._last_words())
        return reply

    def _start(self) -> None:
        self.stop()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed in stop)
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": _with_our_package()},
            start_new_session=True,  # an interrupted cell interrupts the wait, not the worker
        )
        self._replies = queue.Queue()
        args = (self._process.stdout, self._replies)
        threading.Thread(target=_collect, args=args, daemon=True).start()

    def _last_words(self) -> str:
        assert self._errors is not None
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return "\n".join(lines[-5:])


def _collect(source: Any, replies: queue.Queue[Reply | None]) -> None:
    """Pass every answer on as it comes, and None at the end."""
    while True:
        try:
            replies.put(pickle.load(source))
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            replies.put(None)
            return


def _close(pipe: IO[bytes]) -> None:
    with suppress(OSError):  # what was still to be written has nobody to read it
        pipe.close()


def _with_our_package() -> str:
    """A search path on which the worker finds this very package, however it was imported."""
    here = str(Path(__file__).parents[2])
    return os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
