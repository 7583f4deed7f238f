"""What decides which blocks run: it must not change while the program runs."""

from __future__ import annotations

from workbench.access.units import buffers_read, buffers_written
from workbench.diag import Refusal
from workbench.ir import BlockRealize, BufferLoad, Expr, For, IfThenElse, PrimFunc, Stmt, walk
from workbench.ir.places import inner, places


def check_control(func: PrimFunc) -> None:
    """Refuse a program in which what it writes decides how often a block runs, or for which values.

    Verbs know a block by what it declares to read and write; what stands around it is read outside
    of any block. So they may move a block past a store only where no loop's extent, no `if`,
    T.where or T.axis around blocks reads what is stored. An argument that is only read may decide.
    """
    written = buffers_written(func.body)
    waiting: list[Stmt] = [func.body]
    while waiting:
        stmt = waiting.pop()
        waiting += inner(stmt)
        for expr in _deciding(stmt):
            hit = sorted(buffers_read(expr) & written, key=lambda buffer: buffer.name)
            if hit and (isinstance(stmt, BlockRealize) or places(func).blocks_under(stmt)):
                load = next(n for n in walk(expr) if isinstance(n, BufferLoad))
                raise Refusal(
                    f"Can't schedule {func.name}: {hit[0].name}, which it writes, decides which "
                    "blocks run",
                    load,
                    detail="a loop's extent, `if`, T.where or T.axis around a block may read what "
                    "no block writes",
                    hint=f"read {hit[0].name} inside the block: with `if`, or T.if_then_else",
                )


def _deciding(stmt: Stmt) -> tuple[Expr, ...]:
    if isinstance(stmt, For):
        return stmt.min, stmt.extent
    if isinstance(stmt, IfThenElse):
        return (stmt.condition,)
    return (stmt.predicate, *stmt.iter_values) if isinstance(stmt, BlockRealize) else ()
