"""compute_at: make what a block makes inside the loop that reads it, as much as is read there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench import arith
from workbench.arith import union_regions
from workbench.diag import Refusal
from workbench.ir import Block, BlockRealize, Buffer, For, PrimFunc
from workbench.ir.places import Places, places
from workbench.schedule.counters import Bounds
from workbench.schedule.crossing import check_leaves
from workbench.schedule.domains import bounds_at
from workbench.schedule.feeding import check_fed, makes_all
from workbench.schedule.moving import (
    check_loop,
    check_types,
    check_unguarded,
    fixed_by_refilling,
    gap,
    needs,
    nest,
    position,
    transplant,
)
from workbench.schedule.primitive import Edit, primitive
from workbench.schedule.regions import Box, covers_domain, touched
from workbench.schedule.scope import (
    check_stage,
    common_loops,
    consumers,
    is_allocated,
    only_region,
    producers,
    read,
    siblings,
    writers,
    written,
)

# How far a thread sees: memory of a scope is filled for all threads that share it, so the loops
# bound to those threads count as running, wherever they stand. Global memory is left as it is.
_SHARED_BY = {"shared": ("threadIdx.",)}


def _choices(func: PrimFunc, block: Block) -> Iterator[Mapping[str, Any]]:
    found = _readers(func, block, f"compute_at `{block.name}`")
    yield from ({"loop": loop} for loop in common_loops(func, found))


@primitive(group="blocks", choices=_choices)
def compute_at(
    func: PrimFunc,
    block: Block,
    loop: For,
    preserve_unit_loops: bool = False,
    index: int = -1,
) -> Edit:
    """Move `block` under `loop`, to make there only what the blocks that read it need there.

    The loops around it become ax0, ax1, …, one for each of its iterators; those that would run
    once are left out unless `preserve_unit_loops`. `index` says where among the statements of the
    loop: -1 as late as possible, -2 as early as possible.

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
    task = f"compute_at `{block.name}` at `{loop.loop_var.name}`"
    check_loop(func, block, loop, "compute_at")
    check_stage(func, block, "compute_at")
    check_unguarded(func, block, task)
    readers = _readers_inside(func, block, loop, task)
    _check_overwritten(func, block, loop, task)
    allowed = gap(func, loop, [r.block for r in producers(func, block)], [r.block for r in readers])
    at = position(block, loop, allowed, index, "compute_at")
    where = places(func)
    dom = bounds_at(where, loop.body)
    pairs = [_pair(where, block, loop, buffer, readers, dom) for buffer in written(block)]
    fixed = fixed_by_refilling(func, block, loop, task)
    needed, _ = needs(block, [p for p in pairs if p is not None], dom, fixed)
    check_types(block, needed, task)
    new, axes = nest(block, needed, dom, preserve_unit_loops)
    moved, gone = transplant(func, block, loop, at, new)
    check_leaves(func, moved, block, task)
    _check_partial(func, moved, block, task)
    check_fed(func, moved, block, task)
    return Edit(moved, None, dict.fromkeys(gone, axes))


def _readers(func: PrimFunc, block: Block, task: str) -> list[BlockRealize]:
    """The blocks that read what `block` writes; refused where there is none."""
    where = places(func)
    for buffer in written(block):
        if not is_allocated(func, block, buffer):
            raise Refusal(
                f"Can't {task}: {buffer.name} is a result of the program, not a step on the way",
                where.realize(block),
                hint="move the blocks that it reads, or move it with reverse_compute_at",
            )
    readers = consumers(func, block)
    if not readers:
        raise Refusal(
            f"Can't {task}: no block after it reads what it makes",
            where.realize(block),
            hint="compute_at puts a block beside its readers; one without readers has no place",
        )
    return readers


def _readers_inside(func: PrimFunc, block: Block, loop: For, task: str) -> list[BlockRealize]:
    """The blocks that read what `block` writes; refused unless all of them are in `loop`."""
    readers = _readers(func, block, task)
    where = places(func)
    outside = [r for r in readers if loop not in where.loops_above(r)]
    if outside:
        ways = ", ".join(f"`{one.loop_var.name}`" for one in common_loops(func, readers))
        raise Refusal(
            f"Can't {task}: `{outside[0].block.name}` reads its result outside that loop",
            loop,
            *outside,
            hint=f"pick a loop that holds every reader: {ways}"
            if ways
            else "its readers share no loop: move one to the other, or give each its cache_read",
        )
    return readers


def _check_overwritten(func: PrimFunc, block: Block, loop: For, task: str) -> None:
    """Refuse where a buffer that `block` reads is written between its old place and its new."""
    where = places(func)
    all_blocks = siblings(func, block)
    behind = all_blocks[all_blocks.index(where.realize(block)) + 1 :]
    inside = where.blocks_under(loop)
    last = max(behind.index(r) for r in inside if r in behind)
    for other in behind[: last + 1]:
        hit = [b for b in read(block) if b in written(other.block)]
        if hit:
            raise Refusal(
                f"Can't {task}: `{other.block.name}` overwrites {hit[0].name}, which it reads",
                where.realize(block),
                other,
                hint=f"let `{other.block.name}` write another buffer, or leave `{block.name}` "
                "ahead of it",
            )


def _check_partial(before: PrimFunc, moved: PrimFunc, block: Block, task: str) -> None:
    """Refuse a block that ran for a part of its domain, and would run for more or read too much."""
    realize = places(before).realize(block)
    loops = arith.loop_bounds(places(before).loops_above(realize))
    if covers_domain(realize, loops):
        return
    if not covers_domain(realize, loops, [it.var for it in block.iter_vars if it.kind == "reduce"]):
        raise Refusal(
            f"Can't {task}: its loops may not run all terms of its sum, and there all would run",
            realize,
            hint="make the domains of its iterators (T.axis) no larger than what its loops run",
        )
    now = places(moved)
    reader = now.blocks[block.id]
    for buffer in read(block):
        makers = writers(moved, reader.block, buffer)
        if is_allocated(moved, reader.block, buffer) and not makes_all(
            moved, now.scope(reader).block.body, makers, reader, buffer
        ):
            raise Refusal(
                f"Can't {task}: there it may read cells of {buffer.name} that nobody makes",
                realize,
                hint="make the domains of its iterators (T.axis) no larger than what its loops run",
            )


def _pair(
    where: Places,
    block: Block,
    loop: For,
    buffer: Buffer,
    readers: list[BlockRealize],
    dom: Bounds,
) -> tuple[Box, Box] | None:
    """What one iteration of `block` writes of `buffer`, and what is read of it inside `loop`."""
    wanted: Box | None = None
    for reader in readers:
        region = only_region(reader.block.reads, buffer)
        if region is None:
            continue
        outside = [*where.all_loops_above(loop), loop]
        inner = {
            one.loop_var: bounds_at(where, reader)[one.loop_var]
            for one in where.all_loops_above(reader)
            if one not in outside or _sees_all(buffer, one)
        }
        box = touched(region, reader, inner, bounds_at(where, reader))
        wanted = box if wanted is None else union_regions(wanted, box, dom)
    made = only_region(block.writes, buffer)
    assert made is not None
    return None if wanted is None else (made.region, wanted)


def _sees_all(buffer: Buffer, loop: For) -> bool:
    """Whether `loop` stands for threads that share the memory of `buffer`."""
    return loop.thread is not None and loop.thread.startswith(_SHARED_BY.get(buffer.scope, ("-",)))
