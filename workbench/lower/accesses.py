"""accesses: every load and store of a statement, with the loops and conditions around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.ir import (
    TRUE,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    IfThenElse,
    Node,
    Not,
    children,
)


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One load or store: where it stands, inside which loops, and under which conditions."""

    node: BufferLoad | BufferStore
    loops: tuple[For, ...]
    conditions: tuple[Expr, ...]

    @property
    def buffer(self) -> Buffer:
        return self.node.buffer

    @property
    def indices(self) -> tuple[Expr, ...]:
        return self.node.indices

    @property
    def writes(self) -> bool:
        """Whether it is a store."""
        return isinstance(self.node, BufferStore)


def accesses(
    node: Node, loops: tuple[For, ...] = (), conditions: tuple[Expr, ...] = ()
) -> Iterator[Access]:
    """The accesses in `node` in the order in which one thread makes them."""
    match node:
        case For(body=body):
            yield from accesses(body, (*loops, node), conditions)
        case BlockRealize(predicate=predicate, block=block):
            inside = conditions if predicate is TRUE else (*conditions, predicate)
            yield from accesses(block.body, loops, inside)
        case IfThenElse(condition, then_case, else_case):
            yield from accesses(condition, loops, conditions)
            yield from accesses(then_case, loops, (*conditions, condition))
            if else_case is not None:
                yield from accesses(else_case, loops, (*conditions, Not(condition)))
        case Call("if_then_else", (condition, yes, no)):
            yield from accesses(condition, loops, conditions)
            yield from accesses(yes, loops, (*conditions, condition))
            yield from accesses(no, loops, (*conditions, Not(condition)))
        case BufferStore(_, value, indices):
            for part in (*indices, value):
                yield from accesses(part, loops, conditions)
            yield Access(node, loops, conditions)
        case BufferLoad(_, indices):
            for index in indices:
                yield from accesses(index, loops, conditions)
            yield Access(node, loops, conditions)
        case _:
            for child in children(node):
                yield from accesses(child, loops, conditions)
