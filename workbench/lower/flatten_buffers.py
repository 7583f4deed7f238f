"""flatten_buffers: one dimension for every buffer, row after row."""

from __future__ import annotations

from collections.abc import Iterator
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
    For,
    Kernel,
    Node,
    SeqStmt,
    Size,
    Var,
    binary,
    cast,
    const,
    dtypes,
    is_sized,
    rebuild,
    rewrite,
    substitute,
    walk,
)
from workbench.lower.known_bounds import known_bounds
from workbench.lower.pipeline_marks import without_marks
from workbench.lower.shrink_buffers import with_buffers
from workbench.target import Target

INT32_MAX = 2**31 - 1


def flatten_buffers(kernel: Kernel, target: Target) -> Kernel:
    """Give each buffer one dimension; what may pass 2^31 gets 64 bits: offsets, conditions, loops.

    Only values that a program stores are computed in the type that it says, and wrap around in it.
    """
    flatter, body = _Flatter(kernel), without_marks(kernel.body) or SeqStmt(())
    return with_buffers(kernel, flatter.flat, rewrite(body, flatter.visit))


def counts_in_32_bits(kernel: Kernel) -> bool:
    """Whether indices, conditions and loops of a flat kernel, of known sizes, stay in 32 bits."""
    flatter = _Flatter(kernel)
    short = (e for e in counts(kernel) if e.dtype == "int32")
    return not any(map(flatter.overflows, short)) and all(
        b.shape[0] <= INT32_MAX for b in (*kernel.params, *kernel.allocs)
    )


def counts(kernel: Kernel) -> Iterator[Expr]:
    """The numbers that say where a kernel goes: indices, sides of comparisons, ends of loops."""
    for node in walk(kernel.body):
        match node:
            case BufferLoad(indices=indices) | BufferStore(indices=indices):
                yield from indices
            case BinOp(a=a, b=b) if node.dtype == "bool":
                yield from (a, b)
            case For(min=low, extent=extent):
                yield from (low, extent, low + extent)


def strides(buffer: Buffer) -> tuple[Size, ...]:
    """How many cells apart neighbours along each dimension of `buffer` lie."""
    if buffer.strides:
        return buffer.strides
    return tuple(prod(buffer.shape[k + 1 :]) for k in range(len(buffer.shape)))


class _Flatter:
    def __init__(self, kernel: Kernel) -> None:
        self.sized = is_sized(kernel)  # then a launch refuses what 32 bits do not count
        self.simplifier = Simplifier(known_bounds(kernel))
        self.flat = {b: flat(b) for b in (*kernel.params, *kernel.allocs)}

    def visit(self, node: Node) -> Node:
        match node:
            case BufferLoad(buffer=old) | BufferStore(buffer=old):
                offset = self.offset(old, node.indices)
                return replace(node, buffer=self.flat[old], indices=(offset,))
            case BinOp(op, a, b) if node.dtype == "bool" and a.dtype in ("int32", "int64"):
                if self.may_overflow(a) or self.may_overflow(b):
                    return BinOp(op, self.widened(a), self.widened(b))
            case For() if node.loop_var.type == "int32" and self.may_pass(node.min + node.extent):
                return self.widened_loop(node)
        return node

    def may_pass(self, e: Expr) -> bool:
        """Whether `e`, where a loop ends, may be more than 32 bits hold."""
        high = None if self.sized else self.simplifier.expr_interval(e)[1]
        return high is not None and high > INT32_MAX

    def offset(self, buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
        """The cell of the flat buffer at `indices`."""
        if self.sized:
            return self._sized_offset(indices, strides(buffer))
        wide = self.flat[buffer].shape[0] > INT32_MAX or any(map(self.may_overflow, indices))
        known = self.simplifier
        total = Sum({})
        for index, stride in zip(indices, strides(buffer), strict=True):
            total = total.plus(known.sum_of(self.widened(index) if wide else index), stride)
        return known.expr_of(known.tidy(total), "int64" if wide else "int32")

    def _sized_offset(self, indices: tuple[Expr, ...], steps: tuple[Size, ...]) -> Expr:
        """As `offset`, where sizes may be factors."""
        total: Expr = const(0, "int32")
        for index, stride in zip(indices, steps, strict=True):
            total = total + (index * stride)
        return self.simplifier.simplify(total)

    def may_overflow(self, e: Expr) -> bool:
        """Whether 32 bits may not hold a sum or product in `e`, loads aside."""
        return not self.sized and self.overflows(e)

    def overflows(self, e: Expr) -> bool:
        """As `may_overflow`, whether or not a launch sees to it."""
        for part in walk(e):
            if isinstance(part, BinOp) and part.dtype == "int32":
                low, high = self.simplifier.expr_interval(part)
                if (low is not None and low < -INT32_MAX) or (
                    high is not None and high > INT32_MAX
                ):
                    return True
        return False

    def widened(self, e: Expr) -> Expr:
        """`e` in 64 bits, from its variables on, without casts that lose nothing."""

        def visit(node: Node) -> Node:
            match node:
                case Var(type="int32"):
                    return Cast("int64", node)
                case Cast(type="int32" | "int64", value=value) if self.is_held(value, node.type):
                    return visit(value)
            rebuilt = rebuild(node, visit)
            if rebuilt is not node and isinstance(rebuilt, BinOp):
                return binary(rebuilt.op, rebuilt.a, rebuilt.b)
            return rebuilt

        wide = visit(e)
        assert isinstance(wide, Expr)
        return cast("int64", wide)

    def is_held(self, e: Expr, dtype: str) -> bool:
        """Whether every value of the index `e` is one of `dtype`."""
        if e.dtype not in ("int32", "int64"):
            return False
        low, high = self.simplifier.expr_interval(e)
        least, most = dtypes.limits(dtype)
        return low is not None and high is not None and least <= low and high <= most

    def widened_loop(self, loop: For) -> For:
        """`loop` counting in 64 bits; what it holds knows its variable in 32, as it did."""
        wide = Var(loop.loop_var.name, "int64")
        body = substitute(loop.body, {loop.loop_var: Cast("int32", wide)})
        low, extent = self.widened(loop.min), self.widened(loop.extent)
        return replace(loop, loop_var=wide, min=low, extent=extent, body=body)


def flat(buffer: Buffer) -> Buffer:
    """`buffer` in one dimension, with what `storage_align` leaves between rows."""
    if any(isinstance(n, Expr) for n in buffer.shape):
        rows = buffer.shape[0] * strides(buffer)[0]  # with what storage_align leaves between them
        whole = rows if buffer.strides else prod(buffer.shape)
        return Buffer(buffer.name, (whole,), buffer.type, buffer.scope, tag=buffer.tag)
    steps = zip(buffer.shape, strides(buffer), strict=True)
    cells = 1 + sum((extent - 1) * stride for extent, stride in steps)
    return Buffer(buffer.name, (cells,), buffer.type, buffer.scope, tag=buffer.tag)
