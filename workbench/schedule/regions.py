"""The box of a buffer that a block touches while some of the loops around it run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import prod
from typing import TypeAlias
from weakref import WeakKeyDictionary

from workbench import arith
from workbench.access.counters import Bounds, counted, put, untangled, variables, with_counters
from workbench.access.made import writes_all
from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BlockRealize,
    BufferLoad,
    BufferRegion,
    Const,
    Expr,
    Range,
    Var,
    binary,
    substitute,
    walk,
)
from workbench.schedule.bindings import conjuncts
from workbench.schedule.domains import bindings, domain
from workbench.schedule.scope import starts_first

Box: TypeAlias = tuple[Range, ...]


def touched(region: BufferRegion, realize: BlockRealize, inner: Bounds, dom: Bounds) -> Box:
    """The smallest box that holds `region` of the block of `realize` while `inner` vary.

    `inner` and `dom` (every variable around) are bounds of loop variables.
    """
    values, inner, _ = counted(realize, inner)
    return relaxed(BufferRegion(region.buffer, _told_by(values, region, realize)), inner, dom)


def _told_by(values: Sequence[Expr], region: BufferRegion, realize: BlockRealize) -> Box:
    """`region` with `values` for the block's iterators."""
    names = (iterator.var for iterator in realize.block.iter_vars)
    bound = dict(zip(names, values, strict=True))
    return tuple(substitute(r, bound) for r in region.region)


def relaxed(region: BufferRegion, inner: Bounds, dom: Bounds) -> Box:
    """The smallest box that holds `region` while `inner` vary; `dom` bounds other variables."""
    outer = {v: ends for v, ends in dom.items() if v not in inner}
    shape = region.buffer.shape
    first = arith.region_of([r.min for r in region.region], inner, shape, outer)
    dom = {**outer, **inner}
    if all(isinstance(r.extent, Const) for r in region.region):
        return tuple(
            Range(low.min, arith.simplify(low.extent + (r.extent - 1), dom))
            for low, r in zip(first, region.region, strict=True)
        )
    ends = [r.min + r.extent - 1 for r in region.region]
    return arith.union_regions(first, arith.region_of(ends, inner, shape, outer), dom)


def exact(region: BufferRegion, realize: BlockRealize, inner: Bounds, dom: Bounds) -> Box | None:
    """The box whose cells are all written, for some value of `inner`; None where unproved.

    `region` is what one instance of the block declares to write.

    Cells beyond the domains of the block's iterators count as there: nobody reads them.
    """
    known = _exact.setdefault(realize, {})
    key = region, frozenset(inner.items()), frozenset(dom.items())
    if key not in known:
        known[key] = _exact_box(region, realize, inner, dom)
    return known[key]


_exact: WeakKeyDictionary[BlockRealize, dict[object, Box | None]] = WeakKeyDictionary()


def _exact_box(
    region: BufferRegion, realize: BlockRealize, inner: Bounds, dom: Bounds
) -> Box | None:
    if not writes_all(realize.block, region.buffer):
        return None
    values, inner, predicate = counted(realize, inner)
    known = {**dom, **inner}
    plain = replace(realize, iter_values=tuple(values), predicate=TRUE)
    naming = _only(plain, _naming(region, domain(realize.block)))
    left = [c for c in conjuncts(predicate) if not stays_in_domain(c, naming, known)]
    reduced = [it.var for it in realize.block.iter_vars if it.kind == "reduce"]
    terms = _only(plain, [*(it.var for it in naming.block.iter_vars), *reduced])
    if not all(starts_all(in_iterators(c, terms), terms.block) for c in left):
        return None
    if left and not starts_first(plain, inner, any_order=True):
        return None
    ranges = _told_by(values, region, realize)
    widths = [width(r, known) for r in ranges]
    box = touched(region, plain, inner, dom)
    mins, varying = untangled([r.min for r in ranges], inner)
    varying = _moving(mins, varying)
    if not varying:
        return box
    cells = prod(high - low + 1 for low, high in varying.values()) * prod(widths)
    sizes = [r.extent.value for r in box if isinstance(r.extent, Const)]
    if len(sizes) < len(box) or prod(int(s) for s in sizes) != cells:
        return None
    if not all(_apart(low, varying, w) for low, w in zip(mins, widths, strict=True)):
        return None
    return box if one_to_one(mins, varying, dom) else None


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
        realize = _only(realize, of)
    return runs_over(realize, loops) == domain(realize.block)


def runs_over(realize: BlockRealize, loops: Bounds) -> Bounds | None:
    """The values of a block's iterators, of which the loops around it run all combinations.

    None where that is not proved.
    """
    values, loops, predicate = counted(realize, loops)
    counts = replace(realize, iter_values=tuple(values))
    if any(isinstance(n, BufferLoad) for value in values for n in walk(value)):
        return None  # data decide what runs
    if not all(stays_in_domain(c, counts, loops) for c in conjuncts(predicate)):
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
    return found if _reaches_all(values, loops) else None


def _reaches_all(values: list[Expr], loops: Bounds) -> bool:
    """Whether `values` take every combination within the box around them."""
    varying = _moving(values, loops)
    if not varying:
        return True
    values, varying = untangled(values, varying)
    varying = _moving(values, varying)
    sizes = [r.extent for r in arith.region_of(values, varying)]
    if not all(isinstance(s, Const) for s in sizes):
        return False
    cells = prod(high - low + 1 for low, high in varying.values())
    whole = prod(int(s.value) for s in sizes if isinstance(s, Const)) == cells
    return whole and one_to_one(values, varying, loops)


def _moving(values: Sequence[Expr], dom: Bounds) -> Bounds:
    """The bounds of the variables that `values` are made of and that take more than one value."""
    used = {v for value in values for v in variables(value)}
    return {v: ends for v, ends in dom.items() if v in used and ends[0] < ends[1]}


def one_to_one(values: Sequence[Expr], inner: Bounds, dom: Bounds, predicate: Expr = TRUE) -> bool:
    """Whether it is proved that no two assignments of `inner` give the same `values`.

    `dom` bounds the other variables, which stay as they are.
    """
    values, inner, predicate, replaced = with_counters(values, predicate, inner)
    inner = {v: ends for v, ends in inner.items() if v not in replaced}
    used = {v for value in values for v in variables(value)}
    outer = {v: ends for v, ends in dom.items() if v in used and v not in inner}
    known: Expr = TRUE
    for condition in conjuncts(predicate):
        if variables(condition) <= {*inner, *outer}:
            known = binary("and", known, condition)
    return arith.is_injective([*outer, *values], {**outer, **inner}, known) is True


def _apart(low: Expr, inner: Bounds, size: int) -> bool:
    """Whether `low` moves in whole steps of `size` as `inner` vary."""
    if size == 1:
        return True
    found = arith.linear(low, inner)
    return found is not None and all(c % size == 0 for c in found[0].values())


def contains(outer: Box, inner: Box, shape: tuple[int, ...], dom: Bounds) -> bool:
    """Whether the box `inner` is proved to be inside `outer`, but for cells outside `shape`."""
    return all(
        (arith.prove(a.min <= b.min, dom) or arith.prove(a.min <= 0, dom))
        and (
            arith.prove(b.min + b.extent <= a.min + a.extent, dom)
            or arith.prove(a.min + a.extent >= size, dom)
        )
        for a, b, size in zip(outer, inner, shape, strict=True)
    )


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
        times = whole[0].get(var, 0) // factor if factor > 0 else 0
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
