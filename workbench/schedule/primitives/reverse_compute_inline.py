"""reverse_compute_inline: let a block store what the next one would have made of its result."""

from __future__ import annotations

from dataclasses import replace

from workbench.access.units import writes_apart
from workbench.arith import bounds, equal, simplify
from workbench.diag import Refusal
from workbench.ir import (
    TRUE,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    Node,
    PrimFunc,
    Var,
    binary,
    rewrite,
    substitute,
    walk,
)
from workbench.ir.places import places
from workbench.schedule.crossing import check_leaves
from workbench.schedule.domains import bindings, domain
from workbench.schedule.feeding import check_fed
from workbench.schedule.inlining import (
    domain_conditions,
    fixed_conditions,
    inverse,
    only_store,
    with_regions,
    without_buffer,
)
from workbench.schedule.moving import check_whole, removed
from workbench.schedule.primitive import Edit, primitive
from workbench.schedule.scope import (
    check_stage,
    consumers,
    is_allocated,
    producers,
    read,
    siblings,
    written,
)


@primitive(group="blocks")
def reverse_compute_inline(func: PrimFunc, block: Block) -> Edit:
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
    task = f"reverse_compute_inline `{block.name}`"
    where = places(func)
    realize = where.realize(block)
    store = only_store(func, block, task)
    check_stage(func, block, "reverse_compute_inline")
    feeder = _feeder(func, block, task)
    made = only_store(func, feeder.block, f"{task} into `{feeder.block.name}`")
    check_stage(func, feeder.block, "reverse_compute_inline into")
    buffer = made.buffer
    _check_plain(func, realize, feeder, buffer, task)
    check_whole(func, block, task)
    _check_passed(func, realize, feeder, buffer, task)
    cell = _cell(realize, store, buffer, task)
    solved = inverse(cell, made.indices, domain(block), domain(feeder.block))
    if solved is None:
        raise Refusal(
            f"Can't {task}: from a cell of {buffer.name} one cannot tell which iteration reads it",
            realize,
            hint="inline blocks that read B[v], B[v + 1] or B[v * 4 + w], each cell once",
        )
    _check_reached(realize, feeder, cell, made, task)
    ends = domain(feeder.block)
    asked = domain_conditions(block, solved, ends)
    asked += fixed_conditions(cell, made.indices, domain(block), ends)
    fused = _fused(feeder, store, made, solved, asked)
    scope = where.scope(realize).block
    changed = where.replace(feeder, fused)
    changed, gone = removed(changed, realize)
    changed = without_buffer(changed, scope, buffer)
    new = places(changed).blocks[feeder.block.id].block
    check_leaves(func, changed, block, task, feeder.block)
    check_fed(func, changed, new, task)
    for reader in consumers(changed, new):
        check_fed(func, changed, reader.block, task)
    return Edit(changed, None, {block.id: (feeder.block.id,), **dict.fromkeys(gone, ())})


def _check_passed(
    func: PrimFunc, realize: BlockRealize, feeder: BlockRealize, buffer: Buffer, task: str
) -> None:
    """Refuse where what the block stores is used between its feeder's place and its own."""
    if writes_apart(feeder.block) is not True:
        raise Refusal(
            f"Can't {task}: two iterations of `{feeder.block.name}` may write one cell of "
            f"{buffer.name}, and the last one counts",
            feeder,
            hint=f"give {buffer.name} an axis more, so that each iteration has its own cell",
        )
    order = siblings(func, realize.block)
    passed = order[order.index(feeder) : order.index(realize)]
    for other in passed:
        for target in written(realize.block):
            if target in read(other.block) or target in written(other.block):
                raise Refusal(
                    f"Can't {task}: `{other.block.name}` uses {target.name} before it is stored",
                    realize,
                    other,
                    hint="let one of the two use another buffer",
                )


def _feeder(func: PrimFunc, block: Block, task: str) -> BlockRealize:
    """The one block that makes what `block` reads."""
    realize = places(func).realize(block)
    feeders = producers(func, block)
    if len(feeders) != 1:
        names = ", ".join(f"`{r.block.name}`" for r in feeders)
        raise Refusal(
            f"Can't {task}: "
            + (f"{len(feeders)} blocks feed it: {names}" if feeders else "no block feeds it"),
            realize,
            *feeders,
            hint="it goes into the one block that feeds it; put others into it with compute_inline",
        )
    feeder = feeders[0]
    others = [r for r in consumers(func, feeder.block) if r is not realize]
    if others:
        raise Refusal(
            f"Can't {task}: `{others[0].block.name}` reads what `{feeder.block.name}` makes too",
            realize,
            *others,
            hint="put the value into all its readers with compute_inline instead",
        )
    return feeder


def _check_plain(
    func: PrimFunc, realize: BlockRealize, feeder: BlockRealize, buffer: Buffer, task: str
) -> None:
    if not is_allocated(func, realize.block, buffer):
        raise Refusal(
            f"Can't {task}: {buffer.name} is a result of the program and must be stored",
            feeder,
            hint=f"keep `{feeder.block.name}` as it is, or move `{realize.block.name}` to it with "
            "reverse_compute_at",
        )
    if realize.predicate is not TRUE:
        raise Refusal(
            f"Can't {task}: it runs only where its T.where holds",
            realize,
            hint="inline before splitting its loops by factors that do not divide them",
        )
    order = siblings(func, realize.block)
    for other in order[order.index(feeder) + 1 : order.index(realize)]:
        mine = written(realize.block)
        hit = [b for b in mine if b in read(other.block) or b in written(other.block)]
        if hit:
            raise Refusal(
                f"Can't {task}: `{other.block.name}`, between the two, uses {hit[0].name}",
                realize,
                other,
                hint="let one of the two use another buffer",
            )


def _cell(realize: BlockRealize, store: BufferStore, buffer: Buffer, task: str) -> tuple[Expr, ...]:
    """The one cell of `buffer` that an iteration reads."""
    loads = [n for n in walk(store) if isinstance(n, BufferLoad) and n.buffer is buffer]
    first = loads[0].indices
    for load in loads[1:]:
        if not all(equal(a, b) for a, b in zip(first, load.indices, strict=True)):
            raise Refusal(
                f"Can't {task}: one iteration reads several cells of {buffer.name}",
                realize,
                hint="put the value into its readers with compute_inline instead",
            )
    ends = domain(realize.block)
    return tuple(i if isinstance(i, Var) else simplify(i, ends) for i in first)


def _check_reached(
    realize: BlockRealize,
    feeder: BlockRealize,
    cell: tuple[Expr, ...],
    made: BufferStore,
    task: str,
) -> None:
    """Refuse where an iteration looks at a cell that the feeding block never makes.

    A choice may keep such a cell from being read, as padding does; what is stored then would be
    lost, since the feeding block has no iteration for it.
    """
    for wanted, index in zip(cell, made.indices, strict=True):
        reads = bounds(wanted, domain(realize.block))
        makes = bounds(index, domain(feeder.block))
        if reads is None or makes is None or reads[0] < makes[0] or makes[1] < reads[1]:
            raise Refusal(
                f"Can't {task}: it stores more than `{feeder.block.name}` has iterations for",
                realize,
                feeder,
                hint=f"put `{feeder.block.name}` into it with compute_inline instead",
            )


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

    own = {v: it.var for it, v in zip(feeder.block.iter_vars, feeder.iter_values, strict=True)
           if isinstance(v, Var)}  # fmt: skip
    new = substitute(substitute(rewrite(store, take), solved), own)
    block = with_regions(replace(feeder.block, body=new))
    predicate = feeder.predicate
    for condition in asked:
        predicate = binary("and", predicate, substitute(condition, bindings(feeder)))
    return replace(feeder, predicate=predicate, block=block)
