"""The worker's side of the wire: one request after the other, until the notebook is gone."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import BinaryIO, Protocol, TypeAlias

from workbench.runtime.job import (
    Failed,
    Gpu,
    Hello,
    Ran,
    Reply,
    Request,
    Run,
    Time,
    Timed,
    TimeLibrary,
    Waiting,
)

Tell: TypeAlias = Callable[[int], None]
"""Says how many workers have the GPU before, whenever that changes, and 0 when none does."""


class Backend(Protocol):
    """What does the work."""

    def hello(self) -> Gpu | Failed:
        """Which GPU it works on."""

    def run(self, job: Run, tell: Tell) -> Ran | Failed:
        """Launch and return the outputs."""

    def time(self, job: Time, tell: Tell) -> Timed | Failed:
        """Launch many times and return the samples."""

    def time_library(self, job: TimeLibrary, tell: Tell) -> Timed | Failed:
        """Let the vendor's library do it many times and return the samples."""


def serve(backend: Backend) -> None:
    """Answer requests from standard input on standard output, in order, with their numbers.

    Leaves at once when the notebook does, also in the middle of a launch.
    """
    source, sink = _private_pipes()
    requests: SimpleQueue[tuple[int, Request]] = SimpleQueue()
    Thread(target=_read, args=(source, requests), daemon=True).start()
    while True:
        number, request = requests.get()
        say = partial(_say, sink, number)
        reply = _answer(backend, request, partial(_say_waiting, say))
        try:
            say(reply)
        except Exception as error:
            say(_failed(error))


def _say_waiting(say: Callable[[Waiting], None], before: int) -> None:
    say(Waiting(before))


def _say(sink: BinaryIO, number: int, reply: Reply | Waiting) -> None:
    data = pickle.dumps((number, reply), pickle.HIGHEST_PROTOCOL)
    sink.write(data)  # whole or not at all: half an answer would spoil the next
    sink.flush()


def _answer(backend: Backend, request: Request, tell: Tell) -> Reply:
    try:
        match request:
            case Hello():
                return backend.hello()
            case Run():
                return backend.run(request, tell)
            case Time():
                return backend.time(request, tell)
            case TimeLibrary():
                return backend.time_library(request, tell)
    except Exception as error:  # whatever it is, the notebook tells it; a worker has no screen
        return _failed(error)


def _failed(error: Exception) -> Failed:
    return Failed("error", f"{type(error).__name__}: {error}", fatal=True)


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The pipes of the protocol, out of the way of anything that prints."""
    source, sink = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    sys.stdout.flush()
    return os.fdopen(source, "rb"), os.fdopen(sink, "wb")


def _read(source: BinaryIO, requests: SimpleQueue[tuple[int, Request]]) -> None:
    try:
        while True:
            requests.put(pickle.load(source))
    except (EOFError, OSError):
        os._exit(0)  # the notebook is gone: an endless kernel must not outlive it
    except BaseException:  # a request that cannot be read: the last words tell why
        traceback.print_exc()
        os._exit(1)
