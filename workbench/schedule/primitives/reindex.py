"""reindex: let a block touch a buffer by its own iterators, through a copy laid out that way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench import arith
from workbench.diag import Refusal
from workbench.ir import (
    TRUE,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Const,
    Expr,
    For,
    IterVar,
    Node,
    PrimFunc,
    Range,
    Stmt,
    Var,
    const,
    rewrite,
    seq,
    substitute,
    walk,
)
from workbench.ir.places import places
from workbench.schedule.caching import named_buffer
from workbench.schedule.counters import Bounds, variables
from workbench.schedule.moving import check_whole
from workbench.schedule.primitive import Edit, primitive
from workbench.schedule.regions import one_to_one
from workbench.schedule.scope import around, check_stage, check_stores, domain, read, written


def _choices(func: PrimFunc, block: Block) -> Iterator[Mapping[str, Any]]:
    for k in range(len(block.reads)):
        yield {"buffer": ("read", k)}
    for k in range(len(block.writes)):
        yield {"buffer": ("write", k)}


@primitive(group="memory", choices=_choices)
def reindex(func: PrimFunc, block: Block, buffer: list[str | int] | str) -> Edit:
    """Let `block` touch a buffer through a copy with one axis for each iterator that it uses.

    `buffer` is ("read", number), ("write", number) or a name. What is read is copied ahead of the
    block's loops, what is written is copied back behind them. Returns the new block.

    >>> sch.reindex("C", ("read", 0))
    @T.prim_func
    def main(A: T.Buffer((9,), "float32"), C: T.Buffer((6,), "float32")):
        # with T.block("root"):
        for i, k in T.grid(6, 3):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi + vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi + vk]
    ---
    @T.prim_func
    def main(A: T.Buffer((9,), "float32"), C: T.Buffer((6,), "float32")):
        # with T.block("root"):
        A_reindex = T.alloc_buffer((6, 3))
        for ax0, ax1 in T.grid(6, 3):
            with T.block("A_reindex_reindex"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v0 + v1])
                T.writes(A_reindex[v0, v1])
                A_reindex[v0, v1] = A[v0 + v1]
        for i, k in T.grid(6, 3):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A_reindex[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A_reindex[vi, vk]
    """
    target, reading = named_buffer(block, buffer, "reindex")
    task = f"reindex {target.name} of `{block.name}`"
    if not reading:
        check_stage(func, block, "reindex", sole=False)
        check_stores(func, block, [target], task)
    if reading and target in written(block):
        raise Refusal(
            f"Can't {task}: it writes {target.name} too",
            block,
            hint=f'reindex what it writes: ("write", {written(block).index(target)})',
        )
    where = places(func)
    scope = where.scope(where.realize(block))
    if not (reading and target in func.params and scope.block is func.root):
        check_whole(func, block, task)  # else the copy may hold what no iteration reads
    _check_alone(func, block, target, reading, task)
    ends = {**around(where, scope), **domain(scope.block), **domain(block)}
    indices = _indices(block, target, ends, task)
    used = [it for it in block.iter_vars if any(it.var in variables(i) for i in indices)]
    _check_cells(block, target, indices, used, ends, reading, task)
    copy = Buffer(
        f"{target.name}_reindex",
        tuple(domain(block)[it.var][1] + 1 for it in used),
        target.type,
        target.scope,
    )
    stage, new = _stage(target, copy, indices, used, reading)
    return Edit(
        _placed(func, block, stage, reading, _through(block, target, copy, used), copy), new
    )


def _check_alone(func: PrimFunc, block: Block, target: Buffer, reading: bool, task: str) -> None:
    """Refuse where another block in its loops makes what is copied ahead, or uses what is later."""
    where = places(func)
    realize = where.realize(block)
    loops = where.loops_above(realize)
    others = [
        r
        for r in (where.blocks_under(loops[0]) if loops else [])
        if r is not realize
        and (target in written(r.block) or (target in read(r.block) and not reading))
    ]
    if others:
        raise Refusal(
            f"Can't {task}: `{others[0].block.name}` shares its loops and uses {target.name}",
            realize,
            *others,
            hint="the copy goes ahead of all its loops, or behind: reindex before moving blocks",
        )


def _indices(block: Block, target: Buffer, ends: Bounds, task: str) -> tuple[Expr, ...]:
    """The indices by which the block touches the buffer, the same everywhere."""
    found = [
        n.indices
        for n in walk(block)
        if isinstance(n, (BufferLoad, BufferStore)) and n.buffer is target
    ]
    if not found:
        raise Refusal(
            f"Can't {task}: it declares {target.name}, and does not touch it",
            block,
            hint="reindex a buffer that the block loads from or stores to",
        )
    for indices in found:
        inside = {v for i in indices for v in variables(i)} <= set(ends)
        same = all(arith.equal(a, b) for a, b in zip(indices, found[0], strict=True))
        loads = any(isinstance(n, BufferLoad) for i in indices for n in walk(i))
        if not inside or not same or loads:
            raise Refusal(
                f"Can't {task}: it touches {target.name} at more than one place",
                block,
                hint="reindex takes a block that touches one cell in each iteration",
            )
    pairs = [(arith.simplify(i, ends), i) for i in found[0]]
    # an index that is made of iterators that run once is an axis, too
    return tuple(old if isinstance(new, Const) else new for new, old in pairs)


def _check_cells(
    block: Block,
    target: Buffer,
    indices: tuple[Expr, ...],
    used: list[IterVar],
    ends: Bounds,
    reading: bool,
    task: str,
) -> None:
    if not used:
        raise Refusal(
            f"Can't {task}: every iteration touches the same cell",
            block,
            hint="there is nothing to lay out by iterators",
        )
    for index, size in zip(indices, target.shape, strict=True):
        if not (arith.prove(index >= 0, ends) and arith.prove(index < size, ends)):
            raise Refusal(
                f"Can't {task}: some iterations touch no cell of {target.name}",
                block,
                detail="a condition inside the block keeps them out; the copy would not",
                hint="compute_inline or decompose the padding first",
            )
    varying = {it.var: ends[it.var] for it in used}
    if not reading and not one_to_one(indices, varying, ends):
        raise Refusal(
            f"Can't {task}: two iterations may write the same cell",
            block,
            hint="the copy back would keep only one of them",
        )


def _stage(
    target: Buffer, copy: Buffer, indices: tuple[Expr, ...], used: list[IterVar], reading: bool
) -> tuple[Stmt, Any]:
    """The loops and the block that copy, and the block's identity."""
    fresh = {it.var: Var(f"v{k}", it.var.type) for k, it in enumerate(used)}
    mine = tuple(fresh.values())
    theirs = tuple(substitute(i, fresh) for i in indices)
    source, dest = ((target, theirs), (copy, mine)) if reading else ((copy, mine), (target, theirs))
    block = Block(
        f"{dest[0].name}_reindex" if reading else f"{copy.name}",
        tuple(replace(it, var=fresh[it.var], kind="spatial") for it in used),
        (_point(*source),),
        (_point(*dest),),
        BufferStore(dest[0], source[0][source[1]], dest[1]),
    )
    loops = [Var(f"ax{k}", it.var.type) for k, it in enumerate(used)]
    stmt: Stmt = BlockRealize(tuple(loops), TRUE, block)
    for var, it in reversed(list(zip(loops, used, strict=True))):
        stmt = For(var, it.dom.min, it.dom.extent, "serial", stmt)
    return stmt, block.id


def _point(buffer: Buffer, indices: tuple[Expr, ...]) -> BufferRegion:
    return BufferRegion(buffer, tuple(Range(i, const(1, i.dtype)) for i in indices))


def _through(block: Block, target: Buffer, copy: Buffer, used: list[IterVar]) -> Block:
    """The block touching `copy` by its iterators where it touched `target`."""
    mine = tuple(it.var for it in used)

    def change(node: Node) -> Node:
        match node:
            case BufferLoad(buffer) if buffer is target:
                return BufferLoad(copy, mine)
            case BufferStore(buffer, value) if buffer is target:
                return BufferStore(copy, value, mine)
            case BufferRegion(buffer) if buffer is target:
                return _point(copy, mine)
        return node

    return rewrite(block, change)


def _placed(
    func: PrimFunc, block: Block, stage: Stmt, reading: bool, changed: Block, copy: Buffer
) -> PrimFunc:
    """`func` with the block changed and `stage` ahead of its loops, or behind them."""
    where = places(func)
    realize = where.realize(block)
    func = where.replace(realize, replace(realize, block=changed))
    where = places(func)
    realize = where.blocks[block.id]
    outermost: Stmt = next(iter(where.loops_above(realize)), realize)
    new = seq(stage, outermost) if reading else seq(outermost, stage)
    scope_id = where.scope(realize).block.id
    func = where.replace(outermost, new)
    scope = places(func).blocks[scope_id]
    inside = replace(scope.block, alloc_buffers=(*scope.block.alloc_buffers, copy))
    return places(func).replace(scope, replace(scope, block=inside))
