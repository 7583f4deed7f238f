"""cache_read: let blocks read a buffer through a copy in another memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench import arith
from workbench.diag import Refusal
from workbench.ir import Block, BlockRealize, Buffer, Const, For, PrimFunc, Range, const, walk
from workbench.ir.places import places
from workbench.schedule.caching import (
    cached,
    check_not_in_init,
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
    is_allocated,
    only_region,
    read,
    siblings,
    writers,
    written,
)


def _choices(func: PrimFunc, block: Block) -> Iterator[Mapping[str, Any]]:
    yield from scope_choices("read_buffer_index", block.reads)


@primitive(group="memory", choices=_choices)
def cache_read(
    func: PrimFunc,
    block: Block,
    read_buffer_index: int | str,
    storage_scope: str,
    consumer_blocks: list[Block] | None = None,
) -> Edit:
    """Copy a buffer that `block` reads into `storage_scope`, and let its readers read the copy.

    The buffer is told by its number among those that the block reads, or by its name. All blocks
    that read it then read the copy; with `consumer_blocks`, only those. Returns the new block.

    >>> sch.cache_read("B", 0, "shared")
    @T.prim_func
    def main(A: T.Buffer((10,), "float32"), B: T.Buffer((8,), "float32")):
        # with T.block("root"):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi : vi + 3])
                T.writes(B[vi])
                B[vi] = A[vi] + A[vi + 2]
    ---
    @T.prim_func
    def main(A: T.Buffer((10,), "float32"), B: T.Buffer((8,), "float32")):
        # with T.block("root"):
        A_shared = T.alloc_buffer((10,), scope="shared")
        for ax0 in range(10):
            with T.block("A_shared"):
                v0 = T.axis.spatial(10, ax0)
                T.reads(A[v0])
                T.writes(A_shared[v0])
                A_shared[v0] = A[v0]
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A_shared[vi : vi + 3])
                T.writes(B[vi])
                B[vi] = A_shared[vi] + A_shared[vi + 2]
    """
    check_scope("cache_read", block, storage_scope)
    buffer = nth_buffer(block, read_buffer_index, block.reads, "cache_read", "reads")
    task = f"cache_read {buffer.name} for `{block.name}`"
    makers = writers(func, block, buffer)
    if len(makers) > 1:
        raise Refusal(
            f"Can't {task}: {len(makers)} blocks write it",
            *makers,
            hint="cache what one block alone writes; do this before decompose_reduction",
        )
    targets = _targets(func, block, buffer, makers, consumer_blocks, task)
    ends = [(0, size - 1) for size in buffer.shape]
    if makers:
        check_no_choice(func, makers[0], task)
        holder, at, loops = first_reader(places(func), makers[0], targets)
        box = _box(func, block, buffer, makers[0], loops, task)
        if loops or is_allocated(func, block, buffer):
            ends = written_ends(makers[0].block, buffer)
    else:
        for target in targets:
            check_not_in_init(places(func), target)
        holder, at = places(func).scope(targets[0]), 0
        box = _given(holder.block, buffer, task)
    for axis, (first, last) in zip(box, ends, strict=True):
        low, high = arith.bounds(axis.min, {}), arith.bounds(axis.min + axis.extent - 1, {})
        if low and high and (low[0] > last or high[1] < first):
            raise Refusal(
                f"Can't {task}: its conditions keep it from every cell of {buffer.name}",
                *targets,
                hint="leave it as it is: there is nothing to copy",
            )
    copy = cached(buffer, storage_scope)
    dom = bounds_at(places(func), statements(holder)[0])
    stage, new = copy_stage(buffer, copy, copy.name, box, ends, dom)
    changed = {r: reading(r, buffer, copy) for r in targets}
    result = insert(func, holder, at, stage, copy, changed)
    for reader in targets:
        check_fed(func, result, places(result).blocks[reader.block.id].block, task, only=copy)
    return Edit(result, new.id)


def _targets(
    func: PrimFunc,
    block: Block,
    buffer: Buffer,
    makers: list[BlockRealize],
    chosen: list[Block] | None,
    task: str,
) -> list[BlockRealize]:
    """The blocks that are to read the copy, in program order."""
    wanted = {b.id for b in chosen} if chosen else None
    all_blocks = siblings(func, block)
    found = [
        r
        for r in all_blocks
        if buffer in read(r.block)
        and buffer not in written(r.block)
        and (wanted is None or _holds(r, wanted))
    ]
    for other in chosen or ():
        if not any(_holds(r, {other.id}) for r in found):
            raise Refusal(
                f"Can't {task}: `{other.name}`, a consumer block, does not read it here",
                other,
                hint="name blocks that read the buffer beside this one: "
                + ", ".join(r.block.name for r in all_blocks if buffer in read(r.block)),
            )
    if not found:
        raise Refusal(
            f"Can't {task}: `{block.name}` itself writes {buffer.name}",
            places(func).realize(block),
            hint="a copy taken before the block would not see what it writes; cache_write is "
            "for results",
        )
    early = [r for r in found if makers and all_blocks.index(r) < all_blocks.index(makers[0])]
    if early:
        raise Refusal(
            f"Can't {task}: `{early[0].block.name}` reads it before "
            f"`{makers[0].block.name}` writes it",
            early[0],
            makers[0],
            hint="name the blocks that are to read the copy, with consumer_blocks",
        )
    return found


def _holds(realize: BlockRealize, ids: set[Any]) -> bool:
    return any(isinstance(n, Block) and n.id in ids for n in walk(realize))


def _given(scope: Block, buffer: Buffer, task: str) -> Box:
    """What there is to copy of a buffer that nobody in the block around writes."""
    region = only_region((*scope.reads, *scope.writes), buffer)
    if region is None:
        return tuple(Range(const(0, "int32"), const(size, "int32")) for size in buffer.shape)
    if not all(isinstance(axis.extent, Const) for axis in region.region):
        raise Refusal(
            f"Can't {task}: how much of it `{scope.name}` reads varies",
            scope,
            hint="a copy has a fixed size: cache it before blockize",
        )
    return region.region


def _box(
    func: PrimFunc,
    block: Block,
    buffer: Buffer,
    maker: BlockRealize,
    loops: list[For],
    task: str,
) -> Box:
    """What there is to copy behind `maker` in the innermost of `loops`."""
    if not loops and not is_allocated(func, block, buffer):
        return _given(places(func).scope(maker).block, buffer, task)
    where = places(func)
    dom = bounds_at(where, maker)
    region = only_region(maker.block.writes, buffer)
    assert region is not None
    inner = {
        one.loop_var: dom[one.loop_var] for one in where.loops_above(maker) if one not in loops
    }
    box = exact(region, maker, inner, dom)
    if box is None:
        raise Refusal(
            f"Can't {task}: `{maker.block.name}` may leave out cells of it",
            maker,
            hint="cache_read copies a box of which every cell is written, such as C[vi, vj]",
        )
    return box
