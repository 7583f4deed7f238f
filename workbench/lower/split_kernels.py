"""split_kernels: one launch for each nest of loops under the root, with threads for loops."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.access.units import buffers_read, buffers_written
from workbench.arith import bounds
from workbench.diag import Refusal
from workbench.ir import (
    THREAD_AXES,
    Expr,
    For,
    Kernel,
    Node,
    PrimFunc,
    Stmt,
    Var,
    cast,
    rebuild,
    stmts_of,
    substitute,
    walk,
)
from workbench.lower.c_name import c_name


def split_kernels(func: PrimFunc) -> tuple[Kernel, ...]:
    """Make each nest under the root a kernel, in which the bound loops are the thread's place."""
    return tuple(
        _kernel(func, nest, c_name(f"{func.name}_kernel") + (f"_{k}" if k else ""))
        for k, nest in enumerate(stmts_of(func.root.body))
    )


def _kernel(func: PrimFunc, nest: Stmt, name: str) -> Kernel:
    bound = [n for n in walk(nest) if isinstance(n, For) and n.thread in THREAD_AXES]
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


def _axes(bound: Iterable[For]) -> tuple[dict[str, int], dict[str, Var]]:
    """How far each thread axis goes, and a variable for it, named by the first loop bound to it."""
    sizes: dict[str, int] = {}
    axes: dict[str, Var] = {}
    for loop in bound:
        assert loop.thread is not None
        extent = bounds(loop.extent, {})
        if extent is None or extent[0] != extent[1]:
            raise Refusal(
                f"Can't launch the kernel: `{loop.loop_var.name}` on {loop.thread} varies in size",
                loop.loop_var,
                hint="bind a loop whose extent is a number",
            )
        size = sizes.setdefault(loop.thread, extent[0])
        if size != extent[0]:
            raise Refusal(
                f"Can't launch the kernel: {loop.thread} has loops of {size} and of {extent[0]}",
                *(other.loop_var for other in bound if other.thread == loop.thread),
                hint=f"split the loops so that each one bound to {loop.thread} has the same extent",
            )
        axes.setdefault(loop.thread, Var(loop.loop_var.name, loop.loop_var.type))
    return sizes, axes


def _triple(sizes: dict[str, int], unit: str) -> tuple[int, int, int]:
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
