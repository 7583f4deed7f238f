"""Workers that share a GPU have it one after the other; whoever dies stands in nobody's way."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.test_worker import fake, job, works
from workbench.runtime.device_queue import alone_on
from workbench.runtime.job import Ran
from workbench.runtime.worker import Worker, WorkerDied

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
WAITER = """
import sys, time
from workbench.runtime.device_queue import alone_on
with alone_on("card", lambda before: print("before", before, flush=True)):
    print("in", flush=True)
    time.sleep(float(sys.argv[1]))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch) -> Path:
    """Where temporary files are, for us and for the workers that we start."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path / "workbench-gpu-card"


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    begun: list[subprocess.Popen[str]] = []
    yield begun
    for process in begun:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def waiter(started: list[subprocess.Popen[str]], seconds: float = 60) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WAITER, str(seconds)]
    started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    return started[-1]


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_each_learns_its_place_and_the_next_has_it_when_the_first_is_killed(folder: Path, started):
    first = waiter(started)
    assert line(first) == "in"
    second = waiter(started, 0)
    assert line(second) == "before 1"
    third = waiter(started, 0)
    assert line(third) == "before 2"
    first.kill()
    assert [line(second), line(second)] == ["before 0", "in"]
    said = third.communicate()[0].splitlines()
    assert said in (["before 1", "before 0", "in"], ["before 0", "in"])  # as fast as it looks
    second.communicate()
    assert os.listdir(folder) == []  # what the killed one left is gone, too


def test_who_waits_may_be_killed_as_well(started):
    first = waiter(started)
    assert line(first) == "in"
    second, third = waiter(started), waiter(started)
    places = {line(second): second, line(third): third}
    places["before 1"].kill()
    places["before 1"].wait()
    first.kill()
    assert [line(places["before 2"]) for _ in range(2)] == ["before 0", "in"]


def test_nobody_ever_has_it_with_another(folder: Path):
    """Twelve threads, whose locks are as those of processes: none is lost, none shares."""
    inside, most, served = 0, 0, []

    def come(number: int) -> None:
        nonlocal inside, most
        for _ in range(5):
            with alone_on("card", lambda before: None):
                inside += 1
                most = max(most, inside)
                time.sleep(0.001)
                inside -= 1
                served.append(number)

    threads = [threading.Thread(target=come, args=(k,)) for k in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, len(served), os.listdir(folder)) == (1, 60, [])


def test_an_error_inside_gives_it_up(folder: Path):
    with pytest.raises(ZeroDivisionError), alone_on("card", lambda before: None):
        assert os.listdir(folder) == ["1"]
        raise ZeroDivisionError
    assert os.listdir(folder) == []


def test_other_users_may_come_whatever_the_umask_says(folder: Path):
    before = os.umask(0o077)
    try:
        with alone_on("card", lambda before: None):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o777
            assert stat.S_IMODE((folder / "1").stat().st_mode) == 0o666
    finally:
        os.umask(before)


def test_it_says_for_how_long_nobody_had_it(folder: Path):
    with alone_on("card", lambda before: None) as idle:
        assert idle < 60
    long_ago = time.time() - 100
    os.utime(folder, (long_ago, long_ago))
    with ExitStack() as held:
        assert held.enter_context(alone_on("card", lambda before: None)) >= 100
        leaving = threading.Timer(0.2, held.close)
        leaving.start()
        with alone_on("card", lambda before: None) as idle:
            assert idle == 0.0  # somebody had it until now
        leaving.join()


def test_two_cards_are_two_queues_and_a_link_is_none(folder: Path):
    told: list[int] = []
    with alone_on("card", told.append), alone_on("other", told.append):
        pass
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "7").touch()
    folder.rmdir()
    folder.symlink_to(elsewhere)
    with alone_on("card", told.append):  # nobody waits there, and nothing in it is taken away
        assert os.listdir(elsewhere) == ["7"]
    assert told == []


def test_where_no_file_can_be_made_nobody_waits(folder: Path):
    folder.write_text("a file, no folder")
    with alone_on("card", lambda before: None), alone_on("card", lambda before: None):
        pass


# --- through workers ------------------------------------------------------------------------------


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = fake()
    yield made
    made.stop()


def test_the_limit_of_a_call_counts_from_its_turn_among_notebooks(worker: Worker):
    told: list[int] = []
    assert works(worker)
    with ExitStack() as held:
        held.enter_context(alone_on("card", told.append))
        leaving = threading.Timer(0.9, held.close)
        leaving.start()
        reply = worker.ask(job("alone card"), 0.6, told.append)
        leaving.join()
    assert isinstance(reply, Ran) and told == [1, 0]
    np.testing.assert_array_equal(reply.outputs[0], [0, 2, 4])


def test_a_worker_that_is_ended_in_its_turn_gives_it_up(worker: Worker, folder: Path, started):
    other = ThreadPoolExecutor(1)
    call = other.submit(worker.ask, job("stay card"), 60)
    while not (folder / "1").exists():
        time.sleep(0.01)
    behind = waiter(started, 0)
    assert line(behind) == "before 1"
    worker.stop()
    assert [line(behind), line(behind)] == ["before 0", "in"]
    assert isinstance(call.exception(), WorkerDied)
    assert works(worker)


def test_who_is_told_may_leave(worker: Worker):
    def leave(before: int) -> None:
        raise KeyboardInterrupt

    assert works(worker)
    pid = worker.pid
    with alone_on("card", lambda before: None), pytest.raises(KeyboardInterrupt):
        worker.ask(job("alone card"), 30, leave)
    assert works(worker) and worker.pid != pid
