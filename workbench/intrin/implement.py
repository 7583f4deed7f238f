"""An implementation in the place of what a block does: each of its cells is one of the buffers'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.intrin.match import View
from workbench.intrin.tensor_intrin import NOTE, TensorIntrin
from workbench.ir import (
    TRUE,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    IfThenElse,
    Node,
    Stmt,
    copy_fresh,
    rewrite,
    substitute,
    walk,
)


def inlined(intrin: TensorIntrin, block: Block, views: Mapping[Buffer, View]) -> Block:
    """`block`, which does what the description of `intrin` says to `views`, implemented.

    A view owns nothing: what the implementation does to a cell of a parameter it does to that of
    the buffer. The blocks in it are opened, and what they allocate the block allocates.
    """
    body, _ = copy_fresh(intrin.impl.body)
    own = [b for node in walk(body) if isinstance(node, Block) for b in node.alloc_buffers]
    tiles = {
        param: views[told]
        for param, told in zip(intrin.impl.params, intrin.desc.params, strict=True)
    }

    def visit(node: Node) -> Node:
        match node:
            case BufferLoad(buffer=param) | BufferStore(buffer=param) if param in tiles:
                tile = tiles[param]
                return replace(node, buffer=tile.buffer, indices=tile.cell(node.indices))
            case BlockRealize(predicate=predicate, block=inner):
                done = substitute(inner.body, node.bindings)
                return done if predicate is TRUE else IfThenElse(predicate, done)
        return node

    made = rewrite(body, visit)
    assert isinstance(made, Stmt)
    return replace(
        block,
        body=made,
        alloc_buffers=(*block.alloc_buffers, *own),
        annotations=tuple(pair for pair in block.annotations if pair[0] != NOTE),
    )
