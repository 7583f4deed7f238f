"""Every load and store of a program or kernel, told in the thread axes and serial loops around."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from workbench.access import accesses as access
from workbench.access.units import Unit
from workbench.check.kernels import extent_of
from workbench.intrin import NOTE, TensorIntrin
from workbench.ir import (
    THREAD_AXES,
    Expr,
    For,
    Kernel,
    Node,
    PrimFunc,
    Stmt,
    Var,
    attrs_dict,
    binary,
    const,
    free_vars,
    is_warp_call,
    once,
    refuse_sizes,
    remembered,
    stmts_of,
    walk,
)
from workbench.ir.places import places


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop, or a thread axis with all the loops bound to it.

    `role` is "block", "thread", "virtual", "reduce" or "serial"; `name` the axis ("blockIdx.x") or
    the loop's own name, also of virtual threads. `extent` counts iterations.
    """

    var: Var
    name: str
    role: str
    extent: int


Access: TypeAlias = "access.Access[Loop]"


def accesses(program: PrimFunc | Kernel) -> tuple[Access, ...]:
    """Every access of `program` in program order; loads come before the store they feed.

    All threads of a launch run each statement of its nest, whether or not it uses their index.
    """
    refuse_sizes(program, "count or draw")
    known: dict[Any, tuple[Access, ...]] = remembered(program)
    if "accesses" not in known:
        walked = _of_kernel(program) if isinstance(program, Kernel) else _of_func(program)
        known["accesses"] = tuple(walked)
    return known["accesses"]


def kind_of(access: Access) -> str:
    """What it does, in a word: "read" or "write"."""
    return "write" if access.writes else "read"


def loops_above(func: PrimFunc, access: Access) -> list[For]:
    """The loops around a statement of `func` as they stand in its text, outermost first."""
    known = places(func)
    stmt: Stmt | None = access.store or (known.realize(access.block) if access.block else None)
    return known.all_loops_above(stmt) if stmt else []


def together(func: PrimFunc, access: Access) -> Access | None:
    """`access` by all 32 threads of a warp, where a call of the warp makes it; None elsewhere."""
    if access.node not in by_warps(func):
        return None
    x = {loop.var for loop in access.loops if loop.name == "threadIdx.x"}
    return replace(access, guards=tuple(g for g in access.guards if {*free_vars(g)} != x))


def at_first(access: Access, *roles: str) -> dict[Var, int]:
    """Its loops of these `roles` at number 0: what the first block does, or its first thread."""
    return {loop.var: 0 for loop in access.loops if loop.role in roles}


def _of_kernel(kernel: Kernel) -> Iterator[Access]:
    sizes = dict(zip(THREAD_AXES, (*kernel.grid, *kernel.block), strict=True))
    axes = {axis: _axis(var, axis, sizes[axis]) for axis, var in kernel.axes}
    return _of_nest(kernel.body, axes, set(), set())


def _of_func(func: PrimFunc) -> Iterator[Access]:
    values = (e for block in places(func).blocks.values() for e in Unit(block, ()).bound("reduce"))
    reduced = {v for e in values for v in free_vars(e)}  # loops that drive a reduction
    for nest in stmts_of(func.root.body):
        axes: dict[str, Loop] = {}
        for loop in (n for n in walk(nest) if isinstance(n, For)):
            if loop.thread in THREAD_AXES:
                first = axes.get(loop.thread) or _axis(loop.loop_var, loop.thread, 0)
                axes[loop.thread] = replace(first, extent=max(extent_of(loop), first.extent))
        bound = {axis: axes[axis] for axis in THREAD_AXES if axis in axes}
        yield from _of_nest(nest, bound, reduced, by_warps(func))


@once
def by_warps(func: PrimFunc) -> set[Node]:
    """What is in blocks that an intrinsic runs by calls of a warp."""
    found: set[Node] = set()
    for realize in places(func).blocks.values():
        name = attrs_dict(realize.block.annotations).get(NOTE)
        intrin = TensorIntrin.get(name, allow_missing=True) if isinstance(name, str) else None
        if intrin is not None and any(map(is_warp_call, walk(intrin.impl.body))):
            found.update(walk(realize.block))
    return found


def _axis(var: Var, axis: str, extent: int) -> Loop:
    return Loop(var, axis, axis[: -len("Idx.x")], extent)


def _of_nest(
    nest: Stmt, axes: dict[str, Loop], reduced: set[Var], in_calls: set[Node]
) -> Iterator[Access]:
    """The accesses of what one launch runs, with `axes` around all of it.

    A bound loop is its axis, up to its own extent; another counts from 0, whatever its start. What
    does not depend on a virtual thread is done once for all of them.
    """
    known: dict[For, Loop] = {}
    limits: dict[For, Expr] = {}
    for loop in (n for n in walk(nest) if isinstance(n, For)):
        var, extent = loop.loop_var, extent_of(loop)
        if loop.thread not in axes:
            role = "virtual" if loop.virtual else "reduce" if var in reduced else "serial"
            known[loop] = Loop(var, var.name, role, extent)
            continue
        axis = known[loop] = axes[loop.thread]
        if extent < axis.extent:
            limits[loop] = binary("<", axis.var, const(extent, axis.var.type))
    counters = {loop.loop_var: told.var for loop, told in known.items()}
    every: list[Any] = [*access.accesses(nest, access.Around(counters=counters))]
    moving: dict[object, set[Var]] = {}  # what says what a statement does
    for found in every:
        moving.setdefault(found.store or found.node, set()).update(found.variables())
    for found in every:
        used = moving[found.store or found.node]
        own = [known[loop] for loop in found.loops if loop.thread not in axes]
        turns = [loop for loop in own if loop.role != "virtual" or loop.var in used]
        within = [limits[loop] for loop in found.loops if loop in limits]
        by_warp = found.node in in_calls or any(map(is_warp_call, found.loops))
        if by_warp and "threadIdx.x" in axes:  # its first thread stands for the warp
            x = axes["threadIdx.x"].var
            within.append(binary("==", x, const(0, x.type)))
        yield replace(found, guards=(*within, *found.guards), loops=(*axes.values(), *turns))
