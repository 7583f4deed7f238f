"""unroll_registers: loops over per-thread arrays unrolled, so that the arrays can be registers."""

from __future__ import annotations

from dataclasses import replace

from workbench.ir import (
    BufferLoad,
    BufferStore,
    Const,
    For,
    Kernel,
    Node,
    Stmt,
    Var,
    free_vars,
    rebuild,
    walk,
)
from workbench.target import Target

_MOST = 1024  # copies of a loop's body; more make a kernel that does not fit an instruction cache


def unroll_registers(kernel: Kernel, target: Target) -> Kernel:
    """Unroll loops that count through local arrays: registers have names, not addresses."""
    body = _unrolled(kernel.body, _MOST)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _unrolled(stmt: Stmt, budget: int) -> Stmt:
    """`stmt` with such loops unrolled, none of it copied more than `budget` times."""

    def visit(node: Node) -> Node:
        return _unrolled(node, budget) if isinstance(node, Stmt) else node

    if not isinstance(stmt, For) or not isinstance(stmt.extent, Const):
        return rebuild(stmt, visit)
    extent = max(int(stmt.extent.value), 1)
    wanted = stmt.kind == "unrolled" or _counts_registers(stmt.body, stmt.loop_var)
    if not wanted or extent > budget:
        return rebuild(stmt, visit)
    body = _unrolled(stmt.body, budget // extent)
    if stmt.kind == "unrolled" and body is stmt.body:
        return stmt
    return replace(stmt, kind="unrolled", body=body)


def _counts_registers(body: Stmt, var: Var) -> bool:
    return any(
        node.buffer.scope == "local" and any(var in free_vars(index) for index in node.indices)
        for node in walk(body)
        if isinstance(node, (BufferLoad, BufferStore))
    )
