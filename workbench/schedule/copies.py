"""Whether what a copy takes was written: it takes all of it, where its reader may take a part."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.diag import Refusal
from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BlockId,
    BlockRealize,
    Buffer,
    BufferLoad,
    Call,
    Const,
    For,
    IfThenElse,
    Node,
    PrimFunc,
    walk,
)
from workbench.ir.places import places
from workbench.schedule.feeding import makes_all


def check_copied(
    before: PrimFunc, func: PrimFunc, copy: BlockId, buffer: Buffer, block: Block, task: str
) -> None:
    """Refuse the block `copy` of `func` unless all that it reads of `buffer` was written.

    It is proved in the nearest block around that writes `buffer` ahead of the copy. An argument
    holds a value everywhere. `block` of `before` is marked.
    """
    where = places(func)
    user = where.blocks[copy]
    while user is not func.body:
        scope = where.scope(user)
        before_it = [
            maker
            for maker in where.writers_under(scope, buffer)
            if where.position[maker] < where.position[user]
        ]
        if before_it and makes_all(func, scope.block.body, before_it, user, buffer):
            return
        if buffer in scope.block.alloc_buffers:
            raise Refusal(
                f"Can't {task}: a copy may take cells of {buffer.name} that nobody wrote",
                places(before).realize(block),
                *(places(before).blocks[maker.block.id] for maker in before_it),
                detail=f"`{block.name}` may leave them unread; the copy would read them all",
                hint=f"let all of {buffer.name} be written first, with 0 where it does not matter",
            )
        user = scope


def reads_always(func: PrimFunc, realize: BlockRealize, buffer: Buffer) -> bool:
    """Whether each instance of a block evaluates all of its loads of `buffer`.

    Where it does, a cell that nobody wrote has no place in what it reads.
    """
    around = []
    for outer in places(func).above(realize):
        if isinstance(outer, BlockRealize):
            break
        around.append(outer)
    if any(isinstance(outer, IfThenElse) or _varies(outer) for outer in around):
        return False
    return not any(
        isinstance(node, BufferLoad) and node.buffer is buffer
        for part in _chosen(realize)
        for node in walk(part)
    )


def _chosen(realize: BlockRealize) -> Iterator[Node]:
    """The parts of a block that are not evaluated each time."""
    for node in walk(realize):
        match node:
            case BlockRealize(predicate=predicate) if predicate is not TRUE:
                yield node.block
            case IfThenElse(_, yes, no) | Call("if_then_else", (_, yes, no)):
                yield yes
                if no is not None:
                    yield no
            case BinOp("and" | "or", _, second):
                yield second
            case For() if _varies(node):
                yield node.body


def _varies(stmt: Node) -> bool:
    return isinstance(stmt, For) and not isinstance(stmt.extent, Const)
