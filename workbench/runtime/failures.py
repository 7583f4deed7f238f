"""What the worker could not do, told to the learner."""

from __future__ import annotations

from typing import Literal

from workbench.runtime.errors import DeviceError
from workbench.runtime.job import Failed
from workbench.runtime.worker import WorkerDied, WorkerTimeout

_SAFE = "Your variables are kept; the next run starts a new worker."
_FIND = f"run kernel.emulate(...) on the same arrays: it names the thread and the cell. {_SAFE}"
_MEANING = (
    "run the program by its meaning, which names the cell that is wrong: "
    f"wb.emulate.evaluate(func, [...]). {_SAFE}"
)
# what -> (what it was, what to do); {kernel} and {device} are filled in
_TOLD = {
    "illegal address": ("it read or wrote outside its arrays", _FIND),
    "misaligned address": ("a vector access was not aligned to its width", _FIND),
    "crash": ("the GPU gave it up", _FIND),
    "watchdog": ("it ran longer than the display's watchdog allows", _FIND),
    "resources": (
        "a block needs more registers or shared memory than the GPU has",
        "bind fewer threads, or keep less in local and shared memory.",
    ),
    "busy": (
        "the GPU is taken by another program",
        "close the other program or notebook that uses it (nvidia-smi lists them), or go on "
        "with kernel.emulate(...).",
    ),
    "no device": (
        "CUDA finds no GPU",
        "see wb.device() for what is missing; kernel.emulate(...) needs no GPU.",
    ),
    "no driver": (
        "no NVIDIA driver is installed here",
        "see wb.device() for what is missing; kernel.emulate(...) needs no GPU.",
    ),
    "driver": (
        "the NVIDIA driver is too old for this CuPy",
        "update the driver, or install the CuPy for its CUDA version (nvidia-smi shows it).",
    ),
    "no cupy": (
        "CuPy does not load",
        "see wb.device() for how to install it; kernel.emulate(...) needs none.",
    ),
    "no compiler": (
        "CuPy finds no CUDA compiler (NVRTC)",
        'install it beside CuPy: pip install "cupy-cuda12x[ctk]" (or cuda13x, as your driver).',
    ),
    "no cublas": (
        "CuPy finds no cuBLAS",
        'install it beside CuPy: pip install "cupy-cuda12x[ctk]" (or cuda13x, as your driver).',
    ),
    "no cudnn": (
        "PyTorch, by which cuDNN is asked, does not load",
        "install a PyTorch with CUDA beside CuPy: pip install torch.",
    ),
    "source": (
        "the CUDA compiler does not accept its text",
        "this is a fault of the workbench: please report the program and this text.",
    ),
    "no c compiler": (
        "no C compiler answers any more",
        "see wb.runtime.cpu() for what is missing, then restart the kernel.",
    ),
    "c source": (
        "the C compiler does not accept its text",
        "this is a fault of the workbench: please report the program and this text.",
    ),
}
_OTHER = ("CUDA reports an error", f"run kernel.emulate(...) to look inside. {_SAFE}")


def explain(failed: Failed, kernel: str, device: str) -> DeviceError:
    """The error for an answer of the worker that is a failure."""
    if failed.what == "full":
        free, total = (_gigabytes(failed.facts[key]) for key in ("free", "total"))
        fault = f"its memory is full ({free} of {total} GB free)"
        hint = "close other notebooks that use the GPU, or use smaller arrays."
    else:
        fault, hint = _TOLD.get(failed.what, _OTHER)
    return DeviceError(f"Can't run {kernel} on {device}: {fault}", detail=failed.message, hint=hint)


def explain_death(
    died: WorkerDied, kernel: str, device: str, unit: Literal["GPU", "CPU"] = "GPU"
) -> DeviceError:
    """The error for a worker that ended in the middle."""
    return DeviceError(
        f"Can't run {kernel} on {device}: the {unit} worker crashed",
        detail=f"{died.how}\n{died.said}".strip(),
        hint=_FIND if unit == "GPU" else _MEANING,
    )


def explain_timeout(timeout: WorkerTimeout, kernel: str, device: str) -> DeviceError:
    """The error for a launch that did not end."""
    return DeviceError(
        f"Can't run {kernel} on {device}: {timeout}, so it was stopped",
        detail="a loop that never ends, or a launch that needs more time than that",
        hint=f"pass more time, as in kernel(..., seconds=60), or look for the loop. {_SAFE}",
    )


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f}"
