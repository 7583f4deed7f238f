"""Running kernels: on a GPU or a CPU, each in a process of its own, or on the emulator; timing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

# Where each name lives. Modules are loaded at the first use of a name: the workers, which are in
# this room, too, need nothing of what builds kernels, and shall be there soon.
_HOME = {
    "ArgumentError": "errors",
    "Built": "built",
    "DeviceError": "errors",
    "DeviceReport": "devices",
    "Timing": "timing",
    "break_it": "building",
    "build": "building",
    "cpu": "devices",
    "device": "devices",
    "rebuild": "building",
}

__all__ = [*_HOME, "recorded"]  # noqa: PLE0604

if TYPE_CHECKING:  # the same names, as type checkers and editors see them
    from workbench.runtime import recorded as recorded
    from workbench.runtime.building import break_it as break_it
    from workbench.runtime.building import build as build
    from workbench.runtime.building import rebuild as rebuild
    from workbench.runtime.built import Built as Built
    from workbench.runtime.devices import DeviceReport as DeviceReport
    from workbench.runtime.devices import cpu as cpu
    from workbench.runtime.devices import device as device
    from workbench.runtime.errors import ArgumentError as ArgumentError
    from workbench.runtime.errors import DeviceError as DeviceError
    from workbench.runtime.timing import Timing as Timing


if not TYPE_CHECKING:  # or it would take every name for one that is there

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'workbench.runtime' has no attribute {name!r}")
        module = import_module(f"workbench.runtime.{_HOME.get(name, name)}")
        value = globals()[name] = getattr(module, name) if name in _HOME else module
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
