"""Whether what a copy takes was written: it takes all of it, where its reader may take a part."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    Call,
    Const,
    For,
    IfThenElse,
    Node,
    walk,
)
from workbench.schedule.feeding import makes_all
from workbench.schedule.site import Site


def check_copied(site: Site[Block], copy: Site[Block], buffer: Buffer) -> None:
    """Refuse the block `copy` of the program after the step unless all that it reads was written.

    It is proved in the nearest block around that writes `buffer` ahead of the copy. An argument
    holds a value everywhere.
    """
    where, user = copy.places, copy.realize
    while user is not copy.func.body:
        scope = where.scope(user)
        makers = [
            maker
            for maker in where.writers_under(scope, buffer)
            if where.position[maker] < where.position[user]
        ]
        if makers and makes_all(where, scope.block.body, makers, user, buffer):
            return
        if buffer in scope.block.alloc_buffers:
            raise site.refuse(
                f"a copy may take cells of {buffer.name} that nobody wrote",
                site.node,
                *(site.places.blocks[maker.block.id] for maker in makers),
                detail=f"`{site.name}` may leave them unread; the copy would read them all",
                hint=f"let all of {buffer.name} be written first, with 0 where it does not matter",
            )
        user = scope


def reads_always(site: Site[Block], buffer: Buffer) -> bool:
    """Whether each instance of the block evaluates all of its loads of `buffer`.

    Where it does, a cell that nobody wrote has no place in what it reads.
    """
    if any(isinstance(outer, IfThenElse) or _varies(outer) for outer in site.around):
        return False
    return not any(
        isinstance(node, BufferLoad) and node.buffer is buffer
        for part in _chosen(site.realize)
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
