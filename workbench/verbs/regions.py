"""The box of a buffer that a block touches while some of the loops around it run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from workbench import arith
from workbench.access.accesses import Access
from workbench.access.boxes import filled_as
from workbench.access.counters import counted, put, variables
from workbench.access.cover import misses_none, writes_all
from workbench.access.units import summed_sizes
from workbench.arith import Bounds, Box, SizedEnds
from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    Const,
    Expr,
    For,
    Range,
    Var,
    once,
    substitute,
)
from workbench.verbs.bindings import conjuncts
from workbench.verbs.domains import domain
from workbench.verbs.scope import starts_first


def touched(region: BufferRegion, realize: BlockRealize, inner: Bounds, dom: Bounds) -> Box:
    """The smallest box that holds `region` of the block of `realize` while `inner` vary.

    `inner` and `dom` (every variable around) are bounds of loop variables.
    """
    plain, inner = counted(realize, inner)
    in_loops = substitute(region, plain.bindings).region
    return arith.relax(in_loops, inner, region.buffer.shape, dom)


def decided_by_memory(block: Block) -> bool:
    """Whether what is in memory says which cells the block declares to touch."""
    return any(
        arith.reads_memory(axis.min) or arith.reads_memory(axis.extent)
        for region in (*block.reads, *block.writes)
        for axis in region.region
    )


@once
def exact(realize: BlockRealize, region: BufferRegion, inner: Bounds, dom: Bounds) -> Box | None:
    """The box whose cells are all written, for some value of `inner`; None where unproved.

    `region` is what one instance of the block declares to write.

    Cells beyond the domains of the block's iterators count as there: nobody reads them.
    """
    if not writes_all(realize.block, region.buffer):
        return None
    data = {
        Var("data", value.dtype): value
        for value in realize.iter_values
        if arith.reads_memory(value) and variables(value).isdisjoint(inner)
    }
    plain, inner = counted(_with_variables(realize, data), inner, digits=True)
    box = substitute(region, plain.bindings).region
    along = {Var("d", r.min.dtype): r for r in box if arith.by_sizes(r.extent)}
    inner = {**inner, **{v: arith.up_to(r.extent, v.type) for v, r in along.items()}}
    steps = {id(r): v for v, r in along.items()}
    corner = tuple(r.min + steps[id(r)] if id(r) in steps else r.min for r in box)
    sizes = tuple(1 if id(r) in steps else width(r, {}) for r in box)
    stored: Access[For] = Access(
        realize, region.buffer, True, corner, sizes, (plain.predicate,), ()
    )
    dom = {**dom, **summed_sizes(realize.block)}
    one = filled_as(stored, inner, dom)
    if one is None:
        return None
    if one.access.guards:
        ends = [arith.bounds(r.min, domain(realize.block)) for r in region.region]
        corners = replace(one.access, sizes=(1,) * len(ends))
        stays = misses_none(corners, one.own.keys(), ends, {**dom, **one.own})
        if not stays or not starts_first(plain, inner, any_order=True):
            return None
    return tuple(substitute(r, data) for r in one.box)


def _with_variables(realize: BlockRealize, data: Mapping[Var, Expr]) -> BlockRealize:
    """`realize` with the variables of `data`, which may be anything, in the place of its values."""
    *values, predicate = (*realize.iter_values, realize.predicate)
    for var, value in data.items():
        *values, predicate = (put(one, value, var) for one in (*values, predicate))
    return replace(realize, iter_values=tuple(values), predicate=predicate)


def covers_domain(realize: BlockRealize, loops: Bounds, of: Collection[Var] | None = None) -> bool:
    """Whether the loops around it run a block for all of its domain, as far as can be proved.

    With `of`, only these of its iterators are looked at.
    """
    if of is not None:
        asked = conjuncts(realize.predicate)
        left = arith.joined(c for c in asked if not stays_in_domain(c, realize, loops))
        values = tuple(value for var, value in realize.bindings.items() if var in of)
        kept = tuple(it for it in realize.block.iter_vars if it.var in of)
        realize = BlockRealize(values, left, replace(realize.block, iter_vars=kept))
    return runs_over(realize, loops) == domain(realize.block)


def runs_over(realize: BlockRealize, loops: Bounds) -> Bounds | None:
    """The values of a block's iterators, of which the loops around it run all combinations.

    None where that is not proved.
    """
    ends = domain(realize.block)
    plain, loops = counted(realize, loops, digits=True)
    if any(map(arith.reads_memory, plain.iter_values)):
        return None  # data decide what runs
    dom = {**loops, **summed_sizes(realize.block)}
    one = filled_as(_instance(plain, plain.predicate), loops, dom)
    if one is None:
        return None
    own = one.access.cell_variables() & one.own.keys()
    if not misses_none(one.access, own, [*ends.values()], {**loops, **one.own}):
        return None
    found: dict[Var, tuple[int, int]] = {}
    for (var, (low, high)), r in zip(ends.items(), one.box, strict=True):
        if isinstance(ends[var], SizedEnds):
            if not _covers(r, ends[var]):
                return None
            found[var] = ends[var]
            continue
        first, last = arith.bounds(r.min, {}), arith.bounds(r.min + r.extent - 1, {})
        if first is None or last is None:
            return None
        found[var] = max(low, first[1]), min(high, last[0])
    return found


def _covers(r: Range, ends: tuple[int, int]) -> bool:
    """Whether a range is proved to have all values up to where sizes tell the last."""
    assert isinstance(ends, SizedEnds)
    last = r.min + r.extent - 1
    return arith.prove(r.min <= ends[0], {}) and arith.prove(last >= ends.last, {})


def stays_in_domain(condition: Expr, realize: BlockRealize, dom: Bounds) -> bool:
    """Whether `condition` only says that the block's iterators are in their domains.

    `dom` bounds the loops around.
    """
    if arith.prove(in_iterators(condition, realize), domain(realize.block)):
        return True
    one = _instance(realize, condition)
    ends = [*domain(realize.block).values()]
    return misses_none(one, one.cell_variables() & dom.keys(), ends, dom)


def _instance(realize: BlockRealize, condition: Expr) -> Access[For]:
    """An instance of a block as a cell: its iterators are the indices, its domain is the buffer."""
    extents = [
        ends.last + 1 if isinstance(ends, SizedEnds) else ends[1] + 1
        for ends in domain(realize.block).values()
    ]
    whole = Buffer("instances", tuple(extents), "int32")
    ones = (1,) * len(extents)
    return Access(realize, whole, True, realize.iter_values, ones, (condition,), ())


def in_iterators(condition: Expr, realize: BlockRealize) -> Expr:
    """`condition` on the loops around a block, told in the block's iterators as far as possible.

    What it says of each instance stays the same.
    """
    values = realize.bindings
    for var, value in values.items():
        if variables(value):
            condition = put(condition, value, var)
    for var, value in values.items():
        found = arith.linear(value, variables(value))
        plain = [v for v, factor in found[0].items() if factor == 1] if found else []
        if plain and value.dtype == var.dtype and variables(condition) - set(values):
            solved = var - (value - plain[-1])
            condition = arith.simplify(substitute(condition, {plain[-1]: solved}))
    return condition


def starts_sums(condition: Expr, block: Block) -> bool:
    """Whether `condition` on the iterators of `block` is proved to leave every sum its first term.

    The first one is where all reduce iterators are at their least, where T.init() runs.
    """
    first = {it.var: it.dom.min for it in block.iter_vars if it.kind == "reduce"}
    dom = {**domain(block), **summed_sizes(block)}
    return arith.prove(substitute(condition, first), dom)


def width(r: Range, dom: Bounds) -> int:
    """The extent of `r`, or the most that it can be."""
    if isinstance(r.extent, Const):
        return int(r.extent.value)
    found = arith.bounds(r.extent, dom)
    assert found is not None, "an access region of unknown size"
    return found[1]
