"""The box of a buffer that a block touches while some of the loops around it run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, TypeAlias

from workbench import arith
from workbench.access.counters import Bounds, counted, put, variables
from workbench.access.made import whole_box, writes_all
from workbench.ir import (
    BinOp,
    Block,
    BlockRealize,
    BufferRegion,
    Const,
    Expr,
    Range,
    Var,
    remembered,
    substitute,
)
from workbench.schedule.bindings import conjuncts
from workbench.schedule.domains import bindings, domain
from workbench.schedule.scope import starts_first

Box: TypeAlias = tuple[Range, ...]


def touched(region: BufferRegion, realize: BlockRealize, inner: Bounds, dom: Bounds) -> Box:
    """The smallest box that holds `region` of the block of `realize` while `inner` vary.

    `inner` and `dom` (every variable around) are bounds of loop variables.
    """
    plain, inner = counted(realize, inner)
    told = substitute(region, bindings(plain))
    return arith.relax(told.region, inner, region.buffer.shape, dom)


def told_by_memory(block: Block) -> bool:
    """Whether what is in memory says which cells the block declares to touch."""
    return any(
        arith.reads_memory(axis.min) or arith.reads_memory(axis.extent)
        for region in (*block.reads, *block.writes)
        for axis in region.region
    )


def exact(region: BufferRegion, realize: BlockRealize, inner: Bounds, dom: Bounds) -> Box | None:
    """The box whose cells are all written, for some value of `inner`; None where unproved.

    `region` is what one instance of the block declares to write.

    Cells beyond the domains of the block's iterators count as there: nobody reads them.
    """
    known: dict[Any, Box | None] = remembered(realize)
    key = "exact", region, frozenset(inner.items()), frozenset(dom.items())
    if key not in known:
        known[key] = _exact_box(region, realize, inner, dom)
    return known[key]


def _exact_box(
    region: BufferRegion, realize: BlockRealize, inner: Bounds, dom: Bounds
) -> Box | None:
    if not writes_all(realize.block, region.buffer):
        return None
    plain, inner = counted(realize, inner)
    known = {**dom, **inner}
    naming = _only(plain, _naming(region, domain(realize.block)))
    left = [c for c in conjuncts(plain.predicate) if not stays_in_domain(c, naming, known)]
    reduced = [it.var for it in realize.block.iter_vars if it.kind == "reduce"]
    terms = _only(plain, [*(it.var for it in naming.block.iter_vars), *reduced])
    if not all(starts_all(in_iterators(c, terms), terms.block) for c in left):
        return None
    if left and not starts_first(plain, inner, any_order=True):
        return None
    ranges = substitute(region, bindings(plain)).region
    return whole_box([r.min for r in ranges], [width(r, known) for r in ranges], inner, dom)


def _naming(region: BufferRegion, ends: Bounds) -> set[Var]:
    """The iterators that an index of `region` tells alone: beyond their domains lie other cells."""
    found: set[Var] = set()
    for r in region.region:
        told = arith.linear(r.min, ends)
        if told is not None and isinstance(told[1], Const) and len(told[0]) == 1:
            found |= {*told[0]}
    return found


def _only(realize: BlockRealize, of: Collection[Var]) -> BlockRealize:
    """`realize` with those of its iterators alone that are in `of`."""
    bound = bindings(realize)
    kept = tuple(it for it in realize.block.iter_vars if it.var in of)
    block = replace(realize.block, iter_vars=kept)
    return replace(realize, iter_values=tuple(bound[it.var] for it in kept), block=block)


def covers_domain(realize: BlockRealize, loops: Bounds, of: Collection[Var] | None = None) -> bool:
    """Whether the loops around it run a block for all of its domain, as far as can be proved.

    With `of`, only these of its iterators are looked at.
    """
    if of is not None:
        asked = conjuncts(realize.predicate)
        left = arith.joined(c for c in asked if not stays_in_domain(c, realize, loops))
        realize = _only(replace(realize, predicate=left), of)
    return runs_over(realize, loops) == domain(realize.block)


def runs_over(realize: BlockRealize, loops: Bounds) -> Bounds | None:
    """The values of a block's iterators, of which the loops around it run all combinations.

    None where that is not proved.
    """
    plain, loops = counted(realize, loops)
    values = plain.iter_values
    if any(map(arith.reads_memory, values)):
        return None  # data decide what runs
    if not all(stays_in_domain(c, plain, loops) for c in conjuncts(plain.predicate)):
        return None
    found: Bounds = {}
    for (var, (low, high)), value in zip(domain(realize.block).items(), values, strict=True):
        box = arith.region_of([value], loops, [high + 1])[0]
        first, last = box.min, arith.simplify(box.min + box.extent - 1)
        if isinstance(first, Const) and isinstance(last, Const):
            found[var] = max(low, int(first.value)), min(high, int(last.value))
        elif arith.prove(first <= low, {}) and arith.prove(last >= high, {}):
            found[var] = low, high
        else:
            return None
    every = whole_box(values, [1] * len(values), loops, loops)
    return None if every is None else found


def stays_in_domain(condition: Expr, realize: BlockRealize, dom: Bounds) -> bool:
    """Whether `condition` only says that the block's iterators are in their domains.

    `dom` bounds the loops around.
    """
    values, ends = bindings(realize), domain(realize.block)
    if arith.prove(in_iterators(condition, realize), ends):
        return True
    match condition:
        case BinOp("<", expr, Const(value=stop)):
            return any(
                _outside(value, expr, int(stop), ends[var][1], dom) for var, value in values.items()
            )
        case BinOp("<=", Const(value=start), expr):  # the other end: all with its sign changed
            return any(
                _outside(0 - value, 0 - expr, 1 - int(start), -ends[var][0], dom)
                for var, value in values.items()
            )
    return False


def in_iterators(condition: Expr, realize: BlockRealize) -> Expr:
    """`condition` on the loops around a block, told in the block's iterators as far as possible.

    What it says of each instance stays the same.
    """
    values, told = bindings(realize), condition
    for var, value in values.items():
        if variables(value):
            told = put(told, value, var)
    for var, value in values.items():
        found = arith.linear(value, variables(value))
        plain = [v for v, factor in found[0].items() if factor == 1] if found else []
        if plain and value.dtype == var.dtype and variables(told) - set(values):
            solved = var - (value - plain[-1])
            told = arith.simplify(substitute(told, {plain[-1]: solved}))
    return told


def starts_all(condition: Expr, block: Block) -> bool:
    """Whether `condition` on the iterators of `block` is proved to leave every sum its first term.

    The first one is where all reduce iterators are at their least, where T.init() runs.
    """
    first = {it.var: it.dom.min for it in block.iter_vars if it.kind == "reduce"}
    return arith.prove(substitute(condition, first), domain(block))


def _outside(value: Expr, expr: Expr, stop: int, last: int, dom: Bounds) -> bool:
    """Whether `value`, a multiple of `expr` and some more, is beyond `last` once `expr` >= stop."""
    times = 1
    whole, part = arith.linear(value, dom), arith.linear(expr, dom)
    if whole is not None and part is not None and part[0]:
        var, factor = next(iter(part[0].items()))
        times = whole[0].get(var, 0) // factor if factor else 0
    if times < 1:
        return False
    rest = arith.bounds(arith.simplify(value - expr * times, dom), dom)
    return rest is not None and rest[0] + stop * times > last


def width(r: Range, dom: Bounds) -> int:
    """The extent of `r`, or the most that it can be."""
    if isinstance(r.extent, Const):
        return int(r.extent.value)
    found = arith.bounds(r.extent, dom)
    assert found is not None, "an access region of unknown size"
    return found[1]
