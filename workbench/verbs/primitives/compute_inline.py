"""compute_inline: compute a value where it is read, instead of storing it first."""

from __future__ import annotations

from collections.abc import Callable, Collection

from workbench import arith
from workbench.access.accesses import accesses
from workbench.access.facts import facts, follows
from workbench.arith import Bounds
from workbench.ir import (
    BinOp,
    Block,
    BlockRealize,
    BufferLoad,
    BufferStore,
    Expr,
    Node,
    PrimFunc,
    Size,
    Var,
    always_has_value,
    cast,
    substitute,
    walk,
)
from workbench.ir.places import places
from workbench.verbs.crossing import check_leaves
from workbench.verbs.domains import bounds_at, domain
from workbench.verbs.feeding import check_fed
from workbench.verbs.inlining import (
    domain_conditions,
    inlined,
    inverse,
    only_store,
    without_block,
)
from workbench.verbs.moving import check_is_step, check_not_overwritten, limits
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.regions import covers_domain
from workbench.verbs.scope import check_stage
from workbench.verbs.site import Site, site_of


@primitive(group="blocks", sizes=True)
def compute_inline(func: PrimFunc, block: Block) -> Edit[None]:
    """Put what `block` computes into every block that reads it, and drop it and its buffer.

    >>> sch.compute_inline("B")
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        B = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2)
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                T.reads(B[vi])
                T.writes(C[vi])
                C[vi] = B[vi] + T.float32(1)
    ---
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(C[vi])
                C[vi] = A[vi] * T.float32(2) + T.float32(1)
    """
    site = site_of(func, block, "compute_inline")
    store = only_store(site)
    check_stage(site)
    buffer = store.buffer
    hint = "put it into the block that feeds it, with reverse_compute_inline"
    check_is_step(site, [buffer], hint)
    readers = site.consumers
    if readers:  # else nobody misses it
        check_not_overwritten(site, readers[-1])
    _check_runs_everywhere(site)
    slots = tuple(Var(f"x{k}", index.dtype) for k, index in enumerate(store.indices))
    sides = zip(slots, buffer.shape, strict=True)
    ends = {slot: arith.up_to(size, slot.type) for slot, size in sides}
    inverted = inverse(store.indices, slots, domain(block), ends)
    if inverted is None:
        raise site.refuse(
            f"from a cell of {buffer.name} one cannot tell which iteration wrote it",
            hint="inline blocks that write B[v], B[v + 1] or B[v * 4 + w]; move others with "
            "compute_at",
        )
    value = cast(buffer.type, store.value)
    for reader in readers:
        _check_inside(site, reader, slots, inverted[0], store)
    changed = func
    for reader in readers:
        old = places(changed).blocks[reader.block.id]
        use = _use(slots, inverted[0], value, domain(old.block))
        try:
            changed = places(changed).replace(old, inlined(old, buffer, use))
        except ZeroDivisionError:
            raise site.refuse(
                f"for a cell that `{reader.block.name}` reads it divides by 0, under a guard",
                block,
                reader.block,
                hint=f"keep {buffer.name}: written out for that cell, the value has no number",
            ) from None
    changed, gone = without_block(site, changed, buffer)
    edit = Edit(changed, None, {block.id: (), **dict.fromkeys(gone, ())})
    for reader in readers:
        there = site.after(edit.places, reader.block.id)
        check_leaves(site, there)
        check_fed(site, there)
    return edit


def _check_runs_everywhere(site: Site[Block]) -> None:
    if limits(site.realize, site.bounds) and not covers_domain(site.realize, site.bounds):
        raise site.refuse(
            "it runs only where its T.where holds",
            hint="write the condition inside the block, as T.if_then_else",
        )


def _check_inside(
    site: Site[Block],
    reader: BlockRealize,
    slots: tuple[Var, ...],
    solved: dict[Var, Expr],
    store: BufferStore,
) -> None:
    """Refuse where a cell is read that nobody writes, and what would be in it may not be computed.

    A T.Select makes both of its values: a cell that nobody wrote does no harm as the one that is
    not taken, and an access outside of a buffer does. Where the block runs, it is inside.
    """
    whole = covers_domain(site.realize, site.bounds)
    around = bounds_at(site.places, reader)
    for use in accesses(reader):
        if use.buffer is not store.buffer:
            continue
        cell = dict(zip(slots, use.indices, strict=True))
        at = {var: substitute(value, cell) for var, value in solved.items()}
        dom = {**around, **arith.loop_bounds(use.loops, around)}
        own = domain_conditions(domain(reader.block), reader.bindings, dom)
        guards = (*use.guards, *own)  # where the reader runs, its iterators are in their domains
        own_ends = domain(site.node).items()
        ends = [(at[var], each[0], arith.last_of(each)) for var, each in own_ends]
        runs = whole and _between(ends, guards, dom)
        if not runs and not _inside(store.value, at, guards, dom):
            raise site.refuse(
                f"`{reader.block.name}` may read cells of {store.buffer.name} that nobody writes",
                use.node,
                store,
                detail="what it computes is not proved to read inside buffers there, and to divide "
                "by no 0",
                hint="choose by T.if_then_else, which leaves the other value alone; T.Select makes "
                "both",
            )


def _inside(value: Expr, at: dict[Var, Expr], guards: tuple[Expr, ...], dom: Bounds) -> bool:
    """Whether `value`, with its variables as in `at`, is proved to read inside buffers alone.

    And to divide by nothing that may be 0, to shift no further than surely can be.
    """
    if not all(always_has_value(n) for n in walk(value) if isinstance(n, BinOp)):
        return False
    for load in accesses(value):
        sides = zip(load.indices, load.buffer.shape, strict=True)
        ends: list[tuple[Expr, int, Size]] = [
            (substitute(index, at), 0, size - 1) for index, size in sides
        ]
        if not _between(ends, [*guards, *(substitute(g, at) for g in load.guards)], dom):
            return False
    return True


def _between(ends: list[tuple[Expr, int, Size]], guards: Collection[Expr], dom: Bounds) -> bool:
    """Whether each value is proved to be from its low to its high end where `guards` hold."""
    held, known = facts(guards), arith.Simplifier(dom)
    return all(
        follows(value - low, held, known) and follows(high - value, held, known)
        for value, low, high in ends
    )


def _use(
    slots: tuple[Var, ...], solved: dict[Var, Expr], value: Expr, dom: Bounds
) -> Callable[[BufferLoad | BufferStore], Node]:
    """A change that turns a load into `value` for that cell."""

    def change(node: BufferLoad | BufferStore) -> Node:
        cell = dict(zip(slots, node.indices, strict=True))
        return substitute(value, {var: _at(e, cell, dom) for var, e in solved.items()})

    return change


def _at(e: Expr, cell: dict[Var, Expr], dom: Bounds) -> Expr:
    """`e` for that cell; an index that is taken as it is keeps the words of the learner."""
    return cell[e] if isinstance(e, Var) else arith.simplify(substitute(e, cell), dom)
