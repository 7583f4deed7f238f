"""The modelled time of a program, worked out once: for its bar, its bands, and guesses of it."""

from __future__ import annotations

from workbench import insight
from workbench.insight import Modelled
from workbench.ir import PrimFunc
from workbench.target import get
from workbench.widgets.page.memo import build, is_known, memo
from workbench.widgets.page.pictures import registers_of


def modelled_of(func: PrimFunc, gpu: str) -> Modelled:
    """The modelled time on a GPU, by its name. Raises Fail where there is no valid kernel."""

    def make() -> Modelled:
        built = build(func, gpu)
        return insight.modelled(built.kernels, get(gpu), registers=most_registers(func, gpu))

    return memo(func, _name(gpu), make)


def is_modelled(func: PrimFunc, gpu: str) -> bool:
    """Whether it was worked out already, or refused."""
    return is_known(func, _name(gpu))


def _name(gpu: str) -> str:
    return f"modelled on {gpu}"


def most_registers(func: PrimFunc, gpu: str) -> int | None:
    """Those of a thread in the kernel that has most, where a compiler told them."""
    return max((number for number in registers_of(func, gpu) if number), default=None)
