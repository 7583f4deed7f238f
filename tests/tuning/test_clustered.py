"""Candidates that are measured on a cluster end as they do here."""

from __future__ import annotations

import sys
from concurrent.futures import Future
from random import Random
from types import SimpleNamespace

import pytest

from tests.tuning.programs import VECTOR, space
from workbench import target, tuning
from workbench.diag import Fail
from workbench.runtime.devices import DeviceReport
from workbench.runtime.job import Gpu
from workbench.tuning import Outcome, clustered

MADE = tuning.candidate(VECTOR, space, target.get("cuda"), ((8, 1, 128, 1), 0), Random(0))
CARD = Gpu("Some GPU", "sm_90", 1, 1, "CUDA 13.0", "0.0")


class Killed(Exception):
    """Stands for Dask's KilledWorker."""


class Client:
    """A cluster in this process, without wires: workers by their devices, and what they answer."""

    def __init__(self, *names: str, answer: object = None) -> None:
        self.names, self.answer, self.jobs = names, answer, []

    def run(self, function: object) -> dict[str, DeviceReport]:
        return {
            f"tcp://{k}": DeviceReport(name, "", gpu=CARD if "GPU" in name else None)
            for k, name in enumerate(self.names)
        }

    def submit(self, function, *job, pure: bool) -> Future:
        self.jobs.append(job)
        made: Future = Future()
        if isinstance(self.answer, Exception):
            made.set_exception(self.answer)
        else:
            made.set_result(self.answer)
        return made


@pytest.fixture(autouse=True)
def _dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(KilledWorker=Killed))


def test_texts_go_there_and_outcomes_come_back():
    right = Outcome("correct", "measured", (1e-6,))
    client = Client("Some GPU", "Some GPU", answer=right)
    measurer = tuning.Clustered(VECTOR, client, flush=True)
    assert (measurer.device, measurer.side_by_side) == ("Some GPU, caches emptied", 2)
    assert measurer.submit(MADE) == right
    ((text, terms, job),) = client.jobs
    assert "def main" in text and terms.flush and job.source == MADE.kernel.source
    assert job.arrays == () and job.launches[0].grid == (8, 1, 1)
    client.answer = Killed()
    assert measurer.submit(MADE).reason == "each worker that measured it was lost"
    client.answer = "Can't measure on Some GPU: no device", "it is gone"
    with pytest.raises(Fail) as refused:
        measurer.submit(MADE)
    assert str(refused.value) == (
        "Can't measure on Some GPU: no device.\n"
        "found: it is gone\n"
        "do:    a search goes on from its record"
    )


def test_times_of_different_devices_are_not_compared():
    for names in (("Some GPU", "Other GPU"), ("emulator",), ()):
        with pytest.raises(Fail) as refused:
            tuning.Clustered(VECTOR, Client(*names))
        told = ", ".join(sorted(names)) or "nothing"
        assert str(refused.value) == (
            f"Can't measure on this cluster: its workers run on {told}.\n"
            "found: times of different devices are not compared\n"
            "do:    give it workers with one GPU each, all of one kind"
        )


def test_a_worker_keeps_the_arrays_of_a_program(monkeypatch):
    made = []

    class Counted:
        def __init__(self, program, terms, process) -> None:
            made.append(program)

        def measure(self, job) -> Outcome:
            if job is None:
                raise Fail("no device", detail="gone")
            return Outcome("correct", "measured", (1.0,))

    monkeypatch.setattr(clustered, "Bench", Counted)
    terms = clustered.Terms("Some GPU", "GPU")
    text = clustered.script.show(VECTOR)
    job = clustered.job_for_bench(MADE.kernel)
    assert [clustered.measured(text, terms, job).status for _ in range(2)] == ["correct"] * 2
    assert len(made) == 1 and clustered.measured(text, terms, None) == ("no device", "gone")
    clustered._BENCHES.clear()
