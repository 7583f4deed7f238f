"""Which block makes what another one reads, and what a block must be like to be moved."""

from __future__ import annotations

from collections.abc import Iterable

from workbench import arith
from workbench.access.cells import writes_all
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
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
from workbench.ir.places import Places, places
from workbench.schedule.counters import Bounds, in_turn, variables
from workbench.schedule.domains import domain

# --- who makes, who reads ------------------------------------------------------------------------


def written(block: Block) -> list[Buffer]:
    """The buffers that `block` writes, in the order in which it declares them."""
    return list(dict.fromkeys(region.buffer for region in block.writes))


def read(block: Block) -> list[Buffer]:
    """The buffers that `block` reads, in the order in which it declares them."""
    return list(dict.fromkeys(region.buffer for region in block.reads))


def siblings(func: PrimFunc, block: Block) -> list[BlockRealize]:
    """The blocks directly in the block that holds `block`, itself included, in program order."""
    where = places(func)
    return where.blocks_under(where.scope(where.realize(block)))


def writers(func: PrimFunc, block: Block, buffer: Buffer) -> list[BlockRealize]:
    """The blocks beside `block` (or it) that write `buffer`, in program order."""
    where = places(func)
    return where.writers_under(where.scope(where.realize(block)), buffer)


def readers(func: PrimFunc, block: Block, buffer: Buffer) -> list[BlockRealize]:
    """The blocks beside `block`, without it, that read `buffer`, in program order."""
    return [r for r in siblings(func, block) if r.block is not block and buffer in read(r.block)]


def producers(func: PrimFunc, block: Block) -> list[BlockRealize]:
    """The blocks before `block` that write what it reads or writes, as TVM's `get_producers`."""
    needed = {*read(block), *written(block)}
    before, _ = _around(func, block)
    return [r for r in before if needed & set(written(r.block))]


def consumers(func: PrimFunc, block: Block) -> list[BlockRealize]:
    """The blocks after `block` that read or write what it writes, as TVM's `get_consumers`."""
    made = set(written(block))
    _, after = _around(func, block)
    return [r for r in after if made & {*read(r.block), *written(r.block)}]


def _around(func: PrimFunc, block: Block) -> tuple[list[BlockRealize], list[BlockRealize]]:
    all_blocks = siblings(func, block)
    at = next(k for k, r in enumerate(all_blocks) if r.block.id is block.id)
    return all_blocks[:at], all_blocks[at + 1 :]


def is_allocated(func: PrimFunc, block: Block, buffer: Buffer) -> bool:
    """Whether `buffer` lives inside the block that holds `block`: nobody outside sees it."""
    return buffer in places(func).scope(places(func).realize(block)).block.alloc_buffers


def home(func: PrimFunc, block: Block, buffer: Buffer) -> BlockRealize | None:
    """The block around `block`, near or far, in which `buffer` lives; None for an argument."""
    where = places(func)
    for outer in where.above(where.realize(block)):
        if isinstance(outer, BlockRealize) and buffer in outer.block.alloc_buffers:
            return outer
    return None


def common_loops(func: PrimFunc, realizes: list[BlockRealize]) -> list[For]:
    """The loops, in the block that holds them, that hold all of `realizes`; outermost first."""
    where = places(func)
    nests = [where.loops_above(r) for r in realizes]
    return [loop for loop in (nests[0] if nests else []) if all(loop in one for one in nests)]


def shared_loops(where: Places, a: Stmt, b: Stmt) -> list[For]:
    """The loops, in the block that holds them, that run both `a` and `b`; outermost first."""
    inner = where.loops_above(b)
    return [loop for loop in where.loops_above(a) if loop in inner]


# --- what a block must be like -------------------------------------------------------------------


def check_stage(func: PrimFunc, block: Block, verb: str, sole: bool = True) -> None:
    """Refuse a block whose result depends on more than its iterators: it cannot be moved.

    Accepted is what TVM calls a complete block (every iteration independent, nothing of what it
    writes is read) or a reduction block (with an init), the sole writer of what it writes. One that
    stays where it is may write what others write, too: `sole` is False.
    """
    where = places(func)
    realize = where.realize(block)
    check_no_choice(func, realize, f"{verb} `{block.name}`")
    used = {v for part in (block.init, block.body) if part is not None for v in free_vars(part)}
    direct = [one for one in where.loops_above(realize) if one.loop_var in used]
    if direct:
        raise Refusal(
            f"Can't {verb} `{block.name}`: it uses `{direct[0].loop_var.name}` itself",
            realize,
            direct[0],
            hint="give the block an iterator (T.axis.spatial) that is bound to it",
        )
    for buffer in written(block):
        others = [r for r in writers(func, block, buffer) if r.block is not block]
        if sole and others:
            raise Refusal(
                f"Can't {verb} `{block.name}`: `{others[0].block.name}` writes {buffer.name} too",
                realize,
                *others,
                hint="move it while it is the sole writer, before decompose_reduction",
            )
    _check_own_reads(block, realize, verb)
    _check_kinds(block, realize, verb)
    check_starts_first(realize, where.loops_above(realize), f"{verb} `{block.name}`")


def check_no_choice(func: PrimFunc, realize: BlockRealize, task: str) -> None:
    """Refuse a block that an `if` in the block that holds it may leave out."""
    for outer in places(func).above(realize):
        if isinstance(outer, BlockRealize):
            return
        if isinstance(outer, IfThenElse):
            name = realize.block.name
            whose = "it" if task.endswith(f"`{name}`") else f"`{name}`"
            raise Refusal(
                f"Can't {task}: {whose} stands under an `if`",
                realize,
                hint="write the condition as T.where, or as T.if_then_else inside the block",
            )


def may_be_left_out(where: Places, maker: BlockRealize, reader: BlockRealize) -> bool:
    """Whether an `if` around `maker`, but not around `reader`, may leave it out."""
    shared = set(where.above(reader))
    return any(isinstance(s, IfThenElse) and s not in shared for s in where.above(maker))


def _check_own_reads(block: Block, realize: BlockRealize, verb: str) -> None:
    if block.init is not None:
        return
    loads = {n.buffer for n in walk(block.body) if isinstance(n, BufferLoad)}
    again = [buffer for buffer in written(block) if buffer in loads or buffer in read(block)]
    if again:
        raise Refusal(
            f"Can't {verb} `{block.name}`: it updates {again[0].name} in place",
            realize,
            detail="running it again, or elsewhere, changes the result",
            hint="give the block a T.init(), or write the result into another buffer",
        )


def _check_kinds(block: Block, realize: BlockRealize, verb: str) -> None:
    reduced = {it.var for it in block.iter_vars if it.kind == "reduce"}
    if reduced and block.init is None:
        raise Refusal(
            f"Can't {verb} `{block.name}`: it has a reduce iterator but no T.init()",
            realize,
            hint="give the block a T.init(); without it what is summed depends on what was there",
        )
    for store in stores(block):
        used = [v for i in store.indices for v in walk(i) if isinstance(v, Var) and v in reduced]
        if used:
            raise Refusal(
                f"Can't {verb} `{block.name}`: its reduce iterator {used[0].name} says "
                f"which cell of {store.buffer.name} is written",
                realize,
                hint=f"make {used[0].name} a spatial iterator (T.axis.spatial)",
            )
    spatial = [it.var for it in block.iter_vars if it.kind == "spatial"]
    if not reduced and block.init is None:
        return
    for store in stores(block):
        seen = {v for i in store.indices for v in walk(i) if isinstance(v, Var)}
        missing = [v for v in spatial if v not in seen and _extent(block, v) > 1]
        if missing:
            raise Refusal(
                f"Can't {verb} `{block.name}`: {missing[0].name} does not say which cell of "
                f"{store.buffer.name} is written",
                realize,
                hint=f"make {missing[0].name} a reduce iterator (T.axis.reduce)",
            )


def _extent(block: Block, var: Var) -> int:
    low, high = domain(block)[var]
    return high - low + 1


def check_stores(func: PrimFunc, block: Block, buffers: Iterable[Buffer], task: str) -> None:
    """Refuse a block that may leave a cell of `buffers` as it was: a copy would overwrite that."""
    for buffer in buffers:
        if not writes_all(block, buffer):
            raise Refusal(
                f"Can't {task}: `{block.name}` may leave cells of {buffer.name} as they were",
                places(func).realize(block),
                detail="it stores under a condition, or less than its T.writes says; what comes "
                "back from a copy would be stored everywhere",
                hint="let it store in any case, a value chosen by T.if_then_else",
            )


def starts_first(realize: BlockRealize, dom: Bounds, any_order: bool = False) -> bool:
    """Whether each sum's first turn is proved to be that of its init.

    It is where the least values of the reduce iterators come first, whatever the cell. The loops in
    `dom` run as they stand, outermost first, or in any order.
    """
    plain = [arith.simplify(value, dom) for value in realize.iter_values], dom
    found = plain if any_order else in_turn(realize, dom)
    if found is None:
        return False
    values, dom = found
    pairs = list(zip(realize.block.iter_vars, values, strict=True))
    cells = {v for it, value in pairs if it.kind == "spatial" for v in variables(value)}
    first: dict[Var, Expr] = {v: const(ends[0], v.type) for v, ends in dom.items()}
    return not any(
        variables(value) & cells or not arith.equal(substitute(value, first), it.dom.min)
        for it, value in pairs
        if it.kind == "reduce"
    )


def check_starts_first(realize: BlockRealize, loops: list[For], task: str) -> None:
    """Refuse a sum that its init starts anew in a turn of `loops` that is not the first."""
    if realize.block.init is None or starts_first(realize, arith.loop_bounds(loops)):
        return
    summed = next(it.var.name for it in realize.block.iter_vars if it.kind == "reduce")
    raise Refusal(
        f"Can't {task}: `{realize.block.name}` is not proved to start its sums in their first turn",
        realize,
        detail=f"T.init() runs where {summed} is at its least, which may come later; "
        "what was summed before it is lost",
        hint=f"let {summed} count up from its least value",
    )


def only_region(regions: tuple[BufferRegion, ...], buffer: Buffer) -> BufferRegion | None:
    """The region of `buffer` among `regions`; None where there is none."""
    return next((r for r in regions if r.buffer is buffer), None)
