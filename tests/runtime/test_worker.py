"""The worker dies alone: whatever a kernel does, the notebook gets an answer and goes on."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from math import inf
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.worker_calls import call_at_once
from workbench.runtime.job import Failed, Gpu, Hello, Ran, Run
from workbench.runtime.worker import Worker, WorkerDied, WorkerTimeout

FAKE = str(Path(__file__).with_name("fake_gpu.py"))


def fake(idle: float = 60.0) -> Worker:
    return Worker([sys.executable, FAKE], idle)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One for all, whatever became of its process before: that is what it promises."""
    worker = fake()
    yield worker
    worker.stop()


@pytest.fixture
def others() -> Iterator[ThreadPoolExecutor]:
    """Other threads, as those of labs."""
    with ThreadPoolExecutor(8) as others:
        yield others


def job(source: str, values: np.ndarray | None = None) -> Run:
    array = np.arange(3.0) if values is None else values
    return Run(source, (), (array,), outputs=(0,))


def works(worker: Worker) -> bool:
    reply = worker.ask(job("double"), 30)
    assert isinstance(reply, Ran)
    return bool((reply.outputs[0] == [0, 2, 4]).all())


def gone(pid: int) -> bool:
    """Whether the process ends soon and leaves nothing: a zombie still has its number."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def busy(worker: Worker, others: ThreadPoolExecutor, source: str, seconds: float = 30) -> Future:
    """A call of another thread, which has its turn when this returns."""
    call = others.submit(worker.ask, job(source), seconds)
    while worker._call is None and not call.done():
        time.sleep(0.01)
    return call


def test_one_process_answers_all_and_what_it_prints_does_not_disturb(worker: Worker):
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


def test_a_signal_without_a_name_has_a_number():
    assert WorkerDied(-35, "").how == "it was ended by signal 35"


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


# --- several callers ------------------------------------------------------------------------------


def test_three_threads_each_get_their_own_answers(worker: Worker):
    results = call_at_once(worker, threads=3, calls=300, size=8)
    assert results == {"right": 900}
    assert call_at_once(worker, threads=3, calls=4, size=500_000) == {"right": 12}


def test_the_limit_of_a_call_counts_from_its_turn(worker: Worker, others: ThreadPoolExecutor):
    assert works(worker)
    calls = [others.submit(worker.ask, job("slow"), 2) for _ in range(8)]  # 2.4 s in all
    assert all(isinstance(call.result(), Ran) for call in calls)


def test_the_end_of_one_call_is_not_told_to_the_next(worker: Worker, others: ThreadPoolExecutor):
    hanging = busy(worker, others, "hang", seconds=0.5)
    assert works(worker)
    assert isinstance(hanging.exception(), WorkerTimeout)
    dying = busy(worker, others, "abort")
    assert works(worker)
    assert isinstance(dying.exception(), WorkerDied)


def test_two_workers_are_two_processes(worker: Worker):
    second = fake()
    assert works(worker) and works(second)
    assert worker.pid != second.pid
    second.stop()
    assert works(worker)


# --- interrupts -----------------------------------------------------------------------------------


def interrupt(worker: Worker, source: str) -> None:
    """Ask, and be interrupted in the middle, as by the notebook's stop button.

    LLVM, which tests of OpenCL and TVM bring, sets a handler of its own, after which waits go on.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main = threading.main_thread().ident
    timer = threading.Timer(0.3, signal.pthread_kill, [main, signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        worker.ask(job(source), 30)
    timer.join()


def test_an_interrupt_stops_the_launch(worker: Worker):
    assert works(worker)
    pid = worker.pid
    assert pid is not None
    interrupt(worker, "hang")
    assert gone(pid)
    assert works(worker)


def test_an_interrupt_of_one_who_waits_is_not_felt_by_the_others(
    worker: Worker, others: ThreadPoolExecutor
):
    first = busy(worker, others, "slower", seconds=10)
    behind = [others.submit(worker.ask, job("slow"), 10) for _ in range(3)]
    while len(worker._waiting) < len(behind):
        assert not first.done()
        time.sleep(0.01)
    pid = worker.pid
    interrupt(worker, "abort")  # it never has its turn, or the others' worker would be another
    assert all(isinstance(call.result(), Ran) for call in (first, *behind))
    assert works(worker)
    assert worker.pid == pid


def test_an_interrupt_in_one_s_turn_leaves_those_behind_theirs(
    worker: Worker, others: ThreadPoolExecutor
):
    assert works(worker)
    first = worker.pid
    timer = threading.Timer(0.2, others.submit, [works, worker])
    timer.start()
    interrupt(worker, "hang")
    assert others.submit(works, worker).result()
    assert worker.pid != first


# --- what cannot be sent, read or written ---------------------------------------------------------


def test_a_worker_that_does_not_read_is_given_up_at_the_limit(
    worker: Worker, others: ThreadPoolExecutor
):
    assert works(worker)
    pid = worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    call = others.submit(worker.ask, job("double", np.zeros(4_000_000)), 0.5)
    try:
        assert isinstance(call.exception(timeout=10), WorkerTimeout)
    finally:
        worker.stop()
    assert gone(pid)
    assert works(worker)


def test_a_notebook_that_stood_still_does_not_take_an_answer_for_late(
    worker: Worker, others: ThreadPoolExecutor
):
    assert works(worker)
    call = busy(worker, others, "slow", seconds=1)
    ctypes.PyDLL(None).usleep(2_500_000)  # no other thread of ours runs meanwhile
    assert isinstance(call.result(), Ran)


def test_a_request_that_cannot_be_pickled_is_not_sent(worker: Worker):
    assert works(worker)
    pid = worker.pid
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        worker.ask(job("double", np.array([1, lambda: 0])), 30)
    assert works(worker)
    assert worker.pid == pid


def test_a_request_that_the_worker_cannot_read_says_why(worker: Worker, monkeypatch):
    class Mine(np.ndarray):
        pass

    monkeypatch.setitem(sys.modules, "only_here", SimpleNamespace(Mine=Mine))
    Mine.__module__, Mine.__qualname__ = "only_here", "Mine"
    with pytest.raises(WorkerDied, match="No module named 'only_here'"):
        worker.ask(job("double", np.zeros(3).view(Mine)), 30)
    assert works(worker)


def test_an_answer_that_cannot_be_pickled_is_a_failure(worker: Worker):
    reply = worker.ask(job("no pickle"), 30)
    assert isinstance(reply, Failed) and "lambda" in reply.message
    assert works(worker)


def test_what_is_no_answer_is_a_death():
    worker = Worker(
        [sys.executable, "-c", "print('hello', flush=True); import sys; sys.stdin.buffer.read()"]
    )
    with pytest.raises(WorkerDied, match=r"its answer cannot be read: .*UnpicklingError"):
        worker.ask(Hello(), 30)


def test_a_worker_that_cannot_be_started_is_told():
    worker = Worker(["no/python"])
    with pytest.raises(WorkerDied, match=r"^it did not start: FileNotFoundError: .*no/python"):
        worker.ask(Hello(), 30)
    assert worker._deadline == inf  # its owner waits for nothing but calls


@pytest.mark.parametrize("seconds", [inf, 1e300])
def test_a_limit_may_be_endless(worker: Worker, seconds: float):
    assert isinstance(worker.ask(job("double"), seconds), Ran)


@pytest.mark.parametrize("seconds", [0, -5, float("nan")])
def test_a_limit_of_no_time_is_over_at_once(worker: Worker, seconds: float):
    with pytest.raises(WorkerTimeout):
        worker.ask(job("hang"), seconds)
    assert works(worker)


# --- coming and going -----------------------------------------------------------------------------


def test_an_idle_worker_leaves_nothing_and_nobody_notices():
    worker = fake(idle=0.2)
    assert works(worker)
    pid = worker.pid
    assert pid is not None and gone(pid)
    assert worker.pid is None
    for _ in range(2):
        time.sleep(0.2)  # it is about to leave
        assert works(worker)
    worker.stop()


def test_modules_beside_the_notebook_are_none_of_the_workers(tmp_path: Path, monkeypatch):
    for name in ("queue", "workbench", "types"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a module of the learner')")
    monkeypatch.chdir(tmp_path)
    worker = Worker()
    assert isinstance(worker.ask(Hello(), 60), (Gpu, Failed))
    worker.stop()


def test_a_worker_that_died_between_calls_is_replaced(worker: Worker):
    assert works(worker)
    pid = worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)
    assert works(worker)


NOTEBOOK = f"""
import os, sys, threading, time
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
import numpy as np
from workbench.runtime.job import Run
from workbench.runtime.worker import Worker

worker = Worker([sys.executable, {FAKE!r}])

def ask(source="double", seconds=30):
    return worker.ask(Run(source, (), (np.arange(3.0),), (0,)), seconds)

ask()
"""


def notebook(then: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", NOTEBOOK + then],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), 9)"])
def test_the_worker_does_not_outlive_the_notebook(end: str):
    with notebook(
        f"threading.Thread(target=ask, args=('hang',), daemon=True).start()\n"
        f"time.sleep(0.2)\nprint(worker.pid, flush=True)\n{end}"
    ) as process:
        told, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (-9 if "kill" in end else 0, "")
    assert gone(int(told))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_has_a_worker_of_its_own():
    with notebook(
        "import warnings\n"
        "warnings.simplefilter('ignore', DeprecationWarning)\n"  # 3.12 warns of fork and threads
        "pids = [worker.pid]\n"
        "child = os.fork()\n"
        "right = bool((ask().outputs[0] == [0, 2, 4]).all())\n"
        "pids.append(worker.pid)\n"
        "if not child:\n"
        "    right = right and pids[0] != pids[1]\n"
        "    worker.stop()\n"
        "    os._exit(0 if right else 1)\n"
        "status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
        "print(right and status == 0, *pids)\n"
        "if not os.fork():\n"  # it outlives the notebook, and must not keep the worker alive
        "    os.close(1), os.close(2), time.sleep(15), os._exit(0)"
    ) as process:
        told, errors = process.communicate(timeout=60)
    right, before, after = told.split()
    assert (errors, right, before) == ("", "True", after)
    assert gone(int(before))
