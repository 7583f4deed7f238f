"""Results of pure functions of a program, its kernels among them, kept as long as it is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Any, TypeVar

from workbench import runtime
from workbench.diag import Fail, Refusal
from workbench.emulate.sizes import sizes_of
from workbench.ir import Const, For, PrimFunc, Sized, remembered, walk
from workbench.lower import least_target
from workbench.runtime import Built
from workbench.schedule import ScheduleError

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


def at_inputs(func: PrimFunc, inputs: Mapping[str, Any]) -> PrimFunc:
    """A program for any size as that of the sizes which arrays tell, by parameters' names.

    It is `func` itself where there is none to tell, where arrays do not tell all, and where a loop
    would have no turn: there is nothing to draw of that. What is built of it are the kernels of
    `func`, as they are launched at these sizes.
    """
    values = {}
    if func.sizes and inputs:
        with suppress(Refusal):
            values = sizes_of(func, [inputs.get(param.name) for param in func.params])
    if not values:
        return func

    def make() -> PrimFunc:
        at = Sized(values)  # one for both, so that kernels have the parameters of the program
        try:
            program = at.of(func)
        except ZeroDivisionError:  # whoever runs it is told
            return func
        loops = (node for node in walk(program.body) if isinstance(node, For))
        if any(isinstance(loop.extent, Const) and loop.extent.value < 1 for loop in loops):
            return func
        told = ", ".join(f"{size.name} = {value:,}" for size, value in values.items())
        remembered(program)[_ORIGIN] = func, at, told
        return program

    return memo(func, ("at", *values.values()), make)


def origin_of(func: PrimFunc) -> PrimFunc:
    """The program for any size of which `func` has numbers; `func` itself where it is none."""
    return remembered(func).get(_ORIGIN, (func,))[0]


def sizes_told(func: PrimFunc) -> str:
    """The numbers that a program for any size has here: "n = 1,000"; "" where it is none."""
    return remembered(func)[_ORIGIN][2] if _ORIGIN in remembered(func) else ""


def launching_of(built: Built) -> Built:
    """What a device is called with for `built`: where this has numbers for sizes, what has none."""
    origin = origin_of(built.func)
    return built if origin is built.func else build(origin, built.target.name)


_ORIGIN = "the lab's program for any size"


def _launched(built: Built, func: PrimFunc, at: Sized) -> Built:
    """Kernels for any size as those that are launched at such sizes, of a program that has them.

    What passes made has these sizes, too: there a kernel can be broken.
    """
    kernels, whole = tuple(map(at.of, built.kernels)), built.lowered
    if not all(prod(kernel.grid) for kernel in kernels):
        raise ScheduleError(
            f"Can't count or draw {func.name}: with these inputs no block of it runs",
            hint="give arrays that have cells",
        )
    history = tuple(
        replace(one, before=tuple(map(at.of, one.before)), after=tuple(map(at.of, one.after)))
        for one in whole.history
    )
    return replace(built, func=func, lowered=replace(whole, kernels=kernels, history=history))


def build(func: PrimFunc, target: str = FIRST) -> Built:
    """The kernels of `func`; what is wasteful is told as notes of the page, not as warnings.

    Raises ScheduleError where there is no valid kernel.
    """

    def make() -> Built:
        if _ORIGIN in remembered(func):
            origin, at, _ = remembered(func)[_ORIGIN]
            return _launched(build(origin, target), func, at)
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
