"""Kernels of a program for the lab, built once a program and target."""

from __future__ import annotations

import warnings

from workbench import runtime
from workbench.diag import Fail
from workbench.ir import PrimFunc
from workbench.runtime import Built
from workbench.widgets.page.memo import memo

FIRST = "cuda"  # what is built for others starts from it


def build(func: PrimFunc, target: str = FIRST) -> Built:
    """The kernels of `func`; what is wasteful is told as notes of the page, not as warnings.

    Raises ScheduleError where there is no valid kernel.
    """

    def make() -> Built:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if target == FIRST:
                return runtime.build(func, target)
            try:
                first = build(func)
            except Fail:
                return runtime.build(func, target)  # which says what is wrong there
            return runtime.rebuild(first, target)

    return memo(func, f"built {target}", make)
