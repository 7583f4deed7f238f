"""Accesses: what a statement touches of a buffer, inside which loops, under which guards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Generic, TypeVar

from workbench.ir import (
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Expr,
    For,
    IfThenElse,
    IterVar,
    Node,
    Not,
    Stmt,
    Var,
    binary,
    children,
    free_vars,
    path_to,
    substitute,
)

L = TypeVar("L")  # what the asker knows of a loop: the loop itself, or what `insight` tells of it


@dataclass(frozen=True, eq=False)  # up to Python 3.12.3, no weak references to a generic's slots
class Access(Generic[L]):
    """The box of `buffer` that `node`, a load, a store or a block, touches each time it runs.

    It has `sizes` cells from `indices` on and is touched while the `guards` hold; both are told in
    the variables of `loops`, those around, outermost first. `block` is the innermost block around,
    `store` the statement, None for a load in a condition; `init` says that it starts a reduction.
    """

    node: Node
    buffer: Buffer
    writes: bool
    indices: tuple[Expr, ...]
    sizes: tuple[int, ...]
    guards: tuple[Expr, ...]
    loops: tuple[L, ...]
    block: Block | None = None
    store: BufferStore | None = None
    init: bool = False

    @property
    def stage(self) -> str:
        """The name of the block that it stands in; "" outside of any."""
        return self.block.name if self.block else ""

    def cell_variables(self) -> set[Var]:
        """The variables that say which cells they are."""
        return {v for index in self.indices for v in free_vars(index)}

    def variables(self) -> set[Var]:
        """The variables that say which cells they are, and whether they are touched."""
        return self.cell_variables() | {v for guard in self.guards for v in free_vars(guard)}


@dataclass(frozen=True, slots=True)
class Around:
    """What surrounds a statement, on the way down to it.

    `values` are those of the iterators of blocks. Where `counters` has a variable that counts the
    turns of a loop from 0, all is told in that; the loop's own variable has a value then.
    """

    loops: tuple[For, ...] = ()
    guards: tuple[Expr, ...] = ()
    values: Mapping[Var, Expr] = field(default_factory=dict)
    counters: Mapping[Var, Var] = field(default_factory=dict)
    block: Block | None = None
    store: BufferStore | None = None
    init: bool = False

    def inside(self, loop: For) -> Around:
        """Inside `loop`, too."""
        values, counter = self.values, self.counters.get(loop.loop_var)
        if counter is not None:
            value = binary("+", substitute(loop.min, values), counter)
            if value is not loop.loop_var:
                values = {**values, loop.loop_var: value}
        return replace(self, loops=(*self.loops, loop), values=values)

    def where(self, condition: Expr) -> Around:
        """Only where `condition` holds."""
        condition = substitute(condition, self.values)
        if isinstance(condition, Const) and condition.value:
            return self
        return replace(self, guards=(*self.guards, condition))

    def of_block(self, realize: BlockRealize) -> Around:
        """Inside the block that `realize` runs, where its predicate holds."""
        found, values = self.where(realize.predicate), dict(self.values)
        for it, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            values[it.var] = substitute(value, self.values)
        return replace(found, values=values, block=realize.block)


def accesses(node: Node, at: Around | None = None) -> Iterator[Access[For]]:
    """The loads and stores in `node`, each of one element or vector, in the order they are made.

    Every way down is taken once, and what stands on it is kept: a branch adds its condition, an
    `and` guards its right side by its left one, a block tells its iterators by its bindings. So an
    access is made exactly in those turns of its loops in which its guards hold.
    """
    at = at or Around()
    match node:
        case For(min=low, extent=extent, body=body):
            yield from accesses(low, at)
            yield from accesses(extent, at)
            yield from accesses(body, at.inside(node))
        case BlockRealize(predicate=predicate, block=block):
            yield from accesses(predicate, at)
            inside = at.of_block(node)
            if block.init is not None:
                first = replace(inside, init=True)
                for condition in first_turn(block.iter_vars):
                    first = first.where(condition)
                yield from accesses(block.init, first)
            yield from accesses(block.body, inside)
        case IfThenElse(condition, yes, no) | Call("if_then_else", (condition, yes, no)):
            yield from accesses(condition, at)
            yield from accesses(yes, at.where(condition))
            if no is not None:
                yield from accesses(no, at.where(Not(condition)))
        case BinOp("and" | "or" as op, a, b):
            yield from accesses(a, at)
            yield from accesses(b, at.where(a if op == "and" else Not(a)))
        case BufferStore(value=value, indices=indices):
            at = replace(at, store=node)
            for part in (value, *indices):
                yield from accesses(part, at)
            yield _made(node, at)
        case _:
            for child in children(node):
                if children(child) or isinstance(child, BufferLoad):  # not one of a name or number
                    yield from accesses(child, at)
            if isinstance(node, BufferLoad):
                yield _made(node, at)


def around(root: Node, target: Stmt) -> Around:
    """What surrounds `target`, on the way down to it from `root`."""
    at, way = Around(), path_to(root, target)
    for outer, below in pairwise(way):
        match outer:
            case For() if below is outer.body:
                at = at.inside(outer)
            case BlockRealize():
                at = at.of_block(outer)
            case IfThenElse(condition, yes, _):
                at = at.where(condition if below is yes else Not(condition))
            case _:
                pass
    return at


def in_later_turn(loop: For, access: Access[For], lag: int = 1) -> Access[For]:
    """`access` in the turn of `loop`, one of those around it, that comes `lag` later."""
    var = loop.loop_var
    if not lag or var not in access.variables():
        return access
    guards = (*access.guards, binary("<", var, loop.min + loop.extent))
    indices, guards = (
        tuple(substitute(e, {var: var + lag}) for e in each) for each in (access.indices, guards)
    )
    return replace(access, indices=indices, guards=guards)


def _made(node: BufferLoad | BufferStore, at: Around) -> Access[For]:
    indices = tuple(substitute(index, at.values) for index in node.indices)
    return Access(
        node, node.buffer, isinstance(node, BufferStore), indices, (1,) * len(indices),
        at.guards, at.loops, at.block, at.store, at.init,
    )  # fmt: skip


def first_turn(iterators: Iterable[IterVar]) -> list[Expr]:
    """What holds in the first turn of every reduction among `iterators`, where an init runs."""
    return [binary("==", it.var, it.dom.min) for it in iterators if it.kind == "reduce"]


def by_buffer(found: Iterable[Access[L]]) -> dict[Buffer, list[Access[L]]]:
    """The accesses of each buffer, in order."""
    groups: dict[Buffer, list[Access[L]]] = {}
    for access in found:
        groups.setdefault(access.buffer, []).append(access)
    return groups
