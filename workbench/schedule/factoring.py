"""What a sum is made of, and whether it can be made in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench import arith
from workbench.access.counters import counted, one_to_one, variables
from workbench.access.units import same_cell
from workbench.diag import Refusal
from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BufferLoad,
    BufferStore,
    Const,
    Data,
    Expr,
    For,
    IterVar,
    Var,
    binary,
    const,
    stores,
    substitute,
    walk,
)
from workbench.schedule.bindings import conjuncts
from workbench.schedule.domains import moved_by
from workbench.schedule.nest import refuse_if_one_varies
from workbench.schedule.regions import in_iterators, stays_in_domain
from workbench.schedule.site import Site, named

_START = {"+": 0, "*": 1, "min": None, "max": None}  # None: any start may be taken many times


@dataclass(frozen=True, slots=True)
class Sum:
    """A block's body ``result = result op term`` with its start, the value of the init."""

    store: BufferStore
    op: str
    term: Expr
    start: Expr
    term_first: bool

    def join(self, result: Expr, term: Expr) -> Expr:
        """The value that the body stores, its operands in the order of the program."""
        return binary(self.op, term, result) if self.term_first else binary(self.op, result, term)


def only_sum(site: Site[Block]) -> Sum:
    """The sum that the block makes, refused where it is no such thing or has another start."""
    found = sum_of(site.node)
    results = dict.fromkeys(store.buffer.name for store in stores(site.node.body))
    if len(results) > 1:
        raise site.refuse(
            f"`{site.name}` has {len(results)} results",
            detail=f"it makes {', '.join(results)} at once; such reductions are not taken yet",
            hint="let each result be made by a block of its own",
        )
    if found is None:
        raise site.refuse(
            f"`{site.name}` is not of the form C[…] = C[…] + term",
            hint="the parts can be joined by +, *, T.min or T.max; the init is one store",
        )
    wanted = _START[found.op]
    if wanted is not None and not (isinstance(found.start, Const) and found.start.value == wanted):
        raise site.refuse(
            f"`{site.name}` does not start at {wanted}",
            detail="every part would start there again",
            hint=f"let T.init() store {wanted}, and bring in the other value afterwards",
        )
    return found


def sum_of(block: Block) -> Sum | None:
    """The sum that `block` makes; None where it is not of that form."""
    store, init = block.body, block.init
    if not (isinstance(store, BufferStore) and isinstance(init, BufferStore)):
        return None
    found = update_of(store)
    if found is None or init.buffer is not store.buffer:
        return None
    if not same_cell(init.indices, store.indices):
        return None
    value, term = found
    return Sum(store, value.op, term, init.value, term_first=term is value.a)


def update_of(store: BufferStore) -> tuple[BinOp, Expr] | None:
    """The value ``result op term`` of a store to `result`, and its term; None for another one.

    Such updates of a cell may come in any order: they commute.
    """
    value = store.value
    if not (isinstance(value, BinOp) and value.op in _START):
        return None
    for result, term in ((value.a, value.b), (value.b, value.a)):
        if not (isinstance(result, BufferLoad) and result.buffer is store.buffer):
            continue
        again = any(isinstance(n, BufferLoad) and n.buffer is store.buffer for n in walk(term))
        if same_cell(result.indices, store.indices) and not again:
            return value, term
    return None


def sum_loops(site: Site[Block], loop: For) -> list[For]:
    """The loops around a sum; refused unless `loop` runs over terms and no term comes twice."""
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
    summed = [one for one in loops if one.loop_var in terms]
    if loop not in summed:
        raise site.refuse(
            f"`{site.name}` does not sum over it",
            loop,
            site.node,
            hint=f"the loops of the sum: {named(summed) or 'none'}",
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


def check_first_terms(site: Site[Block], inner: Sequence[For]) -> None:
    """Refuse a T.where on loops that say both which cell and which term, unless it cuts off last.

    What stops a counter does: it cuts off the largest digits.
    """
    dom = site.bounds
    plain, loops = counted(site.realize, dom.of(inner))
    both_told = moved_by(plain, "spatial") & moved_by(plain, "reduce") & set(loops)
    terms = {it.var for it in site.node.iter_vars if it.kind == "reduce"}
    for condition in conjuncts(plain.predicate):
        if not variables(condition) & both_told:
            continue
        if not stays_in_domain(condition, plain, {**dom, **loops}):
            told = in_iterators(condition, plain)
            check_grows(site, TRUE if variables(told) & both_told else told, terms)


def check_grows(site: Site[Block], condition: Expr, dropped: set[Var]) -> None:
    """Refuse a condition that may hold for later terms of a sum, but not for its first."""
    match condition:
        case BinOp("<" | "<=", a, b):
            found = arith.linear(a - b, dropped)
            if found is not None and all(factor >= 0 for factor in found[0].values()):
                return
    raise lacks_first_terms(site)


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
    """The init of `block` as a block of its own, with copies of those of its iterators."""
    assert block.init is not None
    fresh = {it.var: Var(f"{it.var.name}{suffix}", it.var.type) for it in iterators}
    body = substitute(block.init, fresh)
    return Block(
        f"{block.name}_init",
        tuple(replace(it, var=fresh[it.var]) for it in iterators),
        arith.access_regions(body)[0],
        tuple(substitute(w, fresh) for w in block.writes),
        body,
        annotations=notes,
    )


def without_init(block: Block) -> Block:
    """`block` without its T.init(): it reads what it adds to, and not what the init alone reads."""
    assert block.init is not None
    starts, loaded = (
        {region.buffer for region in arith.access_regions(part)[0]}
        for part in (block.init, block.body)
    )
    reads = tuple(r for r in block.reads if r.buffer in loaded or r.buffer not in starts)
    known = {region.buffer for region in reads}
    again = tuple(r for r in block.writes if r.buffer in loaded - known)
    return replace(block, init=None, reads=(*again, *reads))


def check_partial(site: Site[Block], loop: For) -> None:
    """Refuse where the T.where of a sum would leave a part of it without even its start."""
    summed, dom = moved_by(site.realize, "reduce"), site.bounds
    first = {v: const(dom[v][0], v.type) for v in summed - {loop.loop_var}}
    for condition in conjuncts(site.realize.predicate):
        if variables(condition) & summed and not arith.prove(substitute(condition, first), dom):
            name = loop.loop_var.name
            raise site.refuse(
                "its T.where leaves out whole parts",
                detail=f"for some `{name}` no term at all is summed",
                hint=f"split by a factor that divides, or rfactor a loop inside `{name}`",
            )
