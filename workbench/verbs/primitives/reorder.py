"""reorder: change which of several nested loops is outside which."""

from __future__ import annotations

from collections.abc import Iterator

from workbench import script
from workbench.diag import Refusal
from workbench.ir import For, PrimFunc
from workbench.ir.places import places
from workbench.verbs.nest import counts_by, nest, perfect_nest
from workbench.verbs.order import refuse_unless_any_order
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.site import Site


def _check(func: PrimFunc, *ordered_loops: For) -> None:
    if not ordered_loops:
        raise Refusal(
            "Can't reorder: no loops were given",
            hint="name them in their new order, outermost first",
        )
    for loop in ordered_loops:
        if sum(loop is other for other in ordered_loops) > 1:
            raise Site(places(func), loop, "reorder").refuse(
                f"`{loop.loop_var.name}` is named twice", hint="name each loop once"
            )
    chain = _chain(func, ordered_loops)
    after = _reordered(chain, ordered_loops)
    for place, outer in enumerate(after):
        for inner in after[:place]:
            if counts_by(inner, outer):
                a, b = inner.loop_var.name, outer.loop_var.name
                raise Site(places(func), inner, f"reorder `{a}` outside `{b}`").refuse(
                    f"how often `{a}` runs depends on `{b}`",
                    inner,
                    outer,
                    detail=f"`{a}` runs {script.expr_text(inner.extent)} times",
                    hint=f"keep `{b}` outside `{a}`",
                )
    if after != chain:
        refuse_unless_any_order(Site(places(func), chain[0], "reorder"), chain, after)


def _chain(func: PrimFunc, loops: tuple[For, ...]) -> list[For]:
    """The loops from the outermost to the innermost of `loops`, each directly in the one before.

    Raises Refusal where that is not so.
    """
    known = places(func)
    outermost = min(loops, key=lambda loop: len(known.all_loops_above(loop)))
    below = perfect_nest(outermost)
    for loop in loops:
        if loop in below:
            continue
        a, b, inmost = (one.loop_var.name for one in (outermost, loop, below[-1]))
        site = Site(places(func), outermost, f"reorder `{a}` and `{b}`")
        if outermost not in known.above(loop):
            raise site.refuse(
                "neither is inside the other",
                outermost,
                loop,
                detail="one ends before the other begins",
                hint="reorder loops of one nest",
            )
        between = next(s for s in known.above(loop) if known.parent[s] is below[-1])
        raise site.refuse(
            f"`{inmost}` between them holds more than one loop",
            outermost,
            loop,
            between,
            hint=f"reorder the loops from `{a}` to `{inmost}` only, or do it "
            "before the step that put more into the nest",
        )
    return below[: 1 + max(below.index(loop) for loop in loops)]


def _reordered(chain: list[For], ordered: tuple[For, ...]) -> list[For]:
    """`chain` with the loops in `ordered` in that order, in the places that they have together."""
    following = iter(ordered)
    return [next(following) if loop in ordered else loop for loop in chain]


def _choices(func: PrimFunc, loop: For) -> Iterator[dict[str, list[For]]]:
    """`loop` outside one loop around it, or all of them: it is the first of those named."""
    known = places(func)
    outer: list[For] = []
    above = known.parent[loop]
    while isinstance(above, For):
        outer.insert(0, above)
        above = known.parent[above]
    if not outer:
        raise Site(places(func), loop, f"reorder `{loop.loop_var.name}` outwards").refuse(
            "no loop is directly around it",
            hint="choose the loop that is to go outside",
        )
    yield {"ordered_loops": outer}
    if len(outer) > 1:
        yield from ({"ordered_loops": [other]} for other in outer)


@primitive(group="loops", sizes=True, check=_check, choices=_choices)
def reorder(func: PrimFunc, *ordered_loops: For) -> Edit[None]:
    """Put nested loops into the order given, outermost first; other loops keep their places.

    >>> sch.reorder("j", "i")
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
        for j, i in T.grid(8, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj]
    """
    chain = _chain(func, ordered_loops)
    new = nest(_reordered(chain, ordered_loops), chain[-1].body)
    return Edit(places(func).replace(chain[0], new))
