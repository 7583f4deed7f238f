"""The modelled time of a program, worked out once: for its bar, its bands, and guesses of it."""

from __future__ import annotations

from typing import TypeAlias

from workbench import insight
from workbench.insight import Modelled
from workbench.ir import PrimFunc
from workbench.target import get
from workbench.widgets.page.memo import build, is_known, memo
from workbench.widgets.page.pictures import registers_of

Registers: TypeAlias = tuple[int | None, ...]
"""Of a thread in each kernel, None where no compiler told them."""


def modelled_of(func: PrimFunc, gpu: str) -> Modelled:
    """The modelled time on a GPU, by its name, anew once a compiler has told registers of it.

    Raises Fail where there is no valid kernel.
    """
    known, told = memo(func, _name(gpu), dict[Registers, Modelled]), registers_of(func, gpu)
    if told not in known:
        built = build(func, gpu)
        known[told] = insight.modelled(built.kernels, get(gpu), registers=told)
    return known[told]


def is_modelled(func: PrimFunc, gpu: str) -> bool:
    """Whether it was worked out already, or refused."""
    return is_known(func, _name(gpu))


def _name(gpu: str) -> str:
    return f"modelled on {gpu}"
