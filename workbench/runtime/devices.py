"""Which device runs a kernel, why that one, and how to get a better one."""

from __future__ import annotations

import atexit
import ctypes.util
import os
import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec

from workbench import target
from workbench.diag import prose
from workbench.runtime.compiler import Compiler, compiler, cpu_name
from workbench.runtime.job import Failed, Gpu, Hello
from workbench.runtime.nvml import BUSY
from workbench.runtime.worker import Worker, WorkerDied, WorkerTimeout
from workbench.target import Target

_HELLO_SECONDS = 60.0  # a first import of CuPy from a slow disk
COLAB = "sm_75"  # what a T4 is
NO_DRIVER = (
    "no NVIDIA driver is installed here",
    "an NVIDIA GPU and its driver",
    "use a machine with one, or Colab: Runtime > Change runtime type > T4 GPU.",
)

WORKER = Worker()  # one for the process: the card is one
CPU_WORKER = Worker((sys.executable, "-P", "-m", "workbench.runtime.cpu_worker"))
for _worker in (WORKER, CPU_WORKER):
    atexit.register(_worker.stop)  # else it would go by itself, unless it is suspended


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """`which` is a GPU's or CPU's name or "emulator"; `why` one sentence; the rest says what to do.

    `missing` names what stands between here and such a device, `how_to_get` what to do about it;
    both are "" where nothing is missing.

    >>> print(wb.runtime.DeviceReport("emulator", "there is no GPU"))
    runs on: emulator
    why:     there is no GPU
    """

    which: str
    why: str
    missing: str = ""
    how_to_get: str = ""
    gpu: Gpu | None = None
    compiler: Compiler | None = None

    @property
    def is_gpu(self) -> bool:
        """Whether kernels run on a GPU.

        >>> wb.runtime.DeviceReport("emulator", "there is no GPU").is_gpu
        False
        """
        return self.gpu is not None

    @property
    def measures(self) -> bool:
        """Whether programs run on the device itself, a GPU or a CPU, and can be timed.

        >>> wb.runtime.DeviceReport("emulator", "there is no GPU").measures
        False
        """
        return self.is_gpu or self.compiler is not None

    @property
    def target(self) -> Target:
        """What the catalogue knows of the GPU; the generic one where there is none.

        >>> wb.runtime.DeviceReport("emulator", "there is no GPU").target.name
        'cuda'
        """
        return target.of_device(self.gpu.name if self.gpu else "")

    def __str__(self) -> str:
        lines = [f"runs on: {self.which}", f"why:     {self.why}"]
        if self.missing:
            lines += [f"missing: {self.missing}", f"get it:  {self.how_to_get}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return "<br>".join(map(prose, str(self).splitlines()))


_report: DeviceReport | None = None


def device(again: bool = False) -> DeviceReport:
    """The device that runs kernels here; looked for once, and `again` on request.

    >>> wb.device().which != ""
    True
    """
    global _report
    if _report is None or again:
        _report = _find(WORKER)
    return _report


def cpu() -> DeviceReport:
    """The CPU of this machine, where a C compiler is found; else how programs for one run.

    >>> wb.runtime.cpu().why != ""
    True
    """
    found = compiler()
    if found is not None:
        return DeviceReport(cpu_name(), found.said, compiler=found)
    return DeviceReport(
        "its meaning, on NumPy",
        "no C compiler is found here, so a program for the CPU runs by its meaning",
        "a C compiler",
        'pip install "mlc-workbench[cpu]", which brings one, or install gcc or clang.',
    )


def _find(worker: Worker) -> DeviceReport:
    if sys.platform == "darwin":
        return _emulator(
            "macOS has no CUDA",
            "an NVIDIA GPU",
            "open the lessons on Colab with a GPU runtime.",
        )
    driver = _driver()
    if driver is None:
        return _emulator(*NO_DRIVER)
    if find_spec("cupy") is None:
        return _emulator(
            "there is an NVIDIA driver, but CuPy is not installed",
            "CuPy",
            "pip install cupy-cuda12x (or cupy-cuda13x: nvidia-smi shows which), "
            "then restart the kernel.",
        )
    return _ask(worker)


def _ask(worker: Worker) -> DeviceReport:
    try:
        answer = worker.ask(Hello(), _HELLO_SECONDS)
    except (WorkerDied, WorkerTimeout) as error:
        return _emulator(
            "the GPU worker did not start",
            "a GPU that answers",
            f"see whether nvidia-smi answers ({error}).",
        )
    if isinstance(answer, Failed):
        return _not_usable(answer)
    assert isinstance(answer, Gpu)
    free = f"{answer.free_bytes / 1e9:.0f} of {answer.memory_bytes / 1e9:.0f} GB free"
    busy = ""
    if answer.busy is not None and answer.busy >= BUSY:
        busy = f"; others keep it {answer.busy:.0%} busy, so times will vary"
    why = f"CuPy {answer.cupy} finds it ({answer.arch}, {answer.driver}, {free}){busy}"
    return DeviceReport(answer.name, why, gpu=answer)


def _not_usable(answer: Failed) -> DeviceReport:
    known = {
        "no driver": NO_DRIVER,
        "no device": (
            "there is an NVIDIA driver, but CUDA finds no GPU",
            "a GPU that this process may use",
            "start the notebook or the container with access to the GPU.",
        ),
        "busy": (
            "the GPU is taken by another program",
            "a free GPU",
            "close the other program (nvidia-smi lists them), then wb.device(again=True).",
        ),
        "driver": (
            "the NVIDIA driver is too old for this CuPy",
            "a driver that fits",
            "update the driver, or install the CuPy for its CUDA version.",
        ),
    }
    fallback = (
        "the GPU cannot be used",
        "a GPU that answers",
        f"CuPy says: {answer.message}",
    )
    return _emulator(*known.get(answer.what, fallback))


def _emulator(why: str, missing: str, how_to_get: str) -> DeviceReport:
    return DeviceReport("emulator", why, missing, how_to_get)


def _driver() -> str | None:
    """A trace of the driver; its library is not loaded here, which would open the card."""
    if os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg"):
        return "device file"
    library = ctypes.util.find_library("nvcuda" if sys.platform == "win32" else "cuda")
    return library or shutil.which("nvidia-smi")
