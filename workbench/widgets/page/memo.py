"""Results of pure functions of a program, its kernels among them, kept as long as it is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from workbench import runtime
from workbench.diag import Fail
from workbench.ir import PrimFunc, remembered
from workbench.lower import least_target
from workbench.runtime import Built

R = TypeVar("R")

FIRST = "cuda"  # what is built for others starts from it; of `mma.sync`, the least that has it
CPU = "c"


def memo(func: PrimFunc, name: Hashable, make: Callable[[], R]) -> R:
    """What `make` returns for `func` under `name`, made once; a refusal is raised again."""
    known: dict[Hashable, Any] = remembered(func).setdefault("lab", {})
    if name not in known:
        try:
            known[name] = make()
        except Fail as fail:
            known[name] = fail
    result = known[name]
    if isinstance(result, Fail):
        raise result.with_traceback(None)
    return result


def is_known(func: PrimFunc, name: Hashable) -> bool:
    """Whether that was made, or refused, already."""
    return name in remembered(func).get("lab", {})


def build(func: PrimFunc, target: str = FIRST) -> Built:
    """The kernels of `func`; what is wasteful is told as notes of the page, not as warnings.

    Raises ScheduleError where there is no valid kernel.
    """

    def make() -> Built:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if target == FIRST:
                return runtime.build(func, least_target(func))
            try:
                first = build(func)
            except Fail:
                return runtime.build(func, target)  # which says what is wrong there
            return runtime.rebuild(first, target)

    return memo(func, _built(target), make)


def is_built(func: PrimFunc) -> bool:
    """Whether its kernels were made, or refused, already."""
    return is_known(func, _built(FIRST))


def _built(target: str) -> str:
    return f"built {target}"
