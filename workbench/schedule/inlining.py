"""What the two inlining primitives share: a block's one store, and its indices turned round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from workbench import arith
from workbench.access.counters import Bounds
from workbench.diag import Refusal
from workbench.ir import (
    DEEPEST,
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    Expr,
    Node,
    PrimFunc,
    Range,
    Var,
    binary,
    const,
    rebuild,
    rewrite,
    too_deep,
)
from workbench.ir.places import places
from workbench.schedule.domains import domain
from workbench.schedule.moving import removed
from workbench.schedule.scope import reallocate
from workbench.schedule.site import Site

T = TypeVar("T", bound=Node)


def only_store(site: Site[Block]) -> BufferStore:
    """The store that is all that the block does."""
    if site.node.init is not None:
        raise site.refuse(
            "it is a sum, which no single expression gives",
            hint="inline blocks that compute each cell at once; move a sum with compute_at",
        )
    if not isinstance(site.node.body, BufferStore):
        raise site.refuse(
            "it does more than to store one value",
            hint="inline blocks whose body is one assignment",
        )
    return site.node.body


def inverse(
    indices: tuple[Expr, ...], cell: tuple[Expr, ...], ends: Bounds, dom: Bounds
) -> dict[Var, Expr] | None:
    """The iterators for which `indices` are `cell`; None where they are not decided by it.

    Each index is a constant, or a sum in which every iterator is a digit: ``v``, ``v + 3``,
    ``v * 4 + w`` with w < 4; or two are ``v // 4`` and ``v % 4``. `dom` bounds the variables of
    `cell`.
    """
    solved: dict[Var, Expr] = {}
    high_digits = {
        (n.a, n.b.value): value  # type: ignore[attr-defined]
        for n, value in zip(indices, cell, strict=True)
        if _is_digit(n, "//")
    }
    for index, value in zip(indices, cell, strict=True):
        if _is_digit(index, "//"):
            continue
        if _is_digit(index, "%"):
            var, size = index.a, index.b.value  # type: ignore[attr-defined]
            if (var, size) not in high_digits or var in solved:
                return None
            solved[var] = arith.simplify(high_digits[var, size] * int(size) + value, dom)
            continue
        if isinstance(index, Var):
            if index in solved:
                return None
            solved[index] = value
            continue
        digits = _digits(index, ends)
        if digits is None:
            return None
        offset, parts = digits
        rest = value - offset if offset else value
        for k, (var, factor, low) in enumerate(parts):
            if var in solved:
                return None
            part = rest if factor == 1 else rest // factor
            if k:  # a digit below another one
                part = part % (parts[k - 1][1] // factor)
            solved[var] = arith.simplify(part + low if low else part, dom)
    for var, (low, high) in ends.items():
        if low == high:
            solved.setdefault(var, const(low, var.dtype))
    return solved if set(solved) == set(ends) else None


def _is_digit(index: Expr, op: str) -> bool:
    return (
        isinstance(index, BinOp)
        and index.op == op
        and isinstance(index.a, Var)
        and isinstance(index.b, Const)
    )


def _digits(index: Expr, ends: Bounds) -> tuple[int, list[tuple[Var, int, int]]] | None:
    """A constant and the iterators with their factor and lowest value, the largest factor first.

    Each stands for as many cells as there are below its factor, so that they can be told apart.
    """
    affine = arith.linear(index, ends)
    if affine is None or not isinstance(affine[1], Const):
        return None
    offset = int(affine[1].value)
    parts = []
    size = 1
    for var, factor in sorted(affine[0].items(), key=lambda item: item[1]):
        low, high = ends[var]
        if low == high:
            offset += factor * low
            continue
        if factor != size:
            return None
        size *= high - low + 1
        offset += factor * low
        parts.append((var, factor, low))
    return offset, parts[::-1]


def inlined(realize: BlockRealize, change: Callable[[Node], Node | None]) -> BlockRealize:
    """`realize` with `change` applied to its loads and stores, and regions inferred anew."""

    def visit(node: Node) -> Node | None:
        changed = rebuild(node, visit)
        if isinstance(changed, (BufferLoad, BufferStore)):
            return change(changed)
        if isinstance(changed, Block) and isinstance(node, Block):
            same = changed.body is node.body and changed.init is node.init
            return node if same else with_regions(changed)
        return changed

    result = visit(realize)
    assert isinstance(result, BlockRealize)
    if too_deep(result):
        raise Refusal(
            f"Can't inline into `{realize.block.name}`: its expression would be too deep",
            realize,
            hint=f"at most {DEEPEST} levels can be nested; keep this value in its buffer",
        )
    return result


def tidied(tree: T, dom: Bounds) -> T:
    """`tree` with its indices and ranges simplified; `dom` bounds the variables in them."""

    def change(node: Node) -> Node:
        match node:
            case BufferLoad(indices=indices) | BufferStore(indices=indices):
                return replace(node, indices=tuple(arith.simplify(i, dom) for i in indices))
            case Range(low, extent):
                return Range(arith.simplify(low, dom), arith.simplify(extent, dom))
        return node

    return rewrite(tree, change)


def with_regions(block: Block) -> Block:
    """`block` with what it reads and writes inferred from what it does."""
    reads, writes = arith.access_regions(block)
    return replace(block, reads=reads, writes=writes)


def without_block(
    site: Site[Block], changed: PrimFunc, buffer: Buffer
) -> tuple[PrimFunc, tuple[Var, ...]]:
    """`changed` without the block and `buffer`; also the variables of the loops that are gone."""
    left, gone = removed(changed, places(changed).realize(site.node))
    kept = [b for b in site.scope.block.alloc_buffers if b is not buffer]
    return reallocate(left, site.scope, kept), gone


def domain_conditions(block: Block, values: dict[Var, Expr], dom: Bounds) -> list[Expr]:
    """What must hold beside `dom` so that `values` are in the domains of the block's iterators."""
    asked = []
    for var, (low, high) in domain(block).items():
        for condition in (binary("<=", low, values[var]), values[var] < high + 1):
            if not arith.prove(condition, dom):
                asked.append(arith.simplify(condition, dom))
    return asked


def fixed_conditions(
    indices: tuple[Expr, ...], cell: tuple[Expr, ...], ends: Bounds, dom: Bounds
) -> list[Expr]:
    """What must hold so that `cell` is one of the `indices` that do not vary: ``B[v, 0]``."""
    asked = []
    for index, value in zip(indices, cell, strict=True):
        if isinstance(index, BinOp) and _is_digit(index, "%"):
            if not arith.prove(value < index.b, dom):
                asked.append(value < index.b)
            continue
        if isinstance(index, Var) or _is_digit(index, "//"):
            continue
        digits = _digits(index, ends)
        assert digits is not None
        if not digits[1] and not arith.equal(value, const(digits[0], value.dtype), dom):
            asked.append(binary("==", value, digits[0]))
    return asked
