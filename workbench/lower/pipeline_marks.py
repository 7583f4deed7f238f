"""pipeline_marks: where the statements of pipelines begin and end, until barriers are in place.

A mark is a store that nothing reads. The passes up to `insert_barriers` keep it where it is, also
in a prologue and in copies for virtual threads; `flatten_buffers` leaves it out.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.access.pipelines import Mark, Pipeline
from workbench.ir import (
    TRUE,
    Block,
    BlockRealize,
    BufferStore,
    CommitGroup,
    For,
    IfThenElse,
    Not,
    SeqStmt,
    Stmt,
    WaitGroup,
    const,
    seq,
)


def with_marks(pipeline: Pipeline) -> Pipeline:
    """`pipeline` with marks around each of its statements."""
    stmts = (
        stmt if isinstance(stmt, (CommitGroup, WaitGroup)) else _marked(pipeline.loop, k, stmt)
        for k, stmt in enumerate(pipeline.stmts)
    )
    return replace(pipeline, stmts=tuple(stmts))


def _marked(loop: For, k: int, stmt: Stmt) -> Stmt:
    begin, end = (
        BufferStore(
            Mark("mark", (1,), "int32", "local", loop=loop.loop_var, k=k, begins=begins),
            const(0, "int32"),
            (loop.loop_var - loop.min,),
        )
        for begins in (True, False)
    )
    return BlockRealize((), TRUE, Block("", (), (), (), seq(begin, stmt, end)))


def without_marks(stmt: Stmt) -> Stmt | None:
    """`stmt`, which has no blocks any more, without marks; None where nothing else is in it."""
    match stmt:
        case SeqStmt(stmts):
            kept = [done for done in map(without_marks, stmts) if done is not None]
            return seq(*kept) if kept else None
        case For():
            body = without_marks(stmt.body)
            return None if body is None else replace(stmt, body=body)
        case IfThenElse(condition, then_case, else_case):
            then = without_marks(then_case)
            otherwise = None if else_case is None else without_marks(else_case)
            if then is None:
                return None if otherwise is None else IfThenElse(Not(condition), otherwise)
            return IfThenElse(condition, then, otherwise)
        case BufferStore(buffer=Mark()):
            return None
    return stmt
