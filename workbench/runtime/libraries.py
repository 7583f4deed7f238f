"""The vendor's libraries on the worker's GPU: cuBLAS by way of CuPy, cuDNN by way of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.runtime.events import row_sample
from workbench.runtime.job import TimeLibrary

Work = Callable[[], object]


class NoLibrary(Exception):
    """The library is not there; `what` is the kind of failure that tells it."""

    def __init__(self, what: str, why: str) -> None:
        self.what = what
        super().__init__(why)


@dataclass(frozen=True)
class Routine:
    """A library's routine on arrays that lie on the card.

    `work` asks for one run of it on a stream of CuPy; `sample` makes what takes one sample of
    several runs there, which `how` tells with their number in it; `free` gives memory back.
    """

    work: Callable[[Any], Work]
    sample: Callable[[Any, int], Callable[[], float]]
    how: str
    free: Callable[[], None] = lambda: None


def routine(job: TimeLibrary) -> Callable[[], Routine]:
    """Load the library of `job`; what is returned copies the arrays to the card.

    Raises NoLibrary where it is not installed.
    """
    if job.routine == "convolve":
        return _cudnn(job)
    return lambda: _cublas(job)


def _cublas(job: TimeLibrary) -> Routine:
    import cupy

    a, b = (cupy.asarray(array) for array in job.arrays)
    if job.routine == "add":
        run = _add(a, b)
    else:
        c = cupy.empty((a.shape[0], b.shape[1]), dtype=a.dtype)
        run = lambda: cupy.dot(a, b, out=c)  # noqa: E731
    return Routine(
        work=lambda stream: run,
        sample=lambda stream, count: row_sample(stream, run, count),
        how="CUDA events around {} runs in a row",
    )


def _add(a: Any, b: Any) -> Work:
    """cuBLAS's sum of two matrices, here of one column."""
    import cupy
    import numpy
    from cupy.cuda import cublas, device

    c, n = cupy.empty_like(a), a.size
    one = numpy.ones(1, "float32")
    scale = one.ctypes.data
    handle = device.get_cublas_handle()
    keep = (one, a, b, c)  # as long as there are pointers to them

    def run() -> None:
        pointers = [array.data.ptr for array in keep[1:]]
        no = cublas.CUBLAS_OP_N
        cublas.sgeam(
            handle, no, no, n, 1, scale, pointers[0], n, scale, pointers[1], n, pointers[2], n
        )

    return run


def _cudnn(job: TimeLibrary) -> Callable[[], Routine]:
    try:
        import torch
    except Exception as error:  # a library that it needs may be broken in its own way
        raise NoLibrary("no cudnn", f"{type(error).__name__}: {error}") from None
    if not (torch.cuda.is_available() and torch.backends.cudnn.is_available()):
        raise NoLibrary("no cudnn", f"PyTorch {torch.__version__} is built without it")
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True  # the algorithm that it finds the fastest

    def ready() -> Routine:
        image, taps = (torch.from_numpy(array).cuda() for array in job.arrays)

        def run() -> None:
            torch.nn.functional.conv2d(image, taps, padding=job.padding)

        def on(stream: Any) -> Work:
            here = torch.cuda.ExternalStream(stream.ptr)

            def work() -> None:
                with torch.cuda.stream(here), torch.no_grad():
                    run()

            return work

        return Routine(
            work=on,
            sample=lambda stream, count: torch_graph_sample(run, count),
            how="CUDA events around a graph of {} runs",
            free=torch.cuda.empty_cache,
        )

    return ready


def torch_graph_sample(work: Work, count: int) -> Callable[[], float]:
    """How to take one sample of `count` runs of PyTorch's `work`, in seconds a run."""
    import torch

    side = torch.cuda.Stream()
    with torch.cuda.stream(side), torch.no_grad():
        for _ in range(3):
            work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        for _ in range(count):
            work()

    def sample() -> float:
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        return float(start.elapsed_time(stop)) * 1e-3 / count

    sample()
    return sample
