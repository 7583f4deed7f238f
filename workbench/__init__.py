"""Workbench: learn how a tensor program becomes a fast GPU kernel, one step at a time."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from workbench.version import __version__

# Where each public name lives. Rooms are loaded at the first use of a name, so that importing
# the package costs nothing and needs only the standard library.
_HOME = {
    "T": "script",
    "ParseError": "script",
    "ir_module": "script",
    "Schedule": "schedule",
    "ScheduleError": "schedule",
    "ScheduleWarning": "schedule",
    "TensorIntrin": "intrin",
    "load": "schedule",
    "open": "schedule",
    "structural_equal": "ir",
    "assert_structural_equal": "ir",
    "build": "runtime",
    "device": "runtime",
    "ArgumentError": "runtime",
    "DeviceError": "runtime",
    "EmulationError": "emulate",
    "lab": "widgets",
    "tune": "tuning",
}
_ROOMS = (
    "arith",
    "check",
    "codegen",
    "diag",
    "draw",
    "emulate",
    "history",
    "insight",
    "intrin",
    "ir",
    "lesson",
    "lower",
    "runtime",
    "schedule",
    "script",
    "target",
    "te",
    "tuning",
    "tvm",
    "verbs",
    "widgets",
)

__all__ = ["__version__", *_HOME, *_ROOMS]

if TYPE_CHECKING:  # the same names, as type checkers and editors see them
    from workbench import arith as arith
    from workbench import check as check
    from workbench import codegen as codegen
    from workbench import diag as diag
    from workbench import draw as draw
    from workbench import emulate as emulate
    from workbench import history as history
    from workbench import insight as insight
    from workbench import intrin as intrin
    from workbench import ir as ir
    from workbench import lesson as lesson
    from workbench import lower as lower
    from workbench import runtime as runtime
    from workbench import schedule as schedule
    from workbench import script as script
    from workbench import target as target
    from workbench import te as te
    from workbench import tuning as tuning
    from workbench import tvm as tvm
    from workbench import verbs as verbs
    from workbench import widgets as widgets
    from workbench.emulate import EmulationError as EmulationError
    from workbench.intrin import TensorIntrin as TensorIntrin
    from workbench.ir import assert_structural_equal as assert_structural_equal
    from workbench.ir import structural_equal as structural_equal
    from workbench.runtime import ArgumentError as ArgumentError
    from workbench.runtime import DeviceError as DeviceError
    from workbench.runtime import device as device
    from workbench.runtime.building import build as build
    from workbench.schedule import Schedule as Schedule
    from workbench.schedule import ScheduleError as ScheduleError
    from workbench.schedule import ScheduleWarning as ScheduleWarning
    from workbench.schedule.link import open as open
    from workbench.schedule.load import load as load
    from workbench.script import ParseError as ParseError
    from workbench.script import T as T
    from workbench.script import ir_module as ir_module
    from workbench.tuning import tune as tune
    from workbench.widgets import lab as lab


if not TYPE_CHECKING:  # or it would take every name for one that is there

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'workbench' has no attribute {name!r}")
        try:
            room = import_module(f"workbench.{_HOME.get(name, name)}")
            value = getattr(room, name) if name in _HOME else room
        except ModuleNotFoundError as missing:
            if missing.name == "numpy":  # which parsing and scheduling do without
                needed = "numpy, which is not installed: pip install numpy"
                missing.msg = f"wb.{name} needs {needed}"
            raise
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
