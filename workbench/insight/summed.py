"""summed: accesses of a program, with sums that threads share out as its kernels make them.

The program says that each term is added to the cell. Where threads share a sum out, each adds its
terms up in a register, and behind the loops of the sum the cell is stored: by the first of these
threads, where others see it. It is loaded only where the sum goes on from what was there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from workbench.access.cross_thread import Reduction
from workbench.access.updates import Sums
from workbench.check.exchange import shared_out
from workbench.check.kernels import nests
from workbench.insight.accesses import Access, accesses
from workbench.ir import (
    THREAD_AXES,
    Block,
    Const,
    PrimFunc,
    Var,
    binary,
    const,
    remembered,
    substitute,
)


def summed(func: PrimFunc) -> tuple[Access, ...]:
    """As `accesses`, but that a sum which threads share out is stored once, behind its loops."""
    known: dict[Any, tuple[Access, ...]] = remembered(func)
    if "summed" not in known:
        every = accesses(func)  # refuses what has no numbers
        shared = {one.block: one for nest in nests(func) for one in shared_out(nest)}
        known["summed"] = tuple(_made(every, shared)) if shared else every
    return known["summed"]


def _made(every: tuple[Access, ...], shared: dict[Block, Reduction]) -> Iterator[Access]:
    behind: list[Access] = []
    for access in every:
        found = shared.get(access.block) if access.block is not None else None
        if behind and behind[0].block is not access.block:
            yield from behind
            behind = []
        if found is None or found.update is None or access.buffer not in found.update.buffers:
            yield access
        elif _stays(access, found):
            behind.append(_behind(access, found))
    yield from behind


def _stays(access: Access, found: Reduction) -> bool:
    """Whether memory is touched: a sum that is whole starts in registers, and is only stored."""
    start = found.start
    whole = found.block.init is not None and isinstance(start, Const) and bool(start.value)
    if whole or not isinstance(found.update, Sums):
        return access.writes and not access.init
    return True


def _behind(access: Access, found: Reduction) -> Access:
    """`access` behind the loops of the sum, by the first of the threads that share it."""
    assert found.update is not None
    first: dict[Var, Const] = {}
    guards = []
    for loop in found.reduced:
        var = next((x.var for x in access.loops if x.name == loop.thread), loop.loop_var)
        if loop.thread not in THREAD_AXES:
            first[var] = const(0, var.type)
        elif any(buffer.scope != "local" for buffer in found.update.buffers):
            guards.append(binary("==", var, const(0, var.type)))
    told = (substitute(guard, first) for guard in access.guards)
    kept = tuple(g for g in told if not (isinstance(g, Const) and g.value))
    loops = tuple(loop for loop in access.loops if loop.var not in first)
    return replace(access, guards=(*guards, *kept), loops=loops)
