"""Kernels of a program for the lab, built once a program and target."""

from __future__ import annotations

import warnings

from workbench import runtime
from workbench.ir import PrimFunc
from workbench.runtime import Built
from workbench.widgets.memo import memo


def build(func: PrimFunc, target: str = "cuda") -> Built:
    """The kernels of `func`; what is wasteful is told as notes of the page, not as warnings.

    Raises ScheduleError where there is no valid kernel.
    """

    def make() -> Built:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return runtime.build(func, target)

    return memo(func, f"built {target}", make)
