"""variables: arrays of one cell that are written as variables, declared where they get a value."""

from __future__ import annotations

from collections.abc import Set

from workbench.access.pipelines import uses
from workbench.ir import Buffer, BufferStore, SeqStmt, Stmt, walk


def variables(body: Stmt) -> Set[Buffer]:
    """The local arrays of one cell of which one store stands ahead of all other uses.

    In the same sequence of statements, so that C knows the variable wherever it is used.
    """
    found: set[Buffer] = set()
    for sequence in (node for node in walk(body) if isinstance(node, SeqStmt)):
        for k, stmt in enumerate(sequence.stmts):
            if not isinstance(stmt, BufferStore) or uses(stmt, stmt.buffer) > 1:
                continue
            buffer = stmt.buffer
            if buffer.scope == "local" and buffer.shape == (1,):
                behind = sum(uses(later, buffer) for later in sequence.stmts[k + 1 :])
                if behind == uses(body, buffer) - 1:
                    found.add(buffer)
    return found
