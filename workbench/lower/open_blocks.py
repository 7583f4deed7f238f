"""open_blocks: what a block around bound loops runs, without the block, so that all is seen."""

from __future__ import annotations

from dataclasses import replace

from workbench.arith import reads_memory
from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    Const,
    For,
    IfThenElse,
    Node,
    PrimFunc,
    Stmt,
    Var,
    free_vars,
    once,
    rebuild,
    substitute,
    substitute_cells,
    walk,
)


@once
def open_blocks(func: PrimFunc) -> PrimFunc:
    """`func` with each block that holds bound loops opened: its body, told in the loops around it.

    What threads share is asked of the blocks and loops directly under the root. A block stays where
    it has a T.init(), an annotation, or an iterator that memory decides, which its body may change.
    """
    moved: list[Buffer] = []

    def visit(node: Node) -> Node:
        if isinstance(node, Block) and not _holds_bound(node):
            return node
        rebuilt = rebuild(node, visit)
        if not isinstance(rebuilt, BlockRealize) or not _may_open(rebuilt):
            return rebuilt
        own, body = _one_for_each(rebuilt.block)
        moved.extend(own)
        body = substitute(_told_again(body, rebuilt.block), rebuilt.bindings)
        always = isinstance(rebuilt.predicate, Const) and rebuilt.predicate.value
        return body if always else IfThenElse(rebuilt.predicate, body)

    root = func.root
    body = visit(root.body)
    if body is root.body:
        return func
    assert isinstance(body, Stmt)
    block = replace(root, body=body, alloc_buffers=(*root.alloc_buffers, *moved))
    return replace(func, body=replace(func.body, block=block))


def _one_for_each(block: Block) -> tuple[tuple[Buffer, ...], Stmt]:
    """What `block` allocates, with axes for its instances, and its body, which uses these."""
    axes = [
        it for it in block.iter_vars if it.kind == "spatial" and isinstance(it.dom.extent, Const)
    ]
    counts = tuple(int(it.dom.extent.value) for it in axes)  # type: ignore[attr-defined]
    at = tuple(it.var - it.dom.min for it in axes)
    larger = {old: replace(old, shape=(*counts, *old.shape)) for old in block.alloc_buffers}

    return tuple(larger.values()), substitute_cells(block.body, larger, lambda _: at)


def _told_again(body: Stmt, opened: Block) -> Stmt:
    """`body` of the block `opened`, with iterators for those that a block in it uses.

    Which of its instances write the same cells is asked of iterators.
    """
    spatial = [it for it in opened.iter_vars if it.kind == "spatial"]

    def visit(node: Node) -> Node:
        if not isinstance(node, BlockRealize):
            return rebuild(node, visit)
        used = set(free_vars(node.block))
        fresh = {it.var: Var(it.var.name, it.var.type) for it in spatial if it.var in used}
        if not fresh:
            return node
        block: Block = substitute(node.block, fresh)
        own = tuple(replace(it, var=fresh[it.var]) for it in spatial if it.var in fresh)
        return replace(
            node,
            iter_values=(*fresh, *node.iter_values),
            block=replace(block, iter_vars=(*own, *block.iter_vars)),
        )

    told = visit(body)
    assert isinstance(told, Stmt)
    return told


def _holds_bound(block: Block) -> bool:
    return any(isinstance(node, For) and node.thread is not None for node in walk(block))


def _may_open(realize: BlockRealize) -> bool:
    block = realize.block
    told = (realize.predicate, *realize.iter_values)
    plain = block.init is None and not block.annotations
    return plain and _holds_bound(block) and not any(map(reads_memory, told))
