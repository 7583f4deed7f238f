"""split_kernels: one launch for each nest of loops under the root, with threads for loops."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.access.units import buffers_read, buffers_written
from workbench.arith import bounds, by_sizes, equal
from workbench.diag import Refusal
from workbench.ir import (
    THREAD_AXES,
    Expr,
    For,
    Kernel,
    Node,
    PrimFunc,
    Size,
    Stmt,
    Var,
    cast,
    rebuild,
    stmts_of,
    substitute,
    walk_statements,
)
from workbench.lower.c_name import c_name
from workbench.script import expr_text


def split_kernels(func: PrimFunc) -> tuple[Kernel, ...]:
    """Make each nest under the root a kernel, in which the bound loops are the thread's place."""
    return tuple(
        _kernel(func, nest, c_name(f"{func.name}_kernel") + (f"_{k}" if k else ""))
        for k, nest in enumerate(stmts_of(func.root.body))
    )


def _kernel(func: PrimFunc, nest: Stmt, name: str) -> Kernel:
    bound = [n for n in walk_statements(nest) if isinstance(n, For) and n.thread in THREAD_AXES]
    sizes, axes = _axes(bound)
    used = buffers_read(nest) | buffers_written(nest)
    known = [b for b in (*func.params, *func.root.alloc_buffers) if b in used]
    return Kernel(
        name,
        params=tuple(b for b in known if b.scope == "global"),
        allocs=tuple(b for b in known if b.scope != "global"),
        views=tuple((b, b) for b in known),
        axes=tuple((axis, axes[axis]) for axis in THREAD_AXES if axis in axes),
        grid=_triple(sizes, "blockIdx"),
        block=_triple(sizes, "threadIdx"),
        body=_without_bound_loops(nest, bound, axes),
    )


def _axes(bound: Iterable[For]) -> tuple[dict[str, Size], dict[str, Var]]:
    """How far each thread axis goes, and a variable for it, named by the first loop bound to it."""
    sizes: dict[str, Size] = {}
    axes: dict[str, Var] = {}
    for loop in bound:
        assert loop.thread is not None
        extent = _extent(loop)
        if extent is None:
            raise Refusal(
                f"Can't launch the kernel: `{loop.loop_var.name}` on {loop.thread} varies in size",
                loop.loop_var,
                hint="bind a loop whose extent is a number",
            )
        size = sizes.setdefault(loop.thread, extent)
        if not _same(size, extent):
            raise Refusal(
                f"Can't launch the kernel: {loop.thread} has loops of {_text(size)} and of "
                f"{_text(extent)}",
                *(other.loop_var for other in bound if other.thread == loop.thread),
                hint=f"split the loops so that each one bound to {loop.thread} has the same extent",
            )
        axes.setdefault(loop.thread, Var(loop.loop_var.name, loop.loop_var.type))
    return sizes, axes


def _extent(loop: For) -> Size | None:
    """How often a bound loop runs: a number, or for blocks what sizes tell; None for any other."""
    if by_sizes(loop.extent) and (loop.thread or "").startswith("blockIdx"):
        return loop.extent
    ends = bounds(loop.extent, {})
    return ends[0] if ends is not None and ends[0] == ends[1] else None


def _same(one: Size, other: Size) -> bool:
    if isinstance(one, Expr) and isinstance(other, Expr):
        return equal(one, other)
    return type(one) is type(other) and one == other


def _text(size: Size) -> str:
    return expr_text(size) if isinstance(size, Expr) else str(size)


def _triple(sizes: dict[str, Size], unit: str) -> tuple[Size, Size, Size]:
    x, y, z = (sizes.get(f"{unit}.{axis}", 1) for axis in "xyz")
    return x, y, z


def _without_bound_loops(nest: Stmt, bound: Iterable[For], axes: dict[str, Var]) -> Stmt:
    places: dict[Var, Expr] = {}
    for loop in bound:
        assert loop.thread is not None
        places[loop.loop_var] = loop.min + cast(loop.loop_var.type, axes[loop.thread])

    def visit(node: Node) -> Node:
        rebuilt = rebuild(node, visit)
        is_place = isinstance(rebuilt, For) and rebuilt.thread in THREAD_AXES
        return rebuilt.body if is_place else rebuilt  # type: ignore[attr-defined]

    return substitute(visit(nest), places)  # type: ignore[return-value]
