"""The memory and the loops that blocks share, and what a block must be like to be moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench import arith
from workbench.access.counters import in_turn, variables
from workbench.access.cover import starts_all, writes_all
from workbench.access.units import Unit, units
from workbench.arith import Bounds
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    Const,
    Expr,
    For,
    IfThenElse,
    PrimFunc,
    Stmt,
    Var,
    const,
    free_vars,
    stores,
    substitute,
    walk,
)
from workbench.ir.places import Places, inner, places
from workbench.verbs.domains import domain
from workbench.verbs.site import (
    Site,
    declared_reads,
    declared_writes,
    goes_by,
    named,
    with_block,
)

# --- the memory and the loops around -------------------------------------------------------------


def reallocate(where: Places, scope: BlockRealize, buffers: Iterable[Buffer]) -> PrimFunc:
    """The function with `buffers` as all that live in the block that was realised by `scope`."""
    now = where.realize(scope.block).block
    return with_block(where, replace(now, alloc_buffers=tuple(buffers)))


def common_loops(where: Places, stmts: Sequence[Stmt]) -> list[For]:
    """The loops, in the block that holds them, that run all of `stmts`; outermost first."""
    nests = [where.loops_above(stmt) for stmt in stmts]
    return [loop for loop in (nests[0] if nests else []) if all(loop in one for one in nests)]


def loops_between(where: Places, loop: For, stmt: Stmt) -> list[For]:
    """The loops inside `loop`, or beside it, that run `stmt`; outermost first."""
    outside = [*where.all_loops_above(loop), loop]
    return [one for one in where.all_loops_above(stmt) if one not in outside]


def loops_from(site: Site[Block], loop: For) -> list[For]:
    """`loop` and the loops between it and the block; refused where it is not around the block."""
    loops = site.loops
    if loop not in loops:
        around = named(loops)
        hint = (
            f"the loops around it: {around}"
            if around
            else "no loop is around it: choose another block"
        )
        raise site.refuse("that loop is not around it", loop, site.node, hint=hint)
    return loops[loops.index(loop) :]


def loop_choices(func: PrimFunc, block: Block) -> Iterator[Mapping[str, Any]]:
    """The arguments worth trying: each loop around the block."""
    yield from ({"loop": loop} for loop in Site(places(func), block, "").loops)


# --- what a block must be like -------------------------------------------------------------------


def check_stage(site: Site[Block], sole: bool = True) -> None:
    """Refuse a block whose result depends on more than its iterators: it cannot be moved.

    Accepted is what TVM calls a complete block (every iteration independent, nothing of what it
    writes is read) or a reduction block (with an init), the sole writer of what it writes. One that
    stays where it is may write what others write, too: `sole` is False.
    """
    block = site.node
    check_no_choice(site)
    check_no_bare_statement(site)
    used = {v for part in (block.init, block.body) if part is not None for v in free_vars(part)}
    direct = [one for one in site.loops if one.loop_var in used]
    if direct:
        raise goes_by(site, direct[0], block, direct[0])
    for buffer in declared_writes(block) if sole else ():
        hint = "move it while it is the sole writer, before decompose_reduction"
        check_sole_writer(site, buffer, hint)
    _check_own_reads(site)
    _check_kinds(site)
    check_starts_first(site)


def check_sole_writer(site: Site[Block], buffer: Buffer, hint: str) -> None:
    """Refuse a block beside which another one writes `buffer`, too."""
    others = [r for r in site.writers(buffer) if r.block is not site.node]
    if others:
        why = f"`{others[0].block.name}` writes {buffer.name} too"
        raise site.refuse(why, site.node, *others, hint=hint)


def check_no_choice(site: Site[Block]) -> None:
    """Refuse a block that an `if` in the block that holds it may leave out."""
    if any(isinstance(outer, IfThenElse) for outer in site.around):
        whose = "it" if site.task.endswith(f"`{site.name}`") else f"`{site.name}`"
        raise site.refuse(
            f"{whose} stands under an `if`",
            hint="write the condition as T.where, or as T.if_then_else inside the block",
        )


def check_no_bare_statement(site: Site[Block], only: Buffer | None = None) -> None:
    """Refuse where a statement outside any block, beside the block, shares a buffer with it.

    Who makes and who reads a value is known of blocks: such a statement would be passed over. With
    `only`, no other buffer is looked at.
    """
    own = Unit(site.realize, ())
    reads, writes = own.reads | {*declared_reads(site.node)}, own.writes
    for bare in bare_statements(site.scope):
        shared = writes & (bare.reads | bare.writes) | reads & bare.writes
        if shared and (only is None or only in shared):
            name = only.name if only else min(buffer.name for buffer in shared)
            raise refuse_bare(site, bare, name)


def bare_statements(realize: BlockRealize) -> list[Unit]:
    """The statements outside any block directly in the block that `realize` runs."""
    return [unit for part in inner(realize) for unit in units(part) if unit.block is None]


def refuse_bare(site: Site[Any], bare: Unit, name: str) -> Refusal:
    """The refusal of a step in whose way `bare`, which uses the buffer of that name, stands."""
    return site.refuse(
        f"a statement outside any block uses {name}",
        bare.stmt,
        detail="what a block makes and needs is known of blocks alone",
        hint='put the statement into a block of its own: with T.block("…")',
    )


def last_counts(site: Site[Any], name: str, *at: Any, hint: str) -> Refusal:
    """The refusal of a step that could leave another iteration of a block as a cell's last one."""
    why = f"two iterations of `{name}` may write one cell, and the last one counts"
    return site.refuse(why, *at, hint=hint)


def may_be_left_out(where: Places, maker: BlockRealize, reader: BlockRealize) -> bool:
    """Whether an `if` around `maker`, but not around `reader`, may leave it out."""
    shared = set(where.above(reader))
    return any(isinstance(s, IfThenElse) and s not in shared for s in where.above(maker))


def _check_own_reads(site: Site[Block]) -> None:
    block = site.node
    if block.init is not None:
        return
    read = {n.buffer for n in walk(block.body) if isinstance(n, BufferLoad)}
    read.update(declared_reads(block))
    again = [buffer for buffer in declared_writes(block) if buffer in read]
    if again:
        raise site.refuse(
            f"it updates {again[0].name} in place",
            detail="running it again, or elsewhere, changes the result",
            hint="give the block a T.init(), or write the result into another buffer",
        )


def _check_kinds(site: Site[Block]) -> None:
    block = site.node
    reduced = {it.var for it in block.iter_vars if it.kind == "reduce"}
    if reduced and block.init is None:
        raise site.refuse(
            "it has a reduce iterator but no T.init()",
            hint="give the block a T.init(); without it what is summed depends on what was there",
        )
    check_sums_stay(site)
    if not reduced and block.init is None:
        return
    spatial = [it.var for it in block.iter_vars if it.kind == "spatial"]
    for store in stores(block):
        seen = {v for i in store.indices for v in walk(i) if isinstance(v, Var)}
        missing = [v for v in spatial if v not in seen and _many(domain(block)[v])]
        if missing:
            raise site.refuse(
                f"{missing[0].name} does not say which cell of {store.buffer.name} is written",
                hint=f"make {missing[0].name} a reduce iterator (T.axis.reduce)",
            )


def check_sums_stay(site: Site[Block]) -> None:
    """Refuse a sum that goes on to other cells as it sums: its init starts the first of them."""
    reduced = {it.var for it in site.node.iter_vars if it.kind == "reduce"}
    for store in stores(site.node):
        used = [v for i in store.indices for v in walk(i) if isinstance(v, Var) and v in reduced]
        if used:
            raise site.refuse(
                f"its reduce iterator {used[0].name} says which cell of {store.buffer.name} is "
                "written",
                hint=f"make {used[0].name} a spatial iterator (T.axis.spatial)",
            )


def _many(ends: tuple[int, int]) -> bool:
    return ends[0] < ends[1]


def check_stores(site: Site[Block], buffers: Iterable[Buffer]) -> None:
    """Refuse a block that may leave a cell of `buffers` as it was: a copy would overwrite that."""
    for buffer in buffers:
        if not writes_all(site.node, buffer):
            raise site.refuse(
                f"`{site.name}` may leave cells of {buffer.name} as they were",
                detail="it stores under a condition, or less than its T.writes says; what comes "
                "back from a copy would be stored everywhere",
                hint="let it store in any case, a value chosen by T.if_then_else",
            )


def check_started(site: Site[Block], buffers: Iterable[Buffer]) -> None:
    """Refuse a sum of which a cell of `buffers` may go on from what was there before."""
    for buffer in buffers:
        if site.node.init is not None and not starts_all(site.node, buffer):
            raise site.refuse(
                f"its T.init() is not proved to start every cell of {buffer.name}",
                detail="what was there before counts, and would be lost, or counted again",
                hint=f"let T.init() store to each cell of {buffer.name}, under no condition, and "
                "read none",
            )


def starts_first(realize: BlockRealize, dom: Bounds, any_order: bool = False) -> bool:
    """Whether each sum's first turn is proved to be that of its init.

    It is where the least values of the reduce iterators come first, whatever the cell. The loops in
    `dom` run as they stand, outermost first, or in any order.
    """
    known = arith.Simplifier(dom)
    plain = [known.simplify(value) for value in realize.iter_values], dom
    turning = plain if any_order else in_turn(realize, dom)
    if turning is None:
        return False
    values, dom = turning
    pairs = list(zip(realize.block.iter_vars, values, strict=True))
    cells = {v for it, value in pairs if it.kind == "spatial" for v in variables(value)}
    first: dict[Var, Expr] = {v: const(ends[0], v.type) for v, ends in dom.items()}
    return not any(
        variables(value) & cells or not arith.equal(substitute(value, first), it.dom.min)
        for it, value in pairs
        if it.kind == "reduce"
    )


def counted_from(loops: Sequence[For]) -> Bounds:
    """The bounds of those of `loops` of which it is known where they begin."""
    begin = {one.loop_var for one in loops if isinstance(one.min, Const)}
    return {v: ends for v, ends in arith.loop_bounds(loops).items() if v in begin}


def check_starts_first(site: Site[Block]) -> None:
    """Refuse a sum that its init starts anew in a turn of its loops that is not the first."""
    if site.node.init is None or starts_first(site.realize, counted_from(site.loops)):
        return
    summed = next(it.var.name for it in site.node.iter_vars if it.kind == "reduce")
    raise site.refuse(
        f"`{site.name}` is not proved to start its sums in their first turn",
        detail=f"T.init() runs where {summed} is at its least, which may come later; "
        "what was summed before it is lost",
        hint=f"let {summed} count up from its least value",
    )


def region_of(regions: tuple[BufferRegion, ...], buffer: Buffer) -> BufferRegion | None:
    """The region of `buffer` among `regions`; None where there is none."""
    return next((r for r in regions if r.buffer is buffer), None)
