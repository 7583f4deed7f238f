"""reindex: let a block touch a buffer by its own iterators, through a copy laid out that way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench import arith
from workbench.access.counters import Bounds, one_to_one, variables
from workbench.access.units import same_cell
from workbench.ir import (
    Block,
    BlockId,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Const,
    Expr,
    IterVar,
    Node,
    PrimFunc,
    Stmt,
    Var,
    rewrite,
    seq,
    substitute,
    walk,
)
from workbench.schedule.caching import cell_region, copy_block, named_buffer
from workbench.schedule.copies import check_copied, reads_always
from workbench.schedule.domains import bounds_at, domain
from workbench.schedule.moving import check_whole
from workbench.schedule.nest import nest_over
from workbench.schedule.primitive import Edit, primitive
from workbench.schedule.scope import check_no_bare_statement, check_stage, check_stores, reallocate
from workbench.schedule.site import Site, buffers_read, buffers_written, with_block


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
    site = Site(func, block, f"reindex `{block.name}`")
    target, reading = named_buffer(site, buffer)
    named = replace(site, task=f"reindex {target.name} of `{block.name}`")
    check_no_bare_statement(named, target)
    if not reading:
        check_stage(site, sole=False)
        check_stores(named, [target])
    if reading and target in buffers_written(block):
        raise named.refuse(
            f"it writes {target.name} too",
            hint=f'reindex what it writes: ("write", {buffers_written(block).index(target)})',
        )
    if not (reading and target in func.params and site.scope.block is func.root):
        check_whole(named)  # else the copy may hold what no iteration reads
    _check_alone(named, target, reading)
    ends = {**bounds_at(site.places, site.scope), **domain(site.scope.block), **domain(block)}
    indices = _indices(named, target, ends)
    used = [it for it in block.iter_vars if any(it.var in variables(i) for i in indices)]
    _check_cells(named, target, indices, used, ends, reading)
    shape = tuple(domain(block)[it.var][1] + 1 for it in used)
    copy = Buffer(f"{target.name}_reindex", shape, target.type, target.scope)
    stage, new = _stage(target[indices], copy, used, reading)
    now = site.after(with_block(func, _through(block, target, copy, used)), block.id)
    nest: Stmt = next(iter(now.loops), now.realize)
    func = now.places.replace(nest, seq(stage, nest) if reading else seq(nest, stage))
    func = reallocate(func, site.scope, (*site.scope.block.alloc_buffers, copy))
    if reading and not reads_always(site, target):
        check_copied(named, site.after(func, new), target)
    return Edit(func, new)


def _check_alone(site: Site[Block], target: Buffer, reading: bool) -> None:
    """Refuse where another block in its loops makes what is copied ahead, or uses what is later."""
    others = [
        r
        for r in (site.others_in(site.loops[0]) if site.loops else [])
        if target in buffers_written(r.block) or (target in buffers_read(r.block) and not reading)
    ]
    if others:
        raise site.refuse(
            f"`{others[0].block.name}` shares its loops and uses {target.name}",
            site.node,
            *others,
            hint="the copy goes ahead of all its loops, or behind: reindex before moving blocks",
        )


def _indices(site: Site[Block], target: Buffer, ends: Bounds) -> tuple[Expr, ...]:
    """The indices by which the block touches the buffer, the same everywhere."""
    found = [
        n.indices
        for n in walk(site.node)
        if isinstance(n, (BufferLoad, BufferStore)) and n.buffer is target
    ]
    if not found:
        raise site.refuse(
            f"it declares {target.name}, and does not touch it",
            hint="reindex a buffer that the block loads from or stores to",
        )
    for indices in found:
        inside = {v for i in indices for v in variables(i)} <= set(ends)
        loads = any(isinstance(n, BufferLoad) for i in indices for n in walk(i))
        if not inside or not same_cell(indices, found[0]) or loads:
            raise site.refuse(
                f"it touches {target.name} at more than one place",
                hint="reindex takes a block that touches one cell in each iteration",
            )
    pairs = [(arith.simplify(i, ends), i) for i in found[0]]
    # an index that is made of iterators that run once is an axis, too
    return tuple(old if isinstance(new, Const) else new for new, old in pairs)


def _check_cells(
    site: Site[Block],
    target: Buffer,
    indices: tuple[Expr, ...],
    used: list[IterVar],
    ends: Bounds,
    reading: bool,
) -> None:
    if not used:
        raise site.refuse(
            "every iteration touches the same cell", hint="there is nothing to lay out by iterators"
        )
    for index, size in zip(indices, target.shape, strict=True):
        if not (arith.prove(index >= 0, ends) and arith.prove(index < size, ends)):
            raise site.refuse(
                f"some iterations touch no cell of {target.name}",
                detail="a condition inside the block keeps them out; the copy would not",
                hint="compute_inline or decompose the padding first",
            )
    varying = {it.var: ends[it.var] for it in used}
    if not reading and not one_to_one(indices, varying, ends):
        raise site.refuse(
            "two iterations may write the same cell",
            hint="the copy back would keep only one of them",
        )


def _stage(
    cell: BufferLoad, copy: Buffer, used: list[IterVar], reading: bool
) -> tuple[Stmt, BlockId]:
    """The loops and the block that copy, and the block's identity."""
    fresh = {it.var: Var(f"v{k}", it.var.type) for k, it in enumerate(used)}
    mine = copy[tuple(fresh.values())]
    theirs = substitute(cell, fresh)
    iterators = [replace(it, var=fresh[it.var], kind="spatial") for it in used]
    name = f"{copy.name}_reindex" if reading else copy.name
    block = copy_block(name, iterators, *((theirs, mine) if reading else (mine, theirs)))
    return nest_over(block, "ax"), block.id


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
                return cell_region(copy[mine])
        return node

    return rewrite(block, change)
