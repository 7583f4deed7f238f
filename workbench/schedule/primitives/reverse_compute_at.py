"""reverse_compute_at: use what other blocks make inside the loop in which they make it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench import arith
from workbench.access.units import writes_apart
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    Const,
    For,
    IfThenElse,
    PrimFunc,
    Var,
    stores,
    walk,
)
from workbench.ir.places import places
from workbench.schedule.counters import Bounds, variables
from workbench.schedule.crossing import check_leaves
from workbench.schedule.domains import bindings, bounds_at, domain
from workbench.schedule.feeding import check_fed, makes_all
from workbench.schedule.moving import (
    Need,
    check_loop,
    check_types,
    check_unguarded,
    check_whole,
    fixed_values,
    gap,
    needs,
    nest,
    position,
    transplant,
)
from workbench.schedule.primitive import Edit, primitive
from workbench.schedule.regions import Box, touched
from workbench.schedule.scope import (
    check_stage,
    common_loops,
    consumers,
    only_region,
    producers,
    read,
    readers,
    shared_loops,
    siblings,
    starts_first,
    written,
)


def _choices(func: PrimFunc, block: Block) -> Iterator[Mapping[str, Any]]:
    found = _makers(func, block, f"reverse_compute_at `{block.name}`")
    yield from ({"loop": loop} for loop in common_loops(func, found))


@primitive(group="blocks", choices=_choices)
def reverse_compute_at(
    func: PrimFunc,
    block: Block,
    loop: For,
    preserve_unit_loops: bool = False,
    index: int = -1,
) -> Edit:
    """Move `block` under `loop`, to use there what the blocks that it reads make there.

    The loops around it become ax0, ax1, …, one for each of its iterators; those that would run
    once are left out unless `preserve_unit_loops`. `index` says where among the statements of the
    loop: -1 as late as possible, -2 as early as possible.

    >>> sch.reverse_compute_at("C", "i")
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        # with T.block("root"):
        B = T.alloc_buffer((16,))
        for i, j in T.grid(4, 4):
            with T.block("B"):
                v = T.axis.spatial(16, i * 4 + j)
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v] * T.float32(2)
        for k in range(16):
            with T.block("C"):
                vk = T.axis.spatial(16, k)
                T.reads(B[vk])
                T.writes(C[vk])
                C[vk] = B[vk] + T.float32(1)
    ---
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        # with T.block("root"):
        B = T.alloc_buffer((16,))
        for i in range(4):
            for j in range(4):
                with T.block("B"):
                    v = T.axis.spatial(16, i * 4 + j)
                    T.reads(A[v])
                    T.writes(B[v])
                    B[v] = A[v] * T.float32(2)
            for ax0 in range(4):
                with T.block("C"):
                    vk = T.axis.spatial(16, i * 4 + ax0)
                    T.reads(B[vk])
                    T.writes(C[vk])
                    C[vk] = B[vk] + T.float32(1)
    """
    task = f"reverse_compute_at `{block.name}` at `{loop.loop_var.name}`"
    check_loop(func, block, loop, "reverse_compute_at")
    check_stage(func, block, "reverse_compute_at")
    check_unguarded(func, block, task)
    makers = _makers_inside(func, block, loop, task)
    _check_read_before(func, block, loop, task)
    _check_reads_inside(func, block, makers, task)
    _check_made_in_turn(func, block, loop, makers, task)
    check_whole(func, block, task)
    later = [r.block for r in consumers(func, block)]
    at = position(
        block, loop, gap(func, loop, [r.block for r in makers], later), index, "reverse_compute_at"
    )
    dom = bounds_at(places(func), loop.body)
    needed = _needed(func, block, loop, makers, dom, task)
    check_types(block, needed, task)
    new, axes = nest(block, needed, dom, preserve_unit_loops)
    moved, gone = transplant(func, block, loop, at, new)
    _check_turns_agree(func, moved, block, task)
    check_leaves(func, moved, block, task)
    check_fed(func, moved, block, task, finished=_places_by_data(block))
    for reader in consumers(moved, block):
        check_fed(func, moved, reader.block, task)
    return Edit(moved, None, dict.fromkeys(gone, axes))


def _makers(func: PrimFunc, block: Block, task: str) -> list[BlockRealize]:
    """The blocks that make what `block` reads; refused where there is none."""
    makers = producers(func, block)
    if not makers:
        raise Refusal(
            f"Can't {task}: no block ahead of it makes what it reads",
            places(func).realize(block),
            hint="it reads only what the program is given; move it to its readers with compute_at",
        )
    return makers


def _makers_inside(func: PrimFunc, block: Block, loop: For, task: str) -> list[BlockRealize]:
    """The blocks that make what `block` reads; refused unless all of them are in `loop`."""
    where = places(func)
    makers = _makers(func, block, task)
    outside = [r for r in makers if loop not in where.loops_above(r)]
    if outside:
        ways = ", ".join(f"`{one.loop_var.name}`" for one in common_loops(func, makers))
        raise Refusal(
            f"Can't {task}: `{outside[0].block.name}`, which feeds it, is outside that loop",
            loop,
            *outside,
            hint=f"pick a loop that holds every block that feeds it: {ways}"
            if ways
            else "the blocks that feed it share no loop: move one to the other first",
        )
    return makers


def _check_reads_inside(
    func: PrimFunc, block: Block, makers: list[BlockRealize], task: str
) -> None:
    """Refuse a block that looks past the ends of what feeds it, as padding does behind a choice.

    It would run for the cells that are made, and leave out those that only it makes.
    """
    made = {buffer for maker in makers for buffer in written(maker.block)}
    for load in walk(block.body):
        if not isinstance(load, BufferLoad) or load.buffer not in made:
            continue
        for index, size in zip(load.indices, load.buffer.shape, strict=True):
            ends = arith.bounds(index, domain(block))
            if ends is not None and (ends[0] < 0 or ends[1] >= size):
                raise Refusal(
                    f"Can't {task}: it stores more cells than {load.buffer.name} has",
                    places(func).realize(block),
                    hint="put what feeds it into it with compute_inline instead",
                )


def _check_made_in_turn(
    func: PrimFunc, block: Block, loop: For, makers: list[BlockRealize], task: str
) -> None:
    """Refuse a block that reads what others make only in part, or in another turn of its loops.

    It will run where what it reads is made; for the rest, it would not run at all.
    """
    where = places(func)
    realize = where.realize(block)
    common = shared_loops(where, realize, loop)
    holder = common[-1].body if common else where.scope(realize).block.body
    for buffer in read(block):
        made = [maker for maker in makers if buffer in written(maker.block)]
        if made and not makes_all(func, holder, made, realize, buffer):
            raise Refusal(
                f"Can't {task}: not all that it reads of {buffer.name} is made there",
                realize,
                made[0],
                detail=f"for the cells that `{made[0].block.name}` leaves out it would not run "
                "any more",
                hint=f"leave `{block.name}` behind that nest, or read only what is made in it",
            )


def _places_by_data(block: Block) -> bool:
    """Whether what `block` reads says which cells it stores: then too early a value does harm."""
    where = [i for s in stores(block) for i in s.indices]
    where += [n.condition for n in walk(block.body) if isinstance(n, IfThenElse)]
    return any(isinstance(node, BufferLoad) for e in where for node in walk(e))


def _check_read_before(func: PrimFunc, block: Block, loop: For, task: str) -> None:
    """Refuse where a block that `block` would overtake reads what it overwrites."""
    where = places(func)
    inside = where.blocks_under(loop)
    all_blocks = siblings(func, block)
    start = min(all_blocks.index(r) for r in inside)
    passed = all_blocks[start : all_blocks.index(where.realize(block))]
    for buffer in written(block):
        hit = [r for r in readers(func, block, buffer) if r in passed]
        if hit:
            raise Refusal(
                f"Can't {task}: `{hit[0].block.name}` still reads the old {buffer.name}",
                where.realize(block),
                *hit,
                hint="let one of the two use another buffer",
            )


def _needed(
    func: PrimFunc,
    block: Block,
    loop: For,
    makers: list[BlockRealize],
    dom: Bounds,
    task: str,
) -> dict[Any, Need]:
    where = places(func)
    outside = [*where.all_loops_above(loop), loop]
    pairs: list[tuple[Box, Box]] = []
    for buffer in read(block):
        mine = only_region(block.reads, buffer)
        assert mine is not None
        for maker in makers:
            region = only_region(maker.block.writes, buffer)
            if region is None:
                continue
            _check_one_cell(block, buffer, mine.region, maker, where.realize(block), task)
            known = bounds_at(where, maker)
            inner = {
                one.loop_var: known[one.loop_var]
                for one in where.all_loops_above(maker)
                if one not in outside
            }
            pairs.append((mine.region, touched(region, maker, inner, known)))
    needed, agree = needs(block, pairs, dom, fixed_values(func, block, loop))
    _check_of_turn(func, block, loop, needed, task)
    if not agree:
        raise Refusal(
            f"Can't {task}: what it reads together is made in different iterations",
            where.realize(block),
            *makers,
            hint="pick a loop further out, where all that it reads together is made",
        )
    return needed


def _check_of_turn(
    func: PrimFunc, block: Block, loop: For, needed: dict[Var, Need], task: str
) -> None:
    """Refuse where it is not told which iterations belong to a turn of the loops around both."""
    where = places(func)
    realize = where.realize(block)
    both = {
        one.loop_var
        for one in shared_loops(where, realize, loop)
        if len(set(bounds_at(where, realize)[one.loop_var])) > 1
    }
    for var, value in bindings(realize).items():
        if both & variables(value) and not both & variables(needed[var].low):
            raise Refusal(
                f"Can't {task}: no cell that it reads tells which {var.name} to run it for",
                realize,
                loop,
                hint="let what it reads have an axis for "
                + ", ".join(f"`{v.name}`" for v in variables(value) if v in both),
            )


def _check_one_cell(
    block: Block, buffer: Buffer, box: Box, maker: BlockRealize, realize: BlockRealize, task: str
) -> None:
    """Refuse a block that reads, in one iteration, cells that may be made in different ones."""
    for axis in box:
        fixed = not variables(axis.min)
        if not (isinstance(axis.extent, Const) and axis.extent.value == 1) and not fixed:
            raise Refusal(
                f"Can't {task}: it reads several cells of {buffer.name} at once, some not made yet",
                realize,
                maker,
                hint=f"move `{maker.block.name}` to `{block.name}` instead, with compute_at",
            )


def _check_turns_agree(before: PrimFunc, func: PrimFunc, block: Block, task: str) -> None:
    """Refuse a sum of which a term would be added twice, or that would begin with another term.

    And any block of which turns that come in any order would write one cell.
    """
    where = places(func)
    realize = where.realize(block)
    loops = {
        one.loop_var: bounds_at(where, realize)[one.loop_var] for one in where.loops_above(realize)
    }
    bound = bindings(realize)
    apart = writes_apart(block) is True
    told = {v for it in block.iter_vars if it.kind == "reduce" or not apart
            for v in variables(bound[it.var])}  # fmt: skip
    mixed = [
        one
        for one in where.all_loops_above(realize)
        if one.loop_var in told and one.kind not in ("serial", "unrolled")
    ]
    if mixed:
        name = mixed[0].loop_var.name
        raise Refusal(
            f"Can't {task}: the turns of `{name}`, which come in any order, would share cells",
            mixed[0],
            places(before).realize(block),
            hint=f"move it while `{name}` is a plain loop, or to a loop outside `{name}`",
        )
    if block.init is None:
        return
    starts = starts_first(realize, loops)
    if not starts or arith.is_injective(realize.iter_values, loops) is not True:
        raise Refusal(
            f"Can't {task}: terms of its sum would be added twice or out of order",
            places(before).realize(block),
            hint="pick a loop outside which none of the summed values is made again",
        )
