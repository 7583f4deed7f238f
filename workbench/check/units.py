"""Units: the blocks and bare statements that loops repeat, and what each touches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from weakref import WeakKeyDictionary

from workbench import arith
from workbench.ir import (
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    Expr,
    For,
    Range,
    Stmt,
    Var,
    const,
    free_vars,
    stores,
    substitute,
    walk,
)
from workbench.ir.places import inner

Cell = tuple[Expr, ...]
Bounds = dict[Var, tuple[int, int]]


@dataclass(frozen=True)
class Unit:
    """A block realisation, or a statement outside any block, with the loops around it."""

    stmt: BlockRealize | BufferStore
    loops: tuple[For, ...]  # outermost first, from the statement that was asked about

    @property
    def block(self) -> Block | None:
        """The block, None for a bare statement."""
        return self.stmt.block if isinstance(self.stmt, BlockRealize) else None

    @property
    def name(self) -> str:
        """What people call it: the block's name, or the buffer that is stored to."""
        return self.block.name if self.block else self.stmt.buffer.name  # type: ignore[union-attr]

    @cached_property
    def values(self) -> dict[Var, Expr]:
        """What the block's iterators are bound to."""
        if not isinstance(self.stmt, BlockRealize):
            return {}
        iterators = self.stmt.block.iter_vars
        return {it.var: v for it, v in zip(iterators, self.stmt.iter_values, strict=True)}

    def bound(self, kind: str) -> list[Expr]:
        """What the block's iterators of a kind, "spatial" or "reduce", are bound to."""
        iterators = self.block.iter_vars if self.block else ()
        return [self.values[it.var] for it in iterators if it.kind == kind]

    @cached_property
    def reads(self) -> frozenset[Buffer]:
        """The buffers that it loads from."""
        return frozenset(n.buffer for n in walk(self.stmt) if isinstance(n, BufferLoad))

    @cached_property
    def writes(self) -> frozenset[Buffer]:
        """The buffers that it stores to."""
        return frozenset(store.buffer for store in stores(self.stmt))

    @cached_property
    def accumulates(self) -> bool:
        """Whether running it twice is not the same as running it once."""
        reduces = bool(self.bound("reduce"))
        return reduces or bool(self.reads & self.writes)

    def written_cells(self, buffer: Buffer) -> list[tuple[Cell, tuple[int, ...]]]:
        """The boxes of `buffer` that it writes: where they start, in loop variables, and sizes."""
        if not isinstance(self.stmt, BlockRealize):
            return [(self.stmt.indices, (1,) * len(self.stmt.indices))]
        regions = [r.region for r in self.stmt.block.writes if r.buffer is buffer]
        return [
            (tuple(substitute(r.min, self.values) for r in box), tuple(_size(r) for r in box))
            for box in regions
        ]


def _size(box: Range) -> int:
    return int(box.extent.value) if isinstance(box.extent, Const) else -1


def units(stmt: Stmt, loops: tuple[For, ...] = ()) -> Iterator[Unit]:
    """The outermost blocks and the bare stores in `stmt`, in program order."""
    if isinstance(stmt, (BlockRealize, BufferStore)):
        yield Unit(stmt, loops)
        return
    below = (*loops, stmt) if isinstance(stmt, For) else loops
    for child in inner(stmt):
        yield from units(child, below)


# --- facts of a block, whatever loops run it -----------------------------------------------------

_overlaps: WeakKeyDictionary[Block, bool | arith.Counterexample] = WeakKeyDictionary()


def writes_apart(block: Block) -> bool | arith.Counterexample:
    """Whether different spatial iterations of `block` write different cells; proved where True."""
    found = _overlaps.get(block)
    if found is None:
        found = _overlaps[block] = _writes_apart(block)
    return found


def _writes_apart(block: Block) -> bool | arith.Counterexample:
    dom: Bounds = {}
    for it in block.iter_vars:
        ends = arith.bounds(it.dom.min, {}), arith.bounds(it.dom.min + it.dom.extent - 1, {})
        if it.kind == "spatial":
            if ends[0] is None or ends[1] is None:
                return False
            dom[it.var] = (ends[0][0], ends[1][1])
    for region in block.writes:
        inside: Bounds = {}
        cell: list[Expr] = []
        for axis, box in enumerate(region.region):
            size = _size(box)
            if size < 0:
                return False
            step = Var(f"d{axis}", box.min.dtype)
            inside |= {step: (0, size - 1)} if size > 1 else {}
            cell.append(box.min + step if size > 1 else box.min)
        found = arith.is_injective(cell, {**dom, **inside})
        if found is not True:
            return found
    return True


# --- what one loop does to a cell ----------------------------------------------------------------


def keeps_apart(cell: Cell, sizes: tuple[int, ...], unit: Unit, loop: For, dom: Bounds) -> bool:
    """Whether different iterations of `loop` are proved to reach different boxes at `cell`.

    Each index is split into what moves with `loop` alone and the rest; where the steps of the first
    are larger than all that the rest can add up to, the index tells the first, and all that is told
    must tell the iteration.
    """
    var = loop.loop_var
    known = arith.Simplifier(dom)
    below = unit.loops[unit.loops.index(loop) + 1 :] if loop in unit.loops else unit.loops
    inside = {other.loop_var for other in below}
    told: list[Expr] = []
    for index, size in zip(cell, sizes, strict=True):
        moving: Expr = const(0, index.dtype)
        rest: Expr = const(0, index.dtype)
        factors: list[int] = []
        for term, factor in terms(known.simplify(index)):
            used = set(free_vars(term))
            if var in used and used & inside:
                break
            if var in used:
                moving = moving + term * factor
                factors.append(abs(factor))
            elif used & inside:
                rest = rest + term * factor
        else:
            span = arith.bounds(rest, dom)
            if factors and size > 0 and span and span[1] - span[0] + size - 1 < gcd(*factors):
                told.append(moving)
    return bool(told) and arith.is_injective(told, {var: dom[var]}) is True


def terms(expr: Expr) -> Iterator[tuple[Expr, int]]:
    """The summands of `expr`, each with the number that it is multiplied by."""
    if isinstance(expr, BinOp) and expr.op in ("+", "-"):
        yield from terms(expr.a)
        sign = 1 if expr.op == "+" else -1
        yield from ((term, sign * factor) for term, factor in terms(expr.b))
    elif isinstance(expr, BinOp) and expr.op == "*" and isinstance(expr.b, Const):
        yield from ((term, factor * int(expr.b.value)) for term, factor in terms(expr.a))
    else:
        yield expr, 1
