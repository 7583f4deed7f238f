"""The copy that a cached buffer is filled from, or emptied by: its block, its loops, its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench import arith
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    BufferStore,
    For,
    IterVar,
    PrimFunc,
    Range,
    Stmt,
    Var,
    const,
    seq,
    substitute_buffers,
)
from workbench.ir.places import Places, places
from workbench.schedule.counters import Bounds
from workbench.schedule.domains import domain
from workbench.schedule.moving import nest, within
from workbench.schedule.nest import statements
from workbench.schedule.regions import Box
from workbench.schedule.scope import only_region, read, shared_loops, written

SCOPES = ("global", "shared", "local")


def check_scope(verb: str, block: Block, scope: str) -> None:
    """Refuse a memory that no GPU has."""
    if scope not in SCOPES:
        raise Refusal(
            f"Can't {verb} `{block.name}` in {scope!r}: there is no memory of that name",
            block,
            hint=f"the memories: {', '.join(SCOPES)}",
        )


def nth_buffer(
    block: Block, which: int | str, regions: tuple[BufferRegion, ...], verb: str, does: str
) -> Buffer:
    """The buffer that `which`, a number or a name, means among `regions` of `block`."""
    buffers = [region.buffer for region in regions]
    if isinstance(which, int) and 0 <= which < len(buffers):
        return buffers[which]
    named = [buffer for buffer in buffers if buffer.name == which]
    if len(named) == 1:
        return named[0]
    ways = ", ".join(f"{k} or {b.name!r}" for k, b in enumerate(buffers)) or "none"
    raise Refusal(
        f"Can't {verb} `{block.name}`: it {does} no buffer {which!r}",
        block,
        hint=f"the buffers that it {does}: {ways}",
    )


def named_buffer(
    block: Block, buffer: list[str | int] | tuple[str | int, ...] | str, verb: str
) -> tuple[Buffer, bool]:
    """The buffer that ("read", 0), ("write", 0) or a name means, and whether it is read."""
    if isinstance(buffer, str):
        for known, reading in ((read(block), True), (written(block), False)):
            for one in known:
                if one.name == buffer:
                    return one, reading
    match tuple(buffer):
        case ("read" | "write" as kind, int(number)):
            regions = block.reads if kind == "read" else block.writes
            return nth_buffer(block, number, regions, verb, f"{kind}s"), kind == "read"
    raise Refusal(
        f"Can't {verb} `{block.name}`: {buffer!r} names no buffer",
        block,
        hint='write ("read", 0), ("write", 0) or a name: '
        + ", ".join(dict.fromkeys(b.name for b in (*read(block), *written(block)))),
    )


def first_reader(
    where: Places, writer: BlockRealize, targets: list[BlockRealize]
) -> tuple[For | BlockRealize, int, list[For]]:
    """Where a copy fits between `writer` and the first of `targets`.

    The result is the loop (or the block around) in whose body it goes, the position there, and
    the loops around both. Raises Refusal where both stand in the init of a block.
    """
    loops = shared_loops(where, writer, targets[0])
    holder: For | BlockRealize = loops[-1] if loops else where.scope(writer)
    stmts = statements(holder)
    path = [targets[0], *where.above(targets[0])]
    at = next((k for k, stmt in enumerate(stmts) if stmt in path), None)
    if at is None:
        raise _in_init(where, writer, targets[0])
    return holder, at, loops


def check_not_in_init(where: Places, reader: BlockRealize) -> None:
    """Refuse a copy ahead of what a block does for a reader in its init, which runs earlier."""
    scope = where.scope(reader)
    init = scope.block.init
    if init is not None and (reader is init or init in where.above(reader)):
        raise _in_init(where, scope, reader)


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


def copy_stage(
    source: Buffer, target: Buffer, name: str, box: Box, ends: list[tuple[int, int]], dom: Bounds
) -> tuple[Stmt, Block]:
    """Loops ax0, ax1, … around a block that copies `box` of `source` to `target`, and the block.

    `ends` are the cells of each dimension that exist; `dom` bounds the variables around.
    """
    axes = [Var(f"v{k}", r.min.dtype) for k, r in enumerate(box)]
    iterators = tuple(
        IterVar(v, Range(const(0, v.type), const(size, v.type)), "spatial")
        for v, size in zip(axes, source.shape, strict=True)
    )
    point = tuple(Range(v, const(1, v.type)) for v in axes)
    block = Block(
        name,
        iterators,
        (BufferRegion(source, point),),
        (BufferRegion(target, point),),
        BufferStore(target, source[tuple(axes)], tuple(axes)),
    )
    needed = {
        v: within(r.min, arith.simplify(r.min + r.extent - 1, dom), limits, dom)
        for v, r, limits in zip(axes, box, ends, strict=True)
    }
    stmt, _ = nest(block, needed, dom, keep_unit_loops=True)
    return stmt, block


def cached(buffer: Buffer, scope: str) -> Buffer:
    """A buffer of the same shape as `buffer` in the memory `scope`."""
    name = f"{buffer.name}_{scope}"
    return Buffer(name, buffer.shape, buffer.type, scope)


def insert(
    func: PrimFunc,
    holder: For | BlockRealize,
    at: int,
    stage: Stmt,
    buffer: Buffer,
    changed: Mapping[BlockRealize, BlockRealize],
) -> PrimFunc:
    """`func` with `stage` at position `at` in `holder`, `buffer` allocated, and blocks replaced."""
    where = places(func)
    anchor: BlockRealize = next(iter(changed))
    scope_id = where.scope(anchor).block.id
    stmts = statements(holder)
    new_body = seq(*stmts[:at], stage, *stmts[at:])
    if isinstance(holder, For):
        func = where.replace(holder, replace(holder, body=new_body))
    else:
        func = where.replace(holder, replace(holder, block=replace(holder.block, body=new_body)))
    func = places(func).replace_each(changed)
    scope = places(func).blocks[scope_id]
    block = replace(scope.block, alloc_buffers=(*scope.block.alloc_buffers, buffer))
    return places(func).replace(scope, replace(scope, block=block))


def reading(realize: BlockRealize, old: Buffer, new: Buffer) -> BlockRealize:
    """`realize` with `new` in the place of `old`, wherever its block reads or writes it."""
    return replace(realize, block=substitute_buffers(realize.block, {old: new}))


def scope_choices(which: str, regions: Sequence[BufferRegion]) -> Iterator[Mapping[str, Any]]:
    """The arguments worth trying: each buffer in each of the GPU's own memories."""
    for buffer in by_name(regions):
        for scope in ("shared", "local"):
            yield {which: buffer, "storage_scope": scope}


def by_name(regions: Sequence[BufferRegion]) -> list[str | int]:
    """The name of each buffer, or its number where another one has that name too."""
    names = [region.buffer.name for region in regions]
    return [name if names.count(name) == 1 else k for k, name in enumerate(names)]


def written_ends(block: Block, buffer: Buffer) -> list[tuple[int, int]]:
    """The first and last cell that the block writes along each dimension, over its whole domain."""
    region = only_region(block.writes, buffer)
    assert region is not None
    found = []
    for axis, size in zip(region.region, buffer.shape, strict=True):
        ends = arith.bounds(axis.min, domain(block))
        last = arith.bounds(axis.min + axis.extent - 1, domain(block))
        low, high = ends[0] if ends else 0, last[1] if last else size - 1
        found.append((max(low, 0), min(high, size - 1)))
    return found
