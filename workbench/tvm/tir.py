"""Programs of loops and blocks, their schedule, and scalar expressions: tvm.tir."""

from workbench.ir import PrimFunc, Var
from workbench.schedule import Schedule, ScheduleError
from workbench.te import (
    abs,
    all,
    any,
    ceil,
    const,
    cos,
    erf,
    exp,
    floor,
    floordiv,
    floormod,
    if_then_else,
    log,
    max,
    min,
    power,
    rsqrt,
    sigmoid,
    sin,
    sqrt,
    tanh,
)
from workbench.te import select as Select
from workbench.tvm.not_carried import refusing

__all__ = [
    "PrimFunc",
    "Schedule",
    "ScheduleError",
    "Select",
    "Var",
    "abs",
    "all",
    "any",
    "ceil",
    "const",
    "cos",
    "erf",
    "exp",
    "floor",
    "floordiv",
    "floormod",
    "if_then_else",
    "log",
    "max",
    "min",
    "power",
    "rsqrt",
    "sigmoid",
    "sin",
    "sqrt",
    "tanh",
]

__getattr__ = refusing(__name__)
