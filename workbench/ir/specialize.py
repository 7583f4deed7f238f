"""Sized: a program, or its kernels, for any size as those of these sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from workbench.diag import Fail
from workbench.ir.nodes import (
    BinOp,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    Kernel,
    Node,
    PrimFunc,
    Size,
    SizeVar,
    binary,
    cast,
    const,
    once,
    sizes_in,
)
from workbench.ir.visit import rebuild, walk

N = TypeVar("N", bound=Node)


class Sized:
    """Gives each size its number, in a program and its kernels alike; what is constant is folded.

    What is told to be below 0, turns of a loop, blocks of a grid or cells, is none: 0.
    Nothing else changes: loop variables, iterators and identities of blocks stay as they are.
    """

    def __init__(self, values: Mapping[SizeVar, int]) -> None:
        self._numbers = {size: const(value, size.type) for size, value in values.items()}
        self._buffers: dict[Buffer, Buffer] = {}

    def of(self, node: N) -> N:
        """`node` of these sizes. Raises ZeroDivisionError where a dimension divides by 0."""
        made = self._visit(node)
        if isinstance(made, Kernel):
            views = tuple((self.buffer(a), self.buffer(b)) for a, b in made.views)
            x, y, z = (max(0, self.number(n)) for n in made.grid)
            made = replace(made, views=views, grid=(x, y, z))
        return made  # type: ignore[return-value]

    def number(self, size: Size) -> int:
        """The number that a dimension comes to. Raises ZeroDivisionError where it divides by 0."""
        found = self._wide(size) if isinstance(size, Expr) else const(size, "int64")
        if not isinstance(found, Const):
            raise ZeroDivisionError("a size divides by 0")
        return int(found.value)

    def _wide(self, node: Node) -> Node:
        """As `_visit`, in 64 bits: how long an array is does not wrap around."""
        if isinstance(node, SizeVar):
            return const(self._numbers[node].value, "int64")
        if isinstance(node, Cast):
            return self._wide(node.value)
        new = rebuild(node, self._wide)
        folds = isinstance(new, BinOp) and new is not node and not divides_by_zero(new)
        return binary(new.op, new.a, new.b) if folds else new  # type: ignore[attr-defined]

    def buffer(self, buffer: Buffer) -> Buffer:
        """The buffer of this shape: itself where no size tells it."""
        if not any(isinstance(n, Expr) for n in (*buffer.shape, *buffer.strides)):
            return buffer
        if buffer not in self._buffers:
            sizes = buffer.shape, buffer.strides
            shape, strides = (tuple(max(0, self.number(n)) for n in each) for each in sizes)
            self._buffers[buffer] = replace(buffer, shape=shape, strides=strides)
        return self._buffers[buffer]

    def _visit(self, node: Node) -> Node:
        if isinstance(node, SizeVar):
            return self._numbers[node]
        if isinstance(node, Buffer):
            return self.buffer(node)
        new = rebuild(node, self._visit)
        if new is node:
            return node
        if isinstance(new, BinOp) and not divides_by_zero(new):
            return binary(new.op, new.a, new.b)
        if isinstance(new, For) and isinstance(new.extent, Const) and new.extent.value < 0:
            return replace(new, extent=const(0, new.extent.type))
        return cast(new.type, new.value) if isinstance(new, Cast) else new


@once
def sizes_used(kernel: Kernel) -> tuple[SizeVar, ...]:
    """The sizes that a kernel's own arrays and what it runs are told by: a launch brings them."""
    inside = (node for node in walk(kernel.body) if isinstance(node, SizeVar))
    return tuple(dict.fromkeys((*sizes_in(kernel.allocs), *inside)))


def is_sized(kernel: Kernel) -> bool:
    """Whether sizes tell what a kernel runs, or on how many blocks."""
    told = (n for buffer in (*kernel.params, *kernel.allocs) for n in buffer.shape)
    return any(isinstance(n, Expr) for n in (*kernel.grid, *told)) or bool(sizes_used(kernel))


def refuse_sizes(program: PrimFunc | Kernel, act: str) -> None:
    """Raise Fail, which names `act`, where sizes that are not known tell what `program` does."""
    if isinstance(program, PrimFunc):
        sizes = program.sizes
    else:
        sizes = (*sizes_in((*program.params, *program.allocs)), *sizes_used(program))
    if not sizes:
        return
    names = dict.fromkeys(size.name for size in sizes)
    told = ", ".join(f"`{name}`" for name in names)
    numbers = ", ".join(f'"{name}": 1024' for name in names)
    raise Fail(
        f"Can't {act} {program.name}: its sizes are not known: {told}",
        hint=f"give it a size: func.specialize({{{numbers}}})",
    )


def divides_by_zero(e: Node) -> bool:
    """Whether `e` is a division by a 0 that stands there."""
    if not isinstance(e, BinOp):
        return False
    return e.op in ("//", "%") and isinstance(e.b, Const) and e.b.value == 0
