"""The notebook's side of the wire: a child process that holds the GPU, and may die alone."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import inf
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import IO

from workbench.runtime.job import Failed, Reply, Request, Waiting

IDLE_SECONDS = 60.0
# -P: a learner's own queue.py beside the notebook is none of its modules
COMMAND = (sys.executable, "-P", "-m", "workbench.runtime.gpu")
_LONGEST_WAIT = 3600.0  # a queue refuses to wait for centuries
_END_SECONDS = 30.0  # for a killed process to go: one that the driver holds may never
_STALL_SECONDS = 1.0


class WorkerDied(Exception):
    """The worker ended without an answer; `code` is its exit status, `said` its last words.

    `code` is None where it could not even be started.
    """

    def __init__(self, code: int | None, said: str) -> None:
        self.code = code
        self.said = said
        super().__init__(f"{self.how}: {said}")

    @property
    def how(self) -> str:
        """The end of the worker in words."""
        if self.code is None:
            return "it did not start"
        if self.code >= 0:
            return f"it ended with exit status {self.code}"
        names = {known.value: known.name for known in signal.Signals}  # not all have one
        return f"it was ended by {names.get(-self.code, f'signal {-self.code}')}"


class WorkerTimeout(Exception):
    """The worker did not answer in time and was ended."""


@dataclass(eq=False, slots=True)
class _Call:
    """A request on its way; the reply to it names its `number`.

    `news` has how many workers the GPU has before, as that changes, and None at the end.
    """

    number: int
    data: bytes
    seconds: float
    answer: Future[Reply] = field(default_factory=Future)
    news: queue.SimpleQueue[int | None] = field(default_factory=queue.SimpleQueue)

    def __post_init__(self) -> None:
        self.answer.add_done_callback(lambda _: self.news.put(None))


class Worker:
    """Starts a process when one is needed, and asks it: any thread may, and each has its turn.

    A thread of its own owns the process. It learns of all that happens (a call, an answer, an
    end, a caller who left) from one queue, so that no two threads ever hold the same thing, and
    an interrupt, which only hits callers, leaves nothing half done.
    """

    def __init__(
        self, command: Sequence[str] = COMMAND, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        self._command = tuple(command)
        self._idle_seconds = idle_seconds
        self._numbers = count()
        self._process: subprocess.Popen[bytes] | None = None
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Begin with nothing: also in a forked child, where neither owner nor process is ours."""
        if self._process is not None:
            _let_go(self._process)
        self._process = None
        self._ending = False  # the process was killed, and has not gone yet
        self._call: _Call | None = None  # what it works on
        self._waiting: deque[_Call] = deque()
        self._deadline = inf  # of the call, the end, or the idleness
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._owned = Lock()

    @property
    def pid(self) -> int | None:
        """The process that runs now; None where there is none."""
        process = self._process
        gone = process is None or self._ending or process.poll() is not None
        return None if process is None or gone else process.pid

    def ask(
        self, request: Request, seconds: float, tell: Callable[[int], None] = lambda before: None
    ) -> Reply:
        """The answer to `request`; waits first until those who asked before have theirs.

        Where other workers have the GPU, `tell` gets how many are before, whenever that changes,
        and 0 when the turn has come. Raises WorkerDied when the worker ends instead, WorkerTimeout
        when the answer takes more than `seconds` from when its turn came. After these, and when the
        caller is interrupted in its turn, or `tell` raises, the process is ended, and the next call
        has a new one. What pickle cannot take raises its error, and nothing is sent.
        """
        number = next(self._numbers)
        data = pickle.dumps((number, request), pickle.HIGHEST_PROTOCOL)
        call = _Call(number, data, float(seconds))
        if not self._owned.locked():  # a second owner, started at the same time, leaves at once
            Thread(target=self._own, name="GPU worker's owner", daemon=True).start()
        try:
            self._events.put(partial(self._enter, call))
            while (before := call.news.get()) is not None:
                tell(before)
            return call.answer.result()
        except BaseException:
            if not call.answer.cancel():
                self._events.put(partial(self._leave, call))
            raise

    def stop(self) -> None:
        """End the process, whatever it is doing; the call that it works on raises WorkerDied."""
        process = self._process
        if process is not None:
            _end(process)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=_END_SECONDS)

    # --- what follows runs in the owner's thread --------------------------------------------------

    def _own(self) -> None:
        if not self._owned.acquire(blocking=False):
            return
        while True:
            self._event()()  # under no name, which would keep an answer's arrays alive
            while self._waiting and self._call is None and not self._ending:
                self._begin(self._waiting.popleft())

    def _event(self) -> Callable[[], None]:
        left = min(self._deadline - monotonic(), _LONGEST_WAIT)
        try:
            return self._events.get(timeout=max(0.0, left))
        except queue.Empty:
            return self._late

    def _enter(self, call: _Call) -> None:
        self._waiting.append(call)

    def _begin(self, call: _Call) -> None:
        if not call.answer.set_running_or_notify_cancel():
            return
        self._call, self._deadline = call, monotonic() + call.seconds
        try:
            if self._process is None or self._process.poll() is not None:
                self._process = self._start()
            stdin, _ = _pipes(self._process)
            # beside the owner: a process that does not read must not hold it up
            Thread(target=_write, args=(stdin, call.data), daemon=True).start()
        except Exception as error:  # no memory, thread, file or program: the owner must go on
            self._finish(WorkerDied(None, f"{type(error).__name__}: {error}"))

    def _leave(self, call: _Call) -> None:
        if call is self._call:
            self._call = None
            self._kill()

    def _answered(self, number: int, reply: Reply | Waiting) -> None:
        if self._call is None or self._call.number != number:
            return  # who asked has left
        if isinstance(reply, Waiting):
            self._deadline = inf if reply.before else monotonic() + self._call.seconds
            self._call.news.put(reply.before)
            return
        self._finish(reply, end=isinstance(reply, Failed) and reply.fatal)

    def _late(self) -> None:
        overdue = monotonic() - self._deadline
        if overdue < 0:
            return
        if overdue > _STALL_SECONDS:  # we stood still ourselves: the answer may lie in the pipe
            self._deadline = monotonic() + _STALL_SECONDS
        elif self._ending:
            self._process, self._ending, self._deadline = None, False, inf
        elif self._call is not None:
            self._finish(WorkerTimeout(f"no answer in {self._call.seconds:g} s"), end=True)
        else:
            self._kill()

    def _ended(self, process: subprocess.Popen[bytes], said: str) -> None:
        if process is not self._process:
            return  # it has been replaced
        self._process, self._ending, self._deadline = None, False, inf
        if self._call is not None:
            self._finish(WorkerDied(process.returncode, said))

    def _finish(self, outcome: Reply | WorkerDied | WorkerTimeout, end: bool = False) -> None:
        call, self._call = self._call, None
        assert call is not None
        self._deadline = inf if self._process is None else monotonic() + self._idle_seconds
        if end:
            self._kill()
        if isinstance(outcome, Exception):
            call.answer.set_exception(outcome)
        else:
            call.answer.set_result(outcome)

    def _kill(self) -> None:
        assert self._process is not None
        _end(self._process)
        self._ending, self._deadline = True, monotonic() + _END_SECONDS

    def _start(self) -> subprocess.Popen[bytes]:
        errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed in _hear)
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "PYTHONPATH": _with_our_package()},
                start_new_session=True,  # an interrupted cell interrupts the wait, not the worker
            )
        except BaseException:
            errors.close()
            raise
        Thread(target=self._hear, args=(process, errors), daemon=True).start()
        return process

    # --- and this in a thread beside each process -------------------------------------------------

    def _hear(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        """Pass on every answer as it comes, and at last the end of the process."""
        stdin, stdout = _pipes(process)
        trouble = ""
        try:
            while True:
                self._events.put(partial(self._answered, *pickle.load(stdout)))
        except EOFError:
            pass  # it has gone
        except Exception as error:
            trouble = f"its answer cannot be read: {error!r}"
            _end(process)
        process.wait()
        said = _last_words(errors) or trouble
        for file in (errors, stdin, stdout):
            with suppress(OSError):  # what was still to be written has nobody to read it
                file.close()
        self._events.put(partial(self._ended, process, said))


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None and process.stdout is not None
    return process.stdin, process.stdout


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and what it has started, a compiler that does not end among it."""
    if hasattr(os, "killpg") and process.poll() is None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)  # it leads a session of its own
    process.kill()


def _write(pipe: IO[bytes], data: bytes) -> None:
    with suppress(OSError, ValueError):  # it has gone, and its end is told
        pipe.write(data)
        pipe.flush()


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """Give up the pipes to another's process: as long as they are held, it does not see its end.

    They are not closed: a thread that a fork left behind may hold their locks for ever.
    """
    with suppress(OSError, ValueError), open(os.devnull, "r+b", buffering=0) as nothing:
        for pipe in _pipes(process):
            os.dup2(nothing.fileno(), pipe.fileno(), inheritable=False)


def _last_words(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return "\n".join(lines[-5:])


def _with_our_package() -> str:
    """A search path on which the worker finds this very package, however it was imported."""
    here = str(Path(__file__).parents[2])
    return os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
