"""warp_calls: which loops of a kernel one call of a warp does, and what it needs for that.

Such a loop stays in a kernel, with the note WARP_CALL, so that all passes and the emulator see
which cells it touches; a text has a call in its place. The 32 threads of a warp make it together,
each with its part of a tile, in the layout of the hardware, which nobody else knows: so fragments
are touched by calls alone, all threads of a warp come there, and the call is the same for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import prod

from workbench.arith import Bounds, equal, linear
from workbench.diag import Refusal
from workbench.ir import (
    LAID_OUT_BY_TVM,
    WARP_CALL,
    BinOp,
    Buffer,
    BufferLoad,
    BufferStore,
    Cast,
    Const,
    Expr,
    For,
    IfThenElse,
    Kernel,
    Node,
    SizeVar,
    Var,
    attrs_dict,
    children,
    const,
    dtypes,
    free_vars,
    is_warp_call,
    once,
    walk,
    walk_statements,
)
from workbench.lower.known_bounds import known_bounds
from workbench.lower.lane_calls import LANE_CALLS, lane_call
from workbench.lower.warp_tiles import MATRIX, TILE, WARP, Tile, WarpCall, fragment_cells, side
from workbench.target import Target, catalogue

# CUDA C++ Programming Guide, Warp Matrix Functions: a tile begins at a multiple of 256 bits, and
# its rows are a multiple of 16 bytes apart.
ALIGNED, ROW_ALIGNED = 32, 16
# Metal Shading Language Specification, SIMD-group matrix functions
SIMDGROUP = (
    "make_filled_simdgroup_matrix",
    "simdgroup_load",
    "simdgroup_multiply_accumulate",
    "simdgroup_store",
)


@once
def warp_call(loop: For) -> WarpCall:
    """The call that does `loop`, of a flat kernel. Raises Refusal for loops that no call does."""
    loops, store = _nest(loop)
    if isinstance(store, BufferStore):
        note = attrs_dict(loop.annotations)[WARP_CALL]
        name, *told = note if isinstance(note, tuple) else (note,)
        orders = tuple(one for one in told if isinstance(one, str))
        found = (lane_call if name in LANE_CALLS else _call)(str(name), orders, loops, store)
        if found is not None:
            return replace(found, rows=next((n for n in told if isinstance(n, int)), None))
        if any(isinstance(node, SizeVar) for node in walk(store)):
            raise Refusal(
                f"how far apart rows of a tile lie is told by a size, and {name} takes a number",
                loop,
                hint='give it a size: func.specialize({"n": 1024}), or let sizes tell rows only',
            )
        if store.buffer.is_fragment and prod(store.buffer.shape) < TILE * TILE:
            raise Refusal(
                f"{name} fills a fragment of {store.buffer.name}, and nothing reads it",
                loop,
                hint="tensorize the block that uses it, too, or leave the copy out",
                detail="of what is never read nothing is kept, and so no whole tile",
            )
    raise Refusal(
        f"what `{loop.loop_var.name}` does is no call of a warp, of which it has a note",
        loop,
        hint="leave such loops to tensorize and its intrinsics, and steps out of them",
    )


def _nest(loop: For) -> tuple[list[For], Node]:
    """The loops over all of a tile, and what is in them."""
    loops: list[For] = []
    body: Node = loop
    while isinstance(body, For) and isinstance(body.extent, Const):
        loops.append(body)
        body = body.body
    return loops, body


def _call(
    name: str, orders: tuple[str, ...], loops: list[For], store: BufferStore
) -> WarpCall | None:
    """The call of ``wmma`` or of a SIMD group, if `loops` around `store` are what it does."""
    size = MATRIX if name in SIMDGROUP else TILE
    if len(loops) < 2 or not all(_counts(loop, size) for loop in loops):
        return None
    row, column, *terms = (loop.loop_var for loop in loops)
    to = _tile(store, row, column)
    match name, orders, store.value, terms:
        case "tvm_fill_fragment" | "make_filled_simdgroup_matrix", (), Const() as value, []:
            return _made(name, orders, to, (), value)
        case "tvm_load_matrix_sync" | "simdgroup_load", (order,), BufferLoad() as load, []:
            if order != "row_major" and store.buffer.tag == "wmma.accumulator":
                return None  # it is stored row by row, too
            if name == "simdgroup_load" and order == "col_major":
                to = _tile(store, column, row)  # which turns it as it loads
            return _made(name, orders, to, (_tile(load, row, column),))
        case (
            "tvm_store_matrix_sync" | "simdgroup_store",
            ("row_major",),
            BufferLoad() as load,
            [],
        ):
            return _made(name, orders, to, (_tile(load, row, column),))
        case (
            "tvm_mma_sync" | "simdgroup_multiply_accumulate",
            ("row_major", _) | (),
            BinOp("+", BufferLoad() as old, added),
            [term],
        ):
            first, second = _factors(added)
            if first is None or second is None or _tile(old, row, column) is None:
                return None
            ends = (column, term) if orders[1:] == ("col_major",) else (term, column)
            parts = (_tile(first, row, term), _tile(second, *ends))
            return _made(name, orders, to, parts) if _alike(old, store) else None
    return None


def _counts(loop: For, size: int) -> bool:
    return isinstance(loop.extent, Const) and loop.extent.value == size


def _alike(load: BufferLoad, store: BufferStore) -> bool:
    return load.buffer is store.buffer and equal(load.indices[0], store.indices[0])


def _factors(added: Expr) -> tuple[BufferLoad | None, BufferLoad | None]:
    if not isinstance(added, BinOp) or added.op != "*":
        return None, None
    first, second = (e.value if isinstance(e, Cast) else e for e in (added.a, added.b))
    if isinstance(first, BufferLoad) and isinstance(second, BufferLoad):
        return first, second
    return None, None


def _made(
    name: str,
    orders: tuple[str, ...],
    to: Tile | None,
    sources: tuple[Tile | None, ...],
    value: Const | None = None,
) -> WarpCall | None:
    parts = tuple(tile for tile in sources if tile is not None)
    if to is None or len(parts) < len(sources):
        return None
    return WarpCall(name, orders, to, parts, value)


def _tile(node: BufferLoad | BufferStore, row: Var, column: Var) -> Tile | None:
    """The tile of which a flat access touches the cell in that row and column."""
    line = linear(node.indices[0], [row, column])
    if line is None or line[0].get(column) != 1 or not line[0].get(row):
        return None
    return Tile(node.buffer, line[1], line[0][row])


# --- what a call needs ---------------------------------------------------------------------------


def warp_calls(kernel: Kernel) -> Iterator[For]:
    """The loops that calls of a warp do."""
    for node in walk_statements(kernel.body):
        if isinstance(node, For) and is_warp_call(node):
            yield node


def memory_tiles(call: WarpCall) -> Iterator[Tile]:
    """The tiles of a call that lie in memory, not in fragments."""
    return (tile for tile in (call.to, *call.sources) if not tile.buffer.is_fragment)


def check_warp_calls(kernel: Kernel, target: Target) -> None:
    """Refuse a flat kernel in which calls of a warp could not do what their loops do."""
    for buffer in kernel.allocs:
        if buffer.tag in LAID_OUT_BY_TVM:
            whole = dict(kernel.views)[buffer]
            raise Refusal(
                f"{whole.name} is in {whole.storage_scope}, which a pass of TVM's lays out",
                whole,
                hint="keep its tiles in warp memory, and take mma_ldmatrix_f16_a, mma_f16f16f32 "
                "and their kind",
            )
    _check_alone(kernel)
    calls = {loop: warp_call(loop) for loop in warp_calls(kernel)}
    if not calls:
        return
    _check_target(kernel, {call.name for call in calls.values()}, target)
    _check_products(kernel, calls.values(), target)
    _check_warps(kernel)
    known = known_bounds(kernel)
    for call in calls.values():
        _check_memories(kernel, call)
        _check_tiles(kernel, call, known)
    _check_alike(kernel, list(calls.values()))


def _check_target(kernel: Kernel, names: set[str], target: Target) -> None:
    """Refuse calls that the GPU does not have."""
    held = [dict(kernel.views)[buffer] for buffer in kernel.allocs if buffer.is_fragment]
    if names & set(SIMDGROUP) and not target.simdgroup:
        raise Refusal(
            f"{target.title} has no matrices of a SIMD group",
            *held,
            hint="build it for a GPU of Apple's, target='metal', or take intrinsics of wmma",
        )
    if names - set(SIMDGROUP) and not target.wmma:
        raise Refusal(
            f"{target.title} has no calls of a warp on tiles of {TILE} x {TILE}",
            *held,
            hint="build it for a GPU with Tensor Cores, as target='cuda' is",
        )
    if names & set(LANE_CALLS) and not target.mma:
        have = [name for name in catalogue.names() if catalogue.get(name).mma]
        raise Refusal(
            f"{target.title}, {target.arch}, has no mma.sync of {TILE} x 8 x {TILE}",
            *held,
            hint=f"build it for a GPU that has: {', '.join(map(repr, have))}",
        )


# PTX ISA, wmma.mma of m16n16k16: what is multiplied, its sum, and the least architecture.
WMMA_PRODUCTS = {
    ("float16", "float16"): 70,
    ("float16", "float32"): 70,
    ("int8", "int32"): 72,
    ("bfloat16", "float32"): 80,
}


def _check_products(kernel: Kernel, calls: Iterable[WarpCall], target: Target) -> None:
    """Refuse products by ``wmma`` of types that there are none of, or that the GPU has not."""
    for call in (call for call in calls if call.name == "tvm_mma_sync"):
        types = [tile.buffer.type for tile in (*call.sources, call.to)]
        held = [dict(kernel.views)[tile.buffer] for tile in (*call.sources, call.to)]
        told = f"{types[0]} by {types[1]} with sums in {types[2]}"
        least = WMMA_PRODUCTS.get((types[0], types[2])) if types[0] == types[1] else None
        if least is None:
            known = ", ".join(f"{one} in {out}" for one, out in WMMA_PRODUCTS)
            raise Refusal(
                f"no call of a warp multiplies {told}",
                *held,
                hint=f"let both tiles have one type, and one that is summed so: {known}",
            )
        if catalogue.number_of(target.arch) < least:
            have = [
                name
                for name in catalogue.names()
                if catalogue.get(name).wmma
                and catalogue.number_of(catalogue.get(name).arch) >= least
            ]
            raise Refusal(
                f"{target.title}, {target.arch}, does not multiply {told}",
                *held,
                hint=f"build it for a GPU that does: {', '.join(map(repr, have))}",
            )


def _check_alone(kernel: Kernel) -> None:
    """Refuse what touches a fragment outside of calls."""
    for node in _outside(kernel.body):
        if isinstance(node, (BufferLoad, BufferStore)) and node.buffer.is_fragment:
            whole = dict(kernel.views)[node.buffer]
            raise Refusal(
                f"{whole.name} is in {whole.storage_scope}, which only calls of a warp touch",
                whole,
                hint="tensorize each block that reads or writes it: sch.tensorize(block, name)",
                detail="the threads of a warp hold its cells together, each those that the "
                "hardware gives it",
            )


def _outside(node: Node) -> Iterator[Node]:
    """`node` and all below it that no call does, in program order."""
    if not is_warp_call(node):
        yield node
        for below in children(node):
            yield from _outside(below)


def _check_warps(kernel: Kernel) -> None:
    """Refuse blocks whose warps are no rows along threadIdx.x, and calls that threads part at."""
    x = next((var for axis, var in kernel.axes if axis == "threadIdx.x"), None)
    if kernel.block[0] != WARP or x is None:
        raise Refusal(
            f"a call of a warp takes {WARP} threads along threadIdx.x, and the block has "
            f"{kernel.block[0]}",
            *(dict(kernel.views)[b] for b in kernel.allocs if b.is_fragment),
            hint=f"bind a loop of {WARP} to threadIdx.x, as of a copy to shared memory",
            detail=f"a warp is {WARP} threads that follow each other, x first",
        )
    _check_same(kernel, kernel.body, x)


def _check_same(kernel: Kernel, node: Node, x: Var) -> None:
    if is_warp_call(node):
        if x in free_vars(node):
            raise _parted(kernel, node, "the tile of a call")
        return
    if not any(map(is_warp_call, walk_statements(node))):
        return
    decides = (
        (node.condition,)
        if isinstance(node, IfThenElse)
        else (node.min, node.extent)
        if isinstance(node, For)
        else ()
    )
    if any(x in free_vars(e) or _loads(e) for e in decides):
        raise _parted(kernel, node, "a condition or loop around a call")
    for below in children(node):
        _check_same(kernel, below, x)


def _loads(e: Expr) -> bool:
    return any(isinstance(n, BufferLoad) for n in walk(e))


def _parted(kernel: Kernel, node: Node, what: str) -> Refusal:
    views = dict(kernel.views)
    held = {n.buffer for n in walk(node) if isinstance(n, (BufferLoad, BufferStore))}
    return Refusal(
        f"{what} of a warp may differ among its threads: threadIdx.x or memory decides it",
        *(views[buffer] for buffer in kernel.allocs if buffer.is_fragment and buffer in held),
        hint="keep what is tensorized outside of the loop that is bound to threadIdx.x, and "
        "under no condition that data decide",
    )


def _check_tiles(kernel: Kernel, call: WarpCall, known: Bounds) -> None:
    for tile in (call.to, *call.sources):
        check = _check_fragment if tile.buffer.is_fragment else _check_aligned
        check(dict(kernel.views)[tile.buffer], call, tile, known)


def _check_fragment(whole: Buffer, call: WarpCall, tile: Tile, known: Bounds) -> None:
    if tile.buffer.tag == "warp":
        if whole.shape[-2:] == (WARP, tile.stride) and _is_multiple(
            tile.offset, fragment_cells(tile), known
        ):
            return
        raise Refusal(
            f"{whole.name} is not made of whole tiles of {WARP} threads with {tile.stride} cells",
            whole,
            hint=f"let the last two dimensions be the thread and the cell of it, {WARP} x "
            f"{tile.stride}, by transform_layout",
        )
    row, column, size = tile.offset // tile.stride, tile.offset % tile.stride, side(tile.buffer)
    whole_rows = tile.stride % size == 0 and _is_multiple(row, size, known)
    if not whole_rows or not _is_multiple(column, size, known):
        raise Refusal(
            f"{whole.name} is not made of whole fragments of {size} x {size}",
            whole,
            hint=f"let the tiles of its last two dimensions begin at multiples of {size}, and "
            "whole ones be read and written",
        )


def _check_aligned(whole: Buffer, call: WarpCall, tile: Tile, known: Bounds) -> None:
    if call.rows not in (None, tile.stride):
        raise Refusal(
            f"rows of a tile of {whole.name} are {tile.stride} cells apart, and "
            f"{call.name} says {call.rows}",
            whole,
            hint=f"let the intrinsic say strides[0] of its buffer in place of {call.rows}",
            detail="its tile is declared to lie one row after the other",
        )
    size = dtypes.itemsize(tile.buffer.type)
    start, rows = {
        "ptx_ldmatrix": (ROW_ALIGNED, size),  # each thread gives a row of its own
        # two cells at a time, of bytes one
        **dict.fromkeys(("mma_load", "mma_store"), (size, size) if size == 1 else (2 * size,) * 2),
        **dict.fromkeys(SIMDGROUP, (size, size)),
    }.get(call.name, (ALIGNED, ROW_ALIGNED))
    if _is_multiple(tile.offset, start // size, known) and tile.stride * size % rows == 0:
        return
    if call.name == "ptx_ldmatrix":
        raise Refusal(
            f"rows of {whole.name} are not proved to begin at multiples of {start} bytes, as "
            "ldmatrix asks",
            whole,
            hint=f"let rows be a multiple of {start // size} cells apart: storage_align by "
            f"{start // size}, with an offset of {start // size} or 0",
        )
    raise Refusal(
        f"tiles of {whole.name} are not proved to lie at multiples of {start} bytes, their "
        f"rows of {rows}",
        whole,
        hint=f"storage_align by {rows // size} cells at a time, and tiles at multiples "
        f"of {start // size}",
        detail=f"rows are {tile.stride} cells of {size} bytes apart",
    )


_PARTS = ("wmma.matrix_a", "wmma.matrix_b")
_SHARED = ("shared", "shared.dyn")
_MATRIX = ("metal.simdgroup",)
_MEMORIES: dict[str, tuple[tuple[str, ...], ...]] = {
    "tvm_fill_fragment": (("wmma.accumulator",),),
    "tvm_load_matrix_sync": (_PARTS, _SHARED),
    "tvm_mma_sync": (("wmma.accumulator",), _PARTS[:1], _PARTS[1:]),
    "tvm_store_matrix_sync": ((*_SHARED, "global"), ("wmma.accumulator",)),
    "make_filled_simdgroup_matrix": (_MATRIX,),
    "simdgroup_load": (_MATRIX, _SHARED),
    "simdgroup_multiply_accumulate": (_MATRIX, _MATRIX, _MATRIX),
    "simdgroup_store": ((*_SHARED, "global"), _MATRIX),
    "mma_fill": (("warp",),),
    "mma_load": (("warp",), (*_SHARED, "global")),
    "ptx_ldmatrix": (("warp",), _SHARED),
    "ptx_mma": (("warp",), ("warp",), ("warp",)),
    "mma_store": ((*_SHARED, "global"), ("warp",)),
}
"""Of a call, the memories in which what it writes and each tile that it reads may be."""


def _check_memories(kernel: Kernel, call: WarpCall) -> None:
    """Refuse tiles in memories that the call does not go to, whatever its loops do."""
    memories = _MEMORIES[call.name]
    if call.name == "tvm_load_matrix_sync" and call.to.buffer.tag == "wmma.accumulator":
        memories = (("wmma.accumulator",), (*_SHARED, "global"))
    for tile, scopes in zip((call.to, *call.sources), memories, strict=True):
        whole = dict(kernel.views)[tile.buffer]
        if whole.storage_scope not in scopes:
            raise Refusal(
                f"{whole.name} is in {whole.storage_scope} memory, and {call.name} takes its tile "
                f"in {' or '.join(scopes)}",
                whole,
                hint=f"copy it there first, or register an intrinsic without {call.name}",
            )


def _is_multiple(offset: Expr, cells: int, known: Bounds) -> bool:
    return equal(offset % cells, const(0, offset.dtype), known)


def _check_alike(kernel: Kernel, calls: list[WarpCall]) -> None:
    """Refuse fragments of a buffer that calls tell in different ways.

    One is multiplied in the order of memory in which it was loaded, and has one number.
    """
    orders: dict[Buffer, set[str]] = {}
    rows: dict[Buffer, set[int]] = {}
    for call in calls:
        tiles = (call.to, *call.sources)
        for tile in (tile for tile in tiles if tile.buffer.is_fragment):
            rows.setdefault(tile.buffer, set()).add(tile.stride)
        told = {"tvm_load_matrix_sync": tiles[:1], "tvm_mma_sync": call.sources}
        for tile, order in zip(told.get(call.name, ()), call.orders, strict=False):
            orders.setdefault(tile.buffer, set()).add(order)
    for buffer in rows:
        whole = dict(kernel.views)[buffer]
        if len(orders.get(buffer, ())) > 1:
            raise Refusal(
                f"{whole.name} is loaded row by row and multiplied column by column, or the other "
                "way round",
                whole,
                hint="take the load and the multiplication that are both …_trans, or neither",
            )
        if len(rows[buffer]) > 1:
            raise Refusal(
                f"rows of tiles of {whole.name} are not the same in all calls",
                whole,
                hint="let all that is tensorized take tiles of its last two dimensions",
            )
