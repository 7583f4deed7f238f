"""warp_requests: what the lanes of a warp ask for where they load or store a tile of 16 x 16.

Of ``ldmatrix`` each thread asks for the 16 bytes whose address it gives, and the store of a sum
goes by two neighbours (`lower/lane_calls.py`). Which lane does what in a call of ``wmma`` CUDA does
not say. Seen in what
nvcc 13.0 makes of them for sm_80 to sm_100, and counted on an H100: a tile is loaded by one
instruction, ldmatrix, of which each lane tells a row of 16 bytes, and banks serve eight of these at
a time; it is stored by four, in each of which a lane has two neighbours, and sums that are loaded
are taken to come so, too. A product of two tiles takes two instructions of 16 x 8 x 16. Of tiles of
bytes nothing was seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from workbench.arith import simplify, up_to
from workbench.insight.accesses import Access, accesses
from workbench.insight.wavefronts import WARP, WORD
from workbench.ir import (
    BinOp,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    Expr,
    For,
    Kernel,
    Node,
    Ramp,
    Var,
    dtypes,
    free_vars,
    once,
    substitute,
    walk,
)
from workbench.lower.lane_calls import LANE_CALLS, first_of_row
from workbench.lower.permute_layouts import COLUMN
from workbench.lower.warp_calls import TILE, Tile, WarpCall, warp_call, warp_calls

PRODUCTS = ("tvm_mma_sync", "ptx_mma")
LOADS = ("tvm_load_matrix_sync", "ptx_ldmatrix", "mma_load")
_OF_TILES = ("tvm_load_matrix_sync", "tvm_store_matrix_sync")
ROW = 8  # cells of 2 bytes that a lane tells of a tile that is loaded
PAIR = 2  # neighbours that a lane stores
MULTIPLY_ADDS = TILE**3  # of a product
INSTRUCTIONS = 2  # that it takes


@once
def requested(kernel: Kernel) -> tuple[Access, ...]:
    """Every access of `kernel` as its lanes ask for it: see `accesses`.

    What a call of a warp does to fragments, which are no memory, is left out.
    """
    calls, found = calls_of(kernel), list[Access]()
    for access in accesses(kernel):
        call = calls.get(access.node)
        if call is None:
            found.append(access)
        elif call.name in LANE_CALLS and not access.buffer.is_fragment:
            found.append(_by_lanes(access, call))
        elif _is_told(access, call) and not access.buffer.is_fragment:
            found += _of_lanes(kernel, access, call)
    return tuple(found)


@once
def untold(kernel: Kernel) -> tuple[Access, ...]:
    """The accesses to memory of calls of which nobody says what lanes ask for: Metal's, tiles of
    bytes."""
    calls = calls_of(kernel)
    inside = (a for a in accesses(kernel) if a.node in calls and not a.buffer.is_fragment)
    return tuple(
        access
        for access in inside
        if calls[access.node].name not in LANE_CALLS and not _is_told(access, calls[access.node])
    )


def _is_told(access: Access, call: WarpCall) -> bool:
    """Whether it is of a call of ``wmma`` whose requests were seen: of cells of 2 or 4 bytes."""
    return call.name in _OF_TILES and dtypes.itemsize(access.buffer.type) > 1


@once
def products(kernel: Kernel) -> tuple[Access, ...]:
    """The store of each product of tiles, in the turns in which warps call for it."""
    calls = calls_of(kernel)
    return tuple(
        _around(kernel, access)
        for access in accesses(kernel)
        if access.writes and access.node in calls and calls[access.node].name in PRODUCTS
    )


@once
def calls_of(kernel: Kernel) -> dict[Node, WarpCall]:
    """The call that each node in one stands in."""
    return {node: warp_call(loop) for loop in warp_calls(kernel) for node in walk(loop)}


def lane_words(buffer: Buffer) -> int:
    """The registers of a thread that its own array takes, or its part of fragments."""
    size = prod(buffer.shape) * dtypes.itemsize(buffer.type)
    return -(-size // (WORD * WARP if buffer.is_fragment else WORD))


def _around(kernel: Kernel, access: Access) -> Access:
    """`access` in the loops around its call, by all lanes of a warp."""
    x, inside = _lane(kernel), {v for loop in warp_calls(kernel) for v in _counters(loop)}
    guards = tuple(guard for guard in access.guards if not _is_first(guard, x))
    loops = tuple(loop for loop in access.loops if loop.var not in inside)
    return replace(access, guards=guards, loops=loops)


def _of_lanes(kernel: Kernel, access: Access, call: WarpCall) -> Iterator[Access]:
    (tile,) = (t for t in (call.to, *call.sources) if t.buffer is access.buffer)
    around, x = _around(kernel, access), _lane(kernel)
    sums = access.writes or call.to.buffer.tag == "wmma.accumulator"
    for at, cells in _pairs(tile, x) if sums else _loaded(tile, x):
        yield replace(around, indices=(Ramp(at, 1, cells),))


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
        cells = min(size, 2)  # two neighbours, of bytes one
        thread, register = x, registers.var * cells
        around.append(replace(registers, extent=registers.extent // cells))
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


def _loaded(tile: Tile, x: Var) -> Iterator[tuple[Expr, int]]:
    yield tile.offset + x % TILE * tile.stride + x // TILE * ROW, ROW


def _pairs(tile: Tile, x: Var) -> Iterator[tuple[Expr, int]]:
    for column in (0, TILE // 2):
        for row in (0, TILE // 2):
            yield tile.offset + (x // 4 + row) * tile.stride + x % 4 * PAIR + column, PAIR


def _lane(kernel: Kernel) -> Var:
    return next(var for axis, var in kernel.axes if axis == "threadIdx.x")


def _counters(loop: Node) -> Iterator[Var]:
    return (node.loop_var for node in walk(loop) if isinstance(node, For))


def _is_first(guard: Expr, x: Var) -> bool:
    """Whether it lets the first lane of a warp alone, which stands for all in `accesses`."""
    return isinstance(guard, BinOp) and guard.op == "==" and guard.a is x and _is_zero(guard.b)


def _is_zero(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == 0
