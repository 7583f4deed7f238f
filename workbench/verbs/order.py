"""Whether the iterations of a nest give the same result in another order."""

from __future__ import annotations

from workbench import arith
from workbench.access.combiners import tuple_update
from workbench.access.counters import one_to_one
from workbench.access.iterations import feeds, tells_by_changing
from workbench.access.units import Unit, same_cell, units, writes_apart
from workbench.access.updates import updates_of, why_ordered
from workbench.arith import Bounds
from workbench.arith.radix import fixed_by_size
from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    For,
    IterVar,
    Var,
    flat_index,
    free_vars,
    stores,
    walk,
)
from workbench.verbs.scope import last_counts, starts_first
from workbench.verbs.site import Site


def refuse_unless_any_order(site: Site[For], before: list[For], after: list[For]) -> None:
    """Raise Refusal where running the nest `before` in the order `after` could change the result.

    Sums of floats may come out rounded differently, as with every reduction that is reordered.
    """
    body = before[-1].body
    below = list(units(body))
    around = site.places.all_loops_above(before[0])
    inside = [loop for unit in below for loop in unit.loops]
    dom = arith.loop_bounds([*around, *before, *inside])
    for unit in below:
        _refuse_own(site, unit, before, after, dom)
    for number, unit in enumerate(below):
        for buffer in sorted(unit.reads | unit.writes, key=lambda b: b.name):  # always the same
            writers = [u for u in below if buffer in u.writes and u is not unit]
            _refuse_flow(site, unit, buffer, writers, below[:number], before, dom)


def refuse_other_updates(site: Site[Block], there: Site[Block], kept: frozenset[Var]) -> None:
    """Raise Refusal where a cell of the block, `there` after a step, may get other updates.

    Or the same, of which another is the last. The iterators in `kept` have the same values in the
    same turns of what is around as before.
    """
    block = site.node
    apart = writes_apart(block, kept) is True
    if apart and (block.init is None or commutes(block)):
        return
    counting = [it for it in block.iter_vars if it.kind == "reduce" or not apart]
    counting = [it for it in counting if it.var not in kept]
    if all(counts_up(one.realize, one.loops, counting) for one in (site, there)):
        return
    if apart:
        raise site.refuse(
            f"the updates of `{site.name}` depend on their order",
            hint="let its loops stand in the order of its reduce iterators, each counting up",
            detail=_why_ordered(block),
        )
    hint = f"give {block.writes[0].buffer.name} an axis more, so that each has its own cell"
    raise last_counts(site, site.name, hint=hint)


def counts_up(realize: BlockRealize, loops: list[For], counting: list[IterVar]) -> bool:
    """Whether the iterators `counting`, the first one slowest, are proved to count up."""
    dom, values = arith.loop_bounds(loops), realize.bindings
    if len({it.var.dtype for it in counting}) != 1:
        return not counting
    sizes = [ends[1] for it in counting if (ends := arith.bounds(it.dom.extent, {})) is not None]
    if len(sizes) < len(counting):
        return False
    total = flat_index([values[it.var] for it in counting], sizes, counting[0].var.dtype)
    slope = arith.linear(arith.simplify(total, dom), dom)
    if slope is None or not isinstance(slope[1], Const):
        return False
    factors = slope[0]
    terms = {
        v: (factors[v], high - low) for v, (low, high) in dom.items() if v in factors and low < high
    }
    up = all(factor > 0 for factor, _ in terms.values())
    return up and fixed_by_size(terms) == [[v] for v in terms]  # outermost first


# --- one unit ------------------------------------------------------------------------------------


def _refuse_own(
    site: Site[For], unit: Unit, before: list[For], after: list[For], dom: Bounds
) -> None:
    block = unit.block
    apart = block is not None and writes_apart(block) is True
    if block is None or not apart or tells_by_changing(before[0], unit):
        hint = "keep the order, or make the iterators that share a cell reduce iterators"
        raise last_counts(site, unit.name, unit.stmt, hint=hint)
    if not unit.accumulates:
        return
    _refuse_own_reads(site, unit, block)
    if not unit.bound("reduce"):
        return  # each cell is changed by one instance, however often
    order = _Order(unit, before, dom)
    if not order.each_once():
        raise site.refuse(
            f"`{unit.name}` runs twice for the same iterators, so its init would come between its "
            "updates",
            unit.stmt,
            hint="reorder loops that the iterators of the block all use",
        )
    if order.same_for_each_cell(after):
        return
    if not commutes(block):
        raise site.refuse(
            f"the updates of `{unit.name}` depend on their order",
            unit.stmt,
            hint="keep the loops of the reduction in their order",
            detail=_why_ordered(block),
        )
    if not order.starts_at_init():
        raise site.refuse(
            f"`{unit.name}` would be updated before its init",
            unit.stmt,
            hint="keep the loops of the reduction in their order",
        )


def _refuse_own_reads(site: Site[For], unit: Unit, block: Block) -> None:
    """Refuse a block that reads, of what it writes, another cell than it writes."""
    written: dict[Buffer, list[BufferStore]] = {}
    for store in stores(block):
        written.setdefault(store.buffer, []).append(store)
    for load in walk(block):
        if not isinstance(load, BufferLoad) or load.buffer not in written:
            continue
        if not any(same_cell(load.indices, one.indices) for one in written[load.buffer]):
            raise site.refuse(
                f"`{unit.name}` reads cells of {load.buffer.name} that other iterations of it "
                "write",
                unit.stmt,
                load,
                hint="keep the order: each iteration needs those before it",
            )


class _Order:
    """In which order a nest updates each cell of a reduction block."""

    def __init__(self, unit: Unit, loops: list[For], dom: Bounds) -> None:
        self.unit = unit
        self.loops = loops
        self.dom = dom
        known = arith.Simplifier(dom)
        self.spatial = [known.simplify(e) for e in unit.bound("spatial")]
        self.reduced = [known.simplify(e) for e in unit.bound("reduce")]
        self.reducing = {v for e in self.reduced for v in free_vars(e)}

    def each_once(self) -> bool:
        """Whether the nest runs no instance of the block twice."""
        every = {loop.loop_var for loop in (*self.loops, *self.unit.loops)}
        if any(v not in self.dom for v in every):
            return False
        stmt, turns = self.unit.stmt, {v: self.dom[v] for v in every}
        assert isinstance(stmt, BlockRealize)
        return one_to_one(stmt.iter_values, turns, self.dom, stmt.predicate)

    def same_for_each_cell(self, after: list[For]) -> bool:
        """Whether each cell gets its updates in the same order in the nest `after`."""
        mine = [loop for loop in self.loops if loop.loop_var in self.reducing]
        if mine != [loop for loop in after if loop.loop_var in self.reducing]:
            return False
        nest = {loop.loop_var for loop in self.loops}
        used = [nest & set(free_vars(e)) for e in self.spatial]
        return all(v <= self.reducing or not v & self.reducing for v in used)

    def starts_at_init(self) -> bool:
        """Whether in every order the first update of each cell is the one with the init."""
        block = self.unit.block
        assert block is not None
        if block.init is None:
            return True
        assert isinstance(self.unit.stmt, BlockRealize)
        return starts_first(self.unit.stmt, self.dom, any_order=True)


def commutes(block: Block) -> bool:
    """Whether `block` only updates cells by adding, multiplying, min or max of other values.

    Or several cells by a combiner that commutes.
    """
    together = tuple_update(block)
    if together is not None and together.combiner.associates:
        return together.combiner.commutes
    return bool(updates_of(block.body))


def _why_ordered(block: Block) -> str:
    """Why the updates of a block that does not commute must stay in their order."""
    together = tuple_update(block)
    if together is not None and together.combiner.associates:
        return (
            "which of equal values stays goes by which one comes first, unless the indices decide "
            "between them, as in topi.argmax"
        )
    return why_ordered(block.body)


# --- between units -------------------------------------------------------------------------------


def _refuse_flow(
    site: Site[For],
    unit: Unit,
    buffer: Buffer,
    writers: list[Unit],
    earlier: list[Unit],
    before: list[For],
    dom: Bounds,
) -> None:
    """Refuse where `unit` needs of `buffer` what other iterations write."""
    if not writers:
        return
    body = before[-1].body
    fed = [w for w in writers if w in earlier and feeds(body, w, unit, buffer, dom)]
    if buffer in unit.reads and fed:
        turning = {loop.loop_var for loop in before}
        partial = [w for w in fed if not turning.isdisjoint(w.moved_by("reduce"))]
        if not (partial and unit.accumulates and buffer not in unit.writes):
            return
    if buffer not in unit.reads and all(w not in earlier for w in writers):
        return  # the later ones are looked at when it is their turn
    raise site.refuse(
        f"`{unit.name}` needs cells of {buffer.name} that "
        f"`{writers[0].name}` writes in other iterations",
        unit.stmt,
        writers[0].stmt,
        hint=f"reorder before `{unit.name}` and `{writers[0].name}` are put into one nest",
    )
