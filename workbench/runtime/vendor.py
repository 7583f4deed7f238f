"""The vendor's library on the same job: what to hold one's own kernel against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.runtime import recorded
from workbench.runtime.devices import device
from workbench.runtime.errors import DeviceError
from workbench.runtime.job import TimeLibrary
from workbench.runtime.launching import ask, measured
from workbench.runtime.timing import Timing

if TYPE_CHECKING:
    import numpy as np

SECONDS = 60.0  # PyTorch is loaded first, from a slow disk


@dataclass(frozen=True)
class Library:
    """A job as the vendor's library does it: which one, under which key its times are recorded.

    `on` names the arrays, and `sizes` the sizes at which times were recorded.
    """

    name: str
    on: str
    key: str
    job: Callable[[], TimeLibrary]
    sizes: str

    def time(self, flush: bool = False, waits: Callable[[int], None] | None = None) -> Timing:
        """How long the library needs, on this machine's GPU or, without one, as recorded.

        `flush` and `waits` are as in `Built.time`. DeviceError where nothing is recorded, where the
        GPU fails, or where the library is not installed.
        """
        report = device()
        if report.is_gpu:
            job = replace(self.job(), flush=flush)
            return measured(ask(self.name, report.which, job, SECONDS, waits), report)
        known = recorded.vendor_times(self.key)
        if known:
            return known[0]
        raise DeviceError(
            f"Can't time {self.name} on {self.on}: there is no GPU, and none is recorded",
            detail=report.why,
            hint=f"take the lesson's sizes, {self.sizes}, or use a machine with an NVIDIA GPU.",
        )


def add(a: np.ndarray, b: np.ndarray) -> Library:
    """cuBLAS's sum of two vectors in float32."""
    return Library(
        "cuBLAS",
        f"vectors of {a.size}",
        recorded.vendor_key("add", a.shape, b.shape),
        lambda: TimeLibrary("add", (a, b)),
        "1024 numbers",
    )


def matmul(a: np.ndarray, b: np.ndarray) -> Library:
    """cuBLAS's `a @ b` in float32 (no TF32, which rounds the inputs to 10 bits), or of halves.

    Of halves it sums in float32, and has its result in halves.
    """
    of_halves = " float16" * (a.dtype == "float16")
    return Library(
        "cuBLAS",
        f"{a.shape} by {b.shape}",
        recorded.vendor_key(f"matmul{of_halves}", a.shape, b.shape),
        lambda: TimeLibrary("multiply", (a, b)),
        "1024 by 1024, or 4096 by 4096 of halves",
    )


def convolution(a: np.ndarray, w: np.ndarray) -> Library:
    """cuDNN's convolution of `a` (HWCN) with the taps `w` (HWCF), in float32 (no TF32).

    It works in its own layout, NCHW.
    """

    def job() -> TimeLibrary:
        image, taps = (array.transpose(3, 2, 0, 1).copy() for array in (a, w))
        return TimeLibrary("convolve", (image, taps), padding=1)

    return Library(
        "cuDNN",
        f"{a.shape} with {w.shape}",
        recorded.vendor_key("conv2d", a.shape, w.shape),
        job,
        "14 x 14 pixels, 256 channels, 256 pictures, 512 filters",
    )


def window_sums(a: np.ndarray, height: int, width: int) -> Library:
    """cuDNN's sums of the windows of `height` x `width` cells of a picture, in float32.

    A vector is a picture of one row.
    """

    def job() -> TimeLibrary:
        import numpy as np

        image = a.reshape(1, 1, *(1, *a.shape)[-2:])
        return TimeLibrary("convolve", (image, np.ones((1, 1, height, width), "float32")))

    return Library(
        "cuDNN",
        f"windows of {height} x {width} in {a.shape}",
        recorded.vendor_key("window_sums", a.shape, (height, width)),
        job,
        "1024 windows of 3 numbers, or 1024 x 1024 windows of 3 x 3",
    )


def time_matmul(a: np.ndarray, b: np.ndarray) -> Timing:
    """How long cuBLAS needs for `a @ b`, see `matmul` and `Library.time`."""
    return matmul(a, b).time()


def time_convolution(a: np.ndarray, w: np.ndarray) -> Timing:
    """How long cuDNN needs for `a` (HWCN) with `w` (HWCF), see `convolution`."""
    return convolution(a, w).time()
