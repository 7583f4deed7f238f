"""fuse: make one loop of several that are nested directly in each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from math import prod

from workbench import script
from workbench.arith import loop_bounds, prove, simplify
from workbench.diag import Refusal
from workbench.ir import Expr, For, PrimFunc, Stmt, Var, cast, const, walk
from workbench.ir.places import places
from workbench.verbs.bindings import replace_loops
from workbench.verbs.nest import (
    constant_extent,
    counting_type,
    counts_by,
    most_turns,
    perfect_nest,
    refuse_if_taken,
)
from workbench.verbs.primitive import Edit, Key, primitive
from workbench.verbs.site import Site, named, site_of


def _check(func: PrimFunc, *loops: For, preserve_unit_iters: bool = True) -> None:
    if not loops:
        raise Refusal("Can't fuse: no loops were given", hint="name them, outermost first")
    for loop in loops:
        refuse_if_taken(site_of(func, loop, "fuse"))
    for outer, inner in pairwise(loops):
        if outer.body is not inner:
            below = perfect_nest(outer)[1:]
            names = " then ".join(f"`{loop.loop_var.name}`" for loop in below[:3])
            raise _pair(func, outer, inner).refuse(
                f"`{inner.loop_var.name}` is not directly inside `{outer.loop_var.name}`",
                outer,
                inner,
                hint=f"give loops from outside to inside; `{outer.loop_var.name}` holds "
                + (names or "no loop alone"),
            )
    for outer, inner in combinations(loops, 2):
        if counts_by(inner, outer):
            raise _pair(func, outer, inner).refuse(
                f"how often `{inner.loop_var.name}` runs depends on `{outer.loop_var.name}`",
                outer,
                inner,
                detail=f"`{inner.loop_var.name}` runs {script.expr_text(inner.extent)} times",
                hint="fuse loops whose extents do not depend on each other",
            )
    _check_signs(func, loops)
    _type(func, loops)


def _check_signs(func: PrimFunc, loops: Sequence[For]) -> None:
    """Refuse where two loops may have less than no turns: their product would be above 0."""
    if not func.sizes:
        return
    dom = loop_bounds(places(func).all_loops_above(loops[0]))
    less = [loop for loop in loops if not prove(loop.extent >= 0, dom)]
    if len(less) < 2:
        return
    raise _pair(func, less[0], less[1]).refuse(
        "for some size, both extents may be below 0, and their product above it",
        *less[:2],
        detail=" and ".join(script.expr_text(loop.extent) for loop in less[:2]),
        hint="give it a size: specialize the function, then fuse",
    )


def _pair(func: PrimFunc, outer: For, inner: For) -> Site[For]:
    return Site(places(func), outer, f"fuse `{outer.loop_var.name}` and `{inner.loop_var.name}`")


def _type(func: PrimFunc, loops: Sequence[For]) -> str:
    """The type of the variable of all `loops` in one."""
    site = Site(places(func), loops[0], "fuse")
    turns = [most_turns(site.places, loop) for loop in loops]
    known = prod(n for n in turns if n is not None) if None not in turns else None
    return counting_type(site, loops, known)


def _choices(func: PrimFunc, loop: For) -> Iterator[dict[str, list[For]]]:
    below = perfect_nest(loop)
    if len(below) == 1:
        raise site_of(func, loop, "fuse").refuse(
            "no loop is directly inside it",
            hint="choose the outer one of two loops that are nested directly",
        )
    yield from ({"loops": below[1:count]} for count in range(2, len(below) + 1))


@primitive(group="loops", sizes=True, check=_check, choices=_choices)
def fuse(func: PrimFunc, *loops: For, preserve_unit_iters: bool = True) -> Edit[Var]:
    """Make one loop of `loops`, nested directly in each other, given from outside to inside.

    The iterations keep their order. Loops that run once stay in the bindings unless
    `preserve_unit_iters` is False.

    >>> sch.fuse("i", "j")
    @T.prim_func
    def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj]
    ---
    @T.prim_func
    def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i_j_fused in range(32):
            with T.block("B"):
                vi = T.axis.spatial(4, i_j_fused // 8)
                vj = T.axis.spatial(8, i_j_fused % 8)
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj]
    """
    dtype = _type(func, loops)
    fused = Var("_".join(loop.loop_var.name for loop in loops) + "_fused", dtype)
    inside: Expr = const(1, dtype)  # iterations of the loops further in
    values: dict[Var, Expr] = {}
    for number, loop in reversed(list(enumerate(loops))):
        digit: Expr = fused
        if constant_extent(loop) == 1:
            digit = const(0, dtype)
        elif any(constant_extent(outer) != 1 for outer in loops[:number]):
            digit = fused % simplify(cast(dtype, loop.extent) * inside)
        values[loop.loop_var] = loop.min + cast(loop.loop_var.type, digit // inside)
        inside = simplify(cast(dtype, loop.extent) * inside)
    units = frozenset(v for v in values if not preserve_unit_iters)
    body = replace_loops(loops[-1].body, values, units=units)
    _check_runs(func, loops, body)
    new = replace(
        loops[0], loop_var=fused, min=const(0, dtype), extent=inside, kind="serial", body=body
    )
    became: dict[Key, tuple[Key, ...]] = {loop.loop_var: (fused,) for loop in loops}
    return Edit(places(func).replace(loops[0], new), fused, became)


def _check_runs(func: PrimFunc, loops: Sequence[For], body: Stmt) -> None:
    """Refuse where the first turn, the only one of a loop, leaves a loop inside none."""
    turns = {n.loop_var: constant_extent(n) for n in walk(body) if isinstance(n, For)}
    never = {var for var, count in turns.items() if count is not None and count < 1}
    for loop in (n for n in walk(loops[-1].body) if isinstance(n, For) and n.loop_var in never):
        raise Site(places(func), loops[0], f"fuse {named(loops)}").refuse(
            f"`{loop.loop_var.name}` inside never runs",
            loop,
            detail=f"it runs {script.expr_text(loop.extent)} times, which comes to none",
            hint="leave them as they are: a loop of no turns can't be written",
        )
