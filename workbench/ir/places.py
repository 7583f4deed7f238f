"""Where the loops and blocks of a program are, and how one of them is put in another's place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from workbench.ir.nodes import (
    Block,
    BlockId,
    BlockRealize,
    Buffer,
    For,
    IfThenElse,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    remembered,
    seq,
)
from workbench.ir.visit import replace_each

S = TypeVar("S", bound=Stmt)


class Places:
    """The statements of one program by what identifies them, each with the one around it.

    Expressions are not looked at, so that making it costs a few microseconds a statement.
    """

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.loops: dict[Var, For] = {}
        self.blocks: dict[BlockId, BlockRealize] = {}
        self.parent: dict[Stmt, Stmt] = {}
        self.order: list[For | BlockRealize] = []  # program order, the root block first
        self.position: dict[Stmt, int] = {}  # of each in `order`
        self._writers: dict[Stmt, dict[Buffer, list[BlockRealize]]] = {}
        self._under: dict[Stmt, list[BlockRealize]] = {}  # of what `blocks_under` was asked
        self._enter(func.body)

    def _enter(self, stmt: Stmt) -> None:
        if isinstance(stmt, (For, BlockRealize)):
            if isinstance(stmt, For):
                self.loops[stmt.loop_var] = stmt
            else:
                self.blocks[stmt.block.id] = stmt
            self.position[stmt] = len(self.order)
            self.order.append(stmt)
        for child in inner(stmt):
            self.parent[child] = stmt
            self._enter(child)

    def realize(self, block: Block) -> BlockRealize:
        """The realisation that runs `block`."""
        return self.blocks[block.id]

    def above(self, stmt: Stmt) -> Iterator[Stmt]:
        """The statements around `stmt`, innermost first, up to the root block's realisation."""
        while stmt in self.parent:
            stmt = self.parent[stmt]
            yield stmt

    def loops_above(self, stmt: Stmt) -> list[For]:
        """The loops around `stmt` inside the block that holds it, outermost first."""
        loops: list[For] = []
        for outer in self.above(stmt):
            if isinstance(outer, BlockRealize):
                break
            if isinstance(outer, For):
                loops.append(outer)
        return loops[::-1]

    def all_loops_above(self, stmt: Stmt) -> list[For]:
        """Every loop around `stmt`, outside the block that holds it too, outermost first."""
        return [s for s in self.above(stmt) if isinstance(s, For)][::-1]

    def scope(self, stmt: Stmt) -> BlockRealize:
        """The realisation of the block that holds `stmt`."""
        return next(s for s in self.above(stmt) if isinstance(s, BlockRealize))

    def blocks_under(self, stmt: Stmt) -> list[BlockRealize]:
        """The nearest block realisations inside `stmt`, in program order."""
        blocks = self._under.get(stmt)
        if blocks is None:
            blocks = self._under[stmt] = []
            waiting = [*reversed(inner(stmt))]
            while waiting:
                child = waiting.pop()
                if isinstance(child, BlockRealize):
                    blocks.append(child)
                else:
                    waiting += reversed(inner(child))
        return list(blocks)

    def writers_under(self, stmt: Stmt, buffer: Buffer) -> list[BlockRealize]:
        """Of the nearest block realisations inside `stmt`, those that write `buffer`, in order."""
        if stmt not in self._writers:
            by_buffer: dict[Buffer, list[BlockRealize]] = {}
            for realize in self.blocks_under(stmt):
                for one in dict.fromkeys(region.buffer for region in realize.block.writes):
                    by_buffer.setdefault(one, []).append(realize)
            self._writers[stmt] = by_buffer
        return list(self._writers[stmt].get(buffer, ()))

    def replace(self, old: Stmt, new: Stmt | None) -> PrimFunc:
        """The program with `old` replaced by `new`, or dropped; what holds it is rebuilt.

        Raises ValueError where nothing would be left of a body.
        """
        while old in self.parent:
            outer = self.parent[old]
            old, new = outer, with_child(outer, old, new)
        if not isinstance(new, BlockRealize):
            raise ValueError("nothing would be left of the program")
        return replace(self.func, body=new)

    def replace_each(self, changed: Mapping[S, S]) -> PrimFunc:
        """The program with each key of `changed`, none inside another, replaced by its value."""
        return replace_each(self.func, changed)


def places(func: PrimFunc) -> Places:
    """The places of `func`, worked out once a program."""
    known: dict[Any, Places] = remembered(func)
    if "places" not in known:
        known["places"] = Places(func)
    return known["places"]


def inner(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statements directly inside `stmt`; a realisation's are its block's init and body."""
    found = _INNER.get(type(stmt))
    return () if found is None else found(stmt)


def _of_block(realize: BlockRealize) -> tuple[Stmt, ...]:
    block = realize.block
    return (block.body,) if block.init is None else (block.init, block.body)


def _of_choice(choice: IfThenElse) -> tuple[Stmt, ...]:
    cases = (choice.then_case, choice.else_case)
    return tuple(case for case in cases if case is not None)


# By kind: most statements that are asked are stores, which are none of these.
_INNER: dict[type[Stmt], Callable[[Any], tuple[Stmt, ...]]] = {
    For: lambda loop: (loop.body,),
    SeqStmt: lambda sequence: sequence.stmts,
    BlockRealize: _of_block,
    IfThenElse: _of_choice,
}


def within(stmt: Stmt) -> Iterator[Stmt]:
    """`stmt` and the statements inside it, in program order."""
    waiting = [stmt]
    while waiting:
        yield (here := waiting.pop())
        waiting.extend(reversed(inner(here)))


def with_child(outer: Stmt, old: Stmt, new: Stmt | None) -> Stmt | None:
    """`outer` with the statement `old` directly inside it replaced; None where nothing is left."""
    if isinstance(outer, SeqStmt):
        kept = [new if s is old else s for s in outer.stmts]
        left = [s for s in kept if s is not None]
        return seq(*left) if left else None
    if isinstance(outer, IfThenElse):
        if old is outer.else_case:
            return replace(outer, else_case=new)
        return None if new is None else replace(outer, then_case=new)
    if isinstance(outer, BlockRealize):
        block = outer.block
        if old is block.init:
            return replace(outer, block=replace(block, init=new))
        return None if new is None else replace(outer, block=replace(block, body=new))
    assert isinstance(outer, For), outer
    return None if new is None else replace(outer, body=new)
