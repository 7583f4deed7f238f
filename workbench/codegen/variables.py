"""variables: arrays of one cell that are written as variables, and where these are declared."""

from __future__ import annotations

from collections.abc import Set

from workbench.access.pipelines import uses
from workbench.ir import Buffer, BufferStore, Kernel, SeqStmt, walk_statements


def variables(kernel: Kernel) -> Set[Buffer]:
    """The arrays of one cell that each thread has for itself."""
    return {b for b in kernel.allocs if b.scope == "local" and b.shape == (1,)}


def declared_by_store(kernel: Kernel) -> Set[Buffer]:
    """Those of them of which one store stands ahead of all other uses.

    In the same sequence of statements, so that C knows the variable wherever it is used.
    """
    found: set[Buffer] = set()
    candidates = variables(kernel)
    for sequence in (node for node in walk_statements(kernel.body) if isinstance(node, SeqStmt)):
        for k, stmt in enumerate(sequence.stmts):
            if not isinstance(stmt, BufferStore) or stmt.buffer not in candidates:
                continue
            here = uses(stmt, stmt.buffer)
            behind = sum(uses(later, stmt.buffer) for later in sequence.stmts[k + 1 :])
            if here == 1 and behind == uses(kernel.body, stmt.buffer) - 1:
                found.add(stmt.buffer)
    return found
