"""compute_at: make what a block makes inside the loop that reads it, as much as is read there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench import arith
from workbench.access.boxes import inside
from workbench.access.units import runs_fixed
from workbench.arith import Bounds
from workbench.ir import Block, BlockRealize, Buffer, BufferLoad, For, PrimFunc, walk
from workbench.verbs.crossing import check_leaves
from workbench.verbs.domains import bounds_at, domain
from workbench.verbs.feeding import check_fed, makes_all, reads_apart
from workbench.verbs.moving import (
    check_all_inside,
    check_is_step,
    fixed_by_refilling,
    guard_of_terms,
    kept_values,
    movable,
    moved_under,
    needs,
    overwriting,
    overwritten,
    position,
    unless_alone,
)
from workbench.verbs.order import refuse_other_updates
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.regions import Box, covers_domain, touched
from workbench.verbs.scope import (
    common_loops,
    loops_between,
    may_be_left_out,
    region_of,
)
from workbench.verbs.site import Site, declared_reads, declared_writes, site_of

# How far a thread sees: memory of a scope is filled for all threads that share it, so the loops
# bound to those threads count as running, wherever they stand. Global memory is left as it is.
_SHARED_BY = {"shared": ("threadIdx.", "vthread")}


def _choices(func: PrimFunc, block: Block) -> Iterator[Mapping[str, Any]]:
    site = site_of(func, block, "compute_at")
    yield from ({"loop": loop} for loop in common_loops(site.places, _readers(site)))


@primitive(group="blocks", sizes=True, choices=_choices)
def compute_at(
    func: PrimFunc,
    block: Block,
    loop: For,
    preserve_unit_loops: bool = False,
    index: int = -1,
) -> Edit[None]:
    """Move `block` under `loop`, to make there only what the blocks that read it need there.

    The loops around it become ax0, ax1, …, one for each of its iterators; those that would run
    once are left out unless `preserve_unit_loops`. `index` says where among the statements of the
    loop: -1 as late as possible, -2 as early as possible.

    Shared memory is filled for all threads of a block, and for all virtual threads: what they read
    together is made once. What lies in local memory is made by each thread, and by each virtual
    thread, for itself.

    >>> sch.compute_at("B", "i")
    @T.prim_func
    def main(A: T.Buffer((18,), "float32"), C: T.Buffer((16,), "float32")):
        # with T.block("root"):
        B = T.alloc_buffer((18,))
        for k in range(18):
            with T.block("B"):
                vk = T.axis.spatial(18, k)
                T.reads(A[vk])
                T.writes(B[vk])
                B[vk] = A[vk] * T.float32(2)
        for i, j in T.grid(4, 4):
            with T.block("C"):
                v = T.axis.spatial(16, i * 4 + j)
                T.reads(B[v : v + 3])
                T.writes(C[v])
                C[v] = B[v] + B[v + 2]
    ---
    @T.prim_func
    def main(A: T.Buffer((18,), "float32"), C: T.Buffer((16,), "float32")):
        # with T.block("root"):
        B = T.alloc_buffer((18,))
        for i in range(4):
            for ax0 in range(6):
                with T.block("B"):
                    vk = T.axis.spatial(18, i * 4 + ax0)
                    T.reads(A[vk])
                    T.writes(B[vk])
                    B[vk] = A[vk] * T.float32(2)
            for j in range(4):
                with T.block("C"):
                    v = T.axis.spatial(16, i * 4 + j)
                    T.reads(B[v : v + 3])
                    T.writes(C[v])
                    C[v] = B[v] + B[v + 2]
    """
    site = movable(func, block, loop, "compute_at")
    free, guard = guard_of_terms(site)
    readers = _readers(site)
    check_all_inside(
        site,
        loop,
        readers,
        " reads its result outside that loop",
        "every reader",
        "its readers share no loop: move one to the other, or give each its cache_read",
    )
    last = max(site.places.blocks_under(loop), key=site.siblings.index)
    hits = overwriting(site, last)
    at = position(site, loop, site.producers, readers, index)
    dom = bounds_at(site.places, loop.body)
    pairs = [_pair(site, loop, buffer, readers, dom) for buffer in declared_writes(block)]
    fixed = fixed_by_refilling(site, loop)
    needed, _ = needs(domain(block), [p for p in pairs if p is not None], dom, fixed)
    edit = moved_under(site, loop, at, needed, preserve_unit_loops, guard)
    there = site.after(edit.places, block.id)
    for other, buffer in hits:
        now = there.places.blocks[other.block.id]
        if not reads_apart(there.places, there.realize, now, buffer):
            raise overwritten(site, other, buffer, f", or leave `{block.name}` ahead of it")
    refuse_other_updates(site, there, kept_values(there, fixed))
    check_leaves(site, there)
    _check_looked_up(site, there)
    _check_partial(site, there, free)
    _check_results(site, there)
    check_fed(site, there)
    return edit


def _check_looked_up(site: Site[Block], there: Site[Block]) -> None:
    """Refuse a block for which it may be looked up beyond the cells of a buffer where it runs."""
    dom = bounds_at(there.places, there.realize)
    for load in (n for e in there.realize.iter_values for n in walk(e)):
        if not isinstance(load, BufferLoad):
            continue
        for index, size in zip(load.indices, load.buffer.shape, strict=True):
            if not arith.is_index(index, size, dom):
                raise site.refuse(
                    f"what is in {load.buffer.name} says where it runs, and there it may be read "
                    "beyond its cells",
                    hint="split the loops of its readers by factors that divide, or take this step "
                    "before",
                )


_RESULT_HINT = "move the blocks that it reads, or move it with reverse_compute_at"


def _check_results(site: Site[Block], there: Site[Block]) -> None:
    """Refuse unless a block that makes a result of the program runs for all its domain in both."""
    made = declared_writes(site.node)
    if all(map(site.is_allocated, made)):
        return
    for at in (site, there):
        fixed = all(runs_fixed(one) or arith.by_sizes(one.extent) for one in at.loops)
        whole = fixed and covers_domain(at.realize, arith.loop_bounds(at.loops))
        if not whole or may_be_left_out(at.places, at.realize, at.scope):
            check_is_step(site, made, _RESULT_HINT)


def _readers(site: Site[Block]) -> list[BlockRealize]:
    """The blocks that read what the block writes; refused where there is none."""
    readers = site.consumers
    if not readers:
        check_is_step(site, declared_writes(site.node), unless_alone(site, _RESULT_HINT))
        raise site.refuse(
            "no block after it reads what it makes",
            hint="compute_at puts a block beside its readers; one without readers has no place",
        )
    return readers


def _check_partial(site: Site[Block], there: Site[Block], realize: BlockRealize) -> None:
    """Refuse a block that ran for a part of its domain, and would run for more or read too much.

    `realize` ran it, without what moves with it.
    """
    hint = "make the domains of its iterators (T.axis) no larger than what its loops run"
    loops, block = arith.loop_bounds(site.loops), site.node
    fixed = all(runs_fixed(one) or arith.by_sizes(one.extent) for one in site.loops)
    if fixed and covers_domain(realize, loops):
        return
    terms = [it.var for it in block.iter_vars if it.kind == "reduce"]
    if not ((fixed or not terms) and covers_domain(realize, loops, terms)):
        raise site.refuse(
            "its loops may not run all terms of its sum, and there all would run"
            if terms
            else "it runs only where its T.where holds, and there it may run elsewhere, too",
            hint=hint,
        )
    body = there.scope.block.body
    for buffer in declared_reads(block):
        makers = there.writers(buffer)
        if there.is_allocated(buffer) and not makes_all(
            there.places, body, makers, there.realize, buffer
        ):
            raise site.refuse(
                f"there it may read cells of {buffer.name} that nobody makes", hint=hint
            )
    _check_declared(site, there)


def _check_declared(site: Site[Block], there: Site[Block]) -> None:
    """Refuse a block that may read `there` what a block around it does not declare to touch."""
    where = there.places
    for region in site.node.reads:
        buffer, reader = region.buffer, there.realize
        while (holder := where.scope(reader)) is not there.func.body:
            if buffer in holder.block.alloc_buffers:
                break
            inner, dom = arith.loop_bounds(where.loops_above(reader)), bounds_at(where, reader)
            box = touched(region, reader, inner, dom)
            known = (r for r in (*holder.block.reads, *holder.block.writes) if r.buffer is buffer)
            declared = next((r for r in known if inside(box, r.region, buffer.shape, dom)), None)
            if declared is None:
                raise site.refuse(
                    f"there it may read more of {buffer.name} than `{holder.block.name}` declares",
                    site.node,
                    site.places.blocks[holder.block.id],
                    hint="leave it outside that loop, or let that block's T.reads name all of it",
                )
            region, reader = declared, holder


def _pair(
    site: Site[Block], loop: For, buffer: Buffer, readers: list[BlockRealize], dom: Bounds
) -> tuple[Box, Box] | None:
    """What one iteration of the block writes of `buffer`, and what is read of it inside `loop`."""
    where = site.places
    wanted: Box | None = None
    for reader in readers:
        region = region_of(reader.block.reads, buffer)
        if region is None:
            continue
        known, between = bounds_at(where, reader), loops_between(where, loop, reader)
        around = where.all_loops_above(reader)
        inner = known.of(one for one in around if one in between or _sees_all(buffer, one))
        box = touched(region, reader, inner, known)
        wanted = box if wanted is None else arith.union_regions(wanted, box, dom)
    made = region_of(site.node.writes, buffer)
    assert made is not None
    return None if wanted is None else (made.region, wanted)


def _sees_all(buffer: Buffer, loop: For) -> bool:
    """Whether `loop` stands for threads that share the memory of `buffer`."""
    return loop.thread is not None and loop.thread.startswith(_SHARED_BY.get(buffer.scope, ("-",)))
