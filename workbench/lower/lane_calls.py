"""lane_calls: ``ldmatrix`` and ``mma.sync``, whose loops go by threads and registers of a warp.

The hardware gives each thread certain cells of a tile (PTX ISA, Matrix Fragments for mma.m16n8k16,
and ldmatrix), and the loops of a call say just that: a loop over the threads of a warp, one over
the registers of each, and one over the terms of a sum. So what is proved of the loops, and found
by the emulator, is true of each thread. A register of 32 bits holds `packed` cells, and counts as
so many here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.arith import Simplifier, linear, same
from workbench.ir import (
    BinOp,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Const,
    Expr,
    For,
    Var,
    const,
    dtypes,
    substitute,
)
from workbench.lower.known_bounds import known_bounds
from workbench.lower.warp_tiles import WARP, Tile, WarpCall

LANE_CALLS = ("mma_fill", "mma_load", "mma_store", "ptx_ldmatrix", "ptx_mma")
SUMS = 8  # cells of a sum of 16 x 16 that a thread holds
# Which calls there are, by the types of what is multiplied and of the sum.
MULTIPLIED = (
    ("float16", "float32"),
    ("float16", "float16"),
    ("bfloat16", "float32"),
    ("int8", "int32"),
    ("tf32", "float32"),
)


def lane_call(
    name: str, orders: tuple[str, ...], loops: Sequence[For], store: BufferStore
) -> WarpCall | None:
    """The call, if `loops` around `store` are what its threads do."""
    extents = [int(loop.extent.value) for loop in loops if isinstance(loop.extent, Const)]
    if len(loops) < 2 or extents[0] != WARP:
        return None
    thread, register, *terms = (loop.loop_var for loop in loops)
    by = _ByLanes(thread, register, Simplifier(known_bounds(loops[0])))
    to: Tile | None = None
    sources: list[Tile | None] = []
    value: Const | None = None
    match name, orders, store.value, terms:
        case "mma_fill", (), Const() as filled, []:
            to, value = by.held(store, extents[1]), filled
        case "mma_store", (), BufferLoad() as load, [] if extents[1] == SUMS:
            to, sources = by.rows(store), [by.held(load, SUMS)]
        case "mma_load", (), BufferLoad() as load, []:
            # sums, or bytes of B by row, which ldmatrix does not turn
            rows = by.rows(load) if extents[1] == SUMS else by.turned(load)
            to, sources = by.held(store, extents[1]), [rows]
        case "ptx_ldmatrix", () | ("trans",), BufferLoad() as load, []:
            if extents[1] == 4 * _packed(load):
                to, sources = by.held(store, extents[1]), [by.loaded(load, bool(orders))]
        case "ptx_mma", (_,), BinOp("+", BufferLoad() as old, BinOp("*", a, b)), [term]:
            if extents[1] == SUMS and by.same_cell(old, store):
                to = by.held(store, SUMS)
                sources = by.factors((a, b), store, term, extents[2])
    parts = tuple(tile for tile in sources if tile is not None)
    if to is None or len(parts) < len(sources):
        return None
    return WarpCall(name, orders, to, parts, value, thread)


def _packed(node: BufferLoad | BufferStore) -> int:
    return 4 // dtypes.itemsize(node.buffer.type)


def _multiplied(factor: Expr) -> tuple[Expr, str]:
    """What is loaded for a factor, and as what it is multiplied: "tf32" where it is rounded so."""
    match factor:
        case Cast(value=value):
            return value, value.dtype
        case Call(
            "reinterpret",
            (
                BinOp(
                    "&",
                    BinOp("+", Call("reinterpret", (value,)), Const(value=0x1000)),
                    Const(value=0xFFFFE000),
                ),
            ),
        ) if factor.dtype == value.dtype == "float32":
            return value, "tf32"
    return factor, "" if factor.dtype == "float32" else factor.dtype


def first_of_row(thread: Expr, packed: int, turned: bool) -> tuple[Expr, Expr]:
    """Which thread holds the first cell of the row that `thread` gives ``ldmatrix``, and where."""
    if turned:
        return thread % 8 // 2, thread // 8 * 2 + thread % 2
    return thread % 8 * 4, thread // 8 * packed


@dataclass(frozen=True, slots=True)
class _ByLanes:
    """What a loop over the threads of a warp and one over their registers touch."""

    thread: Var
    register: Var
    known: Simplifier

    def cell(self, packed: int) -> tuple[Expr, Expr]:
        """The row and the column of the cell that a thread holds in a register."""
        t, l = self.thread, self.register  # noqa: E741  # as in the texts of intrin/mma.py
        row = l % (2 * packed) // packed * 8 + t // 4
        return row, l // (2 * packed) * (4 * packed) + t % 4 * packed + l % packed

    def at(self, e: Expr, thread: Expr, register: Expr) -> Expr:
        return self.known.simplify(substitute(e, {self.thread: thread, self.register: register}))

    def first(self, e: Expr, *others: Var) -> Expr:
        """`e` for the first register of the first thread, in the first turn of the `others`."""
        zero = const(0, "int32")
        e = substitute(e, dict.fromkeys(others, zero))
        return self.at(e, zero, zero)

    def same_cell(self, one: BufferLoad, other: BufferStore) -> bool:
        return one.buffer is other.buffer and same(one.indices[0], other.indices[0], self.known)

    def held(self, node: BufferLoad | BufferStore, cells: int) -> Tile | None:
        """The fragment of which each thread touches all of its `cells`, one after the other."""
        line = linear(node.indices[0], [self.thread, self.register])
        if node.buffer.tag != "warp" or line is None:
            return None
        if line[0] != {self.thread: cells, self.register: 1}:
            return None
        return Tile(node.buffer, line[1], cells)

    def rows(self, node: BufferLoad | BufferStore) -> Tile | None:
        """The tile in memory of whose rows the threads have what they hold of a sum."""
        index = node.indices[0]
        start = self.first(index)
        apart = self.known.simplify(self.at(index, const(4, "int32"), const(0, "int32")) - start)
        if not isinstance(apart, Const):
            return None
        row, column = self.cell(2)
        if not same(index, start + row * apart + column, self.known):
            return None
        return Tile(node.buffer, start, int(apart.value))

    def turned(self, load: BufferLoad) -> Tile | None:
        """The tile of bytes in memory, by term and column, of which threads hold B's cells."""
        t, l, index = self.thread, self.register, load.indices[0]  # noqa: E741
        start = self.first(index)
        apart = self.known.simplify(self.at(index, const(0, "int32"), const(1, "int32")) - start)
        if load.buffer.type != "int8" or not isinstance(apart, Const):
            return None
        row, column = l % 8 // 4 * 16 + t % 4 * 4 + l % 4, l // 8 * 8 + t // 4
        if not same(index, start + row * apart + column, self.known):
            return None
        return Tile(load.buffer, start, int(apart.value))

    def loaded(self, load: BufferLoad, turned: bool) -> Tile | None:
        """The rows of 16 bytes that ``ldmatrix`` fetches: thread 8 m + r says where row r of matrix
        m begins, which the threads hold in their register m, `turned` by column."""
        t, l = self.thread, self.register  # noqa: E741
        packed, index = _packed(load), load.indices[0]
        if load.buffer.is_fragment or (turned and packed != 2):
            return None
        inside = t % 4 * packed + l % packed  # which cell of its row, or which of its column's
        address = self.at(index, *first_of_row(t, packed, turned))
        giver, after = l // packed * 8 + t // 4, inside
        if turned:
            giver, after = l // 2 * 8 + inside, t // 4
        if not same(index, substitute(address, {t: giver}) + after, self.known):
            return None
        return Tile(load.buffer, address, 0)

    def factors(
        self, factors: Sequence[Expr], store: BufferStore, term: Var, terms: int
    ) -> list[Tile | None]:
        """The fragments of A and B of which each thread's sums take rows and columns."""
        found: list[Tile | None] = []
        for factor, line, of_b in zip(factors, self.cell(2), (False, True), strict=True):
            load, kind = _multiplied(factor)
            if not isinstance(load, BufferLoad) or load.buffer.tag != "warp":
                return [None]
            packed = _packed(load)
            if (kind, store.buffer.type) not in MULTIPLIED or terms != 8 * packed:
                return [None]
            thread = line % 8 * 4 + term % (4 * packed) // packed
            near, far = (packed, 2 * packed) if of_b else (2 * packed, packed)
            register = term // (4 * packed) * near + line // 8 * far + term % packed
            start = self.first(load.indices[0], term)
            cells = 4 * packed
            holds = same(load.indices[0], start + thread * cells + register, self.known)
            found.append(Tile(load.buffer, start, cells) if holds else None)
        return found
