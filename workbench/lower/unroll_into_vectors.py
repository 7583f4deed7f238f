"""unroll_into_vectors: several turns of an unrolled loop in one vector loop, for a CPU."""

from __future__ import annotations

from dataclasses import replace

from workbench.ir import (
    BinOp,
    BufferStore,
    Call,
    Cast,
    Const,
    For,
    Kernel,
    Node,
    Not,
    Select,
    Stmt,
    const,
    free_vars,
    rewrite,
    seq,
    substitute,
    walk,
)
from workbench.lower.drop_blocks import drop_blocks
from workbench.lower.share_loops import Sharing
from workbench.target import Target

_MOST = 16  # turns; their vectors are all at once in registers, of which there are 16 or 32


def unroll_into_vectors(kernel: Kernel, target: Target) -> Kernel:
    """Write the turns of an unrolled loop one after the other in the vector loop that it holds.

    So a sum over these turns stays in a register, where it would be stored and loaded in each.
    """
    sharing = Sharing(kernel)

    def visit(node: Node) -> Node:
        if not isinstance(node, For) or node.kind != "unrolled":
            return node
        vector, extent = node.body, node.extent
        fits = isinstance(extent, Const) and 0 < int(extent.value) <= _MOST
        if not fits or not isinstance(vector, For) or vector.kind != "vectorized":
            return node
        if not _is_plain(vector.body):
            return node
        ends = {*free_vars(vector.min), *free_vars(vector.extent)}
        if node.loop_var in ends or vector.annotations or not sharing.independent(vector, node):
            return node
        return replace(vector, body=_turns(node, vector.body))

    body = rewrite(kernel.body, visit)
    return kernel if body is kernel.body else drop_blocks(replace(kernel, body=body), target)


def _is_plain(body: Stmt) -> bool:
    """Whether `body` is one sum or product: of many branches a compiler makes ever more."""
    branches = any(
        isinstance(n, Call | Cast | Not | Select)
        or (isinstance(n, BinOp) and n.op in ("min", "max", "and", "or"))
        for n in walk(body)
    )
    return isinstance(body, BufferStore) and not branches


def _turns(loop: For, body: Stmt) -> Stmt:
    assert isinstance(loop.extent, Const)
    var, count = loop.loop_var, int(loop.extent.value)
    every = (substitute(body, {var: loop.min + const(k, var.type)}) for k in range(count))
    return seq(*every)
