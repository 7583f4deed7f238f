"""What a program must be like to be scheduled: verbs believe what its blocks declare."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from workbench import arith
from workbench.access.accesses import Access, accesses
from workbench.access.units import buffers_read, buffers_written, inside
from workbench.arith.evaluate import compiled
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    BlockRealize,
    BufferLoad,
    BufferRegion,
    Expr,
    For,
    IfThenElse,
    IterVar,
    PrimFunc,
    Stmt,
    Var,
    binary,
    free_vars,
    walk,
)
from workbench.ir.places import inner, places
from workbench.schedule.domains import runs_fixed


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
        for expr in _deciding(stmt):
            hit = sorted(buffers_read(expr) & written, key=lambda buffer: buffer.name)
            if hit and (isinstance(stmt, BlockRealize) or places(func).blocks_under(stmt)):
                load = next(n for n in walk(expr) if isinstance(n, BufferLoad))
                raise Refusal(
                    f"Can't schedule {func.name}: {hit[0].name}, which it writes, decides which "
                    "blocks run",
                    load,
                    detail="a loop's extent, `if`, T.where or T.axis around a block may read what "
                    "no block writes",
                    hint=f"read {hit[0].name} inside the block: with `if`, or T.if_then_else",
                )


def _deciding(stmt: Stmt) -> tuple[Expr, ...]:
    if isinstance(stmt, For):
        return stmt.min, stmt.extent
    if isinstance(stmt, IfThenElse):
        return (stmt.condition,)
    return (stmt.predicate, *stmt.iter_values) if isinstance(stmt, BlockRealize) else ()


def check_declared(func: PrimFunc) -> None:
    """Refuse a block whose T.reads or T.writes leave out a cell that it loads or stores."""
    for realize in places(func).blocks.values():
        if realize is not func.body:
            block = realize.block
            reads, writes = arith.access_regions(block)
            for does, declared, meant in (
                ("reads", block.reads, reads),
                ("writes", block.writes, writes),
            ):
                dom = _domains(block)
                if not all(_declares(region, declared, dom) for region in meant):
                    _check_all_declared(func, block, does, declared)


def check_domains(func: PrimFunc) -> None:
    """Refuse a block that its loops run for a value beyond the domain of its iterator."""
    where = places(func)
    for realize in where.blocks.values():
        dom: dict[Var, tuple[int, int]] = {}
        around = list(where.above(realize))
        if any(
            isinstance(s, IfThenElse) or (isinstance(s, For) and not runs_fixed(s)) for s in around
        ):
            continue  # which values are taken is not told by bounds
        for outer in around:
            dom |= _domains(outer.block) if isinstance(outer, BlockRealize) else {}
        dom |= arith.loop_bounds(where.all_loops_above(realize), dom)
        ends = _domains(realize.block)
        for it, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            low, high = arith.bounds(value, dom) or (None, None)
            if it.var not in ends or low is None or high is None:
                continue
            if low < ends[it.var][0] or high > ends[it.var][1]:
                _check_domain(func, realize, it, value, dom, ends[it.var])


def _check_domain(
    func: PrimFunc,
    realize: BlockRealize,
    it: IterVar,
    value: Expr,
    dom: dict[Var, tuple[int, int]],
    ends: tuple[int, int],
) -> None:
    try:
        holds, at = compiled(realize.predicate), compiled(value)
        names = {*free_vars(value), *free_vars(realize.predicate)}
        ranges = arith.ranges_of(names, dom)
    except (KeyError, ValueError):  # told by data, or by a loop without known ends
        return
    for env in _first_points(ranges):
        if holds(env) and not ends[0] <= at(env) <= ends[1]:
            raise Refusal(
                f"Can't schedule {func.name}: `{realize.block.name}` runs for "
                f"{it.var.name} = {at(env)}, beyond its T.axis",
                realize,
                detail=f"the domain of {it.var.name} is {ends[0]} to {ends[1]}",
                hint=f"give the T.axis of {it.var.name} all values, or leave some out with T.where",
            )


def _first_points(ranges: dict[Var, range]) -> Iterator[dict[Var, int]]:
    most = arith.POINTS  # cut: a product keeps all of each range in memory
    return islice(arith.points({v: values[:most] for v, values in ranges.items()}), most)


def _domains(block: Block) -> dict[Var, tuple[int, int]]:
    """The bounds of the iterators that have known ones."""
    found = {}
    for it in block.iter_vars:
        low, high = arith.bounds(it.dom.min, {}), arith.bounds(it.dom.min + it.dom.extent - 1, {})
        if low is not None and high is not None:
            found[it.var] = (low[0], high[1])
    return found


def _declares(
    region: BufferRegion, declared: tuple[BufferRegion, ...], dom: dict[Var, tuple[int, int]]
) -> bool:
    """Whether one of `declared` is proved to hold all of `region`."""
    same = (one for one in declared if one.buffer is region.buffer)
    return any(inside(region.region, one.region, region.buffer.shape, dom) for one in same)


def _check_all_declared(
    func: PrimFunc, block: Block, does: str, declared: tuple[BufferRegion, ...]
) -> None:
    own = {b for n in walk(block) if isinstance(n, Block) for b in n.alloc_buffers}
    for access in accesses(block.body):
        if access.buffer in own or access.writes != (does == "writes"):
            continue
        known = [r for r in declared if r.buffer is access.buffer]
        if does == "reads":
            known += [r for r in block.writes if r.buffer is access.buffer]  # what it makes itself
        found = _outside(block, access, known)
        if found is not None:
            raise Refusal(
                f"Can't schedule {func.name}: `{block.name}` {does} {found}, which its T.{does} "
                "leaves out",
                access.node,
                hint=f"name it in T.{does}, or leave T.{does} out: it is inferred",
            )


def _outside(block: Block, access: Access[For], declared: list[BufferRegion]) -> str | None:
    """A cell that is touched and not declared, of the first that are looked at; None for none."""
    name = access.buffer.name
    if not declared:
        return name
    dom = _domains(block)
    dom |= arith.loop_bounds(access.loops, dom)
    used = [e for r in declared for side in r.region for e in (side.min, side.extent)]
    try:
        turns = [  # a loop that varies has a turn only there
            binary("<", loop.loop_var, loop.min + loop.extent)
            for loop in access.loops
            if not runs_fixed(loop)
        ]
        guards = [compiled(e) for e in (*access.guards, *turns)]
        cell = [compiled(e) for e in access.indices]
        boxes = [[(compiled(s.min), compiled(s.extent)) for s in r.region] for r in declared]
        names = access.variables() | {v for e in (*used, *turns) for v in free_vars(e)}
        ranges = arith.ranges_of(names, dom)
    except (KeyError, ValueError):  # told by data, or by what is around
        return None
    for env in _first_points(ranges):
        if not all(holds(env) for holds in guards):
            continue
        at = [index(env) for index in cell]
        if not any(
            all(
                low(env) <= k < low(env) + size(env) for k, (low, size) in zip(at, box, strict=True)
            )
            for box in boxes
        ):
            return f"{name}[{', '.join(map(str, at))}]"
    return None
