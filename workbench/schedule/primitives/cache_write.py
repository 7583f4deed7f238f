"""cache_write: let a block write its result in another memory, and copy it out from there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.access.units import same_cell
from workbench.diag import Refusal
from workbench.ir import Block, BlockRealize, Buffer, BufferLoad, For, PrimFunc, stores, walk
from workbench.ir.places import places
from workbench.schedule.caching import (
    cached,
    check_scope,
    copy_stage,
    first_reader,
    insert,
    nth_buffer,
    reading,
    scope_choices,
    written_ends,
)
from workbench.schedule.domains import bounds_at
from workbench.schedule.feeding import check_fed
from workbench.schedule.nest import statements
from workbench.schedule.primitive import Edit, primitive
from workbench.schedule.regions import Box, exact
from workbench.schedule.scope import (
    check_no_choice,
    check_starts_first,
    only_region,
    readers,
    siblings,
    writers,
)
from workbench.script.writer import string


def _choices(func: PrimFunc, block: Block) -> Iterator[Mapping[str, Any]]:
    yield from scope_choices("write_buffer_index", block.writes)


@primitive(group="memory", choices=_choices)
def cache_write(
    func: PrimFunc,
    block: Block,
    write_buffer_index: int | str,
    storage_scope: str,
    consumer_blocks: list[Block] | None = None,
) -> Edit:
    """Let `block` write its result in `storage_scope`, and copy it from there to where it belongs.

    The buffer is told by its number among those that the block writes, or by its name. Blocks that
    read it go on reading it after the copy; those in `consumer_blocks` read what `block` wrote.
    Returns the new block.

    >>> sch.cache_write("C", 0, "local")
    @T.prim_func
    def main(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        for i, k in T.grid(8, 4):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
    ---
    @T.prim_func
    def main(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        C_local = T.alloc_buffer((8,), scope="local")
        for i, k in T.grid(8, 4):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(C_local[vi])
                with T.init():
                    C_local[vi] = T.float32(0)
                C_local[vi] = C_local[vi] + A[vi, vk]
        for ax0 in range(8):
            with T.block("C_local"):
                v0 = T.axis.spatial(8, ax0)
                T.reads(C_local[v0])
                T.writes(C[v0])
                C[v0] = C_local[v0]
    """
    check_scope("cache_write", block, storage_scope)
    buffer = nth_buffer(block, write_buffer_index, block.writes, "cache_write", "writes")
    task = f"cache_write {buffer.name} of `{block.name}`"
    where = places(func)
    writer = where.realize(block)
    _check_writer(func, block, buffer, task)
    direct = _direct(func, block, buffer, consumer_blocks, task)
    later = [r for r in _after(func, block, buffer) if r not in direct]
    holder: For | BlockRealize
    if later:
        holder, at, loops = first_reader(where, writer, later)
    else:
        holder, loops = where.scope(writer), []
        at = len(statements(holder))
    box = _box(func, block, buffer, loops, task)
    copy = cached(buffer, storage_scope)
    ends = written_ends(block, buffer)
    dom = bounds_at(places(func), statements(holder)[0])
    stage, new = copy_stage(copy, buffer, copy.name, box, ends, dom)
    changed = {r: reading(r, buffer, copy) for r in (writer, *direct)}
    result = insert(func, holder, at, stage, copy, changed)
    for reader in (*direct, *later):
        check_fed(func, result, places(result).blocks[reader.block.id].block, task)
    return Edit(result, new.id)


def _check_writer(func: PrimFunc, block: Block, buffer: Buffer, task: str) -> None:
    where = places(func)
    writer = where.realize(block)
    check_no_choice(func, writer, task)
    check_starts_first(writer, where.loops_above(writer), task)
    others = [r for r in writers(func, block, buffer) if r.block is not block]
    if others:
        raise Refusal(
            f"Can't {task}: `{others[0].block.name}` writes {buffer.name} too",
            places(func).realize(block),
            *others,
            hint="cache the result of a block that alone writes it; do this before "
            "decompose_reduction",
        )
    loads = [n for n in walk(block.body) if isinstance(n, BufferLoad) and n.buffer is buffer]
    cells = [s.indices for s in stores(block) if s.buffer is buffer]
    elsewhere = [n for n in loads if any(not same_cell(n.indices, cell) for cell in cells)]
    if elsewhere:
        raise Refusal(
            f"Can't {task}: it reads other cells of {buffer.name} than it writes",
            places(func).realize(block),
            elsewhere[0],
            detail="the new memory would not hold them",
            hint="read them from another buffer",
        )
    reads_it = bool(loads)
    if reads_it and block.init is None:
        raise Refusal(
            f"Can't {task}: it adds to what was there before",
            places(func).realize(block),
            detail="the new memory would begin empty",
            hint="give the block a T.init()",
        )


def _after(func: PrimFunc, block: Block, buffer: Buffer) -> list[BlockRealize]:
    """The readers of `buffer` behind `block`."""
    order = siblings(func, block)
    mine = order.index(places(func).realize(block))
    return [r for r in readers(func, block, buffer) if order.index(r) > mine]


def _direct(
    func: PrimFunc, block: Block, buffer: Buffer, chosen: list[Block] | None, task: str
) -> list[BlockRealize]:
    """The realisations of `chosen`, which are to read what the block writes, not the copy."""
    later = _after(func, block, buffer)
    ids = {b.id for b in chosen or ()}
    for other in chosen or ():
        if not any(r.block.id is other.id for r in later):
            raise Refusal(
                f"Can't {task}: `{other.name}`, a consumer block, does not read it afterwards",
                other,
                hint="name blocks that read the buffer behind this one: "
                + (", ".join(r.block.name for r in later) or "there are none"),
            )
    return [r for r in later if r.block.id in ids]


def copy_instead(func: PrimFunc, block: Block, buffer: Buffer, scope: str) -> str:
    """What to do with an argument that is to lie in `scope`: the copy, where one can be made."""
    number = [region.buffer for region in block.writes].index(buffer)
    names = [realize.block.name for realize in places(func).blocks.values()]
    try:
        cache_write(func, block, number, scope)
    except Refusal:
        return f"write into a buffer of its own, and copy `{buffer.name}` from there"
    if names.count(block.name) > 1:
        return f"copy it from there: cache_write of {number} in {scope!r}, with the block's handle"
    call = f"sch.cache_write({string(block.name)}, {number}, {string(scope)})"
    return f"copy it from there: {call}"


def _box(func: PrimFunc, block: Block, buffer: Buffer, loops: list[For], task: str) -> Box:
    """The cells that the block writes in one iteration of `loops`: those that the copy takes."""
    where = places(func)
    writer = where.realize(block)
    dom = bounds_at(where, writer)
    inner = {
        one.loop_var: dom[one.loop_var] for one in where.loops_above(writer) if one not in loops
    }
    region = only_region(block.writes, buffer)
    assert region is not None
    box = exact(region, writer, inner, dom)
    if box is None:
        raise Refusal(
            f"Can't {task}: it may leave out cells, which the copy would overwrite",
            writer,
            hint="cache_write takes a block that writes every cell of a box, such as C[vi, vj]",
        )
    return box
