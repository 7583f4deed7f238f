"""reverse_compute_inline: let a block store what the next one would have made of its result."""

from __future__ import annotations

from dataclasses import replace

from workbench.access.cover import made_there
from workbench.access.units import same_cell, writes_apart
from workbench.arith import conjuncts, equal, is_index, joined, simplify
from workbench.diag import Refusal
from workbench.ir import (
    TRUE,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    Node,
    PrimFunc,
    Stmt,
    Var,
    free_vars,
    rewrite,
    substitute,
    walk,
)
from workbench.verbs.copies import reads_always
from workbench.verbs.crossing import check_enters, check_leaves
from workbench.verbs.domains import domain
from workbench.verbs.feeding import check_fed, makes_all, needs_finished
from workbench.verbs.inlining import (
    domain_conditions,
    inverse,
    only_store,
    with_regions,
    without_block,
)
from workbench.verbs.moving import iterations_run
from workbench.verbs.order import counts_up
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.regions import runs_over
from workbench.verbs.scope import check_stage, common_loops
from workbench.verbs.site import Site, declared_writes, site_of


@primitive(group="blocks", sizes=True)
def reverse_compute_inline(func: PrimFunc, block: Block) -> Edit[None]:
    """Put what `block` does into the one block that feeds it, and drop the buffer between them.

    >>> sch.reverse_compute_inline("C")
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
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(C[vi])
                C[vi] = A[vi] * T.float32(2) + T.float32(1)
    """
    site = site_of(func, block, "reverse_compute_inline")
    store = only_store(site)
    check_stage(site)
    feeder = _feeder(site)
    into = Site(site.places, feeder.block, f"{site.task} into `{feeder.block.name}`")
    made = only_store(into)
    check_stage(replace(into, task=f"reverse_compute_inline into `{into.name}`"))
    buffer = made.buffer
    _check_plain(site, feeder, buffer)
    run = iterations_run(site)
    _check_passed(site, feeder, buffer)
    cell = _cell(site, store, buffer)
    ends = domain(feeder.block)
    inverted = inverse(cell, made.indices, run, ends)
    if inverted is None:
        raise site.refuse(
            f"from a cell of {buffer.name} one cannot tell which iteration reads it",
            hint="inline blocks that read B[v], B[v + 1] or B[v * 4 + w], each cell once",
        )
    solved, limits = inverted
    _check_last(site, into, solved)
    _check_reached(site, feeder, cell, made)
    asked = [*domain_conditions(run, solved, ends), *limits]
    changed = site.places.replace(feeder, _fused(feeder, store, made, solved, asked))
    changed, gone = without_block(site, changed, buffer)
    edit = Edit(changed, None, {block.id: (feeder.block.id,), **dict.fromkeys(gone, ())})
    there = site.after(edit.places, feeder.block.id)
    _check_turn(site, feeder, there)
    check_leaves(site, there)
    check_enters(site, there)
    check_fed(site, there, finished=needs_finished(there.node))
    for reader in there.consumers:
        check_fed(site, site.after(edit.places, reader.block.id))
    return edit


def _check_passed(site: Site[Block], feeder: BlockRealize, buffer: Buffer) -> None:
    """Refuse where what the block stores is used between its feeder's place and its own."""
    if writes_apart(feeder.block) is not True:
        raise _last_counts(site, f"`{feeder.block.name}`", buffer, feeder)
    used = site.used_by(feeder.block)
    if used:
        raise site.refuse(
            f"`{feeder.block.name}` uses {used[0].name} before it is stored",
            site.node,
            feeder,
            hint="let one of the two use another buffer",
        )


def _check_last(site: Site[Block], feeder: Site[Block], solved: dict[Var, Expr]) -> None:
    """Refuse where another iteration than before may be the last to store a cell."""
    block = site.node
    if writes_apart(block) is True:
        return
    values = [substitute(solved[it.var], feeder.realize.bindings) for it in block.iter_vars]
    shared = {loop.loop_var for loop in common_loops(site.places, (feeder.realize, site.realize))}
    for old, new in zip(site.realize.iter_values, values, strict=True):
        if not shared.isdisjoint(free_vars(old)) and not equal(old, new):
            raise _last_counts(site, "it", block.writes[0].buffer, block)
    fused = BlockRealize(tuple(values), TRUE, block)
    ways = ((site.realize, site.loops), (fused, feeder.loops))
    mixed = _run_at_once(feeder.loops) and not _run_at_once(site.loops)
    if mixed or not all(counts_up(one, loops, [*block.iter_vars]) for one, loops in ways):
        raise _last_counts(site, "it", block.writes[0].buffer, block)


def _run_at_once(loops: list[For]) -> bool:
    return any(loop.kind not in ("serial", "unrolled") for loop in loops)


def _last_counts(site: Site[Block], who: str, buffer: Buffer, at: Block | BlockRealize) -> Refusal:
    return site.refuse(
        f"two iterations of {who} may write one cell of {buffer.name}, and the last one counts",
        at,
        hint=f"give {buffer.name} an axis more, so that each iteration has its own cell",
    )


def _feeder(site: Site[Block]) -> BlockRealize:
    """The one block that makes what the block reads."""
    feeders = site.producers
    if len(feeders) != 1:
        names = ", ".join(f"`{r.block.name}`" for r in feeders)
        raise site.refuse(
            f"{len(feeders)} blocks feed it: {names}" if feeders else "no block feeds it",
            site.node,
            *feeders,
            hint="it goes into the one block that feeds it; put others into it with compute_inline",
        )
    feeder = feeders[0]
    made = replace(site, node=feeder.block)
    beside = [r for r in site.siblings if r is not feeder and r is not site.realize]
    others = [r for r in beside if made.used_by(r.block)]
    if others:
        raise site.refuse(
            f"`{others[0].block.name}` reads what `{feeder.block.name}` makes too",
            site.node,
            *others,
            hint="put the value into all its readers with compute_inline instead",
        )
    return feeder


def _check_plain(site: Site[Block], feeder: BlockRealize, buffer: Buffer) -> None:
    if not site.is_allocated(buffer):
        raise site.refuse(
            f"{buffer.name} is a result of the program and must be stored",
            feeder,
            hint=f"keep `{feeder.block.name}` as it is, or move `{site.name}` to it with "
            "reverse_compute_at",
        )
    guarded = site.realize.predicate is not TRUE
    if guarded and runs_over(site.realize, site.bounds.of(site.loops)) is None:
        raise site.refuse(
            "it runs only where its T.where holds",
            hint="let its T.where say no more than where its loops end, as split does",
        )
    order = site.siblings
    for other in order[order.index(feeder) + 1 : order.index(site.realize)]:
        used = site.used_by(other.block)
        if used:
            raise site.refuse(
                f"`{other.block.name}`, between the two, uses {used[0].name}",
                site.node,
                other,
                hint="let one of the two use another buffer",
            )


def _cell(site: Site[Block], store: BufferStore, buffer: Buffer) -> tuple[Expr, ...]:
    """The one cell of `buffer` that an iteration reads."""
    loads = [n for n in walk(store) if isinstance(n, BufferLoad) and n.buffer is buffer]
    first = loads[0].indices
    if not all(same_cell(first, load.indices) for load in loads[1:]):
        raise site.refuse(
            f"one iteration reads several cells of {buffer.name}",
            hint="put the value into its readers with compute_inline instead",
        )
    ends = domain(site.node)
    return tuple(i if isinstance(i, Var) else simplify(i, ends) for i in first)


def _check_reached(
    site: Site[Block], feeder: BlockRealize, cell: tuple[Expr, ...], made: BufferStore
) -> None:
    """Refuse where an iteration looks at a cell that the feeding block never makes.

    A choice may keep such a cell from being read, as padding does; what is stored then would be
    lost, since the feeding block has no iteration for it.
    """
    buffer = made.buffer
    dom = domain(site.node)
    sides = zip(cell, buffer.shape, strict=True)
    inside = all(is_index(index, size, dom) for index, size in sides)
    holder = site.scope.block.body
    if reads_always(site, buffer) or (
        inside and makes_all(site.places, holder, [feeder], site.realize, buffer, chosen=False)
    ):
        return
    raise site.refuse(
        f"it stores more than `{feeder.block.name}` has iterations for",
        site.node,
        feeder,
        hint=f"put `{feeder.block.name}` into it with compute_inline instead",
    )


def _check_turn(site: Site[Block], feeder: BlockRealize, there: Site[Block]) -> None:
    """Refuse where, in a turn of loops around both, the feeder's iterations are for other cells.

    What the block stored in another turn, of what was made there, would be stored in this one.
    """
    shared = common_loops(site.places, (feeder, site.realize))
    if not shared:
        return
    before = _below(site, shared)
    after = _below(there, shared)
    dom = {**site.bounds, **there.bounds}
    for buffer in declared_writes(site.node):
        if not made_there(before, after, buffer, dom, kind="write"):
            raise site.refuse(
                f"a turn of `{shared[-1].loop_var.name}` may make more than it stores",
                site.node,
                feeder,
                hint=f"put `{feeder.block.name}` into it with compute_inline instead",
            )


def _below(site: Site[Block], shared: list[For]) -> Stmt:
    """The nest of the block below the loops `shared`, told by their variables."""
    around = {loop.loop_var for loop in shared}
    return next((loop for loop in site.loops if loop.loop_var not in around), site.realize)


def _fused(
    feeder: BlockRealize,
    store: BufferStore,
    made: BufferStore,
    solved: dict[Var, Expr],
    asked: list[Expr],
) -> BlockRealize:
    """The feeding block, storing at once what the other would have stored, where `asked` holds."""

    def take(node: Node) -> Node:
        return made.value if isinstance(node, BufferLoad) and node.buffer is made.buffer else node

    own = {v: var for var, v in feeder.bindings.items() if isinstance(v, Var)}
    new = substitute(substitute(rewrite(store, take), solved), own)
    block = with_regions(replace(feeder.block, body=new))
    there = (substitute(condition, feeder.bindings) for condition in asked)
    predicate = joined((*conjuncts(feeder.predicate), *there))
    return replace(feeder, predicate=predicate, block=block)
