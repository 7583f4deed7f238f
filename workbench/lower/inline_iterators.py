"""inline_iterators: write each block in terms of the loops around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BlockRealize,
    Expr,
    IfThenElse,
    IterVar,
    Node,
    PrimFunc,
    Stmt,
    Var,
    binary,
    rebuild,
    seq,
    substitute,
    walk,
)

Values = Mapping[Var, Expr]


def inline_iterators(func: PrimFunc) -> PrimFunc:
    """Put the values of each block's iterators in their place, and init under "the first time".

    The blocks stay, without iterators, for what else they say: a predicate, annotations. What they
    allocate, the root block allocates.
    """
    body = _inlined(func.body, {})
    nested = [n for n in walk(body.block.body) if isinstance(n, Block) and n.alloc_buffers]
    if nested:
        own = tuple(buffer for block in nested for buffer in block.alloc_buffers)
        root = replace(body.block, alloc_buffers=(*body.block.alloc_buffers, *own))
        body = replace(body, block=root)
    return replace(func, body=body)


def _inlined(node: Node, values: Values) -> Node:
    if isinstance(node, Var):
        return values.get(node, node)
    if isinstance(node, BlockRealize):
        return _realized(node, values)
    rebuilt = rebuild(node, partial(_inlined, values=values))
    if isinstance(rebuilt, BinOp) and rebuilt is not node:
        return binary(rebuilt.op, rebuilt.a, rebuilt.b)
    return rebuilt


def _realized(realize: BlockRealize, outer: Values) -> BlockRealize:
    block = realize.block
    iter_values = [substitute(value, outer) for value in realize.iter_values]
    values = {**outer, **dict(zip((it.var for it in block.iter_vars), iter_values, strict=True))}
    inline = partial(_inlined, values=values)
    body = inline(block.body)
    if block.init is not None:
        body = seq(_initially(inline(block.init), block.iter_vars, values), body)
    opaque = replace(
        block,
        iter_vars=(),
        reads=tuple(inline(region) for region in block.reads),
        writes=tuple(inline(region) for region in block.writes),
        body=body,
        init=None,
    )
    return BlockRealize((), substitute(realize.predicate, outer), opaque)


def _initially(init: Stmt, iter_vars: Sequence[IterVar], values: Values) -> Stmt:
    """`init`, run only where every reduction is at its start."""
    conditions = [
        binary("==", values[it.var], it.dom.min) for it in iter_vars if it.kind == "reduce"
    ]
    condition = reduce(partial(binary, "and"), conditions, TRUE)
    return init if condition is TRUE else IfThenElse(condition, init)
