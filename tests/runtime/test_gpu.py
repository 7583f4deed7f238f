"""The worker on a simulated GPU: what it launches, how it times, and what comes of each fault."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import isolation
from workbench.runtime import DeviceReport, built, launching
from workbench.runtime.device_queue import alone_on
from workbench.runtime.job import Failed, Gpu, Hello, Launch, Ran, Run, Time, Timed, TimeLibrary
from workbench.runtime.worker import Worker

SIMULATED = str(Path(__file__).with_name("simulated"))
CARD = "0000:01:00.0-1234"
A, B = np.arange(4, dtype="float32"), np.full(4, 2, "float32")


@pytest.fixture
def worker(tmp_path: Path, monkeypatch) -> Iterator[Worker]:
    monkeypatch.setenv("PYTHONPATH", SIMULATED)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    made = Worker()
    yield made
    made.stop()


def job(source: str = "add") -> Run:
    launch = Launch("main_kernel", (1, 1, 1), (4, 1, 1), (0, 1, 2))
    return Run(source, (launch,), (A, B, np.zeros(4, "float32")), (2,))


def test_it_runs_and_times_kernels_and_says_how(worker: Worker):
    gpu = worker.ask(Hello(), 30)
    assert isinstance(gpu, Gpu) and (gpu.name, gpu.arch) == ("Simulated GPU", "sm_90")
    reply = worker.ask(job(), 30)
    assert isinstance(reply, Ran)
    np.testing.assert_array_equal(reply.outputs[0], A + B)
    warm = worker.ask(Time(job()), 30)
    assert isinstance(warm, Timed) and len(warm.samples) >= 20
    runs = warm.launches_per_sample
    assert warm.how == f"CUDA events around a graph of {runs} runs, the L2 cache warm"
    flushed = worker.ask(Time(job(), flush=True), 30)
    assert isinstance(flushed, Timed)
    assert flushed.how == "CUDA events around one run, the L2 cache emptied before it"


@pytest.mark.parametrize(
    "asked, how",
    [
        (TimeLibrary("add", (A, B)), "runs in a row, the L2 cache warm"),
        (TimeLibrary("multiply", (A.reshape(2, 2), B.reshape(2, 2)), flush=True), "emptied before"),
    ],
)
def test_it_times_cublas_by_the_same_protocol(worker: Worker, asked: TimeLibrary, how: str):
    timed = worker.ask(asked, 30)
    assert isinstance(timed, Timed) and how in timed.how


def test_it_says_which_library_there_is_not(worker: Worker):
    reply = worker.ask(TimeLibrary("convolve", (A.reshape(1, 1, 2, 2), B.reshape(1, 1, 2, 2))), 30)
    assert isinstance(reply, Failed) and reply.what == "no cudnn"


def test_a_block_that_asks_for_more_shared_memory_than_the_card_has_ends_no_worker(worker: Worker):
    """Whatever its target says that there is: a search may be for another card."""
    greedy = replace(job(), launches=(replace(job().launches[0], shared=1 << 19),))
    for asked in (greedy, Time(greedy)):
        reply = worker.ask(asked, 30)
        assert isinstance(reply, Failed) and (reply.what, reply.fatal) == ("resources", False)
        assert reply.message == "524288 bytes of shared memory a block, of at most 232448"
    assert isinstance(worker.ask(job(), 30), Ran)


@pytest.mark.parametrize("asked", [job(), Time(job()), TimeLibrary("add", (A, B))])
def test_it_compiles_ahead_of_its_turn_and_launches_in_it(worker: Worker, asked):
    """What does not compile is told at once, whoever has the GPU; all else waits."""
    told: list[int] = []
    with alone_on(CARD, told.append):
        reply = worker.ask(job("float x = ;"), 30, told.append)
        assert isinstance(reply, Failed) and reply.what == "source"
        assert told == []

        def leave(before: int) -> None:
            told.append(before)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            worker.ask(asked, 30, leave)
    assert told == [1]


@pytest.mark.tool
@pytest.mark.parametrize("name", isolation.FAULTS)
def test_each_fault_is_told_and_the_next_kernel_is_right(worker: Worker, monkeypatch, name: str):
    gpu = Gpu("Simulated GPU", "sm_90", 1, 1, "CUDA 12.8", "0.0")
    report = DeviceReport("Simulated GPU", "", gpu=gpu)
    monkeypatch.setattr(built, "device", lambda: report)
    for module in (launching, isolation):
        monkeypatch.setattr(module, "WORKER", worker)
    monkeypatch.setattr(isolation, "TIMES", 2)
    monkeypatch.setattr(isolation, "ENDLESS_SECONDS", 1.0)
    found = isolation.one_fault(name)
    assert found["reached"], found
