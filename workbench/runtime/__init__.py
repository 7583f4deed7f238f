"""Running kernels: on a GPU or a CPU, each in a process of its own, or on the emulator; timing."""

from workbench.runtime import recorded
from workbench.runtime.build import build, rebuild
from workbench.runtime.built import Built
from workbench.runtime.devices import DeviceReport, cpu, device
from workbench.runtime.errors import ArgumentError, DeviceError
from workbench.runtime.timing import Timing

__all__ = [
    "ArgumentError",
    "Built",
    "DeviceError",
    "DeviceReport",
    "Timing",
    "build",
    "cpu",
    "device",
    "rebuild",
    "recorded",
]
