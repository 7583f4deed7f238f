"""Which loops of a program may run as lanes, and the place of each statement in serial order."""

from __future__ import annotations

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
    SeqStmt,
    Stmt,
    walk,
)

MOST_LANES = 1 << 20  # elements of one array: 8 MiB of int64


class Order:
    """Facts about the statements of one program, worked out once each."""

    def __init__(self) -> None:
        self._steps: dict[Stmt, int] = {}
        self._lanes: dict[Stmt, int] = {}
        self._apart: dict[Stmt, bool] = {}

    def steps(self, stmt: Stmt) -> int:
        """How many stores `stmt` makes one after the other, where every loop's extent is known."""
        if stmt not in self._steps:
            self._steps[stmt] = self._count_steps(stmt)
        return self._steps[stmt]

    def _count_steps(self, stmt: Stmt) -> int:
        match stmt:
            case For():
                return extent(stmt) * self.steps(stmt.body)
            case SeqStmt():
                return sum(self.steps(s) for s in stmt.stmts)
            case IfThenElse():
                other = self.steps(stmt.else_case) if stmt.else_case else 0
                return self.steps(stmt.then_case) + other
            case BlockRealize():
                init = self.steps(stmt.block.init) if stmt.block.init else 0
                return init + self.steps(stmt.block.body)
            case _:
                return 1

    def lanes(self, stmt: Stmt) -> int:
        """The most lanes that any statement in `stmt` has if all its loops are lanes."""
        if stmt not in self._lanes:
            below = max((self.lanes(s) for s in _statements(stmt)), default=1)
            self._lanes[stmt] = below * (extent(stmt) if isinstance(stmt, For) else 1)
        return self._lanes[stmt]

    def may_be_lanes(self, loop: For) -> bool:
        """Whether it is worth trying to run `loop` and the loops in it as lanes.

        Never where an extent varies, where a block has memory of its own, or where a statement
        reads what a later one writes, since lanes run each statement for all iterations in turn.
        """
        if loop not in self._apart:
            self._apart[loop] = _known_extents(loop) and not _reads_before_writes(loop)
        return self._apart[loop] and 1 < self.lanes(loop) <= MOST_LANES


def extent(loop: For) -> int:
    """The number of iterations of `loop`, which must be a constant."""
    assert isinstance(loop.extent, Const)
    return int(loop.extent.value)


def _statements(stmt: Stmt) -> list[Stmt]:
    match stmt:
        case For():
            return [stmt.body]
        case SeqStmt():
            return list(stmt.stmts)
        case IfThenElse():
            return [s for s in (stmt.then_case, stmt.else_case) if s is not None]
        case BlockRealize():
            return [s for s in (stmt.block.init, stmt.block.body) if s is not None]
        case _:
            return []


def leaves(stmt: Stmt) -> list[Stmt]:
    """The stores in `stmt`, in the order in which one iteration runs them."""
    below = _statements(stmt)
    return [leaf for s in below for leaf in leaves(s)] if below else [stmt]


def _known_extents(loop: For) -> bool:
    for node in walk(loop):
        if isinstance(node, For) and not isinstance(node.extent, Const):
            return False
        if isinstance(node, Block) and node.alloc_buffers:
            return False
    return True


def _reads_before_writes(loop: For) -> bool:
    read: set[Buffer] = set()
    for leaf in leaves(loop):
        assert isinstance(leaf, BufferStore)
        if leaf.buffer in read:
            return True
        read |= loaded(leaf)
    return any(_reads(node, loop) for node in _conditions(loop))


def _conditions(stmt: Stmt) -> list[Node]:
    """What decides whether statements run, and for which element."""
    found: list[Node] = []
    for node in walk(stmt):
        if isinstance(node, IfThenElse):
            found.append(node.condition)
        elif isinstance(node, BlockRealize):
            found.extend((node.predicate, *node.iter_values))
        elif isinstance(node, For):
            found.append(node.min)
    return found


def _reads(condition: Node, loop: For) -> bool:
    written = {leaf.buffer for leaf in leaves(loop) if isinstance(leaf, BufferStore)}
    return not written.isdisjoint(loaded(condition))


def loaded(node: Node) -> set[Buffer]:
    """The buffers that are read in `node`."""
    return {n.buffer for n in walk(node) if isinstance(n, BufferLoad)}
