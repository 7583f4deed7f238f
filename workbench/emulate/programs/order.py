"""Which loops of a program may run as lanes, and the place of each statement in serial order."""

from __future__ import annotations

from workbench.emulate.expressions import count_turns
from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    For,
    IfThenElse,
    Node,
    Stmt,
    stores,
    walk,
)
from workbench.ir.places import inner

MOST_LANES = 1 << 20  # elements of one array: 8 MiB of int64


class Order:
    """Facts about the statements of one program, worked out once each."""

    def __init__(self) -> None:
        self._steps: dict[Stmt, int] = {}
        self._lanes: dict[Stmt, int] = {}
        self._apart: dict[Stmt, bool] = {}

    def count_steps(self, stmt: Stmt) -> int:
        """How many stores `stmt` makes one after the other, where every loop's extent is known."""
        if stmt not in self._steps:
            below = sum(self.count_steps(s) for s in inner(stmt))
            turns = count_turns(stmt) if isinstance(stmt, For) else 1
            self._steps[stmt] = 1 if isinstance(stmt, BufferStore) else turns * below
        return self._steps[stmt]

    def count_lanes(self, stmt: Stmt) -> int:
        """The most lanes that any statement in `stmt` has if all its loops are lanes."""
        if stmt not in self._lanes:
            below = max((self.count_lanes(s) for s in inner(stmt)), default=1)
            self._lanes[stmt] = below * (count_turns(stmt) if isinstance(stmt, For) else 1)
        return self._lanes[stmt]

    def may_be_lanes(self, loop: For) -> bool:
        """Whether it is worth trying to run `loop` and the loops in it as lanes.

        Never where an extent varies, where a block has memory of its own, or where a statement
        reads what a later one writes, since lanes run each statement for all iterations in turn.
        """
        if loop not in self._apart:
            self._apart[loop] = _has_fixed_shape(loop) and not _reads_before_writes(loop)
        return self._apart[loop] and 1 < self.count_lanes(loop) <= MOST_LANES


def _has_fixed_shape(loop: For) -> bool:
    return not any(
        (isinstance(node, For) and not isinstance(node.extent, Const))
        or (isinstance(node, Block) and node.alloc_buffers)
        for node in walk(loop)
    )


def _reads_before_writes(loop: For) -> bool:
    read: set[Buffer] = set()
    for store in _list_stores(loop):
        if store.buffer in read:
            return True
        read |= buffers_read(store)
    written = {store.buffer for store in stores(loop)}
    return any(written & buffers_read(node) for node in _list_conditions(loop))


def _list_stores(stmt: Stmt) -> list[BufferStore]:
    """The stores in `stmt`, in the order in which one iteration runs them."""
    if isinstance(stmt, BufferStore):
        return [stmt]
    return [store for part in inner(stmt) for store in _list_stores(part)]


def _list_conditions(stmt: Stmt) -> list[Node]:
    """What decides whether statements run, and for which element."""
    conditions: list[Node] = []
    for node in walk(stmt):
        if isinstance(node, IfThenElse):
            conditions.append(node.condition)
        elif isinstance(node, BlockRealize):
            conditions.extend((node.predicate, *node.iter_values))
        elif isinstance(node, For):
            conditions.append(node.min)
    return conditions


def buffers_read(node: Node) -> set[Buffer]:
    """The buffers that are read in `node`."""
    return {n.buffer for n in walk(node) if isinstance(n, BufferLoad)}
