"""Whatever goes wrong on the GPU is told with the kernel's name and what to do."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from workbench.runtime.failures import _TOLD, explain, explain_death, explain_timeout
from workbench.runtime.gpu import _KINDS, _cuda_failure
from workbench.runtime.job import Failed
from workbench.runtime.worker import WorkerDied, WorkerTimeout

KEPT = "Your variables are kept; the next run starts a new worker."
FIND = f"run kernel.emulate(...) on the same arrays: it names the thread and the cell. {KEPT}"


def told(what: str) -> str:
    return str(explain(Failed(what, "CUDA's words"), "main_kernel", "Tesla T4"))


@pytest.mark.parametrize(
    "what, found, hint",
    [
        ("illegal address", "it read or wrote outside its arrays", FIND),
        ("misaligned address", "a vector access was not aligned to its width", FIND),
        ("crash", "the GPU gave it up", FIND),
        ("watchdog", "it ran longer than the display's watchdog allows", FIND),
        (
            "resources",
            "a block needs more registers or shared memory than the GPU has",
            "bind fewer threads, or keep less in local and shared memory.",
        ),
        (
            "busy",
            "the GPU is taken by another program",
            "close the other program or notebook that uses it (nvidia-smi lists them), or go on "
            "with kernel.emulate(...).",
        ),
        (
            "no device",
            "CUDA finds no GPU",
            "see wb.device() for what is missing; kernel.emulate(...) needs no GPU.",
        ),
        (
            "no driver",
            "no NVIDIA driver is installed here",
            "see wb.device() for what is missing; kernel.emulate(...) needs no GPU.",
        ),
        (
            "driver",
            "the NVIDIA driver is too old for this CuPy",
            "update the driver, or install the CuPy for its CUDA version (nvidia-smi shows it).",
        ),
        (
            "no cupy",
            "CuPy does not load",
            "see wb.device() for how to install it; kernel.emulate(...) needs none.",
        ),
        (
            "no compiler",
            "CuPy finds no CUDA compiler (NVRTC)",
            'install it beside CuPy: pip install "cupy-cuda12x[ctk]" (or cuda13x, as your driver).',
        ),
        (
            "no cublas",
            "CuPy finds no cuBLAS",
            'install it beside CuPy: pip install "cupy-cuda12x[ctk]" (or cuda13x, as your driver).',
        ),
        (
            "source",
            "the CUDA compiler does not accept its text",
            "this is a fault of the workbench: please report the program and this text.",
        ),
        (
            "error",
            "CUDA reports an error",
            f"run kernel.emulate(...) to look inside. {KEPT}",
        ),
    ],
)
def test_each_failure_is_told(what: str, found: str, hint: str):
    assert told(what) == (
        f"Can't run main_kernel on Tesla T4: {found}.\nfound: CUDA's words\ndo:    {hint}"
    )
    assert len(told(what).splitlines()[0]) <= 120


def test_every_kind_that_cuda_reports_is_told():
    assert set(_KINDS.values()) <= set(_TOLD) | {"full"}


@pytest.mark.parametrize(
    "message, driver, what",
    [
        ("cudaErrorInsufficientDriver: CUDA driver version is insufficient", 0, "no driver"),
        ("cudaErrorInsufficientDriver: CUDA driver version is insufficient", 11040, "driver"),
        ("CUDA_ERROR_STUB_LIBRARY: CUDA driver is a stub library", 12080, "no driver"),
        ("cudaErrorUnsupportedPtxVersion: the provided PTX was compiled", 12000, "driver"),
        ("cudaErrorSystemDriverMismatch: unsupported combination", 12080, "error"),
    ],
)
def test_a_driver_that_is_missing_is_not_called_too_old(message: str, driver: int, what: str):
    runtime = SimpleNamespace(driverGetVersion=lambda: driver)  # CUDA: 0 where none is installed
    cupy = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))
    assert _cuda_failure(cupy, message) == Failed(what, message, fatal=True)


def test_a_full_card_says_how_full():
    failed = Failed("full", "out of memory", facts={"free": 3 * 10**9, "total": 16 * 10**9})
    assert str(explain(failed, "main_kernel", "Tesla T4")) == (
        "Can't run main_kernel on Tesla T4: its memory is full (3.0 of 16.0 GB free).\n"
        "found: out of memory\n"
        "do:    close other notebooks that use the GPU, or use smaller arrays."
    )


def test_a_crash_of_the_worker():
    died = WorkerDied(-11, "Segmentation fault")
    assert str(explain_death(died, "main_kernel", "Tesla T4")) == (
        "Can't run main_kernel on Tesla T4: the GPU worker crashed.\n"
        "found: it was ended by SIGSEGV\n"
        "       Segmentation fault\n"
        f"do:    {FIND}"
    )


def test_an_endless_loop():
    timeout = WorkerTimeout("no answer in 20 s")
    assert str(explain_timeout(timeout, "main_kernel", "Tesla T4")) == (
        "Can't run main_kernel on Tesla T4: no answer in 20 s, so it was stopped.\n"
        "found: a loop that never ends, or a launch that needs more time than that\n"
        f"do:    pass more time, as in kernel(..., seconds=60), or look for the loop. {KEPT}"
    )
