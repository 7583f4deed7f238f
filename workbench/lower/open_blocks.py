"""open_blocks: what a block around bound loops runs, without the block, so that all is seen."""

from __future__ import annotations

from collections.abc import Sequence
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
    Range,
    Stmt,
    Var,
    free_vars,
    once,
    rebuild,
    substitute,
    substitute_cells,
    walk,
)
from workbench.lower.stage_copies import stage_copies


@once
def open_blocks(func: PrimFunc) -> PrimFunc:
    """`func` with each block that holds bound loops opened: its body, told in the loops around it.

    What threads share is asked of the blocks and loops directly under the root. A block stays where
    it has a T.init(), an annotation, or an iterator that memory decides, which its body may change.
    """
    moved: list[Buffer] = []
    around: list[For] = []  # bound loops, outermost first

    def visit(node: Node) -> Node:
        if isinstance(node, Block) and not _holds_bound(node):
            return node
        bound = [node] if isinstance(node, For) and node.thread else []
        around.extend(bound)
        rebuilt = rebuild(node, visit)
        del around[len(around) - len(bound) :]
        if not isinstance(rebuilt, BlockRealize) or not _may_open(rebuilt):
            return rebuilt
        own, body = _one_for_each(rebuilt.block, around)
        moved.extend(own)
        body = substitute(_told_again(body, rebuilt.block), rebuilt.bindings)
        always = isinstance(rebuilt.predicate, Const) and rebuilt.predicate.value
        return body if always else IfThenElse(rebuilt.predicate, body)

    func = stage_copies(func)
    root = func.root
    body = visit(root.body)
    if body is root.body:
        return func
    assert isinstance(body, Stmt)
    block = replace(root, body=body, alloc_buffers=(*root.alloc_buffers, *moved))
    return replace(func, body=replace(func.body, block=block))


def _one_for_each(block: Block, around: Sequence[For]) -> tuple[tuple[Buffer, ...], Stmt]:
    """What `block` allocates, with axes for its instances, and its body, which uses these.

    The instances of a block without iterators are the turns of the loops `around`.
    """
    every = [(it.var, it.dom) for it in block.iter_vars if it.kind == "spatial"]
    if not block.iter_vars:
        every = [(loop.loop_var, Range(loop.min, loop.extent)) for loop in around]
    axes = [(var, dom) for var, dom in every if isinstance(dom.extent, Const)]
    counts = tuple(int(dom.extent.value) for _, dom in axes)  # type: ignore[attr-defined]
    at = tuple(var - dom.min for var, dom in axes)
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
