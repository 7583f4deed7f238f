"""Units: the blocks and bare statements that loops repeat, and what each touches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench import arith
from workbench.arith import Bounds
from workbench.arith.normal import MOST
from workbench.ir import (
    BITWISE,
    TRUE,
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    Expr,
    For,
    IfThenElse,
    IterVar,
    Node,
    Not,
    Range,
    Size,
    SizeVar,
    Stmt,
    Var,
    children,
    const,
    free_vars,
    once,
    remembered,
    substitute,
    walk,
)
from workbench.ir.places import inner

Cell = tuple[Expr, ...]
Cells = tuple[Cell, tuple[int, ...]]  # the first of a box, and its sizes; one that varies is -1


@dataclass(frozen=True)
class Unit:
    """A block realisation, or a statement outside any block, with what is around it.

    Both from the statement on that was asked about.
    """

    stmt: BlockRealize | BufferStore
    loops: tuple[For, ...]  # outermost first
    conditions: tuple[Expr, ...] = ()  # what holds wherever it runs

    @property
    def block(self) -> Block | None:
        """The block, None for a bare statement."""
        return self.stmt.block if isinstance(self.stmt, BlockRealize) else None

    @property
    def name(self) -> str:
        """What people call it: the block's name, or the buffer that is stored to."""
        return self.block.name if self.block else self.stmt.buffer.name  # type: ignore[union-attr]

    @property
    def predicate(self) -> Expr:
        """Where it runs, of all the turns of its loops."""
        return self.stmt.predicate if isinstance(self.stmt, BlockRealize) else TRUE

    @cached_property
    def values(self) -> dict[Var, Expr]:
        """What the block's iterators are bound to."""
        return self.stmt.bindings if isinstance(self.stmt, BlockRealize) else {}

    def bound(self, kind: str) -> list[Expr]:
        """What the block's iterators of a kind, "spatial" or "reduce", are bound to."""
        iterators = self.block.iter_vars if self.block else ()
        return [self.values[it.var] for it in iterators if it.kind == kind]

    def moved_by(self, kind: str) -> set[Var]:
        """The variables of which the block's iterators of a kind are made; sizes move nothing."""
        found = {v for value in self.bound(kind) for v in free_vars(value)}
        return {v for v in found if not isinstance(v, SizeVar)}

    @cached_property
    def reads(self) -> Set[Buffer]:
        """The buffers around it that it loads from, or that say whether it runs, in order."""
        loads, _, private = _buffers(self.block or self.stmt)
        around = (buffer for buffer in loads if buffer not in private)
        return _in_order((*around, *(n.buffer for n in self._deciding)))

    @cached_property
    def writes(self) -> Set[Buffer]:
        """The buffers around it that it stores to, in order."""
        _, written, private = _buffers(self.block or self.stmt)
        return _in_order(buffer for buffer in written if buffer not in private)

    @cached_property
    def _deciding(self) -> list[BufferLoad]:
        """The loads outside of it that say whether, or for which values, it runs."""
        varying = (loop for loop in self.loops if not runs_fixed(loop))
        around = [*self.holds, *(e for loop in varying for e in (loop.min, loop.extent))]
        return [n for e in (*around, *self.values.values()) for n in walk(e)
                if isinstance(n, BufferLoad)]  # fmt: skip

    @property
    def holds(self) -> tuple[Expr, ...]:
        """The conditions under which it runs, its own among them."""
        own = self.predicate
        return self.conditions if own is TRUE else (*self.conditions, own)

    @cached_property
    def used(self) -> set[Var]:
        """The variables that say what it does: in its bindings and its conditions."""
        told: list[Node] = [*(self.values.values() or [self.stmt]), *self.holds]
        known = arith.Simplifier(arith.loop_bounds(self.loops))  # (i * 4 + j) // 4 uses no j
        short = (known.simplify(e) if isinstance(e, Expr) else e for e in told)
        return {v for value in short for v in free_vars(value)}

    @cached_property
    def loads(self) -> list[BufferLoad]:
        """What it loads of `reads`, after what says whether it runs."""
        inside = [n for n in walk(self.block or self.stmt) if isinstance(n, BufferLoad)]
        return [*self._deciding, *(n for n in inside if n.buffer in self.reads)]

    @cached_property
    def accumulates(self) -> bool:
        """Whether running it twice is not the same as running it once."""
        reduces = bool(self.bound("reduce"))
        return reduces or bool(self.reads & self.writes)

    def cells(self, buffer: Buffer, kind: str) -> list[Cells]:
        """The boxes of `buffer` that it reads or writes: their first cells and their sizes.

        A cell is told in loop variables.
        """
        if not isinstance(self.stmt, BlockRealize):
            loads = (n.indices for n in self.loads if n.buffer is buffer)
            indices = [self.stmt.indices] if kind == "write" else loads
            return [_one(cell) for cell in indices]
        deciding = [n.indices for n in self._deciding if kind == "read" and n.buffer is buffer]
        return [*_declared(self.stmt, buffer, kind), *map(_one, deciding)]

    def uses_itself(self, loops: Iterable[For]) -> bool:
        """Whether its block uses the variable of one of `loops`, and not through its iterators."""
        own = set(free_vars(self.block)) if self.block else set()
        return any(loop.loop_var in own for loop in loops)


@once
def _declared(realize: BlockRealize, buffer: Buffer, kind: str) -> list[Cells]:
    """The boxes of `buffer` that the block declares to read or write, told in loop variables."""
    block, values = realize.block, realize.bindings
    regions = block.reads if kind == "read" else block.writes
    if kind == "read" and all(r.buffer is not buffer for r in regions):
        # a reduction's own reads are not declared
        regions = block.writes if buffer in buffers_read(block) else ()
    return [
        (tuple(substitute(r.min, values) for r in box), tuple(_size(r) for r in box))
        for box in (r.region for r in regions if r.buffer is buffer)
    ]


def _one(cell: Cell) -> Cells:
    return cell, (1,) * len(cell)


def same_cell(a: Cell, b: Cell) -> bool:
    """Whether two tuples of indices are proved to name one cell."""
    return all(arith.equal(x, y) for x, y in zip(a, b, strict=True))


_Buffers = tuple[Set[Buffer], Set[Buffer], Set[Buffer]]


def _in_order(buffers: Iterable[Buffer]) -> Set[Buffer]:
    """A set of `buffers` that keeps their order: that of a plain one differs from run to run."""
    return dict.fromkeys(buffers).keys()


def buffers_read(node: Node) -> Set[Buffer]:
    """The buffers that are loaded from in `node`, in the order of the program."""
    return _buffers(node)[0]


def buffers_written(node: Node) -> Set[Buffer]:
    """The buffers that are stored to in `node`, in the order of the program."""
    return _buffers(node)[1]


@once
def _buffers(node: Node) -> _Buffers:
    """The buffers loaded from, those stored to, and those that live in a block of `node`.

    Each instance of such a block has its own.
    """
    found: tuple[dict[Buffer, None], ...] = {}, {}, {}
    loads, written, private = found
    if isinstance(node, Block):
        private.update(dict.fromkeys(node.alloc_buffers))
    for part in (node,) if isinstance(node, (Expr, BufferStore)) else children(node):
        if isinstance(part, Stmt) and part is not node:
            for every, inside in zip(found, _buffers(part), strict=True):
                every.update(dict.fromkeys(inside))
            continue
        for one in walk(part):
            if isinstance(one, BufferLoad):
                loads[one.buffer] = None
            elif isinstance(one, BufferStore):
                written[one.buffer] = None
    return loads.keys(), written.keys(), private.keys()


def _size(box: Range) -> int:
    return int(box.extent.value) if isinstance(box.extent, Const) else -1


def units(
    stmt: Stmt, loops: tuple[For, ...] = (), conditions: tuple[Expr, ...] = ()
) -> Iterator[Unit]:
    """The outermost blocks and the bare stores in `stmt`, in program order.

    `loops` and `conditions` are of what is around it.
    """
    match stmt:
        case BlockRealize() | BufferStore():
            yield Unit(stmt, loops, conditions)
        case IfThenElse(condition, then_case, else_case):
            yield from units(then_case, loops, (*conditions, condition))
            if else_case is not None:
                yield from units(else_case, loops, (*conditions, Not(condition)))
        case _:
            below = (*loops, stmt) if isinstance(stmt, For) else loops
            for child in inner(stmt):
                yield from units(child, below, conditions)


def opened(unit: Unit) -> Iterator[Unit]:
    """The bare stores that `unit` runs, told in variables of loops, whatever blocks declare."""
    if not isinstance(unit.stmt, BlockRealize):
        yield unit
        return
    for part in inner(unit.stmt):
        for one in units(substitute(part, unit.values), unit.loops, unit.holds):
            yield from opened(one)


def runs_fixed(loop: For) -> bool:
    """Whether `loop` runs for the same values each time, whatever its bounds are."""
    return isinstance(loop.min, Const) and isinstance(loop.extent, Const)


def limits(loop: For) -> list[Expr]:
    """What holds in the turns of a loop whose ends vary, of all values that its variable takes."""
    if runs_fixed(loop):
        return []
    return [loop.loop_var >= loop.min, loop.loop_var < loop.min + loop.extent]


# --- facts of a block, whatever loops run it -----------------------------------------------------


def iterator_bounds(block: Block) -> dict[Var, tuple[int, int]]:
    """The lowest and highest value of each iterator of `block`, of those that have known ones."""
    every = {it.var: _ends(it) for it in block.iter_vars}
    return {var: ends for var, ends in every.items() if ends is not None}


@once
def summed_sizes(block: Block) -> dict[Var, tuple[int, int]]:
    """The sizes with which, were they 0, `block` would sum up nothing: at least 1 in its proofs.

    A call with such a size is refused (`emulate/sizes.py`), and none is specialized to 0.
    """
    summed = (it for it in block.iter_vars if it.kind == "reduce" and block.init is not None)
    return {size: ends for it in summed for size, ends in running_sizes(it.dom.extent).items()}


def running_sizes(extent: Expr) -> dict[Var, tuple[int, int]]:
    """The sizes with which, were they 0, a loop of that `extent` had no turn: 1 or more in it."""
    found: dict[Var, tuple[int, int]] = {}
    for size in (v for v in free_vars(extent) if isinstance(v, SizeVar)):
        try:
            none = arith.prove(substitute(extent, {size: const(0, size.type)}) <= 0, {})
        except ZeroDivisionError:
            continue
        if none:
            found[size] = 1, MOST
    return found


def _ends(it: IterVar) -> tuple[int, int] | None:
    known: dict[Any, tuple[int, int] | None] = remembered(it)
    if "ends" not in known:
        first, last = arith.bounds(it.dom.min, {}), arith.bounds(it.dom.min + it.dom.extent - 1, {})
        known["ends"] = None
        if first is not None and last is not None:
            known["ends"] = arith.ends_of(it.dom.min, it.dom.extent, first[0], last[1])
    return known["ends"]


@once
def writes_apart(block: Block, fixed: frozenset[Var] = frozenset()) -> bool | arith.Counterexample:
    """Whether different spatial iterations of `block` write different cells; proved where True.

    The iterators in `fixed` are the same in both.
    """
    dom = {var: ends for var, ends in iterator_bounds(block).items() if var not in fixed}
    if any(it.var not in dom and it.var not in fixed for it in block.iter_vars):
        return False
    spatial = {it.var for it in block.iter_vars if it.kind == "spatial"} & dom.keys()
    for region in block.writes:
        inside: dict[Var, tuple[int, int]] = {}
        cell: list[Expr] = []
        for axis, box in enumerate(region.region):
            size: Size = box.extent if arith.by_sizes(box.extent) else _size(box)
            if isinstance(size, int) and size < 2:
                if size < 0:
                    return False
                cell.append(box.min)
                continue
            step = Var(f"d{axis}", box.min.dtype)
            inside[step] = arith.up_to(size, step.type)
            cell.append(box.min + step)
        moving = spatial.union(*(free_vars(box.min) for box in region.region)) & dom.keys()
        found = arith.is_injective(cell, {**{v: dom[v] for v in moving}, **inside})
        if isinstance(found, arith.Counterexample):
            a, b = found.first, found.second
            return found if any(a[v] != b[v] for v in spatial) else False  # of one iteration
        if not found:
            return False
    return True


def short(expr: Expr, dom: Bounds) -> Expr:
    """`expr` simplified; itself where nothing is divided, since sums are short already."""
    divided = any(isinstance(n, BinOp) and n.op in ("//", "%", *BITWISE) for n in walk(expr))
    return arith.simplify(expr, dom) if divided else expr
