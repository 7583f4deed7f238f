"""Whether what a copy takes was written: it takes all of it, where its reader may take a part."""

from __future__ import annotations

from workbench.access.accesses import accesses
from workbench.access.units import buffers_read, runs_fixed
from workbench.ir import (
    TRUE,
    Block,
    Buffer,
    For,
    IfThenElse,
    Stmt,
)
from workbench.verbs.feeding import makes_all
from workbench.verbs.site import Site


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
    realize, block = site.realize, site.node
    if any(isinstance(outer, IfThenElse) or _varies(outer) for outer in site.around):
        return False
    if realize.predicate is not TRUE and buffer in buffers_read(block):
        return False
    parts = (realize.predicate, *realize.iter_values, block.init, block.body)
    made = (one for part in parts if part is not None for one in accesses(part))
    loads = [one for one in made if one.buffer is buffer and not one.writes]
    return not any(load.guards or any(map(_varies, load.loops)) for load in loads)


def _varies(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and not runs_fixed(stmt)
