"""flatten_buffers: one dimension for every buffer, row after row."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from workbench.arith import Simplifier
from workbench.arith.canonical import Sum
from workbench.ir import (
    BinOp,
    Buffer,
    BufferLoad,
    BufferStore,
    Cast,
    Expr,
    Kernel,
    Node,
    Var,
    free_vars,
    rewrite,
    substitute,
    walk,
)
from workbench.lower.known_bounds import known_bounds
from workbench.target import Target

INT32_MAX = 2**31 - 1


def flatten_buffers(kernel: Kernel, target: Target) -> Kernel:
    """Give each buffer one dimension; offsets and conditions that may pass 2^31 get 64 bits."""
    flatter = _Flatter(kernel)
    body = rewrite(kernel.body, flatter.visit)
    params = tuple(flatter.flat[b] for b in kernel.params)
    allocs = tuple(flatter.flat[b] for b in kernel.allocs)
    views = tuple((flatter.flat[held], whole) for held, whole in kernel.views)
    return replace(kernel, params=params, allocs=allocs, views=views, body=body)


def strides(buffer: Buffer) -> tuple[int, ...]:
    """How many cells apart neighbours along each dimension of `buffer` lie."""
    if buffer.strides:
        return buffer.strides
    return tuple(prod(buffer.shape[k + 1 :]) for k in range(len(buffer.shape)))


class _Flatter:
    def __init__(self, kernel: Kernel) -> None:
        self.simplifier = Simplifier(known_bounds(kernel))
        self.flat = {b: _flat(b) for b in (*kernel.params, *kernel.allocs)}

    def visit(self, node: Node) -> Node:
        match node:
            case BufferLoad(buffer, indices):
                return BufferLoad(self.flat[buffer], (self.offset(buffer, indices),))
            case BufferStore(buffer, value, indices):
                return BufferStore(self.flat[buffer], value, (self.offset(buffer, indices),))
            case BinOp(op, a, b) if node.dtype == "bool" and a.dtype == "int32":
                if self.may_overflow(a) or self.may_overflow(b):
                    return BinOp(op, _widened(a), _widened(b))
        return node

    def offset(self, buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
        """The cell of the flat buffer at `indices`."""
        wide = self.flat[buffer].shape[0] > INT32_MAX or any(map(self.may_overflow, indices))
        known = self.simplifier
        total = Sum()
        for index, stride in zip(indices, strides(buffer), strict=True):
            total = total.plus(known.sum_of(_widened(index) if wide else index), stride)
        return known.expr_of(known.tidy(total), "int64" if wide else "int32")

    def may_overflow(self, e: Expr) -> bool:
        """Whether 32 bits may not hold a sum or product in `e`, loads aside."""
        for part in walk(e):
            if isinstance(part, BinOp) and part.dtype == "int32":
                low, high = self.simplifier.expr_interval(part)
                if (low is not None and low < -INT32_MAX) or (
                    high is not None and high > INT32_MAX
                ):
                    return True
        return False


def _flat(buffer: Buffer) -> Buffer:
    steps = zip(buffer.shape, strides(buffer), strict=True)
    cells = 1 + sum((extent - 1) * stride for extent, stride in steps)
    return Buffer(buffer.name, (cells,), buffer.type, buffer.scope)


def _widened(e: Expr) -> Expr:
    """`e` in 64 bits, from its variables on."""
    values: dict[Var, Expr] = {v: Cast("int64", v) for v in free_vars(e) if v.type == "int32"}
    wide = substitute(e, values)
    return wide if wide.dtype == "int64" else Cast("int64", wide)
