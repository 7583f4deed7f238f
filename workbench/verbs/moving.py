"""Moving a block under another loop: where it fits, which iterations are needed there, the nest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench import arith
from workbench.access.counters import counted, variables
from workbench.access.units import runs_fixed, writes_apart
from workbench.arith import Bounds, SizedEnds
from workbench.diag import Refusal
from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    Const,
    Expr,
    For,
    PrimFunc,
    Range,
    Size,
    Stmt,
    Var,
    binary,
    const,
    in_width,
    size_expr,
    substitute,
    walk,
)
from workbench.ir.places import Places, places
from workbench.verbs.bindings import conjuncts
from workbench.verbs.domains import bounds_at, count_in, domain, moved_by, with_turns
from workbench.verbs.factoring import check_terms_once
from workbench.verbs.feeding import reads_apart
from workbench.verbs.nest import inserted, serial_nest, statements
from workbench.verbs.primitive import Edit
from workbench.verbs.regions import (
    Box,
    covers_domain,
    in_iterators,
    runs_over,
    starts_sums,
    stays_in_domain,
    width,
)
from workbench.verbs.scope import (
    check_stage,
    check_started,
    common_loops,
    last_counts,
    loops_between,
)
from workbench.verbs.site import Site, declared_reads, declared_writes, named, site_of


@dataclass(frozen=True, slots=True)
class Need:
    """The values of one iterator that are needed in its new place: `size` of them from `low` on.

    `at_least` and `below` cut off what is beyond the iterator's domain, where that can happen.
    """

    low: Expr
    size: Size
    at_least: int | None = None
    below: Size | None = None


# --- where it fits -------------------------------------------------------------------------------


def check_loop(site: Site[Block], loop: For) -> None:
    """Refuse a loop that already holds the block or that is inside another block."""
    if loop in site.places.all_loops_above(site.realize):
        raise site.refuse(
            "it is already in that loop",
            loop,
            site.node,
            hint=f"name a loop of another block; `{site.name}` moves into that block's nest",
        )
    if site.places.scope(loop) is not site.scope:
        raise site.refuse(
            "that loop is in another block",
            loop,
            site.node,
            hint="a block moves only among the loops directly inside the block that holds it",
        )


def movable(func: PrimFunc, block: Block, loop: For, verb: str) -> Site[Block]:
    """Where `verb` takes the block to `loop`; refused for one that no such verb moves there."""
    plain = site_of(func, block, verb)
    site = plain.at(loop)
    check_loop(site, loop)
    check_stage(plain)
    check_started(plain, declared_writes(block))
    check_terms_once(site)
    return site


def position(
    site: Site[Block],
    loop: For,
    before: Sequence[BlockRealize],
    after: Sequence[BlockRealize],
    index: int,
) -> int:
    """The position in the body of `loop` that `index` means: -1 the last one, -2 the first.

    It is behind all of the blocks `before` and ahead of all of `after`.
    """
    first, last = 0, len(statements(loop))
    for k, stmt in enumerate(statements(loop)):
        own = isinstance(stmt, BlockRealize)
        inside = [stmt] if own else site.places.blocks_under(stmt)
        if any(r in before for r in inside):
            first = k + 1
        if any(r in after for r in inside):
            last = min(last, k)
    allowed = range(first, last + 1)
    if index in (-1, -2) and allowed:
        return allowed[-1] if index == -1 else allowed[0]
    if index in allowed:
        return index
    ways = " or ".join(str(k) for k in allowed) or "none"
    raise site.refuse(
        f"index={index} is no place for it",
        loop,
        hint=f"index {ways}, between what it reads and what reads it; -1 is the last, -2 the first",
    )


def check_not_overwritten(site: Site[Block], until: BlockRealize, hint: str = "") -> None:
    """Refuse where cells that the block may read are written behind it, up to the block `until`."""
    for other, buffer in overwriting(site, until):
        raise overwritten(site, other, buffer, hint)


def overwriting(site: Site[Block], until: BlockRealize) -> list[tuple[BlockRealize, Buffer]]:
    """The blocks behind it, up to `until`, that may write what it reads in some turn, and of what.

    It may come to run for all of its domain.
    """
    order = site.siblings
    return [
        (other, buffer)
        for other in order[order.index(site.realize) + 1 : order.index(until) + 1]
        for buffer in declared_reads(site.node)
        if buffer in declared_writes(other.block)
        and not reads_apart(site.places, site.realize, other, buffer, moves=True)
    ]


def overwritten(site: Site[Block], other: BlockRealize, buffer: Buffer, hint: str) -> Refusal:
    """The refusal of a block that `other` would come ahead of."""
    return site.refuse(
        f"`{other.block.name}` overwrites {buffer.name}, which it reads",
        site.node,
        other,
        hint=f"let `{other.block.name}` write another buffer{hint}",
    )


def unless_alone(site: Site[Block], hint: str) -> str:
    """`hint`, which names a neighbour; of a block without any, what makes one."""
    if site.producers or site.consumers:
        return hint
    return "no other block here makes or uses its data: cache_read or cache_write makes one to move"


def check_is_step(site: Site[Block], buffers: Iterable[Buffer], hint: str) -> None:
    """Refuse where one of `buffers` is seen outside the block that holds this one."""
    for buffer in buffers:
        if not site.is_allocated(buffer):
            raise site.refuse(
                f"{buffer.name} is a result of the program, not a step on the way", hint=hint
            )


def check_all_inside(
    site: Site[Block], loop: For, others: list[BlockRealize], why: str, whom: str, hint: str
) -> None:
    """Refuse unless all of `others` are in `loop`; `hint` is for those that share no loop."""
    outside = [r for r in others if loop not in site.places.loops_above(r)]
    if outside:
        ways = named(common_loops(site.places, others))
        raise site.refuse(
            f"`{outside[0].block.name}`{why}",
            loop,
            *outside,
            hint=f"pick a loop that holds {whom}: {ways}" if ways else hint,
        )


def check_whole(site: Site[Block]) -> None:
    """Refuse a block that runs for a part of its domain only: elsewhere it may run for more."""
    if not covers_domain(site.realize, site.bounds.of(site.loops)):
        raise _not_whole(site)


def iterations_run(site: Site[Block]) -> Bounds:
    """The values of the block's iterators, of which its loops run all combinations; else refused.

    Elsewhere it may run for no more.
    """
    run = runs_over(site.realize, site.bounds.of(site.loops))
    if run is None or any(low > high for low, high in run.values()):
        raise _not_whole(site)
    return run


def _not_whole(site: Site[Block]) -> Refusal:
    return site.refuse(
        "its loops may not run all of its iterations",
        hint="make the domains of its iterators (T.axis) no larger than what its loops run",
    )


def guard_of_terms(site: Site[Block]) -> tuple[BlockRealize, Expr]:
    """What the T.where says of the terms of a sum, told in the iterators: it moves with the block.

    Wherever the block runs, it then sums the same terms. First comes the realisation without that.
    Refused where it cannot be told or some sums would lack their first term, as by
    `check_unguarded`.
    """
    realize, dom, kept = site.realize, site.bounds, dict[Expr, Expr]()
    summed, mine = moved_by(realize, "reduce"), set(realize.bindings)
    for condition in limits(realize, dom):
        own = in_iterators(condition, realize)
        about_terms = summed & variables(condition) and variables(own) <= mine
        if about_terms and starts_sums(own, site.node):
            kept[condition] = own
    rest = arith.joined(c for c in conjuncts(realize.predicate) if c not in kept)
    without = replace(realize, predicate=rest)
    check_unguarded(site, without)
    return without, arith.joined(kept.values())


def limits(realize: BlockRealize, dom: Bounds) -> list[Expr]:
    """What the T.where of a block says beyond the domains of its iterators."""
    return [c for c in conjuncts(realize.predicate) if not stays_in_domain(c, realize, dom)]


def check_unguarded(site: Site[Block], realize: BlockRealize | None = None) -> None:
    """Refuse a block that only its T.where keeps inside its buffers: elsewhere it may not hold.

    `realize` is its realisation, where not all of the T.where is to count.
    """
    realize, dom = realize or site.realize, site.bounds
    if not limits(realize, dom):
        return
    plain, loops = counted(realize, dom.of(site.loops))
    summed = moved_by(plain, "reduce")
    if any(summed & variables(condition) for condition in limits(plain, {**dom, **loops})):
        raise site.refuse(
            "without its T.where it may sum terms that it left out",
            detail="its T.where says which terms are summed, not its iterators (T.axis)",
            hint="give T.axis.reduce the extent for which the block is meant to run",
        )
    ends = domain(site.node)
    for region in (*site.node.writes, *site.node.reads):
        for axis, size in zip(region.region, region.buffer.shape, strict=True):
            inside = (axis.min >= 0, axis.min + axis.extent <= size)
            if not all(arith.prove(condition, ends) for condition in inside):
                raise site.refuse(
                    f"without its T.where it may leave {region.buffer.name}",
                    detail="its iterators (T.axis) go further than the buffer",
                    hint="give T.axis the extents for which the block is meant to run",
                )


# --- which iterations are needed -----------------------------------------------------------------


def fixed_values(site: Site[Block], loop: For) -> dict[Var, Expr]:
    """The values of the block's iterators that the loops around both it and `loop` decide."""
    own = site.places.all_loops_above(site.realize)
    both = {one.loop_var for one in site.places.all_loops_above(loop) if one in own}
    return {
        var: value
        for var, value in site.realize.bindings.items()
        if both & variables(value) and variables(value) <= both
    }


def kept_values(there: Site[Block], fixed: Mapping[Var, Expr]) -> frozenset[Var]:
    """The iterators of the block, `there` after a step, that still have their `fixed` values."""
    values = there.realize.bindings
    return frozenset(v for v, value in fixed.items() if arith.equal(values[v], value, there.bounds))


def fixed_by_refilling(site: Site[Block], loop: For) -> dict[Var, Expr]:
    """The fixed values where no cell tells them: each turn of the loops around fills cells anew.

    Such a cell is written by many instances of the block. Those of the turn that runs count, so
    that what its loops decide must stay. Refused where two instances of one turn may write a cell,
    or where not all instances of a turn run.
    """
    block, realize = site.node, site.realize
    if writes_apart(block) is True:
        return {}
    fixed = fixed_values(site, loop)
    if writes_apart(block, frozenset(fixed)) is not True:
        hint = f"move it inside the loops that fill {block.writes[0].buffer.name} anew"
        raise last_counts(site, block.name, hint=f"{hint}, or give that an axis more")
    inner = loops_between(site.places, loop, realize)
    fixed_turns = (runs_fixed(one) or arith.by_sizes(one.extent) for one in inner)
    if not all(fixed_turns) or not covers_domain(
        realize, arith.loop_bounds(inner), [var for var in domain(block) if var not in fixed]
    ):
        raise _not_whole(site)
    return fixed


def needs(
    ends: Bounds, pairs: Sequence[tuple[Box, Box]], dom: Bounds, fixed: Mapping[Var, Expr]
) -> tuple[dict[Var, Need], bool]:
    """The values of each iterator, within `ends`, for which a box touched meets a wanted one.

    `pairs` holds, per buffer, the box that one iteration touches, in terms of the iterators, and
    the box that is wanted; `fixed` are the values of iterators of which it tells nothing. Also
    tells whether all pairs lead to the same values.
    """
    limited: list[dict[Var, tuple[Expr, Expr]]] = [
        _solve(touch, wanted, ends, dom) for touch, wanted in pairs
    ]
    result = {}
    for var in ends:
        full: tuple[Expr, Expr] = (
            const(ends[var][0], var.dtype),
            size_expr(arith.last_of(ends[var]), var.dtype),
        )
        if var in fixed:
            full = (fixed[var], fixed[var])
        each = [solved.get(var, full) for solved in limited] or [full]
        low, high = each[0]
        for other_low, other_high in each[1:]:
            low = _meet("min", low, other_low, dom)
            high = _meet("max", high, other_high, dom)
        result[var] = within(low, high, ends[var], dom)
    first, rest = limited[:1], limited[1:]
    agree = all(_same(one.get(v), first[0].get(v), dom) for one in rest for v in ends)
    return result, agree


def _same(a: tuple[Expr, Expr] | None, b: tuple[Expr, Expr] | None, dom: Bounds) -> bool:
    if a is None or b is None:
        return a is b
    return arith.equal(a[0], b[0], dom) and arith.equal(a[1], b[1], dom)


def _meet(op: str, a: Expr, b: Expr, dom: Bounds) -> Expr:
    return a if arith.equal(a, b, dom) else arith.simplify(binary(op, a, b), dom)


def _solve(touch: Box, wanted: Box, ends: Bounds, dom: Bounds) -> dict[Var, tuple[Expr, Expr]]:
    """The ends of each iterator for which `touch` meets `wanted`, those that are limited."""
    solved: dict[Var, tuple[Expr, Expr]] = {}
    touch = tuple(Range(arith.simplify(r.min, ends), r.extent) for r in touch)
    # what a division leaves says which of the values it is that the quotient has left
    for mine, theirs in sorted(zip(touch, wanted, strict=True), key=_is_remainder):
        match mine.min:
            case BinOp("%", Var() as var, Const(value=step)) if var in solved:
                low, high = solved[var]
                if _is_one_turn(low, high, int(step), dom):
                    low += theirs.min
                    last = low + (theirs.extent - 1)
                    solved[var] = arith.simplify(low, dom), arith.simplify(last, dom)
            case _:
                for var, low, high in _solve_axis(mine, theirs, ends, dom):
                    if var not in solved:
                        solved[var] = arith.simplify(low, dom), arith.simplify(high, dom)
    return solved


def _is_remainder(axis: tuple[Range, Range]) -> bool:
    return isinstance(axis[0].min, BinOp) and axis[0].min.op == "%"


def _is_one_turn(low: Expr, high: Expr, step: int, dom: Bounds) -> bool:
    """Whether the values from `low` to `high` are those of one quotient by `step`."""
    aligned = arith.equal(low % step, const(0, low.dtype), dom)
    return aligned and arith.equal(low + (step - 1), high, dom)


def _solve_axis(
    mine: Range, theirs: Range, ends: Bounds, dom: Bounds
) -> list[tuple[Var, Expr, Expr]]:
    """The ends of the iterators that decide one dimension, the outermost digit first."""
    first, last = theirs.min, theirs.min + theirs.extent - 1
    if arith.bounds(mine.extent, ends) is None:
        return []
    more = width(mine, ends) - 1
    match mine.min:
        case BinOp("//", Var() as var, Const(value=step)) if more == 0 and int(step) > 0:
            return [(var, first * int(step), last * int(step) + (int(step) - 1))]
    affine = arith.linear(mine.min, ends)
    if affine is None:
        return []
    factors = sorted(
        ((v, f) for v, f in affine[0].items() if f != 0), key=lambda item: -abs(item[1])
    )
    if len(factors) > 1 and (factors[-1][1] < 0 or any(ends[v][0] < 0 for v, _ in factors)):
        return []
    if any(isinstance(ends[v], SizedEnds) for v, _ in factors[1:]):
        return []  # a digit of which the base is not known
    first, last = first - affine[1], last - affine[1]
    solved: list[tuple[Var, Expr, Expr]] = []
    for k, (var, factor) in enumerate(factors):
        below = more + sum(f * ends[v][1] for v, f in factors[k + 1 :])
        if factor < 0:
            solved.append((var, _ceil(-last, -factor), (below - first) // -factor))
            return solved
        solved.append((var, _ceil(first - below, factor), last // factor))
        if below >= factor or not arith.equal(first // factor, last // factor, dom):
            return solved
        first, last = first % factor, last % factor
    return solved


def _ceil(value: Expr, step: int) -> Expr:
    return value if step == 1 else (value + (step - 1)) // step


_MOST_TURNS = 1 << 24  # more come of sizes alone: all of the domain is asked for then


def within(low: Expr, high: Expr, ends: tuple[int, int], dom: Bounds) -> Need:
    """The values from `low` to `high` that are in the domain `ends` of the iterator."""
    first, last = ends[0], arith.last_of(ends)
    known = arith.Simplifier(dom)
    inside = arith.proved(low >= first, known), arith.proved(high <= last, known)
    if not all(inside):
        if arith.proved(low <= first, known) and arith.proved(high >= last, known):
            return Need(const(first, low.dtype), count_in(ends))
        if isinstance(low, Const) and isinstance(high, Const) and isinstance(last, int):
            start, stop = max(int(low.value), first), min(int(high.value), last)
            if start > stop:  # none of them, behind a choice: a loop runs at least once
                start = stop = min(max(stop, first), last)
            return Need(const(start, low.dtype), stop - start + 1)
    wide = arith.simplify(high - low + 1, dom)
    width_there = arith.bounds(wide, dom)
    size: Size = last - first + 1 if width_there is None else width_there[1]
    if arith.by_sizes(wide):
        size = wide
    elif isinstance(last, Expr) and not isinstance(size, Expr) and size > _MOST_TURNS:
        return Need(const(first, low.dtype), count_in(ends))
    return Need(
        low,
        size,
        at_least=None if inside[0] else first,
        below=None if arith.proved(low + (size - 1) <= last, known) else last + 1,
    )


# --- the nest ------------------------------------------------------------------------------------


def moved_under(
    site: Site[Block],
    loop: For,
    at: int,
    needed: dict[Var, Need],
    keep_unit_loops: bool,
    guard: Expr = TRUE,
) -> Edit[None]:
    """The program with the block in the body of `loop`, at position `at`, for what is needed there.

    `guard` says for which of its iterators it runs at all. The loops that held nothing but the
    block are gone. Refused where the iterators are of another type than the loops count in by which
    they are told.
    """
    for var, need in needed.items():
        if need.low.dtype != var.dtype:
            raise site.refuse(
                f"{var.name} is {var.dtype}, and the loops there count in {need.low.dtype}",
                hint="write all loops and T.axis with numbers of one type",
            )
    dom = bounds_at(site.places, loop.body)
    new, axes = nest_needed(site.node, needed, dom, keep_unit_loops, guard)
    return placed(site, loop, at, new, axes)


def placed(site: Site[Block], loop: For, at: int, new: Stmt, axes: tuple[Var, ...]) -> Edit[None]:
    """The program with the nest `new` of the block, which has the loops `axes`, in `loop` at `at`.

    The loops that held nothing but the block are gone.
    """
    left, gone = removed(places(inserted(site.places, loop, at, new)), site.realize)
    return Edit(left, None, dict.fromkeys(gone, axes))


def nest_needed(
    block: Block,
    needed: dict[Var, Need],
    dom: Bounds,
    keep_unit_loops: bool,
    guard: Expr = TRUE,
) -> tuple[Stmt, tuple[Var, ...]]:
    """`block` under fresh loops ax0, ax1, … for what is needed, and the loops' variables.

    `guard`, on the block's iterators, holds there too.
    """
    loops: dict[Var, Size] = {}
    values: dict[Var, Expr] = {}
    for var in (iterator.var for iterator in block.iter_vars):
        need = needed[var]
        _check_divides(block, need.low, dom)
        values[var] = need.low
        if keep_unit_loops or isinstance(need.size, Expr) or need.size != 1:
            axis = Var(f"ax{len(loops)}", var.dtype)
            loops[axis] = need.size
            values[var] = need.low + axis
    dom = {**dom, **{axis: arith.up_to(size, axis.type) for axis, size in loops.items()}}
    asked: list[Expr] = []
    for var, value in values.items():
        need = needed[var]
        if need.at_least is not None:
            asked.append(binary("<=", need.at_least, value))
        if need.below is not None:
            asked.append(value < need.below)
    there = [substitute(condition, values) for condition in (*asked, *conjuncts(guard))]
    known = arith.Simplifier(dom)
    left = [known.simplify(c) for c in there if not arith.proved(c, known)]
    predicate = arith.joined({known.number(c): c for c in left}.values())  # each said once
    realize = BlockRealize(tuple(values.values()), predicate, block)
    return serial_nest(loops, realize), tuple(loops)


def _check_divides(block: Block, value: Expr, dom: Bounds) -> None:
    """Refuse an iterator of `block` told by a division that a guard had kept away from 0.

    Or by a shift that a guard had kept from going too far.
    """
    dom = with_turns(dom)
    for node in walk(value):
        match node:
            case BinOp("<<" | ">>" as op, _, amount):
                ends = arith.bounds(amount, dom)
                if ends is None or not all(in_width(end, amount.dtype) for end in ends):
                    raise Refusal(
                        f"Can't move `{block.name}`: to tell what is needed there may {op} too far",
                        block,
                        hint="leave it outside the loops where a guard keeps that shift away",
                    )
            case BinOp("//" | "%", _, divisor):
                ends = arith.bounds(divisor, dom)
                if ends is None or ends[0] <= 0 <= ends[1]:
                    raise Refusal(
                        f"Can't move `{block.name}`: to tell what is needed there may divide by 0",
                        block,
                        hint="leave it outside the loops where a guard keeps that division away",
                    )


def removed(where: Places, realize: BlockRealize) -> tuple[PrimFunc, tuple[Var, ...]]:
    """The function without `realize` and the loops that hold nothing else, and their variables.

    Raises ValueError where nothing would be left of a body.
    """
    gone: list[Var] = []
    stmt: Stmt = realize
    for outer in where.above(realize):
        if not isinstance(outer, For):
            break
        stmt = outer
        gone.append(outer.loop_var)
    return where.replace(stmt, None), tuple(reversed(gone))
