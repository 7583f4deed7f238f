"""The worker dies alone: whatever a kernel does, the notebook gets an answer and goes on."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from workbench.runtime.job import Failed, Gpu, Hello, Ran, Run
from workbench.runtime.worker import Worker, WorkerDied, WorkerTimeout

FAKE = str(Path(__file__).with_name("fake_gpu.py"))


def command(idle: float = 60.0) -> list[str]:
    return [sys.executable, FAKE, str(idle)]


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(command())
    yield worker
    worker.stop()


def job(source: str, values: np.ndarray | None = None) -> Run:
    array = np.arange(3.0) if values is None else values
    return Run(source, (), (array,), outputs=(0,))


def works(worker: Worker) -> bool:
    reply = worker.ask(job("double"), 30)
    assert isinstance(reply, Ran)
    return bool((reply.outputs[0] == [0, 2, 4]).all())


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_one_process_answers_all_and_what_it_prints_does_not_disturb(worker: Worker):
    assert worker.pid is None
    reply = worker.ask(Hello(), 30)
    assert isinstance(reply, Gpu) and reply.name == "Fake GPU"
    first = worker.pid
    assert works(worker) and works(worker)
    assert worker.pid == first


def test_large_arrays_go_through(worker: Worker):
    values = np.arange(4_000_000.0)
    reply = worker.ask(job("double", values), 30)
    assert isinstance(reply, Ran)
    np.testing.assert_array_equal(reply.outputs[0], 2 * values)


def test_a_crash_ends_the_worker_and_the_next_call_has_a_new_one(worker: Worker):
    assert works(worker)
    first = worker.pid
    with pytest.raises(WorkerDied) as died:
        worker.ask(job("abort"), 30)
    assert died.value.how == "it was ended by SIGABRT"
    assert died.value.said.endswith("terminate called")
    assert worker.pid is None
    assert works(worker)
    assert worker.pid != first


def test_an_exit_without_an_answer_is_a_death(worker: Worker):
    with pytest.raises(WorkerDied) as died:
        worker.ask(job("exit"), 30)
    assert died.value.how == "it ended with exit status 3"


def test_an_endless_launch_is_stopped(worker: Worker):
    assert works(worker)
    pid = worker.pid
    assert pid is not None
    start = time.monotonic()
    with pytest.raises(WorkerTimeout, match=r"^no answer in 0\.5 s$"):
        worker.ask(job("hang"), 0.5)
    assert time.monotonic() - start < 10
    assert gone(pid)
    assert works(worker)


def test_after_a_fatal_failure_the_worker_is_replaced(worker: Worker):
    assert works(worker)
    first = worker.pid
    reply = worker.ask(job("fatal illegal address"), 30)
    assert isinstance(reply, Failed) and reply.what == "illegal address"
    assert worker.pid is None
    assert works(worker)
    assert worker.pid != first


def test_after_other_failures_the_worker_stays(worker: Worker):
    assert works(worker)
    first = worker.pid
    reply = worker.ask(job("full"), 30)
    assert isinstance(reply, Failed) and reply.what == "full"
    assert works(worker)
    assert worker.pid == first


def test_an_error_inside_the_worker_is_an_answer(worker: Worker):
    reply = worker.ask(job("raise"), 30)
    assert reply == Failed("error", "ZeroDivisionError: division by zero", fatal=True)


def test_an_idle_worker_leaves_and_nobody_notices():
    worker = Worker(command(idle=0.3))
    assert works(worker)
    pid = worker.pid
    assert pid is not None
    for _ in range(100):
        if worker.pid is None:
            break
        time.sleep(0.05)
    assert worker.pid is None
    assert works(worker)
    worker.stop()


def test_a_request_that_crosses_the_last_word_is_asked_again():
    worker = Worker(command(idle=0.3))
    assert works(worker)
    process = worker._process
    assert process is not None
    process.wait(timeout=10)
    worker._process = _Unnoticed(process)  # it left, and this side has not seen it yet
    assert works(worker)
    worker.stop()


class _Unnoticed:
    """A process that has ended but still looks alive once."""

    def __init__(self, process) -> None:
        self._process = process
        self._asked = False

    def poll(self) -> int | None:
        if self._asked:
            return self._process.poll()
        self._asked = True
        return None

    def __getattr__(self, name: str) -> object:
        return getattr(self._process, name)


def test_an_interrupt_stops_the_launch(worker: Worker, monkeypatch):
    assert works(worker)
    pid = worker.pid
    assert pid is not None

    def interrupted(timeout: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(worker._replies, "get", interrupted)
    with pytest.raises(KeyboardInterrupt):
        worker.ask(job("hang"), 30)
    assert gone(pid)
    assert works(worker)


def test_the_worker_does_not_outlive_the_notebook():
    worker = Worker(command())
    assert works(worker)
    process = worker._process
    assert process is not None and process.stdin is not None
    process.stdin.close()  # as when the notebook's process ends
    assert process.wait(timeout=10) == 0
    worker.stop()
