"""The loops of a block that has one for each of its iterators, and shares them with nothing."""

from __future__ import annotations

from collections.abc import Sequence

from workbench import arith
from workbench.access.counters import variables
from workbench.ir import TRUE, Block, Expr, For, Var, free_vars
from workbench.verbs.nest import perfect_nest
from workbench.verbs.primitive import Key
from workbench.verbs.site import Site, goes_by, named


def own_loops(site: Site[Block]) -> list[For]:
    """The loops of the block's iterators, outermost first: plain ones around the block alone."""
    site.check_held()
    realize, block = site.realize, site.node
    count = len(block.iter_vars)
    loops = site.loops[len(site.loops) - count :]
    own = {loop.loop_var: loop for loop in loops}
    values = [value for value in realize.iter_values if value in own]
    if not count:
        raise site.refuse("it has no iterators", hint="choose a block that runs in loops")
    if not count == len(values) == len({*values}) or realize.predicate is not TRUE:
        raise site.refuse(
            "its iterators are not each bound to a loop of their own",
            hint="take this step before its loops are split, fused, or shared with other blocks",
        )
    if perfect_nest(loops[0]) != loops or loops[-1].body is not realize:
        raise site.refuse(
            "more than the block is in its loops",
            loops[0],
            hint="take this step before other blocks are moved there",
        )
    for value, it in zip(values, block.iter_vars, strict=True):
        assert isinstance(value, Var)
        loop = own[value]
        if value in free_vars(block):
            raise goes_by(site, loop, block, loop)
        if not (arith.equal(loop.min, it.dom.min) and arith.equal(loop.extent, it.dom.extent)):
            raise site.refuse(
                f"`{value.name}` does not run over all of {it.var.name}",
                loop,
                hint="let the loop begin and end with the domain of the iterator",
            )
    kept = [loop for loop in loops if loop.kind != "serial" or loop.annotations]
    if kept:
        raise site.refuse(
            f"{named(kept)} would lose what {'they are' if len(kept) > 1 else 'it is'} marked as",
            *kept,
            hint="take this step before bind, vectorize, unroll, parallel and annotate",
        )
    return loops


def became(
    site: Site[Block], new: Sequence[Expr], made: Sequence[Var]
) -> dict[Key, tuple[Key, ...]]:
    """Which of the loops `made` each own loop became: those of the indices `new` that it is in.

    `new` are told in the iterators of the block.
    """
    return {
        loop: tuple(one for one, index in zip(made, new, strict=True) if var in variables(index))
        for var, loop in site.realize.bindings.items()
        if isinstance(loop, Var)
    }
