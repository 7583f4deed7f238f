"""cache_write: let a block write its result in another memory, and copy it out from there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench.access.iterations import carries
from workbench.access.units import same_cell
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    BlockId,
    BlockRealize,
    Buffer,
    BufferLoad,
    Expr,
    For,
    PrimFunc,
    stores,
    walk,
)
from workbench.script.writer import string
from workbench.verbs.caching import (
    Spot,
    box_written,
    cached,
    check_scope,
    check_some,
    first_reader,
    insert_copy,
    nth_buffer,
    scope_choices,
    written_ends,
)
from workbench.verbs.domains import units_in
from workbench.verbs.feeding import check_fed, makes_all
from workbench.verbs.nest import statements
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.regions import Box
from workbench.verbs.scope import (
    check_no_bare_statement,
    check_no_choice,
    check_sole_writer,
    check_started,
    check_starts_first,
)
from workbench.verbs.site import Site, declared_reads, declared_writes, site_of


def _choices(func: PrimFunc, block: Block) -> Iterator[Mapping[str, Any]]:
    yield from scope_choices("write_buffer_index", block.writes)


@primitive(group="memory", sizes=True, choices=_choices)
def cache_write(
    func: PrimFunc,
    block: Block,
    write_buffer_index: int | str,
    storage_scope: str,
    consumer_blocks: list[Block] | None = None,
) -> Edit[BlockId]:
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
    site = site_of(func, block, "cache_write")
    check_scope(site, storage_scope)
    buffer = nth_buffer(site, write_buffer_index, "writes")
    site = replace(site, task=f"cache_write {buffer.name} of `{block.name}`")
    _check_writer(site, buffer)
    position = site.places.position
    after = [r for r in site.readers(buffer) if position[r] > position[site.realize]]
    direct = _direct(site, after, consumer_blocks)
    later = [r for r in after if r not in direct]
    spot = _spot(site, buffer, later)
    box, guard = _box(site, buffer, spot)
    copy, ends = cached(buffer, storage_scope), written_ends(block, buffer)
    check_some(site, buffer, box, ends, block)
    through = [site.realize, *direct]
    edit = insert_copy(site, buffer, copy, spot, box, ends, through, out=True, guard=guard)
    for reader in (*direct, *later):
        check_fed(site, site.after(edit.places, reader.block.id))
    for reader in direct:
        _check_holds_all(site, site.after(edit.places, reader.block.id), copy)
    return edit


def _check_holds_all(site: Site[Block], reader: Site[Block], copy: Buffer) -> None:
    """Refuse a consumer block that may read cells of `copy` that the block does not write."""
    where, body = reader.places, reader.scope.block.body
    if not makes_all(where, body, reader.writers(copy), reader.realize, copy):
        raise site.refuse(
            f"`{reader.name}`, a consumer block, may read what `{site.name}` does not write",
            site.places.blocks[reader.node.id],
            detail=f"{copy.name} holds what `{site.name}` writes alone",
            hint=f"leave `{reader.name}` out of consumer_blocks: it then reads after the copy",
        )


def _check_writer(site: Site[Block], buffer: Buffer) -> None:
    check_no_choice(site)
    check_no_bare_statement(site, buffer)
    check_starts_first(site)
    block = site.node
    hint = "cache the result of a block that alone writes it; do this before decompose_reduction"
    check_sole_writer(site, buffer, hint)
    fed = {id(n) for reader in _fed_inside(site, buffer) for n in walk(reader)}
    loads = [
        n
        for n in walk(block.body)
        if isinstance(n, BufferLoad) and n.buffer is buffer and id(n) not in fed
    ]
    done = [s.indices for s in stores(block.body) if s.buffer is buffer]
    elsewhere = [n for n in loads if any(not same_cell(n.indices, cell) for cell in done)]
    if elsewhere:
        raise site.refuse(
            f"it reads other cells of {buffer.name} than it writes",
            block,
            elsewhere[0],
            detail="the new memory would not hold them",
            hint="read them from another buffer",
        )
    check_started(site, [buffer])
    if loads and block.init is None:
        raise site.refuse(
            "it adds to what was there before",
            detail="the new memory would begin empty",
            hint="give the block a T.init()",
        )


def _fed_inside(site: Site[Block], buffer: Buffer) -> Iterator[BlockRealize]:
    """The blocks in it that read of `buffer` only what another block in it made before."""
    where = site.places
    for reader in where.blocks_under(site.realize):
        if buffer not in declared_reads(reader.block) or buffer in declared_writes(reader.block):
            continue
        makers = where.writers_under(site.realize, buffer)
        before = [one for one in makers if where.position[one] < where.position[reader]]
        if before and makes_all(where, site.node.body, before, reader, buffer):
            yield reader


def _direct(
    site: Site[Block], later: list[BlockRealize], chosen: list[Block] | None
) -> list[BlockRealize]:
    """Those of `later` that are `chosen` to read what the block writes, not the copy."""
    for other in chosen or ():
        if not any(r.block.id is other.id for r in later):
            raise site.refuse(
                f"`{other.name}`, a consumer block, does not read it afterwards",
                other,
                hint="name blocks that read the buffer behind this one: "
                + (", ".join(r.block.name for r in later) or "there are none"),
            )
    ids = {b.id for b in chosen or ()}
    return [r for r in later if r.block.id in ids]


def _spot(site: Site[Block], buffer: Buffer, later: list[BlockRealize]) -> Spot:
    """Where the copy goes: before the first of `later`, in each turn after which others read."""
    end = Spot(site.scope, len(statements(site.scope)))
    spot = first_reader(site, later) if later else end
    for loop in reversed(site.loops):
        if loop in spot.loops:
            break
        if _is_read_in_later_turns(site, loop, buffer):
            around = site.loops[: site.loops.index(loop) + 1]
            return Spot(loop, len(statements(loop)), around)
    return spot


def _is_read_in_later_turns(site: Site[Block], loop: For, buffer: Buffer) -> bool:
    """Whether a block ahead may read in a turn of `loop` what the block wrote in an earlier one."""
    below, dom = units_in(site.places, loop.body)
    writer = next(unit for unit in below if unit.stmt is site.realize)
    ahead = [u for u in below[: below.index(writer)] if u.block and buffer in u.reads]
    return any(carries(loop, writer, reader, buffer, dom) for reader in ahead)


def copy_instead(site: Site[Block], buffer: Buffer, scope: str) -> str:
    """What to do with an argument that is to lie in `scope`: the copy, where one can be made."""
    number = [region.buffer for region in site.node.writes].index(buffer)
    names = [realize.block.name for realize in site.places.blocks.values()]
    try:
        cache_write(site.func, site.node, number, scope)
    except Refusal:
        return f"write into a buffer of its own, and copy `{buffer.name}` from there"
    if names.count(site.name) > 1:
        return f"copy it from there: cache_write of {number} in {scope!r}, with the block's handle"
    call = f"sch.cache_write({string(site.name)}, {number}, {string(scope)})"
    return f"copy it from there: {call}"


def _box(site: Site[Block], buffer: Buffer, spot: Spot) -> tuple[Box, Expr]:
    """The cells that the block writes there, and where: those that the copy takes."""
    found = box_written(site, buffer, spot.loops)
    if found is None:
        raise site.refuse(
            "it may leave out cells, which the copy would overwrite",
            hint="cache_write takes a block that writes every cell of a box, such as C[vi, vj]",
        )
    return found
