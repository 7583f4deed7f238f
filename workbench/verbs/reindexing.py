"""A block that touches a buffer through a copy, which is laid out by the block's own iterators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from workbench import arith
from workbench.access.counters import one_to_one, variables
from workbench.access.units import same_cell
from workbench.arith import Bounds
from workbench.ir import (
    TRUE,
    Block,
    BlockId,
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
    SeqStmt,
    Size,
    SizeVar,
    Stmt,
    Var,
    memory_of,
    rewrite,
    seq,
    substitute,
    walk,
)
from workbench.ir.places import places
from workbench.verbs import index_map as maps
from workbench.verbs.caching import (
    cell_region,
    check_scope,
    copy_block,
    nth_buffer,
    scope_choices,
)
from workbench.verbs.copies import check_copied, reads_always
from workbench.verbs.domains import bounds_at, domain
from workbench.verbs.moving import check_whole
from workbench.verbs.nest import nest
from workbench.verbs.primitive import Edit
from workbench.verbs.regions import covers_domain
from workbench.verbs.scope import (
    check_no_bare_statement,
    check_stage,
    check_started,
    check_stores,
    reallocate,
)
from workbench.verbs.site import Site, declared_reads, declared_writes, with_block


@dataclass(frozen=True, slots=True)
class Copied:
    """How a buffer is copied: where to, and by what the copy is called and told.

    `cell` is the cell of the copy that the block touches, in its iterators; `fresh` and `loops`
    are the variables and the names of the loops of the block that copies, one for each iterator.
    """

    scope: str
    name: str
    block: str
    cell: tuple[Expr, ...]
    fresh: Sequence[Var]
    loops: Sequence[str]


CopiedBy: TypeAlias = Callable[[list[IterVar]], Copied]
"""How a buffer is copied, by the iterators that say which of its cells is touched."""


def reindexed(site: Site[Block], target: Buffer, reading: bool, made: CopiedBy) -> Edit[BlockId]:
    """The program in which the block touches a copy of `target`, and the block that copies.

    `made` tells the copy by the iterators that say which cell of `target` it is. What is read is
    copied ahead of the loops of the block, what is written is copied back behind them.
    """
    func, block = site.func, site.node
    check_no_bare_statement(site, target)
    if not reading:
        check_stage(Site(places(func), block, f"{site.verb} `{block.name}`"), sole=False)
        check_stores(site, [target])
        check_started(site, [target])
    if reading and target in declared_writes(block):
        raise site.refuse(
            f"it writes {target.name} too",
            hint=f"reindex what it writes: {_of_what_is_written(site, target)}",
        )
    # else the copy may hold what no iteration reads or writes, and touch what a block around it
    # does not declare; in the root block all that a copy takes is asked for below
    if not reading or site.scope.block is not func.root:
        check_whole(site)
    _check_alone(site, target, reading)
    ends = {**bounds_at(site.places, site.scope), **domain(site.scope.block), **domain(block)}
    indices = _indices(site, target, ends)
    used = [it for it in block.iter_vars if any(it.var in variables(i) for i in indices)]
    _check_cells(site, target, indices, used, ends, reading)
    how = made(used)
    memory, tag = memory_of(how.scope)
    copy = Buffer(how.name, _shape(site, how.cell, used, ends), target.type, memory, tag=tag)
    stage, new = _stage(target[indices], copy, how, used, reading)
    changed = with_block(site.places, _through(block, target, copy[how.cell]))
    now = site.after(places(changed), block.id)
    stmt: Stmt = next(iter(now.loops), now.realize)
    func = now.places.replace(stmt, seq(stage, stmt) if reading else seq(stmt, stage))
    buffers = (*site.scope.block.alloc_buffers, copy)
    edit = Edit(reallocate(places(func), site.scope, buffers), new)
    whole = covers_domain(site.realize, site.bounds.of(site.loops))
    if reading and not (whole and reads_always(site, target)):
        check_copied(site, site.after(edit.places, new), target)
    return edit


def _of_what_is_written(site: Site[Block], target: Buffer) -> str:
    number = declared_writes(site.node).index(target)
    return f'("write", {number})' if site.verb == "reindex" else f"reindex_cache_write of {number}"


def map_choices(
    block: Block, which: str, regions: Sequence[BufferRegion]
) -> Iterable[Mapping[str, Any]]:
    """The arguments worth trying: each buffer in each of the GPU's own memories, turned round."""
    text = maps.swapping(len(block.iter_vars))
    return ({**choice, "index_map": text} for choice in scope_choices(which, regions))


def through_map(
    site: Site[Block], which: int | str, reading: bool, scope: str, index_map: maps.MapLike
) -> Edit:
    """The program in which the block touches a buffer through a copy that a map lays out."""
    check_scope(site, scope)
    target = nth_buffer(site, which, "reads" if reading else "writes")
    site = replace(site, task=f"{site.verb} {target.name} of `{site.name}`")
    return reindexed(site, target, reading, _mapped(site, target, index_map, scope))


def _mapped(site: Site[Block], target: Buffer, index_map: maps.MapLike, scope: str) -> CopiedBy:
    """How a copy in memory `scope` is told by a map of all iterators of the block."""
    block, values = site.node, site.realize.bindings
    count = len(block.iter_vars)
    mapping = maps.map_of(site, index_map, count, "iterators", f"`{block.name}`")
    ends = domain(block)

    def made(used: list[IterVar]) -> Copied:
        own = {it.var for it in used}
        # one that runs once, and does not say which cell it is, is its value
        indices = [
            it.var if it.var in own or ends[it.var][0] < ends[it.var][1] else it.dom.min
            for it in block.iter_vars
        ]
        cell = [i if isinstance(i, Var) else arith.simplify(i, ends) for i in mapping(indices)]
        loops = [
            value.name if isinstance(value := values[it.var], Var) else f"ax{k}"
            for k, it in enumerate(used)
        ]
        name = f"{target.name}_{scope.replace('.', '_')}"
        fresh = [Var(it.var.name, it.var.type) for it in used]
        return Copied(scope, name, name, tuple(cell), fresh, loops)

    return made


def _check_alone(site: Site[Block], target: Buffer, reading: bool) -> None:
    """Refuse where another block in its loops makes what is copied ahead, or uses what is later."""
    others = [
        r
        for r in (site.others_in(site.loops[0]) if site.loops else [])
        if target in declared_writes(r.block) or (target in declared_reads(r.block) and not reading)
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
        told = {v for i in indices for v in variables(i) if not isinstance(v, SizeVar)}
        loads = any(isinstance(n, BufferLoad) for i in indices for n in walk(i))
        if not told <= set(ends) or not same_cell(indices, found[0]) or loads:
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
    """Refuse where the iterators `used` do not say, each time, which one cell of `target` it is."""
    if not used:
        raise site.refuse(
            f"no iterator says which cell of {target.name} it touches",
            hint="there is nothing to lay out by iterators",
        )
    for index, size in zip(indices, target.shape, strict=True):
        if not arith.is_index(index, size, ends):
            raise site.refuse(
                f"some iterations touch no cell of {target.name}",
                detail="a condition inside the block keeps them out; the copy would not",
                hint="compute_inline or decompose the padding first",
            )
    varying = {it.var: ends[it.var] for it in used}
    if reading:
        return
    if not one_to_one(indices, varying, ends):
        raise site.refuse(
            "two iterations may write the same cell",
            hint="the copy back would keep only one of them",
        )
    others = (it for it in site.node.iter_vars if it not in used and it.kind == "spatial")
    idle = next((it for it in others if not arith.prove(it.dom.extent > 0, {})), None)
    if idle is not None:
        raise site.refuse(
            f"it writes nothing where `{idle.var.name}` has no value, and the copy back would",
            hint=f"let `{idle.var.name}` say which cell is written, or take it off the block",
        )


def _shape(
    site: Site[Block], cell: tuple[Expr, ...], used: list[IterVar], ends: Bounds
) -> tuple[Size, ...]:
    """The shape of the copy, refused unless each iteration has a cell of its own there."""
    moving = {v for index in cell for v in variables(index)}
    varying = {it.var: ends[it.var] for it in used}
    if not moving <= set(varying) or not one_to_one(cell, varying, ends):
        names = ", ".join(it.var.name for it in used)
        raise site.refuse(
            f"the map does not give each {names} a cell of its own",
            hint=f"let it take {names} apart and together: lambda i, j: (i // 4, j, i % 4)",
        )
    shape = tuple(size for index in cell if (size := _count(index, ends)) is not None)
    if len(shape) < len(cell):
        raise site.refuse(
            "an index that the map makes is not seen to be 0 or more",
            hint="let every index of the map count from 0",
        )
    return shape


def _count(index: Expr, ends: Bounds) -> Size | None:
    """How many cells an `index` from 0 on needs; None where it may be less, or goes on unseen."""
    found = arith.bounds(index, ends)
    if found is None or found[0] < 0:
        return None
    if not any(isinstance(ends[v], arith.SizedEnds) for v in variables(index)):
        return found[1] + 1
    (box,) = arith.region_of([index], ends)
    stop = arith.simplify(box.min + box.extent, ends)
    return stop if arith.by_sizes(stop) else found[1] + 1 if isinstance(stop, Const) else None


def _stage(
    cell: BufferLoad, copy: Buffer, how: Copied, used: list[IterVar], reading: bool
) -> tuple[Stmt, BlockId]:
    """The loops and the block that copy, and the block's identity."""
    fresh = {it.var: var for it, var in zip(used, how.fresh, strict=True)}
    mine, theirs = substitute(copy[how.cell], fresh), substitute(cell, fresh)
    iterators = [replace(it, var=fresh[it.var], kind="spatial") for it in used]
    block = copy_block(how.block, iterators, *((theirs, mine) if reading else (mine, theirs)))
    loops = [
        For(Var(name, it.var.type), it.dom.min, it.dom.extent, "serial", SeqStmt(()))
        for name, it in zip(how.loops, used, strict=True)
    ]
    return nest(loops, BlockRealize(tuple(loop.loop_var for loop in loops), TRUE, block)), block.id


def _through(block: Block, target: Buffer, cell: BufferLoad) -> Block:
    """The block touching `cell` of the copy where it touched `target`."""

    def change(node: Node) -> Node:
        match node:
            case BufferLoad(buffer) if buffer is target:
                return BufferLoad(cell.buffer, cell.indices)
            case BufferStore(buffer, value) if buffer is target:
                return BufferStore(cell.buffer, value, cell.indices)
            case BufferRegion(buffer) if buffer is target:
                return cell_region(cell)
        return node

    return rewrite(block, change)
