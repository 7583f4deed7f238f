"""A block cut in two: which turn of the loops outside, and what happens within one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench import arith
from workbench.access.counters import count_of, variables
from workbench.arith import Bounds
from workbench.ir import (
    Block,
    BlockRealize,
    Expr,
    For,
    IterVar,
    Size,
    SizeVar,
    Var,
    const,
    free_vars,
    substitute,
)
from workbench.verbs.bindings import conjuncts
from workbench.verbs.domains import count_in, domain
from workbench.verbs.inlining import tidied
from workbench.verbs.nest import iter_var, perfect_nest, refuse_if_one_varies
from workbench.verbs.site import Site, goes_by


@dataclass(frozen=True, slots=True)
class Part:
    """One iterator cut in two: its value is ``outer * size + inner``, inner below `size`."""

    iterator: IterVar
    outer: Expr
    count: Size
    inner: Expr
    size: Size

    @property
    def var(self) -> Var:
        """The variable of the iterator."""
        return self.iterator.var


def part_of(site: Site[Block], iterator: IterVar, value: Expr, turn: Bounds, dom: Bounds) -> Part:
    """How the value of an iterator divides into turns and what happens within one."""
    ends = domain(site.node)[iterator.var]
    low, below = ends[0], count_in(ends) + ends[0]
    given, value = value, arith.simplify(value, dom)
    zero = const(0, value.dtype)
    used = moving(value)
    if not used & set(turn):
        most = arith.bounds(value, dom)
        if most is not None and isinstance(below, int):
            below = min(below, most[1] + 1)
        return Part(iterator, value, below, zero, 1)
    if used <= set(turn) and low == 0:
        # with its loops that run once: what is run for each value keeps them, as TVM does
        inner = given if moving(given) <= set(turn) else value
        return Part(iterator, zero, 1, inner, below)
    first, within = _parted(value, turn)
    inner = arith.simplify(within, dom)
    size = count_of(inner, dict(turn))
    count = _quotient(below, size) if size is not None else None
    if size is not None and count is not None and arith.equal(first % size, zero, dom):
        return Part(iterator, arith.simplify(first // size, dom), count, inner, size)
    raise site.refuse(
        f"the turns of the loops around it overlap along {iterator.var.name}",
        detail="a turn must take whole steps, as wide as what happens in one",
        hint="split the loops so that the outer ones move by the extent of the inner ones",
    )


def _parted(value: Expr, turn: Bounds) -> tuple[Expr, Expr]:
    """What of `value` stays as it is within a turn, and what moves: they add up to it.

    Of rows ``(i * 2 + j) * width``, of which `j` moves, ``i * 2 * width`` stays.
    """
    known, zero = arith.Simplifier({}), const(0, value.dtype)
    total = known.sum_of(value)
    first: Expr = zero + total.const
    inner: Expr = zero
    for digit, factor in total.digits.items():
        part, row = known.part(digit), known.row_of(digit)
        if row is not None:
            parts = _parted(known.expr_of(row[0], value.dtype), turn)
            still, moves = (e * row[1] for e in parts)
        else:
            still, moves = (zero, part) if variables(part) & set(turn) else (part, zero)
        first, inner = first + still * factor, inner + moves * factor
    return first, inner


def _quotient(count: Size, size: Size) -> Size | None:
    """How many turns of that `size` make up `count`; None where sizes tell neither."""
    if isinstance(size, Expr):
        whole = arith.equal(count % size, const(0, size.dtype))
        return arith.simplify(count // size) if whole else None
    turns = (count + (size - 1)) // size
    return arith.simplify(turns) if isinstance(turns, Expr) else turns


def moving(e: Expr) -> set[Var]:
    """The variables in `e` that move; sizes stay as they are."""
    return {v for v in variables(e) if not isinstance(v, SizeVar)}


def predicates(site: Site[Block], turn: set[Var], dom: Bounds) -> tuple[Expr, Expr]:
    """The conditions within a turn and those on turns."""
    inside: list[Expr] = []
    outside: list[Expr] = []
    for condition in conjuncts(site.realize.predicate):
        used = moving(condition)
        if used & turn and not used <= turn:  # loops that run once may be all that is outside
            condition = arith.simplify(condition, dom)
            used = moving(condition)
        if used <= turn:
            inside += conjuncts(condition)
        elif not used & turn:
            outside += conjuncts(condition)
        else:
            raise site.refuse(
                "its T.where cuts off a part of the last turn",
                hint="split by factors that divide",
            )
    return arith.joined(inside), arith.joined(outside)


def _value_of(p: Part, outer: dict[Var, Var], inner: dict[Var, Var], keep_units: bool) -> Expr:
    """What the old iterator is in terms of the new ones."""
    var = p.var
    if p.size == 1:
        return outer[var] if p.count != 1 or keep_units else const(0, var.type)
    return inner[var] if p.count == 1 else outer[var] * p.size + inner[var]


def inner_realize(
    block: Block,
    parts: list[Part],
    outer: dict[Var, Var],
    predicate: Expr,
    keep_units: bool,
) -> BlockRealize:
    """The old block within one turn, its init still in it; `outer` count the turns."""
    inner = {p.var: Var(f"{p.var.name}_i", p.var.type) for p in parts if p.size != 1}
    values = {p.var: _value_of(p, outer, inner, keep_units) for p in parts}
    kept = [p for p in parts if p.var in inner]
    iterators = tuple(iter_var(inner[p.var], p.size, p.iterator.kind) for p in kept)
    known = {inner[p.var]: arith.up_to(p.size, p.var.type) for p in kept}
    changed = tidied(substitute(replace(block, iter_vars=()), values), known)
    small = replace(changed, iter_vars=iterators)
    return BlockRealize(tuple(p.inner for p in kept), predicate, small)


def inside_of(site: Site[For]) -> tuple[BlockRealize, list[For]]:
    """The one block in the loop, and the loops from there down to it."""
    loops = perfect_nest(site.node)
    realize = loops[-1].body
    if not isinstance(realize, BlockRealize):
        held = len(site.places.blocks_under(site.node))
        raise site.refuse(
            f"it holds {held} blocks" if held != 1 else "it holds more than loops around one block",
            hint="pick a loop that holds loops and one block, nothing else",
        )
    if any(map(arith.reads_memory, (*realize.iter_values, realize.predicate))):
        raise site.refuse(
            f"what is in memory says which iterations of `{realize.block.name}` run",
            realize,
            hint="read that inside the block, not in its T.axis or T.where",
        )
    used = set(free_vars(realize.block))
    direct = [one for one in loops if one.loop_var in used]
    if direct:
        raise goes_by(site, direct[0], direct[0], realize, who=f"`{realize.block.name}`")
    refuse_if_one_varies(site, loops, "a block needs iterators of fixed extents")
    return realize, loops
