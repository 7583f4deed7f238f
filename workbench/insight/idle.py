"""Threads that store nothing: found by going through them one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from workbench.insight.accesses import Access, accesses
from workbench.insight.cells import executions
from workbench.ir import Kernel, Var


def idle_threads(kernels: Sequence[Kernel]) -> int:
    """How many threads store nothing to global memory."""
    return sum(prod(k.grid) * prod(k.block) for k in kernels) - storing_threads(kernels)


def storing_threads(kernels: Sequence[Kernel]) -> int:
    """How many threads store something to global memory."""
    number = 0
    for kernel in kernels:
        _, stores = global_accesses(kernel)
        for thread in threads(kernel):
            number += any(executions(store, thread) for store in stores)
    return number


def global_accesses(kernel: Kernel) -> tuple[list[Access], list[Access]]:
    """The loads and the stores of global memory."""
    far = [a for a in accesses(kernel) if a.buffer.scope == "global"]
    return [a for a in far if not a.writes], [a for a in far if a.writes]


def threads(kernel: Kernel) -> Iterator[dict[Var, int]]:
    """The values of the axes' variables, thread by thread."""
    variables = dict(kernel.axes)
    loops = {loop.name: loop for access in accesses(kernel) for loop in access.loops}
    axes = {var: loops[axis].extent for axis, var in variables.items() if axis in loops}
    for values in product(*map(range, axes.values())):
        yield dict(zip(axes, values, strict=True))
