"""A block run once for each cell that another one makes, in a nest like the one that makes them.

What a loop makes is no box where its tile begins and ends within a row, as after fuse and split.
Then the block that reads it counts as its maker does: it has its loops and its T.where, and each
of its iterators is solved for from the cell that is made.
"""

from __future__ import annotations

from workbench import arith
from workbench.access.counters import counted, one_to_one, untangled, variables
from workbench.access.units import Unit, writes_apart
from workbench.arith import Bounds, SizedEnds
from workbench.ir import (
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    Const,
    Expr,
    For,
    Stmt,
    Var,
    const,
    substitute,
    walk,
)
from workbench.ir.places import Places
from workbench.verbs.bindings import conjuncts
from workbench.verbs.crossing import stores_the_same
from workbench.verbs.domains import bounds_at, domain, moved_by, units_in
from workbench.verbs.inlining import domain_conditions, inverse
from workbench.verbs.moving import fixed_values
from workbench.verbs.nest import is_one, serial_nest
from workbench.verbs.regions import exact
from workbench.verbs.scope import loops_between, region_of
from workbench.verbs.site import Site, declared_reads, declared_writes

Cell = tuple[Expr, ...]
Nest = tuple[Stmt, tuple[Var, ...]]


def following(site: Site[Block], loop: For, makers: list[BlockRealize], run: Bounds) -> Nest | None:
    """The block's nest and its loops in `loop`, where not all that `makers` make there is a box.

    It is to run for all values in `run` of its iterators.
    None where it is, or where no nest like theirs runs each iteration of the block once, or may run
    it again.
    """
    where, read = site.places, declared_reads(site.node)
    pairs = [(b, maker) for b in read for maker in makers if b in declared_writes(maker.block)]
    parts = []
    for buffer, maker in pairs:
        region, known = region_of(maker.block.writes, buffer), bounds_at(where, maker)
        inner = known.of(loops_between(where, loop, maker))
        if region is None:
            continue
        if _stops_digits(region, maker, inner) or exact(maker, region, inner, known) is None:
            parts.append((buffer, maker))
    for buffer, maker in parts:
        if [one for one, _ in pairs].count(buffer) == 1:
            nest = _nest_like(site, loop, maker, buffer, run)
            if nest is not None:
                return nest
    return None


def _stops_digits(region: BufferRegion, maker: BlockRealize, inner: Bounds) -> bool:
    """Whether its T.where stops a sum, not of `inner` alone, of which cells of `region` are digits.

    Told by the digits, it would be told in longer words, which prove less: the nest is like theirs.
    """
    stops = [c.a for c in arith.conjuncts(maker.predicate) if isinstance(c, BinOp) and c.op == "<"]
    sums = [stop for stop in stops if not variables(stop) <= inner.keys()]
    nodes = walk(substitute(region, maker.bindings))
    digits = [one for one in nodes if isinstance(one, BinOp) and one.op in ("//", "%")]
    return any(arith.equal(digit.a, one) for digit in digits for one in sums)


def _nest_like(
    site: Site[Block], loop: For, maker: BlockRealize, buffer: Buffer, run: Bounds
) -> Nest | None:
    """The nest of the block in `loop` that runs it for each cell of `buffer` that is made there."""
    where, block = site.places, site.node
    read = _one_cell(region_of(block.reads, buffer))
    made = _one_cell(region_of(maker.block.writes, buffer))
    if read is None or made is None:
        return None
    if not (_made_once(where, loop, maker, made) or _may_be_again(site, maker)):
        return None
    deciding = {v for e in read for v in variables(e)}
    free = {v: run[v] for v in run if v not in deciding}
    ends, cells = {v: run[v] for v in run if v in deciding}, domain(maker.block)
    inverted = inverse(read, made, ends, cells)
    if inverted is None:
        return None
    solved, limits = inverted
    asked = domain_conditions(ends, solved, cells)
    asked += limits
    sizes: dict[Var, int] = {}

    def axis(var: Var, low: int, high: int) -> Expr:
        if low == high:
            return const(low, var.type)
        new = Var(f"ax{len(sizes)}", var.type)
        sizes[new] = high - low + 1
        return new + low

    inside, summed = loops_between(where, loop, maker), moved_by(maker, "reduce")
    loops = arith.loop_bounds(one for one in inside if one.loop_var not in summed)
    own = {var: axis(var, *loops[var]) for var in loops}
    if any(isinstance(ends, SizedEnds) for ends in (*loops.values(), *free.values())):
        return None  # a nest is written for so many turns
    fixed = fixed_values(site, loop)
    values = {v: fixed[v] if v in fixed else axis(v, *free[v]) for v in free}
    dom = {**bounds_at(where, loop.body), **{v: (0, n - 1) for v, n in sizes.items()}}

    def here(e: Expr) -> Expr:
        return arith.simplify(substitute(substitute(e, maker.bindings), own), dom)

    values |= {v: here(e) for v, e in solved.items()}
    conditions = [here(c) for c in (*conjuncts(maker.predicate), *asked)]
    realize = BlockRealize(
        tuple(values[it.var] for it in block.iter_vars), arith.joined(conditions), block
    )
    if any(values[it.var].dtype != it.var.dtype for it in block.iter_vars):
        return None
    return serial_nest(sizes, realize), tuple(sizes)


def _one_cell(region: BufferRegion | None) -> Cell | None:
    """The indices of a region of one cell."""
    if region is None or not all(is_one(r.extent) for r in region.region):
        return None
    return tuple(r.min for r in region.region)


def _may_be_again(site: Site[Block], maker: BlockRealize) -> bool:
    """Whether both may run several times, one turn after the other: they store the same again."""
    every = site.places.loops_above(maker)
    below, _ = units_in(site.places, every[0] if every else maker)
    changed = {*declared_writes(site.node)}.union(*(unit.writes for unit in below))
    plain = Unit(site.realize, ())
    return (
        all(one.kind in ("serial", "unrolled") for one in every)
        and all(stores_the_same(one, changed) for one in below if one.stmt is maker)
        and not plain.accumulates
        and writes_apart(site.node) is True
        and plain.reads & changed <= {*declared_writes(maker.block)}
    )


def _made_once(where: Places, loop: For, maker: BlockRealize, made: Cell) -> bool:
    """Whether all loops together make each cell once, finished within a turn of `loop`."""
    loops, summed = where.loops_above(maker), moved_by(maker, "reduce")
    if any(one.loop_var in summed for one in (*where.loops_above(loop), loop)):
        return False
    moving = [one for one in loops if one.loop_var not in summed]
    dom: Bounds = arith.loop_bounds(moving)
    if len(dom) < len(moving) or not all(isinstance(one.extent, Const) for one in moving):
        return False
    used = {v for e in made for v in variables(substitute(e, maker.bindings))}
    if any(v not in used and low < high for v, (low, high) in dom.items()) or used & summed:
        return False
    plain, dom = counted(maker, dom)
    cells, dom = untangled([substitute(e, plain.bindings) for e in made], dom)
    now = {v for e in (*cells, plain.predicate) for v in variables(e)}
    return not now & summed and one_to_one(
        cells, {v: ends for v, ends in dom.items() if v in now}, {}, plain.predicate
    )
