"""inline_iterators: write each block in terms of the loops around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from workbench.access.accesses import first_turn
from workbench.access.pipelines import with_statements
from workbench.check.double_buffers import with_double_buffers
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
    walk_statements,
)

N = TypeVar("N", bound=Node)
Values = Mapping[Var, Expr]


def inline_iterators(func: PrimFunc) -> PrimFunc:
    """Put the values of each block's iterators in their place, and init under "the first time".

    The blocks stay, without iterators, for what else they say: a predicate, annotations. What they
    allocate, the root block allocates. A statement of a pipeline has a block of its own.
    """
    body = _inlined(with_statements(with_double_buffers(func.body)), {})
    assert isinstance(body, BlockRealize)
    own = (
        b
        for node in walk_statements(func.root)
        if isinstance(node, Block)
        for b in node.alloc_buffers
    )
    root = replace(body.block, alloc_buffers=tuple(own))
    body = replace(body, block=root)
    return replace(func, body=body)


def _inlined(node: N, values: Values) -> N:
    if isinstance(node, Var):
        return values.get(node, node)  # type: ignore[return-value]
    if isinstance(node, BlockRealize):
        return _realized(node, values)  # type: ignore[return-value]
    rebuilt = rebuild(node, lambda child: _inlined(child, values))
    if isinstance(rebuilt, BinOp) and rebuilt is not node:
        return binary(rebuilt.op, rebuilt.a, rebuilt.b)  # type: ignore[return-value]
    return rebuilt


def _realized(realize: BlockRealize, outer: Values) -> BlockRealize:
    block = realize.block
    iter_values = [substitute(value, outer) for value in realize.iter_values]
    values = {**outer, **dict(zip((it.var for it in block.iter_vars), iter_values, strict=True))}
    body = _inlined(block.body, values)
    if block.init is not None:
        body = seq(_initially(_inlined(block.init, values), block.iter_vars, values), body)
    opaque = replace(
        block,
        iter_vars=(),
        reads=tuple(_inlined(region, values) for region in block.reads),
        writes=tuple(_inlined(region, values) for region in block.writes),
        body=body,
        init=None,
        alloc_buffers=(),
    )
    return BlockRealize((), substitute(realize.predicate, outer), opaque)


def _initially(init: Stmt, iter_vars: Sequence[IterVar], values: Values) -> Stmt:
    """`init`, run only where every reduction is at its start."""
    condition: Expr = TRUE
    for start in first_turn(iter_vars):
        condition = binary("and", condition, substitute(start, values))
    return init if condition is TRUE else IfThenElse(condition, init)
