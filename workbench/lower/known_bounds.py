"""known_bounds: between which values every loop variable and thread index of a program lies."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.arith import loop_bounds, up_to
from workbench.ir import THREAD_AXES, For, Kernel, Stmt, Var
from workbench.ir.places import inner


def known_bounds(stage: Stmt | Kernel) -> dict[Var, tuple[int, int]]:
    """The inclusive bounds of each loop variable below `stage`, and of a kernel's thread axes.

    An extent that depends on outer variables counts with its largest value.
    """
    if not isinstance(stage, Kernel):
        return loop_bounds(_loops(stage))
    extents = dict(zip(THREAD_AXES, (*stage.grid, *stage.block), strict=True))
    axes = {var: up_to(extents[axis], var.type) for axis, var in stage.axes}
    return {**axes, **loop_bounds(_loops(stage.body), axes)}


def _loops(stmt: Stmt) -> Iterator[For]:
    """The loops in `stmt`, outer ones first."""
    if isinstance(stmt, For):
        yield stmt
    for below in inner(stmt):
        yield from _loops(below)
