"""What a sum is made of, and whether it can be made in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from workbench import arith, script
from workbench.access.boxes import inside
from workbench.access.cells import of_unit
from workbench.access.combiners import TupleUpdate, constant, tuple_starts, tuple_update
from workbench.access.counters import counted, one_to_one, variables
from workbench.access.units import buffers_read, buffers_written, units, writes_apart
from workbench.access.updates import Sums, Update, starts_of, sums_of
from workbench.diag import Refusal
from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BufferRegion,
    Call,
    Const,
    Data,
    Expr,
    For,
    IterVar,
    Range,
    SizeVar,
    Var,
    const,
    free_vars,
    stores,
    substitute,
)
from workbench.verbs.bindings import conjuncts
from workbench.verbs.domains import domain, moved_by
from workbench.verbs.nest import is_one, refuse_if_one_varies
from workbench.verbs.regions import in_iterators, stays_in_domain
from workbench.verbs.site import Site, named

_START = {"+": 0, "*": 1, "min": None, "max": None}  # None: any start may be taken many times


Total: TypeAlias = Sums | TupleUpdate
"""What a block makes of its terms: one value a store."""


def total_of(site: Site[Block]) -> tuple[Total, tuple[Expr, ...]]:
    """What the block makes in parts, and from what each value starts; refused where it can't.

    Or where parts would start elsewhere.
    """
    sums = sums_of(site.node)
    if sums is not None and site.node.init is not None:
        return sums, _starts_of_sums(site, sums)
    results = dict.fromkeys(store.buffer.name for store in stores(site.node.body))
    if len(results) > 1:
        return _tuple(site, ", ".join(results))
    raise site.refuse(
        f"`{site.name}` is not of the form C[…] = C[…] + term",
        hint="the parts can be joined by +, *, T.min or T.max; the init is one store",
    )


def _tuple(site: Site[Block], results: str) -> tuple[Total, tuple[Expr, ...]]:
    """Several values that a combiner makes together, and their starts."""
    update = tuple_update(site.node)
    if update is None:
        raise site.refuse(
            f"it is not proved how parts of {results} go together",
            detail=f"`{site.name}` makes {results} at once; taken are choices by T.Select, as in "
            "argmax, the count, mean and squares of Welford, the maximum and sum of online softmax",
            hint="write it as one of these, or let each result be made by a block of its own",
        )
    if not update.combiner.associates:
        raise site.refuse(
            f"parts of {results} can't be put together",
            detail="f(f(a, b), c) and f(a, f(b, c)) are not the same for what it chooses",
            hint="choose all results by one comparison, as argmax does",
        )
    starts = tuple_starts(site.node)
    if starts is None:
        raise site.refuse(
            f"it has no T.init() from which parts of {results} could start, too",
            hint=f"give it a T.init() that stores a value to each of {results}",
        )
    if not update.combiner.starts([constant(e) for e in starts]):
        raise site.refuse(
            f"every part of {results} would start from what T.init() stores",
            detail="where a start comes in again behind other values, it is not proved to change "
            "nothing",
            hint=update.combiner.wanted,
        )
    return update, starts


def _starts_of_sums(site: Site[Block], sums: Sums) -> tuple[Expr, ...]:
    """From what sums start, one or several that have nothing to do with each other."""
    starts = starts_of(site.node, sums.stores)
    if starts is None:
        names = ", ".join(buffer.name for buffer in sums.buffers)
        raise site.refuse(
            f"parts of {names} can't all start from what its T.init() stores",
            detail="that has to be one value for each, the same in all turns of the sum, and read "
            "nothing that the block writes",
            hint=f"let T.init() store such a value to each of {names}",
        )
    for one, start in zip(sums.updates, starts, strict=True):
        wanted = _START[one.op]
        if wanted is not None and not (isinstance(start, Const) and start.value == wanted):
            raise site.refuse(
                f"`{site.name}` does not start at {wanted}",
                detail="every part would start there again",
                hint=f"let T.init() store {wanted}, and bring in the other value afterwards",
            )
    return starts


def check_order(site: Site[Block], loop: For, total: Total) -> None:
    """Refuse parts that hold terms in another order where the order says what comes out."""
    terms = moved_by(site.realize, "reduce")
    outer = (one for one in site.loops[: site.loops.index(loop)] if one.loop_var in terms)
    around = next((one for one in outer if not is_one(one.extent)), None)
    if total.ordered and around is not None and not is_one(loop.extent):
        name = around.loop_var.name
        raise site.refuse(
            f"the updates of `{site.name}` depend on their order",
            loop,
            site.node,
            detail=f"each part would hold terms from all turns of `{name}`; which of equal values "
            "stays goes by which one comes first",
            hint=f"rfactor `{name}`, the outermost loop of the reduction, or let the indices "
            "decide between equal values, as topi.argmax does",
        )


def sum_of(block: Block) -> Update | None:
    """The one sum that `block` makes from its T.init() on; None where it is not of that form."""
    sums = sums_of(block)
    if sums is None or len(sums.updates) > 1 or starts_of(block, sums.stores) is None:
        return None
    return sums.updates[0]


def sum_loops(site: Site[Block], loop: For) -> list[For]:
    """The loops around a sum; refused unless `loop` runs over terms and no term comes twice.

    A loop of one turn that moves no cell has them all in its one part.
    """
    loops, terms = site.loops, moved_by(site.realize, "reduce")
    both = moved_by(site.realize, "spatial") & terms
    for one in loops:
        if one.loop_var in both:
            raise site.refuse(
                f"`{one.loop_var.name}` says both which cell and which term",
                one,
                site.node,
                hint="split the loops so that each moves the cell or the term alone",
            )
    whole = is_one(loop.extent) and loop.loop_var not in moved_by(site.realize, "spatial")
    whole = whole and any(it.kind == "reduce" for it in site.node.iter_vars)
    summed = [one for one in loops if one.loop_var in terms or (whole and one is loop)]
    if loop not in summed:
        raise site.refuse(
            f"`{site.name}` does not sum over it",
            loop,
            site.node,
            hint=f"the loops of the sum: {named(summed)}" if summed else "no loop is summed over",
        )
    _check_nest(site, loops, summed[0])
    return loops


def _check_nest(site: Site[Block], loops: list[For], outermost: For) -> None:
    realize = site.realize
    refuse_if_one_varies(site, loops, "the buffer of the parts needs a fixed size")
    # what is in the sum, and what is ahead of it
    others = [*site.others_in(outermost), *site.places.blocks_under(loops[0])[:1]]
    if others != [realize]:
        raise site.refuse(
            f"`{others[0].block.name}` is in the nest of `{site.name}`",
            realize,
            others[0],
            hint=f"take it out of the loops of `{site.name}` first",
        )
    check_one_to_one(
        site, loops, "its loops", "every loop of more than one turn must move a cell or a term"
    )


def check_one_to_one(
    site: Site[Block], loops: Sequence[For], who: str, hint: str, where: Expr | None = None
) -> None:
    """Refuse where `loops` run the same term twice, as far as the predicate, or `where`, holds."""
    dom = site.bounds
    held = site.realize.predicate if where is None else where
    if not one_to_one(site.realize.iter_values, dom.of(loops), dom, held):
        raise site.refuse(
            "a term may be added twice",
            detail=f"{who} may run the block twice for the same iterators",
            hint=hint,
        )


def check_terms_once(site: Site[Block]) -> None:
    """Refuse a sum whose loops add a term again before they start anew: elsewhere they would not.

    A loop around all that moves the terms may repeat the whole sum.
    """
    found, terms = sum_of(site.node), moved_by(site.realize, "reduce")
    if site.node.init is None or (found is not None and found.op in ("min", "max")):
        return
    first = next((k for k, one in enumerate(site.loops) if one.loop_var in terms), None)
    if first is not None:
        check_one_to_one(
            site,
            site.loops[first:],
            "its loops",
            "every loop of more than one turn in a sum must move a cell or a term",
        )


def check_starts_apart(site: Site[Block], loops: Sequence[For]) -> None:
    """Refuse where sums of other turns of `loops` would see it if all of them started first.

    Each instance starts, updates and reads cells of its own, or it is the only one in `loops`. A
    start that is told by a reduce iterator, which no other block has, is refused as well.
    """
    check_starts_alike(site)
    block, turning = site.node, {one.loop_var for one in loops if not is_one(one.extent)}
    values = site.realize.bindings
    fixed = frozenset(v for v, value in values.items() if turning.isdisjoint(variables(value)))
    if turning.isdisjoint(moved_by(site.realize, "spatial")):
        return
    _check_starts_once(site, turning)
    hint = "name a loop that moves the terms alone, with those inside it"
    if writes_apart(block, fixed) is not True:
        raise site.refuse(
            f"two sums of `{site.name}` may have cells in common",
            detail="one would start again what the other has begun",
            hint=hint,
        )
    for region in block.writes:
        if _reads_others(block, region):
            raise site.refuse(
                f"`{site.name}` may read cells of {region.buffer.name} that other iterations of it "
                "write",
                detail="it would find sums there that have only been started",
                hint=hint,
            )


def _check_starts_once(site: Site[Block], turning: set[Var]) -> None:
    """Refuse a T.init() that reads what it writes where a loop would run it for each term."""
    init = site.node.init
    both = turning & moved_by(site.realize, "spatial") & moved_by(site.realize, "reduce")
    if init is None or not both:
        return
    for buffer in buffers_read(init) & buffers_written(init):
        name = sorted(var.name for var in both)[0]
        raise site.refuse(
            f"`{name}` says both which cell and which term",
            detail=f"its T.init() changes what is in {buffer.name}, and would run for each term",
            hint="split the loops of the sum and the others apart, not fused into one",
        )


def _reads_others(block: Block, own: BufferRegion) -> bool:
    """Whether an instance of `block` may read what others write, besides the region `own`."""
    buffer, dom = own.buffer, domain(block)
    every = arith.relax(own.region, dom, buffer.shape)
    parts = [part for part in (block.init, block.body) if part is not None]
    for unit in (unit for part in parts for unit in units(part) if buffer in unit.reads):
        for one in of_unit(unit, buffer, "read", {}):
            sides = zip(one.indices, one.sizes, strict=True)
            read = tuple(Range(low, const(size, low.dtype)) for low, size in sides)
            read = arith.relax(read, arith.loop_bounds(unit.loops), buffer.shape)
            anywhere = zip(arith.relax(read, dom, buffer.shape), every, strict=True)
            apart = any(
                arith.prove(a.min + a.extent <= b.min, dom)
                or arith.prove(b.min + b.extent <= a.min, dom)
                for a, b in anywhere
            )
            if not apart and not inside(read, own.region, buffer.shape, dom):
                return True
    return False


def check_starts_alike(site: Site[Block]) -> None:
    """Refuse a T.init() that a reduce iterator tells what to store."""
    block = site.node
    used = set(free_vars(block.init)) if block.init is not None else set()
    for it in block.iter_vars:
        if it.kind == "reduce" and it.var in used:
            name, first = it.var.name, script.expr_text(it.dom.min)
            raise site.refuse(
                f"its T.init() reads {name}, an iterator of the sum",
                detail=f"T.init() runs once for all turns of {name}",
                hint=f"write {first} for {name} in T.init(), as it is where that runs",
            )


def check_first_terms(site: Site[Block], inner: Sequence[For]) -> None:
    """Refuse a T.where on loops that say both which cell and which term, unless it cuts off last.

    What stops a counter does: it cuts off the largest digits.
    """
    dom = site.bounds
    plain, loops = counted(site.realize, dom.of(inner))
    both = moved_by(plain, "spatial") & moved_by(plain, "reduce") & set(loops)
    terms = {it.var for it in site.node.iter_vars if it.kind == "reduce"}
    for condition in conjuncts(plain.predicate):
        if not variables(condition) & both:
            continue
        if not stays_in_domain(condition, plain, {**dom, **loops}):
            own = in_iterators(condition, plain)
            check_grows(site, TRUE if variables(own) & both else own, terms)


def check_grows(site: Site[Block], condition: Expr, dropped: set[Var]) -> None:
    """Refuse a condition that may hold for later terms of a sum, but not for its first."""
    match condition:
        case BinOp("<" | "<=", a, b) if _grows(a - b, dropped):
            return
    raise lacks_first_terms(site)


def _grows(e: Expr, turning: set[Var]) -> bool:
    """Whether `e`, as loops `turning` go on, is proved to become no less."""
    known = arith.Simplifier({})
    for digit, factor in known.sum_of(e).digits.items():
        part, row = known.part(digit), known.row_of(digit)
        if turning.isdisjoint(variables(part)) or (factor > 0 and part in turning):
            continue
        if factor < 0 or row is None or not _grows(known.expr_of(row[0], e.dtype), turning):
            return False
    return True


def lacks_first_terms(site: Site[Block]) -> Refusal:
    """The refusal of a sum that T.where may leave without its start, but not without terms."""
    return site.refuse(
        "its T.where may leave out the first terms of a sum",
        detail="then nothing says for which sums there is something to start",
        hint="let T.where cut off the last terms, as split does, or none",
    )


def init_block(
    block: Block, iterators: Sequence[IterVar], suffix: str, notes: tuple[tuple[str, Data], ...]
) -> Block:
    """The init of `block` as a block of its own, with copies of those of its iterators.

    It has those buffers of the block that it uses.
    """
    assert block.init is not None
    fresh = {it.var: Var(f"{it.var.name}{suffix}", it.var.type) for it in iterators}
    body = substitute(block.init, fresh)
    started = buffers_written(body)
    own = tuple(b for b in block.alloc_buffers if b in started | buffers_read(body))
    return Block(
        f"{block.name}_init",
        tuple(replace(it, var=fresh[it.var]) for it in iterators),
        tuple(r for r in arith.access_regions(body)[0] if r.buffer not in own),
        tuple(substitute(w, fresh) for w in block.writes if w.buffer in started),
        body,
        alloc_buffers=own,
        annotations=notes,
    )


def without_init(block: Block) -> Block:
    """`block` without its T.init(): it reads what it adds to, and has nothing of the init alone."""
    assert block.init is not None
    starts, loaded = (
        {region.buffer for region in arith.access_regions(part)[0]}
        for part in (block.init, block.body)
    )
    reads = tuple(r for r in block.reads if r.buffer in loaded or r.buffer not in starts)
    known = {region.buffer for region in reads}
    again = tuple(r for r in block.writes if r.buffer in loaded - known)
    used, of_init = (
        buffers_read(part) | buffers_written(part) for part in (block.body, block.init)
    )
    kept = tuple(b for b in block.alloc_buffers if b in used or b not in of_init)
    return replace(block, init=None, reads=(*again, *reads), alloc_buffers=kept)


def left_out(site: Site[Block], loop: For, total: Total) -> list[Expr]:
    """What of the T.where of a sum would leave a part of it without even its start.

    Where parts start from what adds nothing, such a term can be that; refused where they do not.
    """
    summed, dom = moved_by(site.realize, "reduce"), site.bounds
    first = {v: const(dom[v][0], v.type) for v in summed - {loop.loop_var}}
    found = [
        condition
        for condition in conjuncts(site.realize.predicate)
        if variables(condition) & summed and not arith.prove(substitute(condition, first), dom)
    ]
    if not isinstance(total, Sums) or any(not _of_one_term(site, c, loop) for c in found):
        for _ in found:
            name = loop.loop_var.name
            raise site.refuse(
                "its T.where leaves out whole parts",
                detail=f"for some `{name}` no term at all is summed",
                hint=f"split by a factor that divides, or rfactor a loop inside `{name}`",
            )
    return found


def _of_one_term(site: Site[Block], condition: Expr, loop: For) -> bool:
    """Whether sizes stop the loops of `condition`, all those of iterators that move with `loop`.

    With numbers for sizes, a factor that divides leaves no part out.
    """
    told = [v for v in site.realize.iter_values if loop.loop_var in variables(v)]
    sizes = {v for v in variables(condition) if isinstance(v, SizeVar)}
    return bool(sizes) and variables(condition) - sizes <= {v for e in told for v in variables(e)}


def only_where(total: Sums, condition: Expr, starts: Sequence[Expr]) -> Sums:
    """`total` with each term only where `condition` holds, and elsewhere what it starts from."""
    pairs = zip(total.updates, starts, strict=True)
    return replace(
        total,
        updates=tuple(
            replace(one, term=Call("if_then_else", (condition, one.term, start), one.term.dtype))
            for one, start in pairs
        ),
    )
