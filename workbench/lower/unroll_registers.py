"""unroll_registers: loops over per-thread arrays unrolled, so that the arrays can be registers.

Where a loop uses copies of such an array in turn, as a pipeline does, ``i % 3`` of three, every
third turn is at the same registers: it is enough to write so many turns out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import lcm

from workbench.arith import linear
from workbench.ir import (
    BinOp,
    BufferLoad,
    BufferStore,
    Const,
    Expr,
    For,
    Kernel,
    Node,
    Stmt,
    Var,
    attrs_dict,
    children,
    free_vars,
    is_warp_call,
    rebuild,
    walk,
)
from workbench.target import Target

_MOST = 1024  # copies of a loop's body; more make a kernel that does not fit an instruction cache
TURNS = "turns"  # an unrolled loop's note: how many turns are written out, where not all are


def unroll_registers(kernel: Kernel, target: Target) -> Kernel:
    """Unroll loops that count through local arrays: registers have names, not addresses."""
    body = _unrolled(kernel.body, _MOST)
    return kernel if body is kernel.body else replace(kernel, body=body)


def turns_written(loop: For) -> int | None:
    """How many turns of an unrolled loop are written out at a time; None for all."""
    found = attrs_dict(loop.annotations).get(TURNS)
    return found if isinstance(found, int) else None


def _unrolled(stmt: Stmt, budget: int) -> Stmt:
    """`stmt` with such loops unrolled, none of it copied more than `budget` times."""

    def visit(node: Node) -> Node:
        return _unrolled(node, budget) if isinstance(node, Stmt) else node

    if is_warp_call(stmt):
        return stmt
    if not isinstance(stmt, For) or not isinstance(stmt.extent, Const):
        return rebuild(stmt, visit)
    extent = max(int(stmt.extent.value), 1)
    turns = extent if stmt.kind == "unrolled" else min(_different(stmt), extent)
    if not turns or turns > budget:
        return rebuild(stmt, visit)
    body = _unrolled(stmt.body, budget // turns)
    if stmt.kind == "unrolled" and body is stmt.body:
        return stmt
    notes = stmt.annotations if turns == extent else (*stmt.annotations, (TURNS, turns))
    return replace(stmt, kind="unrolled", body=body, annotations=notes)


def _different(loop: For) -> int:
    """After how many turns of `loop` its registers come again: 0 where it names none."""
    indices = (
        index
        for node in walk(loop.body)
        if isinstance(node, (BufferLoad, BufferStore)) and node.buffer.scope == "local"
        for index in node.indices
    )
    found = [turns for index in indices for turns in _periods(index, loop)]
    return lcm(*found) if found else 0


def _periods(index: Expr, loop: For) -> Iterator[int]:
    """Of each part of `index` that moves with `loop`, after how many turns it is the same."""
    if loop.loop_var not in free_vars(index):
        return
    match index:
        case BinOp("%", a, Const(value=int(count))) if linear(a, [loop.loop_var]):
            yield count
        case Var():
            yield max(int(loop.extent.value), 1)  # type: ignore[attr-defined]  # a number, above
        case _:
            for part in children(index):
                if isinstance(part, Expr):
                    yield from _periods(part, loop)
