"""What the vendor's libraries need for the same jobs, and the roof: a copy of device memory."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from statistics import median
from typing import Any, TypeAlias

from benchmarks.steps import Results
from workbench.runtime import recorded, vendor
from workbench.runtime.events import between_events, graph_sample, runs_per_sample
from workbench.runtime.libraries import torch_graph_sample
from workbench.runtime.sampling import sample_until_steady

Sampling: TypeAlias = Callable[[Any, Callable[[], object], int], Callable[[], float]]
"""(stream, work, count) -> how to take one sample of `count` runs of the work, in seconds a run."""

SIZES = {"1024": 1024, "2^26": 2**26}


def vendor_times() -> list[dict[str, object]]:
    """Seconds of CuPy's, cuBLAS's and cuDNN's own kernels, each by the same protocol as ours."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    rows = []
    for label, n in SIZES.items():
        with stream:
            for name, work, moved in _jobs(cupy, n):
                rows.append(_row(stream, f"{name}, {label}", work, moved, graph_sample))
            saxpy = _saxpy(cupy, n)
            rows.append(_row(stream, f"cuBLAS saxpy (C += A), {label}", saxpy, 12 * n, _in_a_row))
        rows.append(_cudnn(n, label))
    return rows


def time_copy(n: int) -> dict[str, Any]:
    """Seconds of a copy of `n` floats in device memory, and the bytes that it moves a second."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        (name, work, moved), *_ = _jobs(cupy, n)
        return _row(stream, f"{name}, {n}", work, moved, graph_sample)


def _jobs(cupy: Any, n: int) -> list[tuple[str, Callable[[], object], int]]:
    a = cupy.random.random(n + 3, dtype="float32")
    b, c = cupy.random.random(n, dtype="float32"), cupy.empty(n, dtype="float32")
    same = a[:n]
    window = cupy.ElementwiseKernel(
        "raw float32 a", "float32 b", "b = a[i] + a[i + 1] + a[i + 2]", "wb_window"
    )
    return [
        ("copy (the roof)", lambda: cupy.copyto(c, b), 8 * n),
        ("CuPy add", lambda: cupy.add(same, b, out=c), 12 * n),
        ("CuPy window sum in one kernel", lambda: window(a, c), 8 * n),
    ]


def _saxpy(cupy: Any, n: int) -> Callable[[], None]:
    import numpy as np
    from cupy.cuda import cublas, device

    x, y = cupy.random.random(n, dtype="float32"), cupy.empty(n, dtype="float32")
    one = np.ones(1, "float32")

    def work() -> None:
        handle = device.get_cublas_handle()
        cublas.setStream(handle, cupy.cuda.get_current_stream().ptr)
        cublas.saxpy(handle, x.size, one.ctypes.data, x.data.ptr, 1, y.data.ptr, 1)

    return work


def _in_a_row(stream: Any, work: Callable[[], object], count: int) -> Callable[[], float]:
    """As `graph_sample`, for what CuPy does not let into a graph (cuBLAS): asking counts too."""
    return lambda: between_events(stream, lambda: [work() for _ in range(count)]) / count


def _row(
    stream: Any, name: str, work: Callable[[], object], moved: int, sampling: Sampling
) -> dict[str, Any]:
    for _ in range(3):
        work()
    once = between_events(stream, work)
    sample = sampling(stream, work, runs_per_sample(once))
    samples, steady = sample_until_steady(sample, spread=0.02, most=200, seconds=2.0)
    return _result(name, samples, steady, moved)


def _cudnn(n: int, label: str) -> dict[str, object]:
    """The window sum as a convolution, by cuDNN through PyTorch, in a CUDA graph."""
    import torch

    weights = torch.ones(1, 1, 3, device="cuda")
    values = torch.rand(1, 1, n + 2, device="cuda")
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    convolve = torch.nn.functional.conv1d
    sample = torch_graph_sample(lambda: convolve(values, weights), 200 if n <= 4096 else 1)
    samples, steady = sample_until_steady(sample, spread=0.02, most=200, seconds=2.0)
    return _result(f"cuDNN window sum (conv1d, float32), {label}", samples, steady, 8 * n)


def _result(name: str, samples: list[float], steady: bool, moved: int) -> dict[str, Any]:
    seconds = median(samples)
    return {
        "name": name,
        "seconds": float(f"{seconds:.4g}"),
        "terabytes_per_second": float(f"{moved / seconds / 1e12:.3g}"),
        "samples": len(samples),
        "steady": steady,
    }


def libraries(runs: list[recorded.Run]) -> list[Results]:
    """The vendor's library on the operator of each lesson, at its sizes, as a learner times it."""
    import numpy as np

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, "float32")

    square, image, taps = zeros(1024, 1024), zeros(14, 14, 256, 256), zeros(3, 3, 256, 512)
    rows: list[Results] = []
    for operator, library in (
        ("vector add", vendor.add(zeros(1024), zeros(1024))),
        ("window sum", vendor.window_sums(zeros(1026), 1, 3)),
        ("matrix multiply", vendor.matmul(square, square)),
        ("convolution, NCHW", vendor.convolution(image, taps)),
        ("blur", vendor.window_sums(zeros(1026, 1026), 3, 3)),
    ):
        label = f"{library.name}, float32 without TF32, {operator}"
        warm, flushed = library.time(), library.time(flush=True)
        runs.append(recorded.Run(library.key, label, warm))
        rows.append(
            {"name": label, "seconds": warm.median, "steady": warm.steady, "how": warm.how}
            | {"seconds, L2 emptied": flushed.median, "clocks": warm.clocks, "notes": warm.notes}
        )
    return rows


def nvidia_smi(query: str) -> str:
    """What the driver's tool answers for the first GPU; "" where there is no answer."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ""
    command = [tool, f"--query-gpu={query}", "--format=csv,noheader,nounits", "-i", "0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def card() -> dict[str, object]:
    """What the driver says of the card, to hold beside the catalogue."""
    import cupy

    wanted = (
        "MultiProcessorCount",
        "ClockRate",
        "L2CacheSize",
        "MaxSharedMemoryPerBlock",
        "MaxSharedMemoryPerMultiprocessor",
        "MaxThreadsPerMultiProcessor",
        "MaxBlocksPerMultiprocessor",
        "MaxRegistersPerMultiprocessor",
        "MaxThreadsPerBlock",
        "MaxGridDimX",
        "MaxGridDimY",
        "MaxBlockDimZ",
        "WarpSize",
    )
    found = cupy.cuda.Device().attributes
    driver = nvidia_smi("name,driver_version,memory.total,clocks.max.sm")
    return {"nvidia-smi": driver} | {name: found.get(name) for name in wanted}
