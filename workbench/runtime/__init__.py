"""Running kernels: on a GPU in a process of its own, or on the emulator; and timing them."""

from workbench.runtime import recorded
from workbench.runtime.build import build, rebuild
from workbench.runtime.built import Built
from workbench.runtime.devices import DeviceReport, device
from workbench.runtime.errors import ArgumentError, DeviceError
from workbench.runtime.timing import Timing

__all__ = [
    "ArgumentError",
    "Built",
    "DeviceError",
    "DeviceReport",
    "Timing",
    "build",
    "device",
    "rebuild",
    "recorded",
]
