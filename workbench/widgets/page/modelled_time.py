"""The modelled time of a program, worked out once: for its bar, and for guesses of it."""

from __future__ import annotations

from workbench import draw, insight
from workbench.insight import Modelled
from workbench.ir import PrimFunc
from workbench.target import get
from workbench.widgets.page.memo import build, is_known, memo
from workbench.widgets.page.pictures import registers_of


def modelled_of(func: PrimFunc) -> Modelled:
    """The modelled time on `draw.GPU`. Raises Fail where there is no valid kernel."""

    def make() -> Modelled:
        built = build(func, draw.GPU)
        return insight.modelled(built.kernels, get(draw.GPU), registers=most_registers(func))

    return memo(func, "modelled", make)


def is_modelled(func: PrimFunc) -> bool:
    """Whether it was worked out already, or refused."""
    return is_known(func, "modelled")


def most_registers(func: PrimFunc) -> int | None:
    """Those of a thread in the kernel that has most, where a compiler told them."""
    return max((number for number in registers_of(func) if number), default=None)
