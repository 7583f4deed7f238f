"""loop_partition: cut one loop into several that run one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate

from workbench import arith, script
from workbench.arith import Bounds
from workbench.ir import (
    BlockId,
    BlockRealize,
    Const,
    Expr,
    For,
    Node,
    PrimFunc,
    Size,
    Stmt,
    Var,
    as_expr,
    const,
    copy_fresh,
    rewrite,
    seq,
    size_expr,
    substitute,
    walk,
)
from workbench.ir.places import places
from workbench.verbs.bindings import conjuncts
from workbench.verbs.domains import bounds_at
from workbench.verbs.factoring import without_init
from workbench.verbs.nest import (
    constant_extent,
    refuse_factors,
    refuse_if_extent_varies,
    refuse_if_taken,
)
from workbench.verbs.primitive import Edit, Key, primitive
from workbench.verbs.site import Site, site_of


def _sizes(
    func: PrimFunc, loop: For, factors: list[int | None], preserve_unit_iters: bool = True
) -> list[Size]:
    """How often each of the new loops runs."""
    site = site_of(func, loop, "loop_partition")
    refuse_if_taken(site)
    sized = arith.by_sizes(loop.extent) and isinstance(loop.min, Const)
    if not sized:
        refuse_if_extent_varies(site)
    refuse_factors(site, factors, "[2, None]")
    given = [f for f in factors if f is not None]
    if sized:
        return _of_a_size(site, factors, sum(given))
    extent = constant_extent(loop)
    assert extent is not None
    if sum(given) >= extent:
        raise site.refuse(
            f"{list(factors)} leaves none of {extent} iterations over",
            detail=f"{' + '.join(map(str, given))} = {sum(given)}, and it runs {extent} times",
            hint="leave the last factor out, or write None for it: it is what is left",
        )
    rest = extent - sum(given)
    return [rest if f is None else f for f in factors] + ([] if None in factors else [rest])


def _of_a_size(site: Site[For], factors: list[int | None], given: int) -> list[Size]:
    """As `_sizes`, of a loop whose extent sizes tell: it has that many iterations at each."""
    extent = site.node.extent
    if not arith.prove(extent >= given, {}):
        raise site.refuse(
            f"it may have less than the {given} iterations of {list(factors)}",
            detail=f"it runs {script.expr_text(extent)} times",
            hint="give smaller factors, or a size: func.specialize(...)",
        )
    rest = arith.simplify(extent - given)
    return [rest if f is None else f for f in factors] + ([] if None in factors else [rest])


def _choices(func: PrimFunc, loop: For) -> Iterator[dict[str, list[int | None]]]:
    extent = constant_extent(loop) or 0
    yield from ({"factors": [size, None]} for size in sorted({1, extent // 2, extent - 1}))


@primitive(group="loops", sizes=True, check=_sizes, choices=_choices)
def loop_partition(
    func: PrimFunc, loop: For, factors: list[int | None], preserve_unit_iters: bool = True
) -> Edit[tuple[Var, ...]]:
    """Cut `loop` into loops that run one after the other: one for each factor, one for the rest.

    One factor may be None: what the others leave. Each part has copies of the blocks inside, with
    conditions left out that always hold there; only a part that begins sums keeps their T.init().
    `preserve_unit_iters` is TVM's, where it changes nothing either. Returns the new loops.

    >>> sch.loop_partition("i", factors=[6, None])
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        # with T.block("root"):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2)
    ---
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        # with T.block("root"):
        for i0 in range(6):
            with T.block("B_i0"):
                vi = T.axis.spatial(8, i0)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2)
        for i1 in range(6, 8):
            with T.block("B_i1"):
                vi = T.axis.spatial(8, i1)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2)
    """
    sizes = _sizes(func, loop, factors, preserve_unit_iters)
    starts = accumulate(sizes, initial=as_expr(0))
    where = places(func)
    outer = bounds_at(where, loop)
    parts: list[Stmt] = []
    became: dict[Key, tuple[Key, ...]] = {}
    keys: tuple[Key, ...] = (*where.loops, *where.blocks)
    for number, (start, size) in enumerate(zip(starts, sizes, strict=False)):
        part = _part(loop, arith.simplify(loop.min + start), size)
        part = replace(part, body=_tidied(part, outer))
        copied, fresh = _copied(part, f"{loop.loop_var.name}{number}")
        parts.append(copied)
        for old in keys:
            if old in fresh:
                became[old] = (*became.get(old, ()), fresh[old])
    new_loops = tuple(key for key in became[loop.loop_var] if isinstance(key, Var))
    return Edit(where.replace(loop, seq(*parts)), new_loops, became)


def _part(loop: For, first: Expr, size: Size) -> For:
    """The iterations of `loop` from `first` on. Where sizes tell that one, it counts from 0."""
    part = replace(loop, min=first, extent=size_expr(size, loop.loop_var.type), kind="serial")
    if isinstance(first, Const):
        return part
    told: dict[Var, Expr] = {loop.loop_var: loop.loop_var + first}
    return replace(part, min=const(0, first.dtype), body=substitute(loop.body, told))


def _copied(part: For, name: str) -> tuple[Stmt, dict[Key, Key]]:
    """A copy with its loop called `name` and its blocks told apart by it, and what became what."""
    copied, fresh = copy_fresh(part)
    loop_var = Var(name, part.loop_var.type)

    def change(node: Node) -> Node:
        if node is fresh[part.loop_var]:
            return loop_var
        if isinstance(node, BlockRealize):
            return replace(node, block=replace(node.block, name=f"{node.block.name}_{name}"))
        return node

    became: dict[Key, Key] = {
        old: new
        for old, new in fresh.items()
        if isinstance(old, Var | BlockId) and isinstance(new, Var | BlockId)
    }
    return rewrite(copied, change), became | {part.loop_var: loop_var}


def _tidied(part: For, outer: Bounds) -> Stmt:
    """The body of the part without the conditions that hold all through it, and without starts."""
    dom = {**outer, **arith.loop_bounds(n for n in walk(part) if isinstance(n, For))}

    def change(node: Node) -> Node:
        if not isinstance(node, BlockRealize):
            return node
        predicate = arith.joined(c for c in conjuncts(node.predicate) if not arith.prove(c, dom))
        if node.block.init is not None and _starts_earlier(node, dom):
            node = replace(node, block=without_init(node.block))
        return node if predicate is node.predicate else replace(node, predicate=predicate)

    return rewrite(part.body, change)


def _starts_earlier(realize: BlockRealize, dom: Bounds) -> bool:
    """Whether no sum begins while the loop variables are within `dom`."""
    reduced = [it for it in realize.block.iter_vars if it.kind == "reduce"]
    bound = realize.bindings
    return any(arith.prove(bound[it.var] > it.dom.min, dom) for it in reduced)
