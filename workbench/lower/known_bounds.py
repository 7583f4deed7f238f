"""known_bounds: between which values every loop variable and thread index of a program lies."""

from __future__ import annotations

from workbench.arith import loop_bounds
from workbench.ir import THREAD_AXES, For, Kernel, Stmt, Var, walk

Known = dict[Var, tuple[int, int]]


def known_bounds(stage: Stmt | Kernel) -> Known:
    """The inclusive bounds of each loop variable below `stage`, and of a kernel's thread axes.

    An extent that depends on outer variables counts with its largest value.
    """
    axes: Known = {}
    body = stage
    if isinstance(stage, Kernel):
        extents = dict(zip(THREAD_AXES, (*stage.grid, *stage.block), strict=True))
        axes = {var: (0, extents[axis] - 1) for axis, var in stage.axes}
        body = stage.body
    return {**axes, **loop_bounds((node for node in walk(body) if isinstance(node, For)), axes)}
