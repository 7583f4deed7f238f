"""The worker's side of the wire: one request after the other, until nobody asks any more."""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
from typing import BinaryIO, Protocol

from workbench.runtime.job import (
    Failed,
    Gpu,
    Hello,
    Left,
    Ran,
    Reply,
    Request,
    Run,
    Time,
    Timed,
    TimeMatmul,
)


class Backend(Protocol):
    """What does the work."""

    def hello(self) -> Gpu | Failed:
        """Which GPU it works on."""

    def run(self, job: Run) -> Ran | Failed:
        """Launch and return the outputs."""

    def time(self, job: Time) -> Timed | Failed:
        """Launch many times and return the samples."""

    def time_matmul(self, job: TimeMatmul) -> Timed | Failed:
        """Let the vendor's library multiply many times and return the samples."""


def serve(backend: Backend, idle_seconds: float) -> None:
    """Answer requests from standard input on standard output; leave after `idle_seconds` of none.

    Leaves at once when the notebook does, also in the middle of a launch.
    """
    source, sink = _private_pipes()
    requests: queue.Queue[Request] = queue.Queue()
    threading.Thread(target=_read, args=(source, requests), daemon=True).start()
    while True:
        try:
            request = requests.get(timeout=idle_seconds)
        except queue.Empty:
            _send(sink, Left())
            os._exit(0)
        reply = _answer(backend, request)
        _send(sink, reply)
        if isinstance(reply, Failed) and reply.fatal:
            os._exit(0)  # a broken context can hang the ordinary way out


def _answer(backend: Backend, request: Request) -> Reply:
    try:
        match request:
            case Hello():
                return backend.hello()
            case Run():
                return backend.run(request)
            case Time():
                return backend.time(request)
            case TimeMatmul():
                return backend.time_matmul(request)
    except Exception as error:  # whatever it is, the notebook tells it; a worker has no screen
        return Failed("error", f"{type(error).__name__}: {error}", fatal=True)


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The pipes of the protocol, out of the way of anything that prints."""
    source, sink = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    sys.stdout.flush()
    return os.fdopen(source, "rb"), os.fdopen(sink, "wb")


def _read(source: BinaryIO, requests: queue.Queue[Request]) -> None:
    while True:
        try:
            requests.put(pickle.load(source))
        except (EOFError, OSError):
            os._exit(0)  # the notebook is gone: an endless kernel must not outlive it


def _send(sink: BinaryIO, reply: Reply) -> None:
    pickle.dump(reply, sink, protocol=pickle.HIGHEST_PROTOCOL)
    sink.flush()
