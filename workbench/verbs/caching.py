"""The copy that a cached buffer is filled from, or emptied by: its block, its loops, its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from workbench import arith
from workbench.access.counters import variables
from workbench.arith import conjuncts, joined
from workbench.diag import Refusal
from workbench.ir import (
    FRAGMENTS,
    SCOPES,
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
    Range,
    Var,
    const,
    memory_of,
    rewrite,
    substitute_buffers,
)
from workbench.ir.places import Places, places
from workbench.verbs.domains import bounds_at, domain
from workbench.verbs.moving import nest_needed, within
from workbench.verbs.nest import inserted, iter_var, statements
from workbench.verbs.primitive import Edit
from workbench.verbs.regions import Box, exact
from workbench.verbs.scope import common_loops, reallocate, region_of
from workbench.verbs.site import Site, declared_reads, declared_writes


class Spot(NamedTuple):
    """A place in the body of a loop or a block, and the loops there."""

    holder: For | BlockRealize
    at: int
    loops: Sequence[For] = ()


def check_scope(site: Site[Block], scope: str) -> None:
    """Refuse a memory that no GPU has."""
    if memory_of(scope)[0] not in SCOPES:
        raise replace(site, task=f"{site.task} in {scope!r}").refuse(
            "there is no memory of that name",
            hint=f"the memories: {', '.join((*SCOPES, *FRAGMENTS))}",
        )


def nth_buffer(site: Site[Block], which: int | str, does: Literal["reads", "writes"]) -> Buffer:
    """The buffer that `which`, a number or a name, means among those that the block touches."""
    regions = site.node.reads if does == "reads" else site.node.writes
    buffers = [region.buffer for region in regions]
    if isinstance(which, int) and 0 <= which < len(buffers):
        return buffers[which]
    named = [buffer for buffer in buffers if buffer.name == which]
    if len(named) == 1:
        return named[0]
    ways = ", ".join(f"{k} or {b.name!r}" for k, b in enumerate(buffers)) or "none"
    raise site.refuse(f"it {does} no buffer {which!r}", hint=f"the buffers that it {does}: {ways}")


def named_buffer(
    site: Site[Block], buffer: list[str | int] | tuple[str | int, ...] | str
) -> tuple[Buffer, bool]:
    """The buffer that ("read", 0), ("write", 0) or a name means, and whether it is read."""
    known = [(b, True) for b in declared_reads(site.node)]
    known += [(b, False) for b in declared_writes(site.node)]
    if isinstance(buffer, str):
        for one, reading in known:
            if one.name == buffer:
                return one, reading
    match tuple(buffer):
        case ("read", int(number)):
            return nth_buffer(site, number, "reads"), True
        case ("write", int(number)):
            return nth_buffer(site, number, "writes"), False
    names = dict.fromkeys(b.name for b, _ in known)
    raise site.refuse(
        f"{buffer!r} names no buffer",
        hint=f'write ("read", 0), ("write", 0) or a name: {", ".join(names)}',
    )


def first_reader(writer: Site[Block], targets: list[BlockRealize]) -> Spot:
    """Where a copy fits between `writer` and the first of `targets`, in the loops around both.

    Raises Refusal where both stand in the init of a block.
    """
    where = writer.places
    loops = common_loops(where, (writer.realize, targets[0]))
    holder: For | BlockRealize = loops[-1] if loops else writer.scope
    path = [targets[0], *where.above(targets[0])]
    at = next((k for k, stmt in enumerate(statements(holder)) if stmt in path), None)
    if at is None:
        raise _in_init(where, writer.realize, targets[0])
    return Spot(holder, at, loops)


def check_not_in_init(where: Places, reader: BlockRealize) -> None:
    """Refuse a copy ahead of what a block does for a reader in its init, which runs earlier."""
    scope = where.scope(reader)
    init = scope.block.init
    if init is not None and (reader is init or init in where.above(reader)):
        raise _in_init(where, scope, reader)


def box_written(
    maker: Site[Block], buffer: Buffer, loops: Sequence[For]
) -> tuple[Box, Expr] | None:
    """The cells of `buffer` that `maker` surely writes in an iteration of `loops`, if proved.

    And in which iterations of them: what its T.where says of those loops alone holds for the copy.
    """
    region = region_of(maker.node.writes, buffer)
    assert region is not None
    inner = maker.bounds.of(one for one in maker.loops if one not in loops)
    box = exact(maker.realize, region, inner, maker.bounds)
    if box is not None:
        return box, TRUE
    once = {v: ends for v, ends in inner.items() if ends[0] == ends[1]}
    asked = (arith.simplify(c, once) for c in conjuncts(maker.realize.predicate))
    about = [(c, variables(c).isdisjoint(inner)) for c in asked]
    guard = joined(c for c, outside in about if outside and not arith.reads_memory(c))
    rest = joined(c for c, outside in about if not outside or arith.reads_memory(c))
    box = exact(replace(maker.realize, predicate=rest), region, inner, maker.bounds)
    return None if box is None else (box, guard)


def check_some(
    site: Site[Block], buffer: Buffer, box: Box, ends: Sequence[tuple[int, int]], *at: Node
) -> None:
    """Refuse to copy `box` of `buffer` where it has no cell that is within `ends`."""
    for axis, (first, last) in zip(box, ends, strict=True):
        low, high = arith.bounds(axis.min, {}), arith.bounds(axis.min + axis.extent - 1, {})
        if low and high and (low[0] > last or high[1] < first):
            raise site.refuse(
                f"its conditions keep it from every cell of {buffer.name}",
                *at,
                hint="leave it as it is: there is nothing to copy",
            )


def _in_init(where: Places, writer: BlockRealize, reader: BlockRealize) -> Refusal:
    around, name = where.scope(reader).block.name, reader.block.name
    return Refusal(
        f"Can't copy what `{name}` reads: it is the init of `{around}`"
        if writer.block.name == around
        else f"Can't copy what `{writer.block.name}` writes: `{name}` reads it in the init of "
        f"`{around}`",
        writer,
        reader,
        hint=f'make the init a block of its own first: sch.decompose_reduction("{around}", …)',
    )


def copy_block(
    name: str, iterators: Sequence[IterVar], source: BufferLoad, target: BufferLoad
) -> Block:
    """A block that copies the cell `source`, told by its iterators, to the cell `target`."""
    body = BufferStore(target.buffer, source, target.indices)
    return Block(name, tuple(iterators), (cell_region(source),), (cell_region(target),), body)


def cell_region(cell: BufferLoad) -> BufferRegion:
    """The region that is that one cell."""
    return BufferRegion(cell.buffer, tuple(Range(i, const(1, i.dtype)) for i in cell.indices))


def insert_copy(
    site: Site[Block],
    old: Buffer,
    new: Buffer,
    spot: Spot,
    box: Box,
    ends: Sequence[tuple[int, int]],
    through: Sequence[BlockRealize],
    out: bool = False,
    guard: Expr = TRUE,
) -> Edit[BlockId]:
    """The program with a block at `spot` that copies `box` of `old` to `new`, or `out` of it.

    It does so where `guard` holds, told in the loops there.

    The blocks `through` touch `new` in the place of `old`. `ends` are the cells of each dimension
    that exist.
    """
    axes = tuple(Var(f"v{k}", r.min.dtype) for k, r in enumerate(box))
    iterators = [iter_var(v, size) for v, size in zip(axes, old.shape, strict=True)]
    source, target = (new, old) if out else (old, new)
    block = copy_block(new.name, iterators, source[axes], target[axes])
    dom = bounds_at(site.places, statements(spot.holder)[0])
    needed = {
        v: within(r.min, arith.simplify(r.min + r.extent - 1, dom), limits, dom)
        for v, r, limits in zip(axes, box, ends, strict=True)
    }
    stage, _ = nest_needed(block, needed, dom, keep_unit_loops=True, guard=guard)
    func = inserted(site.places, spot.holder, spot.at, stage)
    changed = {r: replace(r, block=_through(r.block, old, new, out)) for r in through}
    func = places(func).replace_each(changed)
    buffers = (*site.scope.block.alloc_buffers, new)
    return Edit(reallocate(places(func), site.scope, buffers), block.id)


def _through(block: Block, old: Buffer, new: Buffer, out: bool) -> Block:
    """`block` with `new` for `old`: in all that it does, or where it reads alone."""
    if out:
        return substitute_buffers(block, {old: new})

    def change(node: Node) -> Node:
        match node:
            case BufferLoad(buffer) if buffer is old:
                return replace(node, buffer=new)
            case Block():
                reads = (replace(r, buffer=new) if r.buffer is old else r for r in node.reads)
                return replace(node, reads=tuple(reads))
        return node

    return rewrite(block, change)


def cached(buffer: Buffer, scope: str) -> Buffer:
    """A buffer of the same shape as `buffer` in the memory `scope`."""
    name = f"{buffer.name}_{scope.replace('.', '_')}"
    memory, tag = memory_of(scope)
    return replace(buffer, name=name, scope=memory, strides=(), scalar=False, tag=tag)


def scope_choices(which: str, regions: Sequence[BufferRegion]) -> Iterator[Mapping[str, Any]]:
    """The arguments worth trying: each buffer in each of the GPU's own memories."""
    for buffer in by_name(regions):
        for scope in ("shared", "local"):
            yield {which: buffer, "storage_scope": scope}


def by_name(regions: Sequence[BufferRegion]) -> list[str | int]:
    """The name of each buffer, or its number where another one has that name too."""
    names = [region.buffer.name for region in regions]
    return [name if names.count(name) == 1 else k for k, name in enumerate(names)]


def _sized_ends(box: Range, size: Expr) -> tuple[int, int]:
    """The first and last index of `box` in a dimension of that size, where sizes tell them."""
    inside = isinstance(box.min, Const) and arith.prove(box.min + box.extent <= size, {})
    if not inside or not arith.by_sizes(box.extent):
        return arith.up_to(size)
    ends = arith.bounds(box.min + box.extent - 1, {})
    first = int(box.min.value)  # type: ignore[attr-defined]
    return arith.ends_of(box.min, box.extent, first, ends[1] if ends else first)


def written_ends(block: Block, buffer: Buffer) -> list[tuple[int, int]]:
    """The first and last cell that the block writes along each dimension, over its whole domain."""
    region = region_of(block.writes, buffer)
    assert region is not None
    ends_written = []
    for axis, size in zip(region.region, buffer.shape, strict=True):
        if isinstance(size, Expr):
            (box,) = arith.relax((axis,), domain(block), (size,))
            ends_written.append(_sized_ends(box, size))
            continue
        ends = arith.bounds(axis.min, domain(block))
        last = arith.bounds(axis.min + axis.extent - 1, domain(block))
        low, high = ends[0] if ends else 0, last[1] if last else size - 1
        ends_written.append((max(low, 0), min(high, size - 1)))
    return ends_written
