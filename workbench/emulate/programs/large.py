"""Large programs by their meaning: nests whose outer iterations are independent, as launches.

Where no two iterations of a loop touch one cell that one of them writes, their order does not
matter, and they may be the blocks of a kernel. Each block has one thread, which runs the loops
inside in their order, and nests follow each other as kernels do, so nothing else changes places. A
scope is a label in a program, so every buffer may be global. What is refused on the way is run
again by `evaluate` in serial order, and told from there.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from workbench import target
from workbench.emulate.expressions import count_turns
from workbench.emulate.kernels.loops import independent_loops
from workbench.emulate.programs.order import MOST_LANES, Order
from workbench.ir import (
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    For,
    Kernel,
    Node,
    PrimFunc,
    Stmt,
    rewrite,
    stmts_of,
    substitute_buffers,
    walk,
)
from workbench.ir.places import inner
from workbench.lower.drop_blocks import drop_blocks
from workbench.lower.flatten_buffers import flatten_buffers
from workbench.lower.inline_iterators import inline_iterators

_ANY = target.get("cuda")  # the passes used here ask it nothing but how wide an offset is
_FEW_BLOCKS = 64  # with fewer, a turn of a loop that carries something is hardly shared
_MOST_TURNS = 1 << 16  # of such loops in a launch of few blocks: some seconds


def as_launches(func: PrimFunc) -> tuple[Kernel, ...] | None:
    """`func` as kernels of one thread a block that do the same, where that is worth while.

    Each nest becomes one: an outermost loop whose iterations touch nothing in common becomes the
    grid, every other loop stays a loop of its only thread, every buffer is global. None for a
    small program, and where some nest's outermost loop carries something.
    """
    order = Order()
    if any(isinstance(n, For) and not isinstance(n.extent, Const) for n in walk(func.body)):
        return None
    if order.count_lanes(func.root.body) <= MOST_LANES:
        return None
    inlined = inline_iterators(_make_global(func))
    buffers = (*func.params, *inlined.root.alloc_buffers)
    launches = [_launch(func.name, nest, buffers) for nest in stmts_of(inlined.root.body)]
    return None if None in launches else tuple(k for k in launches if k is not None)


def _launch(name: str, nest: Stmt, buffers: tuple[Buffer, ...]) -> Kernel | None:
    used = {n.buffer for n in walk(nest) if isinstance(n, (BufferLoad, BufferStore))}
    params = tuple(b for b in buffers if b in used)
    views = tuple((b, b) for b in params)
    body = rewrite(nest, _unbind)
    kernel = Kernel(name, params, (), views, (), (1, 1, 1), (1, 1, 1), body)
    kernel = flatten_buffers(drop_blocks(kernel, _ANY), _ANY)
    loop, independent = kernel.body, independent_loops(kernel)
    if not isinstance(loop, For) or loop not in independent:
        return None
    if count_turns(loop) < _FEW_BLOCKS and _count_serial_turns(loop, independent) > _MOST_TURNS:
        return None  # as lanes of the inner loops, see evaluate, it takes a hundredth of the time
    axes = (("blockIdx.x", loop.loop_var),)
    return replace(kernel, axes=axes, grid=(count_turns(loop), 1, 1), body=loop.body)


def _count_serial_turns(stmt: Stmt, independent: Collection[For]) -> int:
    """How many turns of loops in `stmt` follow each other, those of `independent` all at once."""
    parts = inner(stmt)
    below = sum(_count_serial_turns(part, independent) for part in parts) if parts else 1
    return below * (count_turns(stmt) if isinstance(stmt, For) and stmt not in independent else 1)


def _unbind(node: Node) -> Node:
    if isinstance(node, For) and node.thread is not None:
        return replace(node, kind="serial", thread=None)
    return node


def _make_global(func: PrimFunc) -> PrimFunc:
    """`func` with every buffer in global memory, which changes nothing in what it means.

    Nor do notes of blocks, of which some ask for shared memory.
    """
    near = {b: replace(b, scope="global", strides=()) for b in func.root.alloc_buffers}
    plain = rewrite(func.body, lambda n: replace(n, annotations=()) if isinstance(n, Block) else n)
    return substitute_buffers(replace(func, body=plain), near)
