"""What a program must be like to be scheduled: verbs believe what its blocks declare."""

from __future__ import annotations

from collections.abc import Sequence

from workbench import arith
from workbench.access.accesses import Access, accesses
from workbench.access.boxes import inside
from workbench.access.facts import facts, follows
from workbench.access.units import buffers_written, iterator_bounds, limits, runs_fixed
from workbench.arith import Bounds
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    BlockRealize,
    BufferLoad,
    BufferRegion,
    Expr,
    For,
    IfThenElse,
    Not,
    PrimFunc,
    Stmt,
    Var,
    binary,
    free_vars,
    once,
    walk,
)
from workbench.ir.places import inner, places


def check_arguments(func: PrimFunc) -> None:
    """Refuse a program of tiles in other memories than global: a caller's arrays are there."""
    inside = next((p for p in func.params if p.scope != "global"), None)
    if inside is not None:
        raise Refusal(
            f"Can't run {func.name}: its argument {inside.name} is in {inside.scope} memory",
            detail="the arrays of a call are in global memory; only tensor intrinsics take tiles "
            "that lie elsewhere",
            hint="leave scope out; T.alloc_buffer makes memory inside a program",
        )


@once
def check_control(func: PrimFunc) -> None:
    """Refuse a program in which what it writes decides how often a block runs, or for which values.

    Verbs know a block by what it declares to read and write; what stands around it is read outside
    of any block. So they may move a block past a store only where no loop's extent, no `if`,
    T.where or T.axis around blocks reads what is stored. An argument that is only read may decide.
    """
    written = buffers_written(func.body)
    waiting: list[Stmt] = [func.body]
    while waiting:
        stmt = waiting.pop()
        waiting += inner(stmt)
        around = (n for expr in _deciding(stmt) for n in walk(expr) if isinstance(n, BufferLoad))
        load = next((n for n in around if n.buffer in written), None)
        if load is None:
            continue
        if isinstance(stmt, BlockRealize) or places(func).blocks_under(stmt):
            name = load.buffer.name
            raise Refusal(
                f"Can't schedule {func.name}: {name}, which it writes, decides which blocks run",
                load,
                detail="a loop's extent, `if`, T.where or T.axis around a block may read what "
                "no block writes",
                hint=f"read {name} inside the block: with `if`, or T.if_then_else",
            )


def _deciding(stmt: Stmt) -> tuple[Expr, ...]:
    if isinstance(stmt, For):
        return stmt.min, stmt.extent
    if isinstance(stmt, IfThenElse):
        return (stmt.condition,)
    return (stmt.predicate, *stmt.iter_values) if isinstance(stmt, BlockRealize) else ()


@once
def check_declared(func: PrimFunc) -> None:
    """Refuse a block whose T.reads or T.writes leave out a cell that it loads or stores."""
    for realize in places(func).blocks.values():
        if realize is not func.body:
            block = realize.block
            dom, (reads, writes) = iterator_bounds(block), arith.access_regions(block)
            if not all(_declares(region, block.reads, dom) for region in reads):
                _check_all_declared(func, block, "reads", block.reads)
            if not all(_declares(region, block.writes, dom) for region in writes):
                _check_all_declared(func, block, "writes", block.writes)


def _declares(region: BufferRegion, declared: tuple[BufferRegion, ...], dom: Bounds) -> bool:
    """Whether one of `declared` is proved to hold all of `region`."""
    same = (one for one in declared if one.buffer is region.buffer)
    return any(inside(region.region, one.region, region.buffer.shape, dom) for one in same)


def _check_all_declared(
    func: PrimFunc, block: Block, does: str, declared: tuple[BufferRegion, ...]
) -> None:
    own = {b for n in walk(block) if isinstance(n, Block) for b in n.alloc_buffers}
    for access in accesses(block.body):
        unsaid = access.buffer in own or access.buffer.scalar
        if unsaid or access.writes != (does == "writes"):
            continue
        known = [r for r in declared if r.buffer is access.buffer]
        if does == "reads":
            known += [r for r in block.writes if r.buffer is access.buffer]  # what it makes itself
        cell = _outside(block, access, known)
        if cell is not None:
            at = f"[{', '.join(map(str, cell))}]" if known else ""
            raise Refusal(
                f"Can't schedule {func.name}: `{block.name}` {does} {access.buffer.name}{at}, "
                f"which its T.{does} leaves out",
                access.node,
                hint=f"name it in T.{does}, or leave T.{does} out: it is inferred",
            )


def _outside(block: Block, access: Access[For], declared: list[BufferRegion]) -> list[int] | None:
    """A cell that is touched and not declared, of the first that are looked at; None for none."""
    if not declared:
        return []
    dom = iterator_bounds(block)
    dom |= arith.loop_bounds(access.loops, dom)
    turns = [end for loop in access.loops for end in limits(loop)]
    left_out: list[Expr] = []
    for one in declared:
        sides = zip(access.indices, one.region, strict=True)
        box = [end for k, r in sides for end in (k >= r.min, k < r.min + r.extent)]
        left_out.append(Not(arith.joined(box)))
    return _first(access.indices, [*turns, *access.guards, *left_out], dom)


@once
def check_domains(func: PrimFunc) -> None:
    """Refuse a block that its loops run for a value beyond the domain of its iterator."""
    where = places(func)
    for realize in where.blocks.values():
        around = list(where.above(realize))
        if any(
            isinstance(s, IfThenElse) or (isinstance(s, For) and not runs_fixed(s)) for s in around
        ):
            continue  # which values are taken is not told by bounds
        dom: dict[Var, tuple[int, int]] = {}
        for outer in around:
            dom |= iterator_bounds(outer.block) if isinstance(outer, BlockRealize) else {}
        dom |= arith.loop_bounds(where.all_loops_above(realize), dom)
        ends = iterator_bounds(realize.block)
        for var, value in realize.bindings.items():
            if var in ends:
                _check_domain(func, realize, var, value, dom, ends[var])


def _check_domain(
    func: PrimFunc, realize: BlockRealize, var: Var, value: Expr, dom: Bounds, ends: tuple[int, int]
) -> None:
    low, high = ends
    taken = arith.bounds(value, dom)
    if taken is None:
        return
    known, held = arith.Simplifier(dom), facts([realize.predicate])
    gaps = [value - low] * (taken[0] < low) + [high - value] * (taken[1] > high)
    if all(follows(gap, held, known) for gap in gaps):
        return
    beyond = binary("or", value < low, value > high)
    example = _first([value], [realize.predicate, beyond], dom)
    if example is not None:
        raise Refusal(
            f"Can't schedule {func.name}: `{realize.block.name}` runs for "
            f"{var.name} = {example[0]}, beyond its T.axis",
            realize,
            detail=f"the domain of {var.name} is {low} to {high}",
            hint=f"give the T.axis of {var.name} all values, or leave some out with T.where",
        )


def _first(wanted: Sequence[Expr], conditions: Sequence[Expr], dom: Bounds) -> list[int] | None:
    """The values of `wanted` at the first point where all of `conditions` hold; None: none is seen.

    Each condition is asked where those before it hold.
    """
    try:
        names = dict.fromkeys(v for e in (*wanted, *conditions) for v in free_vars(e))
        ranges = arith.ranges_of(names, dom)
        rows = arith.Table(wanted, conditions).rows(ranges, most=arith.POINTS)
    except (KeyError, ValueError):  # decided by data, or by what is around
        return None
    return next(([*values] for _, values in rows), None)
