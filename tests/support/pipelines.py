"""Pipelines written out as programs, which mean what they do."""

from __future__ import annotations

from dataclasses import replace

from workbench.check.pipelines import written_out
from workbench.ir import (
    Block,
    BlockRealize,
    BufferRegion,
    Node,
    PrimFunc,
    Range,
    SeqStmt,
    const,
    rewrite,
    size_expr,
)


def expanded(func: PrimFunc) -> PrimFunc:
    """`func` with the turns of its pipelines written out. Raises Refusal as `written_out`."""
    made = written_out(func)
    if made.body is func.body:
        return func
    own = made.buffers
    left = dict(own)

    def visit(node: Node) -> Node:
        match node:
            case Block():
                return replace(
                    node, alloc_buffers=tuple(left.pop(b, b) for b in node.alloc_buffers)
                )
            case BufferRegion(buffer, region) if own.get(buffer, buffer) is not buffer:
                held = own[buffer]
                copies = held.shape[: len(held.shape) - len(region)]  # of two pipelines, maybe
                every = (Range(const(0, "int32"), size_expr(n, "int32")) for n in copies)
                return BufferRegion(held, (*every, *region))
        return node

    new = replace(func, body=rewrite(rewrite(made.body, _plain), visit))
    root = replace(new.root, alloc_buffers=(*new.root.alloc_buffers, *left.values()))
    return replace(new, body=replace(new.body, block=root))


def _plain(node: Node) -> Node:
    """`node` without a block that `with_statements` put around it."""
    match node:
        case BlockRealize((), block=Block("", (), (), (), SeqStmt(()))):
            return node  # may be all that there is in a loop
        case BlockRealize((), block=Block("", (), (), (), body)):
            return body
    return node
