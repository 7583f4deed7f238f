"""decompose_reduction: set the sums to their first value ahead of a loop, then only add in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench import arith
from workbench.diag import Refusal
from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BlockId,
    BlockRealize,
    BufferRegion,
    Expr,
    For,
    IterVar,
    PrimFunc,
    Stmt,
    Var,
    const,
    seq,
    substitute,
)
from workbench.ir.places import places
from workbench.schedule.bindings import both, conjuncts
from workbench.schedule.counters import variables
from workbench.schedule.domains import bindings, bounds_at
from workbench.schedule.primitive import Edit, primitive
from workbench.schedule.regions import one_to_one
from workbench.schedule.scope import check_stage


def _choices(func: PrimFunc, block: Block) -> Iterator[Mapping[str, Any]]:
    where = places(func)
    yield from ({"loop": loop} for loop in where.loops_above(where.realize(block)))


@primitive(group="blocks", choices=_choices)
def decompose_reduction(func: PrimFunc, block: Block, loop: For) -> Edit:
    """Take the T.init() of `block` out into a block of its own, run ahead of `loop`.

    `loop` is one around the block, and no loop that the sum runs over is further out. The block
    goes on as …_update; its handle stays. Returns the new block, …_init.

    >>> sch.decompose_reduction("C", "k")
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
        for i in range(8):
            with T.block("C_init"):
                vi = T.axis.spatial(8, i)
                T.reads()
                T.writes(C[vi])
                C[vi] = T.float32(0)
            for k in range(4):
                with T.block("C_update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    T.reads(C[vi], A[vi, vk])
                    T.writes(C[vi])
                    C[vi] = C[vi] + A[vi, vk]
    """
    task = f"decompose_reduction `{block.name}` at `{loop.loop_var.name}`"
    where = places(func)
    realize = where.realize(block)
    inner = _inner_loops(func, block, loop, task)
    _check_sum(func, realize, inner, task)
    started, predicate = _start(func, realize, inner, task)
    init_nest, new = _init(realize, started, inner, predicate)
    update = _update(block)
    func = where.replace(realize, replace(realize, block=update))
    now = places(func).loops[loop.loop_var]
    return Edit(places(func).replace(now, seq(init_nest, now)), new)


def _inner_loops(func: PrimFunc, block: Block, loop: For, task: str) -> list[For]:
    """`loop` and the loops between it and `block`, once the block and the loop are found fit."""
    where = places(func)
    realize = where.realize(block)
    if block.init is None:
        raise Refusal(
            f"Can't {task}: it has no T.init() to take out",
            realize,
            hint="decompose_reduction is for blocks that sum up, once for each",
        )
    loops = where.loops_above(realize)
    if loop not in loops:
        ways = ", ".join(f"`{one.loop_var.name}`" for one in loops) or "none"
        raise Refusal(
            f"Can't {task}: that loop is not around it",
            loop,
            realize,
            hint=f"the loops around it: {ways}",
        )
    check_stage(func, block, "decompose_reduction")
    at = loops.index(loop)
    reduced = [it.var for it in block.iter_vars if it.kind == "reduce"]
    summed = set().union(*(variables(bindings(realize)[v]) for v in reduced)) if reduced else set()
    for outer in loops[:at]:
        if outer.loop_var in summed:
            raise Refusal(
                f"Can't {task}: `{outer.loop_var.name}`, further out, is summed over too",
                outer,
                loop,
                detail=f"each turn of `{outer.loop_var.name}` would start the sums again",
                hint=f"name `{outer.loop_var.name}` or a loop around it",
            )
    return loops[at:]


def _check_sum(func: PrimFunc, realize: BlockRealize, inner: list[For], task: str) -> None:
    """Refuse where the loops inside run the same term twice: it is started again only now."""
    where = places(func)
    dom = bounds_at(where, realize)
    ends = {one.loop_var: dom[one.loop_var] for one in inner}
    if not one_to_one(realize.iter_values, ends, dom, realize.predicate):
        names = ", ".join(f"`{one.loop_var.name}`" for one in inner)
        raise Refusal(
            f"Can't {task}: a term may be added twice",
            realize,
            detail=f"the loops {names} may run the block twice for the same iterators",
            hint="pick a loop further in, so that every turn of the outer ones starts again",
        )


def _start(
    func: PrimFunc, realize: BlockRealize, inner: list[For], task: str
) -> tuple[list[IterVar], Expr]:
    """The iterators that the init uses, and what is left of the predicate for it."""
    spatial = [it for it in realize.block.iter_vars if it.kind == "spatial"]
    bound = bindings(realize)
    kept = set().union(*(variables(bound[it.var]) for it in spatial)) if spatial else set()
    dropped = {one.loop_var for one in inner} - kept
    dom = bounds_at(places(func), realize)
    first: dict[Var, Expr] = {v: const(dom[v][0], v.type) for v in dropped}
    predicate: Expr = TRUE
    for condition in conjuncts(realize.predicate):
        if variables(condition) & dropped:
            _check_grows(realize, condition, dropped, task)
            condition = arith.simplify(substitute(condition, first), dom)
        predicate = both(predicate, condition)
    return spatial, predicate


def _check_grows(realize: BlockRealize, condition: Expr, dropped: set[Var], task: str) -> None:
    """Refuse a condition that may hold for later terms of a sum, but not for its first."""
    match condition:
        case BinOp("<" | "<=", a, b):
            found = arith.linear(a - b, dropped)
            if found is not None and all(factor >= 0 for factor in found[0].values()):
                return
    raise Refusal(
        f"Can't {task}: its T.where may leave out the first terms of a sum",
        realize,
        detail="then nothing says for which sums there is something to start",
        hint="let T.where cut off the last terms, as split does, or none",
    )


def _init(
    realize: BlockRealize, started: list[IterVar], inner: list[For], predicate: Expr
) -> tuple[Stmt, BlockId]:
    """The init as a block under copies of the loops that it needs, and that block's identity."""
    block = realize.block
    fresh = {it.var: Var(it.var.name, it.var.type) for it in started}
    iterators = tuple(replace(it, var=fresh[it.var]) for it in started)
    assert block.init is not None
    body = substitute(block.init, fresh)
    writes = tuple(
        BufferRegion(w.buffer, tuple(substitute(r, fresh) for r in w.region)) for w in block.writes
    )
    init = Block(
        f"{block.name}_init",
        iterators,
        arith.access_regions(body)[0],
        writes,
        body,
        annotations=block.annotations,
    )
    bound = bindings(realize)
    values = tuple(bound[it.var] for it in started)
    used = {v for value in values for v in variables(value)}
    stmt: Stmt = BlockRealize(values, predicate, init)
    renamed: dict[Var, Expr] = {}
    for one in reversed(inner):
        if one.loop_var in used:
            var = Var(f"{one.loop_var.name}_init", one.loop_var.type)
            renamed[one.loop_var] = var
            stmt = replace(one, loop_var=var, body=stmt)
    return substitute(stmt, renamed), init.id


def _update(block: Block) -> Block:
    """The block without its init: it now reads what it writes."""
    known = {region.buffer for region in block.reads}
    again = tuple(region for region in block.writes if region.buffer not in known)
    return replace(block, name=f"{block.name}_update", init=None, reads=(*again, *block.reads))
