"""asked: the accesses of a kernel as its warps ask memory for them.

Those are what the kernel's statements touch, but for calls of a warp: of ``ldmatrix`` each thread
asks for the 16 bytes whose address it gives, and the store of a sum goes by two neighbours. Which
thread asks for which cells of a tile of ``wmma`` is the hardware's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.arith import simplify, up_to
from workbench.insight.accesses import Access, accesses
from workbench.ir import (
    BufferLoad,
    BufferStore,
    For,
    Kernel,
    Node,
    Ramp,
    dtypes,
    free_vars,
    substitute,
    walk,
)
from workbench.lower.lane_calls import LANE_CALLS, first_of_row
from workbench.lower.permute_layouts import COLUMN
from workbench.lower.warp_calls import warp_call, warp_calls
from workbench.lower.warp_tiles import WarpCall


def asked(kernel: Kernel, *scopes: str) -> Iterator[tuple[Access, bool]]:
    """Each access to memory of those `scopes` as it is asked for, and whether that is known."""
    calls: dict[Node, For] = {node: loop for loop in warp_calls(kernel) for node in walk(loop)}
    for access in accesses(kernel):
        loop = calls.get(access.node)
        if access.buffer.scope not in scopes:
            continue
        if loop is None:
            yield access, True
        elif (call := warp_call(loop)).name in LANE_CALLS:
            yield _by_lanes(access, call), True
        else:
            yield access, False


def _by_lanes(access: Access, call: WarpCall) -> Access:
    """What the threads of a warp ask for at a time, each for what follows from its number."""
    x = next(loop.var for loop in access.loops if loop.name == "threadIdx.x")
    *around, threads, registers = access.loops
    guards = tuple(guard for guard in access.guards if x not in free_vars(guard))
    size = dtypes.itemsize(access.buffer.type)
    if call.name == "ptx_ldmatrix":
        thread, register = first_of_row(x, 4 // size, bool(call.orders))
        cells = COLUMN // size
    else:
        thread, register, cells = x, registers.var * 2, 2
        around.append(replace(registers, extent=registers.extent // 2))
    place = substitute(access.indices[0], {threads.var: thread, registers.var: register})
    known = {loop.var: up_to(loop.extent, loop.var.type) for loop in (*around, registers)}
    index = Ramp(simplify(place, known), 1, cells)
    node = access.node
    assert isinstance(node, (BufferLoad, BufferStore))
    return replace(
        access,
        node=replace(node, indices=(index,)),
        indices=(index,),
        guards=guards,
        loops=tuple(around),
    )
