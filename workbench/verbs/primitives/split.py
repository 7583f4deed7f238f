"""split: cut one loop into a nest of loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial, reduce
from math import prod

from workbench import script
from workbench.arith import equal, simplify
from workbench.ir import (
    BufferLoad,
    Expr,
    For,
    PrimFunc,
    Var,
    binary,
    cast,
    const,
    flat_index,
    free_vars,
    walk,
)
from workbench.ir.places import places
from workbench.verbs.bindings import guarded, replace_loops
from workbench.verbs.nest import (
    MOST_LOOPS,
    constant_extent,
    counting_type,
    divisors,
    is_one,
    most_turns,
    nest,
    refuse_factors,
    refuse_if_taken,
)
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.site import Site, site_of


def _check(
    func: PrimFunc,
    loop: For,
    factors: list[int | None],
    preserve_unit_iters: bool = True,
    disable_predication: bool = False,
) -> None:
    site = site_of(func, loop, "split")
    refuse_if_taken(site)
    if len(factors) > MOST_LOOPS:
        raise site.refuse(
            f"{len(factors)} factors were given", hint=f"at most {MOST_LOOPS} loops can be nested"
        )
    refuse_factors(site, factors, "[None, 4]")
    extent = constant_extent(loop)
    given = [f for f in factors if f is not None]
    if len(given) == len(factors):
        if extent is None:
            raise site.refuse(
                "the number of its iterations varies, so these factors may not cover it",
                detail=f"it runs {script.expr_text(loop.extent)} times",
                hint="write None for one factor",
            )
        if prod(given) < extent:
            raise site.refuse(
                f"{list(factors)} covers {prod(given)} of {extent} iterations",
                detail=f"{' * '.join(map(str, given))} = {prod(given)}, and it runs {extent} times",
                hint="write None for the factor that should be worked out",
            )
    dtype = _type(site, factors)
    if disable_predication:
        _check_fills(site, factors, dtype)


def _check_fills(site: Site[For], factors: list[int | None], dtype: str) -> None:
    """Refuse factors that make more iterations than there are, where no predicate is to be made."""
    extent = cast(dtype, site.node.extent)
    made = _product(_sizes(extent, factors))
    if equal(made, extent):
        return
    many, wanted = script.expr_text(made), script.expr_text(extent)
    raise site.refuse(
        f"without a predicate it would run {many} times, not {wanted}",
        detail="nothing would keep back what is too much",
        hint="leave disable_predication out, or choose factors that divide how often it runs",
    )


def _sizes(extent: Expr, factors: list[int | None]) -> list[Expr]:
    """How often each of the new loops runs."""
    given = prod(f for f in factors if f is not None)
    missing = simplify((extent + (given - 1)) // given)
    return [missing if f is None else const(f, extent.dtype) for f in factors]


def _product(sizes: list[Expr]) -> Expr:
    """How many iterations loops that run so often make together."""
    return reduce(partial(binary, "*"), sizes)


def _type(site: Site[For], factors: list[int | None]) -> str:
    """The type of the new variables: it holds each of them, and the number that they make up."""
    given = prod(f for f in factors if f is not None)
    turns = most_turns(site.places, site.node)
    if None not in factors:
        turns = given
    elif turns is not None:
        turns = -(-turns // given) * given
    return counting_type(site, [site.node], turns)


def _check_guard(site: Site[For]) -> None:
    """Refuse a remainder where loops inside ask memory how often they run: no guard is ahead."""
    for inside in walk(site.node.body):
        if isinstance(inside, For) and any(
            isinstance(node, BufferLoad) and site.node.loop_var in free_vars(node)
            for node in (*walk(inside.min), *walk(inside.extent))
        ):
            raise site.refuse(
                f"with a remainder, `{inside.loop_var.name}` would read its bounds outside a "
                "buffer",
                site.node,
                inside,
                hint="choose factors that divide how often it runs",
            )


def _choices(func: PrimFunc, loop: For) -> Iterator[dict[str, list[int | None]]]:
    extent = constant_extent(loop)
    if extent is None:
        yield from ({"factors": [None, size]} for size in (2, 4, 8, 16, 32, 64, 128, 256))
        return
    inner = divisors(extent)[1:-1] or [f for f in (2, 4) if f < extent] or [1]
    yield from ({"factors": [None, size]} for size in inner)


@primitive(
    group="loops",
    sizes=True,
    check=_check,
    choices=_choices,
    instead={  # TVM's te.schedule
        "factor": ("factors", lambda size: [None, size]),
        "nparts": ("factors", lambda count: [count, None]),
    },
)
def split(
    func: PrimFunc,
    loop: For,
    factors: list[int | None],
    preserve_unit_iters: bool = True,
    disable_predication: bool = False,
) -> Edit[tuple[Var, ...]]:
    """Cut `loop` into one loop per factor, outermost first; one factor may be None.

    Where the factors do not divide the extent, a predicate guards what is too much; with
    `disable_predication` they are refused then. Loops that run once stay in the bindings unless
    `preserve_unit_iters` is False.

    >>> sch.split("i", factors=[None, 4])
    @T.prim_func
    def main(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
        for i in range(10):
            with T.block("B"):
                vi = T.axis.spatial(10, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    ---
    @T.prim_func
    def main(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
        for i_0, i_1 in T.grid(3, 4):
            with T.block("B"):
                vi = T.axis.spatial(10, i_0 * 4 + i_1)
                T.where(i_0 * 4 + i_1 < 10)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
    """
    site, var = site_of(func, loop, "split"), loop.loop_var
    dtype = _type(site, factors)
    extent = cast(dtype, loop.extent)
    sizes = _sizes(extent, factors)
    parts = tuple(Var(f"{var.name}_{k}", dtype) for k in range(len(sizes)))
    index = flat_index(parts, sizes, dtype)
    units = frozenset(p for p, s in zip(parts, sizes, strict=True) if is_one(s))
    dropped = frozenset() if preserve_unit_iters else units
    body = loop.body
    if not equal(_product(sizes), extent) and not disable_predication:
        _check_guard(site)
        body = guarded(body, index < extent)
    body = replace_loops(body, {var: loop.min + cast(var.type, index)}, units=dropped)
    serial = replace(loop, min=const(0, dtype), kind="serial")
    pairs = zip(parts, sizes, strict=True)
    new = nest([replace(serial, loop_var=part, extent=size) for part, size in pairs], body)
    return Edit(places(func).replace(loop, new), parts, {var: parts})
