"""reverse_compute_at: use what other blocks make inside the loop in which they make it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench import arith
from workbench.access.boxes import inside
from workbench.access.counters import variables
from workbench.access.iterations import apart
from workbench.access.units import writes_apart
from workbench.arith import Bounds
from workbench.check import doers_on, refuse_conflict
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    BlockRealize,
    BufferLoad,
    BufferRegion,
    Expr,
    For,
    PrimFunc,
    Size,
    Var,
    substitute,
    walk,
)
from workbench.verbs.crossing import check_leaves, stores_the_same
from workbench.verbs.domains import bounds_at, domain, moved_by, units_in
from workbench.verbs.feeding import check_fed, makes_all, needs_finished, reads_apart
from workbench.verbs.following import following
from workbench.verbs.moving import (
    Need,
    check_all_inside,
    check_unguarded,
    fixed_values,
    iterations_run,
    kept_values,
    movable,
    moved_under,
    needs,
    placed,
    position,
    unless_alone,
)
from workbench.verbs.nest import is_one
from workbench.verbs.order import refuse_other_updates
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.regions import Box, touched
from workbench.verbs.scope import (
    common_loops,
    loops_between,
    region_of,
    starts_first,
)
from workbench.verbs.site import Site, declared_reads, declared_writes, named, site_of


def _choices(func: PrimFunc, block: Block) -> Iterator[Mapping[str, Any]]:
    site = site_of(func, block, "reverse_compute_at")
    yield from ({"loop": loop} for loop in common_loops(site.places, _makers(site)))


@primitive(group="blocks", sizes=True, choices=_choices)
def reverse_compute_at(
    func: PrimFunc,
    block: Block,
    loop: For,
    preserve_unit_loops: bool = False,
    index: int = -1,
) -> Edit[None]:
    """Move `block` under `loop`, to use there what the blocks that it reads make there.

    The loops around it become ax0, ax1, …, one for each of its iterators; those that would run
    once are left out unless `preserve_unit_loops`. Where what is made there is no box, it has the
    loops and the T.where of the block that makes it, and runs once for each cell. `index` says
    where among the statements of the loop: -1 as late as possible, -2 as early as possible.

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
    site = movable(func, block, loop, "reverse_compute_at")
    check_unguarded(site)
    makers = _makers(site)
    check_all_inside(
        site,
        loop,
        makers,
        ", which feeds it, is outside that loop",
        "every block that feeds it",
        "the blocks that feed it share no loop: move one to the other first",
    )
    _check_read_before(site, loop)
    _check_reads_inside(site, makers)
    _check_made_in_turn(site, loop, makers)
    run = iterations_run(site)
    at = position(site, loop, makers, site.consumers, index)
    nest = following(site, loop, makers, run)
    if nest is not None:
        edit = placed(site, loop, at, *nest)
    else:
        needed = _needed(site, loop, makers, run)
        edit = moved_under(site, loop, at, needed, preserve_unit_loops)
    there = site.after(edit.places, block.id)
    _check_turns_agree(site, there)
    refuse_other_updates(site, there, kept_values(there, fixed_values(site, loop)))
    check_leaves(site, there)
    check_fed(site, there, finished=needs_finished(block))
    for reader in there.consumers:
        check_fed(site, site.after(edit.places, reader.block.id))
    return edit


def _makers(site: Site[Block]) -> list[BlockRealize]:
    """The blocks that make what the block reads; refused where there is none."""
    makers = site.producers
    if not makers:
        raise site.refuse(
            "no block ahead of it makes what it reads",
            hint=unless_alone(
                site,
                "it reads only what the program is given; move it to its readers with compute_at",
            ),
        )
    return makers


def _check_reads_inside(site: Site[Block], makers: list[BlockRealize]) -> None:
    """Refuse a block that looks past the ends of what feeds it, as padding does behind a choice.

    It would run for the cells that are made, and leave out those that only it makes.
    """
    made = {buffer for maker in makers for buffer in declared_writes(maker.block)}
    for load in walk(site.node.body):
        if not isinstance(load, BufferLoad) or load.buffer not in made:
            continue
        for index, size in zip(load.indices, load.buffer.shape, strict=True):
            if _may_be_outside(index, size, domain(site.node)):
                raise site.refuse(
                    f"it stores more cells than {load.buffer.name} has",
                    hint="put what feeds it into it with compute_inline instead",
                )


def _may_be_outside(index: Expr, size: Size, dom: Bounds) -> bool:
    """Whether it is known how far `index` goes, and that is beyond a dimension."""
    if isinstance(size, Expr):
        return not arith.is_index(index, size, dom)
    ends = arith.bounds(index, dom)
    return ends is not None and (ends[0] < 0 or ends[1] >= size)


def _check_made_in_turn(site: Site[Block], loop: For, makers: list[BlockRealize]) -> None:
    """Refuse a block that reads what others make only in part, or in another turn of its loops.

    It will run where what it reads is made; for the rest, it would not run at all.
    """
    common = common_loops(site.places, (site.realize, loop))
    holder = common[-1].body if common else site.scope.block.body
    for buffer in declared_reads(site.node):
        made = [maker for maker in makers if buffer in declared_writes(maker.block)]
        if made and not makes_all(site.places, holder, made, site.realize, buffer, chosen=False):
            raise site.refuse(
                f"not all that it reads of {buffer.name} is made there",
                site.node,
                made[0],
                detail=f"for the cells that `{made[0].block.name}` leaves out it would not run "
                "any more",
                hint=f"leave `{site.name}` behind that nest, or read only what is made in it",
            )


def _check_read_before(site: Site[Block], loop: For) -> None:
    """Refuse where a block that the block would overtake reads what it overwrites."""
    order = site.siblings
    start = min(order.index(r) for r in site.places.blocks_under(loop))
    passed = order[start : order.index(site.realize)]
    for buffer in declared_writes(site.node):
        hit = [
            r
            for r in site.readers(buffer)
            if r in passed and not reads_apart(site.places, r, site.realize, buffer)
        ]
        if hit:
            raise site.refuse(
                f"`{hit[0].block.name}` still reads the old {buffer.name}",
                site.node,
                *hit,
                hint="let one of the two use another buffer",
            )


def _needed(
    site: Site[Block], loop: For, makers: list[BlockRealize], run: Bounds
) -> dict[Var, Need]:
    """The values of each iterator, of those in `run`, for which what is read is made in `loop`."""
    where, block = site.places, site.node
    pairs: list[tuple[Box, Box]] = []
    fed: list[tuple[BufferRegion, BlockRealize]] = []
    for buffer in declared_reads(block):
        mine = region_of(block.reads, buffer)
        assert mine is not None
        for maker in makers:
            region = region_of(maker.block.writes, buffer)
            if region is None:
                continue
            known = bounds_at(where, maker)
            inner = known.of(loops_between(where, loop, maker))
            pairs.append((mine.region, touched(region, maker, inner, known)))
            fed.append((mine, maker))
    dom = bounds_at(where, loop.body)
    needed, agree = needs(run, pairs, dom, fixed_values(site, loop))
    for (mine, maker), (_, made) in zip(fed, pairs, strict=True):
        _check_together(site, mine, maker, made, needed, dom)
    _check_of_turn(site, loop, makers, needed)
    if not agree:
        raise site.refuse(
            "what it reads together is made in different iterations",
            block,
            *makers,
            hint="pick a loop further out, where all that it reads together is made",
        )
    return needed


def _check_of_turn(
    site: Site[Block], loop: For, makers: list[BlockRealize], needed: dict[Var, Need]
) -> None:
    """Refuse where it is not told which iterations belong to a turn of the loops around both.

    One that runs in another turn too may be the last one there, and use what that turn makes.
    """
    dom = site.bounds
    shared = common_loops(site.places, (site.realize, loop))
    both = [one for one in shared if len(set(dom[one.loop_var])) > 1]
    kept = {
        var
        for var, value in fixed_values(site, loop).items()
        if needed[var].size == 1 and arith.equal(needed[var].low, value)
    }
    for var, value in site.realize.bindings.items():
        moving = [one for one in both if one.loop_var in variables(value)]
        if moving and not (var in kept or _same_in_turns(site, loop, makers)):
            raise site.refuse(
                f"no cell that it reads tells which {var.name} to run it for",
                site.node,
                loop,
                hint=f"let what it reads have an axis for {named(moving)}",
            )


def _same_in_turns(site: Site[Block], loop: For, makers: list[BlockRealize]) -> bool:
    """Whether an iteration can run only where it did, or reads the same there.

    In each turn of the loops around both, cells of a buffer of their own are made; or every cell
    that is made holds the same in all of them.
    """
    moving = {v for value in site.realize.iter_values for v in variables(value)}
    shared = common_loops(site.places, (site.realize, loop))
    around = [one for one in shared if one.loop_var in moving]
    below, dom = units_in(site.places, around[0])
    making = [unit for unit in below if unit.stmt in makers]
    changed = {buffer for unit in below for buffer in unit.writes}
    if all(stores_the_same(unit, changed) for unit in making):
        return True
    return any(
        len(made) == 1 and all(apart(one, made[0], dom) for one in around)
        for buffer in declared_reads(site.node)
        if (made := [unit for unit in making if buffer in unit.writes])
    )


def _check_together(
    site: Site[Block],
    read: BufferRegion,
    maker: BlockRealize,
    made: Box,
    needed: dict[Var, Need],
    dom: Bounds,
) -> None:
    """Refuse a block that reads, in one iteration, cells that may be made in different ones."""
    several = [r for r in read.region if not is_one(r.extent) and variables(r.min)]
    if not several:
        return
    inner = {Var("n", v.dtype): arith.up_to(need.size, v.dtype) for v, need in needed.items()}
    values = {v: need.low + n for (v, need), n in zip(needed.items(), inner, strict=True)}
    wanted = arith.relax(substitute(read, values).region, inner, read.buffer.shape, dom)
    if not inside(wanted, made, read.buffer.shape, {**dom, **inner}):
        raise site.refuse(
            f"it reads several cells of {read.buffer.name} at once, some not made yet",
            site.node,
            maker,
            hint=f"move `{maker.block.name}` to `{site.name}` instead, with compute_at",
        )


def _is_shared_out(there: Site[Block], loop: For) -> bool:
    """Whether `loop` is bound, and its threads may do what it holds after the step all at once."""
    if loop.thread is None:
        return False
    try:
        refuse_conflict(there.func, loop, "", doers_on(loop.thread))
    except Refusal:
        return False
    return True


def _check_turns_agree(site: Site[Block], there: Site[Block]) -> None:
    """Refuse a sum of which a term would be added twice, or that would begin with another term.

    And any block of which turns that come in any order would write one cell.
    """
    realize, loops = there.realize, there.bounds.of(there.loops)
    sharing = moved_by(realize, "reduce")
    if writes_apart(site.node) is not True:
        sharing |= moved_by(realize, "spatial")
    mixed = [
        one
        for one in there.places.all_loops_above(realize)
        if one.loop_var in sharing
        and one.kind not in ("serial", "unrolled")
        and not _is_shared_out(there, one)
    ]
    if mixed:
        name = mixed[0].loop_var.name
        raise site.refuse(
            f"the turns of `{name}`, which come in any order, would share cells",
            mixed[0],
            site.node,
            hint=f"move it while `{name}` is a plain loop, or to a loop outside `{name}`",
        )
    if site.node.init is None:
        return
    starts = starts_first(realize, loops)
    if not starts or arith.is_injective(realize.iter_values, loops) is not True:
        raise site.refuse(
            "terms of its sum would be added twice or out of order",
            hint="pick a loop outside which none of the summed values is made again",
        )
