"""compute_inline: compute a value where it is read, instead of storing it first."""

from __future__ import annotations

from collections.abc import Callable

from workbench.arith import simplify
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    Expr,
    Node,
    PrimFunc,
    Var,
    cast,
    substitute,
)
from workbench.ir.places import places
from workbench.schedule.bindings import conjuncts
from workbench.schedule.counters import Bounds
from workbench.schedule.crossing import check_leaves
from workbench.schedule.domains import bounds_at, domain
from workbench.schedule.feeding import check_fed
from workbench.schedule.inlining import inlined, inverse, only_store, without_buffer
from workbench.schedule.moving import removed
from workbench.schedule.primitive import Edit, primitive
from workbench.schedule.regions import stays_in_domain
from workbench.schedule.scope import check_stage, consumers, is_allocated, read, siblings, written


@primitive(group="blocks")
def compute_inline(func: PrimFunc, block: Block) -> Edit:
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
    task = f"compute_inline `{block.name}`"
    where = places(func)
    realize = where.realize(block)
    store = only_store(func, block, task)
    check_stage(func, block, "compute_inline")
    buffer = store.buffer
    readers = _readers(func, block, buffer, task)
    _check_runs_everywhere(func, realize, task)
    slots = tuple(Var(f"x{k}", index.dtype) for k, index in enumerate(store.indices))
    ends = {slot: (0, size - 1) for slot, size in zip(slots, buffer.shape, strict=True)}
    solved = inverse(store.indices, slots, domain(block), ends)
    if solved is None:
        raise Refusal(
            f"Can't {task}: from a cell of {buffer.name} one cannot tell which iteration wrote it",
            realize,
            hint="inline blocks that write B[v], B[v + 1] or B[v * 4 + w]; move others with "
            "compute_at",
        )
    value = cast(buffer.type, store.value)
    changed = func
    for reader in readers:
        old = places(changed).blocks[reader.block.id]
        use = _use(buffer, slots, solved, value, domain(old.block))
        changed = places(changed).replace(old, inlined(old, use))
    scope = where.scope(realize).block
    changed, gone = removed(changed, places(changed).blocks[block.id])
    changed = without_buffer(changed, scope, buffer)
    for reader in readers:
        check_leaves(func, changed, block, task, reader.block)
        check_fed(func, changed, places(changed).blocks[reader.block.id].block, task)
    return Edit(changed, None, {block.id: (), **dict.fromkeys(gone, ())})


def _readers(func: PrimFunc, block: Block, buffer: Buffer, task: str) -> list[BlockRealize]:
    """The blocks that read `buffer`, which is refused where it is a result."""
    where = places(func)
    realize = where.realize(block)
    if not is_allocated(func, block, buffer):
        raise Refusal(
            f"Can't {task}: {buffer.name} is a result of the program, not a step on the way",
            realize,
            hint="put it into the block that feeds it, with reverse_compute_inline",
        )
    readers = consumers(func, block)
    if not readers:  # nobody misses it
        return []
    order = siblings(func, block)
    between = order[order.index(realize) + 1 : order.index(readers[-1]) + 1]
    for other in between:
        hit = [b for b in read(block) if b in written(other.block)]
        if hit:
            raise Refusal(
                f"Can't {task}: `{other.block.name}` overwrites {hit[0].name}, which it reads",
                realize,
                other,
                hint=f"let `{other.block.name}` write another buffer",
            )
    return readers


def _check_runs_everywhere(func: PrimFunc, realize: BlockRealize, task: str) -> None:
    dom = bounds_at(places(func), realize)
    limits = [c for c in conjuncts(realize.predicate) if not stays_in_domain(c, realize, dom)]
    if limits:
        raise Refusal(
            f"Can't {task}: it runs only where its T.where holds",
            realize,
            hint="write the condition inside the block, as T.if_then_else",
        )


def _use(
    buffer: Buffer, slots: tuple[Var, ...], solved: dict[Var, Expr], value: Expr, dom: Bounds
) -> Callable[[Node], Node]:
    """A change that turns a load of `buffer` into `value` for that cell."""

    def change(node: Node) -> Node:
        if not isinstance(node, BufferLoad) or node.buffer is not buffer:
            return node
        cell = dict(zip(slots, node.indices, strict=True))
        return substitute(value, {var: _at(e, cell, dom) for var, e in solved.items()})

    return change


def _at(e: Expr, cell: dict[Var, Expr], dom: Bounds) -> Expr:
    """`e` for that cell; an index that is taken as it is keeps the words of the learner."""
    return cell[e] if isinstance(e, Var) else simplify(substitute(e, cell), dom)
