"""Which device is used and why not another is always told."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable

import pytest

from workbench.runtime import devices as module
from workbench.runtime.job import Failed, Gpu
from workbench.runtime.worker import Worker, WorkerDied

GPU = Gpu("Tesla T4", "sm_75", 15_800_000_000, 15_000_000_000, "CUDA 12.8", "14.0.1")


class Answers(Worker):
    """A worker that gives one answer."""

    def __init__(self, answer: object) -> None:
        super().__init__(())
        self.answer = answer

    def ask(self, request, seconds):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def here(monkeypatch) -> Callable[..., str]:
    """What is told on a machine with the given driver, CuPy and worker."""

    def tell(driver: str | None = "libcuda.so.1", cupy: bool = True, answer: object = GPU) -> str:
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setattr(module, "_driver", lambda: driver)
        monkeypatch.setattr(module, "find_spec", lambda name: object() if cupy else None)
        return str(module._find(Answers(answer)))

    return tell


def test_a_gpu(here):
    assert here() == (
        "runs on: Tesla T4\nwhy:     CuPy 14.0.1 finds it (sm_75, CUDA 12.8, 15 of 16 GB free)"
    )


def test_a_gpu_that_others_use(here):
    busy = Gpu("Tesla T4", "sm_75", 16_000_000_000, 1_000_000_000, "CUDA 12.8", "14.0.1", 0.97)
    assert here(answer=busy).endswith(
        "1 of 16 GB free); others keep it 97% busy, so times will vary"
    )


def test_no_driver(here):
    assert here(driver=None) == (
        "runs on: emulator\n"
        "why:     no NVIDIA driver is installed here\n"
        "missing: an NVIDIA GPU and its driver\n"
        "get it:  use a machine with one, or Colab: Runtime > Change runtime type > T4 GPU."
    )


def test_no_cupy(here):
    assert here(cupy=False) == (
        "runs on: emulator\n"
        "why:     there is an NVIDIA driver, but CuPy is not installed\n"
        "missing: CuPy\n"
        "get it:  pip install cupy-cuda12x (or cupy-cuda13x: nvidia-smi shows which), "
        "then restart the kernel."
    )


@pytest.mark.parametrize(
    "answer, lines",
    [
        (
            Failed("no device", "cudaErrorNoDevice: no CUDA-capable device is detected"),
            "why:     there is an NVIDIA driver, but CUDA finds no GPU\n"
            "missing: a GPU that this process may use\n"
            "get it:  start the notebook or the container with access to the GPU.",
        ),
        (
            Failed("busy", "cudaErrorDevicesUnavailable"),
            "why:     the GPU is taken by another program\n"
            "missing: a free GPU\n"
            "get it:  close the other program (nvidia-smi lists them), "
            "then wb.device(again=True).",
        ),
        (
            Failed("no driver", "cudaErrorInsufficientDriver"),
            "why:     no NVIDIA driver is installed here\n"
            "missing: an NVIDIA GPU and its driver\n"
            "get it:  use a machine with one, or Colab: Runtime > Change runtime type > T4 GPU.",
        ),
        (
            Failed("driver", "cudaErrorInsufficientDriver"),
            "why:     the NVIDIA driver is too old for this CuPy\n"
            "missing: a driver that fits\n"
            "get it:  update the driver, or install the CuPy for its CUDA version.",
        ),
        (
            Failed("no cupy", "ImportError: libcublas.so.12"),
            "why:     the GPU cannot be used\n"
            "missing: a GPU that answers\n"
            "get it:  CuPy says: ImportError: libcublas.so.12",
        ),
        (
            WorkerDied(-6, "Aborted"),
            "why:     the GPU worker did not start\n"
            "missing: a GPU that answers\n"
            "get it:  see whether nvidia-smi answers (it was ended by SIGABRT: Aborted).",
        ),
    ],
)
def test_a_gpu_that_cannot_be_used(here, answer, lines):
    assert here(answer=answer) == "runs on: emulator\n" + lines


def test_macos(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert str(module._find(Answers(GPU))) == (
        "runs on: emulator\n"
        "why:     macOS has no CUDA\n"
        "missing: an NVIDIA GPU\n"
        "get it:  open the lessons on Colab with a GPU runtime."
    )


def test_the_report_knows_the_gpu(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(module, "_driver", lambda: "libcuda.so.1")
    monkeypatch.setattr(module, "find_spec", lambda name: object())
    report = module._find(Answers(GPU))
    assert report.is_gpu and report.target.name == "nvidia/tesla-t4"
    assert report._repr_html_().startswith("runs on: Tesla T4<br>why:")


def test_the_device_is_looked_for_once_and_again_on_request(monkeypatch):
    found = []
    monkeypatch.setattr(module, "_report", None)
    monkeypatch.setattr(module, "_find", lambda worker: found.append(worker) or len(found))
    assert [module.device(), module.device(), module.device(again=True)] == [1, 1, 2]


def test_the_real_worker_without_cupy_answers_that():
    if importlib.util.find_spec("cupy"):
        pytest.skip("CuPy is installed here")
    worker = Worker()
    reply = worker.ask(module.Hello(), 60)
    worker.stop()
    assert isinstance(reply, Failed)
    assert (reply.what, reply.fatal) == ("no cupy", True)
    assert reply.message == "ModuleNotFoundError: No module named 'cupy'"
