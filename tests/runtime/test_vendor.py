"""The vendor's library: asked for where there is a GPU, else what was recorded of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from workbench.runtime import DeviceError, DeviceReport, Timing, launching, recorded, vendor
from workbench.runtime.job import Gpu
from workbench.runtime.worker import Worker

FAKE = Path(__file__).with_name("fake_gpu.py")
TIMING = Timing(
    samples=(5e-6, 6e-6),
    device="NVIDIA H200",
    how="CUDA events",
    clocks="clocks not known",
    date="2026-11-21",
    kind="recorded",
)
GPU = Gpu("Fake GPU", "sm_75", 16_000_000_000, 15_000_000_000, "CUDA 12.8", "0.0")


def square(n: int) -> np.ndarray:
    return np.zeros((n, n), dtype="float32")


@pytest.fixture
def gpu(monkeypatch) -> Iterator[None]:
    worker = Worker([sys.executable, str(FAKE)])
    monkeypatch.setattr(launching, "WORKER", worker)
    monkeypatch.setattr(vendor, "device", lambda: DeviceReport("Fake GPU", "it is", gpu=GPU))
    yield
    worker.stop()


@pytest.fixture
def no_gpu(monkeypatch) -> None:
    monkeypatch.setattr(vendor, "device", lambda: DeviceReport("emulator", "no driver is here"))


def test_with_a_gpu_it_is_measured(gpu: None):
    timing = vendor.time_matmul(square(8), square(8))
    assert (timing.kind, timing.median, timing.device) == ("measured", 5e-6, "Fake GPU")


def test_a_library_has_what_may_have_disturbed_it(gpu: None):
    timing = vendor.add(square(2)[0], square(2)[0]).time(flush=True)
    assert timing.doubts == ("The card slowed itself for its heat: compare with care.",)
    assert str(timing).endswith("\nThe card slowed itself for its heat: compare with care.")


def test_a_library_that_is_not_there_is_told(gpu: None):
    with pytest.raises(DeviceError) as refused:
        vendor.time_matmul(square(1), square(1))
    assert str(refused.value) == (
        "Can't run cuBLAS on Fake GPU: CuPy finds no cuBLAS.\n"
        "found: libcublas.so.12: cannot open shared object file\n"
        'do:    install it beside CuPy: pip install "cupy-cuda12x[ctk]" (or cuda13x, as your '
        "driver)."
    )


def test_a_library_that_does_not_load_is_no_time_of_another_card(gpu: None, monkeypatch):
    a, w = np.zeros((4, 4, 8, 2), "float32"), np.zeros((3, 3, 8, 16), "float32")
    made = vendor.convolution(a, w)
    monkeypatch.setattr(recorded, "all_runs", lambda: (recorded.Run(made.key, "cuDNN", TIMING),))
    with pytest.raises(DeviceError) as refused:
        made.time()
    assert str(refused.value) == (
        "Can't run cuDNN on Fake GPU: PyTorch, by which cuDNN is asked, does not load.\n"
        "found: ModuleNotFoundError: No module named 'torch'\n"
        "do:    install a PyTorch with CUDA beside CuPy: pip install torch."
    )


def test_without_a_gpu_it_is_what_was_recorded_for_these_shapes(no_gpu: None, monkeypatch):
    key = recorded.vendor_key("matmul", (8, 8), (8, 8))
    assert key == "vendor matmul 8x8 8x8"
    monkeypatch.setattr(recorded, "all_runs", lambda: (recorded.Run(key, "cuBLAS", TIMING),))
    assert vendor.time_matmul(square(8), square(8)) is TIMING
    with pytest.raises(DeviceError) as refused:
        vendor.time_matmul(square(9), square(9))
    assert str(refused.value) == (
        "Can't time cuBLAS on (9, 9) by (9, 9): there is no GPU, and none is recorded.\n"
        "found: no driver is here\n"
        "do:    take the lesson's sizes, 1024 by 1024, or 4096 by 4096 of halves, or use a machine "
        "with an NVIDIA GPU."
    )


def test_so_is_that_of_a_convolution(no_gpu: None, monkeypatch: pytest.MonkeyPatch):
    a, w = np.zeros((4, 4, 8, 2), "float32"), np.zeros((3, 3, 8, 16), "float32")
    with pytest.raises(DeviceError) as refused:
        vendor.time_convolution(a, w)
    assert str(refused.value) == (
        "Can't time cuDNN on (4, 4, 8, 2) with (3, 3, 8, 16): there is no GPU, and none is "
        "recorded.\n"
        "found: no driver is here\n"
        "do:    take the lesson's sizes, 14 x 14 pixels, 256 channels, 256 pictures, 512 filters, "
        "or use a machine with an NVIDIA GPU."
    )
    key = recorded.vendor_key("conv2d", a.shape, w.shape)
    assert key == "vendor conv2d 4x4x8x2 3x3x8x16"
    monkeypatch.setattr(recorded, "all_runs", lambda: (recorded.Run(key, "cuDNN", TIMING),))
    assert vendor.time_convolution(a, w) is TIMING
