"""Trials a second on a Dask cluster of one and of two GPUs: ``python -m benchmarks.clustered``.

There are no GPUs in it: each worker compiles the text of a candidate, as C++, and then holds the
lock of its device for as long as an H100 took to run, compare and time one. So it shows what the
cluster, the search and the locks take, and nothing of a kernel. With ``gpus`` the workers have the
GPUs of this machine, one each, and measure a product of matrices.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

import workbench as wb
from benchmarks.matmuls import matmul
from tests.support.cpp import FLAGS, HERE, _as_cpp
from tests.tuning.programs import VECTOR, space
from workbench import tuning
from workbench.ir import PrimFunc
from workbench.runtime import devices, launching
from workbench.runtime.device_queue import alone_on
from workbench.runtime.job import Gpu, Ran, Run, Time, Timed
from workbench.runtime.serve import Tell, serve
from workbench.runtime.worker import Worker

# Of a trial on an H100 (0.33 s in a search of 192 of a product of 1024, compiling included) the
# part that has the device alone: a run, up to 0.05 s of warming up, and up to 0.1 s of samples.
RUN_SECONDS, TIME_SECONDS = 0.02, 0.15
TRIALS, SIZE = 48, 1024
GPU = Gpu("Recorded GPU", "sm_90", 1 << 36, 1 << 36, "CUDA 13.0", "0.0")


class Recorded:
    """Stands for a GPU's worker: compiles, and has the device alone for recorded seconds."""

    def __init__(self) -> None:
        self._compiled: set[str] = set()
        self._device = f"recorded-{os.environ.get('RECORDED_GPU', '0')}"

    def hello(self) -> Gpu:
        """The device."""
        return GPU

    def run(self, job: Run, tell: Tell) -> Ran:
        """What the program of the tests means, after a while."""
        self._compile(job.source)
        with alone_on(self._device, tell):
            time.sleep(RUN_SECONDS)
        return Ran(tuple(2 * job.arrays[0] for _ in job.outputs), (16,) * len(job.launches))

    def time(self, job: Time, tell: Tell) -> Timed:
        """A time, after a longer while."""
        self._compile(job.run.source)
        with alone_on(self._device, tell):
            time.sleep(TIME_SECONDS)
        return Timed((1e-6,) * 20, 100, "recorded", "", True)

    def _compile(self, source: str) -> None:
        if source in self._compiled:
            return
        text = f'#include "cuda_on_cpu.h"\n{_as_cpp(source)}'
        command = ["g++", *FLAGS, f"-I{HERE}", "-x", "c++", "-c", "-", "-o", os.devnull]
        subprocess.run(command, input=text, text=True, check=True, capture_output=True)
        self._compiled.add(source)


def pretend(dask_worker: object, numbers: dict[str, int]) -> None:
    """Give a worker of the cluster a device of its own, as CUDA_VISIBLE_DEVICES would."""
    os.environ["RECORDED_GPU"] = str(numbers[dask_worker.address])  # type: ignore[attr-defined]
    launching.WORKER = Worker((sys.executable, "-m", "benchmarks.clustered", "worker"))
    devices._report = devices.DeviceReport(GPU.name, "it is recorded", gpu=GPU)


def trials_a_second(gpus: int) -> float:
    """Of a search of one batch, from the fifth trial on."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=gpus, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        addresses = client.scheduler_info()["workers"]
        client.run(pretend, numbers=dict(zip(addresses, count())))
        return _rate(VECTOR, client, space=space, target="cuda")


def measured_a_second(gpus: int) -> float:
    """The same of a product of matrices, on so many GPUs of this machine."""
    from distributed import Client, Nanny, Scheduler, SpecCluster

    local: dict[str, object] = {"host": "127.0.0.1"}
    envs = [{"CUDA_VISIBLE_DEVICES": str(k)} for k in range(gpus)]
    workers = [{"cls": Nanny, "options": {**local, "nthreads": 1, "env": env}} for env in envs]
    scheduler = {"cls": Scheduler, "options": {**local, "port": 0, "dashboard": False}}
    with SpecCluster(dict(enumerate(workers)), scheduler) as cluster, Client(cluster) as client:
        return _rate(matmul(SIZE), client, seed=gpus)  # not what is compiled and kept already


def _rate(program: PrimFunc, client: Any, **given: Any) -> float:
    """Trials a second of a random search of one batch, without the start of the workers."""
    ended: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.jsonl"
        wb.tune(
            program,
            trials=TRIALS,
            strategy="random",
            per_batch=TRIALS,
            measurer=tuning.Clustered(program, client),
            record=record,
            progress=lambda told: ended.append(time.perf_counter()),
            **given,
        )
        told = tuning.read(record).ended
    correct = sum(e.outcome.status == "correct" for e in told)
    assert len(told) == TRIALS and 2 * correct > TRIALS, [e.outcome.reason for e in told]
    return (TRIALS - 4) / (ended[-1] - ended[3])


if __name__ == "__main__":
    if sys.argv[1:] == ["worker"]:
        serve(Recorded())
    else:
        rate = measured_a_second if sys.argv[1:] == ["gpus"] else trials_a_second
        rates = {gpus: rate(gpus) for gpus in (1, 2)}
        print(json.dumps({"trials a second": rates, "ratio": rates[2] / rates[1]}))
