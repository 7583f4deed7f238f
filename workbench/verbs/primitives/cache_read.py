"""cache_read: let blocks read a buffer through a copy in another memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench import arith
from workbench.access.accesses import accesses
from workbench.diag import Refusal
from workbench.ir import (
    TRUE,
    Block,
    BlockId,
    BlockRealize,
    Buffer,
    Const,
    Expr,
    PrimFunc,
    Range,
    const,
    size_expr,
    walk,
)
from workbench.verbs.caching import (
    Spot,
    box_written,
    cached,
    check_not_in_init,
    check_scope,
    check_some,
    first_reader,
    insert_copy,
    nth_buffer,
    scope_choices,
    written_ends,
)
from workbench.verbs.copies import check_copied
from workbench.verbs.feeding import check_fed, reads_apart
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.regions import Box
from workbench.verbs.scope import check_no_bare_statement, check_no_choice, region_of
from workbench.verbs.site import Site, declared_reads, declared_writes, site_of


def _choices(func: PrimFunc, block: Block) -> Iterator[Mapping[str, Any]]:
    yield from scope_choices("read_buffer_index", block.reads)


@primitive(group="memory", sizes=True, choices=_choices)
def cache_read(
    func: PrimFunc,
    block: Block,
    read_buffer_index: int | str,
    storage_scope: str,
    consumer_blocks: list[Block] | None = None,
) -> Edit[BlockId]:
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
    site = site_of(func, block, "cache_read")
    check_scope(site, storage_scope)
    buffer = nth_buffer(site, read_buffer_index, "reads")
    site = replace(site, task=f"cache_read {buffer.name} for `{block.name}`")
    check_no_bare_statement(site, buffer)
    makers, targets = site.writers(buffer), _readers(site, buffer, consumer_blocks)
    if _write_elsewhere(site, buffer, makers, targets):
        makers = []
    else:
        targets = [r for r in targets if buffer not in declared_writes(r.block)]
    if len(makers) > 1:
        raise site.refuse(
            f"{len(makers)} blocks write it",
            *makers,
            hint="cache what one block alone writes; do this before decompose_reduction",
        )
    _check_targets(site, buffer, makers, targets, consumer_blocks)
    ends = [arith.up_to(size) for size in buffer.shape]
    if makers:
        maker = replace(site, node=makers[0].block)
        check_no_choice(maker)
        spot = first_reader(maker, targets)
        box, guard = _box(site, maker, buffer, spot)
        if spot.loops or site.is_allocated(buffer):
            ends = written_ends(maker.node, buffer)
    else:
        for target in targets:
            check_not_in_init(site.places, target)
        spot = Spot(site.scope, 0)
        box, guard = _given(site, buffer), TRUE
    check_some(site, buffer, box, ends, *targets)
    copy = cached(buffer, storage_scope)
    edit = insert_copy(site, buffer, copy, spot, box, ends, targets, guard=guard)
    if not makers or not (spot.loops or site.is_allocated(buffer)):  # not what one makes alone
        assert isinstance(edit.result, BlockId)
        check_copied(site, site.after(edit.places, edit.result), buffer)
    for reader in targets:
        check_fed(site, site.after(edit.places, reader.block.id), only=copy)
    return edit


def _readers(site: Site[Block], buffer: Buffer, chosen: list[Block] | None) -> list[BlockRealize]:
    """The blocks beside this one that read the buffer, in order; with `chosen`, those of them."""
    reading = [r for r in site.siblings if buffer in declared_reads(r.block)]
    wanted = {b.id for b in chosen or ()}
    return [r for r in reading if not wanted or _holds(r, wanted)]


def _write_elsewhere(
    site: Site[Block], buffer: Buffer, makers: list[BlockRealize], readers: list[BlockRealize]
) -> bool:
    """Whether `makers` are proved to write no cell that is read: the next state of a scan, say.

    Then the copy may be taken ahead of all. One maker ahead of its readers is what they read.
    """
    order = site.siblings
    follow = len(makers) == 1 and all(order.index(makers[0]) < order.index(r) for r in readers)
    return (
        bool(makers)
        and not follow
        and not any(_updates(r, buffer) for r in readers)
        and all(reads_apart(site.places, r, maker, buffer) for r in readers for maker in makers)
    )


def _updates(realize: BlockRealize, buffer: Buffer) -> bool:
    """Whether the block goes on from cells that it writes, which it need not declare as read."""
    every = [access for access in accesses(realize.block.body) if access.buffer is buffer]
    written = [access.indices for access in every if access.writes]
    read = [access.indices for access in every if not access.writes]
    return any(all(map(arith.equal, indices, cell)) for indices in read for cell in written)


def _check_targets(
    site: Site[Block],
    buffer: Buffer,
    makers: list[BlockRealize],
    targets: list[BlockRealize],
    chosen: list[Block] | None,
) -> None:
    """Refuse unless there are `targets`, all that are `chosen`, behind the one of `makers`."""
    order = site.siblings
    reading = _readers(site, buffer, None)
    for other in chosen or ():
        if any(_holds(r, {other.id}) for r in targets):
            continue
        if not any(_holds(r, {other.id}) for r in reading):
            raise site.refuse(
                f"`{other.name}`, a consumer block, does not read it here",
                other,
                hint="name blocks that read the buffer beside this one: "
                + ", ".join(r.block.name for r in reading),
            )
        raise _writes_itself(site, other.name, buffer)
    if not targets:
        raise _writes_itself(site, site.name, buffer)
    early = [r for r in targets if makers and order.index(r) < order.index(makers[0])]
    if early:
        raise site.refuse(
            f"`{early[0].block.name}` reads it before `{makers[0].block.name}` writes it",
            early[0],
            makers[0],
            hint="name the blocks that are to read the copy, with consumer_blocks",
        )


def _writes_itself(site: Site[Block], name: str, buffer: Buffer) -> Refusal:
    return site.refuse(
        f"`{name}` itself writes {buffer.name}",
        hint="a copy taken before the block would not see what it writes; cache_write is "
        "for results",
    )


def _holds(realize: BlockRealize, ids: set[BlockId]) -> bool:
    return any(isinstance(n, Block) and n.id in ids for n in walk(realize))


def _given(site: Site[Block], buffer: Buffer) -> Box:
    """What there is to copy of a buffer that nobody in the block around writes."""
    scope = site.scope.block
    region = region_of((*scope.reads, *scope.writes), buffer)
    if region is None:  # all of it, in the type of number by which the block reads it
        read = region_of(site.node.reads, buffer)
        assert read is not None
        pairs = zip((axis.min.dtype for axis in read.region), buffer.shape, strict=True)
        return tuple(Range(const(0, dtype), size_expr(size, dtype)) for dtype, size in pairs)
    if not all(isinstance(r.extent, Const) or arith.by_sizes(r.extent) for r in region.region):
        raise site.refuse(
            f"how much of it `{scope.name}` reads varies",
            scope,
            hint="a copy has a fixed size: cache it before blockize",
        )
    return region.region


def _box(site: Site[Block], maker: Site[Block], buffer: Buffer, spot: Spot) -> tuple[Box, Expr]:
    """What there is to copy at `spot`, behind `maker`, and where."""
    if not spot.loops and not site.is_allocated(buffer):
        return _given(site, buffer), TRUE
    found = box_written(maker, buffer, spot.loops)
    if found is None:
        raise maker.refuse(
            f"`{maker.name}` may leave out cells of it",
            hint="cache_read copies a box of which every cell is written, such as C[vi, vj]",
        )
    return found
