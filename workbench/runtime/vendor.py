"""The vendor's library on the same job: what to hold one's own kernel against."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from workbench.runtime import recorded
from workbench.runtime.devices import device
from workbench.runtime.errors import DeviceError
from workbench.runtime.job import Timed, TimeMatmul
from workbench.runtime.launching import ask
from workbench.runtime.timing import Timing

if TYPE_CHECKING:
    import numpy as np

SECONDS = 20.0


def time_matmul(a: np.ndarray, b: np.ndarray) -> Timing:
    """How long cuBLAS needs for `a @ b` in float32 (no TF32, which rounds the inputs to 10 bits).

    Without a GPU, the time recorded for these shapes; DeviceError where there is none, or where
    the GPU fails.
    """
    report = device()
    if not report.is_gpu:
        known = recorded.vendor_times(recorded.vendor_key("matmul", a.shape, b.shape))
        if known:
            return known[0]
        raise DeviceError(
            f"Can't time cuBLAS on {a.shape} by {b.shape}: there is no GPU, and none is recorded",
            detail=report.why,
            hint="take the lesson's sizes, 1024 by 1024, or use a machine with an NVIDIA GPU.",
        )
    reply = ask("cuBLAS", report.which, TimeMatmul((a, b)), SECONDS)
    assert isinstance(reply, Timed)
    return Timing(
        samples=reply.samples,
        device=report.which,
        how=reply.how,
        clocks=reply.clocks,
        date=date.today().isoformat(),
        steady=reply.steady,
    )


def time_convolution(a: np.ndarray, w: np.ndarray) -> Timing:
    """How long cuDNN took for `a` (HWCN) with the taps `w` (HWCF), in float32 (no TF32).

    It is recorded only: CuPy has no cuDNN. DeviceError where there is none for these shapes.
    """
    known = recorded.vendor_times(recorded.vendor_key("conv2d", a.shape, w.shape))
    if known:
        return known[0]
    raise DeviceError(
        f"Can't time cuDNN on {a.shape} with {w.shape}: none is recorded",
        detail="CuPy, with which times are taken here, has no cuDNN",
        hint="take the lesson's sizes, 14 x 14 pixels, 256 channels, 256 pictures, 512 filters.",
    )
